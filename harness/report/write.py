"""Write the results folders of an analysis, a calibration and a study: JSON, tables and figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any

from harness.errors import PlugInError
from harness.law import law_json as as_json
from harness.law.compare.study_outcome import StudyOutcome
from harness.law.group_results import Analysis
from harness.records import atomic
from harness.report import formats
from harness.report.figures import canvas, demo, levels, power, registry, study
from harness.report.figures.canvas import Drawing
from harness.report.figures.registry import PictureTask
from harness.report.formats import Formats
from harness.report.tables import csv_files, result_files, typeset
from harness.utils import process_pool
from harness.utils.process_pool import SubmittedWork

FIGURES = ("auto", "all", "none")
ON_SCREEN = formats.formats()
LEFT_TO_OTHERS = 4
"""Number of figures left to the pool: importing matplotlib here takes longer than drawing one."""
Drawn = SubmittedWork[PictureTask, Mapping[str, bytes] | PlugInError]
"""Figures as file name -> content, or the error of a plug-in that could not draw its figure."""


def write_results(
    analysis: Analysis, out: Path, figures: str, wanted: Formats = ON_SCREEN
) -> list[Path]:
    """Write an analysis and its figures in one process."""
    return write_analysis(analysis, out, begin_figures(analysis, figures, None, wanted), wanted)


def begin_figures(
    analysis: Analysis, figures: str, pool: Executor | None = None, wanted: Formats = ON_SCREEN
) -> Drawn:
    """Begin to draw the figures in processes of `pool`, while this process goes on.

    `figures`: auto (each run if there are at most 24, else medians over runs), all (each run in any
    case) or none. Raises ValueError for another `figures`.
    """
    if figures not in FIGURES:
        raise ValueError(f"figures must be one of {', '.join(FIGURES)}, got {figures!r}")
    files = partial(_files, wanted)
    if figures == "none":
        return SubmittedWork(files, [], [])
    process_pool.prepare(
        pool, "harness.report.figures.matplotlib_loader"
    )  # imports matplotlib while figures are selected here
    return process_pool.submit(pool, files, registry.select_pictures(analysis, figures == "all"))


def write_analysis(
    analysis: Analysis, out: Path, drawn: Drawn, wanted: Formats = ON_SCREEN
) -> list[Path]:
    """Write the analysis into `out`, each file atomically. Equal analyses give equal bytes.

    Returns the paths written. Raises StorageError and, after everything else is written,
    PlugInError for figures of plug-ins that could not be drawn.
    """
    with atomic.storage_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        earlier = _earlier(out)
    written = [out / result_files.VALUES, out / f"{result_files.RUNS}.csv"]
    atomic.write_text(written[0], law_json(analysis))
    atomic.write_text(written[1], csv_files.law_csv(analysis))
    if any(group.contrasts for group in analysis.groups):
        written.append(out / "contrasts.csv")
        atomic.write_text(written[-1], csv_files.contrasts_csv(analysis))
    tables = {"transfer.csv": csv_files.transfer_csv, "listening.csv": csv_files.listening_csv}
    for name, make_table in tables.items():
        table = make_table(analysis)
        if table is not None:
            written.append(out / name)
            atomic.write_text(written[-1], table)
    for name, text in typeset.typeset_files(analysis, wanted.tables).items():
        written.append(out / name)
        atomic.write_text(written[-1], text)
    failed = []
    for figure in drawn.results(LEFT_TO_OTHERS):
        if isinstance(figure, PlugInError):
            failed.append(str(figure))
            continue
        for name, content in figure.items():
            written.append(out / name)
            atomic.write_bytes(written[-1], content)
    with atomic.storage_errors(out):
        for path in earlier - set(written):
            path.unlink()
    if failed:
        raise PlugInError("; ".join(failed))
    return written


def law_json(analysis: Analysis) -> str:
    """Return the analysis as JSON, one run per line. Missing values are null.

    Raises ValueError on NaN. Indented JSON would be three times as large, and json's fast encoder
    cannot indent.
    """
    parts = []
    for key, value in as_json.from_analysis(analysis).items():
        if isinstance(value, list) and value:
            lines = ",\n".join(json.dumps(entry, allow_nan=False) for entry in value)
            parts.append(f'"{key}": [\n{lines}\n]')
        else:
            parts.append(f'"{key}": {json.dumps(value)}')
    return "{" + ",\n".join(parts) + "}\n"


def _files(wanted: Formats, task: PictureTask) -> Mapping[str, bytes] | PlugInError:
    if not registry.is_of_plug_in(task):
        return _images(wanted, task)
    try:
        return _images(wanted, task)
    except Exception as error:
        return registry.failure(task.figure, error)


def _images(wanted: Formats, task: PictureTask) -> dict[str, bytes]:
    """Return the pictures, their numbers and, in a style without headings, the caption."""
    drawing = registry.draw_picture(task, wanted.style)
    numbers = csv_files.table(drawing.columns, drawing.rows)
    files = {f"{task.name}.{kind}": canvas.image(drawing.figure, kind) for kind in wanted.pictures}
    files[f"{task.name}.csv"] = numbers.encode("utf-8")
    if not wanted.style.has_headings:
        caption = canvas.caption(drawing.figure) + "\n"
        files[f"{task.name}.{registry.CAPTION}"] = caption.encode("utf-8")
    return files


def _earlier(out: Path) -> set[Path]:
    """Return the files of an earlier analysis in `out`, which the new law.json could contradict.

    Without a law.json the files are not ours, so none is returned.
    """
    if not (out / result_files.VALUES).is_file():
        return set()
    return {path for path in out.iterdir() if _is_ours(path.name)}


def _is_ours(name: str) -> bool:
    return result_files.is_table(name) or registry.is_file_of_a_figure(name)


def write_drawing(
    draw: Callable[[], Drawing] | None,
    name: str,
    out: Path,
    pictures: Sequence[str],
    texts: Mapping[str, str],
) -> list[Path]:
    """Write `texts` by file name, then the picture `name` in each format of `pictures`, with a CSV.

    Each file is written atomically, and equal values give equal bytes. Returns the paths written.
    Draws nothing if `draw` is None. The first of `texts` marks a folder as ours: if it is there
    already, this picture's files in other formats are removed, since they would contradict the new
    ones. Raises StorageError.
    """
    with atomic.storage_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        first = next(iter(texts), None)
        is_ours = first is not None and (out / first).is_file()
    files = {name: text.encode("utf-8") for name, text in texts.items()}
    if draw is not None:
        with canvas.use_style():
            drawing = draw()
        files[f"{name}.csv"] = csv_files.table(drawing.columns, drawing.rows).encode("utf-8")
        files |= {f"{name}.{kind}": canvas.image(drawing.figure, kind) for kind in pictures}
    for file, content in files.items():
        atomic.write_bytes(out / file, content)
    with atomic.storage_errors(out):
        for kind in (*canvas.KINDS, "csv") if is_ours else ():
            if f"{name}.{kind}" not in files:
                (out / f"{name}.{kind}").unlink(missing_ok=True)
    return [out / file for file in files]


def write_calibration(
    calibration: Mapping[str, Any], out: Path, pictures: Sequence[str] = ON_SCREEN.pictures
) -> list[Path]:
    """Write calibration.json, its picture and the picture's numbers. Raises StorageError."""
    texts = {"calibration.json": _indented(calibration)}
    draw = partial(levels.draw, calibration)
    return write_drawing(draw, levels.NAME, out, pictures, texts)


