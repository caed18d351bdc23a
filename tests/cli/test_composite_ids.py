"""Ids of several columns: --id source,number gives what one column of both gives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest

from tests.support.command_line import Fail, Run, json_rows, near_rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.gate

#: The numbers repeat across sources; both have as many digits, so that texts have the same order.
SOURCES, NUMBERS = ["crm", "web"], range(10, 25)
ROWS = pl.DataFrame(
    [(s, n) for s in SOURCES for n in NUMBERS], schema=["source", "number"], orient="row"
).with_columns(
    key=pl.format("{}-{}", "source", "number"),
    cluster=pl.int_range(30) * 7 % 11 // 2,
    label=pl.int_range(30) % 13 // 3,
    x=pl.int_range(30) * 17 % 29 / 2,
    run=pl.int_range(30) * 0,
)


def ends_of(side: str, places: pl.Expr) -> list[pl.Expr]:
    """The columns of one end of pairs, such as source_l and key_l, from the places of rows."""
    ends = {"source": ROWS["source"], "number": ROWS["number"], "key": ROWS["key"]}
    return [pl.lit(x).gather(places).alias(f"{name}_{side}") for name, x in ends.items()]


PLACES = pl.int_range(30)
EDGES = ROWS.select(
    *ends_of("l", PLACES * 4 % 30),
    *ends_of("r", PLACES * 11 % 23),
    w=(1 + PLACES % 7) / 8,
    is_match=PLACES % 3 > 0,
).filter(pl.col("key_l") != pl.col("key_r"))
EDGES = EDGES.unique(["key_l", "key_r"], keep="first", maintain_order=True)
#: By name: a command, its options, and the option for the second table if there is one.
COMMANDS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "samples": ("samples", ("--vector=x", "--cluster=cluster"), ""),
    "report": ("report", ("--vector=x", "--cluster=cluster"), ""),
    "stability": ("stability", ("--run=run", "--cluster=cluster"), ""),
    "transitions": ("transitions", ("--cluster=cluster",), "AFTER"),
    "moved": ("transitions", ("--cluster=cluster", "--show=ids"), "AFTER"),
    "overlapping": ("overlapping", ("--cluster=cluster", "--label=label"), "AFTER"),
    "graph": ("graph", ("--cluster=cluster", "--weight=w"), "--edges"),
    "nodes": ("graph", ("--cluster=cluster", "--show=nodes"), "--edges"),
    "edges": ("graph", ("--cluster=cluster", "--show=edges"), "--edges"),
    "components": ("components", ("--weight=w", "--threshold=0.9"), "--edges"),
    "thresholds": ("thresholds", ("--weight=w", "--label=label"), "--edges"),
    "neighborhood": ("neighborhood", ("--cluster=cluster", "--distance=w"), "--neighbors"),
    "pair-labels": ("pair-labels", ("--cluster=cluster", "--is-match=is_match"), "--pairs"),
}


@pytest.fixture(params=["csv", "parquet"])
def call(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., tuple[str, ...]]:
    """The call of one of COMMANDS with an id of one or two columns."""
    ending = request.param
    paths = {name: str(tmp_path / f"{name}.{ending}") for name in ("rows", "after", "pairs")}
    moved = ROWS.with_columns(cluster=pl.col("cluster").shift(3, fill_value=0))
    for path, frame in zip(paths.values(), (ROWS, moved, EDGES), strict=True):
        frame.write_csv(path) if ending == "csv" else frame.write_parquet(path)

    def call_of(name: str, *columns: str) -> tuple[str, ...]:
        command, options, second = COMMANDS[name]
        given = [command, paths["rows"], *options, f"--id={','.join(columns)}"]
        if second == "AFTER":
            given.insert(2, paths["after"])
        elif second:
            ends = {
                x: ",".join(f"{column}_{x[0]}" for column in columns) for x in ("left", "right")
            }
            given += [second, paths["pairs"], *(f"--{x}={text}" for x, text in ends.items())]
        return tuple(given)

    return call_of


def as_one_text(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: "-".join(map(str, x.values())) if isinstance(x, dict) else x
        for name, x in row.items()
    }


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "report"])
def test_two_columns_are_one_id(
    run: Run, call: Callable[..., tuple[str, ...]], engine_name: str, name: str
) -> None:
    engine = ("--engine", engine_name)
    found = json_rows(run, *call(name, "source", "number"), *engine)
    wanted = json_rows(run, *call(name, "key"), *engine)
    assert wanted
    assert [as_one_text(row) for row in found] == near_rows(wanted)


def test_a_column_for_each_part_in_csv(
    run: Run, call: Callable[..., tuple[str, ...]], engine_name: str
) -> None:
    engine = ("--engine", engine_name, "--format", "csv")
    header, first, *_ = run(*call("edges", "source", "number"), *engine).splitlines()
    assert header.startswith("left_source,left_number,right_source,right_number,weight,")
    assert first.startswith("crm,10,crm,")
    header = run(*call("components", "source", "number"), *engine).splitlines()[0]
    assert header == "id_source,id_number,cluster_source,cluster_number"


def test_a_text_that_a_spreadsheet_would_compute(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("source,number,cluster,x\n=a,1,a,1\n=a,2,a,2\nb,1,b,3\n")
    columns = ("--id", "source,number", "--vector", "x", "--cluster", "cluster")
    text = run("samples", path, *columns, "--format", "csv", "--quote-formulas")
    assert {line.split(",")[0] for line in text.splitlines()[1:]} == {"'=a", "b"}


def test_parts_on_the_terminal(run: Run, call: Callable[..., tuple[str, ...]]) -> None:
    text = run(*call("components", "source", "number"))
    assert "id source,number\nleft source_l,number_l, right source_r,number_r" in text
    assert "crm,10  crm,10" in text
    page = run(*call("report", "source", "number"))
    assert re.search(r"^\| crm,1\d \| ", page, re.MULTILINE)


def test_a_column_whose_name_has_a_comma(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    ROWS.rename({"key": "source,number"}).write_parquet(path)
    given = ("samples", path, "--id", "source,number", "--vector", "x", "--cluster", "cluster")
    assert "crm-10" in [row["id"] for row in json_rows(run, *given)]


def test_an_id_without_one_part_is_missing(fail: Fail, tmp_path: Path, engine_name: str) -> None:
    path = tmp_path / "rows.parquet"
    ROWS.with_columns(source=pl.when(pl.col("number") > 10).then("source")).write_parquet(path)
    given = ("--id", "source,number", "--run", "run", "--cluster", "cluster")
    error = fail("stability", path, *given, "--engine", engine_name)
    assert "id: expected a value in every row, got NULL in 2 rows" in error


def test_a_database(run: Run, tmp_path: Path, engine_name: str) -> None:
    path = tmp_path / "people.duckdb"
    with duckdb.connect(path) as con:
        con.execute("CREATE TABLE nodes AS FROM ROWS; CREATE TABLE pairs AS FROM EDGES")
    call = ("pair-labels", f"{path}::nodes", "--pairs", f"{path}::pairs", "--is-match=is_match")
    engine = ("--cluster=cluster", "--engine", engine_name)
    two = ("--id=source,number", "--left=source_l,number_l", "--right=source_r,number_r")
    found = json_rows(run, *call, *two, *engine)
    assert found == json_rows(run, *call, "--id=key", "--left=key_l", "--right=key_r", *engine)
    assert found[0]["n_pairs"] > 10


def test_labels_of_pairs_at_thresholds(run: Run, tmp_path: Path, engine_name: str) -> None:
    paths = [str(tmp_path / f"{name}.parquet") for name in ("rows", "pairs")]
    ROWS.write_parquet(paths[0])
    EDGES.write_parquet(paths[1])
    call = ("thresholds", paths[0], "--edges", paths[1], "--pairs", paths[1])
    call += ("--is-match=is_match", "--weight=w", "--thresholds=0.5", "--engine", engine_name)
    one, two = (
        json_rows(
            run,
            *(*call, f"--id={','.join(names)}"),
            *(
                f"--{option}={','.join(f'{name}_{end[0]}' for name in names)}"
                for end in ("left", "right")
                for option in (end, f"pair-{end}")
            ),
        )
        for names in (("key",), ("source", "number"))
    )
    assert one == two
    assert one[0]["pair_precision"] is not None


def test_the_ends_of_an_id_whose_name_has_a_comma(
    run: Run, tmp_path: Path, engine_name: str
) -> None:
    paths = [str(tmp_path / f"{name}.csv") for name in ("rows", "pairs")]
    ROWS.select(pl.col("key").alias("a,b")).write_csv(paths[0])
    EDGES.write_csv(paths[1])
    call = ("components", paths[0], "--edges", paths[1], "--id=a,b", "--engine", engine_name)
    rows = json_rows(run, *call, "--left=key_l", "--right=key_r")
    assert len(rows) == len(ROWS)


def test_mistakes(fail: Fail, call: Callable[..., tuple[str, ...]], engine_name: str) -> None:
    engine = ("--engine", engine_name)
    given = call("components", "source", "number")
    for option, words in (
        ("--id=sources,number", "id: column 'sources' not found; did you mean 'source'?"),
        ("--left=source_l,numer_l", "left: column 'numer_l' not found; did you mean 'number_l'?"),
        ("--id=source,source", "id: expected different columns, got source,source"),
        (
            "--right=source_r,number_r,key_r",
            "right: expected as many columns as --id source,number, got 3: source_r,number_r,key_r",
        ),
        ("--id=number", "left: expected as many columns as --id number, got 2: source_l,number_l"),
    ):
        assert words in fail(*given, option, *engine)
    advice = "; if ids repeat across sources, give both columns, as in --id source,id"
    assert advice in fail(*call("components", "number"), *engine)
