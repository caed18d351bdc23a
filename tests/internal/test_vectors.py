"""Vectors from text and from nominal values: both sides against literals and the definitions."""

from __future__ import annotations

import datetime as dt
import math
import random
import re
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polars_clustereval as ce
from tests.support.engines import fails, fetched, literal, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.support.engines import Engine

Row = dict[str, Any]
NAN, INF = math.nan, math.inf


def collected(engine: Any, lazy: pl.LazyFrame) -> pl.DataFrame:
    return lazy.collect(engine="streaming" if engine.streaming else "in-memory")


# ----------------------------------------------------------------------------------------------
# parse_vector
# ----------------------------------------------------------------------------------------------


def parsed(engine: Any, texts: Sequence[str | None], size: object = None) -> list[Any]:
    frame = pl.DataFrame({"row": range(len(texts)), "vec": pl.Series(texts, dtype=pl.String)})
    if engine.name != "duckdb":
        lazy = frame.lazy().select(ce.parse_vector("vec", size))  # type: ignore[arg-type]
        return collected(engine, lazy)["vec"].to_list()
    option = "" if size is None else f", size := {literal(size)}"
    call = f"clustereval.parse_vector(vec{option})"
    rows = engine.rows(f"SELECT {call} AS vec FROM assignments ORDER BY row", frame)
    return [row["vec"] for row in rows]


VECTORS: list[tuple[str | None, int | None, list[float] | None]] = [
    (None, None, None),
    (None, 3, None),
    ("", None, []),
    (" , \t", None, []),
    ("$0$", None, []),
    ("$4$", None, [0.0, 0.0, 0.0, 0.0]),
    ("$4$", 4, [0.0, 0.0, 0.0, 0.0]),
    ("0 0 0", None, [0.0, 0.0, 0.0]),
    ("0.1,0.1,0.1", None, [0.1, 0.1, 0.1]),
    ("  1, 2 ,,3\t4\r\n", None, [1.0, 2.0, 3.0, 4.0]),
    ("7", None, [7.0]),
    ("[1.0, 2.0]", 2, [1.0, 2.0]),
    (" [ 1. -2e1\n.5 ] ,", None, [1.0, -20.0, 0.5]),
    ("[nan, inf]", None, [NAN, INF]),
    ("[]", None, []),
    ("[ ]", None, []),
    ("1 2 3", 3, [1.0, 2.0, 3.0]),
    ("+1 -2. .5 1e3 -2.5E-3 007", None, [1.0, -2.0, 0.5, 1000.0, -0.0025, 7.0]),
    ("nan inf -Infinity NaN 1e999", None, [NAN, INF, -INF, NAN, INF]),
    ("1e-999 4.9e-324", None, [0.0, 5e-324]),
    ("0:1 2:3", 4, [1.0, 0.0, 3.0, 0.0]),
    ("0:1,2:3", 3, [1.0, 0.0, 3.0]),
    (" 2:3 , 0:1 ", 3, [1.0, 0.0, 3.0]),
    ("3:-1e2", 4, [0.0, 0.0, 0.0, -100.0]),
    ("$4$0:1 2:3", None, [1.0, 0.0, 3.0, 0.0]),
    (" $4$ 0:1, 2:3", 4, [1.0, 0.0, 3.0, 0.0]),
    ("$2$1:nan", None, [0.0, NAN]),
    ("$3$00:1 02:0", None, [1.0, 0.0, 0.0]),
]


@pytest.mark.parametrize(("text", "size", "vector"), VECTORS)
def test_a_text(
    engine: Engine, text: str | None, size: int | None, vector: list[float] | None
) -> None:
    assert repr(parsed(engine, [text], size)) == repr([vector])


def test_texts_of_all_kinds_in_one_column(engine: Engine) -> None:
    known = [(text, vector) for text, size, vector in VECTORS if size is None]
    texts, vectors = zip(*known, strict=True)
    assert repr(parsed(engine, texts * 50)) == repr(list(vectors * 50))
    assert parsed(engine, []) == []


numbers = st.floats(allow_nan=False).map(lambda x: x + 0.0)


