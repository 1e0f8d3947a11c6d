"""Charts of groups of runs, levels and links: a row a group, seeds as points, means as diamonds.

The numbers are those that harness.report.figures selects and draws as pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.law.compare.link_tests import SIGNS
from harness.law.compare.links import Judged
from harness.law.compare.study_outcome import Outcome
from harness.law.group_results import GroupResult
from harness.law.results import Bounded, Interval
from harness.report.figures import (
    canvas,
    forest,
    onset_by_difficulty,
    reward_by_listening,
)
from harness.report.figures import study as study_figure
from harness.report.figures.onset_by_difficulty import MEASURES, NO_ONSET
from harness.report.figures.reward_by_listening import Mark as Heard
from harness.report.html import plot
from harness.report.html.law_charts import DIAMOND, DOT, SAMPLE
from harness.report.html.plot import Axis, Chart, Entry, Hovered, Panel, Plot, axis, css, marker
from harness.report.tables import population
from harness.report.tables import study as study_table
from harness.report.text import wording
from harness.utils.safe_text import shortened

LABELS, ROW, MOST_ROWS, MOST_NAME = 132, 30, 40, 24
"""Width left for names of groups; height of a group; groups shown; characters of a name."""
REACH = 1.0
"""A mean's interval may widen the axis by this share of what the seeds span."""


@dataclass(frozen=True)
class _Mean:
    """A mean, with its interval as far as it is known."""

    value: float
    low: float | None
    high: float | None

    @property
    def told(self) -> str:
        if self.low is None or self.high is None:
            return f"mean {wording.number(self.value)}"
        return f"mean {wording.estimate(self.value, self.low, self.high)}"


@dataclass(frozen=True)
class _Row:
    """A group in one panel."""

    name: str
    slot: int
    seeds: Sequence[tuple[str, float, bool]]
    """What to call it, its value, whether it is open."""
    mean: _Mean | None
    why: str = ""
    """Why there is no mean."""


def _rows_panel(title: str, x: str, rows: Sequence[_Row], limits: canvas.Limits | None = None) -> Panel:
    """One row a group: its seeds above, their mean below."""
    count = len(rows)
    ticks = [(float(-at), shortened(row.name, MOST_NAME)) for at, row in enumerate(rows)]
    made = Plot(
        title, axis(x, limits or _around(rows)), Axis("", -count + 0.4, 0.6, tuple(ticks)),
        plot.TOP + plot.BOTTOM + ROW * max(count, 2), LABELS,
    )  # fmt: skip
    for at, row in enumerate(rows):
        for kind, shape, chosen in (("", marker(row.slot), False), (" hollow", plot.ARROW[">"], True)):
            values = [value for _, value, is_open in row.seeds if is_open is chosen]
            made.dots(f"{css(row.slot)}{kind}", values, [-at + 0.15] * len(values), shape)
        made.hover(
            Hovered(
                row.name, [value for _, value, _ in row.seeds], [-at + 0.15] * len(row.seeds),
                row.slot,
                words=[f"{who}: {value:.3g}{', none' * is_open}" for who, value, is_open in row.seeds],
            )
        )  # fmt: skip
        _mean(made, row, -at - 0.2)
    return made.panel()


def _mean(made: Plot, row: _Row, at: float) -> None:
    if row.mean is None:
        if not row.seeds:
            made.words("note", (made.x.low + made.x.high) / 2, at + 0.1, row.why or "no data")
        return
    mean, low, high = row.mean, made.x.low, made.x.high
    ends = [mean.low, mean.high]
    if ends[0] is not None or ends[1] is not None:
        left, right = (edge if end is None else end for end, edge in zip(ends, (low, high), strict=True))
        made.line("thick ink", [max(left, low), min(right, high)], [at, at])
        for end, edge, head, beyond in ((left, low, "<", left < low), (right, high, ">", right > high)):
            if beyond or end == edge:
                made.dots("ink", [edge], [at], plot.ARROW[head])
    middle = min(max(mean.value, low), high)
    made.dots("ink", [middle], [at], DIAMOND)
    made.hover(Hovered(row.name, [middle], [at], row.slot, words=[mean.told]))


