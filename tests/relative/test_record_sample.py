"""entity_resolution_estimates from labels of random records: every pair of rows, and coverage."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

from tests.support.compare import assert_rows
from tests.support.engines import Engine, stacked
from tests.support.sample_intervals import freedom_of, squared_quantile, wilson

INVENTORS = Path(__file__).parent.parent.parent / "examples" / "inventors.parquet"
ESTIMATED = ("pair_precision", "pair_recall", "pair_f_score", "bcubed_precision")
NOT_ESTIMATED = (
    *("bcubed_recall", "bcubed_f_score", "exact_match_precision", "exact_match_recall"),
    *("exact_match_f_score", "matching_rate", "average_label_size"),
)
Records = list[tuple[int | None, int]]


def of_records(engine: Engine, frame: pl.DataFrame, **options: Any) -> dict[str, dict[str, Any]]:
    given = {"labels_are_sample": "records"} | options
    rows = engine.table("entity_resolution_estimates", frame, **given)
    assert {row["metric"] for row in rows} == {*ESTIMATED, *NOT_ESTIMATED}
    return {row["metric"]: row for row in rows}


# Every pair of rows --------------------------------------------------------------------------


def pair_weight(
    metric: str, beta: int, one: tuple[Any, Any], two: tuple[Any, Any], size: int
) -> tuple[Fraction, Fraction]:
    """The weights of a pair of rows as a right pair and as a wrong one; one of them is 0.

    `size` is the number of rows in the cluster of the first one.
    """
    same_label, same_cluster = one[0] == two[0], one[1] == two[1]
    square = beta * beta
    of_metric = {
        "pair_precision": (1, 1, 0),
        "pair_recall": (1, 0, 1),
        "pair_f_score": (1 + square, 1, square),
        "bcubed_precision": (Fraction(1, size), Fraction(1, size), 0),
    }
    both, cluster_only, label_only = (Fraction(x) for x in of_metric[metric])
    if same_label and same_cluster:
        return both, Fraction(0)
    return Fraction(0), cluster_only * same_cluster + label_only * same_label


class Share(NamedTuple):
    """A share of right pairs, its standard error, and what its interval needs."""

    share: Fraction | None
    error: float | None = None
    #: The changes of the share when each labeled row is deleted.
    changes: tuple[float, ...] = ()
    concentration: float = 0.0


def share_of_right_pairs(rows: Records, metric: str, beta: int) -> Share:
    """Delete each labeled row in turn, and look at each pair."""
    sizes = Counter(cluster for _, cluster in rows)
    labeled = [row for row in rows if row[0] is not None]
    weights = {
        (i, j): pair_weight(metric, beta, labeled[i], labeled[j], sizes[labeled[i][1]])
        for i, j in combinations(range(len(labeled)), 2)
    }

    def share_without(deleted: int | None) -> Fraction | None:
        kept = [pair for (i, j), pair in weights.items() if deleted not in (i, j)]
        right, wrong = (sum((pair[k] for pair in kept), Fraction(0)) for k in (0, 1))
        return right / (right + wrong) if right + wrong else None

    share = share_without(None)
    if share is None:
        return Share(None)
    unlabeled = 1 - Fraction(len(labeled), len(rows))
    if not unlabeled:
        return Share(share, 0.0)
    in_pairs = Counter[int]()
    for pair, parts in weights.items():
        in_pairs.update(dict.fromkeys(pair, sum(parts)))
    squares = sum(x * x for x in in_pairs.values())
    concentration = float(2 * squares / Fraction(sum(in_pairs.values())) ** 2)
    shares = [share_without(i) for i in range(len(labeled))]
    if share in (0, 1) or None in shares:
        return Share(share, None, (), concentration)
    jackknife = sum(((x - share) ** 2 for x in shares if x is not None), Fraction(0))
    whole = sum(map(sum, weights.values()), Fraction(0))
    squares = sum(
        ((right * (1 - share) - wrong * share) ** 2 for right, wrong in weights.values()),
        Fraction(0),
    )
    variance = unlabeled * max(jackknife - unlabeled * squares / whole**2, jackknife / 2)
    changes = tuple(float(x - share) for x in shares if x is not None)
    return Share(share, sqrt(variance), changes, concentration)


def interval_of(value: float, found: Share, error: float) -> tuple[float, float]:
    z = NormalDist().inv_cdf(0.975)
    bound = 1 / (1 + z * z * found.concentration)
    limits = value, value
    if found.changes:
        squared_t = squared_quantile(freedom_of([*found.changes]), z)
        limits = wilson(value, squared_t * error * error / (value * (1 - value)))
    return min(limits[0], bound), max(limits[1], 1 - bound)


def record_estimates_by_pairs(rows: Records, beta: int) -> list[dict[str, Any]]:
    found = []
    labeled = [row for row in rows if row[0] is not None]
    n_pairs = sum(one[0] == two[0] or one[1] == two[1] for one, two in combinations(labeled, 2))
    for metric in ESTIMATED:
        result = share_of_right_pairs(rows, metric, beta)
        share, error = result.share, result.error
        if metric == "bcubed_precision" and share is not None:
            own = Fraction(len({cluster for _, cluster in rows}), len(rows))
            share = own + (1 - own) * share
            error = None if error is None else float(1 - own) * error
        reason, limits = None, (None, None)
        if share is None:
            reason = "the labeled rows have no pairs to judge it by"
        elif error is None and share not in (0, 1):
            reason = "the labeled rows have too few pairs for an interval"
        else:
            limits = interval_of(float(share), result, error or 0.0)
        found.append(
            {
                "metric": metric,
                "value": None if share is None else float(share),
                "std_error": error,
                "lower": limits[0],
                "upper": limits[1],
                "n_labeled_rows": len(labeled),
                "n_labeled_pairs": n_pairs,
                "reason": reason if labeled else "no rows with a label and a cluster",
            }
        )
    return found


@cache
def samples_of_records() -> list[Records]:
    draw = random.Random(23)
    samples = []
    for _ in range(150):
        n_entities = draw.randint(1, 6)
        share = draw.choice([0.3, 0.6, 1.0])
        rows = []
        for _ in range(draw.randint(1, 22)):
            entity = draw.randrange(n_entities)
            cluster = entity if draw.random() < 0.7 else draw.randrange(n_entities)
            rows.append((entity if draw.random() < share else None, cluster))
        samples.append(rows)
    return samples


@pytest.mark.parametrize("beta", [pytest.param(1, marks=pytest.mark.gate), 2])
def test_random_samples_of_records(engine: Engine, beta: int) -> None:
    samples = samples_of_records()
    found = engine.table(
        "entity_resolution_estimates",
        stacked(samples),
        partition_by="run",
        labels_are_sample="records",
        beta=float(beta),
    )
    rows = [row for row in found if row["metric"] in ESTIMATED]
    for row in rows:
        del row["run"]
    assert_rows(rows, [x for rows in samples for x in record_estimates_by_pairs(rows, beta)])
    assert sum(bool(row["std_error"]) for row in rows) > 130


# What is known of the scores -----------------------------------------------------------------


def some_records(seed: int = 5) -> pl.DataFrame:
    """1,000 entities of 1 to some 6 records; a tenth of the records are in a wrong cluster."""
    draw = np.random.default_rng(seed)
    entity = np.repeat(np.arange(1000), 1 + draw.poisson(1.5, 1000))
    wrong = draw.random(entity.size) < 0.1
    cluster = np.where(wrong, draw.integers(0, 1000, entity.size), entity)
    return pl.DataFrame({"label": entity, "cluster": cluster})


def with_labels(records: pl.DataFrame, chosen: Any) -> pl.DataFrame:
    """The records, with a label only where `chosen`, an array of booleans, is true."""
    return records.with_columns(pl.when(pl.Series(chosen)).then("label").alias("label"))


def test_labels_of_all_records_are_the_report(engine: Engine) -> None:
    records = some_records()
    found = of_records(engine, records)
    [report] = engine.table("external_report", records)
    for metric in ESTIMATED:
        assert found[metric]["value"] == pytest.approx(report[metric], rel=1e-12), metric
        assert found[metric]["std_error"] == 0.0


def test_scores_that_need_whole_entities_have_a_reason(engine: Engine) -> None:
    chosen = np.random.default_rng(1).random(some_records().height) < 0.3
    found = of_records(engine, with_labels(some_records(), chosen))
    for metric in NOT_ESTIMATED:
        row = dict(found[metric])
        assert (
            row.pop("reason") == "labels of random records do not tell how many rows an entity has"
        )
        assert all(row[name] is None for name in ("value", "std_error", "lower", "upper"))
    assert all(found[metric]["reason"] is None for metric in ESTIMATED)


def test_without_a_wrong_pair_the_error_is_not_known(engine: Engine) -> None:
    """Three right pairs of three are no proof: the lower limit is 3 / (3 + z^2)."""
    rows = [(u, u) for u in (1, 2, 3) for _ in range(2)] + [(None, u) for u in (1, 2, 3, 4)]
    found = of_records(engine, stacked([rows]).drop("run"))
    for metric in ESTIMATED:
        row = found[metric]
        assert (row["value"], row["std_error"], row["upper"], row["reason"]) == (
            1.0,
            None,
            1.0,
            None,
        )
        assert row["lower"] == pytest.approx(0.4385029682, abs=1e-10), metric


def test_without_a_right_pair_the_interval_is_a_bound(engine: Engine) -> None:
    """The two pairs of the same cluster are wrong: the upper limit is z^2 / (2 + z^2)."""
    rows = [(1, 1), (2, 1), (3, 2), (4, 2), (None, 1), (None, 3)]
    found = of_records(engine, stacked([rows]).drop("run"))
    row = found["pair_precision"]
    assert (row["value"], row["lower"], row["reason"]) == (0.0, 0.0, None)
    assert row["upper"] == pytest.approx(0.6576197725, abs=1e-10)
    assert (
        found["bcubed_precision"]["reason"] == "the labeled rows have too few pairs for an interval"
    )


def test_weights_and_noise_of_random_records(engine: Engine) -> None:
    draw = random.Random(3)
    rows = [row for rows in samples_of_records()[:20] for row in rows]
    counted = Counter(rows)
    schema = {"label": pl.Int64, "cluster": pl.Int64, "n": pl.Int64}
    cells = [(u, v, n) for (u, v), n in counted.items()]
    draw.shuffle(cells)
    weighted = pl.DataFrame(cells, schema=schema, orient="row")
    apart = [(u, v if v else 100 + i) for i, (u, v) in enumerate(rows)]
    for options, same in (({}, rows), ({"noise": 0, "noise_as": "singletons"}, apart)):
        first = of_records(engine, weighted, weight="n", **options)
        wanted = of_records(engine, stacked([same]).drop("run"))
        assert_rows([*first.values()], [*wanted.values()])


# Labels that contradict the design -----------------------------------------------------------


def label_random_records(n: int, seed: int = 7) -> pl.DataFrame:
    records = some_records()
    chosen = np.zeros(records.height, dtype=bool)
    chosen[np.random.default_rng(seed).choice(records.height, n, replace=False)] = True
    return with_labels(records, chosen)


def label_random_entities(n: int, seed: int = 7) -> pl.DataFrame:
    records = some_records()
    drawn = np.random.default_rng(seed).choice(1000, n, replace=False)
    return with_labels(records, np.isin(records["label"].to_numpy(), drawn))


@pytest.mark.parametrize("design", ["uniform", "by_record"])
@pytest.mark.parametrize("n", [120, 800])
def test_random_records_are_not_entities(engine: Engine, design: str, n: int) -> None:
    found = of_records(engine, label_random_records(n), labels_are_sample=design)
    for row in found.values():
        reason = row["reason"]
        assert reason.startswith("the labeled rows look like a random sample of records: in their")
        assert reason.endswith("not labeled completely, labels_are_sample is 'records'")
        assert all(row[name] is None for name in ("value", "std_error", "lower", "upper"))


def test_entities_are_not_random_records(engine: Engine) -> None:
    found = of_records(engine, label_random_entities(100))
    for row in found.values():
        reason = row["reason"]
        assert reason.startswith("the labeled rows are not a random sample of records: in their")
        assert reason.endswith("labels_are_sample is 'uniform' or 'by_record'")
        assert all(row[name] is None for name in ("value", "std_error", "lower", "upper"))


def test_the_reason_tells_how_many_rows_have_labels(engine: Engine) -> None:
    frame = label_random_records(800)
    sizes = frame.group_by("cluster").agg(n=pl.len(), labeled=pl.col("label").count())
    shared = sizes.filter(pl.col("n") > 1)
    labeled = pl.col("labeled")
    nearby = shared.select(
        (labeled * (labeled - 1.0) / (pl.col("n") - 1.0)).sum() / labeled.sum()
    ).item()
    all_rows = frame["label"].count() / frame.height
    found = of_records(engine, frame, labels_are_sample="uniform")
    text = (
        f"in their clusters {round(100 * nearby, 1)} % of the other rows have a label, of all rows "
        f"{round(100 * all_rows, 1)} %;"
    )
    assert text in found["pair_recall"]["reason"]


def test_each_partition_is_judged_by_itself(engine: Engine) -> None:
    frame = pl.concat(
        [
            label_random_records(800).with_columns(run=pl.lit("records")),
            label_random_entities(100).with_columns(run=pl.lit("entities")),
        ]
    )
    for design, other in (("records", "entities"), ("uniform", "records")):
        rows = engine.table(
            "entity_resolution_estimates", frame, partition_by="run", labels_are_sample=design
        )
        values = {row["run"]: row["value"] for row in rows if row["metric"] == "pair_precision"}
        assert values.pop(other) is None
        assert next(iter(values.values())) > 0.7


@pytest.mark.gate
def test_few_labels_tell_nothing_of_the_design(engine: Engine) -> None:
    for frame in (label_random_records(20), label_random_entities(8)):
        for design in ("uniform", "by_record", "records"):
            found = of_records(engine, frame, labels_are_sample=design)
            reason = found["pair_recall"]["reason"] or ""
            assert "sample of records" not in reason


def test_published_samples_of_entities_are_accepted(side: Engine) -> None:
    frame = pl.read_parquet(INVENTORS)
    for cluster in ("cluster_2017", "cluster_2021"):
        found = of_records(
            *(side, frame),
            label="inventor",
            cluster=cluster,
            labels_are_sample="by_record",
            sampling_fraction=0,
        )
        assert all(row["reason"] is None for row in found.values())
        found = of_records(side, frame, label="inventor", cluster=cluster)
        assert "95.7 %" in found["pair_recall"]["reason"] or cluster == "cluster_2017"
        assert all(row["value"] is None for row in found.values())