@given(vector=st.lists(numbers, max_size=8), seed=st.integers())
def test_every_way_to_write_a_vector(engine: Engine, vector: list[float], seed: int) -> None:
    rng = random.Random(seed)
    entries = [f"{i}:{x!r}" for i, x in enumerate(vector) if x != 0 or rng.random() < 0.3]
    rng.shuffle(entries)
    size, gap = len(vector), rng.choice([" ", ",", ", ", "\t "])
    dense = gap.join(map(repr, vector))
    texts = [dense, f"[{dense}]", f"${size}${gap.join(entries)}"]
    if entries:
        assert parsed(engine, [gap.join(entries)], size) == [vector]
    assert parsed(engine, texts) == [vector] * 3


NO_VECTOR = "parse_vector: expected numbers such as '0.1 0.2', '[0.1, 0.2]' or '0:1 2:3', got "
NO_LENGTH = "parse_vector: expected a sparse vector with its length, such as '$4$0:1 2:3', got "
OTHER_LENGTH = "; leave out size where every vector has its own"
LONG_VECTOR = "; give size for longer vectors"
BAD_TEXTS = [
    *(
        (text, size, f"{NO_VECTOR}'{text}'")
        for size in (None, 9)
        for text in (
            *("0 x 1", "x", ":", "$", "$$", "$$0:1", "'", "0:", ":1", "0:1:2", "1 2:3", "1:2 3"),
            *("0: 1", "a:1", "1.5:2", "+1:2", "$4$1 2 3 4", "0:1 $4$", "$-4$", "$4", "$4$5$"),
            *("1_000", "0x1", "1e", "--1", "1;2", "(1, 2)", "1234567890:1", "$1234567890$", "١"),
            *("1\u00a02", "1\x0b2", "e5", ".", "infin"),
            *("[1, 2", "1, 2]", "[[1], [2]]", "[1][2]", "[0:1]", "[1, NULL]", "$4$[1]", "[", "]["),
        )
    ),
    (
        "0:1 2:3",
        None,
        f"{NO_LENGTH}'0:1 2:3'; or give size",
    ),
    *(
        (text, None, f"parse_vector: expected a length <= 1048576, got '{text}'{LONG_VECTOR}")
        for text in ("$999999999$0:1", "$1048577$")
    ),
    ("$9999$0:1", 4, f"parse_vector: expected a vector of length 4, got '$9999$0:1'{OTHER_LENGTH}"),
    ("$4$0:1", 5, f"parse_vector: expected a vector of length 5, got '$4$0:1'{OTHER_LENGTH}"),
    ("$5$0:1", 4, f"parse_vector: expected a vector of length 4, got '$5$0:1'{OTHER_LENGTH}"),
    ("0 0 0", 4, f"parse_vector: expected a vector of length 4, got '0 0 0'{OTHER_LENGTH}"),
    ("", 4, f"parse_vector: expected a vector of length 4, got ''{OTHER_LENGTH}"),
    (
        "0:1 4:3",
        4,
        "parse_vector: expected indices >= 0 and < 4, got '0:1 4:3'; the first index is 0",
    ),
    (
        "$3$3:1",
        None,
        "parse_vector: expected indices >= 0 and < 3, got '$3$3:1'; the first index is 0",
    ),
    (
        "-2:3 0:1",
        4,
        "parse_vector: expected indices >= 0 and < 4, got '-2:3 0:1'; the first index is 0",
    ),
    (
        "2:1 0:1 2:5",
        4,
        "parse_vector: expected each index once, got '2:1 0:1 2:5'; leave out all but one",
    ),
]


def test_bad_texts(side: Engine) -> None:
    """One test of all, since each takes little: a draw would leave out most."""
    for text, size, words in BAD_TEXTS:
        with fails(side, words):
            parsed(side, [text], size)


@pytest.mark.gate
def test_long_vectors(side: Engine) -> None:
    """A text may state up to 2^20 coordinates; size allows for more."""
    for length, size in ((2**20, None), (2**20 + 1, 2**20 + 1)):
        [vector] = parsed(side, [f"${length}$0:1 {length - 1}:2"], size)
        assert (len(vector), vector[0], vector[-1], sum(vector)) == (length, 1.0, 2.0, 3.0)