def _around(rows: Sequence[_Row]) -> canvas.Limits:
    """Round the seeds and means, and the intervals as far as REACH lets them."""
    values = np.array([value for row in rows for _, value, _ in row.seeds])
    means = [row.mean for row in rows if row.mean is not None]
    ends = [end for m in means for end in (m.value, m.low, m.high) if end is not None]
    if not len(values):
        return canvas.limits([np.array(ends)])
    air = REACH * (float(np.ptp(values)) or max(abs(float(values[0])), 0.1))
    return canvas.limits([values, np.clip(np.array(ends), values.min() - air, values.max() + air)])


def _of(number: Interval | Bounded | None) -> _Mean | None:
    return None if number is None else _Mean(number.value, number.low, number.high)


SEED_AND_MEAN = (
    Entry("dot ink", DOT + plot.MARKERS[0], "one seed"),
    Entry("dot ink", DOT + DIAMOND, "over seeds"),
    Entry("line thick ink", SAMPLE, "95% interval"),
)


def compared(groups: Sequence[GroupResult]) -> Chart:
    """The groups by each quantity that they are compared by."""
    shown = groups[:MOST_ROWS]
    columns = []
    for quantity in forest.PANELS:
        rows = []
        for slot, group in enumerate(shown):
            numbers = group.compared
            if numbers is None:
                continue
            pooled = numbers.mean(quantity)
            mean = None if pooled.mean is None else _Mean(pooled.mean, pooled.low, pooled.high)
            rows.append(_Row(population.name(group), slot, list(_seeds(group, quantity)), mean))
        limits = (-0.03, 1.06) if quantity == "onset" else None
        on = shown[0].compared.on if shown[0].compared else None
        title, unit = _quantity(quantity, on)
        columns.append((_rows_panel(title, unit, rows, limits),))
    heading = forest.HEADING
    if len(groups) > len(shown):
        heading += f": {len(shown)} of {len(groups)} groups"
    none = Entry("dot ink hollow", DOT + plot.ARROW[">"], "no onset: counted as the end of the run")
    return Chart("forest", heading, tuple(columns), (*SEED_AND_MEAN, none))


def _quantity(quantity: str, on: str | None) -> tuple[str, str]:
    """The title of its panel and the unit on its axis."""
    where = f" on {on}" if on else ""
    return {
        "a": (f"a{where}", "a (reward per unit of exp H)"),
        "ceiling": (f"ceiling b - a{where}", "reward"),
        "gain": (f"gain of reward{where}", "reward"),
        "fall": ("fall of entropy H on visited states", "nats"),
        "onset": ("onset of collapse", "share of the run"),
    }[quantity]


def _seeds(group: GroupResult, quantity: str) -> Iterator[tuple[str, float, bool]]:
    assert group.compared is not None
    for seed in group.compared.seeds:
        who = seed.run if seed.seed is None else f"seed {seed.seed}"
        if quantity == "onset":
            yield who, seed.reached if seed.onset is None else seed.onset, seed.onset is None
        elif (value := seed.number(quantity)) is not None:
            yield who, value.value, False


def levels(groups: Sequence[GroupResult]) -> Chart:
    """What the seeds of each level say of all seeds."""
    shown = groups[:MOST_ROWS]
    told = [(slot, population.name(group), population.answers(group)) for slot, group in enumerate(shown)]
    follows = [
        _Row(
            name, slot,
            [*[("follows the law", 1.0, False)] * of.follows.followers,
             *[("does not", 0.0, False)] * of.follows.others],
            _of(of.follows.share),
        )
        for slot, name, of in told
    ]  # fmt: skip
    ceilings = [
        _Row(
            name, slot, [(_who(run.run, run.seed), run.own.value, False) for run in of.law.ceiling.runs],
            _of(of.law.ceiling.mean), population.WHY.get(of.law.ceiling.why or "", "not known"),
        )
        for slot, name, of in told
    ]  # fmt: skip
    onsets = [
        _Row(
            name, slot, [(_who(run.run, run.seed), run.step, not run.collapsed) for run in of.onset.runs],
            _of(of.onset.parametric.median),
        )
        for slot, name, of in told
    ]  # fmt: skip
    last = max((of.onset.last_step or 1.0 for _, _, of in told), default=1.0)
    columns = (
        (_rows_panel("share of seeds that follow the law", "P(law)", follows, (-0.06, 1.06)),),
        (_rows_panel("ceiling b - a", "reward at H = 0", ceilings),),
        (_rows_panel("onset of collapse", "step", onsets, (0.0, 1.03 * last)),),
    )
    none = Entry("dot ink hollow", DOT + plot.ARROW[">"], "no onset until its last step")
    return Chart("levels", "Levels over their seeds", columns, (*SEED_AND_MEAN, none))


