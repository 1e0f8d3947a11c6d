"""The charts of an analysis: the registry's figures, drawn from the numbers that it selects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harness.errors import PlugInError
from harness.law.group_results import Analysis
from harness.report.figures import registry
from harness.report.html import course_charts, group_charts, law_charts, mark_charts
from harness.report.html.plot import Chart

CHARTS: Mapping[str, Callable[[Any], Chart | None]] = {
    "entropy_law": law_charts.entropy_law,
    "entropy_curves": course_charts.entropy_curves,
    "residuals": course_charts.residual,
    "levels": group_charts.levels_chart,
    "forest": group_charts.comparison_chart,
    "onset_by_difficulty": mark_charts.by_difficulty,
    "reward_by_listening": mark_charts.by_listening,
}
"""Name of the figure in the registry -> the function that makes its chart."""


def charts(analysis: Analysis) -> tuple[list[Chart], list[str]]:
    """Return the charts in the registry's order, and the names of figures that have no chart."""
    if not analysis.series:
        return [], []
    chart_list, others = [], []
    for task in registry.select_pictures(analysis, every_run=False):
        if task.figure not in CHARTS or isinstance(task.numbers, PlugInError):
            others.append(task.name)
            continue
        chart = CHARTS[task.figure](task.numbers)
        if chart is not None:
            chart_list.append(chart)
    return chart_list, others