def test_a_bad_text_among_good_ones(side: Engine) -> None:
    with fails(side, f"{NO_VECTOR}'0 x 1'"):
        parsed(side, ["0 1 2", None, "$3$0:1"] * 100 + ["0 x 1"] + ["0 1 2"] * 100, 3)


def test_a_long_text_is_cut(side: Engine) -> None:
    with fails(side, f"{NO_VECTOR}'{'é' * 100}...'"):
        parsed(side, ["é" * 101])
    with fails(side, f"{NO_VECTOR}'{'é' * 100}'"):
        parsed(side, ["é" * 100])


@pytest.mark.parametrize("size", [0, -1, 1.5])
def test_a_bad_size(side: Engine, size: object) -> None:
    with fails(side, f"size: expected a whole number >= 1, got {size}"):
        parsed(side, ["0 1"], size)


def test_the_expression_is_lazy_and_named_as_its_column() -> None:
    lazy = pl.LazyFrame({"vec": ["x"]}).with_columns(ce.parse_vector(pl.col("vec")))
    assert lazy.collect_schema() == {"vec": pl.List(pl.Float64)}
    with pytest.raises(ce.ClusterEvalError, match="got 'x'"):
        lazy.collect()


def test_the_expression_in_every_context() -> None:
    frame = pl.DataFrame({"g": [1, 1, 2], "vec": ["1 2", "$2$0:5", "3"]})
    vector = ce.parse_vector("vec")
    groups = frame.group_by("g", maintain_order=True).agg(vector)
    assert groups.rows() == [(1, [[1.0, 2.0], [5.0, 0.0]]), (2, [[3.0]])]
    assert frame.filter(vector.list.len() == 2).height == 2
    assert pl.select(ce.parse_vector(pl.lit("1 2"))).item().to_list() == [1.0, 2.0]
    assert pl.DataFrame({"vec": [None]}).select(vector).rows() == [(None,)]


def test_the_macro_in_every_context(con: duckdb.DuckDBPyConnection) -> None:
    # Columns named as inner names and parameters are, and a size for each row.
    con.execute(
        "CREATE TEMP TABLE vecs AS FROM (VALUES ('0:1', 2, 1), ('1:1', 3, 1), ('$1$0:2', NULL, 2)) "
        "AS t(vec, size, entries)"
    )
    parse = "clustereval.parse_vector(vec, size := size)"
    rows = con.execute(f"SELECT {parse} FROM vecs").fetchall()
    assert rows == [([1.0, 0.0],), ([0.0, 1.0, 0.0],), ([2.0],)]
    rows = con.execute(
        f"SELECT entries, list({parse} ORDER BY size) FROM vecs WHERE len({parse}) > 0 "
        "GROUP BY entries ORDER BY entries"
    ).fetchall()
    assert rows == [(1, [[1.0, 0.0], [0.0, 1.0, 0.0]]), (2, [[2.0]])]
    types = con.execute(
        "SELECT typeof(clustereval.parse_vector('')), typeof(clustereval.parse_vector(NULL))"
    ).fetchall()
    assert types == [("DOUBLE[]", "DOUBLE[]")]


# ----------------------------------------------------------------------------------------------
# vdm_encode
# ----------------------------------------------------------------------------------------------


def encoded(
    engine: Any,
    frame: pl.DataFrame,
    columns: object,
    label: str = "label",
    partition_by: str | Sequence[str] | None = None,
) -> list[Row]:
    """The rows in the order of the frame, which SQL does not promise."""
    if engine.name != "duckdb":
        lazy = ce.vdm_encode(frame.lazy(), columns, label, partition_by=partition_by)  # type: ignore[arg-type]
        return list(collected(engine, lazy).iter_rows(named=True))
    call = vdm_sql(columns, quoted(label), partition_by)
    rows = engine.rows(f"FROM {call} ORDER BY __row", frame.with_row_index("__row"))
    return [{name: x for name, x in row.items() if name != "__row"} for row in rows]