def _who(run: str, seed: int | None) -> str:
    return run if seed is None else f"seed {seed}"


def by_difficulty(marks: Sequence[onset_by_difficulty.Mark]) -> Chart:
    """Where collapse begins, against how demanding the level measurably is."""
    order = sorted(marks, key=lambda mark: -mark.difficulty["population_final_emotion"].value)
    names = list(dict.fromkeys(mark.level for mark in order))
    columns = []
    heights = [*((v, f"{v:g}") for v in (0.0, 0.25, 0.5, 0.75, 1.0)), (NO_ONSET + 0.05, "none")]
    for measure, title in MEASURES.items():
        of = {mark.run: mark.difficulty[measure] for mark in marks}
        ends = np.array([end for one in of.values() for end in (one.low, one.high)])
        made = Plot(
            title, axis(title, canvas.limits([ends])),
            Axis("onset, share of the run", 0.0, 1.15, tuple(heights)),
        )  # fmt: skip
        for slot, level in enumerate(names):
            here = [mark for mark in marks if mark.level == level]
            _level_marks(made, here, of, slot)
        columns.append((made.panel(),))
    null = Entry("dot ink hollow", DOT + plot.MARKERS[0], "null control")
    return Chart(
        "onset_by_difficulty", onset_by_difficulty.HEADING, tuple(columns),
        (*_named(names), null),
    )  # fmt: skip


def _level_marks(
    made: Plot, here: Sequence[onset_by_difficulty.Mark], of: Mapping[str, Interval], slot: int
) -> None:
    apart = 0.02 * (made.x.high - made.x.low)
    places, heights, words = [], [], []
    for at, mark in enumerate(here):
        x = of[mark.run].value + (at - (len(here) - 1) / 2) * apart
        y = NO_ONSET + 0.05 if mark.onset is None else mark.onset
        if mark.low is not None and mark.high is not None:
            made.line(f"thin {css(slot)}", [x, x], [mark.low, mark.high])
        made.dots(f"{css(slot)}{' hollow' * mark.null_control}", [x], [y], marker(slot))
        onset = "no onset" if mark.onset is None else f"onset at {mark.onset:.2f} of the run"
        places.append(x)
        heights.append(y)
        words.append(f"{mark.run}: {onset}; {wording.interval(of[mark.run])}")
    made.hover(Hovered(here[0].level, places, heights, slot, words=words))


def by_listening(marks: Sequence[Heard]) -> Chart:
    """What policies hear and what it earns them, beside the references of their level."""
    names = list(dict.fromkeys(mark.level for mark in marks))
    columns = tuple(
        (_listening(level, [mark for mark in marks if mark.level == level], slot),)
        for slot, level in enumerate(names)
    )
    entries = [
        Entry("dot ink hollow", DOT + plot.MARKERS[0], "does not listen (template or deaf)"),
        Entry("dot ink", DOT + plot.STAR, "attentive reference"),
        Entry("line grey dashed", SAMPLE, "best deaf schedule"),
        Entry("line grey dotted", SAMPLE, "optimum"),
    ]
    return Chart("reward_by_listening", reward_by_listening.HEADING, columns, (*_named(names), *entries))


