"""A figure: the reward at the end of each run, one bar a run."""

from collections.abc import Iterator, Sequence

from harness.report.figures import canvas
from harness.report.figures.canvas import Drawing
from harness.report.figures.figure_specs import FigureSpec, Subject

LAST = 10
"""Steps at the end whose mean is shown."""
Bars = Sequence[tuple[str, float]]


def select(subject: Subject) -> Iterator[tuple[str, Bars]]:
    """The mean of each run's last rewards; nothing where no run could be read."""
    series = subject.analysis.series.values()
    bars = [(one.run, float(one.reward[-LAST:].mean())) for one in series]
    if bars:
        yield "", bars


def draw(bars: Bars, name: str) -> Drawing:
    labels = [canvas.label(run) for run, _ in bars]
    heading = f"Mean reward R of the last {LAST} steps"
    grid = canvas.grid(heading, [""], 1, 0.3 * len(bars) + 0.6, labels)
    ((axes,),) = grid.panels
    places = range(len(bars))
    axes.barh(places, [reward for _, reward in bars], color=canvas.colour(0))
    axes.set_yticks(places, labels)
    axes.set_xlabel("R")
    rows = tuple({"run": run, "reward": reward} for run, reward in bars)
    return Drawing(name, grid.figure, ("run", "reward"), rows)


LAST_REWARDS = FigureSpec("last_rewards", "Mean reward at the end of each run.", select, draw)