def vdm_sql(
    columns: object,
    label: str,
    partition_by: str | Sequence[str] | None = None,
    tbl: str = "assignments",
) -> str:
    keys = [partition_by] if isinstance(partition_by, str) else list(partition_by or ())
    fields = ", ".join(f"{quoted(key)}: {quoted(key)}" for key in keys)
    option = f", partition_by := {quoted(keys[0]) if len(keys) == 1 else f'{{{fields}}}'}"
    return f"clustereval.vdm_encode({tbl}, {columns_sql(columns)}, {label}{option if keys else ''})"


def columns_sql(columns: object) -> str:
    if isinstance(columns, list | tuple):
        return f"[{', '.join(map(columns_sql, columns))}]"
    return "NULL" if columns is None else literal(columns)


def in_label_order(values: set[Any]) -> list[Any]:
    return sorted(values, key=lambda x: (x != x, x))


def is_same_value(x: object, y: object) -> bool:
    return x == y or (x != x and y != y)


def profiles_by_definition(
    frame: pl.DataFrame, column: str, label: str = "label", *keys: str
) -> list[Any]:
    """The profile of every row, from the definition."""
    profiles = []
    rows = list(frame.iter_rows(named=True))
    for row in rows:
        peers = [
            r
            for r in rows
            if all(is_same_value(r[k], row[k]) for k in keys) and r[label] is not None
        ]
        classes = in_label_order({NAN if r[label] != r[label] else r[label] for r in peers})
        mine = [r[label] for r in peers if is_same_value(r[column], row[column])]
        shares = (
            [sum(is_same_value(c, x) for x in mine) / len(mine) for c in classes] if mine else None
        )
        profiles.append(shares)
    return profiles


def values_of_rows(rows: list[Row], name: str) -> list[Any]:
    return [row[name] for row in rows]


STRINGS = {"color": pl.String, "label": pl.String}


@pytest.mark.parametrize(
    ("rows", "profiles"),
    [
        ([], []),
        ([("r", None)], [None]),
        ([(None, None)], [None]),
        ([("r", "a")], [[1.0]]),
        ([(None, "a")], [[1.0]]),
        ([("r", "a"), ("r", None)], [[1.0], [1.0]]),
        ([("r", "a"), ("g", None)], [[1.0], None]),
        ([("r", "a"), ("g", "a")], [[1.0], [1.0]]),
        ([("r", "b"), ("g", "a")], [[0.0, 1.0], [1.0, 0.0]]),
        ([(None, "b"), ("", "a")], [[0.0, 1.0], [1.0, 0.0]]),
        (
            [("r", "a"), ("r", "c"), ("g", "b"), (None, "b"), (None, "a"), ("r", None)],
            [
                *([0.5, 0.0, 0.5], [0.5, 0.0, 0.5], [0.0, 1.0, 0.0]),
                *([0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5]),
            ],
        ),
    ],
)
def test_profiles(engine: Engine, rows: list[Any], profiles: list[Any]) -> None:
    frame = pl.DataFrame(rows, schema=STRINGS, orient="row")
    result = encoded(engine, frame, ["color"])
    assert values_of_rows(result, "color_vdm") == profiles
    assert [(row["color"], row["label"]) for row in result] == rows


DATE = dt.date(2024, 1, 1)
VALUES: dict[str, tuple[list[Any], Any]] = {
    "string": (["b", "a", "", "é", None], pl.String),
    "int": ([3, -1, 10, None], pl.Int32),
    "float": ([0.5, NAN, -1.0, INF, None], pl.Float64),
    "bool": ([True, False, None], pl.Boolean),
    "date": ([DATE, DATE.replace(year=2001), None], pl.Date),
}


