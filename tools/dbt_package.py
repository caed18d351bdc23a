"""`make dbt`: the generated macros of the dbt package, one file for each table.

`dbt_package/macros/tables.sql` has the macros that models call, and `dbt_package/macros/queries`
the queries that they write, and the words of each adapter in them. On DuckDB the query is a call of
the table macro.
"""

from __future__ import annotations

import inspect
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import get_args

from polars_clustereval.base.checks import NoiseAs
from polars_clustereval.base.tables import declared_tables, orders_of_portable_tables
from polars_clustereval.dialects import OPTIONS
from polars_clustereval.dialects.pipeline import ADJUSTED_COLUMNS
from polars_clustereval.external.entity_matching import EditCost
from polars_clustereval.external.information import NormalizedMethod
from polars_clustereval.macros import macro_definitions
from tools.dbt_queries import (
    ADAPTERS,
    COLUMNS,
    NUMBERS,
    TABLES,
    distances_of,
    takes_id,
    write_macro,
)
from tools.dbt_words import words_text

MACROS = Path(__file__).parent.parent / "dbt_package" / "macros"

#: Tables that have a macro, those of to_sql, and the columns that tell their rows apart.
ORDERS = orders_of_portable_tables("labels", "records", "points", "two runs")

_CHOICES = {
    "noise_as": get_args(NoiseAs),
    "average_method": get_args(NormalizedMethod),
    "split_cost": get_args(EditCost),
    "merge_cost": get_args(EditCost),
}

_HEADER = "{# Written by `make dbt` from the package polars_clustereval: do not edit. #}\n"


def tables_text() -> str:
    """The file of the macros that models call."""
    macros = "\n".join(map(_table_macro, ORDERS))
    adapters = ", ".join(f"'{name}'" for name in ADAPTERS)
    return (
        f"{_HEADER}\n{{# Types of adapters that have queries, next to duckdb. #}}\n"
        f"{{% macro adapters() %}}{{{{ return([{adapters}]) }}}}{{% endmacro %}}\n\n{macros}"
    )


def macro_parameters_of(table: str) -> list[str]:
    """The parameters of the macro of a table."""
    known = {*TABLES, *COLUMNS, *NUMBERS, *_CHOICES, "vector", "noise", "distance", "adjusted"}
    names = [name for name in macro_definitions()[table][0] if name in known]
    is_of_runs = "tbl_before" in names
    return [name for name in names if name != "id" or is_of_runs or takes_id(table)]


def _table_macro(table: str) -> str:
    """The macro of a table: its checked arguments, handed on to the query."""
    names = macro_parameters_of(table)
    is_of_runs = "tbl_before" in names
    optional = {"weight", "partition_by"} | (set() if is_of_runs else {"id"})
    signature = [
        f"{name}=none" if name in optional else name
        for name in names
        if name in {*TABLES, *COLUMNS, "vector"} and name not in optional
    ]
    signature += [f"{name}=none" for name in names if name in optional]
    signature += [f"{name}={_literal(OPTIONS[name])}" for name in names if name in OPTIONS]
    signature.append("metrics=none")
    texts = "".join(
        f"    '{name}': {_argument(table, name, name in optional)},\n" for name in names
    )
    keys = list(ORDERS[table])
    title = (inspect.getdoc(declared_tables()[table].function) or "").split("\n")[0]
    return (
        f"{{# {title} #}}\n{{% macro {table}(\n  {', '.join(signature)}\n) -%}}\n"
        f"  {{{{- clustereval.select_table(\n"
        f"    adapter.dispatch('{table}_query', 'clustereval'), {keys}, metrics, "
        f"{{\n{texts}  }}) }}}}\n"
        "{%- endmacro %}\n\n"
        f"{{% macro duckdb__{table}_query(given) -%}}\n"
        f"  {{{{- clustereval.call_macro('{table}', given) -}}}}\n{{%- endmacro %}}\n"
    )


def _literal(value: object) -> str:
    """A value as Jinja writes it."""
    return repr(value).lower() if value is None or isinstance(value, bool) else repr(value)


def _argument(table: str, name: str, is_optional: bool) -> str:
    """The call that checks an argument and writes it as a part of a query."""
    if name in TABLES:
        return name
    if name == "partition_by":
        return "clustereval.partition(partition_by)"
    if name == "id" and is_optional:
        return "clustereval.row_id(id)"
    if name in COLUMNS:
        text = f"clustereval.column('{name}', {name})"
        return f"none if {name} is none else {text}" if is_optional else text
    if name == "vector":
        return "clustereval.columns('vector', vector)"
    if name == "noise":
        return "clustereval.literal(noise) | trim"
    if name in NUMBERS:
        return f"clustereval.number('{name}', {name}) | trim"
    if name == "adjusted":
        needed = " or ".join(f"'{column}' in metrics" for column in ADJUSTED_COLUMNS)
        return f"adjusted and (metrics is none or {needed})"
    choices = distances_of(table) if name == "distance" else _CHOICES[name]
    return f"clustereval.choice('{name}', {name}, {list(choices)})"


def query_file(table: str) -> dict[Path, str]:
    """The file of the queries of a table."""
    return {MACROS / "queries" / f"{table}.sql": _HEADER + write_macro(table)}


def words_file() -> dict[Path, str]:
    """The file of the words of the adapters."""
    return {MACROS / "queries" / "words.sql": f"{_HEADER}\n{words_text()}"}


def write_files(files: dict[Path, str]) -> None:
    """Write the files whose text is another one, and print their paths."""
    for path, text in files.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"{path.relative_to(MACROS.parent.parent)}\n")


def main(tables: list[str]) -> None:
    """Write the queries of these tables, by default of all, each as soon as it is known."""
    write_files({MACROS / "tables.sql": tables_text(), **words_file()})
    with ProcessPoolExecutor() as pool:
        for files in pool.map(query_file, tables or ORDERS):
            write_files(files)


if __name__ == "__main__":
    main(sys.argv[1:])
