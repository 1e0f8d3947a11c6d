"""Charts of single runs: their legends name what is drawn, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.law.result_parts import AnchorRewards, BoundedEstimate, Yardsticks
from harness.law.results import Interval
from harness.report.figures import onset_by_difficulty, reward_by_listening
from harness.report.html import mark_charts
from harness.report.html.plot import Chart


def legend(chart: Chart) -> list[str]:
    return [entry.text for entry in chart.legend]


def onset(
    level: str, difficulty: float, null_control: bool = False
) -> onset_by_difficulty.OnsetPoint:
    card = Interval(difficulty, difficulty - 0.1, difficulty + 0.1)
    measures = dict.fromkeys(onset_by_difficulty.MEASURES, card)
    return onset_by_difficulty.OnsetPoint(level, level, null_control, measures, 0.5, 0.4, 0.6)


def test_null_controls_are_named_where_there_are_some() -> None:
    real = [onset("easy", 0.2), onset("hard", 0.6)]
    drawn = ["onset, 95% interval", "difficulty of the level, 95% interval"]
    assert legend(mark_charts.by_difficulty(real)) == ["hard", "easy", *drawn]
    with_null = [*real, onset("hard", 0.6, null_control=True)]
    assert "null control" in legend(mark_charts.by_difficulty(with_null))


@pytest.mark.parametrize("onset_at", [0.5, None])
def test_many_runs_stand_within_the_panel_and_next_to_their_own_level(
    onset_at: float | None,
) -> None:
    marks = [
        replace(onset(level, difficulty), run=f"{level}-{seed}", onset=onset_at)
        for level, difficulty in (("easy", 0.2), ("medium", 0.4), ("hard", 0.6))
        for seed in range(40)
    ]
    (panel,) = mark_charts.by_difficulty(marks).columns[0]
    assert panel.x.low <= 0.1
    assert panel.x.high >= 0.7
    for points, difficulty in zip(panel.hovered, (0.2, 0.4, 0.6), strict=True):
        assert len({*points.x}) == 40
        assert max(abs(x - difficulty) for x in points.x) < 0.1
        assert min(points.x) > panel.x.low
        assert max(points.x) < panel.x.high
        assert max(points.y) < panel.y.high


LISTENS = reward_by_listening.ListeningPoint(
    "one", "easy", Yardsticks(0.7, 0.5, None, None, None, AnchorRewards()), "listens"
)


@pytest.mark.parametrize(
    ("anchors", "verdict", "named"),
    [
        (AnchorRewards(), "listens", []),
        (AnchorRewards(), "deaf", ["does not listen (template or deaf)"]),
        (AnchorRewards(deaf=BoundedEstimate(0.6, 0.5, 0.7)), "listens", ["best deaf schedule"]),
        (
            AnchorRewards(
                deaf=BoundedEstimate(0.6, 0.5, 0.7),
                attentive=BoundedEstimate(0.8, 0.7, 0.9),
                attentive_listening=1.4,
                optimum=BoundedEstimate(0.9, 0.9, 0.9),
            ),
            "template",
            [
                "does not listen (template or deaf)",
                "attentive reference",
                "best deaf schedule",
                "optimum",
            ],
        ),
    ],
)
def test_references_are_named_where_the_card_has_them(
    anchors: AnchorRewards, verdict: str, named: list[str]
) -> None:
    mark = replace(LISTENS, end=replace(LISTENS.end, anchors=anchors), verdict=verdict)
    assert legend(mark_charts.by_listening([mark])) == ["easy", *named]
