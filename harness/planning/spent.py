"""Hours that runs took, by their events."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from harness.law.variance.runs import Outcome
from harness.planning.pilot import Spent
from harness.records import plain_file
from harness.records.run_folder import RunFolder

HOUR = 3600.0


def mean(folders: Sequence[Path], outcomes: Sequence[Outcome], gpus: int) -> Spent | None:
    """Of a run, mean over the seeds; None where the events do not tell."""
    known = [one.spent for one in outcomes if one.spent is not None]
    if not known:
        return None
    walls = [wall for wall in map(_wall_s, folders) if wall is not None] if gpus else []
    return Spent(
        training_h=float(np.mean([one.training for one in known])) / HOUR,
        evaluating_h=float(np.mean([one.evaluating for one in known])) / HOUR,
        is_cpu=all(one.is_cpu for one in known),
        gpu_h=gpus * float(np.mean(walls)) / HOUR if walls else None,
    )


def _wall_s(folder: Path) -> float | None:
    """Seconds of all phases of a run's steps: so long it held its GPU, waits before it left out."""
    total = 0.0
    try:
        with open(RunFolder(folder).events, "rb", opener=plain_file.opener) as file:
            for line in file:
                with contextlib.suppress(ValueError, RecursionError, TypeError, AttributeError):
                    event = json.loads(line)
                    if event.get("event") == "step" and not event.get("replayed"):
                        total += sum(float(seconds) for seconds in event["seconds"].values())
    except OSError:
        return None
    return total or None
