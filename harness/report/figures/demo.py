"""The picture of the demo: H and R of each run in small multiples, the onset with its interval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.law.group_results import Analysis
from harness.law.results import Floats, Onset
from harness.report.figures import canvas
from harness.report.figures.canvas import Drawing
from harness.report.text import wording

if TYPE_CHECKING:  # canvas loads matplotlib, once there is something to draw
    from matplotlib.axes import Axes

NAME = "demo"
COLUMNS = ("run", "kind", "step", "low", "high", "entropy", "reward")
WIDTH, HEIGHT = 2.15, 4.7
"""Inches: width of a panel, height of the picture."""
TITLE_CHARACTERS, BECAUSE_LINES = 27, 3
TEXT = 7.5
"""Size of the text above a panel, in points."""
LINE = 1.25
"""Height of a line, relative to the size of its text."""
TITLE_AT = 8 + TEXT * LINE * (BECAUSE_LINES + 1) + 4
"""Distance of the name above its panel, in points."""
MOST_ENTROPY = float(np.log(8))
"""H of a policy that plays the eight strategies with equal probability, nats."""
H_COLOUR, R_COLOUR, ONSET_COLOUR = canvas.COLOURS[0], canvas.COLOURS[2], canvas.COLOURS[1]
WINDOW = 5
"""Window of the running median of H, in steps."""


@dataclass(frozen=True)
class DemoPanel:
    """A run of the demo."""

    title: str
    because: str
    """The settings that cause its behaviour."""
    steps: Floats
    entropy: Floats
    """H at every step, nats."""
    reward_steps: Floats
    reward: Floats
    """Reward on held-out users at each evaluation."""
    onset: Onset | None


def panels(analysis: Analysis, runs: Mapping[str, tuple[str, str]]) -> list[DemoPanel]:
    """Return a panel per run that has rows. `runs`: path of a run -> its title and its cause."""
    results = {run.run: run for run in analysis.runs}
    found_runs = [(path, words) for path, words in runs.items() if path in analysis.series]
    return [
        DemoPanel(
            title=title,
            because=because,
            steps=analysis.series[path].course_steps,
            entropy=analysis.series[path].course_entropy,
            reward_steps=analysis.series[path].steps,
            reward=analysis.series[path].reward,
            onset=results[path].onset,
        )
        for path, (title, because) in found_runs
    ]


def draw(demo_panels: Sequence[DemoPanel]) -> Drawing:
    """Draw one column per run, H above R, all on the same scales. Call it inside `use_style`."""
    from harness.report.figures.matplotlib_loader import FigureCanvasAgg
    from harness.report.figures.notebook_figure import NotebookFigure

    figure = NotebookFigure(
        figsize=(WIDTH * max(len(demo_panels), 2) + 0.4, HEIGHT), layout="constrained"
    )
    FigureCanvasAgg(figure)
    axes = figure.subplots(2, max(len(demo_panels), 1), squeeze=False, sharey="row")
    for column, panel in enumerate(demo_panels):
        top, bottom = axes[0][column], axes[1][column]
        _entropy(top, panel)
        _reward(bottom, panel)
        for panel_axes in (top, bottom):
            _onset(panel_axes, panel.onset)
            panel_axes.set_xlim(0, float(panel.steps.max()) * 1.02)
            panel_axes.locator_params(axis="x", nbins=4, integer=True)
        top.tick_params(labelbottom=False)
        _title(top, panel)
        bottom.set_xlabel("step")
    axes[0][0].set_ylabel("policy entropy H [nats]")
    axes[1][0].set_ylabel("reward R, held-out users")
    canvas.legend(figure, _entries(demo_panels))
    return Drawing(NAME, figure, COLUMNS, tuple(_rows(demo_panels)))


def _entropy(axes: Axes, panel: DemoPanel) -> None:
    axes.plot(panel.steps, panel.entropy, "-", color=H_COLOUR, lw=0.7, alpha=0.35)
    axes.plot(panel.steps, _smooth(panel.entropy), "-", color=H_COLOUR, lw=1.6)
    axes.set_ylim(0, MOST_ENTROPY * 1.04)


def _smooth(values: Floats) -> Floats:
    if len(values) < WINDOW:
        return values
    padded = np.pad(values, WINDOW // 2, mode="edge")
    medians: Floats = np.median(np.lib.stride_tricks.sliding_window_view(padded, WINDOW), axis=1)
    return medians


def _reward(axes: Axes, panel: DemoPanel) -> None:
    axes.plot(panel.reward_steps, panel.reward, "-", color=R_COLOUR, marker="o", ms=2.6, lw=1.2)
    axes.set_ylim(0, 1)


def _onset(axes: Axes, onset: Onset | None) -> None:
    if onset is None:
        return
    axes.axvspan(onset.low, onset.high, color=ONSET_COLOUR, alpha=0.16, lw=0, zorder=0)
    axes.axvline(onset.step, color=ONSET_COLOUR, ls=(0, (4, 2)), lw=1.5, zorder=1)


def _title(axes: Axes, panel: DemoPanel) -> None:
    """Write the name, the cause and the onset above the panel."""
    lines = canvas.wrap(panel.because, TITLE_CHARACTERS).split("\n")[:BECAUSE_LINES]
    because = "\n".join([*lines, *[""] * (BECAUSE_LINES - len(lines))])
    axes.set_title(f"{because}\n", fontsize=TEXT, color=canvas.INK, pad=8, linespacing=LINE)
    axes.annotate(
        _onset_words(panel.onset), (0, 1), xytext=(0, 5), xycoords="axes fraction",
        textcoords="offset points", fontsize=TEXT + 1, annotation_clip=False,
        color=canvas.GREY if panel.onset is None else ONSET_COLOUR,
    )  # fmt: skip
    axes.annotate(
        canvas.label(panel.title), (0, 1), xytext=(0, TITLE_AT), xycoords="axes fraction",
        textcoords="offset points", fontsize=11, weight="bold", color=canvas.INK,
    )  # fmt: skip


def _onset_words(onset: Onset | None) -> str:
    """Return the onset without its kind, which the panel's name states."""
    if onset is None:
        return "no onset"
    return f"from step {onset.step:.0f} {wording.step_interval(onset.low, onset.high)}"


def _entries(demo_panels: Sequence[DemoPanel]) -> canvas.Legend:
    entries: canvas.Legend = {
        "entropy H of each batch, with its running median": canvas.line(color=H_COLOUR),
        "reward R of held-out users": canvas.line(color=R_COLOUR, marker="o", ms=3),
    }
    if any(panel.onset is not None for panel in demo_panels):
        entries["onset"] = canvas.line(color=ONSET_COLOUR, ls=(0, (4, 2)))
        entries["its 95% interval"] = canvas.patch(color=ONSET_COLOUR, alpha=0.2, lw=0)
    return entries


def _rows(demo_panels: Sequence[DemoPanel]) -> Iterator[dict[str, Any]]:
    for panel in demo_panels:
        common = {"run": panel.title}
        for step, h in zip(panel.steps, panel.entropy, strict=True):
            yield {**common, "kind": "entropy", "step": step, "entropy": h}
        for step, r in zip(panel.reward_steps, panel.reward, strict=True):
            yield {**common, "kind": "reward", "step": step, "reward": r}
        if panel.onset is not None:
            onset = panel.onset
            yield {
                **common, "kind": onset.kind, "step": onset.step, "low": onset.low,
                "high": onset.high,
            }  # fmt: skip
