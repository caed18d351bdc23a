"""What became of clusters, from sets of ids and fractions, and runs to ask it of."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
import pytest
from sklearn import metrics as sk

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.support.engines import Row

#: A run: the cluster of each of its ids.
Run = dict[Any, Any]


class Links(NamedTuple):
    """Two runs, and which of their clusters are linked."""

    before: Run
    after: Run
    #: The linked pairs.
    pairs: set[tuple[Any, Any]]
    #: The new clusters that a link of an old one counts for, and the reverse.
    parts: dict[Any, list[Any]]
    sources: dict[Any, list[Any]]


def members_by_cluster(run: Run) -> dict[Any, set[Any]]:
    return {cluster: {i for i in run if run[i] == cluster} for cluster in sorted({*run.values()})}


def share(members: set[Any], others: set[Any], common: set[Any]) -> Fraction | None:
    stayed = members & common
    return Fraction(len(members & others), len(stayed)) if stayed else None


def link(before: Run, after: Run, threshold: Fraction, min_share: Fraction) -> Links:
    old, new, common = members_by_cluster(before), members_by_cluster(after), {*before} & {*after}
    pairs = set()
    parts: dict[Any, list[Any]] = {i: [] for i in old}
    sources: dict[Any, list[Any]] = {j: [] for j in new}
    for i, members in old.items():
        for j, others in new.items():
            if members & others:
                shares = share(members, others, common), share(others, members, common)
                assert None not in shares
                if max(shares) >= threshold:  # type: ignore[type-var]
                    pairs.add((i, j))
                    parts[i] += [j] if shares[0] >= min_share else []  # type: ignore[operator]
                    sources[j] += [i] if shares[1] >= min_share else []  # type: ignore[operator]
    return Links(before, after, pairs, parts, sources)


def row_of(links: Links, old: list[Any], new: list[Any], word: str, threshold: Fraction) -> Row:
    """The row of these clusters; `word` is 'lives on' or the transition."""
    common = {*links.before} & {*links.after}
    one = {i for i in links.before if links.before[i] in old}
    two = {i for i in links.after if links.after[i] in new}
    shares = share(one, two, common), share(two, one, common)
    transition = word
    if word == "lives on":
        grew, fell = len(two) > len(one), len(two) < len(one)
        transition = "grown" if grew else "shrunk" if fell else "kept"
    is_both = (
        word == "split" and len(new) > 1 and any(len(links.sources[j]) > 1 for j in new)
    ) or (word == "merged" and len(old) > 1 and any(len(links.parts[i]) > 1 for i in old))
    is_low = [x is not None and x < threshold for x in shares]
    of_old = word in ("lives on", "gone") or (word, len(old)) == ("merged", 1)
    of_old |= word == "split" and len(new) > 1
    of_new = word in ("lives on", "new") or (word, len(new)) == ("split", 1)
    of_new |= word == "merged" and len(old) > 1
    ambiguity = (
        "split and merged"
        if is_both
        else "scattered"
        if of_old and is_low[0]
        else "gathered"
        if of_new and is_low[1]
        else None
    )
    return {
        "cluster_before": old[0] if len(old) == 1 else None,
        "cluster_after": new[0] if len(new) == 1 else None,
        "transition": transition,
        "ambiguity": ambiguity,
        "n_before": len(one),
        "n_after": len(two),
        "n_common": len(one & two),
        "n_left": len(one - common),
        "n_joined": len(two - common),
        "n_clusters_before": len(old),
        "n_clusters_after": len(new),
        "share_before": None if shares[0] is None else float(shares[0]),
        "share_after": None if shares[1] is None else float(shares[1]),
    }


def sort_key(row: Row) -> tuple[Any, ...]:
    before, after = row["cluster_before"], row["cluster_after"]
    return (before is None, before, after is not None, after)


def transitions_of(
    before: Run, after: Run, threshold: float = 0.5, min_share: float = 0.0
) -> list[Row]:
    """The rows of run_transitions, as docs/transitions.md defines them."""
    limit = Fraction(str(threshold))
    links = link(before, after, limit, Fraction(str(min_share)))
    rows = []
    for i, parts in links.parts.items():
        if len(parts) != 1:
            rows.append(row_of(links, [i], parts, "split" if parts else "gone", limit))
        else:
            word = "lives on" if links.sources[parts[0]] == [i] else "merged"
            rows.append(row_of(links, [i], parts, word, limit))
    for j, sources in links.sources.items():
        if len(sources) != 1:
            rows.append(row_of(links, sources, [j], "merged" if sources else "new", limit))
        elif links.parts[sources[0]] != [j]:
            rows.append(row_of(links, sources, [j], "split", limit))
    return sorted(rows, key=sort_key)


def moved_ids_of(before: Run, after: Run, threshold: float = 0.5) -> list[Row]:
    links = link(before, after, Fraction(str(threshold)), Fraction(0))
    pairs = {i: (before.get(i), after.get(i)) for i in sorted({*before, *after})}
    return [
        {"id": i, "cluster_before": pair[0], "cluster_after": pair[1]}
        for i, pair in pairs.items()
        if pair not in links.pairs
    ]


def affected_ids_of(before: Run, after: Run) -> list[Row]:
    """The rows of affected_ids, from the set of companions of each id."""
    rows = []
    for i in sorted({*before, *after}):
        old = {j for j in before if j != i and i in before and before[j] == before[i]}
        new = {j for j in after if j != i and i in after and after[j] == after[i]}
        if old != new or (i in before) != (i in after):
            rows.append(
                {
                    "id": i,
                    "cluster_before": before.get(i),
                    "cluster_after": after.get(i),
                    "n_kept": len(old & new),
                    "n_lost": len(old - new),
                    "n_gained": len(new - old),
                }
            )
    return rows


def continued_clusters(before: Run, after: Run) -> dict[Any, Any]:
    """The old cluster of each new one that continues it, among the links of a threshold of 0.5."""
    pairs = link(before, after, Fraction(1, 2), Fraction(0)).pairs
    old, new = members_by_cluster(before), members_by_cluster(after)
    shared = {(i, j): len(old[i] & new[j]) for i, j in pairs}
    best = {i: min((-shared[x], -len(new[x[1]]), x[1]) for x in pairs if x[0] == i)[-1]
            for i, _ in pairs}  # fmt: skip
    return {
        j: i
        for j in new
        for _, _, i in sorted((-shared[x], -len(old[x[0]]), x[0]) for x in pairs if x[1] == j)[:1]
        if best[i] == j
    }


def stability_index_of(before: Run, after: Run, match_sizes_by: str = "ids") -> float | None:
    """The population stability index, term by term in floating point."""
    if not (before and after):
        return None
    if match_sizes_by == "ids":
        names = continued_clusters(before, after)
        after = {i: names.get(j, f"new {j}") for i, j in after.items()}
    terms = []
    for name in {*before.values(), *after.values()}:
        rows = [sum(cluster == name for cluster in run.values()) or 0.5 for run in (before, after)]
        p, q = rows[0] / len(before), rows[1] / len(after)
        terms.append((p - q) * math.log(p / q))
    return math.fsum(terms)


def entropy_of(names: Sequence[Any]) -> float:
    shares = [n / len(names) for n in Counter(names).values()]
    return -math.fsum(p * math.log(p) for p in shares)


def drift_of(before: Run, after: Run) -> Row:
    rows = transitions_of(before, after)
    common, either = {*before} & {*after}, {*before, *after}
    moved = sum(None not in row.values() for row in moved_ids_of(before, after))
    left, joined = len(before) - len(common), len(after) - len(common)
    pairs = [(before[i], after[i]) for i in sorted(common)]
    label, cluster = zip(*pairs, strict=True) if pairs else ((), ())
    information = sk.mutual_info_score(label, cluster) if pairs else 0.0
    entropies = [entropy_of(x) for x in (label, cluster)] if pairs else []
    whole = [
        row
        for row in rows
        if row["transition"] not in ("split", "merged")
        or None in (row["cluster_before"], row["cluster_after"])
    ]
    count = [row["transition"] for row in whole].count
    words = ("kept", "grown", "shrunk", "split", "merged", "gone", "new")
    return {
        "n_before": len(before),
        "n_after": len(after),
        "n_common": len(common),
        "n_moved": moved,
        "n_left": left,
        "n_joined": joined,
        "n_affected": len(affected_ids_of(before, after)),
        "moved_rate": moved / len(common) if common else None,
        "left_rate": left / len(before) if before else None,
        "joined_rate": joined / len(after) if after else None,
        "churn": (moved + left + joined) / len(either) if either else None,
        "n_clusters_before": len({*before.values()}),
        "n_clusters_after": len({*after.values()}),
        **{f"n_{word}": count(word) for word in words},
        "n_ambiguous": sum(row["ambiguity"] is not None for row in rows),
        "adjusted_rand_score": float(sk.adjusted_rand_score(label, cluster)) if pairs else None,
        "adjusted_mutual_info_score": (
            float(sk.adjusted_mutual_info_score(label, cluster)) if pairs else None
        ),
        "variation_of_information": float(sum(entropies) - 2 * information) if pairs else None,
        "population_stability_index": stability_index_of(before, after),
    }


def assert_drift(row: Row, wanted: Row, what: object = "") -> None:
    assert list(row) == list(wanted)
    for name, value in wanted.items():
        near = pytest.approx(value, rel=1e-9, abs=1e-12) if isinstance(value, float) else value
        assert row[name] == near, (name, what)


# Plantings ----------------------------------------------------------------------------------------


class Planting(NamedTuple):
    """Two runs, and the transition of each row by the clusters in it."""

    before: Run
    after: Run
    transitions: set[tuple[Any, Any, str]]


KINDS = ("kept", "grown", "shrunk", "split", "merged", "gone", "new")


def cut(draw: random.Random, ids: list[Any], n: int) -> list[list[Any]]:
    """The ids in n parts of any sizes, none of them empty."""
    ends = [0, *sorted(draw.sample(range(1, len(ids)), n - 1)), len(ids)]
    return [ids[start:end] for start, end in itertools.pairwise(ends)]


def plant(seed: int, n_changes: int = 8) -> Planting:
    """Runs in which each old cluster meets one fate, with random sizes and names."""
    draw = random.Random(seed)
    names = draw.sample(range(1000), 10 * n_changes)
    before: Run = {}
    after: Run = {}
    found: set[tuple[Any, Any, str]] = set()
    last = 0

    def take(n: int) -> list[int]:
        nonlocal last
        last += n
        return [*range(last - n, last)]

    def put(run: Run, ids: list[int]) -> int:
        name = names.pop()
        run.update(dict.fromkeys(ids, name))
        return name

    for _ in range(n_changes):
        kind, ids = draw.choice(KINDS), take(draw.randrange(6, 30))
        if kind in ("kept", "grown", "shrunk", "gone"):
            old = put(before, ids)
            # Some ids leave or join even from a cluster that keeps its size.
            n_left, n_joined = draw.randrange(3), draw.randrange(3)
            n_joined = {"grown": n_left + 1, "kept": n_left, "shrunk": n_joined}.get(kind, 0)
            n_left = n_joined + 1 if kind == "shrunk" else n_left
            new = None if kind == "gone" else put(after, ids[n_left:] + take(n_joined))
            found.add((old, new, kind))
        elif kind == "new":
            found.add((None, put(after, ids), "new"))
        elif kind == "split":
            old = put(before, ids)
            found.add((old, None, "split"))
            for part in cut(draw, ids, draw.randrange(2, 5)):
                found.add((old, put(after, part + take(draw.randrange(2))), "split"))
        else:
            sources = cut(draw, ids, draw.randrange(2, 5))
            new = put(after, ids + take(draw.randrange(2)))
            found.add((None, new, "merged"))
            for source in sources:
                found.add((put(before, source), new, "merged"))
    return Planting(before, after, found)


# Random runs --------------------------------------------------------------------------------------


SCHEMA = {"part": pl.Int64, "id": pl.Int64, "cluster": pl.Int64}
N_CASES = 200


def frame_of_run(run: Run) -> pl.DataFrame:
    return stack_runs([run]).select("id", "cluster")


def stack_runs(runs: Iterable[Run]) -> pl.DataFrame:
    """The runs of many cases below each other, numbered by `part`."""
    rows = [(part, i, run[i]) for part, run in enumerate(runs) for i in run]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


@cache
def random_pair(seed: int) -> tuple[Run, Run]:
    """A run and a noisy copy of it, each of a share of the ids, with clusters of all sizes."""
    draw = random.Random(seed)
    n, k = draw.randrange(1, 40), draw.randrange(1, 7)
    flips, keep = draw.choice([0.1, 0.3, 0.6, 1.0]), draw.choice([0.5, 0.9, 1.0])
    base = [draw.choice([draw.randrange(k), 0]) for _ in range(n)]
    before = {i: base[i] for i in range(n) if draw.random() < keep}
    after = {
        i: draw.randrange(2 * k) if draw.random() < flips else base[i]
        for i in range(n)
        if draw.random() < keep
    }
    return before, after


PAIRS = [random_pair(seed) for seed in range(N_CASES)]
BEFORE, AFTER = (stack_runs(runs) for runs in zip(*PAIRS, strict=True))


@cache
def drift_of_pair(number: int) -> Row:
    return drift_of(*PAIRS[number])
