"""Every table where Polars has a single thread, as on a machine of one core.

A function that waits in the thread of Polars for another one would never end there, nor on larger
machines where as many calls are collected at once as Polars has threads.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import registry

ROOT = Path(__file__).parent.parent
SECONDS = 120
CALLS = """
import faulthandler
import sys

import polars as pl

from tests.support.engines import make
from tests.support.key_types import KEY_TYPES
from tests.support.table_calls import calls_of_tables

faulthandler.dump_traceback_later(int(sys.argv[1]), exit=True)
assert pl.thread_pool_size() == 1
key_type = KEY_TYPES["Int64"]
# Of DataFrames, and repeated on LazyFrames in memory and streaming.
for table, call in calls_of_tables(len(key_type.values)).items():
    rows = call.outcome(make("polars"), key_type)
    assert isinstance(rows, list), rows
    print(table, flush=True)
"""


@pytest.mark.gate
def test_every_table_ends_with_one_thread() -> None:
    process = subprocess.run(
        [sys.executable, "-c", CALLS, str(SECONDS)],
        cwd=ROOT,
        env=os.environ | {"POLARS_MAX_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.stdout.split() == list(registry.tables()), process.stderr
    assert process.returncode == 0, process.stderr
