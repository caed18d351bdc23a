"""Deprecations: what a user is told, where, and until when."""

from __future__ import annotations

import inspect
import warnings

import pytest

import polars_clustereval as ce
from polars_clustereval.base import deprecation
from polars_clustereval.base.deprecation import Deprecation, deprecated, overdue, renamed_parameter


@pytest.fixture(autouse=True)
def no_deprecations(monkeypatch: pytest.MonkeyPatch) -> list[Deprecation]:
    """An empty list, so that the functions below are not taken for those of the package."""
    found: list[Deprecation] = []
    monkeypatch.setattr(deprecation, "DEPRECATIONS", found)
    return found


def half(number: float, *, digits: int = 2) -> float:
    """Return half of a number.

    Rounded to `digits` decimal digits.
    """
    return round(number / 2, digits)


def test_no_deprecation_of_the_package_is_overdue() -> None:
    # A deprecation is recorded when the module with its function is imported.
    assert all(hasattr(module, name) for module in (ce, ce.plots) for name in module.__all__)
    assert overdue(deprecation.DEPRECATIONS, ce.__version__) == []


@pytest.mark.parametrize(
    ("version", "names"),
    [("1.9", []), ("1.9.9", []), ("1.10", ["a"]), ("1.10.0", ["a"]), ("2.0", ["a", "b"])],
)
def test_overdue(version: str, names: list[str]) -> None:
    both = [Deprecation("a", "1.8", "1.10"), Deprecation("b", "1.9", "2.0.0")]
    assert overdue(both, version) == names


def test_a_deprecated_function(no_deprecations: list[Deprecation]) -> None:
    old = deprecated("0.3", "0.5", "divide by 2")(half)
    assert no_deprecations == [Deprecation("half", "0.3", "0.5")]
    message = r"^half is deprecated since 0\.3 and will be removed in 0\.5: divide by 2$"
    with pytest.warns(FutureWarning, match=message) as caught:
        assert old(3) == 1.5
    assert caught[0].filename == __file__
    assert inspect.signature(old) == inspect.signature(half)
    documented = inspect.getdoc(old)
    assert documented is not None
    assert documented.startswith("Return half of a number.\n\n.. deprecated:: 0.3\n")
    assert documented.endswith("Rounded to `digits` decimal digits.")


def test_a_renamed_parameter(no_deprecations: list[Deprecation]) -> None:
    renamed = renamed_parameter("places", "digits", "0.3", "0.5")(half)
    assert no_deprecations == [Deprecation("half(places=)", "0.3", "0.5")]
    with pytest.warns(FutureWarning, match=r"^half\(places=\) is deprecated.*: use digits=$"):
        assert renamed(1.25, places=1) == 0.6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert renamed(1.25, digits=1) == 0.6
        assert renamed(1.25) == 0.62
    with pytest.raises(ce.ClusterEvalError, match=r"^places: this is the old name of digits, "):
        renamed(1.25, places=1, digits=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'figures'"):
        renamed(1.25, figures=1)


def test_the_warning_is_at_the_line_of_the_caller() -> None:
    """Also if a method of the package calls the function, as the methods of frames do."""
    old = deprecated("0.3", "0.5", "divide by 2")(half)
    code = compile("def method(x):\n    return old(x)\n", ce.namespaces.__file__, "exec")
    namespace: dict[str, object] = {"old": old}
    exec(code, namespace)
    with pytest.warns(FutureWarning) as caught:
        namespace["method"](3)  # type: ignore[operator]
    assert caught[0].filename == __file__
