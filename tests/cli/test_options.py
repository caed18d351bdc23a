"""Options of the command line, and the commands without a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pytest

from polars_clustereval.cli import main
from tests.support.command_line import (
    FRAME,
    IRIS,
    KMEANS,
    Run,
    report,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("dtype", "noise"),
    [
        (pl.Int64, "-1"),
        (pl.Int64, "-1.0"),
        (pl.Float64, "-1"),
        (pl.Float64, "-1.0"),
        (pl.String, "-1"),
    ],
)
def test_noise_has_the_type_of_its_column(
    run: Run, engine_name: str, tmp_path: Path, dtype: type[pl.DataType], noise: str
) -> None:
    path = tmp_path / "noisy.parquet"
    FRAME.with_columns(pl.col("cluster").cast(dtype)).write_parquet(path)
    columns = ("--label", "species", "--cluster", "cluster", "--noise", noise)
    [row] = report(run, path, *columns, "--noise-as", "drop", "--engine", engine_name)
    assert (row["n"], row["n_noise"], row["n_dropped"]) == (3, 1, 1)


def test_options_reach_the_engine(run: Run, engine_name: str) -> None:
    plain, tuned = (
        report(run, IRIS, *KMEANS, "--engine", engine_name, *options)[0]
        for options in ((), ("--beta", "2.5", "--average-method", "joint", "--no-adjusted"))
    )
    assert plain.keys() - tuned.keys() == {"adjusted_mutual_info_score", "expected_mutual_info"}
    changed = {name for name in tuned if plain[name] != pytest.approx(tuned[name], rel=1e-9)}
    assert changed == {
        "pair_f_score", "v_measure_score", "bcubed_f_score", "normalized_mutual_info_score",
    }  # fmt: skip
    assert "adjusted_mutual_info" not in run("external", IRIS, *KMEANS, "--no-adjusted")


def test_sql_is_the_bundle(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "clustereval.sql"
    assert run("sql", "--output", path) == ""
    assert path.read_text(encoding="utf-8") == run("sql")
    with duckdb.connect() as connection:
        connection.execute(run("sql"))
        query = f"SELECT clustereval.rand_score(species, kmeans) FROM '{IRIS}'"
        assert connection.execute(query).fetchone() == pytest.approx((0.879732,), abs=5e-7)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--version"], "clustereval 0.1.0"),
        (["--help"], "external"),
        (["external", "--help"], "--noise-as"),
        (["internal", "--help"], "--vector COLUMNS"),
        (["sql", "--help"], "--output"),
    ],
)
def test_help(capfd: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 0
    assert words in capfd.readouterr().out
