"""dbt: a plugin of dbt-duckdb that gives every model and test the macros under their usual names.

In ``profiles.yml``, below the output of type duckdb::

    plugins:
      - module: polars_clustereval.dbt

The generic tests are in the dbt package ``clustereval``, the folder that `package_folder` returns.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

try:
    from dbt.adapters.duckdb.plugins import BasePlugin
except ImportError as error:
    raise ImportError(
        "the dbt plugin needs dbt-duckdb: pip install 'polars_clustereval[dbt]'"
    ) from error

from .macro_database import attach_macros

if TYPE_CHECKING:
    import duckdb

__all__ = ["Plugin", "package_folder"]

_PACKAGE = Path(__file__).resolve().parent
# A wheel has the dbt package inside the Python package, a checkout beside it.
_FOLDERS = (_PACKAGE / "dbt_package", _PACKAGE.parent / "dbt_package")


class Plugin(BasePlugin):  # type: ignore[misc] # dbt has no types to check
    """Plugin of dbt-duckdb that attaches the macros as the database ``clustereval``.

    Models, tests, hooks and snapshots call ``clustereval.external_report`` and the other macros,
    on all threads. Nothing is written to the database of the project. Its only requirement is that
    neither that database nor a schema in it has the name ``clustereval``, which is an error.
    """

    def configure_connection(self, conn: duckdb.DuckDBPyConnection) -> None:
        """Attach the macros to the connection whose cursors execute the models."""
        attach_macros(conn)


def package_folder() -> Path:
    """Return the folder of the dbt package ``clustereval``, for ``local:`` in ``packages.yml``."""
    return next(folder for folder in _FOLDERS if (folder / "dbt_project.yml").is_file())
