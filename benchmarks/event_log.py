"""What a Spark application wrote into its event log: the bytes that each stage shuffled."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass
class Stage:
    """A stage: the job group that it ran for, and the sums over its tasks."""

    job_group: str | None
    shuffled_bytes: int = 0
    input_records: int = 0
    executors: set[str] = field(default_factory=set)


def read_stages(folder: Path) -> list[Stage]:
    """Return the stages that ran tasks, of all applications that log into a folder."""
    stages: dict[int, Stage] = {}
    for event in _read_events(folder):
        if event["Event"] == "SparkListenerJobStart":
            group = event.get("Properties", {}).get("spark.jobGroup.id")
            for number in event["Stage IDs"]:
                stages.setdefault(number, Stage(group))
        elif event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics"):
            stage, metrics = stages[event["Stage ID"]], event["Task Metrics"]
            stage.shuffled_bytes += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
            stage.input_records += metrics["Input Metrics"]["Records Read"]
            stage.executors.add(event["Task Info"]["Executor ID"])
    return [stage for stage in stages.values() if stage.executors]


def _read_events(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the events of a folder of logs, which may still be written to."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if path.name.startswith((".", "appstatus")) or "warehouse" in path.parts:
            continue
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.endswith("}"):  # the last one may be cut
                yield json.loads(line)
