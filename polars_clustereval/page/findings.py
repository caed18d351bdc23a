"""Findings: what the command ``report`` finds out about a clustering before it writes a page."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polars_clustereval import (
    cluster_states,
    internal_cluster_report,
    silhouette_clusters,
)
from polars_clustereval.base.checks import check_metrics
from polars_clustereval.base.findings import GIANT_SHARE
from polars_clustereval.catalogue import entries, reading
from polars_clustereval.cli.engines import read_arguments, write_queries
from polars_clustereval.cli.noise import describe_unknown_noise
from polars_clustereval.cli.reports import REPORTS, Meaning, explain
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.internal.findings import (
    PointReports,
    findings_of_reports,
    may_be_square,
    noise_of_findings,
)
from polars_clustereval.internal.shapes import cluster_shapes

from .answers import (
    Answer,
    describe_clusters,
    list_answers,
    list_steps,
    percent,
)
from .facts import Tables, list_facts, list_versions, list_warnings
from .numbers import show_number
from .reports import Reports
from .silhouettes import average_by_cluster, average_clusters, choose_method

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from polars_clustereval.catalogue import Entry
    from polars_clustereval.cli.options import Call, Options
    from polars_clustereval.cli.reports import Report
    from polars_clustereval.cli.sources import Source

    from .reports import Compute

__all__ = [
    "CENTROIDS",
    "CLUSTER_MEANINGS",
    "NOT_SCORES",
    "SILHOUETTES_OF_CLUSTERS",
    "Findings",
    "Score",
    "check_options",
    "choose_clusters",
    "describe_clustering",
    "describe_limits",
    "has_silhouettes_of_points",
    "list_headlines",
    "list_warnings_of_input",
    "make_findings",
]

#: The scores at the top of the page; all others are in tables below.
_HEADLINES = (
    *("adjusted_rand_score", "adjusted_mutual_info_score", "v_measure_score", "bcubed_f_score"),
    *("silhouette", "explained_variance", "davies_bouldin_score", "calinski_harabasz_score"),
)

#: The same for labels with few rows each, as in entity resolution, where pairs and whole entities
#: matter.
_HEADLINES_OF_ENTITIES = (
    *("pair_precision", "pair_recall", "bcubed_f_score", "exact_match_f_score"),
    *_HEADLINES[4:],
)
#: Labels have few rows if they have fewer than this on average.
_FEW_ROWS = 5

#: Columns of reports that count rows and clusters; they are facts, not scores.
NOT_SCORES = (
    *("n", "n_dropped", "n_noise", "n_dims", "n_labels", "n_clusters", "n_singletons"),
    "n_evaluated",
)

#: The beginning of a sentence about a score.
_JUDGED = {
    "adjusted_rand_score": "Agreement of the clusters with the labels",
    "silhouette": "Structure of the clusters",
}

#: The number of clusters that are described; these are the largest.
_MOST_DESCRIBED = 30

#: The number of points with low silhouettes that are listed.
_MOST_LOW_POINTS = 20

_CONFIDENCE = 0.95


class Score(NamedTuple):
    """A score of the clustering, along with its limits and their kind, if they are known."""

    name: str
    value: float | None
    meaning: Meaning
    lower: float | None = None
    upper: float | None = None
    limits: str = ""
    #: The word that the literature uses for the value; empty if there is none.
    reading: str = ""

    @property
    def entry(self) -> Entry | None:
        """The score's entry in the catalogue, or None for the limits of a silhouette."""
        return entries().get(self.name)


class Findings(NamedTuple):
    """The content of a page about one clustering."""

    #: The title that the user gave; empty for the usual one.
    title: str
    #: The input and the options that matter, as pairs of a name and a text.
    facts: list[tuple[str, str]]
    #: What a reader must know before reading the numbers, one sentence each.
    warnings: list[str]
    #: Lines for standard error, once the page is written.
    notes: tuple[str, ...]
    #: How good the clustering is and what to look at, one sentence each; after the first, the worst
    #: come first.
    answers: list[Answer]
    #: What to try next, one sentence each.
    steps: list[str]
    #: What distinguishes clusters, by their names; the largest clusters first.
    descriptions: dict[str, str]
    headlines: list[Score]
    #: All scores, by the title of their group.
    groups: dict[str, list[Score]]
    #: By title: tables of one row per cluster, the largest first. There are two if labels and
    #: points are not of the same rows, that of the points last.
    clusters: dict[str, pl.DataFrame]
    #: The points of the lowest silhouettes: id, cluster, neighbor and silhouette.
    low_points: pl.DataFrame
    #: The data for pictures of points: rows of reports by their names.
    drawn: dict[str, pl.DataFrame]
    #: The SQL of all numbers.
    queries: list[str]
    #: The versions of the programs and of the data.
    versions: list[tuple[str, str]]


