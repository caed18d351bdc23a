"""tables: the declaration of each table function, and look-ups over all declarations.

A table is declared once, above its function: ``@table_function("points", order=("cluster",))``. The
signature of the function lists the table's parameters, and the docstring describes its columns. All
code that lists tables reads these declarations, or is written by ``make facts``.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar, get_args

from .data_arguments import check_calls
from .deferral import defer_reading
from .growth import add_growth_note, find_growth

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .growth import Growth

Function = TypeVar("Function", bound=Callable[..., Any])

#: The kinds of tables. Tables of the same kind take the same main arguments.
Kind: TypeAlias = Literal[
    "labels",  # a label and a cluster per row, which may have a weight
    "records",  # a label and a cluster per row, which has an id
    "one clustering",
    "points",  # a vector and a cluster per row
    "points of states",  # the same, kept as states of clusters, which merge
    "nominal values",
    "attributes",  # columns of any type by name, and a cluster per row
    "sweep",  # points in several clusterings, with the number of clusters of each
    "points alone",
    "replication",  # a cluster of its own and a predicted one per row
    "runs",  # an id, a run and a cluster per row
    "runs and one of them",
    "resamples",  # two clusters and a resample per row
    "removed columns",
    "two runs",  # two frames with an id and a cluster per row
    "covers",  # two frames of memberships
    "graph",  # a frame of nodes with a cluster, and one of edges
    "states",  # the table cluster_states
    "centers",  # points and the table centroids
    "curves",  # the table elbow
]


class Table(NamedTuple):
    """The declaration of a table, apart from its parameters and columns."""

    function: Callable[..., Any]
    kind: Kind
    #: The columns by which the rows of a partition are sorted; empty if there is a single row.
    order: tuple[str, ...]
    #: The page in docs/ that explains it.
    guide: str
    #: Whether ``to_sql`` can write the table, and Spark can compute it if it reads a single frame.
    is_portable: bool
    #: Whether SQL has a macro of this name. The other tables score random samples that numpy draws.
    has_macro: bool
    #: How its time grows if faster than the number of rows: one record for each choice of options.
    growth: tuple[Growth, ...]


_DECLARED: dict[str, Table] = {}


def table_function(
    kind: Kind,
    *,
    guide: str,
    order: tuple[str, ...] = (),
    is_portable: bool = False,
    has_macro: bool = True,
    growth: tuple[Growth, ...] = (),
) -> Callable[[Function], Function]:
    """Return the decorator that declares a table function; see Table for the parameters.

    If the function takes a single frame, its calls are checked (see check_calls). The function
    never reads a LazyFrame before its result is collected (see defer_reading).
    """

    def declare(function: Function) -> Function:
        """Store the declaration under the function's name."""
        is_of_one_frame = function.__code__.co_varnames[0] == "frame"
        add_growth_note(function, growth)
        deferred = defer_reading(function)
        checked = check_calls(deferred) if is_of_one_frame else deferred
        _DECLARED[function.__name__] = Table(
            checked, kind, order, guide, is_portable, has_macro, growth
        )
        return checked

    return declare


def declared_tables(*kinds: Kind) -> Mapping[str, Table]:
    """Return the tables of the given kinds, or of all kinds, by name, in the order of Kind.

    The modules that declare the tables must have been imported; importing the package does this.
    """
    asked = kinds or get_args(Kind)
    found = {name: x for kind in asked for name, x in _DECLARED.items() if x.kind == kind}
    return MappingProxyType(found)


def orders_of_portable_tables(*kinds: Kind) -> dict[str, tuple[str, ...]]:
    """Return the columns by which rows are sorted, for each table of `kinds` that to_sql can write.

    The first of these columns is partition_key, the partition.
    """
    tables = declared_tables(*kinds).items()
    return {name: ("partition_key", *x.order) for name, x in tables if x.is_portable}


def growth_of(table: str, options: Mapping[str, object]) -> Growth | None:
    """Return how the time of a table grows, or None if it grows in proportion to the rows."""
    return find_growth(_DECLARED[table].growth, options)
