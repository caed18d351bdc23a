"""The benchmarks compare every answer with that of another engine; the figures that pages print."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from benchmarks import cases, dialects, jobs, minutes, pages, planning, runner, table
from benchmarks.cases import Case, Job
from benchmarks.data import (
    Gaussian,
    GeneratedFile,
    Labelings,
    Points,
    Runs,
    Sweep,
)
from benchmarks.linked_data import Covers, Graph, RunPair
from benchmarks.minutes import Measured, Size
from benchmarks.runner import AnswersDifferError, Measurement, Result
from polars_clustereval.base.tables import declared_tables
from tests.support.oracle import COUNTS, METRICS

ROOT = Path(__file__).parent.parent
CASES = [case for list_cases in cases.GROUPS.values() for case in list_cases()]
#: Libraries that the tests do not install.
EXTRAS = ("genieclust", "Spark", "cdlib")
#: Jobs that only count rows: a part of the input, checked as a whole in another case, or distances
#: of which no other job has any.
COUNTING = {"sklearn silhouette scaled", "numpy centers"}


# The comparison --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        (1.0, 1.0 + 5e-12, True),
        (1.0, 1.0 + 2e-11, False),
        (1e6, 1e6 + 2e-5, False),
        (0.0, 5e-12, True),
        (0.0, 2e-11, False),
        (None, None, True),
        (None, 0.0, False),
        (0.0, None, False),
        (float("nan"), float("nan"), False),
    ],
)
def test_two_answers_agree(one: float | None, other: float | None, agree: bool) -> None:
    assert runner._agree(one, other, 1e-11) is agree


def test_tolerances_are_those_of_the_readme() -> None:
    text = " ".join((ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8").split())
    found = r"within (\S+) \((\S+) for points and graphs, (\S+) where scikit-learn accumu"
    [stated] = re.findall(found, text)
    labels, points, singles = map(float, stated)
    assert (labels, points, singles) == (1e-11, 1e-9, 1e-3)
    for case in CASES:
        is_single = isinstance(case.data, Points) and not case.data.wide
        wanted = (
            labels
            if isinstance(case.data, Labelings | Runs | RunPair | Covers)
            else singles
            if is_single
            else points
        )
        assert case.tolerance == wanted, case.title


ONE, TWO, THREE = (Job(engine, "sum", engine) for engine in ("DuckDB", "Polars", "scikit-learn"))


@pytest.mark.parametrize("answers", [[1.0], [1.0, 2.0, 3.0], [1.0, 2.0, None], [2.0, 1.0], []])
def test_other_answers_are_refused(answers: list[float | None]) -> None:
    known: dict[str, Any] = {}
    runner.check_answers(known, ONE, {"n": [1.0, 2.0], "ari": [0.5]}, 1e-11)
    runner.check_answers(known, TWO, {"n": [1.0, 2.0]}, 1e-11)
    with pytest.raises(AnswersDifferError, match=r"n: scikit-learn gave .*, DuckDB gave \[1.0, 2"):
        runner.check_answers(known, THREE, {"n": answers}, 1e-11)


def test_nothing_to_compare_is_refused() -> None:
    known: dict[str, Any] = {}
    runner.check_answers(known, ONE, {"n": [1.0]}, 1e-11)
    with pytest.raises(AnswersDifferError, match=r"Polars: nothing to compare \['m'\] with"):
        runner.check_answers(known, TWO, {"m": [1.0]}, 1e-11)


# Tiny data -------------------------------------------------------------------------------------


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer rows, and a part of the runs for scikit-learn, as in the cases."""
    for name, value in (
        ("RUN_ROWS", 50),
        ("SKLEARN_RUNS", 5),
        ("POINT_RUN_ROWS", 60),
        ("SKLEARN_POINT_RUNS", 3),
        ("SCALED_ROWS", 100),
        ("SKLEARN_PAIRS", 3),
    ):
        monkeypatch.setattr(jobs, name, value)


