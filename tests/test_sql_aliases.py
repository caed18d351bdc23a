"""Table aliases in sql/ have no prefix, so they must differ from the parameters of their macro."""

import re

import duckdb
import polars as pl

import polars_clustereval as ce

MACRO = re.compile(
    r"^CREATE OR REPLACE MACRO clustereval\.(\w+)\((.*?)\)\s+AS\b(.*?);\n", re.MULTILINE | re.DOTALL
)
ALIAS = re.compile(r"\b(?:FROM|JOIN)\s+(?:[\w.]+(?:\([^()]*\))?|\([^()]*(?:\([^()]*\)[^()]*)*\))"
                   r"\s+AS\s+(?!__ce_)(\w+)")  # fmt: skip
BODIES = {name: (parameters, body) for name, parameters, body in MACRO.findall(ce.bundle())}
ALIASES = sorted({alias for _, body in BODIES.values() for alias in ALIAS.findall(body)})


def test_there_are_macros_and_aliases() -> None:
    assert len(BODIES) > 200
    assert {"own", "other", "point"} <= set(ALIASES)


def test_no_parameter_captures_an_alias() -> None:
    for name, (parameters, body) in BODIES.items():
        names = {parameter.split()[0] for parameter in parameters.split(",") if parameter.strip()}
        assert not names & set(ALIAS.findall(body)), name


def test_tables_and_columns_named_like_aliases() -> None:
    rows = pl.DataFrame({"x": [0.0, 2.0, 9.0, 9.0], "y": [0.0, 0.0, 0.0, 4.0], "c": [0, 0, 1, 1]})
    with duckdb.connect() as con:
        ce.register(con)
        con.register("plain", rows)
        wanted = con.execute("FROM clustereval.internal_report(plain, [x, y], c)").fetchall()
        for alias in ALIASES:
            con.register(alias, rows.rename({"x": alias}))
            query = f'FROM clustereval.internal_report("{alias}", ["{alias}", y], c)'
            assert con.execute(query).fetchall() == wanted
