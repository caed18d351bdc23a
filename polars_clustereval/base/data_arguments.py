"""Error messages with advice for calls that pass data instead of a frame or a column."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence, Sized
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar, cast

import polars as pl

from polars_clustereval.errors import ClusterEvalError

Function = TypeVar("Function", bound=Callable[..., Any])

#: The code that converts a frame of another library to Polars, by the name of that library.
_CONVERSIONS = {
    "polars": "{}",
    "pandas": "pl.from_pandas({})",
    "pyarrow": "pl.from_arrow({})",
    "duckdb": "{}.pl()",
}


def is_data(x: object) -> bool:
    """Return whether x contains data, such as a Series, an array or a list of numbers.

    Column names, expressions, and lists of names or expressions are not data.
    """
    if isinstance(x, list | tuple) and x and all(isinstance(part, str | pl.Expr) for part in x):
        return False
    return has_values(x)


def has_values(x: object) -> bool:
    """Return whether x is a Series, an array, a list or another container, but not a string."""
    return isinstance(x, Sized) and not isinstance(x, str)


def type_name(x: object) -> str:
    """Return the type name of x as it appears in error messages, such as list or pandas.DataFrame.

    If another library defines the type, the result begins with that library's name, because Polars
    also has types such as DataFrame.
    """
    library, name = _library_of(x), type(x).__name__
    return name if library in ("builtins", "polars") else f"{library}.{name}"


def _library_of(x: object) -> str:
    """Return the name of the library that defines the type of x, without leading underscores."""
    return type(x).__module__.partition(".")[0].lstrip("_")


def column_advice(parameter: str, got: object) -> str:
    """Return the advice for a user who passed `got` instead of a column name.

    `parameter` is the parameter for which the user passed `got`. The advice is empty if `got` is
    neither data nor a list of clusterings.
    """
    if parameter == "cluster" and isinstance(got, list | tuple) and not is_data(got):
        return "; ce.compare_clusterings(frame, clusters, label) compares several clusterings"
    if not is_data(got):
        return ""
    return (
        "; add the values to the frame, frame.with_columns(name=pl.Series(values)), "
        f'and write {parameter}="name"'
    )


def check_calls(function: Function) -> Function:
    """Return a table function that first checks how it is called.

    The first argument, the frame, is checked before all others. The error for an unknown parameter
    suggests the parameter that the user may have meant, whereas Python's own error message would
    mention only the unknown parameter. If the user calls the function in the style of scikit-learn,
    with data instead of a frame and column names, the error message shows how to call it on a
    frame.
    """

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        """Check the call, and then pass it on to the function."""
        _check_parameters(function, len(args), kwargs)
        if args or "frame" in kwargs:
            _check_frame_call(function, args or (kwargs["frame"],), kwargs)
        return function(*args, **kwargs)

    return cast("Function", checked)


#: The names here of parameters of scikit-learn, scipy and pandas, by their names there.
_OTHER_PARAMETERS = {
    "metric": "distance",
    "sample_weight": "weight",
    "labels_true": "label",
    "labels_pred": "cluster",
    "labels": "cluster",
    "seed": "random_state",
    "by": "partition_by",
    "group_by": "partition_by",
}

#: The advice for weights of rows, which tables of points do not take.
ROW_WEIGHTS_ADVICE = (
    "tables of points take no weights of rows: repeat each row as often as it counts"
)


def refuse_row_weights(weights: Sequence[float]) -> Sequence[float]:
    """Return the weights of coordinates, or raise an error if they are a column.

    With as many rows as dimensions, the weights of rows would pass as those of coordinates.
    """
    given: Any = weights
    is_column = isinstance(given, str | pl.Expr | pl.Series)
    if is_column or any(isinstance(w, str) for w in given):
        shown = given if is_column else f"[{', '.join(map(str, given))}]"
        shown = given.name if isinstance(given, pl.Series) else shown
        raise ClusterEvalError(
            "weights: expected one constant for each dimension, such as [1, 2], got the column "
            f"{shown}; {ROW_WEIGHTS_ADVICE}"
        )
    return weights


def _check_parameters(
    function: Callable[..., Any], n_positional: int, keywords: Collection[str]
) -> None:
    """Raise an error unless all arguments in a call are parameters of the function."""
    parameters = inspect.signature(function).parameters
    n_allowed = sum(x.kind is not x.KEYWORD_ONLY for x in parameters.values())
    if n_positional > n_allowed and "vector" in parameters:
        raise TypeError(
            f"{function.__name__}() got {n_positional - n_allowed} positional arguments too many; "
            "a vector of several columns is a list, such as ['x', 'y']"
        )
    for name in keywords:
        if name not in parameters:
            other = _OTHER_PARAMETERS.get(name, name)
            near = [other] if other in parameters else get_close_matches(name, parameters, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(parameters)}"
            if other == "weight" not in near and "vector" in parameters:
                hint = ROW_WEIGHTS_ADVICE
            raise TypeError(
                f"{function.__name__}() got an unexpected keyword argument '{name}'; {hint}"
            )


def _check_frame_call(
    function: Callable[..., Any], given: Sequence[object], named: Mapping[str, Any]
) -> None:
    """Check the frame of a call, and the columns of a frame of points.

    Raise an error if the first argument is not a Polars frame, or if a frame of points is followed
    by data instead of column names.

    `given` contains the call's positional arguments, the first of which is the frame, and `named`
    contains its keyword arguments. A call in the style of scikit-learn passes two arguments, X and
    y, but the function needs three: the frame and two columns.
    """
    frame, *columns = given
    required = required_parameters(function)
    is_frame = isinstance(frame, pl.DataFrame | pl.LazyFrame)
    is_complete = all(name in named for name in required[len(given) :])
    if is_frame and (is_complete or not (len(columns) == 1 and is_data(columns[0]))):
        return
    conversion = _CONVERSIONS.get(_library_of(frame), "pl.DataFrame({})")
    if not (is_frame or _is_table(frame)):
        advice = f"; write {_call_on_data(function)}" if has_values(frame) else ""
    elif is_complete and not any(map(is_data, columns)):
        advice = f"; write {_call_on_frame(function, conversion, columns, named)}"
    elif not is_complete and "vector" in required:
        advice = f"; write {_call_on_points(function, conversion)}"
    elif is_frame:
        return
    else:
        advice = f"; write {conversion.format('frame')}, and names of its columns"
    raise frame_error(" and ".join(map(type_name, given if is_frame else [frame])), advice)


def _is_table(x: object) -> bool:
    """Return whether x is a frame from another library, or a dictionary of columns."""
    return isinstance(x, Mapping) or hasattr(x, "columns")


def frame_error(got: str, advice: str = "") -> ClusterEvalError:
    """Return the error for a call that passes no frame or no column names.

    `got` describes the types of the arguments. `advice`, which may be empty, tells the user what to
    write instead.
    """
    return ClusterEvalError(
        "frame: expected a Polars DataFrame or LazyFrame and names of its columns, "
        f"got {got}{advice}"
    )


def required_parameters(function: Callable[..., Any]) -> list[str]:
    """Return the names of the required parameters of `function`, in order."""
    parameters = inspect.signature(function).parameters.values()
    return [parameter.name for parameter in parameters if parameter.default is parameter.empty]


#: Required parameters of table functions that take a value or another frame, not a column.
_VALUES = ("reference", "centroids", "edges", "neighbors")


def _new_frame(columns: Sequence[str]) -> str:
    """Return code that creates a frame with `columns`.

    If there are two columns, the variables that contain them are named as in scikit-learn.
    """
    pair = ("y_true", "y_pred") if columns[0] == "label" else ("X", "y")
    variables = pair if len(columns) == 2 else columns
    named = zip(columns, variables, strict=True)
    pairs = ", ".join(f'"{name}": {variable}' for name, variable in named)
    return f"pl.DataFrame({{{pairs}}})"


def _call_on_data(function: Callable[..., Any]) -> str:
    """Return code that calls a table function on a frame made from data."""
    required = required_parameters(function)[1:]
    columns = [name for name in required if name not in _VALUES]
    names = [f'["{x}"]' if x in ("vector", "columns") else f'"{x}"' for x in columns]
    names += [f"{name}={name}" for name in required if name in _VALUES]
    return f"ce.{function.__name__}({_new_frame(columns)}, {', '.join(names)})"


def _call_on_points(function: Callable[..., Any], conversion: str) -> str:
    """Return code that calls a table function on points, passing the frame X and the clusters y.

    `conversion` is code that creates a Polars frame, with {} as a placeholder for the variable.
    """
    frame = f"{conversion.format('X')}.with_columns(cluster=pl.Series(y))"
    return f'ce.{function.__name__}({frame}, [pl.exclude("cluster")], "cluster")'


def _call_on_frame(
    function: Callable[..., Any],
    conversion: str,
    columns: Sequence[object],
    named: Mapping[str, Any],
) -> str:
    """Return code that calls a table function on a frame with the given arguments.

    `columns` are the positional arguments after the frame, and `named` are the keyword arguments.
    `conversion` is code that creates a Polars frame, with {} as a placeholder for the variable.
    """
    arguments = [conversion.format("frame"), *map(_show_argument, columns)]
    arguments += [f"{name}={_show_argument(x)}" for name, x in named.items() if name != "frame"]
    return f"ce.{function.__name__}({', '.join(arguments)})"


def _show_argument(x: object) -> str:
    """Return the code for an argument, or ... if the argument is not a name, a number or a list."""
    return repr(x) if isinstance(x, str | int | float | list | None) else "..."


def select_advice() -> str:
    """Return the advice for a user who passed data to a function that returns an expression."""
    function = _called_function()
    names = required_parameters(function) if function else []
    if not function or not names:
        return ""
    arguments = ", ".join(f'"{name}"' for name in names)
    end = ".item()" if len(names) > 1 else ".to_series()"
    return f"; write {_new_frame(names)}.select(ce.{function.__name__}({arguments})){end}"


def each_column_advice(parameter: str) -> str:
    """Return the advice for a user who passed several columns where only one is allowed.

    `parameter` is the parameter for which the user passed a selection of several columns.
    """
    function = _called_function()
    if not function:
        return ""
    names = required_parameters(function)
    arguments = ", ".join("name" if name == parameter else f'"{name}"' for name in names)
    call = f"ce.{function.__name__}({arguments}).alias(name)"
    return f"; write an expression for each column: [{call} for name in columns]"


def _called_function() -> Callable[..., Any] | None:
    """Return the function of this package that the user called, based on the call stack."""
    frame, found = inspect.currentframe(), None
    while frame and frame.f_globals.get("__name__", "").startswith("polars_clustereval."):
        function = frame.f_globals.get(frame.f_code.co_name)
        found = function if inspect.isfunction(function) else found
        frame = frame.f_back
    return found