def make_findings(source: Source, options: Options, *, has_pictures: bool) -> Findings:
    """Return the findings about the clustering that the options describe.

    If `has_pictures` is true, the findings include the tables from which pictures are drawn.
    """
    check_options(options)
    compute = Reports(source).compute
    [options], choice = choose_method(source, [options], compute)
    findings = describe_clustering(source, options, compute, has_pictures=has_pictures)
    calls = _list_calls(options)
    warnings, notes = list_warnings_of_input(source, calls, compute, choice)
    written = write_queries(source, _add_calls_of_findings(calls, options))
    return findings._replace(
        warnings=[*findings.warnings, *warnings],
        notes=notes,
        queries=[source.rename_paths(text) for text in written],
        versions=list_versions(source),
    )


def list_warnings_of_input(
    source: Source, calls: Sequence[Call], compute: Compute, choice: Sequence[str]
) -> tuple[list[str], tuple[str, ...]]:
    """Return warnings about the rows of all clusterings, and those that are notes, too.

    `choice` contains a sentence if a method of silhouettes was chosen for the user.
    """
    noise = describe_unknown_noise([source], calls[0], compute(calls[0]))
    warnings = [
        *(f"{note}." for note in noise),
        *(f"{note[0].upper()}{note[1:]}." for note in choice),
    ]
    return warnings, (*noise, *choice)


def describe_clustering(
    source: Source, options: Options, compute: Compute, *, has_pictures: bool = False
) -> Findings:
    """Return the findings about one clustering, based on the reports that `compute` returns.

    The options must already specify the method for silhouettes. The findings have no notes, queries
    or versions, because these belong to the page as a whole.
    """
    calls = {call.report.function.__name__: call for call in _list_calls(options)}
    found = _compute(compute, calls, options, has_pictures=has_pictures)
    tables = Tables(
        external=_first_row(found, "external_report"),
        intervals=found.get("external_intervals"),
        internal=_first_row(found, "internal_report"),
        silhouette=_first_row(found, "silhouette_score"),
        by_cluster=[found[name] for name in _BY_CLUSTER if name in found],
    )
    looked_at = _list_findings(source, compute, options, found)
    groups = _list_groups(tables, options)
    if any(table["code"].is_in(("cut_shapes", "connected_shapes")).any() for table in looked_at):
        # Silhouettes praise round clusters, whatever shapes these cut, and blame others.
        for title, group in groups.items():
            muted = [x._replace(reading="") if "silhouette" in x.name else x for x in group]
            groups[title] = muted
    scores = {score.name: score for group in groups.values() for score in group}
    cluster_tables = _list_cluster_tables(tables)
    labeled, *_, clusters = (*cluster_tables.values(), *cluster_tables.values())
    chosen = options.chosen_metrics
    names = list_headlines(tables.external) if chosen is None else check_metrics(chosen, scores)
    headlines = [scores[name] for name in names if name in scores]
    return Findings(
        title=options.title or "",
        facts=list_facts(source, options, tables),
        warnings=list_warnings(options, tables, clusters),
        notes=(),
        answers=[
            *_judge_scores(headlines, tables, options, labeled),
            *list_answers(looked_at),
        ],
        steps=list_steps(looked_at, labeled),
        descriptions=_describe_largest(source, options, clusters, compute),
        headlines=headlines,
        groups=groups,
        clusters=cluster_tables,
        low_points=_list_low_points(compute, options),
        drawn={name: found[name] for name in _DRAWN if name in found},
        queries=[],
        versions=[],
    )