def random_frame(seed: int, n: int = 60) -> pl.DataFrame:
    rng = random.Random(seed)
    return pl.DataFrame(
        {
            name: pl.Series([rng.choice(values) for _ in range(n)], dtype=dtype, strict=False)
            for name, (values, dtype) in VALUES.items()
        }
        | {"run": [rng.choice([1, 2, None]) for _ in range(n)]}
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("label", VALUES)
def test_the_definition_on_columns_of_any_type(engine: Engine, label: str, seed: int) -> None:
    frame = random_frame(seed)
    result = encoded(engine, frame, list(VALUES), label)
    for name in VALUES:
        assert values_of_rows(result, f"{name}_vdm") == profiles_by_definition(
            frame, name, label
        ), name


@pytest.mark.parametrize("keys", ["run", ["run", "bool"], ["float"], ["string", "run"]])
def test_a_partition_has_its_own_classes(engine: Engine, keys: Any) -> None:
    frame, names = random_frame(7), [keys] if isinstance(keys, str) else keys
    # The nominal column may be a partition key.
    result = encoded(engine, frame, ["string", "float"], "int", keys)
    for name in ("string", "float"):
        assert values_of_rows(result, f"{name}_vdm") == profiles_by_definition(
            frame, name, "int", *names
        )


def test_the_result_is_the_table_and_the_profiles(engine: Engine) -> None:
    frame = random_frame(3)
    result = encoded(engine, frame, ["date", "string"], "bool")
    assert list(result[0]) == [*frame.columns, "date_vdm", "string_vdm"]
    rows = [tuple(row.values())[: frame.width] for row in result]
    assert repr(rows) == repr(frame.rows())


@pytest.mark.parametrize("n_columns", [13, pytest.param(70, marks=pytest.mark.gate)])
def test_many_columns(engine: Engine, n_columns: int) -> None:
    """SQL numbers its tables by column, with two digits from the tenth on."""
    rng = random.Random(0)
    names = [f"u{i}" for i in range(n_columns)]
    frame = pl.DataFrame(
        {name: [rng.randrange(3) for _ in range(20)] for name in names}
        | {"label": [rng.randrange(4) for _ in range(20)]}
    )
    result = encoded(engine, frame, names)
    for name in [*names[::23], *names[1:2], *names[-3:]]:
        assert values_of_rows(result, f"{name}_vdm") == profiles_by_definition(frame, name)


@pytest.mark.gate
def test_both_sides_give_the_same_on_many_rows(con: duckdb.DuckDBPyConnection) -> None:
    rng = random.Random(1)
    n = 8_000
    frame = pl.DataFrame(
        {
            "row": range(n),
            "u": [rng.choice([None, *range(500)]) for _ in range(n)],
            "label": [rng.choice([None, *range(40)]) for _ in range(n)],
            "run": [rng.randrange(3) for _ in range(n)],
        }
    )
    con.register("assignments", frame)
    for keys in (None, "run"):
        ours = ce.vdm_encode(frame, "u", "label", partition_by=keys)
        lazy = ce.vdm_encode(frame.lazy(), "u", "label", partition_by=keys)
        assert lazy.collect().equals(ours)
        assert ours["row"].to_list() == list(range(n))  # the order is kept
        rows = con.execute(f"FROM {vdm_sql(['u'], 'label', keys)} ORDER BY row").fetchall()
        assert rows == ours.rows()


# The metric


def vdm(frame: pl.DataFrame, name: str, a: object, b: object, p: float) -> float:
    """VDM_p of two values by counting, Σ_c |n_ac / n_a - n_bc / n_b|^p."""
    pairs = [(x, c) for x, c in frame.select(name, "label").rows() if c is not None]
    n_a, n_b = (sum(x == v for x, _ in pairs) for v in (a, b))
    total = 0.0
    for c in {c for _, c in pairs}:
        n_ac, n_bc = (sum(x == v and k == c for x, k in pairs) for v in (a, b))
        total += abs(n_ac / n_a - n_bc / n_b) ** p
    return total


def minkowski(x: Sequence[float], y: Sequence[float], p: float) -> float:
    return math.fsum(abs(a - b) ** p for a, b in zip(x, y, strict=True)) ** (1 / p)


MIXED = pl.DataFrame(
    {
        "x": [0.0, 1.5, -2.0, 0.25, 3.0, 1.0],
        "y": [1.0, -1.0, 0.5, 2.0, 0.0, 1.0],
        "color": ["r", "g", None, "r", "b", "b"],
        "shape": [1, 2, 2, 1, None, None],
        "label": ["a", "b", "a", "c", "b", None],
    }
)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
def test_the_metric_is_minkowski_on_profiles(engine: Engine, p: float) -> None:
    result = encoded(engine, MIXED, ["color", "shape"])
    for name in ("color", "shape"):
        for s in result:
            for t in result:
                distance = minkowski(s[f"{name}_vdm"], t[f"{name}_vdm"], p)
                expected = vdm(MIXED, name, s[name], t[name], p) ** (1 / p)
                assert distance == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("weight", [1.0, 2.5])
def test_the_mixed_distance_is_minkowski_on_one_vector(
    engine: Engine, p: int, weight: float
) -> None:
    result = encoded(engine, MIXED, ["color", "shape"])
    factor = weight ** (1 / p)
    vectors = [
        [s["x"], s["y"], *s["color_vdm"], *(factor * share for share in s["shape_vdm"])]
        for s in result
    ]
    for s, x in zip(result, vectors, strict=True):
        for t, y in zip(result, vectors, strict=True):
            numeric = abs(s["x"] - t["x"]) ** p + abs(s["y"] - t["y"]) ** p
            nominal = vdm(MIXED, "color", s["color"], t["color"], p)
            nominal += weight * vdm(MIXED, "shape", s["shape"], t["shape"], p)
            expected = (numeric + nominal) ** (1 / p)
            distance = math.dist(x, y) if p == 2 else minkowski(x, y, p)
            assert distance == pytest.approx(expected, rel=1e-12, abs=1e-15)


# Names


ODD_NAMES = [
    *("a b", 'qu"ote', "it's", "größe", "select", "{0}", "{u}", "%s", "\\0", "a.b", "a,b", "[a]"),
    *("label", "tbl", "columns", "partition_by", "names", "given", "value", "key_0", "n", "rank"),
    *("share", "profile", "n_labels", "zeros", "column_name", "x_vdm", " ", "$1", "?", "--", "😀"),
    *("*", "^.*$"),
]


@pytest.mark.parametrize("place", range(len(ODD_NAMES)), ids=ODD_NAMES)
def test_odd_names(side: Engine, place: int) -> None:
    """Each name as column, as label and as partition, in three calls with its neighbors."""
    name, label, key = (ODD_NAMES[(place + i) % len(ODD_NAMES)] for i in range(3))
    odd = {name: "string", label: "int", key: "run"}
    frame = random_frame(5, 30).select(**odd, other="bool")
    result = encoded(side, frame, [name, "other"], label, key)
    assert list(result[0]) == [*frame.columns, f"{name}_vdm", "other_vdm"]
    for nominal in (name, "other"):
        assert values_of_rows(result, f"{nominal}_vdm") == profiles_by_definition(
            frame, nominal, label, key
        ), nominal


def test_all_odd_names_at_once(side: Engine) -> None:
    values = random_frame(6, 30)["string"]
    frame = pl.DataFrame(dict.fromkeys(ODD_NAMES, values)).with_columns(x=pl.lit(1))
    result = encoded(side, frame, [name for name in ODD_NAMES if name != "x_vdm"])
    for name in ODD_NAMES:
        if name != "x_vdm":
            assert values_of_rows(result, f"{name}_vdm") == profiles_by_definition(frame, name), (
                name
            )


def test_sql_takes_names_without_quotes(con: duckdb.DuckDBPyConnection) -> None:
    names = sorted(ODD_NAMES)
    values = random_frame(6, 30)["string"]
    con.register("assignments", pl.DataFrame(dict.fromkeys(names, values)))
    names.remove("x_vdm")
    wanted = profiles_by_definition(
        pl.DataFrame({"label": values}).sort("label", nulls_last=True), "label"
    )
    bare = f"[{', '.join(map(quoted, names))}]"
    for columns, encoded_names in ((bare, names), (quoted(names[0]), names[:1])):
        call = f"clustereval.vdm_encode(assignments, {columns}, label)"
        rows = fetched(con, f"FROM {call} ORDER BY label NULLS LAST")
        assert list(rows[0]) == [*sorted(ODD_NAMES), *(f"{name}_vdm" for name in encoded_names)]
        for name in encoded_names:
            assert values_of_rows(rows, f"{name}_vdm") == wanted, name


@pytest.mark.parametrize("letters", ["COLOR", "Color"])
def test_sql_finds_columns_in_any_letter_case(con: duckdb.DuckDBPyConnection, letters: str) -> None:
    con.register("assignments", MIXED)
    rows = fetched(con, f"FROM {vdm_sql([letters], 'LABEL')} ORDER BY x, y")
    wanted = ce.vdm_encode(MIXED, "color", "label").sort("x", "y")["color_vdm"].to_list()
    assert values_of_rows(rows, f"{letters}_vdm") == wanted


@pytest.mark.parametrize(
    "tbl",
    ["__ce_input_rows", "__ce_rows", "__ce_cells_1", "__ce_profiles_1", "__ce_columns", "a table"],
)
def test_any_table(con: duckdb.DuckDBPyConnection, tbl: str) -> None:
    con.register("mixed", MIXED)
    con.execute(f"CREATE TEMP TABLE {quoted(tbl)} AS FROM mixed")
    wanted = ce.vdm_encode(MIXED, "color", "label").sort("x", "y").rows()
    for query in (
        f"FROM {vdm_sql(['color'], 'label', tbl=quoted(tbl))} ORDER BY x, y",
        f"FROM {vdm_sql('color', 'label', tbl=quoted(tbl))} ORDER BY x, y",
        f"WITH t AS (FROM {quoted(tbl)}) FROM {vdm_sql(['color'], 'label', tbl='t')} ORDER BY x, y",
    ):
        assert con.execute(query).fetchall() == wanted


def test_a_macro_in_a_view_and_one_after_the_other(con: duckdb.DuckDBPyConnection) -> None:
    con.register("mixed", MIXED)
    con.execute("CREATE TEMP TABLE t AS FROM mixed")
    con.execute(f"CREATE TEMP VIEW seen AS FROM {vdm_sql(['color'], 'label', tbl='t')}")
    # DuckDB expands no table macro inside itself, so there is a table in between.
    con.execute("CREATE TEMP TABLE once AS FROM seen")
    rows = con.execute(f"FROM {vdm_sql(['shape'], 'label', tbl='once')} ORDER BY x, y").fetchall()
    assert rows == ce.vdm_encode(MIXED, ["color", "shape"], "label").sort("x", "y").rows()


@pytest.mark.gate
@pytest.mark.parametrize(
    ("options", "home"),
    [
        ({"schema": 'my "own" {0} schema'}, '"my ""own"" {0} schema".'),
        pytest.param({"temporary": True}, "clustereval_", marks=pytest.mark.gate),
        pytest.param({"database": "other"}, "other.clustereval.", marks=pytest.mark.gate),
    ],
)
def test_macros_registered_elsewhere(options: Row, home: str) -> None:
    with duckdb.connect() as con:
        con.execute("ATTACH ':memory:' AS other")
        ce.register(con, **options)
        con.register("mixed", MIXED)
        rows = con.execute(
            f"SELECT color_vdm, {home}parse_vector('$2$1:3') "
            f"FROM {home}vdm_encode(mixed, [color], label) ORDER BY x, y"
        ).fetchall()
    wanted = ce.vdm_encode(MIXED, "color", "label").sort("x", "y")["color_vdm"].to_list()
    assert rows == [(profile, [0.0, 3.0]) for profile in wanted]


def test_label_is_any_expression(con: duckdb.DuckDBPyConnection) -> None:
    con.register("assignments", MIXED)
    rows = con.execute(f"FROM {vdm_sql(['color'], 'x > 0.5')} ORDER BY x, y").fetchall()
    assert rows == ce.vdm_encode(MIXED, "color", pl.col("x") > 0.5).sort("x", "y").rows()


def test_the_kind_of_frame_stays() -> None:
    lazy = ce.vdm_encode(MIXED.lazy(), ("color",), "label")
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect_schema()["color_vdm"] == pl.List(pl.Float64)
    frame = ce.vdm_encode(MIXED, "color", "label")
    assert isinstance(frame, pl.DataFrame)
    assert frame.equals(lazy.collect())
    again = frame.lazy().pipe(ce.vdm_encode, "shape", "label").collect()
    assert again.equals(ce.vdm_encode(MIXED, ["color", "shape"], "label"))


# Errors


@pytest.mark.parametrize("frame", [MIXED, MIXED.clear()], ids=["rows", "no rows"])
@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            ["colr"],
            "columns: column 'colr' not found; did you mean 'color'? columns: x, y, color, ",
        ),
        (["color", "zzz"], "columns: column 'zzz' not found; columns: x, y, color, shape, label"),
        ([], "columns: expected names of columns, such as ['color'], got []"),
        (None, "columns: expected names of columns, such as ['color'], got NULL"),
        (
            ["color", None],
            "columns: expected names of columns, such as ['color'], got [color, NULL]",
        ),
        (["color", "shape", "color"], "columns: 'color' is given twice"),
    ],
)
def test_bad_columns(side: Engine, frame: pl.DataFrame, columns: Any, words: str) -> None:
    if side.name == "duckdb":  # encoded() adds a column to the table
        words = words.replace("columns: x, y", "columns: __row, x, y")
    with fails(side, words):
        encoded(side, frame, columns)


