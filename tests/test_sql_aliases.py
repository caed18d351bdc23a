"""Table aliases in sql/ have no prefix, so they must differ from the parameters of their macro."""

import re

import duckdb

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


def test_a_table_and_columns_named_like_aliases() -> None:
    with duckdb.connect() as con:
        ce.register(con)
        columns = ", ".join(f'x AS "{alias}"' for alias in ALIASES)
        con.execute(f"CREATE TABLE point AS SELECT x, {columns}, x // 2 AS c FROM range(4) AS t(x)")
        vector = ", ".join(f'"{alias}"' for alias in ALIASES)
        for report in ("internal_report", "neighbor_report"):
            plain = f"FROM clustereval.{report}(point, [{', '.join('x' for _ in ALIASES)}], c)"
            named = f"FROM clustereval.{report}(point, [{vector}], c)"
            assert con.execute(named).fetchall() == con.execute(plain).fetchall()
