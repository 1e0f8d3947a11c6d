"""The answer as it is printed."""

from __future__ import annotations

import io

from rich.console import Console

from harness.law.group_results import Analysis
from harness.report.tables.summary import print_analysis


def printed(analysis: Analysis, explain: bool = False, width: int = 80) -> str:
    stream = io.StringIO()
    print_analysis(analysis, Console(file=stream, width=width, safe_box=True), explain)
    lines = [line.rstrip() for line in stream.getvalue().replace("\u2500", "-").splitlines()]
    return "\n".join(lines) + "\n"
