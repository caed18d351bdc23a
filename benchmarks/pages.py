"""Times in README.md and docs/, written from the published results between two marks.

A block stands between `<!-- times: readme -->` and `<!-- end of times -->`. The runner writes the
blocks after the results of a run; `python -m benchmarks.pages` writes them alone.
"""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks import cases

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGES = (ROOT / "README.md", ROOT / "docs" / "dialects.md", ROOT / "docs" / "scale.md")

_BLOCK = re.compile(r"(<!-- times: (\w+) -->\n).*?(<!-- end of times -->)", re.DOTALL)
#: The place of the seconds of another job in a text: {scikit-learn: CH and DB}.
_PLACE = re.compile(r"\{([^:{}]+): ([^{}]+)\}")

#: The cells of the jobs of a case, by engine and job: all after these two.
Lines = dict[tuple[str, str], list[str]]


class Row(NamedTuple):
    """A row of README's table: its words, the case and the job, and the times of others."""

    words: str
    #: How the title of the case begins.
    case: str
    job: str
    others: str


README_ROWS = (
    Row(
        "`external_report`, 100 million rows in Parquet, 1,000 × 1,000 clusters",
        "One clustering, 100,000,000 rows",
        cases.FULL,
        f"the engines' bare GROUP BY {{DuckDB: {cases.BARE}}} and {{Polars: {cases.BARE}}}; "
        "scikit-learn's adjusted_rand_score alone {scikit-learn: adjusted_rand_score}",
    ),
    Row(
        "the same for 10,000 clusterings of 1,000 rows, one call",
        "10,000 clusterings of 1,000 rows",
        cases.FULL,
        "scikit-learn's ARI, NMI and V-measure {scikit-learn: ARI, NMI, V (500 runs, scaled)}",
    ),
    Row(
        "`adjusted_mutual_info_score` of the report, 100,000 rows, 1,000 × 1,000 clusters",
        "Adjusted mutual information, 100,000 rows",
        cases.REPORT_AMI,
        f"scikit-learn {{scikit-learn: {cases.AMI}}}",
    ),
    Row(
        "CP, DB, CH, SSW of `internal_report`, 1 million × 16, 20 clusters",
        "Internal indices, 1,000,000 × 16",
        cases.FOUR,
        f"scikit-learn's CH and DB {{scikit-learn: {cases.CH_DB}}}",
    ),
    Row(
        "the same, 100,000 × 384 Float32 vectors, 50 clusters",
        "Internal indices, 100,000 × 384",
        cases.FOUR,
        f"scikit-learn's CH and DB {{scikit-learn: {cases.CH_DB}}}",
    ),
    Row(
        "the same, 20 million × 8 in Parquet, 20 clusters",
        "Internal indices, 20,000,000 × 8",
        cases.FOUR,
        "the sums of the columns, in two passes, "
        f"{{DuckDB: {cases.SUMS}}} and {{Polars: {cases.SUMS}}}",
    ),
    Row(
        "`silhouette_score`, euclidean, 50,000 × 16, 20 clusters",
        "Silhouettes, euclidean, 50,000 × 16, 20 near",
        cases.SILHOUETTE,
        f"scikit-learn {{scikit-learn: {cases.SILHOUETTE}}}",
    ),
    Row(
        "cityblock, 1 million × 16, 20 clusters",
        "Silhouettes, cityblock, 1,000,000",
        cases.SILHOUETTE,
        f"scikit-learn about {{scikit-learn: {cases.SILHOUETTE} (20,000 rows, scaled)}} "
        "(scaled from 20,000 rows)",
    ),
    Row(
        "sqeuclidean, 1 million × 16, 20 clusters",
        "Silhouettes, sqeuclidean",
        cases.SILHOUETTE,
        "Spark's ClusteringEvaluator {Spark: ClusteringEvaluator}",
    ),
    Row(
        "cosine, 1 million × 16, 20 clusters",
        "Silhouettes, cosine",
        cases.SILHOUETTE,
        "Spark's ClusteringEvaluator {Spark: ClusteringEvaluator}",
    ),
    Row(
        "`dunn_index`, 100,000 × 8, 20 clusters",
        "Dunn's index, euclidean, 100,000 × 8, 20 near",
        cases.DUNN,
        "scipy, all pairs in blocks, {scipy: all pairs, in blocks}",
    ),
)

#: The rows of the table of a billion rows: words and job.
_BILLION_ROWS = (
    ("`GROUP BY label, cluster` alone", cases.BARE),
    ("`external_report(adjusted := false)`", cases.UNADJUSTED),
    ("`external_report`", cases.FULL),
    (
        "`external_report` of a million rows, `weight := n`",
        "external_report(weight), 1,000,000 rows",
    ),
)


#: How the titles of the results of benchmarks.dialects begin.
DIALECTS_TITLE = "Queries of to_sql, "
#: And those of benchmarks.spark_sizes.
SPARK_TITLE = "Spark, "


def read_results(folder: Path | None = None) -> dict[str, Lines]:
    """Return the tables of the published results by the titles of their cases."""
    found: dict[str, Lines] = {}
    for path in sorted((folder or RESULTS).glob("*.md")):
        for section in path.read_text(encoding="utf-8").split("\n## ")[1:]:
            title, _, body = section.partition("\n")
            rows = [line.strip("|").split("|") for line in body.splitlines() if line[:1] == "|"]
            cells = [[cell.strip() for cell in row] for row in rows[2:]]
            if title in found:
                raise ValueError(f"{path.name}: another file has results of {title!r}, too")
            found[title] = {(engine, job): rest for engine, job, *rest in cells}
    return found