@pytest.mark.parametrize("frame", [MIXED, MIXED.clear()], ids=["rows", "no rows"])
def test_a_profile_that_is_there_already(side: Engine, frame: pl.DataFrame) -> None:
    words = "columns: 'color_vdm' is also a column of the table; rename it first"
    with fails(side, words):
        encoded(side, frame.with_columns(color_vdm=1), ["shape", "color"])


@pytest.mark.parametrize("parameter", ["label", "partition_by"])
def test_a_misspelt_column(side: Engine, parameter: str) -> None:
    words = "lable" if side.name == "duckdb" else f"{parameter}: column 'lable' not found"
    arguments: Row = {"label": "label"} | {parameter: "lable"}
    with fails(side, words) as raised:
        encoded(side, MIXED, ["color"], **arguments)
    assert re.search("'label'|\"label\"", str(raised.value))


@pytest.mark.parametrize("frame", [MIXED, MIXED.clear()], ids=["rows", "no rows"])
@pytest.mark.parametrize("parameter", ["label", "partition_by"])
def test_a_quoted_column(
    con: duckdb.DuckDBPyConnection, frame: pl.DataFrame, parameter: str
) -> None:
    con.register("assignments", frame)
    columns = {"label": "label", parameter: "'shape'"}
    arguments = ", ".join(f"{name} := {value}" for name, value in columns.items())
    words = f"{parameter}: expected a column, got the quoted string 'shape'; write it without"
    with pytest.raises(duckdb.Error, match=re.escape(words)):
        con.execute(f"FROM clustereval.vdm_encode(assignments, ['color'], {arguments})").fetchall()


