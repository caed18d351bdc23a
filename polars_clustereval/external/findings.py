"""Findings about a clustering with labels, in words and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.exact import (
    count_as_text,
    count_pairs,
    percent_as_text,
    ratio,
    widen,
    word_for,
)
from polars_clustereval.base.findings import (
    NOISE_ADVICE,
    PLACEHOLDERS,
    PROBLEM_SHARE,
    UNDIVIDED_SHARE,
    are_many,
    find_unnamed_noise,
    findings_on_sizes,
    make_finding,
    mute_noise,
    name_subjects,
    percent_below,
    problem_if,
    severity_of_left_out,
    sort_findings,
)
from polars_clustereval.base.frames import join_partitions, join_small, sum_by
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.base.text_frame import show_whole_texts

from .contingency import LabelOptions, read_contingency_table
from .report import describe_side

if TYPE_CHECKING:
    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

    from .contingency import ContingencyTable


@table_function("labels", guide="findings")
def external_findings(
    frame: Frame,
    label: Column,
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
) -> Frame:
    """Findings about how well a clustering agrees with the labels, in words and numbers.

    Parameters
    ----------
    frame, label, cluster, weight, partition_by, noise, noise_as : as in external_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per finding. The rows are sorted by partition, severity (worst
        first) and size (largest first). The result has the partition columns and the following
        columns:

        - severity: 'problem', 'warning' or 'note'.
        - code: one of the codes below.
        - cluster, label: the cluster and the label that the finding is about, or NULL if there is
          none.
        - n: the number of rows that the finding is about.
        - value: the number on which the finding is based.
        - finding: the text of the finding. It names the cluster or label that it is about, unless
          its type has no short text, such as that of a list.

        The codes are

        - no_rows: no row has a label and a cluster and is not left out, so nothing was checked.
        - unnamed_noise, unnamed_noise_label: a cluster or label is -1, or a text such as noise,
          outlier, unassigned or unclustered, and `noise` is not given. There are no other findings
          about this cluster or label. value is its share of the rows.
        - unknown_noise: no row of any partition has the cluster `noise`.
        - all_singletons: every row is a cluster of its own, so the column may be an identifier.
        - unique_labels: there are more than half as many labels as rows, and more than ten times as
          many labels as clusters, so the labels may be identifiers or measurements. value is the
          number of labels divided by the number of rows.
        - fractional_labels: labels are floating-point numbers with a fraction. It is a problem if
          most labels are, and there are more than twice as many labels as clusters.
        - placeholder_label: a label is a text that represents a missing label, such as unknown,
          none, n/a or a blank, and has at least a tenth of the rows. value is its share of the
          rows, on which the severity depends as in dropped_rows.
        - similar_labels: labels differ only by case or blanks.
        - same_partition: clusters and labels agree one to one.
        - noise_label: at least half of the rows with a label are noise that is left out. n is the
          number of all its rows, and value is the share of noise.
        - sparse_labels: at least a tenth of the rows in clusters with labeled rows have no label. n
          is the number of these rows, and value is their share, on which the severity depends as in
          dropped_rows. Scores of the labeled rows take such clusters for purer than they are, so
          call entity_resolution_estimates if the labels are a sample.
        - dropped_rows: some rows have no label or no cluster. value is the share of these rows. A
          share of one half or more is a problem, and a share of one tenth or more is a warning.
        - noise_rows: some rows are noise. value is the share of noise rows. If noise is left out,
          the severity depends on this share as in dropped_rows.
        - one_cluster: all rows are in one cluster.
        - giant_cluster: a cluster has more than 80 % of the rows. value is the share of rows in
          this cluster.
        - mixed_cluster: fewer than 80 % of the rows in a cluster have its most frequent label,
          which is in the column label. value is the purity of the cluster. It is a problem if its
          purity is below one half and all such clusters have at least 5 % of the rows outside their
          majorities, or if its pairs of different labels are more than a quarter of the pairs in
          all clusters. The text counts the labels that have at least 80 % of their rows in the
          cluster, if there are several.
        - split_label: fewer than 80 % of the rows with a label are in its most frequent cluster,
          which is in the column cluster. value is the recall of the label. It is a problem under
          the same conditions, unless there are more clusters than labels.

        If there are no findings, the result is empty. If all_singletons, unique_labels or the
        problem fractional_labels is found, there are no findings about individual clusters and
        labels.

    Raises
    ------
    ClusterEvalError
        For the same reasons as in external_report.

    Notes
    -----
    The limits are conventions, not statistical tests. If you prefer other limits, apply them to the
    column value. In SQL: ``FROM clustereval.external_findings(tbl, label, cluster)``.

    Examples
    --------
    Half of the rows of cluster 1 have another label:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> findings = ce.external_findings(six, "label", "cluster")
    >>> findings["finding"][0]
    "cluster 1: 50 % of the cluster's 2 rows have its most frequent label: a"
    """
    results = ("severity", "code", "cluster", "label", "n", "value", "finding")
    options = pass_arguments_to(LabelOptions)
    table = read_contingency_table(frame, label, cluster, options, results, keep_nulls=True)
    table = table.cache_groups()
    keys = list(table.keys)
    counts = _rows_of_partitions(table, noise_as)
    noise_of_labels = _noise_of_labels(table, noise_as)
    findings = findings_on_sizes(
        counts, table.cluster_sizes, keys, noise=noise, unit="row", complement="label"
    )
    findings += _findings_on_labels(table, counts, noise_of_labels)
    if noise is None:
        findings.append(find_unnamed_noise(table.label_sizes, counts, keys, "label", "row"))
    # If labels are no classes, or every row is a cluster of its own, these are only symptoms.
    are_classes = ~(_ARE_LABELS_UNIQUE | _ARE_LABELS_FRACTIONS)
    is_divisible = are_classes & (pl.col("n_clusters") < pl.col("total"))
    shared = table, counts.filter(is_divisible), noise_of_labels
    words_of_mixed = "have its most frequent label"
    words_of_split = "are in the cluster that has the most"
    findings += [
        _find_divided(*shared, "cluster", "label", 5, "mixed_cluster", words_of_mixed),
        _find_divided(*shared, "label", "cluster", 6, "split_label", words_of_split),
    ]
    subjects = ("cluster", "label")
    ordered = sort_findings(findings, keys, subjects)
    if noise is None:
        ordered = mute_noise(ordered, subjects)
    named = name_subjects(ordered, subjects)
    return show_whole_texts(table.to_user_frame(frame, named.select(*keys, *results)))


def _rows_of_partitions(table: ContingencyTable, noise_as: str | None) -> pl.LazyFrame:
    """Return one row per partition: its row counts, clusters, labels, cells, pairs and noise."""
    copies = pl.col("copies")
    dropped = pl.col("n_noise") if noise_as == "drop" else pl.lit(0)
    cluster_pairs = count_pairs(pl.col("cluster_size")) * copies
    label, size = pl.col("label"), pl.col("label_size")
    is_float = table.label_sizes.collect_schema()["label"].is_float()
    is_fraction = label.is_finite() & (label != label.floor()) if is_float else pl.lit(False)
    label_terms = {
        "n_labels": copies,
        "n_cells": pl.col("n_cells"),
        "label_pairs": count_pairs(size),
        "n_fractions": is_fraction.cast(pl.Int64),
        "fraction_rows": pl.when(is_fraction).then(size).otherwise(0),
    }
    counts = table.add_totals(
        table.row_counts,
        table.sum_by_partition(
            table.cluster_sizes, {"n_clusters": copies, "cluster_pairs": cluster_pairs}
        ),
        table.sum_by_partition(table.label_sizes, label_terms),
        count_unlabeled(table),
    )
    counts = counts.with_columns(total_noise=pl.col("total") + dropped)
    # Without keys the totals are cross joins, and Polars 2.1 panics if it pushes filters into them.
    return (counts if table.keys else counts.head(1)).cache()


#: Whether nearly every row has a label of its own, although there are few clusters.
_ARE_LABELS_UNIQUE = (2 * pl.col("n_labels") > pl.col("total")) & (
    pl.col("n_labels") > 10 * pl.col("n_clusters")
)
#: Whether most labels are fractions, and there are many for the clusters.
_ARE_LABELS_FRACTIONS = (2 * pl.col("n_fractions") > pl.col("n_labels")) & (
    pl.col("n_labels") > 2 * pl.col("n_clusters")
)


def _noise_of_labels(table: ContingencyTable, noise_as: str | None) -> pl.LazyFrame:
    """Return, for each label with noise that is left out, its rows that are left and its noise."""
    is_out = pl.lit(noise_as == "drop") & pl.col("label").is_not_null()
    sums = table.groups.filter(is_out).group_by(*table.keys, "label")
    counts = sums.agg(
        n_left=(pl.col("n") * pl.col("copies")).sum(), n_noise=pl.col("n_noise").sum()
    )
    return counts.filter(pl.col("n_noise") > 0).cache()


def fractions_as_text(n: pl.Expr) -> pl.Expr:
    """Return the text of the finding that `n` labels are fractions."""
    are = word_for(n, "is a fraction", "are fractions")
    return pl.format("{} {}: is the label a measurement?", count_as_text(n, "label"), are)


def find_unique_labels(counts: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    """Return a finding for each partition where nearly every row has a label of its own."""
    n, total = pl.col("n_labels"), pl.col("total")
    return make_finding(
        counts.filter(_ARE_LABELS_UNIQUE),
        keys,
        -5,
        "unique_labels",
        severity="problem",
        n=total,
        value=ratio(n, total),
        finding=pl.format(
            "there are {} labels for {} rows: is the label an id or a measurement?", n, total
        ),
    )


def count_unlabeled(table: ContingencyTable) -> pl.LazyFrame:
    """Return n_unlabeled for each partition: rows without a label in clusters with labeled rows.

    The groups of `table` without a label must have kept their cluster.
    """
    # With a cluster, a row is dropped because it has no label.
    terms = {"n_unlabeled": pl.col("n_dropped"), "n_labeled": pl.col("n") * pl.col("copies")}
    groups = table.groups.filter(pl.col("cluster").is_not_null())
    clusters = sum_by(groups, [*table.keys, "cluster"], terms).filter(pl.col("n_labeled") > 0)
    return table.sum_by_partition(clusters, {"n_unlabeled": pl.col("n_unlabeled")})


def find_sparse_labels(counts: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    """Return a finding for each partition where many rows of clusters with labels have none.

    `counts` has total and n_unlabeled.
    """
    n = pl.col("n_unlabeled")
    whole = pl.col("total") + n
    return make_finding(
        counts.filter((n > 0) & (10 * n >= whole)),
        keys,
        -1,
        "sparse_labels",
        severity=severity_of_left_out(n, whole),
        n=n,
        value=ratio(n, whole),
        finding=pl.format(
            "{} of {} rows in clusters with labels {} no label, so precision may be far too high: "
            "use entity_resolution_estimates, or labels_are_sample in a comparison",
            n,
            whole,
            word_for(n, "has", "have"),
        ),
    )


def _findings_on_labels(
    table: ContingencyTable, counts: pl.LazyFrame, noise_of_labels: pl.LazyFrame
) -> list[pl.LazyFrame]:
    """Return the findings about the labels as such. `counts` is made by _rows_of_partitions."""
    keys, label, n = list(table.keys), pl.col("label"), pl.col("n_labels")
    total, n_cells, n_noise = pl.col("total"), pl.col("n_cells"), pl.col("n_noise")
    is_same = (n_cells == n) & (n_cells == pl.col("n_clusters")) & (n_cells > 1) & (n_cells < total)
    size = pl.col("n_left") + n_noise
    n_fractions = pl.col("n_fractions")
    findings = [
        find_unique_labels(counts, keys),
        make_finding(
            counts.filter(n_fractions > 0),
            keys,
            -4,
            "fractional_labels",
            severity=problem_if(_ARE_LABELS_FRACTIONS),
            n=pl.col("fraction_rows"),
            finding=fractions_as_text(n_fractions),
        ),
        make_finding(
            counts.filter(is_same),
            keys,
            -2,
            "same_partition",
            severity="note",
            n=total,
            finding="clusters and labels agree one to one: check that neither column is made from "
            "the other",
        ),
        find_sparse_labels(counts, keys),
        make_finding(
            noise_of_labels.filter(n_noise >= pl.col("n_left")),
            keys,
            0,
            "noise_label",
            severity="warning",
            label=label,
            n=size,
            value=ratio(n_noise, size),
            finding=pl.format(
                "{} of the label's {} {} noise, and left out",
                n_noise,
                count_as_text(size, "row"),
                word_for(n_noise, "is", "are"),
            ),
        ),
    ]
    return [*findings, *find_texts(table.label_sizes, counts, keys)]


def find_texts(
    label_sizes: pl.LazyFrame, counts: pl.LazyFrame, keys: list[str]
) -> list[pl.LazyFrame]:
    """Return the findings about the texts of labels, none if the labels are of another type."""
    dtype = label_sizes.collect_schema()["label"]
    if not isinstance(dtype, pl.String | pl.Categorical | pl.Enum):
        return []
    return [
        _find_spellings(label_sizes, keys),
        _find_placeholders(join_partitions(label_sizes, keys, counts.select(*keys, "total")), keys),
    ]


def _find_placeholders(label_sizes: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    """Return a finding for each label that stands for a missing one and has a tenth of the rows."""
    name, size, total = pl.col("label").cast(pl.String), pl.col("label_size"), pl.col("total")
    is_placeholder = name.str.strip_chars(" ").str.to_lowercase().is_in(PLACEHOLDERS)
    return make_finding(
        # Among many rows, a few such labels may be meant.
        label_sizes.filter(is_placeholder & (10 * size >= total)),
        keys,
        -4,
        "placeholder_label",
        severity=severity_of_left_out(size, total),
        label=pl.col("label"),
        n=size,
        value=ratio(size, total),
        finding=pl.format(
            "the label '{}' of {} of {} counts as one label; if it stands for a missing one, "
            + NOISE_ADVICE["label"],
            name,
            size,
            count_as_text(total, "row"),
        ),
    )


def _find_spellings(label_sizes: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    """Return a finding for each set of labels that differ only by case or blanks."""
    name = pl.col("name")
    named = label_sizes.with_columns(name=pl.col("label").cast(pl.String))
    # These are the blanks of \s in DuckDB.
    spelling = name.str.to_lowercase().str.replace_all(r"[\t\n\f\r ]", "")
    groups = named.with_columns(spelling=spelling).group_by(*keys, "spelling")
    quoted = pl.concat_str(pl.lit("'"), name.sort(), pl.lit("'"))
    sets = groups.agg(
        pl.col("label").sort_by("name").first(),
        size=pl.col("label_size").sum(),
        labels=pl.len(),
        names=quoted.str.join(", "),
    )
    return make_finding(
        sets.filter(pl.col("labels") > 1),
        keys,
        -3,
        "similar_labels",
        severity="warning",
        label=pl.col("label"),
        n=pl.col("size"),
        finding=pl.format(
            "{} labels differ only by case or blanks: {}", pl.col("labels"), pl.col("names")
        ),
    )


def _find_divided(
    table: ContingencyTable,
    partitions: pl.LazyFrame,
    noise_of_labels: pl.LazyFrame,
    side: str,
    other: str,
    place: int,
    code: str,
    words: str,
) -> pl.LazyFrame:
    """Return one finding for each cluster with mixed labels, or for each label that is split.

    Only `partitions` are searched. `side` is the column to report on, 'cluster' or 'label', and
    `other` is the other column. `words` ends the text, which begins with the share of the largest
    part.
    """
    keys, by = list(table.keys), [*table.keys, side]
    counted = partitions.select(*keys, counted="total")
    sizes = join_partitions(getattr(table, f"{side}_sizes"), keys, counted)
    is_divided = pl.col(f"{side}_majority_n") / pl.col(f"{side}_size") < UNDIVIDED_SHARE
    chosen = sizes.filter(is_divided & pl.col(side).is_not_null()).select(by)
    divided = join_small(describe_side(table, sizes, side, other), by, chosen)
    is_whole = pl.col(other).is_not_null() & (
        pl.col("n") / pl.col(f"{other}_size") >= UNDIVIDED_SHARE
    )
    wholes = table.sized_cells.filter(is_whole).group_by(by).agg(n_whole=pl.len())
    divided = divided.join(wholes, on=by, how="left", nulls_equal=True)
    share, n = pl.col("share"), pl.col("size")
    # The rows outside the majorities of all whose share is a problem.
    n_outside = pl.when(share < PROBLEM_SHARE).then(n - pl.col("majority_n")).otherwise(0).sum()
    partition = [pl.col(name) for name in keys] or [pl.lit(0)]
    divided = divided.with_columns(n_outside=n_outside.over(partition))
    divided = join_partitions(divided, keys, partitions)
    is_problem = (share < PROBLEM_SHARE) & are_many(pl.col("n_outside"), pl.col("total"))
    is_problem |= 4 * widen(pl.col("divided_pairs")) > pl.col(f"{side}_pairs")
    whole = pl.lit("")
    if side == "label":
        # With more clusters than labels, some labels have to be split.
        is_problem &= pl.col("n_clusters") <= pl.col("n_labels")
        divided = divided.join(noise_of_labels, on=by, how="left", nulls_equal=True, suffix="_out")
        rest = pl.format(" that are left of {}", pl.col("n_left") + pl.col("n_noise_out"))
        whole = pl.when(pl.col("n_noise_out").is_null()).then(whole).otherwise(rest)
    problem, usual = (percent_below(share, most) for most in (PROBLEM_SHARE, UNDIVIDED_SHARE))
    percent = pl.when(share < PROBLEM_SHARE).then(problem).otherwise(usual)
    each = percent_as_text(pl.lit(UNDIVIDED_SHARE))
    parts = pl.format(f" (at least {{}} of each of {{}} {other}s)", each, pl.col("n_whole"))
    parts = pl.when(pl.col("n_whole") > 1).then(parts).otherwise(pl.lit(""))
    text = pl.format(
        f"{{}} of the {side}'s {{}}{{}}{{}} {words}", percent, count_as_text(n, "row"), parts, whole
    )
    return make_finding(
        divided,
        keys,
        place,
        code,
        severity=problem_if(is_problem),
        n=n,
        value=share,
        finding=text,
        **{side: pl.col(side), other: pl.col("majority")},
    )
