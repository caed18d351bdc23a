"""Findings on labels: both sides against the definition, each code where it is and is not."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from polars_clustereval.base.findings import PLACEHOLDERS
from tests.support.compare import is_near
from tests.support.engines import Engine, frame_of, stacked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tests.support.engines import Row

Pair = tuple[int | None, int | None]
COLUMNS = ["severity", "code", "cluster", "label", "n", "value", "finding"]
SEVERITIES = ["problem", "warning", "note"]
CODES = [
    "no_rows",
    "unnamed_noise",
    "unnamed_noise_label",
    "unknown_noise",
    "all_singletons",
    "unique_labels",
    "fractional_labels",
    "placeholder_label",
    "similar_labels",
    "same_partition",
    "sparse_labels",
    "noise_label",
    "dropped_rows",
    "noise_rows",
    "one_cluster",
    "giant_cluster",
    "mixed_cluster",
    "split_label",
]


def label_findings(
    engine: Engine, rows: Iterable[Pair] | pl.DataFrame, **options: Any
) -> list[Row]:
    frame = rows if isinstance(rows, pl.DataFrame) else frame_of(rows)
    return [bare(row) for row in engine.table("external_findings", frame, **options)]


def bare(row: Row) -> Row:
    """A finding without the names of what it is about, which its words must have."""
    cluster, other, label = (row.get(x) for x in ("cluster", "other_cluster", "label"))
    of_label = (f"label {label}: ", "")
    before, behind = {
        "mixed_cluster": (f"cluster {cluster}: ", f": {label}"),
        "split_label": (f"label {label}: ", f": {cluster}"),
        "unnamed_noise_label": of_label,
        "noise_label": of_label,
        "similar_labels": of_label,
        "close_clusters": (f"clusters {cluster} and {other}: ", ""),
        "cut_shapes": (f"clusters {cluster} and {other}: ", ""),
        "low_silhouette": (f"cluster {cluster}: ", f"; the nearest center is that of {other}"),
    }.get(row["code"], ("" if cluster is None else f"cluster {cluster}: ", ""))
    words = row["finding"].lower()
    assert words.startswith(before.lower())
    assert words.endswith(behind.lower())
    return row | {"finding": row["finding"][len(before) : len(words) - len(behind)]}


def codes_of(rows: list[Row]) -> list[str]:
    return [row["code"] for row in rows]


def per_cent(x: Fraction) -> str:
    """Rounded half up, with a digit below 10 per cent."""
    if x >= Fraction(1, 10):
        return f"{int(100 * x + Fraction(1, 2))} %"
    tenths = int(1000 * x + Fraction(1, 2))
    return f"{tenths // 10}.{tenths % 10} %"


# ----------------------------------------------------------------------------------------------
# Each code, where it is and where it is not
# ----------------------------------------------------------------------------------------------


CLEAN: list[Pair] = [*[(0, 5)] * 9, (0, 6), *[(1, 6)] * 10]


def test_no_row_and_nothing_to_say(engine: Engine) -> None:
    [row] = label_findings(engine, [])
    words = "no row can be scored, so nothing was checked"
    assert tuple(row.values()) == ("problem", "no_rows", None, None, 0, None, words)
    assert label_findings(engine, CLEAN) == []


def test_a_mixed_cluster_and_split_labels(engine: Engine) -> None:
    rows: list[Pair] = [(0, 7), (0, 7), (1, 7), (1, 8), (1, 8), (2, 7), (2, 9)]
    assert [tuple(row.values()) for row in label_findings(engine, rows)] == [
        (
            "problem",
            "mixed_cluster",
            7,
            0,
            4,
            0.5,
            "50 % of the cluster's 4 rows have its most frequent label",
        ),
        *(
            (
                severity,
                "split_label",
                cluster,
                label,
                n,
                value,
                f"{text} in the cluster that has the most",
            )
            for severity, cluster, label, n, value, text in (
                ("problem", 8, 1, 3, 2 / 3, "67 % of the label's 3 rows are"),
                ("warning", 7, 2, 2, 0.5, "50 % of the label's 2 rows are"),
            )
        ),
    ]
    assert list(label_findings(engine, rows)[0]) == COLUMNS


@pytest.mark.parametrize(
    ("n_majority", "severity"), [(80, None), (79, "warning"), (50, "warning"), (49, "problem")]
)
def test_limits_of_shares(engine: Engine, n_majority: int, severity: str | None) -> None:
    """80 of 100 rows are enough; below 50 it is a problem."""
    one = [(0, 5)] * n_majority + [(1 + i, 5) for i in range(100 - n_majority)]
    rows = [*one, *([(500, 6)] * 150)]
    more = [(1000 + i, 500) for i in range(60)]
    for found, code in (
        (label_findings(engine, rows), "mixed_cluster"),
        (label_findings(engine, [(b, a) for a, b in rows] + more), "split_label"),
    ):
        of_code = [row for row in found if row["code"] == code]
        assert [row["severity"] for row in of_code] == ([severity] if severity else [])
        assert [row["value"] for row in of_code] == ([n_majority / 100] if severity else [])


def test_a_share_that_rounds_to_the_limit(engine: Engine) -> None:
    """799 of 1,000 rows have the label 0, and 799 of 1,000 rows of label 1 the cluster 1."""
    rows = [(0, 0)] * 799 + [(2, 0)] * 201 + [(1, 1)] * 799 + [(1, 2)] * 201
    found = [row for row in label_findings(engine, rows) if row["n"] == 1000]
    each = "(at least 80 % of each of 2"
    assert [row["finding"] for row in found] == [
        f"just below 80 % of the cluster's 1000 rows {each} labels) have its most frequent label",
        (
            f"just below 80 % of the label's 1000 rows {each} clusters) are in the cluster that "
            "has the most"
        ),
    ]


def test_a_share_just_below_one_half(engine: Engine) -> None:
    """199 of 400: a problem must not stand next to 50 %."""
    rows = [(0, 0)] * 199 + [(1, 0)] * 101 + [(2, 0)] * 100 + [(3, 1)] * 500
    [row] = label_findings(engine, rows)
    assert (row["severity"], row["value"]) == ("problem", 0.4975)
    assert row["finding"].startswith("just below 50 % of the cluster's 400 rows")


def test_severity_follows_the_rows_and_pairs(engine: Engine) -> None:
    """Four entities of three rows in pieces, next to a cluster of two entities, 8 + 3 rows.

    Among 1,000 rows that are right, no finding is a problem; of the pairs of few rows, the merged
    cluster divides 24 of 61.
    """
    split = [(i, 10 * i + j) for i in range(4) for j in range(3)]
    merged = [(7, 70)] * 8 + [(8, 70)] * 3
    right = [(100 + i // 4, 100 + i // 4) for i in range(1000)]
    rows = label_findings(engine, [*split, *merged, *right])
    assert {(row["severity"], row["code"]) for row in rows} == {
        ("warning", "mixed_cluster"),
        ("warning", "split_label"),
    }
    few = label_findings(engine, [*merged, *right[:4]])
    assert [(row["severity"], row["code"]) for row in few] == [("problem", "mixed_cluster")]


def test_many_small_clusters_are_a_problem_together(engine: Engine) -> None:
    """Each of 100 clusters has 2 of 300 rows outside its majority."""
    rows = label_findings(engine, [(i, i // 3) for i in range(300)])
    assert {row["severity"] for row in rows} == {"problem"}


def test_a_split_label_is_no_problem_with_more_clusters_than_labels(engine: Engine) -> None:
    """Some label has to be split then."""
    split = [(0, 0), (0, 1), (0, 2)] * 10 + [(1, 3)] * 20
    for extra, severity in (([], "warning"), ([(2, 0), (3, 3)], "problem")):
        rows = label_findings(engine, [*split, *extra])
        assert [row["severity"] for row in rows if row["code"] == "split_label"] == [severity]


def test_a_giant_cluster(engine: Engine) -> None:
    rows: list[Pair] = [(0, 5)] * 79 + [(1, 6)] * 20 + [(1, 5)]
    assert label_findings(engine, rows) == []
    [row] = label_findings(engine, [*rows, (0, 5)])
    words = (
        "it holds just over 80 % of the rows: scores by row or by pair say little of the other "
        "clusters"
    )
    assert tuple(row.values()) == ("warning", "giant_cluster", 5, None, 81, 81 / 101, words)


ONE, TWO = date(2026, 1, 2), date(2026, 1, 3)


@pytest.mark.parametrize(
    ("clusters", "start"),
    [
        ([1, 2], "cluster 1: "),
        (["it's", "b"], "cluster it's: "),
        ([1.0, -2.0], "cluster 1.0: "),
        ([-1.25, 2.0], "cluster -1.25: "),
        ([True, False], "cluster true: "),
        ([ONE, TWO], "cluster 2026-01-02: "),
        ([Decimal("1.50"), Decimal("2.00")], "cluster 1.50: "),
        # No short text, or not the same one in both engines.
        ([1 / 3, 2.5], ""),
        ([1e300, 2.0], ""),
        ([[1], [2]], ""),
        ([datetime(2026, 1, 2), datetime(2026, 1, 3)], ""),
    ],
    ids=str,
)
def test_words_name_clusters_of_simple_types(
    engine: Engine, clusters: list[Any], start: str
) -> None:
    frame = pl.DataFrame({"label": list("abbbbb"), "cluster": [clusters[i > 1] for i in range(6)]})
    row, *_ = engine.table("external_findings", frame)
    words = "50 % of the cluster's 2 rows have its most frequent label"
    assert row["finding"] == (f"{start}{words}: a" if start else words)


def test_one_cluster(engine: Engine) -> None:
    [row] = label_findings(engine, [(0, 5), (0, 5)])
    words = "there is one cluster, so nothing is told apart"
    assert tuple(row.values()) == ("problem", "one_cluster", None, None, 2, None, words)
    assert label_findings(engine, [(0, 5)]) == []


@pytest.mark.parametrize(
    ("dropped", "severity"), [(2, "note"), (3, "warning"), (19, "warning"), (20, "problem")]
)
def test_rows_that_are_left_out(engine: Engine, dropped: int, severity: str) -> None:
    """From a tenth of the rows a warning, from a half a problem, whatever the reason."""
    value = dropped / (20 + dropped)
    rest = "and are left out: the scores are of the 20 rows that are left"
    [row] = only(label_findings(engine, [*CLEAN, *[(None, 5)] * dropped]), "dropped_rows")
    words = f"{dropped} of {20 + dropped} rows have no label or no cluster, {rest}"
    assert tuple(row.values()) == (severity, "dropped_rows", None, None, dropped, value, words)
    noisy = [*CLEAN, *[(0, -1), (1, -1)] * 10][: 20 + dropped]
    [row] = only(label_findings(engine, noisy, noise=-1, noise_as="drop"), "noise_rows")
    words = f"{dropped} of {20 + dropped} rows are noise, {rest.replace('and are', 'and')}"
    assert tuple(row.values()) == (severity, "noise_rows", None, None, dropped, value, words)


@pytest.mark.parametrize(
    ("n", "severity"), [(2, None), (3, "warning"), (19, "warning"), (20, "problem")]
)
def test_clusters_in_which_rows_have_no_label(engine: Engine, n: int, severity: str | None) -> None:
    """Rows in clusters without any label, and labels without a cluster, do not matter."""
    rows = [*CLEAN, *[(None, 5)] * n, *[(None, 7)] * 40, *[(1, None)] * 40]
    found = only(label_findings(engine, rows), "sparse_labels")
    words = f"{n} of {20 + n} rows in clusters with labels have no label, so precision may be far "
    words += "too high: use entity_resolution_estimates, or labels_are_sample in a comparison"
    row = (severity, "sparse_labels", None, None, n, n / (20 + n), words)
    assert [tuple(x.values()) for x in found] == ([row] if severity else [])


def test_a_tenth_of_the_rows_without_a_label(engine: Engine) -> None:
    [row] = only(label_findings(engine, [*CLEAN[2:], (None, 5), (None, 5)]), "sparse_labels")
    assert (row["severity"], row["value"]) == ("warning", 0.1)


def test_noise_is_no_cluster_with_labels(engine: Engine) -> None:
    """Unless noise is one cluster. Weights count as rows."""
    rows: list[Pair] = [*CLEAN, (0, -1), *[(None, -1)] * 9]
    for noise_as, n in (("cluster", 9), ("drop", None), ("singletons", None)):
        found = label_findings(engine, rows, noise=-1, noise_as=noise_as)
        assert [row["n"] for row in only(found, "sparse_labels")] == ([n] if n else [])
    weighted = frame_of([(0, 5), (1, 5), (None, 5)]).with_columns(weight=pl.Series([1, 5, 9]))
    [row] = only(label_findings(engine, weighted, weight="weight"), "sparse_labels")
    assert (row["severity"], row["n"], row["value"]) == ("problem", 9, 0.6)


def test_one_row_is_left_out(engine: Engine) -> None:
    [row] = only(label_findings(engine, [(0, 1), (None, 1)]), "dropped_rows")
    rest = "and is left out: the scores are of the 1 row that is left"
    assert row["finding"] == f"1 of 2 rows has no label or no cluster, {rest}"
    [nothing, row] = label_findings(engine, [(None, 1)])
    assert (nothing["code"], nothing["severity"]) == ("no_rows", "problem")
    assert row["finding"] == "1 of 1 row has no label or no cluster, and is left out"


@pytest.mark.parametrize("noise_as", ["singletons", "cluster"])
def test_noise(engine: Engine, noise_as: str) -> None:
    [row] = label_findings(engine, [*CLEAN, (0, -1)], noise=-1, noise_as=noise_as)
    words = "1 of 21 rows is noise"
    assert tuple(row.values()) == ("note", "noise_rows", None, None, 1, 1 / 21, words)


def test_noise_is_no_mixed_cluster_unless_it_is_a_cluster(engine: Engine) -> None:
    rows: list[Pair] = [*CLEAN, (2, -1), (3, -1)]
    codes = {x: codes_of(label_findings(engine, rows, noise=-1, noise_as=x)) for x in NOISE}
    assert codes["drop"] == ["noise_label", "noise_label", "noise_rows"]
    assert codes["singletons"] == ["noise_rows"]
    assert codes["cluster"] == ["mixed_cluster", "noise_rows"]


NOISE = ("cluster", "drop", "singletons")

# ----------------------------------------------------------------------------------------------
# Mistakes that look like results
# ----------------------------------------------------------------------------------------------


def only(rows: list[Row], code: str) -> list[Row]:
    return [row for row in rows if row["code"] == code]


def named(pairs: list[tuple[Any, Any]], **types: Any) -> pl.DataFrame:
    return pl.DataFrame(pairs, schema={"label": None, "cluster": None} | types, orient="row")


@pytest.mark.parametrize("name", [-1, -1.0, "-1", "noise", " Outlier", "OUTLIERS", "Unassigned"])
def test_noise_that_is_not_named(engine: Engine, name: Any) -> None:
    """It comes first, and nothing else is said of it; neither if it is a label."""
    other = str if isinstance(name, str) else type(name)
    rows = [("a", name), ("b", name), *[("a", other(1))] * 2, *[("b", other(2))] * 2] * 5
    found = label_findings(engine, named(rows))
    words = "it is counted as a cluster of 10 rows; if it is noise, give noise and noise_as"
    assert tuple(found[0].values()) == ("problem", "unnamed_noise", name, None, 10, 1 / 3, words)
    assert [(row["code"], row["label"]) for row in found[1:]] == [
        ("split_label", "a"),
        ("split_label", "b"),
    ]
    found = label_findings(engine, named([(b, a) for a, b in rows]))
    advice = "make it NULL, so that these rows are left out"
    words = f"it is counted as a label of 10 rows; if it is noise, {advice}"
    first = "problem", "unnamed_noise_label", None, name, 10, 1 / 3, words
    assert tuple(found[0].values()) == first
    assert [(row["code"], row["cluster"]) for row in found[1:]] == [
        ("mixed_cluster", "a"),
        ("mixed_cluster", "b"),
    ]
    told = label_findings(engine, named(rows), noise=name, noise_as="cluster")
    assert codes_of(told) == ["mixed_cluster", "split_label", "split_label", "noise_rows"]


@pytest.mark.parametrize("name", [-2, 1, "noisy", "", "n"])
def test_clusters_that_are_no_noise(engine: Engine, name: Any) -> None:
    other = str if isinstance(name, str) else int
    rows = [(str(a), name if b == 5 else other(b)) for a, b in CLEAN]
    assert label_findings(engine, named(rows)) == []


def test_a_noise_value_that_no_row_has(engine: Engine) -> None:
    [row] = label_findings(engine, CLEAN, noise=-2, noise_as="drop")
    words = "no row has cluster -2, the value of noise"
    assert tuple(row.values()) == ("problem", "unknown_noise", None, None, 20, None, words)
    with_noise: list[Pair] = [*CLEAN, (0, -2)]
    found = label_findings(engine, with_noise, noise=-2, noise_as="drop")
    assert "unknown_noise" not in codes_of(found)
    runs = stacked([CLEAN, with_noise])
    found = label_findings(engine, runs, noise=-2, noise_as="drop", partition_by="run")
    assert "unknown_noise" not in codes_of(found)
    found = label_findings(engine, runs, noise=-3, noise_as="drop", partition_by="run")
    assert [row["run"] for row in only(found, "unknown_noise")] == [0, 1]


def test_labels_that_noise_swallowed(engine: Engine) -> None:
    """Label 0 has 10 rows, of which 6 are noise; label 1 has 12 and 4."""
    rows: list[Pair] = [(0, -1)] * 6 + [(0, 1), (0, 1), (0, 2), (0, 3)]
    rows += [(1, -1)] * 4 + [(1, 2)] * 5 + [(1, 3)] * 3
    found = label_findings(engine, rows, noise=-1, noise_as="drop")
    [row] = only(found, "noise_label")
    words = "6 of the label's 10 rows are noise, and left out"
    assert tuple(row.values()) == ("warning", "noise_label", None, 0, 10, 0.6, words)
    assert {row["label"]: row["finding"] for row in only(found, "split_label")} == {
        0: "50 % of the label's 4 rows that are left of 10 are in the cluster that has the most",
        1: "63 % of the label's 8 rows that are left of 12 are in the cluster that has the most",
    }
    assert not only(label_findings(engine, rows, noise=-1, noise_as="cluster"), "noise_label")


def test_ids_as_clusters(engine: Engine) -> None:
    [row] = label_findings(engine, [(i % 2, i) for i in range(10)])
    words = "each of the 10 rows is a cluster of its own: is the cluster an id?"
    assert tuple(row.values()) == ("problem", "all_singletons", None, None, 10, None, words)
    assert not only(label_findings(engine, [(0, 0), (1, 1), (1, 1)]), "all_singletons")


def test_a_label_as_cluster(engine: Engine) -> None:
    [row] = label_findings(engine, [(0, 5), (0, 5), (1, 6), (1, 6)])
    words = "clusters and labels agree one to one: check that neither column is made from the other"
    assert tuple(row.values()) == ("note", "same_partition", None, None, 4, None, words)
    assert not only(label_findings(engine, CLEAN), "same_partition")


def test_nearly_unique_labels(engine: Engine) -> None:
    rows: list[Pair] = [(i if i < 287 else 0, i % 5) for i in range(300)]
    [row] = label_findings(engine, rows)
    words = "there are 287 labels for 300 rows: is the label an id or a measurement?"
    assert tuple(row.values()) == ("problem", "unique_labels", None, None, 300, 287 / 300, words)
    entities: list[Pair] = [(i, i if i % 7 else 0) for i in range(300)]
    assert not only(label_findings(engine, entities), "unique_labels")


def test_labels_with_fractions(engine: Engine) -> None:
    rows = [(0.5 if i % 4 == 1 else float(a), b) for i, (a, b) in enumerate(CLEAN)]
    [row] = only(label_findings(engine, named(rows)), "fractional_labels")
    words = "1 label is a fraction: is the label a measurement?"
    assert tuple(row.values()) == ("warning", "fractional_labels", None, None, 5, None, words)
    measured = [(i % 89 / 10, i % 4) for i in range(200)]
    [row] = label_findings(engine, named(measured))
    words = "80 labels are fractions: is the label a measurement?"
    assert (row["severity"], row["n"], row["finding"]) == ("problem", 179, words)
    whole = named([(float(a) if a is not None else None, b) for a, b in CLEAN])
    assert label_findings(engine, whole) == []


@pytest.mark.parametrize("dtype", [pl.String, pl.Enum(["gold", "silver", "GOLD", "gold "])])
def test_labels_that_differ_by_case_or_blanks(engine: Engine, dtype: Any) -> None:
    rows = [(["gold", "GOLD", "gold ", "silver"][i % 4], i % 4 + i % 5 // 4) for i in range(40)]
    [row] = only(label_findings(engine, named(rows, label=dtype)), "similar_labels")
    words = "3 labels differ only by case or blanks: 'GOLD', 'gold', 'gold '"
    assert tuple(row.values()) == ("warning", "similar_labels", None, "GOLD", 30, None, words)
    rows = [(label.strip().lower(), cluster) for label, cluster in rows]
    assert not only(label_findings(engine, named(rows, label=dtype)), "similar_labels")


def spread(label: Any, n: int, total: int) -> pl.DataFrame:
    """Rows of `total`, of which n have the label and the others a, b or c."""
    labels = [label] * n + list("abcabcabc" * total)[: total - n]
    return named([(x, i % 3) for i, x in enumerate(labels)], label=pl.String)


def test_each_word_for_a_missing_label(engine: Engine) -> None:
    """Blanks around it and its case do not matter, and the word is a text as a whole."""
    words = [*PLACEHOLDERS, " ", "NULL", "  N/a ", "Unknown"]
    others = ["Unknown Pleasures", "nano", "none of these", "--", "unknown\t", "0"]
    frame = pl.concat(
        spread(word, 2, 20).with_columns(word=pl.lit(word)) for word in words + others
    )
    found = only(label_findings(engine, frame, partition_by="word"), "placeholder_label")
    assert [row["label"] for row in found] == sorted(words)
    advice = "if it stands for a missing one, make it NULL, so that these rows are left out"
    for row in found:
        text = f"the label '{row['word']}' of 2 of 20 rows counts as one label; {advice}"
        expected = ("warning", "placeholder_label", None, row["word"], 2, 0.1, text)
        assert tuple(row.values()) == (row["word"], *expected)


def test_the_words_for_a_missing_label_are_the_same_in_sql() -> None:
    sql = Path("sql/base/findings.sql").read_text("utf-8")
    [words] = re.findall(r"_is_placeholder\(x\) AS.*? IN \((.*?)\);", sql, re.DOTALL)
    assert re.findall(r"'([^']*)'", words) == list(PLACEHOLDERS)


@pytest.mark.parametrize("dtype", [pl.String, pl.Enum(["a", "b", "c", "n/a"])])
def test_shares_of_labels_that_are_placeholders(engine: Engine, dtype: Any) -> None:
    """As if these rows were left out, but for less than a tenth of them, which may be meant."""
    for n, severity in ((9, None), (10, "warning"), (49, "warning"), (50, "problem")):
        frame = spread("n/a", n, 100).with_columns(pl.col("label").cast(dtype))
        rows = only(label_findings(engine, frame), "placeholder_label")
        assert [row["severity"] for row in rows] == ([severity] if severity else []), n
        weighted = spread("n/a", 1, 4).with_columns(
            pl.col("label").cast(dtype), weight=pl.Series([n, 100 - n, 0, 0])
        )
        rows = only(label_findings(engine, weighted, weight="weight"), "placeholder_label")
        assert [row["severity"] for row in rows] == ([severity] if severity else []), n
    cluster = frame.select(label="cluster", cluster="label")
    assert only(label_findings(engine, cluster), "placeholder_label") == []
    numbers = [(x, b) for x in (float("nan"), 1.0) for b in (0, 1)]
    assert "placeholder_label" not in codes_of(engine.table("external_findings", named(numbers)))


# ----------------------------------------------------------------------------------------------
# The definition
# ----------------------------------------------------------------------------------------------


def severity_by_definition(kept: Sequence[Pair], place: int, key: int | None) -> str:
    """A problem if many rows are outside majorities below one half, or many pairs are divided."""
    if place == 0 and len({b for _, b in kept}) > len({a for a, _ in kept}):
        return "warning"
    groups: dict[int | None, Counter[int | None]] = {}
    for row in kept:
        groups.setdefault(row[place], Counter())[row[1 - place]] += 1
    low = [x for x in groups.values() if 2 * max(x.values()) < x.total()]
    outside = sum(x.total() - max(x.values()) for x in low)
    own = groups[key]
    n_pairs = sum(comb(x.total(), 2) for x in groups.values())
    divided = comb(own.total(), 2) - sum(comb(n, 2) for n in own.values())
    is_problem = (own in low and 20 * outside >= len(kept)) or 4 * divided > n_pairs
    return "problem" if is_problem else "warning"


def of_unlabeled(rows: Sequence[Pair], kept: Sequence[Pair]) -> Iterator[tuple[Any, ...]]:
    """The finding that rows in clusters with labels have no label."""
    clusters = {b for _, b in kept}
    n = sum(a is None and b in clusters for a, b in rows)
    if n and 10 * n >= n + len(kept):
        share = Fraction(n, n + len(kept))
        words = f"{n} of {n + len(kept)} rows in clusters with labels {'has' if n == 1 else 'have'}"
        words += " no label, so precision may be far too high: use entity_resolution_estimates, or "
        severity = "problem" if 2 * share >= 1 else "warning"
        words += "labels_are_sample in a comparison"
        yield severity, "sparse_labels", None, None, n, share, words


def of_all_rows(n_dropped: int, kept: Sequence[Pair]) -> Iterator[tuple[Any, ...]]:
    """The findings on the rows that are left out, and on clusterings that can say nothing."""
    n, n_all = len(kept), len(kept) + n_dropped
    if n_dropped:
        has, is_left = ("has", "is") if n_dropped == 1 else ("have", "are")
        s = "" if n_all == 1 else "s"
        words = f"{n_dropped} of {n_all} row{s} {has} no label or no cluster, and {is_left} left"
        share = Fraction(n_dropped, n_all)
        limits = ((Fraction(1, 2), "problem"), (Fraction(1, 10), "warning"), (0, "note"))
        severity = next(name for limit, name in limits if share >= limit)
        some = "1 row that is" if n == 1 else f"{n} rows that are"
        rest = f": the scores are of the {some} left" if n else ""
        yield severity, "dropped_rows", None, None, n_dropped, share, f"{words} out{rest}"
    if n == 0:
        yield (
            "problem",
            "no_rows",
            None,
            None,
            0,
            None,
            "no row can be scored, so nothing was checked",
        )
    clusters, labels = {b for _, b in kept}, {a for a, _ in kept}
    if len(clusters) == n > 1:
        words = f"each of the {n} rows is a cluster of its own: is the cluster an id?"
        yield "problem", "all_singletons", None, None, n, None, words
    if 1 < len(set(kept)) == len(labels) == len(clusters) < n:
        words = "clusters and labels agree one to one: check that neither column is made from the"
        yield "note", "same_partition", None, None, n, None, f"{words} other"


def by_definition(rows: Sequence[Pair]) -> list[Row]:
    """The findings of rows without noise, with exact shares."""
    kept = [(a, b) for a, b in rows if a is not None and b is not None]
    n_dropped, n = len(rows) - len(kept), len(kept)
    found: list[tuple[Any, ...]] = []
    sizes = Counter(b for _, b in kept)
    found += of_all_rows(n_dropped, kept)
    found += of_unlabeled(rows, kept)
    if len(sizes) == 1 and n > 1:
        words = "there is one cluster, so nothing is told apart"
        found.append(("problem", "one_cluster", None, None, n, None, words))
    for cluster, size in sizes.items():
        if len(sizes) > 1 and Fraction(size, n) > Fraction(4, 5):
            words = f"it holds {per_cent(Fraction(size, n))} of the rows: scores by row or by pair "
            words += "say little of the other clusters"
            found.append(
                ("warning", "giant_cluster", cluster, None, size, Fraction(size, n), words)
            )
    for code, place, other, words in (
        ("mixed_cluster", 1, 0, "have its most frequent label"),
        ("split_label", 0, 1, "are in the cluster that has the most"),
    ):
        for key in {row[place] for row in kept if len(sizes) < n}:
            parts = Counter(row[other] for row in kept if row[place] == key)
            size, most = sum(parts.values()), max(parts.values())
            majority = min(x for x, count in parts.items() if count == most)
            share = Fraction(most, size)
            if share < Fraction(4, 5):
                severity = severity_by_definition(kept, place, key)
                rows_of = f"the {code.split('_')[1]}'s {size} row{'' if size == 1 else 's'}"
                n_others = Counter(row[other] for row in kept)
                n_whole = sum(5 * parts[x] >= 4 * n_others[x] for x in parts)
                kind = "label" if code == "mixed_cluster" else "cluster"
                whole = f" (at least 80 % of each of {n_whole} {kind}s)" if n_whole > 1 else ""
                text = f"{per_cent(share)} of {rows_of}{whole} {words}"
                subjects = (key, majority) if code == "mixed_cluster" else (majority, key)
                found.append((severity, code, *subjects, size, share, text))
    last = float("inf")
    found.sort(
        key=lambda x: (
            SEVERITIES.index(x[0]),
            CODES.index(x[1]),
            -x[4],
            *(last if subject is None else subject for subject in x[2:4]),
        )
    )
    rows_found = [dict(zip(COLUMNS, one, strict=True)) for one in found]
    return [x | {"value": None if x["value"] is None else float(x["value"])} for x in rows_found]


values = st.one_of(st.none(), st.integers(0, 4))
labelings = st.lists(st.tuples(values, st.one_of(st.none(), st.integers(0, 3))), max_size=30)


@given(rows=labelings)
def test_random_rows_by_definition(engine: Engine, rows: list[Pair]) -> None:
    assert is_near(label_findings(engine, rows), by_definition(rows))


#: Faults of a clustering with labels, each with the code and the subject of its finding.
FAULTS: dict[str, tuple[str, int | None]] = {
    "forgotten noise": ("unnamed_noise", -1),
    "noise as a label": ("unnamed_noise_label", -1),
    "dropped rows": ("dropped_rows", None),
    "mixed cluster": ("mixed_cluster", 50),
    "lumped labels": ("mixed_cluster", 51),
    "split label": ("split_label", 52),
    "giant cluster": ("giant_cluster", 53),
    "one cluster": ("one_cluster", None),
    "ids as clusters": ("all_singletons", None),
}
#: In these tables, clusters say nothing of other faults.
MASKING = {"one cluster", "ids as clusters"}
masks = st.sampled_from([set(), set(), set(), *({fault} for fault in sorted(MASKING))])
others = st.sets(st.sampled_from([fault for fault in FAULTS if fault not in MASKING]))
cases = st.tuples(st.builds(set.union, others, masks), st.integers(2, 5), st.integers(10, 30))


def planted_labels(case: int, faults: set[str], k: int, n: int) -> pl.DataFrame:
    """A partition of k labels of n rows, each in a cluster, but for a few rows, and the faults."""
    rows: list[Pair] = [(a, a + 10) for a in range(k) for _ in range(n)]
    rows += [(a, (a + 1) % k + 10) for a in range(k)]
    planted: dict[str, list[Pair]] = {
        "forgotten noise": [(i % k, -1) for i in range(n // 5)],
        "noise as a label": [(-1, i % k + 10) for i in range(n // 5)],
        "dropped rows": [(None, 10), (0, None)] * (1 + n // 10),
        "mixed cluster": [(i % k, 50) for i in range(2 * k)],
        "lumped labels": [(60 + i % 2, 51) for i in range(n)],
        "split label": [(52, 70 + i % 2) for i in range(n)],
        "giant cluster": [(80, 53)] * (60 * n),
    }
    for fault in sorted(faults - MASKING):
        rows += planted[fault]
    if "one cluster" in faults:
        rows = [(a, 0 if b is not None else None) for a, b in rows]
    elif "ids as clusters" in faults:
        rows = [(a, 1000 + i if b is not None else None) for i, (a, b) in enumerate(rows)]
    return frame_of([(a, b, case) for a, b in rows], "case")


def assert_no_contradiction(rows: list[Row], subjects: tuple[str, str]) -> None:
    """None twice, nothing of noise that was forgotten, and no symptoms next to their cause."""
    names = [(row["code"], *(row[x] for x in subjects)) for row in rows]
    assert len(set(names)) == len(names)
    codes = {code for code, *_ in names}
    if "unnamed_noise" in codes:
        of_noise = [code for code, *about in names if -1 in about]
        assert {*of_noise} <= {"unnamed_noise", "unnamed_noise_label"}
    symptoms = {"mixed_cluster", "split_label", "low_silhouette", "close_clusters", "tiny_cluster"}
    assert not (codes >= {"one_cluster", "giant_cluster"})
    assert not ("one_cluster" in codes and codes & (symptoms - {"mixed_cluster"}))
    assert not ("all_singletons" in codes and codes & symptoms)
    assert not ("dominant_coordinate" in codes and codes & {"low_silhouette", "close_clusters"})
    assert not (codes & {"noise_rows"} and codes & {"unnamed_noise", "unknown_noise"})
    severities = [SEVERITIES.index(row["severity"]) for row in rows]
    assert severities == sorted(severities)


def test_planted_faults_are_found_and_nothing_contradicts_them(engine: Engine) -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=3)
    @given(tables=st.lists(cases, min_size=20, max_size=20))
    @example(tables=[(set(), 3, 20), *(({fault}, 3, 20) for fault in FAULTS)])
    def check(tables: list[tuple[set[str], int, int]]) -> None:
        frame = pl.concat(planted_labels(i, *table) for i, table in enumerate(tables))
        found = label_findings(engine, frame, partition_by="case")
        told = label_findings(engine, frame, partition_by="case", noise=-1, noise_as="drop")
        for i, (faults, *_) in enumerate(tables):
            own, named_noise = ([x for x in rows if x["case"] == i] for rows in (found, told))
            for rows in (own, named_noise):
                assert_no_contradiction(rows, ("cluster", "label"))
            mask = faults & MASKING
            shown = mask | (faults & {"dropped rows"}) if mask else faults
            seen.update(shown)
            for code, subject in (FAULTS[fault] for fault in shown):
                side = "label" if code in ("split_label", "unnamed_noise_label") else "cluster"
                rows = [x for x in only(own, code) if subject is None or x[side] == subject]
                assert len(rows) == 1, (code, subject)
            has_noise = "forgotten noise" in faults and not mask
            assert len(only(named_noise, "noise_rows")) == has_noise

    check()
    # None was always left out because of another.
    assert {*seen} == {*FAULTS}


def test_many_labelings_at_once(engine: Engine) -> None:
    """A partition each, and the order of rows does not matter."""
    labelings = [[(i * j % 7, i % (2 + j)) for i in range(40)] for j in range(6)]
    frame = stacked(labelings).reverse()
    rows = label_findings(engine, frame, partition_by="run")
    assert len(rows) >= 10
    for run, labeling in enumerate(labelings):
        own = [{x: y for x, y in row.items() if x != "run"} for row in rows if row["run"] == run]
        assert is_near(own, by_definition(labeling))


def test_a_weight_is_a_repetition(engine: Engine) -> None:
    weighted = frame_of([(0, 1, 3), (1, 1, 2), (1, 2, 9), (None, 2, 4), (2, 2, 0)], "weight")
    repeated: list[Pair] = [(0, 1)] * 3 + [(1, 1)] * 2 + [(1, 2)] * 9 + [(None, 2)] * 4
    found = label_findings(engine, weighted, weight="weight")
    assert is_near(found, label_findings(engine, repeated))
    assert len(found) >= 2


@pytest.mark.gate
def test_many_clusters(engine: Engine) -> None:
    """20,000 rows: those of the definition, computed by counts."""
    rows: list[Pair] = [(i * i % 401, i % 997) for i in range(20_000)]
    found = label_findings(engine, rows)
    assert Counter(codes_of(found)) == Counter(codes_of(by_definition(rows)))
    assert len(found) > 1000


def test_limits_of_findings_on_the_input(engine: Engine) -> None:
    """At each limit and just beside it."""
    for n_out, severity in ((9, "note"), (10, "warning"), (49, "warning"), (50, "problem")):
        rows: list[Pair] = [(None, 0)] * n_out + [(i % 2, i % 2) for i in range(100 - n_out)]
        [row] = only(label_findings(engine, rows), "dropped_rows")
        assert (n_out, row["severity"]) == (n_out, severity)
    for name in ("-1.0", "noise", "outlier", "outliers", "unassigned", "unclustered"):
        named_rows = [("x", name), ("x", "b"), ("y", "b"), ("y", "c")]
        assert len(only(label_findings(engine, named(named_rows)), "unnamed_noise")) == 1
        tab = [(label, cluster.replace(name, f"{name}\t")) for label, cluster in named_rows]
        assert only(label_findings(engine, named(tab)), "unnamed_noise") == []
    for n_labels, n_found in ((50, 0), (51, 1)):
        unique: list[Pair] = [(i % n_labels, i % 5) for i in range(90)]
        assert len(only(label_findings(engine, unique), "unique_labels")) == n_found


def test_a_blank_that_is_no_ascii_makes_another_label(engine: Engine) -> None:
    rows = [("a", 0), ("a\N{NO-BREAK SPACE}", 1)] * 9
    assert only(label_findings(engine, named(rows)), "similar_labels") == []