def check_options(options: Options) -> None:
    """Raise an error if no page can be written for the columns specified in the options."""
    if not options.values.keys() & {"label", "vector"}:
        raise ClusterEvalError(
            "report: expected --label, the true classes, or --vector, the points, or both"
        )
    if "id" in options.values and "vector" not in options.values:
        raise ClusterEvalError(
            "report: --id names points with low silhouettes, so it needs --vector, the points"
        )
    if options.values.keys() >= {"weight", "vector"}:
        raise ClusterEvalError(
            "report: --weight is only for labels; leave out --vector, or repeat each row as often "
            "as it counts"
        )


def _add_calls_of_findings(calls: Sequence[Call], options: Options) -> list[Call]:
    """Insert the calls of findings, each before the report that reads the same columns."""
    names = {"external_report": "findings-label", "internal_report": "findings-vector"}
    listed = [options.call(REPORTS["findings"])]
    for call in calls:
        name = call.report.function.__name__
        if name in names:
            listed.append(options.call(REPORTS[names[name]]))
        listed.append(call)
    return [*listed, options.call(REPORTS["samples"])] if "id" in options.values else listed


def _list_findings(
    source: Source, compute: Compute, options: Options, found: Mapping[str, pl.DataFrame]
) -> list[pl.DataFrame]:
    """Return the findings on labels, and those on points, made from tables of the page."""
    sizes = compute(options.call(REPORTS["findings"]))
    tables = [sizes.filter(code="outlying_cluster")]
    if "label" in options.values:
        tables.append(compute(options.call(REPORTS["findings-label"])))
    if "vector" in options.values:
        distance = options.values.get("distance", "euclidean")
        noise_as = options.values.get("noise_as")
        states, clusters = None, found["internal_cluster_report"]
        silhouettes = found.get("silhouette_clusters")
        marked = {}
        if noise_as == "singletons":
            marked = {"noise_as": noise_of_findings(noise_as)}
            clusters = compute(options.call(CENTROIDS, **marked))
            if silhouettes is not None:
                silhouettes = compute(options.call(SILHOUETTES_OF_CLUSTERS, **marked))
        if distance.lower() != "cosine" and "weights" not in options.values:
            states = compute(options.call(_STATES, **marked)).lazy()
        # Only Polars has this table.
        shapes = replace(options.call(_SHAPES, **marked), engine="polars")
        vector = read_arguments(source, options.call(REPORTS["internal"]))["vector"]
        counts = found["internal_report"]
        # No table of the page counts zero vectors, for which exact silhouettes take linear time, or
        # recognizes rows of distances, which are as few as their coordinates.
        is_read = distance.lower() == "cosine" or counts.select(may_be_square()).item()
        exact = {"method": "exact", "sample_size": None, "reference_size": None}
        whole = compute(options.call(REPORTS["findings-vector"], **exact)) if is_read else None
        n_square = [] if whole is None else whole.filter(code="distance_matrix")["n"].to_list()
        reports = PointReports(
            counts=counts.lazy(),
            clusters=clusters.lazy(),
            silhouettes=None if silhouettes is None else silhouettes.lazy(),
            states=states,
            shapes=compute(shapes).lazy(),
            matrices=pl.LazyFrame({"n_square": n_square or [None]}, {"n_square": pl.Int64}),
            is_sampled=_has_sample(options),
            names=tuple(vector) if len(vector) > 1 else (),
        )
        noise = options.call(REPORTS["internal"]).arguments.get("noise")
        rows = findings_of_reports(reports, [], noise=noise, noise_as=noise_as, distance=distance)
        tables.append(rows.collect())
        if whole is not None:
            tables.append(whole.filter(code="zero_vectors"))
    return tables


def _list_described_columns(source: Source, options: Options) -> list[str]:
    """Return the columns that describe clusters, with the coordinates if they are columns."""
    columns: list[str] = []
    if "columns" in options.values:
        columns += read_arguments(source, options.call(REPORTS["profile"]))["columns"]
    if "vector" in options.values:
        vector = read_arguments(source, options.call(REPORTS["internal"]))["vector"]
        columns += vector if len(vector) > 1 else []
    return list(dict.fromkeys(columns))