def _listening(level: str, marks: Sequence[Heard], slot: int) -> Panel:
    anchors = next((m.end.anchors for m in marks if m.end.anchors.deaf), marks[0].end.anchors)
    there = [
        (mark, mark.end.listening, mark.end.reward)
        for mark in marks
        if mark.end.listening is not None and mark.end.reward is not None
    ]
    star = (anchors.attentive_listening, anchors.attentive)
    heard = [0.0, *(x for _, x, _ in there), *([star[0]] if star[0] is not None else [])]
    known = [one.value for one in (anchors.deaf, anchors.attentive, anchors.optimum) if one]
    rewards = [*(y for _, _, y in there), *known]
    made = Plot(
        level, axis("listening, nats", canvas.limits([np.array(heard)])),
        axis("reward", canvas.limits([np.array(rewards)])),
    )  # fmt: skip
    for reference, kind in ((anchors.deaf, "dashed"), (anchors.optimum, "dotted")):
        if reference is not None:
            made.across(f"grey {kind}", reference.value)
    if star[0] is not None and star[1] is not None:
        made.dots("ink", [star[0]], [star[1].value], plot.STAR)
    for mark, x, y in there:
        hollow = " hollow" * (mark.verdict in reward_by_listening.WORDS)
        made.dots(f"{css(slot)}{hollow}", [x], [y], marker(slot))
    words = [f"{mark.run}: reward {y:.3g}, listening {x:.3g}" for mark, x, y in there]
    made.hover(Hovered(level, [x for _, x, _ in there], [y for _, _, y in there], slot, words=words))
    return made.panel()


def _named(names: Sequence[str]) -> list[Entry]:
    return [
        Entry(f"dot {css(slot)}", DOT + marker(slot), name, slot) for slot, name in enumerate(names)
    ]


def links(outcome: Outcome) -> Chart:
    """The links of a study: each pair's difference, their mean, and the side that was stated."""
    shown = [*outcome.links, *outcome.checks]
    entries = (
        Entry("dot s0", DOT + plot.MARKERS[0], "one seed"),
        Entry("dot ink", DOT + DIAMOND, "mean"),
        Entry("line thick ink", SAMPLE, "95% interval"),
        Entry("band stated", "M2 2h16v10h-16z", "what the link states"),
        Entry("line grey dotted", SAMPLE, "the smallest difference that matters"),
    )
    columns = tuple((_link(judged),) for judged in shown)
    return Chart(study_figure.NAME, "Links and checks: the difference of each pair of runs", columns, entries)


def _link(judged: Judged) -> Panel:
    link, sign = judged.link, SIGNS[judged.link.direction]
    values = [0.0, sign * link.margin, *judged.by_seed.values()]
    if judged.judged is not None:
        values += [judged.judged.low, judged.judged.high]
    minus = f" minus {link.against}" if link.against else ""
    made = Plot(
        f"{link.name}: {judged.verdict}",
        axis(f"{study_table.measured(link)}: {link.arm}{minus}", canvas.limits([np.array(values)], 0.15)),
        Axis("", -0.6, 0.6, ()), 128, 12,
    )  # fmt: skip
    made.area("stated", (0.0, made.x.high) if sign > 0 else (made.x.low, 0.0))
    made.upright("grey", 0.0)
    made.upright("grey dotted", sign * link.margin)
    seeds, at = list(judged.by_seed), list(judged.by_seed.values())
    heights = [0.22 + 0.09 * (place % 3 - 1) for place in range(len(at))]
    made.dots("s0", at, heights, marker(0))
    made.hover(Hovered("pair", at, heights, 0, words=[f"seed {s}: {v:.3g}" for s, v in zip(seeds, at, strict=True)]))
    if judged.judged is not None:
        mean = judged.judged
        made.line("thick ink", [mean.low, mean.high], [-0.25, -0.25])
        made.dots("ink", [mean.value], [-0.25], DIAMOND)
        made.hover(Hovered("mean", [mean.value], [-0.25], 0, words=[wording.interval(mean)]))
    elif not at:
        made.words("note", (made.x.low + made.x.high) / 2, 0.0, "no data")
    return made.panel()
