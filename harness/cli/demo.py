"""The demo command: train a run for each regime, judge them, and draw them in one picture."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from harness.cli import exit_codes, status
from harness.demo import folder, outcome
from harness.demo.constructions import CONSTRUCTIONS, Construction
from harness.demo.outcome import DemoResult
from harness.errors import EXIT_PARTIAL, StoppedError
from harness.execution import gpu_lease, preflight, user_validity
from harness.execution import sweep as sweeps
from harness.law import analysis
from harness.law.group_results import Analysis
from harness.records import plain_file
from harness.report import write
from harness.utils import safe_text


def demo(
    target: Path | None,
    *,
    as_json: bool,
    constructions: Sequence[Construction] = CONSTRUCTIONS,
) -> int:
    """Run and judge the demo; return 0, 3 if a run failed or shows another regime, 75 if stopped.

    Raises ConfigError for a folder that holds anything else, with nothing created.
    """
    root = target.resolve() if target else folder.default()
    plain_file.refuse_link(target or root)
    plain_file.refuse_link(root / folder.RESULTS)
    points = {construction.name: construction.point() for construction in constructions}
    folder.refuse_other(root, points)
    configs = [point.config for point in points.values()]
    gpu_lease.check(configs)
    preflight.check(configs)
    user_validity.check(configs)
    preflight.check_disk_space(configs, root)
    planned = folder.create_or_complete(root, points)
    if any(row.status != "done" for row in planned.runs):
        safe_text.say(f"{len(planned.runs)} runs in {root}: about a minute on two cores")
    ledger, code = sweeps.execute(root)
    if code == StoppedError.exit_code:
        safe_text.say("demo stopped; repeat the command to continue")
        return code
    analysed = analysis.analyse([root])
    results = outcome.judge_runs(constructions, ledger, analysed)
    picture = _write(results, analysed, root / folder.RESULTS)
    with exit_codes.tolerate_closed_stdout():
        if as_json:
            exit_codes.print_json(outcome.to_json(results, root, picture))
        else:
            _print(results, root, picture)
    for line in status.failures(ledger):
        safe_text.say(line)
    return code or (0 if all(result.as_constructed for result in results) else EXIT_PARTIAL)


def _write(results: Sequence[DemoResult], analysed: Analysis, out: Path) -> Path:
    """Write law.json and its tables, and the picture; returns the path of the picture."""
    write.write_results(analysed, out, "none")
    return write.write_demo(outcome.panels(results, analysed), out)


def _print(results: Sequence[DemoResult], root: Path, picture: Path) -> None:
    console = Console()
    for line in outcome.lines(results, console.width):
        console.print(safe_text.text(line), soft_wrap=True)
    hints = (
        f"picture: {picture}",
        f"conversations: harness view {shlex.quote(str(root / results[0].construction.name))}",
        f"all figures and tables: harness fit-entropy-law {shlex.quote(str(root))} --tables",
    )
    for line in hints:
        console.print(safe_text.text(line), soft_wrap=True)