def find_case(results: dict[str, Lines], start: str) -> Lines:
    """Return the table of the only case whose title begins with a text."""
    titles = [title for title in results if title.startswith(start)]
    if len(titles) != 1:
        raise ValueError(f"expected results of one case {start!r}, got {titles}")
    return results[titles[0]]


def show_seconds(text: str) -> str:
    """Return seconds of a result with two digits, and many as hours."""
    seconds = float(text)
    if seconds >= 7200:
        return f"{seconds / 3600:.2g} hours"
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.2g}"


def _readme_table(results: dict[str, Lines]) -> list[str]:
    """Return the table of README."""
    lines = ["| what | DuckDB | Polars | others |", "|---|---:|---:|---|"]
    for row in README_ROWS:
        of_case = find_case(results, row.case)
        own = [show_seconds(of_case[engine, row.job][0]) for engine in ("DuckDB", "Polars")]
        others = _PLACE.sub(lambda place, x=of_case: show_seconds(x[place.groups()][0]), row.others)
        lines.append(f"| {' | '.join([row.words, *own, others])} |")
    return lines


def _billion_table(results: dict[str, Lines]) -> list[str]:
    """Return the table of a billion rows: seconds, ratio to the bare GROUP BY, peak memory."""
    of_case = find_case(results, "1,000,000,000 rows")
    lines = [
        "| what | seconds | × the bare GROUP BY | peak MB of the process |",
        "|---|---:|---:|---:|",
    ]
    for words, job in _BILLION_ROWS:
        seconds, ratio, peak, *_ = of_case["DuckDB", job]
        shown = f"{float(ratio):.2f}" if ratio else ""
        lines.append(f"| {words} | {seconds} | {shown} | {peak} |")
    return lines


def _minutes_table(results: dict[str, Lines]) -> list[str]:
    """Return the table of the rows at which a call takes a minute, the fewest first."""
    of_case = find_case(results, "Rows at which the default call takes a minute")
    lines = [
        "| table | input | DuckDB | grows as | Polars | grows as |",
        "|---|---|---:|---|---:|---|",
    ]
    rows = sorted(of_case.items(), key=lambda item: min(map(_read_rows, item[1][::2])))
    for (name, kind), cells in rows:
        lines.append(f"| {' | '.join([f'`{name}`', kind, *cells])} |")
    return lines


def _dialects_table(results: dict[str, Lines]) -> list[str]:
    """Return the table of queries on other engines: the seconds of each engine by size."""
    cases_of = {title: x for title, x in results.items() if title.startswith(DIALECTS_TITLE)}
    sizes = [title.removeprefix(DIALECTS_TITLE) for title in cases_of]
    lines = [
        f"| table | {' | '.join(sizes)} |",
        f"|---{'|---' * len(sizes)}|",
    ]
    for key in next(iter(cases_of.values())):
        cells = (" / ".join(map(_show_limited, of_case[key])) for of_case in cases_of.values())
        lines.append(f"| `{key[0]}` | {' | '.join(cells)} |")
    return lines


def _spark_table(results: dict[str, Lines]) -> list[str]:
    """Return the table of Spark: rows, seconds, bytes shuffled and reads of each job."""
    cases_of = {title: x for title, x in results.items() if title.startswith(SPARK_TITLE)}
    lines = [
        "| rows | what | seconds | bytes shuffled | reads of the rows |",
        "|---:|---|---:|---:|---:|",
    ]
    for title, of_case in cases_of.items():
        size = title.removeprefix(SPARK_TITLE).split()[0]
        for (what, by), cells in of_case.items():
            words = what if by == "polars_clustereval" else f"{what}, {by}"
            lines.append(f"| {' | '.join([size, words, *cells])} |")
    return lines


def _show_limited(cell: str) -> str:
    """Return seconds with two digits, and a limit such as > 60 as it is."""
    return cell if cell.startswith(">") else show_seconds(cell)


def _read_rows(cell: str) -> float:
    """Return the number of rows in a cell such as ≈ 1,200,000; infinity if there is none."""
    digits = "".join(x for x in cell if x.isdigit() and x.isascii())
    return float(digits) if digits else math.inf


#: The lines of each block, from the results.
BLOCKS: dict[str, Callable[[dict[str, Lines]], list[str]]] = {
    "readme": _readme_table,
    "billion": _billion_table,
    "dialects": _dialects_table,
    "minutes": _minutes_table,
    "spark": _spark_table,
}


def fill_page(text: str, results: dict[str, Lines]) -> str:
    """Return the text of a page with its blocks as the results are."""

    def fill(block: re.Match[str]) -> str:
        """Return a block with its lines, between its marks."""
        lines = ["", *BLOCKS[block[2]](results), ""]
        return block[1] + "".join(f"{line}\n" for line in lines) + block[3]

    return _BLOCK.sub(fill, text)


def write_results(path: Path | None, text: str) -> None:
    """Print the results of a run, and write them to a file if there is a path.

    The pages are written if the file is one of the published ones.
    """
    print(text)
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# Benchmark\n\n{text.strip()}\n", encoding="utf-8")
    if path.resolve().parent == RESULTS:
        main()


def main() -> None:
    """Write the blocks of all pages, and print the names of those that have changed."""
    results = read_results()
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        filled = fill_page(text, results)
        if filled != text:
            path.write_text(filled, encoding="utf-8")
            sys.stdout.write(f"{path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