def test_what_is_no_list_of_names() -> None:
    with pytest.raises(ce.ClusterEvalError, match=r"columns: expected names .*, got \[color, 1\]"):
        ce.vdm_encode(MIXED, ["color", 1], "label")  # type: ignore[list-item]
    with pytest.raises(ce.ClusterEvalError, match=r"columns: expected names of columns.*, got 5"):
        ce.vdm_encode(MIXED, 5, "label")  # type: ignore[arg-type]


@pytest.mark.parametrize("parameter", ["columns", "label"])
def test_a_column_that_cannot_be_grouped(parameter: str) -> None:
    odd = MIXED.with_columns(odd=pl.Series([object()] * 6, dtype=pl.Object))
    arguments: Row = {"columns": ["color"], "label": "label"} | {parameter: "odd"}
    with pytest.raises(ce.ClusterEvalError, match=f"{parameter}: a column of type Object cannot"):
        ce.vdm_encode(odd, **arguments)


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda shares: [x + 1e-9 for x in shares],
        lambda shares: shares[::-1],
        lambda shares: [*shares, 0.0],
        lambda _: None,
    ],
)
def test_the_comparison_refuses_what_is_wrong(spoilt: Callable[[Any], Any]) -> None:
    wanted = profiles_by_definition(MIXED, "color")
    assert wanted[2] == [1.0, 0.0, 0.0]
    assert [*wanted[:2], spoilt(wanted[2]), *wanted[3:]] != wanted
