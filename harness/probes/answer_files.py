"""The files of an answer: probe.json, readings.csv and the picture."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from harness.probes import picture, results
from harness.probes.results import Probed
from harness.records import probe_answer
from harness.report import write as report
from harness.report.figures import probe as figure
from harness.report.tables import csv_files


def write(probed: Probed, out: Path, pictures: Sequence[str]) -> None:
    """Write the answer over what was there; without `pictures` none is drawn, and an earlier one,
    which would contradict it, is taken away. Raises StorageError.
    """
    panels = picture.panels(probed) if pictures else []
    drawn = partial(figure.draw, picture.heading(probed), panels) if panels else None
    value = json.dumps(probed.to_json(), indent=1, allow_nan=False)
    table = csv_files.table(results.COLUMNS, results.rows(probed))
    texts = {probe_answer.FILE: value + "\n", "readings.csv": table}
    report.write_drawing(drawn, figure.NAME, out, pictures, texts)