def _describe_largest(
    source: Source, options: Options, clusters: pl.DataFrame, compute: Compute
) -> dict[str, str]:
    """Return what distinguishes each of the largest clusters, by their names."""
    columns = _list_described_columns(source, options)
    if not columns or clusters.height < 2:
        return {}
    noise_as = options.values.get("noise_as")
    marked = {"noise_as": "drop"} if noise_as == "singletons" else {}
    profile = compute(options.call(REPORTS["profile"], columns=columns, **marked))
    if options.values.get("missing") == "drop":  # no row of the page lacks a coordinate
        profile = profile.filter(pl.col("kind") != "missing")
    largest = clusters.head(_MOST_DESCRIBED).select("cluster")
    known = largest.cast({"cluster": profile.schema["cluster"]})
    described = describe_clusters(profile.join(known, on="cluster", how="semi"), show_number)
    nothing = "nothing: no column differs by a v-test of 2 or more"
    return {name: described.get(name, nothing) for name in map(str, largest["cluster"].to_list())}


#: The reports from which pictures of points are drawn.
_DRAWN = ("silhouette_samples", "internal_cluster_report")


def _compute(
    compute: Compute, calls: Mapping[str, Call], options: Options, *, has_pictures: bool
) -> dict[str, pl.DataFrame]:
    """Return the rows of each report by its name.

    Exact silhouettes are computed once, of each point if there are pictures or else of each
    cluster, and the other tables of silhouettes are derived from them.
    """
    derived: tuple[str, ...] = ()
    if "silhouette_clusters" in calls and has_silhouettes_of_points(options):
        derived = ("silhouette_score", *(["silhouette_clusters"] if has_pictures else []))
    found = {name: compute(call) for name, call in calls.items() if name not in derived}
    if not derived:
        return found
    if has_pictures:
        named = ("id", "neighbor") if "id" in options.values else ()
        columns = (*named, "cluster", "silhouette")
        points = compute(options.call(REPORTS["samples"]), columns)
        found["silhouette_samples"] = points
        found["silhouette_clusters"] = average_by_cluster(points)
    found["silhouette_score"] = average_clusters(found["silhouette_clusters"])
    return found


def _list_low_points(compute: Compute, options: Options) -> pl.DataFrame:
    """Return the points with the lowest silhouettes, or no rows if they have no ids."""
    columns = ("id", "neighbor", "cluster", "silhouette")
    if "id" not in options.values or not (
        has_silhouettes_of_points(options) or _has_sample(options)
    ):
        return pl.DataFrame(schema=dict.fromkeys(columns, pl.Null))
    points = compute(options.call(REPORTS["samples"]), columns)
    lowest = points.drop_nulls("silhouette").bottom_k(_MOST_LOW_POINTS, by="silhouette")
    parts = pl.concat_str(pl.col("id").struct.field("*"), separator=",")
    return lowest.sort("silhouette", maintain_order=True).select(
        parts.alias("id") if lowest.schema["id"] == pl.Struct else "id",
        *("cluster", "neighbor", "silhouette"),
    )


def _first_row(found: Mapping[str, pl.DataFrame], name: str) -> dict[str, Any] | None:
    """Return the single row of a report, or None if there is no such report."""
    return found[name].row(0, named=True) if name in found else None


# ----------------------------------------------------------------------------------------------
# Reports
# ----------------------------------------------------------------------------------------------


#: Reports by cluster. No command has them, so the page has its own words for their columns.
CENTROIDS = replace(REPORTS["internal"], function=internal_cluster_report)
_STATES = replace(REPORTS["internal"], function=cluster_states)
_SHAPES = replace(REPORTS["findings-vector"], function=cluster_shapes)
SILHOUETTES_OF_CLUSTERS = replace(REPORTS["silhouette"], function=silhouette_clusters)


def _list_calls(options: Options) -> list[Call]:
    """Return the calls of all reports that the page needs."""
    calls = []
    if "label" in options.values:
        calls += [options.call(REPORTS["external"])]
        calls += [options.call(REPORTS["external-confidence"], confidence=_CONFIDENCE)]
        calls += [options.call(REPORTS["clusters"])]
    if "vector" in options.values:
        calls += [options.call(x) for x in (REPORTS["internal"], CENTROIDS, REPORTS["silhouette"])]
        if has_silhouettes_of_points(options) or _has_sample(options):
            calls += [options.call(SILHOUETTES_OF_CLUSTERS)]
    return calls


