"""The 95% band of a law that is not identified, in a panel that it would hide."""

from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from harness.law.group_results import Analysis
from harness.report.figures import registry
from tests.report import made

NOT_IDENTIFIED = made.fitted("runs/hard", "hard", identified=False, ceiling=0.4, a=0.02)


def panels(analysis: Analysis) -> list[Axes]:
    (law,) = (d for d in registry.draw(analysis, False) if d.name == "entropy_law")
    return list(law.figure.axes)


def bands(axes: Axes) -> int:
    return sum(isinstance(part, PolyCollection) for part in axes.collections)


def test_a_band_that_would_hide_its_panel_is_left_out_and_the_dashed_line_stays() -> None:
    (axes,) = panels(made.analysis([NOT_IDENTIFIED]))
    assert bands(axes) == 0
    assert "--" in [line.get_linestyle() for line in axes.lines]


def test_a_band_with_an_edge_in_the_panel_is_drawn_though_a_is_not_identified() -> None:
    easy, hard = panels(made.analysis([made.fitted("runs/easy"), NOT_IDENTIFIED]))
    assert (bands(easy), bands(hard)) == (1, 1)
