"""compare_clusterings: the order, the rows that count, and the differences to the best one."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import polars.selectors as cs
import pytest
from sklearn.metrics import (
    adjusted_mutual_info_score,
    adjusted_rand_score,
    calinski_harabasz_score,
    davies_bouldin_score,
)

import polars_clustereval as ce
from tests.support.compare import assert_rows
from tests.support.engines import fails

if TYPE_CHECKING:
    from tests.support.engines import Engine, Row

RUNS = ["good", "split", "picky", "coarse"]


def make_rows(n: int, seed: int = 1) -> pl.DataFrame:
    """Four blobs on a line; `picky` leaves out the rows that are hard, as noise."""
    draw = random.Random(seed)
    rows = []
    for i in range(n):
        label, hard = i % 4, draw.random() < 0.3
        seen = draw.randrange(4) if hard else label
        good = seen if draw.random() < 0.6 else label
        x = 10 * seen + draw.gauss(0, 1)
        picky = -1 if hard else (draw.randrange(4) if draw.random() < 0.03 else label)
        rows.append(
            (
                i % 2,
                label,
                x,
                x * 0.5 + draw.random(),
                good,
                2 * seen + draw.randrange(2),
                picky,
                seen // 2,
            )
        )
    schema = {"part": pl.Int64, "label": pl.Int64, "x": pl.Float64, "y": pl.Float64}
    return pl.DataFrame(rows, schema=schema | dict.fromkeys(RUNS, pl.Int64), orient="row")


ROWS = make_rows(600)
DROP: dict[str, Any] = {"noise": -1, "noise_as": "drop"}


def call(engine: Engine, frame: pl.DataFrame, *given: Any, **options: Any) -> list[Row]:
    """The rows of compare_clusterings, after the clusterings of RUNS."""
    return engine.call("compare_clusterings", frame, RUNS, *given, **options)


def by_name(rows: list[Row]) -> dict[str, Row]:
    return {row["clustering"]: row for row in rows}


def test_scores_of_labels_by_scikit_learn(engine: Engine) -> None:
    """Of the rows that a clustering scores, and of the rows that all score."""
    rows = call(engine, ROWS, "label", **DROP)
    common = ROWS.filter(pl.col("picky") >= 0)
    assert [row["clustering"] for row in rows] == [
        name
        for name, _ in sorted(
            ((name, adjusted_rand_score(common["label"], common[name])) for name in RUNS),
            key=lambda pair: -pair[1],
        )
    ]
    for row in rows:
        name = row["clustering"]
        own = ROWS.filter(pl.col(name) >= 0)
        assert (row["n"], row["n_common"]) == (own.height, common.height)
        assert row["coverage"] == pytest.approx(own.height / 600, rel=1e-15)
        assert row["n_clusters"] == own[name].n_unique()
        assert row["n_noise"] == 600 - own.height
        for metric, score in (
            ("adjusted_rand_score", adjusted_rand_score),
            ("adjusted_mutual_info_score", adjusted_mutual_info_score),
        ):
            assert row[metric] == pytest.approx(score(own["label"], own[name]), rel=1e-9)
            wanted = score(common["label"], common[name])
            assert row[f"{metric}_common"] == pytest.approx(wanted, rel=1e-9)
        assert row["simplified_silhouette"] is None
        assert row["davies_bouldin_score_common"] is None


@pytest.mark.gate
def test_scores_of_points_by_scikit_learn(engine: Engine) -> None:
    rows = of_points(engine, ROWS, ", ".join(RUNS), **DROP)
    common = ROWS.filter(pl.col("picky") >= 0)
    best = [row["simplified_silhouette_common"] for row in rows]
    assert best == sorted(best, reverse=True)
    for row in rows:
        name = row["clustering"]
        own = ROWS.filter(pl.col(name) >= 0)
        for frame, suffix in ((own, ""), (common, "_common")):
            points = frame.select("x", "y").to_numpy()
            for metric, score in (
                ("davies_bouldin_score", davies_bouldin_score),
                ("calinski_harabasz_score", calinski_harabasz_score),
            ):
                wanted = score(points, frame[name].to_numpy())
                assert row[metric + suffix] == pytest.approx(wanted, rel=1e-9)
            wanted = ce.silhouette_score(frame, ["x", "y"], name, method="simplified")
            found = row["simplified_silhouette" + suffix]
            assert found == pytest.approx(wanted["silhouette"].item(), rel=1e-9)
        counts = own.height, 600 - own.height, common.height
        assert (row["n"], row["n_noise"], row["n_common"]) == counts
        assert row["adjusted_rand_score"] is None


@pytest.mark.gate
def test_options_of_points(engine: Engine) -> None:
    """Points without a coordinate are left out, and distances are those of `distance`."""
    gaps = ROWS.head(80).with_columns(x=pl.when(pl.int_range(80) % 9 > 0).then("x"))
    options = {"distance": "cityblock", "missing": "drop"}
    for row in of_points(engine, gaps, "good, coarse", **options):
        report = ce.internal_report(gaps, ["x", "y"], row["clustering"], **options)
        wanted = ce.silhouette_score(
            gaps, ["x", "y"], row["clustering"], method="simplified", **options
        )
        for suffix in ("", "_common"):
            found = row[f"simplified_silhouette{suffix}"]
            assert found == pytest.approx(wanted["silhouette"].item(), rel=1e-9)
            found = row[f"davies_bouldin_score{suffix}"]
            assert found == pytest.approx(report["davies_bouldin_score"].item(), rel=1e-9)
        assert (row["n"], row["coverage"]) == (71, 71 / 80)


@pytest.mark.gate
def test_differences_are_those_of_two_clusterings(engine: Engine) -> None:
    """To the best one, on the rows that all score: the rows of external_differences."""
    rows = call(engine, ROWS, "label", confidence=0.9, **DROP)
    common = ROWS.filter(pl.col("picky") >= 0)
    best = rows[0]
    assert best["adjusted_rand_score_difference"] == 0
    assert best["adjusted_rand_score_lower"] is None
    for row in rows[1:]:
        pair = ce.external_differences(
            common, "label", row["clustering"], best["clustering"], confidence=0.9
        )
        for metric in ("adjusted_rand_score", "adjusted_mutual_info_score"):
            wanted = pair.filter(metric=metric).row(0, named=True)
            for name in ("difference", "lower", "upper"):
                found = row[f"{metric}_{name}"]
                assert found == (wanted[name] and pytest.approx(wanted[name], rel=1e-8, abs=1e-12))


@pytest.mark.gate
def test_the_best_one_is_the_same_for_both_scores(engine: Engine) -> None:
    """It has the highest adjusted Rand index, though not the highest mutual information."""
    labels = {"label": [1, 1, 0, 0, 1, 1, 1, 0]}
    runs = {"low": [2, 0, 0, 1, 0, 2, 0, 0], "best": [0, 2, 1, 0, 0, 0, 0, 2]}
    frame = pl.DataFrame(labels | runs)
    best, low = engine.call("compare_clusterings", frame, list(runs), "label")
    assert (best["clustering"], best["adjusted_mutual_info_score_difference"]) == ("best", 0)
    wanted = low["adjusted_mutual_info_score"] - best["adjusted_mutual_info_score"]
    assert low["adjusted_mutual_info_score_difference"] == pytest.approx(wanted, rel=1e-9)
    assert wanted > 0.1


@pytest.mark.gate
def test_remarks(engine: Engine) -> None:
    """Leaving out the hard rows does not make a clustering the best one."""
    rows = by_name(call(engine, ROWS, "label", **DROP))
    assert rows["picky"]["adjusted_rand_score"] > rows["good"]["adjusted_rand_score"]
    assert rows["picky"]["adjusted_rand_score_common"] < rows["good"]["adjusted_rand_score_common"]
    n = rows["picky"]["n"]
    place = list(rows).index("picky") + 1
    assert rows["picky"]["remark"].endswith(
        f"number 1 by its own {n} rows, but number {place} by the {n} rows that all score; "
        "leaves out 27 % of the rows, and the order is about the others"
    )
    assert rows["good"]["remark"] == (
        f"number 2 by its own 600 rows, but number 1 by the {n} rows that all score"
    )
    assert rows["coarse"]["remark"] is None
    plain = by_name(call(engine, ROWS.with_columns(picky="good"), "label"))
    assert plain["good"]["remark"] is None
    assert plain["picky"]["remark"] == (
        "not told apart from the best: the interval of the difference holds 0"
    )
    assert plain["split"]["remark"] is None


@pytest.mark.gate
def test_noise_that_counts(engine: Engine) -> None:
    for noise_as in ("cluster", "singletons"):
        options: dict[str, Any] = {"noise": -1, "noise_as": noise_as}
        rows = engine.call("compare_clusterings", ROWS, ["picky", "good"], "label", **options)
        for row in rows:
            report = ce.external_report(ROWS, "label", row["clustering"], **options).row(
                0, named=True
            )
            for name in ("n", "n_noise", "n_clusters"):
                assert row[name] == report[name]
            for name in ("adjusted_rand_score", "adjusted_mutual_info_score"):
                assert row[name] == pytest.approx(report[name], rel=1e-10)
                assert row[f"{name}_common"] == pytest.approx(report[name], rel=1e-10)
        best, other = (row["clustering"] for row in rows)
        options["metrics"] = ["adjusted_rand_score"]
        pair = ce.external_differences(ROWS, "label", other, best, **options).row(0, named=True)
        for name in ("lower", "upper"):
            assert rows[1][f"adjusted_rand_score_{name}"] == pytest.approx(pair[name], rel=1e-8)


@pytest.mark.gate
def test_partitions_weights_and_order(engine: Engine) -> None:
    frame = ROWS.with_columns(part=pl.when(pl.col("part") > 0).then("part"))
    counted = frame.group_by("part", "label", *RUNS).len("times")
    counted = counted.with_columns(pl.col("times").cast(pl.Int64)).reverse()
    nothing = counted.with_columns(times=pl.lit(0, pl.Int64), part=pl.lit(0, pl.Int64))
    rows = pl.concat([nothing, counted])
    found = call(engine, rows, "label", weight="times", partition_by="part", **DROP)
    wanted = [
        {"part": part} | row
        for part in (1, None)
        for row in ce.compare_clusterings(
            frame.filter(pl.col("part").eq_missing(part)), RUNS, "label", **DROP
        ).rows(named=True)
    ]
    assert_rows(found, wanted)


@pytest.mark.gate
def test_rows_without_labels_or_clusters(engine: Engine) -> None:
    gaps = ROWS.with_columns(
        label=pl.when(pl.int_range(600) % 5 > 0).then("label"),
        split=pl.when(pl.int_range(600) % 7 > 0).then("split"),
    )
    rows = by_name(call(engine, gaps, "label"))
    labeled = gaps.drop_nulls("label")
    assert rows["good"]["n"] == labeled.height
    assert rows["good"]["coverage"] == 1
    assert rows["split"]["n"] == labeled.drop_nulls("split").height
    assert rows["split"]["coverage"] == pytest.approx(rows["split"]["n"] / labeled.height)
    assert {row["n_common"] for row in rows.values()} == {rows["split"]["n"]}
    nothing = gaps.with_columns(label=pl.lit(None, pl.Int64))
    for row in call(engine, nothing, "label"):
        assert (row["n"], row["coverage"]) == (0, 0)
        words = "no row is scored by all clusterings, so they are in the given order"
        assert (row["adjusted_rand_score"], row["remark"]) == (None, words)
    assert call(engine, ROWS.clear(), "label") == []


def of_points(engine: Engine, frame: pl.DataFrame, runs: str, **options: Any) -> list[Row]:
    """Without labels: the vector by its name, which the calls of the engine do not write."""
    if engine.name != "duckdb":
        given = runs.split(", ")
        return engine.call("compare_clusterings", frame, given, vector=["x", "y"], **options)
    more = "".join(
        f", {name} := {x if name == 'weight' else repr(x)}" for name, x in options.items()
    )
    query = f"FROM clustereval.compare_clusterings(assignments, [{runs}], vector := [x, y]{more})"
    rows = engine.ask(query, assignments=frame)
    return [{name: x for name, x in row.items() if name != "partition_key"} for row in rows]


@pytest.mark.gate
def test_equal_clusterings_are_in_the_given_order(engine: Engine) -> None:
    """Scores of points differ by rounding errors, which must not decide; none is the worst."""
    runs = ["constant", "coarse", "good", *(f"copy{i}" for i in range(4))]
    copies = (pl.col("good").alias(name) for name in runs[3:])
    frame = ROWS.with_columns(*copies, constant=pl.lit(0, pl.Int64))
    rows = of_points(engine, frame, ", ".join(runs))
    found = [row["clustering"] for row in rows if row["clustering"] != "coarse"]
    assert found == [*runs[2:], "constant"]
    told = "not told apart from the best: the interval of the difference holds 0"
    assert {row["clustering"]: row["remark"] for row in rows} == {
        **dict.fromkeys(runs[:2], None),
        **dict.fromkeys(runs[2:], told),
    }


@pytest.mark.gate
def test_weights_do_not_count_without_labels(engine: Engine) -> None:
    frame = ROWS.with_columns(w=pl.lit(3), good=pl.when(pl.int_range(600) >= 60).then("good"))
    found = by_name(of_points(engine, frame, "good, picky", weight="w", **DROP))
    picky = ROWS.filter(pl.col("picky") >= 0).height
    assert (found["good"]["n"], found["good"]["coverage"]) == (540, 0.9)
    assert found["picky"]["n"] == picky
    assert found["picky"]["coverage"] == pytest.approx(picky / 600, rel=1e-15)


@pytest.mark.gate
def test_coverage_of_singletons_without_labels(engine: Engine) -> None:
    rows = of_points(engine, ROWS, "good, picky", noise=-1, noise_as="singletons")
    assert {row["coverage"] for row in rows} == {1}


@pytest.mark.gate
def test_no_row_that_all_score(engine: Engine) -> None:
    """No row decides the order, so no place is better than another one."""
    halves = ROWS.with_columns(
        good=pl.when(pl.col("part") == 0).then("good"),
        split=pl.when(pl.col("part") == 1).then("split"),
    )
    rows = call(engine, halves, "label")
    assert [row["clustering"] for row in rows] == RUNS
    assert {row["n_common"] for row in rows} == {0}
    words = "no row is scored by all clusterings, so they are in the given order"
    assert {row["remark"] for row in rows} == {words}
    rows = of_points(engine, halves, "good, split")
    assert {(row["n"], row["n_common"], row["remark"]) for row in rows} == {(300, 0, words)}


@pytest.mark.gate
def test_whole_numbers_of_different_types(engine: Engine) -> None:
    """The noise value need not have the type of the first column, and large ones are exact."""
    narrow = ROWS.with_columns(
        pl.col("good").cast(pl.UInt8),
        pl.col("split").cast(pl.Int32),
        large=pl.col("label").cast(pl.UInt64) + 2**63,
    )
    found = call(engine, narrow, "label", **DROP)
    assert_rows(found, ce.compare_clusterings(ROWS, RUNS, "label", **DROP).rows(named=True))
    large = engine.call("compare_clusterings", narrow, ["picky", "large"], "label", **DROP)
    assert (large[0]["clustering"], large[0]["adjusted_rand_score"]) == ("large", 1)


@pytest.mark.gate
def test_columns_by_a_selector_or_an_expression() -> None:
    few = ROWS.head(40)
    wanted = ce.compare_clusterings(few, ["good", "split"], "label")
    found = ce.compare_clusterings(few, cs.by_name("good", "split"), "label")
    assert_rows(found.rows(named=True), wanted.rows(named=True))
    named = ce.compare_clusterings(
        few.lazy(), ["good", (pl.col("split") // 2).alias("halved")], "label"
    ).collect()
    assert set(named["clustering"]) == {"good", "halved"}


@pytest.mark.gate
def test_expressions_have_numbers_in_sql(con: Any) -> None:
    con.register("assignments", ROWS)
    query = (
        "SELECT clustering FROM clustereval.compare_clusterings("
        "assignments, [good, split // 2], label)"
    )
    assert {name for (name,) in con.execute(query).fetchall()} == {"clustering 1", "clustering 2"}


# The long form ------------------------------------------------------------------------------------


def make_long(wide: pl.DataFrame, runs: list[str], owned: list[str]) -> pl.DataFrame:
    """A row for each id and run with a cluster, and one for each id with what it owns."""
    wide = wide.with_row_index("id")
    folded = wide.unpivot(runs, index=["id", "part"], variable_name="run", value_name="cluster")
    owners = wide.select("id", "part", *owned)
    return pl.concat([folded.drop_nulls("cluster"), owners], how="diagonal").sample(
        fraction=1.0, shuffle=True, seed=5
    )


def call_long(engine: Engine, frame: pl.DataFrame, *given: Any, **options: Any) -> list[Row]:
    long = {"id": "id", "run": "run"}
    return engine.call("compare_clusterings", frame, ["cluster"], *given, **long, **options)


@pytest.mark.gate
@pytest.mark.parametrize("noise_as", ["drop", "singletons"])
def test_the_long_form_gives_the_same_rows(engine: Engine, noise_as: str) -> None:
    gaps = pl.int_range(pl.len()) % 7 == 3
    # Ties are in the order of the runs, which is that of their names.
    wide = ROWS.with_columns(pl.when(~gaps).then("split").alias("split"), w=pl.col("label") % 3)
    options: dict[str, Any] = {"noise": -1, "noise_as": noise_as, "weight": "w"}
    given = "label", ["x", "y"]
    wanted = engine.call("compare_clusterings", wide, sorted(RUNS), *given, **options)
    found = call_long(engine, make_long(wide, RUNS, ["label", "x", "y", "w"]), *given, **options)
    assert_rows(found, wanted)


@pytest.mark.gate
def test_each_partition_has_its_own_runs(engine: Engine) -> None:
    frame = make_long(ROWS, RUNS, ["label"])
    others = pl.col("part").eq(1) & pl.col("run").is_in(["split", "coarse"])
    kept = frame.filter(~others.fill_null(value=False))
    found = call_long(engine, kept, "label", partition_by="part", **DROP)
    assert sorted(row["clustering"] for row in found) == sorted([*RUNS, "good", "picky"])
    rows = ROWS.filter(pl.col("part") == 1)
    wanted = engine.call("compare_clusterings", rows, ["good", "picky"], "label", **DROP)
    assert_rows([x for x in found if x.pop("part") == 1], wanted)


@pytest.mark.gate
def test_equal_runs_are_in_their_order(engine: Engine) -> None:
    wide = ROWS[:40].with_columns(a10=pl.col("good"), a9=pl.col("good"), a2=pl.col("good"))
    found = call_long(engine, make_long(wide, ["a9", "a10", "a2"], ["label"]), "label")
    assert [row["clustering"] for row in found] == ["a10", "a2", "a9"]


@pytest.mark.gate
@pytest.mark.parametrize("kind", ["date", "list", "number"])
def test_types_of_the_long_form(engine: Engine, kind: str) -> None:
    types = {
        "date": pl.date(2026, 1, 1) + pl.duration(days=pl.col("k")),
        "list": pl.concat_list(pl.col("k").cast(pl.String), pl.lit("a")),
        "number": pl.col("k"),
    }
    frame = make_long(ROWS, RUNS, ["label", "x"]).with_columns(
        k=pl.col("run").replace_strict({x: i for i, x in enumerate(RUNS)}, return_dtype=pl.Int64),
        label=pl.when(pl.col("label").is_not_null()).then(pl.struct("label")),
        vector=pl.when(pl.col("x").is_not_null()).then(pl.concat_list("x", pl.lit(1.0))),
    )
    if kind == "list":
        cluster = pl.when(pl.col("cluster").is_not_null()).then(pl.concat_list("cluster"))
        frame = frame.with_columns(cluster)
    else:
        frame = frame.with_columns(run=pl.when(pl.col("run").is_not_null()).then(types[kind]))
    found = call_long(engine, frame.drop("k"), "label", "vector")
    wanted = engine.call(
        "compare_clusterings", ROWS.with_columns(one=pl.lit(1.0)), RUNS, "label", ["x", "one"]
    )
    assert [x["adjusted_rand_score"] for x in found] == pytest.approx(
        [x["adjusted_rand_score"] for x in wanted], rel=1e-12
    )
    assert [x["simplified_silhouette"] for x in found] == pytest.approx(
        [x["simplified_silhouette"] for x in wanted], rel=1e-12
    )
    names = {"date": "2026-01-01", "list": "good", "number": "0"}
    assert names[kind] in {x["clustering"] for x in found}


@pytest.mark.gate
def test_errors_of_the_long_form(side: Engine) -> None:
    good = make_long(ROWS[:12], ["good", "split"], ["label", "x", "y"]).with_columns(
        w=pl.when(pl.col("label").is_not_null()).then(1)
    )
    one = good.filter(pl.col("id") == 5, pl.col("run") == "good")
    of_five = "expected the same value in all rows of an id, got different ones for id 5"
    again = "id: expected one row per id in a run, got several rows of id 5"
    null = pl.lit(None)
    cases: list[tuple[str, pl.DataFrame, dict[str, Any]]] = [
        ("id: expected a value in every row together with run", _add(good, one, id=null), {}),
        ("run: expected a value in every row with a cluster", _add(good, one, run=null), {}),
        (again, _add(good, one), {}),
        (f"label: {of_five}", _add(good, one, run=pl.lit("z"), label=9), {}),
        (f"vector: {of_five}", _add(good, one, run=pl.lit("z"), x=9.5, y=0.0), {}),
        (f"weight: {of_five}", _add(good, one, run=pl.lit("z"), w=9), {"weight": "w"}),
        ("id: expected a column together with run", good, {"id": None}),
        ("run: expected a column together with id", good, {"run": None}),
        ("clusters: expected a list of one column", good, {"clusters": ["cluster", "w"]}),
    ]
    for words, frame, options in cases:
        given = {"clusters": ["cluster"], "id": "id", "run": "run"} | options
        clusters = given.pop("clusters")
        with fails(side, words):
            side.call("compare_clusterings", frame, clusters, "label", ["x", "y"], **given)


def _add(frame: pl.DataFrame, row: pl.DataFrame, **values: Any) -> pl.DataFrame:
    return pl.concat([frame, row.with_columns(**values)], how="diagonal_relaxed")


@pytest.mark.gate
def test_runs_are_found_when_a_query_is_collected() -> None:
    frame = make_long(ROWS, RUNS, ["label"])
    found = ce.compare_clusterings(frame.lazy(), "cluster", "label", id="id", run="run")
    assert isinstance(found, pl.LazyFrame)
    wanted = ce.compare_clusterings(frame, "cluster", "label", id="id", run="run")
    assert_rows(found.collect().rows(named=True), wanted.rows(named=True))
    empty = ce.compare_clusterings(frame.clear(), "cluster", "label", id="id", run="run")
    assert empty.schema == wanted.schema
    assert empty.is_empty()


# Bad input ----------------------------------------------------------------------------------------


def test_errors(side: Engine) -> None:
    with fails(side, "noise: expected a value of the type of cluster (BIGINT), got 'x' (VARCHAR)"):
        call(side, ROWS, "label", noise="x", noise_as="drop")
    with fails(side, "noise_as: expected one of 'cluster', 'drop', 'singletons', got 'off'"):
        call(side, ROWS, "label", noise=-1, noise_as="off")
    with fails(side, "confidence: expected a number between 0 and 1, got 0"):
        call(side, ROWS, "label", confidence=0)
    with fails(side, "distance: expected one of "):
        call(side, ROWS, "label", distance="straight")
    with fails(side, "got neither"):
        call(side, ROWS)


def test_errors_of_columns() -> None:
    for given, words in (
        ([], "clusters: expected a list of columns, one for each clustering, got list"),
        (5, "clusters: expected a list of columns, one for each clustering, got int"),
        (["good", "god"], "clusters: column 'god' not found; did you mean 'good'"),
        (["good", "good"], "clusters: 'good' is given twice"),
        (["good", "x"], "clusters: expected columns of one type, got Int64 for good and Float64"),
    ):
        with pytest.raises(ce.ClusterEvalError, match=words):
            ce.compare_clusterings(ROWS, given, "label")


@pytest.mark.gate
def test_errors_of_columns_in_sql(con: Any) -> None:
    con.register("assignments", ROWS)
    with pytest.raises(duckdb.Error, match="clusters: expected a list of columns, got quoted stri"):
        con.execute("FROM clustereval.compare_clusterings(assignments, ['good', 'split'], label)")
    for given, words in (("[]", "got an empty list"), ("[good, good]", "a column is given twice")):
        with pytest.raises(duckdb.Error, match=f"clusters: .*{words}"):
            con.execute(f"FROM clustereval.compare_clusterings(assignments, {given}, label)")


def test_a_list_of_columns_as_the_cluster_of_another_table(con: Any) -> None:
    con.register("assignments", ROWS)
    words = "compare_clusterings.* compares several clusterings"
    with pytest.raises(duckdb.Error, match=rf"cluster: expected one column, got a list; {words}"):
        con.execute("FROM clustereval.external_summary(assignments, label, [good, split])")
    with pytest.raises(
        ce.ClusterEvalError, match=rf"cluster: expected a column .*, got list; ce.{words}"
    ):
        ce.external_summary(ROWS, "label", ["good", "split"])  # type: ignore[arg-type]
