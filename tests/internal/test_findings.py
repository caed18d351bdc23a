"""Findings on points: each code where it is and is not, from numbers that other libraries give."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import silhouette_samples as sklearn_silhouettes

import polars_clustereval as ce
from tests.external.test_findings import assert_no_contradiction, bare
from tests.support.compare import is_near
from tests.support.engines import ENGINES, Engine, make
from tests.support.point_engines import call

if TYPE_CHECKING:
    from tests.support.engines import Row

COLUMNS = ["severity", "code", "cluster", "other_cluster", "coordinate", "n", "value", "finding"]
XY = ["x", "y"]


def found_in(engine: Engine, frame: pl.DataFrame, vector: Any, **options: Any) -> list[Row]:
    return [bare(row) for row in call(engine, "internal_findings", frame, vector, **options)]


def point_findings(engine: Engine, frame: pl.DataFrame, **options: Any) -> list[Row]:
    return found_in(engine, frame, XY, **options)


def only(rows: list[Row], code: str) -> list[Row]:
    return [row for row in rows if row["code"] == code]


def squares(*centers: tuple[float, float], copies: int = 5, side: float = 1.0) -> pl.DataFrame:
    """Clusters 0, 1, ... of `copies` times the corners of a square about each center."""
    corners = [(-1, -1), (-1, 1), (1, -1), (1, 1)] * copies
    rows = [
        (x + side * i, y + side * j, cluster)
        for cluster, (x, y) in enumerate(centers)
        for i, j in corners
    ]
    return pl.DataFrame(rows, schema=["x", "y", "cluster"], orient="row")


APART = squares((0, 0), (20, 0), (0, 20))


# ----------------------------------------------------------------------------------------------
# Each code, where it is and where it is not
# ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise_as", ["drop", "singletons"])
def test_noise_is_not_compared_and_may_have_gaps(engine: Engine, noise_as: str) -> None:
    """A point of a cluster must not have a gap."""
    noisy = pl.DataFrame({"x": [None, 7.0], "y": [1.0, 2.0], "cluster": [-1, -1]})
    frame = pl.concat([APART, noisy])
    [row] = point_findings(engine, frame, noise=-1, noise_as=noise_as)
    assert (row["code"], row["n"], row["value"]) == ("noise_rows", 2, 2 / 62)
    with pytest.raises(
        (ce.ClusterEvalError, duckdb.Error), match="expected finite numbers, got NULL in column x"
    ):
        point_findings(engine, frame.with_columns(cluster=pl.lit(0)), noise=-1, noise_as=noise_as)


def test_no_row_and_nothing_to_say(engine: Engine) -> None:
    [row] = point_findings(engine, APART.clear())
    assert (row["severity"], row["code"], row["n"]) == ("problem", "no_rows", 0)
    assert row["finding"] == "no point can be scored, so nothing was checked"
    assert point_findings(engine, APART) == []


def test_low_silhouettes_and_close_clusters(engine: Engine) -> None:
    """Two clusters that lie in each other, and one apart."""
    frame = squares((0, 0), (1, 0), (15, 15))
    points, clusters = frame.select(XY).to_numpy(), frame["cluster"].to_numpy()
    silhouettes = sklearn_silhouettes(points, clusters)
    means = [float(silhouettes[clusters == i].mean()) for i in range(3)]
    assert all(x < 0.25 for x in means[:2])
    assert means[2] > 0.25
    rows = point_findings(engine, frame)
    assert [(row["code"], row["cluster"], row["other_cluster"], row["n"]) for row in rows] == [
        ("low_silhouette", 0, 1, 20),
        ("low_silhouette", 1, 0, 20),
        ("close_clusters", 0, 1, 40),
    ]
    assert is_near([row["value"] for row in rows], [means[0], means[1], max(means[:2])])
    both = f"{means[0]:.2f} and {means[1]:.2f}: they are hardly set apart"
    assert rows[2]["finding"].endswith(both)
    assert rows[0]["finding"] == (
        f"the mean silhouette of its 20 points is {means[0]:.2f}: it is hardly set apart from the "
        "clusters around it"
    )


@pytest.mark.gate
def test_a_cluster_on_two_sides_of_another_is_a_problem(engine: Engine) -> None:
    """Its points are nearer to the one between them."""
    outer = pl.DataFrame({"x": [-9.0, -9.5, 9.0, 9.5] * 3, "y": [0.0] * 12, "cluster": [7] * 12})
    frame = pl.concat([squares((0, 0)).cast({"cluster": pl.Int64}), outer])
    [row] = only(point_findings(engine, frame), "low_silhouette")
    assert (row["severity"], row["cluster"], row["other_cluster"]) == ("problem", 7, 0)
    points, clusters = frame.select(XY).to_numpy(), frame["cluster"].to_numpy()
    mean = float(sklearn_silhouettes(points, clusters)[clusters == 7].mean())
    assert is_near(row["value"], mean)
    words = f"the mean silhouette of its 12 points is {mean:.2f}: they are nearer to another "
    assert row["finding"] == f"{words}cluster than to each other"


@pytest.mark.gate
def test_a_single_point_has_no_low_silhouette(engine: Engine) -> None:
    """Its silhouette is 0 by definition."""
    alone = pl.DataFrame({"x": [50.0], "y": [0.0], "cluster": [9]})
    rows = point_findings(engine, pl.concat([APART, alone]))
    assert [row["code"] for row in rows] == ["tiny_cluster"]


@pytest.mark.parametrize("distance", ["euclidean", "sqeuclidean"])
def test_a_far_point(engine: Engine, distance: str) -> None:
    """By squared distances, it is compared with the root of their mean."""
    near = squares((0, 0), copies=100)
    for x, is_far in ((5.0, False), (40.0, True)):
        frame = pl.concat([near, pl.DataFrame({"x": [x], "y": [0.0], "cluster": [0]})])
        frame = pl.concat([frame, squares((500, 0)).with_columns(cluster=pl.lit(1, pl.Int64))])
        found = only(point_findings(engine, frame, distance=distance), "far_point")
        assert [row["cluster"] for row in found] == ([0] if is_far else [])
        if is_far:
            own = frame.filter(cluster=0).select(XY).to_numpy()
            lengths = np.linalg.norm(own - own.mean(axis=0), axis=1)
            usual = np.sqrt((lengths**2).mean()) if distance == "sqeuclidean" else lengths.mean()
            ratio = float(lengths.max() / usual)
            assert ratio > 10
            assert is_near(found[0]["value"], ratio)
            assert found[0]["finding"] == (
                f"its farthest point is {ratio:.0f} times as far from the center as its points are "
                "on average"
            )


@pytest.mark.gate
def test_a_dominant_coordinate(engine: Engine) -> None:
    wide = pl.when(pl.col("cluster") == 2).then(30).otherwise(10)
    frame = APART.with_columns(pl.col("y") * wide)
    [row] = only(point_findings(engine, frame), "dominant_coordinate")
    variances = frame.group_by("cluster").agg(pl.col(XY).var())
    share = variances.select((pl.col("y") / (pl.col("x") + pl.col("y"))).mean()).item()
    assert (row["severity"], row["coordinate"], row["n"], row["cluster"]) == (
        "warning",
        2,
        60,
        None,
    )
    assert is_near(row["value"], share)
    assert row["finding"] == (
        f"coordinate 2 of 2 (y) holds {'over 99' if share > 0.995 else round(100 * share)} % of "
        "the variance within clusters, so distances say little of the other coordinates: pass the "
        "columns that were clustered on, such as scaled ones"
    )
    for options in ({"distance": "cosine"}, {"weights": [100.0, 1.0]}):
        assert only(point_findings(engine, frame, **options), "dominant_coordinate") == []
    shifted = frame.with_columns(pl.col(XY) + 2.0**40)
    [moved] = only(point_findings(engine, shifted), "dominant_coordinate")
    assert is_near(moved["value"], share, relative=1e-6)
    constant = APART.with_columns(x=pl.lit(1.0), y=pl.lit(2.0))
    assert only(point_findings(engine, constant), "dominant_coordinate") == []


#: Three clusters in x and y, and a column of the same spread that says nothing of them.
UNRELATED = APART.with_columns(
    pl.col("cluster").cast(pl.Int64), z=pl.Series([float(i * 7 % 11) / 5 for i in range(60)])
)


@pytest.mark.gate
@pytest.mark.parametrize("large", [["z"], ["y", "z"]])
def test_columns_of_another_unit_come_first_without_their_symptoms(
    engine: Engine, large: list[str]
) -> None:
    """Every silhouette is low, because distances compare little else than the large columns."""
    frame = UNRELATED.with_columns(pl.col(large) * 1000)
    names, n = ["x", "y", "z"], len(large)
    [row] = found_in(engine, frame, names)
    assert (row["code"], row["coordinate"]) == ("dominant_coordinate", 4 - n)
    numbers = ", ".join(map(str, range(4 - n, 4)))
    verb = "coordinate {} of 3 ({}) holds" if n == 1 else "coordinates {} of 3 ({}) hold"
    assert row["finding"].startswith(verb.format(numbers, ", ".join(large)) + " over 99 % of the")
    assert found_in(engine, UNRELATED, names) == []


@pytest.mark.gate
def test_names_of_coordinates_of_several_types(engine: Engine) -> None:
    """DuckDB casts them to one type; computed ones and lists have no names."""
    frame = UNRELATED.with_columns((pl.col("z") * 1000).cast(pl.Int64)).rename({"z": 'Mb "a"'})
    [row] = found_in(engine, frame, ["x", "y", 'Mb "a"'])
    assert row["finding"].startswith('coordinate 3 of 3 (Mb "a") holds')
    lists = UNRELATED.select("cluster", v=pl.concat_list("x", "y", pl.col("z") * 1000))
    [row] = found_in(engine, lists, "v")
    assert row["finding"].startswith("coordinate 3 of 3 holds")


def test_coordinates_of_many_spreads_are_not_dominant(engine: Engine) -> None:
    """Spreads of 1, 4 and 16: none holds more than 90 %, and there is no gap of ten times."""
    columns = {f"x{i}": pl.col("x") * 4.0 ** (i // 2) for i in range(6)}
    rows = found_in(engine, APART.with_columns(**columns), list(columns))
    assert only(rows, "dominant_coordinate") == []


def test_a_far_point_is_named_in_place_of_what_it_does(engine: Engine) -> None:
    """It makes the silhouette of its cluster -0.9, and x a coordinate with 99 % of the variance."""
    for far in ([0], [0, 20]):
        frame = APART.cast({"x": pl.Float64}).with_columns(
            x=pl.when(pl.int_range(pl.len()).is_in(far)).then(1e4).otherwise("x")
        )
        frame = pl.concat([frame, frame.filter(pl.col("x") < 1e3)])
        rows = point_findings(engine, frame)
        assert [(row["code"], row["cluster"]) for row in rows] == [
            ("far_point", i // 20) for i in far
        ]


def test_a_low_silhouette_that_a_far_point_cannot_explain(engine: Engine) -> None:
    """One of 2,001 points, 15 times as far as the average, changes hardly a mean distance."""
    near = squares((0, 0), (0.5, 0), copies=500).with_columns(pl.col("x").cast(pl.Float64))
    far = pl.DataFrame({"x": [25.0], "y": [0.0], "cluster": [0]}).cast(near.schema)
    codes = [row["code"] for row in point_findings(engine, pl.concat([near, far]))]
    assert codes == ["far_point", "low_silhouette", "low_silhouette", "close_clusters"]


@pytest.mark.gate
def test_noise_as_singletons_is_no_nearest_cluster(engine: Engine) -> None:
    """Noise around the clusters makes their silhouettes with it negative."""
    spread = [(x / 2, y / 2) for x in range(-4, 45, 3) for y in range(-4, 45, 3)]
    noise = pl.DataFrame(spread, schema=XY, orient="row").with_columns(cluster=-1)
    frame = pl.concat(
        [APART.cast({"x": pl.Float64, "y": pl.Float64}), noise], how="vertical_relaxed"
    )
    for noise_as in ("singletons", "drop"):
        rows = point_findings(engine, frame, noise=-1, noise_as=noise_as)
        assert [row["code"] for row in rows] == ["noise_rows"]


@pytest.mark.gate
def test_findings_of_a_sample_use_its_standard_error(engine: Engine) -> None:
    """Random clusters: negative where the upper limit of the interval is, low where it is low."""
    generator = np.random.default_rng(11)
    points = generator.normal(size=(120, 2))
    frame = pl.DataFrame(points, schema=XY).with_columns(
        cluster=pl.Series(generator.integers(0, 4, 120))
    )
    seen = set()
    for seed in range(4):
        options = {"method": "sample", "sample_size": 40, "random_state": seed}
        rows = only(point_findings(engine, frame, **options), "low_silhouette")
        means = call(engine, "silhouette_clusters", frame, XY, **options)
        uppers = {row["cluster"]: row["silhouette"] + 1.959964 * row["std_error"] for row in means}
        assert {row["cluster"] for row in rows} == {x for x, y in uppers.items() if y < 0.25}
        for row in rows:
            is_negative = uppers[row["cluster"]] < 0
            seen.add((is_negative, row["value"] < 0))
            assert (row["severity"] == "problem") == is_negative
            assert ("nearer to another" in row["finding"]) == is_negative
            assert "just below 0 " not in row["finding"] or is_negative
            assert " (of a sample; 95 % interval -0." in row["finding"]
    assert (False, True) in seen
    assert (True, True) in seen


@pytest.mark.gate
def test_a_coordinate_that_sets_clusters_apart_is_not_dominant(engine: Engine) -> None:
    """Of the same unit: nearly all of the variance is between the clusters."""
    frame = squares((0, 0), (1000, 0))
    assert only(point_findings(engine, frame), "dominant_coordinate") == []


@pytest.mark.gate
def test_the_only_coordinate_is_not_dominant(engine: Engine) -> None:
    rows = found_in(engine, APART.filter(pl.col("cluster") < 2), ["x"])
    assert rows == []


@pytest.mark.gate
def test_a_tiny_and_a_giant_cluster(engine: Engine) -> None:
    few = pl.DataFrame({"x": [90.0, 90.5], "y": [0.0, 0.0], "cluster": [5, 5]})
    frame = pl.concat([squares((0, 0), copies=30), few])
    rows = point_findings(engine, frame)
    [tiny], [giant] = only(rows, "tiny_cluster"), only(rows, "giant_cluster")
    assert (tiny["severity"], tiny["cluster"], tiny["n"], tiny["value"]) == ("note", 5, 2, 4 / 122)
    assert tiny["finding"] == "it has 2 points, where the average cluster has 61"
    assert (giant["severity"], giant["cluster"], giant["n"]) == ("warning", 0, 120)
    assert giant["finding"].startswith("it holds 98 % of the points: scores by point or by pair")
    assert only(point_findings(engine, APART), "tiny_cluster") == []


@pytest.mark.gate
def test_a_tenth_of_the_average_size_is_not_tiny(engine: Engine) -> None:
    few = pl.DataFrame(
        {"x": [90.0, 90.5, 91.0, 92.0], "y": [0.0, 1.0, 0.0, 1.0], "cluster": [5] * 4}
    )
    for copies, n_tiny in (19, 0), (20, 1):
        rows = point_findings(engine, pl.concat([squares((0, 0), copies=copies), few]))
        assert len(only(rows, "tiny_cluster")) == n_tiny


def test_rows_that_do_not_count(engine: Engine) -> None:
    extra = pl.DataFrame({"x": [None, 1.0], "y": [None, 1.0], "cluster": [0, None]})
    [row] = point_findings(engine, pl.concat([APART, extra.cast(APART.schema)]))
    rest = "and are left out: the scores are of the 60 points that are left"
    words = f"2 of 62 rows have no vector or no cluster, {rest}"
    assert tuple(row.values()) == ("note", "dropped_rows", None, None, None, 2, 2 / 62, words)


@pytest.mark.parametrize("noise_as", ["drop", "singletons"])
def test_noise(engine: Engine, noise_as: str) -> None:
    noise = pl.DataFrame({"x": [50.0, 70.0], "y": [50.0, 10.0], "cluster": [-1, -1]})
    rows = point_findings(engine, pl.concat([APART, noise]), noise=-1, noise_as=noise_as)
    rest = ", and left out: the scores are of the 60 points that are left"
    words = f"2 of 62 points are noise{rest if noise_as == 'drop' else ''}"
    assert [(row["code"], row["finding"]) for row in rows] == [("noise_rows", words)]


def test_noise_that_is_not_named(engine: Engine) -> None:
    """It comes first, and nothing else is said of it, or of a cluster that lies next to it."""
    frame = squares((0, 0), (1, 0), (15, 15))
    told = {0: -1, 1: 1, 2: 2}
    [row] = point_findings(engine, frame.with_columns(pl.col("cluster").replace_strict(told)))
    words = "it is counted as a cluster of 20 points; if it is noise, give noise and noise_as"
    found = "problem", "unnamed_noise", -1, None, None, 20, 1 / 3, words
    assert tuple(row.values()) == found
    rows = point_findings(engine, frame)
    assert {row["code"] for row in rows} == {"low_silhouette", "close_clusters"}


def test_a_noise_value_that_no_row_has(engine: Engine) -> None:
    [row] = point_findings(engine, APART, noise=-1, noise_as="drop")
    words = "no row has cluster -1, the value of noise"
    found = "problem", "unknown_noise", None, None, None, 60, None, words
    assert tuple(row.values()) == found


def zeros_added(n: int, frame: pl.DataFrame = APART) -> pl.DataFrame:
    """The points in other places than 0, and n zero vectors of cluster 0."""
    zeros = frame.head(n).with_columns(
        x=pl.lit(0.0), y=pl.lit(-0.0), cluster=frame["cluster"].head(n)
    )
    return pl.concat([frame.with_columns(pl.col("x") + 0.5), zeros])


@pytest.mark.gate
def test_zero_vectors(engine: Engine) -> None:
    advice = "if zeros stand for a missing vector, make it NULL, so that such rows are left out"
    for n, severity, subject in (
        (0, None, ""),
        (1, "note", "1 vector is zero: its"),
        (7, "warning", "7 vectors are zero: their"),
        (60, "problem", "60 vectors are zero: their"),
    ):
        rows = only(point_findings(engine, zeros_added(n), distance="cosine"), "zero_vectors")
        words = f"{subject} cosine distance to every other one is 1; {advice}"
        found = (severity, "zero_vectors", None, None, None, n, n / (60 + n), words)
        assert [tuple(row.values()) for row in rows] == ([found] if n else [])
    assert only(point_findings(engine, zeros_added(60)), "zero_vectors") == []


@pytest.mark.gate
@pytest.mark.parametrize("dims", [2, 40])
def test_zero_vectors_of_partitions_and_lists(engine: Engine, dims: int) -> None:
    """Those of noise that is left out or lacks a cluster do not count; long vectors do."""
    frame = zeros_added(3).with_columns(cluster=pl.Series([0, 1] * 31 + [None], dtype=pl.Int64))
    parts = [frame.with_columns(part=pl.lit(part)) for part in ("with", "without")]
    parts[1] = parts[1].filter(pl.col("x") != 0)
    frame = pl.concat(parts).with_columns(vector=pl.concat_list(["x", "y"] * (dims // 2)))
    options: dict[str, Any] = {
        "distance": "COSINE",
        "partition_by": "part",
        "weights": [2.0] * dims,
    }
    [row] = only(found_in(engine, frame, "vector", **options), "zero_vectors")
    assert (row["part"], row["n"], row["value"]) == ("with", 2, 2 / 62)
    for noise_as, total in (("drop", 31), ("singletons", 62)):
        noisy = found_in(engine, frame, "vector", noise=1, noise_as=noise_as, **options)
        [row] = only(noisy, "zero_vectors")
        assert (row["n"], row["value"]) == (1, 1 / total)


def distance_rows(n: int = 12, seed: int = 0) -> pl.DataFrame:
    """The rows of a matrix of distances, in any order, with clusters that have nothing to do."""
    random = np.random.default_rng(seed)
    matrix = squareform(pdist(random.normal(size=(n, 2))))[random.permutation(n)]
    names = [f"d{i}" for i in range(n)]
    rows = pl.DataFrame(matrix, schema=names, orient="row")
    return rows.with_columns(cluster=pl.int_range(n) % 3, vector=pl.concat_list(names))


def matrix_words(n: int) -> str:
    return (
        f"the vectors of {n} points have {n} coordinates and look like the rows of a matrix of "
        "distances, but scores of vectors are not those of distances: make a table of pairs, with "
        "distances_from_matrix in Python or UNPIVOT in SQL, for silhouette_score_from_distances"
    )


@pytest.mark.gate
@pytest.mark.parametrize("n", [4, 12, 40])
def test_rows_of_a_distance_matrix(engine: Engine, n: int) -> None:
    """Lists, arrays or columns, in any order of the rows; what follows from it is not reported."""
    frame = distance_rows(n, seed=n)
    found = "problem", "distance_matrix", None, None, None, n, None, matrix_words(n)
    array = frame.select("cluster", vector=pl.col("vector").list.to_array(n))
    small = frame.select("cluster", vector=pl.col("vector").cast(pl.List(pl.Float32)))
    wide = [f"d{i}" for i in range(n)]
    for rows, vector in ((frame, "vector"), (array, "vector"), (small, "vector"), (frame, wide)):
        [row, *more] = found_in(engine, rows, vector)
        assert tuple(row.values()) == found
        assert not {"low_silhouette", "close_clusters"} & {other["code"] for other in more}
    assert only(found_in(engine, frame, "vector", distance="cosine"), "distance_matrix") == [row]


@pytest.mark.gate
def test_a_distance_matrix_of_partitions_and_of_rows_left_out(engine: Engine) -> None:
    """Rows without a cluster and noise belong to the matrix, and other partitions do not."""
    frame = distance_rows().with_columns(part=pl.lit("a"))
    other = distance_rows(12, 1).with_columns(part=pl.lit("b"))
    other = other.with_columns(vector=pl.col("vector") + pl.col("vector").list.first())
    rows = pl.concat([frame, other, frame.with_columns(part=pl.lit(None, pl.String))])
    found = only(found_in(engine, rows, "vector", partition_by="part"), "distance_matrix")
    assert [(row["part"], row["n"]) for row in found] == [("a", 12), (None, 12)]
    holes = frame.with_columns(cluster=pl.when(pl.int_range(12) > 1).then("cluster"))
    assert [row["n"] for row in only(found_in(engine, holes, "vector"), "distance_matrix")] == [12]
    for noise_as in ("drop", "singletons", "cluster"):
        noisy = found_in(engine, frame, "vector", noise=2, noise_as=noise_as)
        assert [row["n"] for row in only(noisy, "distance_matrix")] == [12]


def no_matrices() -> dict[str, pl.DataFrame]:
    """Vectors that lack one mark each of a matrix of distances."""
    frame = distance_rows()
    x = pl.col("vector")

    def changed(row: int, place: int, value: float) -> pl.DataFrame:
        lists = frame["vector"].to_list()
        lists[row][place] = value
        return frame.with_columns(vector=pl.Series(lists))

    is_first = pl.int_range(pl.len()) == 0
    zero = frame["vector"][0].arg_min()
    assert zero is not None
    near = int(frame["vector"][0].arg_sort()[1])
    # Four rows have larger maxima, and two columns, with the same sums as before.
    other = squareform(np.random.default_rng(6).uniform(1, 2, 66))
    other[np.ix_([0, 1, 2, 3], [7, 8])] += 0.9 * np.array([[1, -1], [1, -1], [-1, 1], [-1, 1]])
    counts = np.random.default_rng(5).integers(0, 9, (12, 12)) * (1 - np.eye(12))
    ones = np.eye(12)[np.random.default_rng(5).permutation(12)]
    return {
        "a row less": frame.head(11),
        "a row twice": pl.concat([frame, frame.head(1)]),
        "a row without a zero": changed(0, zero, 0.5),
        "a negative number": changed(0, zero, -0.5),
        "not symmetric": changed(0, (zero + 1) % 12, 7.5),
        "a longer vector without a cluster": frame.with_columns(
            cluster=pl.when(is_first).then(None).otherwise("cluster"),
            vector=pl.when(is_first).then(pl.concat_list(x, pl.lit(5.0))).otherwise(x),
        ),
        "other sums": changed(0, near, frame["vector"][0][near] / 2),
        "other maxima": frame.with_columns(vector=pl.Series(other.tolist())),
        "counts": frame.with_columns(vector=pl.Series(counts.tolist())),
        "one-hot": frame.with_columns(vector=pl.Series(ones.tolist())),
        "similarities": frame.with_columns(vector=1 / (1 + x)),
        "points": frame.with_columns(vector=x - 1.0),
        "three points": distance_rows(3),
    }


@pytest.mark.parametrize("name", no_matrices())
def test_vectors_that_are_no_distances(engine: Engine, name: str) -> None:
    rows = found_in(engine, no_matrices()[name], "vector")
    assert only(rows, "distance_matrix") == []


@pytest.mark.gate
def test_the_summary_has_the_same_remark(engine: Engine) -> None:
    frame = distance_rows().with_columns(part=pl.int_range(12) % 1)
    other = frame.with_columns(pl.col("vector").list.eval(pl.element() + 1), part=2)
    for rows, words in ((frame, [matrix_words(12)]), (other, ["coordinates of a point"])):
        for more in ({}, {"partition_by": "part"}):
            found = call(engine, "internal_summary", rows, "vector", **more)
            assert [row["meaning"] for row in found if row["metric"] == "n_dims"] == words


def test_ids_as_clusters(engine: Engine) -> None:
    ids = APART.with_columns(cluster=pl.int_range(60))
    [row] = point_findings(engine, ids)
    assert (row["severity"], row["code"], row["n"]) == ("problem", "all_singletons", 60)
    assert row["finding"] == "each of the 60 points is a cluster of its own: is the cluster an id?"


@pytest.mark.gate
def test_the_cluster_as_a_coordinate(engine: Engine) -> None:
    frame = APART.with_columns(z=5 - 2 * pl.col("cluster"))
    [row] = found_in(engine, frame, ["x", "y", "z"])
    words = (
        "coordinate 3 of 3 (z) has one value in each cluster, which no other cluster has: is it "
        "made from the cluster?"
    )
    found = "problem", "cluster_coordinate", None, None, 3, 60, None, words
    assert tuple(row.values()) == found
    for same in (pl.col("cluster") // 2, pl.lit(1), pl.col("cluster") + (pl.col("x") > 0)):
        assert found_in(engine, frame.with_columns(z=same), ["x", "y", "z"]) == []
    assert found_in(engine, frame, ["z"]) == []


def test_one_cluster(engine: Engine) -> None:
    [row] = point_findings(engine, squares((0, 0)))
    assert (row["severity"], row["code"], row["n"], row["value"]) == (
        "problem",
        "one_cluster",
        20,
        None,
    )


# ----------------------------------------------------------------------------------------------
# What must not matter
# ----------------------------------------------------------------------------------------------

MESSY = pl.concat(
    [
        squares((0, 0), (1, 0), (30, 0), copies=8),
        pl.DataFrame({"x": [900.0, None], "y": [3.0, None], "cluster": [2, 2]}),
        pl.DataFrame({"x": [-50.0], "y": [0.0], "cluster": [4]}),
    ]
)


@pytest.mark.gate
def test_partitions_order_and_methods(engine: Engine) -> None:
    wanted = point_findings(engine, MESSY)
    assert len({row["code"] for row in wanted}) >= 5
    both = pl.concat([MESSY.reverse().with_columns(run=1), APART.with_columns(run=2)])
    found = point_findings(engine, both, partition_by="run")
    assert is_near(found, [{"run": 1} | row for row in wanted])
    sampled = point_findings(engine, MESSY, method="sample", sample_size=10**6)
    assert is_near(sampled, wanted)


#: Faults of a clustering of points, each with the code and the cluster of its finding.
FAULTS: dict[str, tuple[str, int | None]] = {
    "forgotten noise": ("unnamed_noise", -1),
    "far point": ("far_point", 10),
    "unscaled column": ("dominant_coordinate", None),
    "dropped rows": ("dropped_rows", None),
    "tiny cluster": ("tiny_cluster", 50),
    "overlapping clusters": ("low_silhouette", 51),
    "giant cluster": ("giant_cluster", 12),
    "one cluster": ("one_cluster", None),
    "ids as clusters": ("all_singletons", None),
}
#: In these tables, clusters say nothing of other faults.
MASKING = {"one cluster", "ids as clusters"}
masks = st.sampled_from([set(), set(), set(), *({fault} for fault in sorted(MASKING))])
others = st.sets(st.sampled_from([fault for fault in FAULTS if fault not in MASKING]))
cases = st.tuples(st.builds(set.union, others, masks), st.integers(3, 5), st.integers(0, 2**32 - 1))


def planted_points(case: int, faults: set[str], k: int, seed: int) -> pl.DataFrame:
    """A partition of k clusters of 40 points that lie apart, and the faults."""
    generator = np.random.default_rng(seed)
    clusters = [10 + i for i in range(k) for _ in range(40)]
    centers = [(30.0 * (c - 10), 0.0) for c in clusters]

    def add(cluster: int, n: int, x: float, y: float) -> None:
        clusters.extend([cluster] * n)
        centers.extend([(x, y)] * n)

    if "forgotten noise" in faults:
        add(-1, 12, 45.0, 60.0)
    if "tiny cluster" in faults:
        add(50, 1, 0.0, 90.0)
    if "overlapping clusters" in faults:
        add(51, 40, 60.0, 150.0)
        add(52, 40, 60.0, 150.0)
    if "giant cluster" in faults:
        add(12, 40 * 40, 60.0, 0.0)
    xy = np.array(centers) + generator.normal(size=(len(centers), 2))
    z = generator.normal(size=len(centers)) * (1e4 if "unscaled column" in faults else 1)
    if "far point" in faults:
        xy[0, 1] = -1e7
    names = np.array(clusters)
    if "one cluster" in faults:
        names[:] = 10
    elif "ids as clusters" in faults:
        names = 1000 + np.arange(len(names))
    frame = pl.DataFrame({"x": xy[:, 0], "y": xy[:, 1], "z": z, "cluster": names, "case": case})
    if "dropped rows" in faults:
        lost = frame.head(9).with_columns(cluster=pl.lit(None, pl.Int64))
        frame = pl.concat([frame, lost])
    return frame


@pytest.mark.gate
def test_planted_faults_are_found_and_nothing_contradicts_them(engine: Engine) -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=2)
    @given(tables=st.lists(cases, min_size=20, max_size=20))
    @example(tables=[(set(), 3, 20), *(({fault}, 3, 20) for fault in FAULTS)])
    def check(tables: list[tuple[set[str], int, int]]) -> None:
        frame = pl.concat(planted_points(i, *table) for i, table in enumerate(tables))
        found = found_in(engine, frame, ["x", "y", "z"], partition_by="case")
        for i, (faults, *_) in enumerate(tables):
            own = [row for row in found if row["case"] == i]
            assert_no_contradiction(own, ("cluster", "other_cluster"))
            low = {row["cluster"] for row in only(own, "low_silhouette")}
            for row in only(own, "close_clusters"):
                assert {row["cluster"], row["other_cluster"]} <= low
            giants = {row["cluster"] for row in only(own, "giant_cluster")}
            assert not giants & {row["cluster"] for row in only(own, "tiny_cluster")}
            mask = faults & MASKING
            shown = mask | (faults & {"dropped rows"}) if mask else faults
            if "unscaled column" in shown:
                # Distances say little of the other columns.
                shown = shown - {"overlapping clusters"}
            seen.update(shown)
            for code, subject in (FAULTS[fault] for fault in shown):
                rows = [x for x in only(own, code) if subject is None or x["cluster"] == subject]
                assert len(rows) == 1, (code, subject, faults)
            if not faults:
                assert not own

    check()
    # None was always left out because of another.
    assert {*seen} == {*FAULTS}


@pytest.mark.gate
def test_many_clusters_of_each_engine() -> None:
    """20,000 points in 400 clusters: the same findings."""
    generator = np.random.default_rng(6)
    n = 20_000
    cluster = generator.integers(0, 400, n)
    frame = pl.DataFrame(
        {
            "x": generator.normal(size=n) + cluster % 20 * 3,
            "y": generator.normal(size=n) + cluster // 20 * 3,
            "cluster": cluster,
        }
    )
    answers = [point_findings(make(name), frame, distance="sqeuclidean") for name in ENGINES]
    assert len(answers[0]) > 20
    for answer in answers[1:]:
        assert is_near(answer, answers[0], relative=1e-9)
