"""external_report on a billion rows with 1 GB of memory, beside the bare GROUP BY.

Run from the root of a clone: ``python -m benchmarks.billion_rows --data FOLDER``. The rows are a
million different ones, a thousand times each, in a Parquet file of 2.6 GB that is written first and
kept in the folder. The report has to equal that of the million rows with the weight 1000, within
1e-12. The table is printed and, with ``--output``, written to a file. Exit status 1 if the report
takes more than 1.25 times as long as the GROUP BY of the same round.
"""

from __future__ import annotations

import argparse
import tempfile
from operator import attrgetter
from pathlib import Path

from benchmarks import cases, pages, table
from benchmarks.runner import measure_case

#: Accepted ratio of the seconds of external_report to those of the bare GROUP BY.
MOST_TIMES_BARE = 1.25


def main(arguments: list[str] | None = None) -> None:
    """Measure the case, print its table, write it to --output, and check the ratio of times."""
    parser = argparse.ArgumentParser("python -m benchmarks.billion_rows", description=__doc__)
    parser.add_argument("--rows", type=int, default=10**6, help="different rows")
    parser.add_argument("--weight", type=int, default=1000, help="how many times each occurs")
    parser.add_argument("--repeats", type=int, default=3, help="paired rounds")
    parser.add_argument("--data", type=Path, help="folder that keeps the Parquet files")
    parser.add_argument("--output", type=Path, help="Markdown file for the table")
    options = parser.parse_args(arguments)
    case = cases.make_weighted_case(options.rows, options.weight)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.data or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        result = measure_case(case, folder.resolve(), options.repeats)
    text = f"{table.describe_machine(options.repeats)}\n\n{table.format_section(result)}"
    pages.write_results(options.output, text)
    bare, report = (job for job in case.jobs if job.what in (cases.BARE, cases.FULL))
    times = result.compute_ratio(attrgetter("seconds"), report, bare)
    if times > MOST_TIMES_BARE:
        raise SystemExit(f"external_report took {times:.3g} times as long as the bare GROUP BY")


if __name__ == "__main__":
    main()
