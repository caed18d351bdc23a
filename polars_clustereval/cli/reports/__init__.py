"""Reports: one record for each table that the command line can write.

A record contains everything that the command line knows about a table: its command, its function
and parameters, the tables from which it is computed, the descriptions of its columns, and its
layout on the terminal. The descriptions of scores come from the catalogue.
"""

from __future__ import annotations

from .findings import ALL_FINDINGS, FINDINGS
from .graphs import GRAPHS
from .labels import LABELS, OVERLAPPING, PAIR_LABELS
from .points import POINTS
from .profiles import PROFILES
from .record import Input, Meaning, Report, explain
from .runs import RUNS

__all__ = ["ALL_FINDINGS", "COMMANDS", "REPORTS", "Input", "Meaning", "Report", "explain"]

#: Every report by its name.
REPORTS = {
    report.name: report
    for report in (*FINDINGS, *LABELS, *POINTS, *PROFILES, *RUNS, *GRAPHS, OVERLAPPING, PAIR_LABELS)
}

#: The reports of each command. The command computes the first report unless its options ask for
#: another.
COMMANDS = {
    report.command: tuple(x for x in REPORTS.values() if x.command == report.command)
    for report in REPORTS.values()
}