def shrink(data: GeneratedFile) -> GeneratedFile:
    """The same kind of data with a few hundred rows."""
    several = isinstance(data, Labelings | Points) and data.run_rows < data.rows
    if isinstance(data, Labelings):
        run_rows = 50 if several else 400
        rows, clusters = run_rows * (8 if several else 1), min(data.clusters, 12)
        return dataclasses.replace(data, rows=rows, clusters=clusters, run_rows=run_rows)
    if isinstance(data, Runs):
        return Runs(6, 50, 4)
    if isinstance(data, Graph):
        # The volume of one cluster is more than half of all.
        return Graph(120, 150, 2)
    if isinstance(data, RunPair):
        return RunPair(600, 12)
    if isinstance(data, Covers):
        return Covers(60, 8)
    if isinstance(data, Points):
        run_rows = 60 if several else 300
        rows = run_rows * (5 if several else 1)
        return dataclasses.replace(data, rows=rows, dims=3, clusters=4, run_rows=run_rows)
    if isinstance(data, Sweep):
        return dataclasses.replace(data, rows=200, dims=3, n_k=4)
    assert isinstance(data, Gaussian)
    return dataclasses.replace(data, rows=300, dims=3, clusters=4)


def answers_of(case: Case, folder: Path) -> dict[Job, dict[str, list[Any]]]:
    """The compared answers of the jobs that can run here, as they come from their processes."""
    path = folder / "tiny.parquet"
    duckdb.execute(shrink(case.data).query.format(path=path))
    return {
        job: json.loads(json.dumps(jobs._select_comparable(jobs.JOBS[job.name](str(path))())))
        for job in case.jobs
        if job.engine not in EXTRAS
    }


def compare(answers: dict[Job, dict[str, list[Any]]], tolerance: float) -> None:
    known: dict[str, Any] = {}
    for job, values in answers.items():
        runner.check_answers(known, job, values, tolerance)


def slipped(values: list[Any], tolerance: float) -> list[Any]:
    """The answers, one of them with four times the error that is tolerated."""
    i = next(i for i, value in enumerate(values) if value is not None)
    error = 4 * tolerance * max(1.0, abs(values[i]))
    return [*values[:i], values[i] + error, *values[i + 1 :]]


def assert_compared(answers: dict[Job, dict[str, list[Any]]], tolerance: float) -> None:
    """Every answer is compared with that of another engine, and a slip of any is an error."""
    compare(answers, tolerance)
    for job, values in answers.items():
        if job.name in COUNTING:
            assert list(values) == ["n"]
            continue
        assert list(values) != ["n"], f"{job.name} only counts rows"
        for name, found in values.items():
            others = {other.engine for other, known in answers.items() if name in known}
            if name != "medians":  # of the two sorts in Polars
                assert others - {job.engine}, f"{name} of {job.name} is compared with nothing"
            if any(value is not None for value in found):
                wrong = answers | {job: values | {name: slipped(found, tolerance)}}
                with pytest.raises(AnswersDifferError, match=f"{name}: "):
                    compare(wrong, tolerance)


@pytest.mark.usefixtures("tiny")
def test_reports_are_compared_whole(tmp_path: Path) -> None:
    case = CASES[0]
    answers = answers_of(case, tmp_path)
    assert_compared(answers, case.tolerance)
    whole = [*COUNTS, *METRICS, "rows", "joined_pairs"]
    names = {job.name: list(values) for job, values in answers.items()}
    assert names["duckdb full"] == names["polars full"] == whole
    assert names["duckdb bare"] == names["polars bare"] == ["rows", "joined_pairs"]
    assert names["sklearn ari"] == ["adjusted_rand_score"]


@pytest.mark.wide
@pytest.mark.parametrize("case", CASES[1:], ids=lambda case: case.title)
@pytest.mark.usefixtures("tiny")
def test_every_answer_is_compared_with_another_engine(case: Case, tmp_path: Path) -> None:
    assert_compared(answers_of(case, tmp_path), case.tolerance)


@pytest.mark.parametrize("library", EXTRAS)
def test_other_libraries_are_in_the_cases(library: str) -> None:
    """They are compared by scores that both engines have."""
    for case in CASES:
        for job in case.jobs:
            if job.engine == library:
                assert {other.engine for other in case.jobs} > {"DuckDB", "Polars"}


