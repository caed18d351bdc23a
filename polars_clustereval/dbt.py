"""dbt: a dbt-duckdb plugin that makes the macros available to all models and tests.

Add the plugin to ``profiles.yml``, below the output of type duckdb::

    plugins:
      - module: polars_clustereval.dbt

The generic tests are in the dbt package ``clustereval``, which is the folder that `package_folder`
returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

try:
    from dbt.adapters.duckdb.plugins import BasePlugin
    from dbt_common.exceptions import DbtRuntimeError
except ImportError as error:
    raise ImportError(
        "the dbt plugin needs dbt-duckdb: pip install 'polars_clustereval[dbt]'"
    ) from error

from .errors import ClusterEvalError
from .macros import attach_macros, find_folder

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

__all__ = ["Plugin", "package_folder"]


class Plugin(BasePlugin):
    """A dbt-duckdb plugin that attaches the macros as a database named ``clustereval``.

    Models, tests, hooks and snapshots can call ``clustereval.external_report`` and the other macros
    on all threads. Nothing is written to the database of your project. The plugin raises an error
    if your database, or a schema in it, is named ``clustereval``.
    """

    def configure_connection(self, conn: duckdb.DuckDBPyConnection) -> None:
        """Attach the macros to the connection whose cursors execute the models."""
        try:
            attach_macros(conn)
        except ClusterEvalError as error:
            # dbt prints only the text of its own errors, but a traceback for other errors.
            raise DbtRuntimeError(f"clustereval: {error}") from error


def package_folder() -> Path:
    """Return the folder of the dbt package ``clustereval``, for ``local:`` in ``packages.yml``."""
    return find_folder("dbt_package", "dbt_project.yml")
