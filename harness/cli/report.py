"""The report command: one HTML file that shows everything known of some runs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from harness.cli import exit_codes, options
from harness.config.run import SCHEMA
from harness.errors import EXIT_PARTIAL, ConfigError, DataError
from harness.law import analysis
from harness.law.diagnosis import diagnose
from harness.law.group_results import Analysis
from harness.law.io.columns import ColumnOptions
from harness.law.io.discover import is_folder
from harness.records import atomic, study_file
from harness.report.html import page
from harness.report.html.answer import ReportedStudy
from harness.report.html.page import Report
from harness.report.text import dropped_rows
from harness.study import last_look
from harness.utils import process_pool, safe_text

NAME = "report.html"
ENDINGS = (".html", ".htm")


@dataclass(frozen=True)
class ReportOptions:
    """Arguments of the command."""

    paths: tuple[Path, ...]
    out: Path | None
    reward: str | None = None
    entropy: str | None = None
    step: str | None = None
    reward_range: str | None = None
    """LOW,HIGH"""


def report(opts: ReportOptions, *, as_json: bool, pool: Executor | None = None) -> int:
    """Write the file. Return 0; 3 if a run could not be read; 65, with nothing written, if none
    could.

    The processes of `pool` help. Raises ConfigError for a file that may not be written.
    """
    reward_range = options.reward_range(opts.reward_range)
    out = _file(opts)
    choice = ColumnOptions(opts.reward, opts.entropy, None, opts.step, reward_range)
    analysed, members = analysis.analyse_with_members(opts.paths, choice, pool)
    readable = [run.status == "ok" for run in analysed.runs]
    for line in dropped_rows.lines(analysed):
        safe_text.say(line)
    if not any(readable):
        for line in dropped_rows.unreadable_runs(analysed):
            safe_text.say(line)
        safe_text.say("no run could be read, so nothing was written")
        return DataError.exit_code
    is_large = len(analysed.runs) >= process_pool.FEWEST_RUNS  # else the pool's start costs more
    helpers = pool if is_large else None
    studies, damaged = _studies(opts.paths, helpers)
    title = _title(opts.paths)
    html_report = page.report(
        title,
        opts.paths,
        analysed,
        studies,
        damaged,
        helpers,
        made_unix_s=time.time(),
        diagnoses=[*map(diagnose.diagnose_run, members)],
    )
    with atomic.storage_errors(out):
        out.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_bytes(out, html_report.content)
    _print(out, analysed, html_report, as_json)
    return 0 if all(readable) else EXIT_PARTIAL


def _file(opts: ReportOptions) -> Path:
    """Return the path of the report: --out, else report.html inside the first path if that is a
    folder, else report.html in the current folder.
    """
    first = opts.paths[0]
    out = opts.out or (first / NAME if is_folder(first) else Path(NAME))
    if out.suffix.lower() not in ENDINGS:
        raise ConfigError(f"--out: must name a file that ends in .html, got {str(out)!r}")
    if is_folder(out):
        raise ConfigError(f"--out: must name a file, got the folder {str(out)!r}")
    if opts.out is None and out.is_symlink():
        rule = "must not be a link unless it is named with --out"
        raise ConfigError(f"{out}: {rule}, got one to {out.readlink()}; name a file with --out")
    _refuse_other_file(out)
    return out


def _refuse_other_file(out: Path) -> None:
    """Raise ConfigError for an existing file that is not a report of ours. An earlier report is
    overwritten.
    """
    rule = "must be a new file or an earlier report of harness, since it is overwritten"
    try:
        if out.exists() and not page.is_report(out):
            raise ConfigError(f"--out: {rule}, got {str(out)!r}, which is another file")
    except OSError as error:
        why = error.strerror or error
        raise ConfigError(f"--out: {rule}, got {str(out)!r}: {why}") from error


def _studies(paths: Sequence[Path], pool: Executor | None) -> tuple[list[ReportedStudy], list[str]]:
    """Return the studies that are named or directly below a named folder, and why some cannot be
    read.
    """
    studies, damaged = [], []
    for root in _study_folders(paths):
        try:
            study_look = last_look.read(root, pool)
        except DataError as error:
            damaged.append(f"a study cannot be read: {error}")
            continue
        studies.append(
            ReportedStudy(study_look.study, study_look.stated, study_look.outcome, study_look.notes)
        )
    return studies, damaged


def _study_folders(paths: Sequence[Path]) -> list[Path]:
    """Return each study once, however often the paths lead to it."""
    return list({folder.resolve(): folder for folder in _named_studies(paths)}.values())


def _named_studies(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if not is_folder(path):
            continue
        if (path / study_file.FILE).is_file():
            yield path
            continue
        with atomic.storage_errors(path):
            below = sorted(entry for entry in path.iterdir() if not entry.is_symlink())
        yield from (entry for entry in below if (entry / study_file.FILE).is_file())


def _title(paths: Sequence[Path]) -> str:
    """Return the last parts of the paths. A report is sent to others, so it does not say where the
    runs were.
    """
    names = [path.resolve().name or str(path) for path in paths]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _print(out: Path, analysed: Analysis, html_report: Report, as_json: bool) -> None:
    size = len(html_report.content)
    with exit_codes.tolerate_closed_stdout():
        if as_json:
            description = {
                "schema": SCHEMA,
                "file": str(out),
                "bytes": size,
                "runs": len(analysed.runs),
                "conversations": html_report.conversations,
                "figures": list(html_report.charts),
                "notes": list(html_report.notes),
            }
            exit_codes.print_json(description)
            return
        print(safe_text.escape(str(out)))
    runs = f"{len(analysed.runs)} run{'s' * (len(analysed.runs) != 1)}"
    contents = f"{runs}, {html_report.conversations} conversations, {size / 1e6:.1f} MB"
    safe_text.say(f"{contents}; open it in a browser")
