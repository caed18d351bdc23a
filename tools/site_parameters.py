"""An extension of Griffe for the site: each parameter has a text of its own.

Docstrings say ``noise, weights : as in internal_report``; `ce.describe` and the site show what that
is.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Function

from polars_clustereval.catalogue.callables import parameters_of

SECTION = re.compile(r"(?<=^Parameters\n----------\n).*?(?=^\w+\n---|\Z)", re.DOTALL | re.MULTILINE)


class Parameters(Extension):
    """Writes out the parameters of the functions that the package declares."""

    def on_function(self, *, func: Function, **_: Any) -> None:
        if func.docstring is None or " : as in " not in func.docstring.value:
            return
        texts = []
        for name, text in parameters_of(func.name).items():
            type_name, _separator, meaning = text.partition(". ")
            texts.append(f"{name} : {type_name}\n    {meaning}\n")
        if texts:
            section = "".join(texts) + "\n"
            func.docstring.value = SECTION.sub(lambda _: section, func.docstring.value, count=1)
