"""Deprecation of public names and parameters, with warnings in the versions before removal.

docs/versions.md describes the policy that these decorators implement. Nothing is deprecated in this
version.
"""

from __future__ import annotations

import sys
import warnings
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from polars_clustereval.errors import ClusterEvalError

if TYPE_CHECKING:
    from collections.abc import Callable

Function = TypeVar("Function", bound="Callable[..., Any]")

_FOLDER_OF_PACKAGE = str(Path(__file__).resolve().parent.parent)


class Deprecation(NamedTuple):
    """A deprecated name, the first version that warns about it, and the version that removes it."""

    name: str
    since: str
    removed_in: str


#: All deprecations of the package. A test fails if one of them is still there when it is due.
DEPRECATIONS: list[Deprecation] = []


def deprecated(since: str, removed_in: str, advice: str) -> Callable[[Function], Function]:
    """Return a decorator for a public function that will be removed.

    `since` and `removed_in` are versions, such as ``0.3``. `advice` tells users what to do instead,
    such as ``use purity``, and appears in the warning and in the docstring.
    """

    def decorate(function: Function) -> Function:
        found = _record(function.__name__, since, removed_in)

        @wraps(function)
        def warn_and_call(*args: Any, **kwargs: Any) -> Any:
            _warn(found, advice)
            return function(*args, **kwargs)

        summary, _, rest = (function.__doc__ or "").partition("\n")
        note = f".. deprecated:: {since}\n        It will be removed in {removed_in}: {advice}."
        warn_and_call.__doc__ = f"{summary}\n\n    {note}\n{rest}"
        return cast("Function", warn_and_call)

    return decorate


def renamed_parameter(
    old: str, new: str, since: str, removed_in: str
) -> Callable[[Function], Function]:
    """Return a decorator for a public function whose parameter `old` has been renamed to `new`.

    Until version `removed_in`, the function accepts either name as a keyword, but raises an error
    if a call uses both.
    """

    def decorate(function: Function) -> Function:
        found = _record(f"{function.__name__}({old}=)", since, removed_in)

        @wraps(function)
        def rename_and_call(*args: Any, **kwargs: Any) -> Any:
            if old in kwargs:
                if new in kwargs:
                    msg = (
                        f"{old}: this is the old name of {new}, which is also passed; "
                        f"leave out {old}"
                    )
                    raise ClusterEvalError(msg)
                _warn(found, f"use {new}=")
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return cast("Function", rename_and_call)

    return decorate


def overdue(deprecations: list[Deprecation], version: str) -> list[str]:
    """Return the deprecated names that should have been removed by version `version`."""
    return [x.name for x in deprecations if _version_parts(x.removed_in) <= _version_parts(version)]


def _version_parts(version: str) -> tuple[int, ...]:
    """Return a version as numbers, so that 1.10 counts as newer than 1.9 and equal to 1.10.0."""
    numbers = [int(part) for part in version.split(".")]
    return tuple(numbers + [0] * (3 - len(numbers)))


def _record(name: str, since: str, removed_in: str) -> Deprecation:
    """Add a deprecation to the list of all deprecations, and return it."""
    found = Deprecation(name, since, removed_in)
    DEPRECATIONS.append(found)
    return found


def _warn(found: Deprecation, advice: str) -> None:
    """Warn about a deprecated name, and attribute the warning to the user's line of code."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_FOLDER_OF_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(
        f"{found.name} is deprecated since {found.since} and will be removed in "
        f"{found.removed_in}: {advice}",
        FutureWarning,
        stacklevel=level,
    )