def has_silhouettes_of_points(options: Options) -> bool:
    """Return whether the page needs the silhouette of every point, not only a mean or bounds."""
    is_exact = options.values.get("method", "exact").lower() == "exact"
    return is_exact and "tolerance" not in options.values


def _has_sample(options: Options) -> bool:
    """Return whether the page needs the silhouettes of a sample of the points."""
    return bool(options.values.get("method", "exact").lower() == "sample")


# ----------------------------------------------------------------------------------------------
# Scores
# ----------------------------------------------------------------------------------------------


def _list_groups(tables: Tables, options: Options) -> dict[str, list[Score]]:
    """Return all scores, grouped under the same titles as in the terminal output."""
    groups: dict[str, list[Score]] = {}
    silhouettes = replace(REPORTS["silhouette"], titles={"silhouette": "silhouette"})
    for row, report in (
        (tables.external, REPORTS["external"]),
        (tables.silhouette, silhouettes),
        (tables.internal, REPORTS["internal"]),
    ):
        if row is None:
            continue
        adapted = options.call(report).adapted_report
        title = "counts"
        for name, value in row.items():
            title = report.titles.get(name, title)
            if name not in NOT_SCORES:
                groups.setdefault(title, []).append(_make_score(name, value, adapted, tables))
    return groups


