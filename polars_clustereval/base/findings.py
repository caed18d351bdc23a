"""findings: reports findings about row counts and cluster sizes, in words and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from .exact import count_as_text, percent_as_text, ratio, whole_as_text, widen
from .frames import join_partitions

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The limits of findings, which sql/base/findings.sql repeats: a share of rows with one label below
#: which a cluster is mixed, a share that is a problem, the share of a giant cluster, that of a
#: dominant coordinate, a mean silhouette that is "no substantial structure" (Kaufman and Rousseeuw
#: 1990), and a distance in terms of the mean distance.
UNDIVIDED_SHARE, PROBLEM_SHARE, GIANT_SHARE, DOMINANT_SHARE = 0.8, 0.5, 0.8, 0.9
LOW_SILHOUETTE, FAR_RATIO = 0.25, 10

#: The severities of findings, the worst first.
_SEVERITIES = ("problem", "warning", "note")


def are_many(n_affected: pl.Expr, total: pl.Expr) -> pl.Expr:
    """Return whether `n_affected` of `total` rows are enough for a problem."""
    return 20 * widen(n_affected) >= widen(total)


def problem_if(condition: pl.Expr) -> pl.Expr:
    """Return the severity 'problem' where the condition is true, otherwise 'warning'."""
    return pl.when(condition).then(pl.lit("problem")).otherwise(pl.lit("warning"))


def percent_below(share: pl.Expr, most: float) -> pl.Expr:
    """Return a share below `most` as a percentage, such as 'just below 80 %' if it rounds to it."""
    near = pl.format("just below {}", percent_as_text(pl.lit(most)))
    return pl.when(share >= most - 0.005).then(near).otherwise(percent_as_text(share))


def percent_above(share: pl.Expr, least: float) -> pl.Expr:
    """Return a share above `least` as a percentage, such as 'just over 80 %' if it rounds to it."""
    near = pl.format("just over {}", percent_as_text(pl.lit(least)))
    return pl.when(share < least + 0.005).then(near).otherwise(percent_as_text(share))


def whole_above(x: pl.Expr, least: pl.Expr) -> pl.Expr:
    """Return x > `least` as a whole number, such as 'just over 10' if it rounds to `least`."""
    near = pl.format("just over {}", least)
    return pl.when(x < least + 0.5).then(near).otherwise(whole_as_text(x))


def make_finding(
    rows: pl.LazyFrame, keys: Sequence[str], place: int, code: str, **columns: pl.Expr | str
) -> pl.LazyFrame:
    """Return one finding for each row of `rows`, with the partition columns `keys`.

    `code` is the code of the finding, and `place` is the position of this code among findings of
    the same severity. `columns` maps names to the other columns of the result, which include
    severity and finding. If a column is given as a string, every row contains this string. The
    columns n and value are NULL if they are not in `columns`.
    """
    given: dict[str, pl.Expr] = {
        name: pl.lit(x) if isinstance(x, str) else x for name, x in columns.items()
    }
    unknown = {"n": pl.lit(None, pl.Int64), "value": pl.lit(None, pl.Float64)}
    terms = {"place": pl.lit(place, pl.Int32), "code": pl.lit(code), **unknown, **given}
    return rows.select(*keys, **terms).with_columns(pl.col("n").cast(pl.Int64))


def findings_on_sizes(
    row_counts: pl.LazyFrame,
    cluster_sizes: pl.LazyFrame,
    keys: Sequence[str],
    *,
    unit: str,
    complement: str,
) -> list[pl.LazyFrame]:
    """Return findings about the number of rows and the cluster sizes of each partition.

    `row_counts` has one row per partition. Its columns are the partition columns `keys` as well as
    total, n_dropped, n_noise, n_clusters and total_noise. The column total_noise is the number of
    rows that are either counted or noise. `cluster_sizes` has one row per cluster, with the columns
    `keys`, cluster and cluster_size. `unit` is the word for a row, and `complement` is the word for
    what a dropped row lacks.
    """
    total, n_dropped, n_noise = pl.col("total"), pl.col("n_dropped"), pl.col("n_noise")
    n_clusters, size = pl.col("n_clusters"), pl.col("cluster_size")
    is_one = n_dropped == 1
    has, is_left = (
        pl.when(is_one).then(pl.lit(one)).otherwise(pl.lit(several))
        for one, several in (("has", "have"), ("is", "are"))
    )
    are_noise = pl.when(n_noise == 1).then(pl.lit("is")).otherwise(pl.lit("are"))
    share = ratio(size, total)
    sizes = join_partitions(
        cluster_sizes.filter(pl.col("cluster").is_not_null()), list(keys), row_counts
    )
    return [
        make_finding(
            row_counts.filter(n_dropped > 0),
            keys,
            1,
            "dropped_rows",
            severity=pl.when(n_dropped >= total).then(pl.lit("problem")).otherwise(pl.lit("note")),
            n=n_dropped,
            value=ratio(n_dropped, total + n_dropped),
            finding=pl.format(
                f"{{}} of {{}} {{}} no {complement} or no cluster, and {{}} left out",
                n_dropped,
                count_as_text(total + n_dropped, "row"),
                has,
                is_left,
            ),
        ),
        make_finding(
            row_counts.filter(n_noise > 0),
            keys,
            2,
            "noise_rows",
            severity="note",
            n=n_noise,
            value=ratio(n_noise, pl.col("total_noise")),
            finding=pl.format(
                "{} of {} {} noise",
                n_noise,
                count_as_text(pl.col("total_noise"), unit),
                are_noise,
            ),
        ),
        make_finding(
            row_counts.filter((n_clusters == 1) & (total > 1)),
            keys,
            3,
            "one_cluster",
            severity="problem",
            n=total,
            finding="there is one cluster: scores that compare clusters are not defined",
        ),
        make_finding(
            sizes.filter((n_clusters > 1) & (share > GIANT_SHARE)),
            keys,
            4,
            "giant_cluster",
            severity="warning",
            cluster=pl.col("cluster"),
            n=size,
            value=share,
            finding=pl.format(
                f"it holds {{}} of the {unit}s: scores by {unit} or by pair say little of the "
                "other clusters",
                percent_above(share, GIANT_SHARE),
            ),
        ),
    ]


def sort_findings(
    findings: Sequence[pl.LazyFrame], keys: Sequence[str], subjects: Sequence[str]
) -> pl.LazyFrame:
    """Return the findings from all frames, sorted by partition and then by severity, worst first.

    `subjects` lists the columns that identify the label or cluster that a finding describes.
    """
    rows = pl.concat(findings, how="diagonal_relaxed")
    rank = pl.col("severity").replace_strict(_SEVERITIES, range(len(_SEVERITIES)))
    order = [*keys, "rank", "place", "n", *subjects]
    descending = [name == "n" for name in order]
    return rows.with_columns(rank=rank).sort(order, descending=descending, nulls_last=True)