def write_measured(measured: Mapping[str, Any], out: Path, name: str) -> Path:
    """Write a measurement into the file `name` of `out`; return its path. Raises StorageError."""
    with atomic.storage_errors(out):
        out.mkdir(parents=True, exist_ok=True)
    path = out / name
    atomic.write_json(path, measured)
    return path


def write_plan(
    plan: Mapping[str, Any],
    plot: power.PowerPlot | None,
    out: Path,
    texts: Mapping[str, str],
    pictures: Sequence[str] = ON_SCREEN.pictures,
) -> list[Path]:
    """Write plan.json, its figure, the figure's numbers, and `texts` by file name.

    Raises StorageError.
    """
    draw = partial(power.draw, plot) if plot is not None else None
    return write_drawing(draw, power.NAME, out, pictures, {"plan.json": _indented(plan), **texts})


def write_demo(panels: Sequence[demo.DemoPanel], out: Path) -> Path:
    """Write the picture of the demo into the folder of its analysis. Return the path of the PNG.

    Raises StorageError.
    """
    draw = partial(demo.draw, panels)
    write_drawing(draw, demo.NAME, out, ON_SCREEN.pictures, {})
    return out / f"{demo.NAME}.png"


def write_study(
    outcome: StudyOutcome, out: Path, pictures: Sequence[str] = ON_SCREEN.pictures
) -> list[Path]:
    """Write result.json and the figure of the links. Raises StorageError."""
    draw = partial(study.draw, outcome)
    return write_drawing(draw, study.NAME, out, pictures, {"result.json": study_json(outcome)})


def study_json(outcome: StudyOutcome) -> str:
    """Return the outcome as `harness study --json` prints it. Raises ValueError on NaN."""
    return _indented(outcome.to_json())


def _indented(values: Mapping[str, Any]) -> str:
    return json.dumps(values, indent=1, allow_nan=False) + "\n"