def list_headlines(row: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the names of the scores at the top of the page.

    `row` contains the counts from external_report, or is None if there are no labels. If each label
    has only a few rows, as in entity resolution, a different list of scores is used.
    """
    is_of_entities = row is not None and row["n_labels"] * _FEW_ROWS > row["n"] > _FEW_ROWS
    return _HEADLINES_OF_ENTITIES if is_of_entities else _HEADLINES


def _describe_rest(row: Mapping[str, Any], options: Options) -> str:
    """Return which rows a score is of, if at least a tenth of all rows are left out."""
    n_out = row["n_dropped"] + row["n_noise"] * (options.values.get("noise_as") == "drop")
    whole = row["n"] + n_out
    return f", of the {row['n']:,} of {whole:,} rows that are left" if 10 * n_out >= whole else ""


def _judge_scores(
    scores: Iterable[Score], tables: Tables, options: Options, clusters: pl.DataFrame
) -> list[Answer]:
    """Return a sentence for each score whose value the literature describes with a word."""
    answers = []
    remark = ""
    if clusters.height > 1 and clusters["share"][0] > GIANT_SHARE:
        largest, share = clusters["cluster"][0], percent(clusters["share"][0])
        remark = f"; most pairs are in cluster {largest}, which has {share} of the rows"
    rows = {"silhouette": tables.internal, "adjusted_rand_score": tables.external}
    for score in scores:
        if score.name in _JUDGED and score.reading and score.entry is not None:
            title = f"{score.entry.title[0].lower()}{score.entry.title[1:]}"
            limits = describe_limits(score, ", ", "")
            value = show_number(score.value)
            rest = _describe_rest(rows[score.name] or {}, options)
            text = f"{_JUDGED[score.name]}: {score.reading}, {title} {value}{limits}{rest}"
            text += remark if score.name == "adjusted_rand_score" else ""
            answers.append(Answer("note", text, "scores"))
    return answers


def describe_limits(score: Score, before: str = "", after: str = ":") -> str:
    """Return the kind of a score's limits and the limits, or nothing if they are unknown."""
    if score.lower is None or score.upper is None:
        return ""
    limits = f"{show_number(score.lower)} to {show_number(score.upper)}"
    return f"{before}{score.limits}{after} {limits}"


def _make_score(name: str, value: Any, report: Report, tables: Tables) -> Score:
    """Return a score of a report with its meaning, its reading, and its limits from `tables`."""
    number = None if value is None else float(value)
    meaning = report.meanings.get(name, Meaning("", ""))
    words = reading(name, number) if name in report.readings else None
    score = Score(name, number, meaning, reading=words or "")
    if name == "silhouette" and tables.silhouette is not None:
        lower, upper = (tables.silhouette[f"silhouette_{side}"] for side in ("lower", "upper"))
        is_exact = lower == upper
        return score if is_exact else score._replace(lower=lower, upper=upper, limits="limits")
    if tables.intervals is not None and report.command == "external":
        for row in tables.intervals.filter(metric=name).iter_rows(named=True):
            limits = f"{100 * _CONFIDENCE:g} % interval"
            return score._replace(lower=row["lower"], upper=row["upper"], limits=limits)
    return score


# ----------------------------------------------------------------------------------------------
# Clusters
# ----------------------------------------------------------------------------------------------

CLUSTER_MEANINGS = explain(
    {
        "cluster": "the cluster",
        "n": "rows that are scored",
        "share": "its share of all rows that are scored",
        **{
            name: REPORTS["clusters"].meanings[name].text for name in ("n_labels", "majority_label")
        },
        "purity": "share of its majority label",
        "mean_distance": ("low", "mean distance of its points to its center"),
        "max_distance": ("low", "largest distance of a point to its center"),
        "nearest_cluster": "the cluster with the nearest center",
        "nearest_distance": ("high", "distance to that center"),
        "silhouette": "mean silhouette of its points",
        "std_error": ("low", "standard error of that mean, which is of a sample"),
    }
)

# The reports by cluster, in the order in which their columns are shown.
_BY_CLUSTER = ("external_cluster_report", "internal_cluster_report", "silhouette_clusters")


def _list_cluster_tables(tables: Tables) -> dict[str, pl.DataFrame]:
    """Return the table of clusters by its title, or two if labels and points are of other rows."""
    external, internal = tables.external, tables.internal
    if external is None or internal is None or external["n"] == internal["n"]:
        row: dict[str, Any] = external or internal or {}
        return {"Clusters": _join_cluster_tables(tables.by_cluster, row["n"])}
    of_labels, *of_points = tables.by_cluster
    return {
        "Clusters: rows with a label": _join_cluster_tables([of_labels], external["n"]),
        "Clusters: points": _join_cluster_tables(of_points, internal["n"]),
    }


def _join_cluster_tables(by_cluster: Sequence[pl.DataFrame], n: int) -> pl.DataFrame:
    """Return one row per cluster, the largest first; `n` is the number of rows in all clusters.

    Noise points that count as singletons are clusters without a name, and have no rows.
    """
    joined: pl.DataFrame | None = None
    for table in by_cluster:
        frame = table.filter(pl.col("cluster").is_not_null())
        known = ["cluster"] if joined is None else joined.columns
        kept = [x for x in frame.columns if x in CLUSTER_MEANINGS and x not in known]
        frame = frame.select("cluster", *kept)
        if joined is not None:
            # DuckDB reads durations of Parquet files as whole numbers, Polars as durations.
            same = pl.col("cluster").cast(joined.schema["cluster"])
            frame = joined.join(frame.with_columns(same), on="cluster", how="left")
        joined = frame
    assert joined is not None
    joined = joined.with_columns(share=pl.col("n") / n)
    if "std_error" in joined.columns and not joined["std_error"].sum():  # nothing is sampled
        joined = joined.drop("std_error")
    order = [name for name in CLUSTER_MEANINGS if name in joined.columns]
    return joined.select(order).sort("n", descending=True, maintain_order=True)


#: The measures that distinguish good clusters from bad ones; the first that is available is used.
_QUALITIES = ("silhouette", "purity", "mean_distance")


def choose_clusters(clusters: pl.DataFrame, limit: int) -> tuple[pl.DataFrame, str]:
    """Return at most `limit` clusters from the table, and a sentence on how they were chosen.

    If there are more than `limit` clusters, the first half of the result contains the worst
    clusters, and the second half contains the best clusters, sorted from worst to best. Among
    equally good clusters, the largest are chosen. If there are at most `limit` clusters, the result
    contains all of them, and the sentence is empty.
    """
    if clusters.height <= limit:
        return clusters, ""
    quality = next(name for name in _QUALITIES if name in clusters.columns)
    is_low_worst = CLUSTER_MEANINGS[quality].is_high_best
    half = limit // 2
    by = [quality, "n"]
    order: dict[str, Any] = {"nulls_last": True, "maintain_order": True}
    worst_first = clusters.sort(by, descending=[not is_low_worst, True], **order)
    others = worst_first.slice(half).sort(by, descending=[is_low_worst, True], **order)
    chosen = pl.concat([worst_first.head(half), others.head(half).reverse()])
    words = quality.replace("_", " ")
    return chosen, (
        f"The {half} worst and the {half} best of {clusters.height:,} clusters, by {words}."
    )
