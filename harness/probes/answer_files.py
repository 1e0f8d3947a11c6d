"""The files of an answer: probe.json, readings.csv and the picture."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from harness.errors import ConfigError
from harness.probes import picture, results
from harness.probes.results import Probed
from harness.records import probe_answer
from harness.report import write as report
from harness.report.figures import probe as figure
from harness.report.tables import csv_files

READINGS = "readings.csv"


def refuse_others(out: Path, pictures: Sequence[str]) -> None:
    """Raise ConfigError where a file of `out` that is to be written over is none of a probe's."""
    if probe_answer.is_answer(out / probe_answer.FILE):
        return
    names = [probe_answer.FILE, READINGS]
    names += [f"{figure.NAME}.{kind}" for kind in (*pictures, "csv") if pictures]
    taken = next((name for name in names if os.path.lexists(out / name)), None)
    if taken is not None:
        rule = "must be without such files, or hold a probe's earlier answer, which is overwritten"
        raise ConfigError(f"--out: {rule}, got {str(out)!r}, whose {taken} is another file")


def write(probed: Probed, out: Path, pictures: Sequence[str]) -> None:
    """Write the answer over what was there; without `pictures` none is drawn, and an earlier one,
    which would contradict it, is taken away. Raises StorageError.
    """
    panels = picture.panels(probed) if pictures else []
    drawn = partial(figure.draw, picture.heading(probed), panels) if panels else None
    value = json.dumps(probed.to_json(), indent=1, allow_nan=False)
    table = csv_files.table(results.COLUMNS, results.rows(probed))
    texts = {probe_answer.FILE: value + "\n", READINGS: table}
    report.write_drawing(drawn, figure.NAME, out, pictures, texts)
