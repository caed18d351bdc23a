"""findings: reports findings about row counts and cluster sizes, in words and numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from .exact import count_as_text, percent_as_text, ratio, whole_as_text, widen, word_for
from .frames import aggregate_by, join_partitions

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The limits of findings, which sql/base/findings.sql repeats: a share of rows with one label below
#: which a cluster is mixed, a share that is a problem, the share of a giant cluster, that of a
#: dominant coordinate, a mean silhouette that is "no substantial structure" (Kaufman and Rousseeuw
#: 1990), and a distance in terms of the mean distance.
UNDIVIDED_SHARE, PROBLEM_SHARE, GIANT_SHARE, DOMINANT_SHARE = 0.8, 0.5, 0.8, 0.9
LOW_SILHOUETTE, FAR_RATIO = 0.25, 10

#: Names that clusterings give to noise, in lower case and without blanks around them.
NOISE_NAMES = ("-1", "-1.0", "noise", "outlier", "outliers", "unassigned", "unclustered")
#: Texts that represent a missing label, in the same form.
PLACEHOLDERS = (
    *("", "-", "?", ".", "null", "none", "nil", "nan", "na", "n/a", "#n/a", "<na>", "nat"),
    *("missing", "unknown", "undefined", "not available"),
)
#: What to do if a cluster or a label is noise.
NOISE_ADVICE = {
    "cluster": "give noise and noise_as",
    "label": "make it NULL, so that these rows are left out",
}
#: The severities of findings, the worst first.
SEVERITIES = ("problem", "warning", "note")


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


def pairs_say_little(unit: str) -> str:
    """Return what a giant cluster means for scores."""
    return f"scores by {unit} or by pair say little of the other clusters"


def make_finding(
    rows: pl.LazyFrame, keys: Sequence[str], place: int, code: str, **columns: pl.Expr | str
) -> pl.LazyFrame:
    """Return one finding for each row of `rows`, with the partition columns `keys`.

    `place` is the position of `code` among findings of the same severity. `columns` are the other
    columns of the result, severity and finding among them. n and value are NULL if they are not
    given.
    """
    given: dict[str, pl.Expr] = {
        name: pl.lit(x) if isinstance(x, str) else x for name, x in columns.items()
    }
    unknown = {"n": pl.lit(None, pl.Int64), "value": pl.lit(None, pl.Float64)}
    terms = {"place": pl.lit(place, pl.Int32), "code": pl.lit(code), **unknown, **given}
    return rows.select(*keys, **terms).with_columns(pl.col("n").cast(pl.Int64))


def looks_like_noise(column: str, dtype: pl.DataType) -> pl.Expr:
    """Return whether a column of clusters or labels has a name that clusterings give to noise."""
    if not _has_noise_names(dtype):
        return pl.lit(False)
    name = pl.col(column).cast(pl.String).str.strip_chars(" ").str.to_lowercase()
    return name.is_in(NOISE_NAMES).fill_null(False)


def _has_noise_names(dtype: pl.DataType) -> bool:
    """Return whether a column of this type can have names that clusterings give to noise."""
    return dtype.is_numeric() or isinstance(dtype, pl.String | pl.Categorical | pl.Enum)


def find_unnamed_noise(
    sizes: pl.LazyFrame, row_counts: pl.LazyFrame, keys: Sequence[str], side: str, unit: str
) -> pl.LazyFrame:
    """Return one finding for each cluster or label, as `side` says, that looks like noise."""
    is_noise = looks_like_noise(side, sizes.collect_schema()[side])
    size = pl.col(f"{side}_size")
    words = f"it is counted as a {side} of {{}}; if it is noise, {NOISE_ADVICE[side]}"
    return make_finding(
        join_partitions(sizes.filter(is_noise), list(keys), row_counts.select(*keys, "total")),
        keys,
        -8,
        "unnamed_noise" if side == "cluster" else "unnamed_noise_label",
        severity="problem",
        n=size,
        value=ratio(size, pl.col("total")),
        finding=pl.format(words, count_as_text(size, unit)),
        **{side: pl.col(side)},
    )


def unknown_noise_as_text(noise: object) -> str:
    """Return the text of a remark that no row has the cluster `noise`."""
    return f"no row has cluster {noise}, the value of noise"


def remark_on_noise(
    summary: pl.LazyFrame,
    keys: list[str],
    row_counts: pl.LazyFrame,
    cluster_sizes: pl.LazyFrame,
    *,
    noise: object,
    unit: str,
) -> pl.LazyFrame:
    """Return the rows of a summary, with a remark in place of the meaning of n_noise if needed."""
    if noise is None:
        dtype = cluster_sizes.collect_schema()["cluster"]
        noisy = cluster_sizes.filter(looks_like_noise("cluster", dtype))
        name = pl.col("cluster").cast(pl.String) if _has_noise_names(dtype) else pl.lit("")
        size = pl.col("cluster_size")
        named = pl.format("{} ({})", name, count_as_text(size, unit))
        listed = named.sort_by(size, name, descending=[True, False]).str.join(" or ")
        words = f"no noise given; if cluster {{}} is noise, {NOISE_ADVICE['cluster']}"
        remark = pl.when(pl.len() > 0).then(pl.format(words, listed))
        found = aggregate_by(noisy, keys, {"remark": remark})
    else:
        is_unknown = (pl.col("total") > 0) & (pl.col("n_noise").sum() == 0)
        remark = pl.when(is_unknown).then(pl.lit(unknown_noise_as_text(noise)))
        found = row_counts.select(*keys, remark=remark)
    return put_remark(summary, keys, "n_noise", found)


def put_remark(
    summary: pl.LazyFrame, keys: list[str], metric: str, remarks: pl.LazyFrame
) -> pl.LazyFrame:
    """Return the rows of a summary, with `remark` of a partition as the meaning of a metric."""
    remarked = join_partitions(summary, keys, remarks, how="left")
    meaning = pl.coalesce(pl.when(pl.col("metric") == metric).then("remark"), "meaning")
    return remarked.with_columns(meaning=meaning).drop("remark")


#: By code: the text before and after the words of a finding. Other findings are about a cluster, or
#: about none.
SENTENCES = {
    "mixed_cluster": ("cluster {cluster}: ", ": {label}"),
    "split_label": ("label {label}: ", ": {cluster}"),
    "low_silhouette": ("cluster {cluster}: ", "; the nearest center is that of {other_cluster}"),
    **dict.fromkeys(
        ("unnamed_noise_label", "noise_label", "similar_labels"), ("label {label}: ", "")
    ),
    **dict.fromkeys(
        ("close_clusters", "cut_shapes"), ("clusters {cluster} and {other_cluster}: ", "")
    ),
}
ABOUT_A_CLUSTER = ("cluster {cluster}: ", "")


def name_subjects(findings: pl.LazyFrame, subjects: Sequence[str]) -> pl.LazyFrame:
    """Put the clusters and labels, the columns `subjects`, into the words of findings.

    Clusters and labels of types that have no short text are left to their columns.
    """
    schema = findings.collect_schema()
    names = {name: _name_as_text(name, schema[name]) for name in subjects}
    # A cluster without a name is noise that counts as singletons.
    others = {
        name: pl.when(pl.col(name).is_null()).then(pl.lit("noise")).otherwise(text)
        for name, text in names.items()
    }

    def fill(template: str, texts: dict[str, pl.Expr]) -> pl.Expr:
        """Return a template with the texts in place of the braces, or NULL if one is missing."""
        parts = re.split(r"\{(\w+)\}", template)
        unknown = pl.lit(None, pl.String)
        return pl.concat_str(
            texts.get(part, unknown) if i % 2 else pl.lit(part) for i, part in enumerate(parts)
        )

    def sentence(before: str, behind: str) -> pl.Expr:
        """Return the words between the filled templates, or NULL if the subject has no text."""
        behind_it = fill(behind, others).fill_null("")
        return pl.concat_str(fill(before, names), "finding", behind_it)

    worded = sentence(*ABOUT_A_CLUSTER)
    for code, templates in SENTENCES.items():
        worded = pl.when(pl.col("code") == code).then(sentence(*templates)).otherwise(worded)
    return findings.with_columns(finding=pl.coalesce(worded, "finding"))


def _name_as_text(name: str, dtype: pl.DataType) -> pl.Expr:
    """Return a column of clusters or labels as text, or NULL unless DuckDB writes it likewise."""
    text = pl.col(name).cast(pl.String)
    if dtype.is_integer() or dtype.is_decimal():
        return text
    if isinstance(dtype, pl.String | pl.Categorical | pl.Enum | pl.Boolean | pl.Date):
        return text
    if dtype.is_float():
        short = text.str.contains(r"^-?([0-9]{1,7}\.0|[0-9]{1,4}\.[0-9]{1,2})$")
        # Rows of -0.0 and 0.0 are one cluster.
        return pl.when(short).then(text.str.replace(r"^-0\.0$", "0.0"))
    return pl.lit(None, pl.String)


def mute_noise(findings: pl.LazyFrame, subjects: Sequence[str]) -> pl.LazyFrame:
    """Leave out findings about `subjects` that look like noise, except those that name them."""
    schema = findings.collect_schema()
    of_noise = pl.any_horizontal(looks_like_noise(name, schema[name]) for name in subjects)
    return findings.filter(pl.col("code").str.starts_with("unnamed_noise") | ~of_noise)


def severity_of_left_out(n: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """Return the severity of `n` rows of `whole` that are left out."""
    warning = pl.when(10 * n >= whole).then(pl.lit("warning")).otherwise(pl.lit("note"))
    return pl.when(2 * n >= whole).then(pl.lit("problem")).otherwise(warning)


def findings_on_sizes(
    row_counts: pl.LazyFrame,
    cluster_sizes: pl.LazyFrame,
    keys: Sequence[str],
    *,
    noise: object,
    unit: str,
    complement: str = "",
) -> list[pl.LazyFrame]:
    """Return findings about the number of rows and the cluster sizes of each partition.

    `row_counts` has one row per partition, with total, n_dropped, n_noise, n_clusters and
    total_noise, the number of rows that are either counted or noise. `cluster_sizes` has one row
    per cluster, with cluster and cluster_size. `unit` is the word for a row, and `complement` is
    the word for what a dropped row lacks if it has a cluster.
    """
    total_noise = pl.col("total_noise")
    total, n_dropped, n_noise = pl.col("total"), pl.col("n_dropped"), pl.col("n_noise")
    n_clusters, size = pl.col("n_clusters"), pl.col("cluster_size")
    share = ratio(size, total)
    lacking = f"{complement} or no cluster" if complement else "cluster"
    sizes = join_partitions(
        cluster_sizes.filter(pl.col("cluster").is_not_null()), list(keys), row_counts
    )
    are, left = word_for(total, "is", "are"), count_as_text(total, unit)
    rest = pl.format(": the scores are of the {} that {} left", left, are)
    # Sizes alone, without a complement, are not scored.
    rest = pl.when((total == 0) | (not complement)).then(pl.lit("")).otherwise(rest)
    if noise is None:
        of_noise = find_unnamed_noise(cluster_sizes, row_counts, keys, "cluster", unit)
    else:
        of_noise = make_finding(
            # A partition without noise is nothing unusual if others have it.
            row_counts.filter((n_noise.sum() == 0) & (total > 0)),
            keys,
            -7,
            "unknown_noise",
            severity="problem",
            n=total,
            finding=unknown_noise_as_text(noise),
        )
    return [
        of_noise,
        make_finding(
            row_counts.filter(total == 0),
            keys,
            -9,
            "no_rows",
            severity="problem",
            n=total,
            finding=f"no {unit} can be scored, so nothing was checked",
        ),
        make_finding(
            row_counts.filter((total > 1) & (n_clusters == total) & (n_noise == 0)),
            keys,
            -6,
            "all_singletons",
            severity="problem",
            n=total,
            finding=pl.format(
                f"each of the {{}} {unit}s is a cluster of its own: is the cluster an id?", total
            ),
        ),
        make_finding(
            row_counts.filter(n_dropped > 0),
            keys,
            1,
            "dropped_rows",
            severity=severity_of_left_out(n_dropped, total_noise + n_dropped),
            n=n_dropped,
            value=ratio(n_dropped, total_noise + n_dropped),
            finding=pl.format(
                f"{{}} of {{}} {{}} no {lacking}, and {{}} left out{{}}",
                n_dropped,
                count_as_text(total_noise + n_dropped, "row"),
                word_for(n_dropped, "has", "have"),
                word_for(n_dropped, "is", "are"),
                rest,
            ),
        ),
        make_finding(
            row_counts.filter(n_noise > 0),
            keys,
            2,
            "noise_rows",
            severity=pl.when(total_noise == total)
            .then(pl.lit("note"))
            .otherwise(severity_of_left_out(n_noise, total_noise)),
            n=n_noise,
            value=ratio(n_noise, total_noise),
            finding=pl.format(
                "{} of {} {} noise{}",
                n_noise,
                count_as_text(total_noise, unit),
                word_for(n_noise, "is", "are"),
                pl.when(total_noise == total)
                .then(pl.lit(""))
                .otherwise(pl.format(", and left out{}", rest)),
            ),
        ),
        make_finding(
            row_counts.filter((n_clusters == 1) & (total > 1)),
            keys,
            3,
            "one_cluster",
            severity="problem",
            n=total,
            finding="there is one cluster, so nothing is told apart",
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
                f"it holds {{}} of the {unit}s: {pairs_say_little(unit)}",
                percent_above(share, GIANT_SHARE),
            ),
        ),
    ]


def sort_findings(
    findings: Sequence[pl.LazyFrame], keys: Sequence[str], subjects: Sequence[str]
) -> pl.LazyFrame:
    """Return the findings of all frames, sorted by partition and severity, worst first."""
    rows = pl.concat(findings, how="diagonal_relaxed")
    rank = pl.col("severity").replace_strict(SEVERITIES, range(len(SEVERITIES)))
    order = [*keys, "rank", "place", "n", *subjects]
    descending = [name == "n" for name in order]
    return rows.with_columns(rank=rank).sort(order, descending=descending, nulls_last=True)