def test_every_job_has_a_case_and_every_group_is_listed() -> None:
    assert {job.name for case in CASES for job in case.jobs} <= set(jobs.JOBS)
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert tuple(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == tuple(cases.GROUPS)


def test_planning_calls_every_macro(tmp_path: Path) -> None:
    calls = list(planning.list_calls(tmp_path))
    tables = {call.name for call in calls if call.query.startswith("FROM")}
    assert tables >= {name for name, table in declared_tables().items() if table.has_macro}
    assert sum("aggregate" in call.name for call in calls) == len(planning.AGGREGATES) == 5


def test_a_call_on_few_rows_is_timed_and_compared(tmp_path: Path) -> None:
    call = next(x for x in planning.list_calls(tmp_path) if x.name == "pair_counts")
    side = planning.Side(ROOT)
    found = side.run(call)
    wrong = side.run(call._replace(query="FROM clustereval.pair_count(rows_0, label, cluster)"))
    side.close()
    assert found["seconds"] > 0
    assert found["numbers"]["tn"][0] > 0
    assert "did you mean" in wrong["error"].lower()
    other = {**found, "numbers": {**found["numbers"], "tn": [1.0]}}
    assert planning.format_row(call, [found, found])[1] == ""
    assert planning.format_row(call, [found, other])[1] == "differs"
    assert planning.format_row(call, [found, wrong])[3:] == ("error", "")


@pytest.mark.wide
def test_the_program_prints_a_table(tmp_path: Path) -> None:
    output = tmp_path / "results" / "report.md"
    command = [sys.executable, "-m", "benchmarks", "--only", "report", "--rows", "2000"]
    command += ["--repeats", "1", "--data", str(tmp_path), "--output", str(output)]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    text = output.read_text(encoding="utf-8")
    assert text == f"# Benchmark\n\n{process.stdout}"
    assert "## One clustering, 2,000 rows, 1,000 × 1,000 clusters" in text
    assert text.count("\n| DuckDB ") == text.count("\n| Polars ") == 3
    assert text.count("\n| scikit-learn ") == 1


# Tables ----------------------------------------------------------------------------------------

BARE_JOB = Job("DuckDB", cases.BARE, "duckdb bare")
FULL_JOB = Job("DuckDB", cases.FULL, "duckdb full")
OTHER_JOB = Job(cases.SKLEARN, "adjusted_rand_score", "sklearn ari")


def test_a_table_has_medians_and_ratios_within_rounds() -> None:
    rounds = [
        {BARE_JOB: took(1.0, 100), FULL_JOB: took(2.0, 150), OTHER_JOB: took(30.0, 400)},
        {BARE_JOB: took(4.0, 100), FULL_JOB: took(6.0, 150), OTHER_JOB: took(60.0, 400)},
        {BARE_JOB: took(2.0, 100), FULL_JOB: took(8.0, 150), OTHER_JOB: took(40.0, 400)},
    ]
    case = Case("Toy", Runs(6, 50, 4), (BARE_JOB, FULL_JOB, OTHER_JOB))
    lines = table.format_section(Result(case, rounds)).splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    assert lines[0] == "## Toy"
    assert rows[0] == [
        *("engine", "what", "seconds", "× bare", "scikit-learn ÷ it"),
        *("peak MB", "× bare", "work MB", "× bare"),
    ]
    assert rows[2:] == [
        ["DuckDB", "bare GROUP BY", "2", "", "20", "100", "", "10", ""],
        ["DuckDB", "external_report", "6", "2", "10", "150", "1.5", "15", "1.5"],
        ["scikit-learn", "adjusted_rand_score", "40", "20", "", "400", "4", "40", "4"],
    ]


def took(seconds: float, peak_mb: float) -> Measurement:
    return Measurement(seconds, peak_mb, peak_mb / 10)


# Numbers of the pages -------------------------------------------------------------------------


@pytest.mark.parametrize("path", pages.PAGES, ids=lambda path: path.name)
def test_times_of_the_pages_are_those_of_the_results(path: Path) -> None:
    """After a change of either: python -m benchmarks.pages."""
    text = path.read_text(encoding="utf-8")
    assert "<!-- times: " in text
    assert pages.fill_page(text, pages.read_results()) == text


TOY_RESULTS = """# Benchmark

## Toy, 10 rows

| engine | what | seconds | × bare | peak MB |
| ------ | ---- | ------: | -----: | ------: |
| DuckDB | bare |    0.25 |        |     100 |
| DuckDB | sum  |   0.524 |    2.1 |     120 |
| Polars | sum  |     136 |        |      90 |
| other  | sum  |   17327 |        |      80 |
"""


def test_a_block_has_the_seconds_of_its_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toy.md").write_text(TOY_RESULTS, encoding="utf-8")
    results = pages.read_results(tmp_path)
    assert results["Toy, 10 rows"]["DuckDB", "sum"] == ["0.524", "2.1", "120"]
    row = pages.Row("sums", "Toy", "sum", "bare {DuckDB: bare}, other {other: sum} (scaled)")
    monkeypatch.setattr(pages, "README_ROWS", (row,))
    page = "above\n<!-- times: readme -->\nold\n<!-- end of times -->\nbelow\n"
    filled = pages.fill_page(page, results)
    assert filled.splitlines()[:2] == ["above", "<!-- times: readme -->"]
    assert "| sums | 0.52 | 136 | bare 0.25, other 4.8 hours (scaled) |\n" in filled
    assert filled.endswith("<!-- end of times -->\nbelow\n")
    assert "old" not in filled
    assert pages.fill_page(filled, results) == filled
    with pytest.raises(ValueError, match="expected results of one case 'None', got"):
        pages.find_case(results, "None")
    (tmp_path / "two.md").write_text(TOY_RESULTS, encoding="utf-8")
    with pytest.raises(ValueError, match=r"two\.md: another file has results of 'Toy, 10 rows'"):
        pages.read_results(tmp_path)


def test_every_portable_table_is_measured() -> None:
    portable = {name for name, x in declared_tables().items() if x.is_portable}
    assert dialects.CALLS.keys() == portable


def test_the_tables_of_the_pages_of_dialects_and_spark() -> None:
    queries = {
        "Queries of to_sql, 10 rows": {("pair_counts", "to_sql"): ["0.1234", "> 60"]},
        "Queries of to_sql, 20 rows": {("pair_counts", "to_sql"): ["12.34", "0.5"]},
    }
    assert pages.BLOCKS["dialects"](queries)[2:] == ["| `pair_counts` | 0.12 / > 60 | 12 / 0.5 |"]
    jobs_of_spark = {
        "Spark, 1,000 rows × 8, 100 labels and clusters": {
            ("pair_counts", "polars_clustereval"): ["1.5", "2,000", "1.0"],
            ("silhouette", "Spark"): ["3", "4", "2.0"],
        }
    }
    assert pages.BLOCKS["spark"](jobs_of_spark)[2:] == [
        "| 1,000 | pair_counts | 1.5 | 2,000 | 1.0 |",
        "| 1,000 | silhouette, Spark | 3 | 4 | 2.0 |",
    ]


# The rows at which a call takes a minute -------------------------------------------------------


@pytest.mark.parametrize(
    ("calls", "shown"),
    [
        # 0.1 s for any call; then rows²: 1 + 3 = 4 times as long, and 60 s are √15 as many rows
        ([(1000, 0.1), (2000, 1.1), (4000, 4.1)], ("≈ 15,000", "n^2.0")),
        # as many seconds as rows: 30 times as many for a minute
        ([(1000, 0.1), (10_000, 1.1), (20_000, 2.1)], ("≈ 600,000", "n^1.0")),
        # more than six seconds: not ten times as many
        ([(1000, 0.0), (10_000, 5.0), (20_000, 10.0)], ("120,000", "n^1.0")),
        ([(1000, 0.3), (2000, 0.3), (4000, 0.1)], ("≈ 240,000,000", "n^1.0")),
        ([(1000, 1.0)], ("", "")),
        ([], ("", "")),
    ],
)
def test_the_rows_of_a_minute_follow_from_the_growth(
    calls: list[tuple[int, float]], shown: tuple[str, str]
) -> None:
    assert Measured([Size(*x) for x in calls]).show() == shown


def test_refused_rows_are_marked() -> None:
    calls = [Size(1000, 0.0), Size(2000, 7.5), Size(4000, 30.0)]
    assert Measured(calls, is_refused=True).show() == ("5,700 ¹", "n^2.0")


def test_the_page_lists_every_table_with_both_engines() -> None:
    of_case = pages.find_case(pages.read_results(), minutes.TITLE)
    assert {name for name, _ in of_case} == declared_tables().keys()
    for (name, kind), cells in of_case.items():
        assert declared_tables()[name].kind == kind
        assert len(cells) == 4
        has_rows = [bool(cells[0]), bool(cells[2])]
        assert has_rows == [declared_tables()[name].has_macro, True]
