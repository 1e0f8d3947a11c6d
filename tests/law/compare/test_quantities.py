"""The quantities that groups and arms are compared by, of runs whose course is known."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.law.compare import link_observations, quantities, study_arms, worst_case
from harness.law.compare.claims import DEFAULT_MARGINS
from harness.law.compare.comparison_basis import ComparisonBasis, horizon
from harness.law.compare.groups import Member
from harness.law.compare.quantities import CONTRASTED, NATS, OLD_NAMES, QUANTITIES, STUDIED
from harness.law.compare.replicates import ENDS, ProbeCourse, Replicate
from harness.law.compare.study_arms import ArmRuns
from harness.law.io.clean import Points
from harness.law.io.columns import ColumnSeries
from harness.law.io.identity import FolderIdentity
from harness.law.results import Floats, Onset, RunResult
from harness.records.study_file import EVALUATION, Link

DOCS = Path(__file__).parents[3] / "docs"
STEPS = 100
PLANNED = FolderIdentity({"trainer": {"steps": STEPS}})
FOOTING = ComparisonBasis(EVALUATION)
LINK = Link("linked", "probe_fall", "hard", "medium", "more", 0.1)


def run(last: int = STEPS, slope: float = 0.01, every: int = 1) -> Replicate:
    """H on the probe sinks from 2, and R rises from 0, by `slope` at each of `last` steps; H on the
    states visited lies 0.5 lower.
    """
    steps = np.arange(1.0, last + 1)
    evaluated = steps[::every]
    moved = slope * (evaluated - 1)
    return Replicate(
        points={EVALUATION: Points(evaluated, 1.5 - moved, moved)},
        on_probe={EVALUATION: Points(evaluated, 2 - moved, moved)},
        course=ColumnSeries(steps, 1.5 - slope * (steps - 1)),
        last_step=float(last),
        ends={name: ColumnSeries(steps, slope * steps) for name in ENDS},
    )


def member(replicate: Replicate, *nulls: Replicate, onset: Onset | None = None) -> Member:
    result = RunResult("run", "ok", None, len(replicate.course), {}, onset=onset)
    return Member(result, PLANNED, replicate, nulls)


def number(name: str, of: Member, basis: ComparisonBasis = FOOTING) -> float | None:
    value = QUANTITIES[name].value(of, basis)
    return None if value is None else value.value


def net(name: str, of: Member) -> float | None:
    value = quantities.net_of_null(QUANTITIES[name], of, FOOTING)
    return None if value is None else value.value


def test_docs_describe_every_quantity_once_and_as_the_table_has_it() -> None:
    page = (DOCS / "studies.md").read_text(encoding="utf-8")
    section = page.split("\n## Quantities\n")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
    described = {name.strip(" `"): [cell.strip() for cell in cells] for name, *cells in rows}
    assert list(described) == list(QUANTITIES)
    for name, (words, unit, compared_by, net_of_null) in described.items():
        quantity = QUANTITIES[name]
        assert re.match(rf"{quantity.words}\b", words)
        assert unit == quantity.unit
        users = {"contrasts": name in CONTRASTED, "links": name in STUDIED}
        assert compared_by == ", ".join(user for user, compares in users.items() if compares)
        assert net_of_null == ("yes" if quantity.null else "no")
    for old, name in OLD_NAMES.items():
        assert f"`{old}` " in section
        assert name in STUDIED


@pytest.mark.parametrize("page", ["law.md", "glossary.md"])
def test_other_pages_refer_to_that_table(page: str) -> None:
    assert "(studies.md#quantities)" in (DOCS / page).read_text(encoding="utf-8")


def test_a_quantity_is_in_some_comparison() -> None:
    assert {*CONTRASTED, *STUDIED} == set(QUANTITIES)
    assert tuple(DEFAULT_MARGINS) == CONTRASTED


def test_falls_start_at_the_first_probe_but_at_the_mean_of_steps_visited() -> None:
    known = member(run())
    end = 0.01 * (STEPS - 1 - 4.5)  # of the last tenth
    assert number("probe_fall", known) == pytest.approx(end)
    assert number("fall", known) == pytest.approx(end - 0.01)  # the second of three steps
    assert number("entropy_lost", known) == pytest.approx(0.01 * (STEPS - 1) / 2)


@pytest.mark.parametrize("every", [1, 2, 3, 6])
def test_a_fall_on_the_probe_hardly_hangs_on_how_often_it_is_measured(every: int) -> None:
    """It levels off after 30 steps; a mean of three values would start up to 6 steps in."""
    steps = np.arange(1.0, STEPS + 1, every)
    h = 1 + np.exp(-(steps - 1) / 10)
    sinking = replace(run(), on_probe={EVALUATION: Points(steps, h, steps)})
    assert number("probe_fall", member(sinking)) == pytest.approx(1, abs=0.01)
    as_visited = number("fall", member(sinking), replace(FOOTING, probe=True))
    assert as_visited == pytest.approx(1 - float(h[0] - h[:3].mean()), abs=0.02)


def test_a_spike_at_the_end_of_the_probe_is_no_rise() -> None:
    h = 2 - 0.01 * np.arange(STEPS) + 0.02 * np.random.default_rng(1).normal(size=STEPS)
    spiked = h.copy()
    spiked[-4] = 9.0
    falls = [
        number("probe_fall", member(replace(run(), on_probe={EVALUATION: _at_steps(values)})))
        for values in (h, spiked)
    ]
    assert falls[0] == pytest.approx(falls[1], abs=0.01)


def _at_steps(h: Floats) -> Points:
    return Points(np.arange(1.0, STEPS + 1), h, np.zeros(STEPS))


@pytest.mark.parametrize(
    ("name", "truth"),
    [
        ("gain", 0.01 * (80 - 1 - 3.5)),
        ("fall", 0.01 * (80 - 1 - 3.5 - 1)),
        ("final_reward", 0.01 * (80 - 1 - 3.5)),
        ("probe_fall", 0.01 * (80 - 1 - 3.5)),
        ("entropy_lost", 0.01 * (80 - 1) / 2),
        ("solving", 2 * 0.01 * (80 - 3.5)),
        ("solving_after_feeling", 0.01 * (80 - 3.5)),
        ("solving_where_wanted", 0.01 * (80 - 3.5)),
        ("solving_where_unwanted", 0.01 * (80 - 3.5)),
        ("grounding", 0.01 * (80 - 3.5)),
        ("question_value", 0.01 * (80 - 3.5)),
        ("alliance", 0.01 * (80 - 3.5)),
        ("divergence", 0.01 * (80 - 3.5)),
    ],
)
@pytest.mark.parametrize(("last", "null_last"), [(80, STEPS), (STEPS, 80), (80, 80)])
def test_net_of_the_null_only_the_steps_that_both_have_done_count(
    name: str, truth: float, last: int, null_last: int
) -> None:
    """The null control moves half as fast, so half of what the run does in 80 steps is left."""
    assert QUANTITIES[name].null
    beside_null = member(run(last), run(null_last, slope=0.005))
    assert net(name, beside_null) == pytest.approx(truth / 2, abs=1e-9)
    assert net(name, member(run(last))) is None


def test_without_points_in_its_null_control_nothing_is_net() -> None:
    assert net("gain", member(run(), Replicate(last_step=100.0))) is None


def collapsed(name: str, at: float | None, last: int = STEPS) -> Member:
    """A run whose H collapses at this share of it, on the series that the quantity is of."""
    onset = None if at is None else Onset("terminal_fall", STEPS * at, 0.0, 100.0)
    if QUANTITIES[name].probe:
        return member(replace(run(last), probe_course=ProbeCourse(onset)))
    return member(run(last), onset=onset)


@pytest.mark.parametrize("name", ["onset", "probe_onset"])
def test_an_onset_counts_up_to_the_part_that_all_runs_have_done(name: str) -> None:
    early, late, never = (collapsed(name, at) for at in (0.5, 0.8, None))
    assert [number(name, of) for of in (early, late, never)] == pytest.approx([0.5, 0.8, 1.0])
    shared = ComparisonBasis(
        EVALUATION, horizon=horizon([early, late, never, collapsed(name, None, 60)])
    )
    assert shared.horizon == 0.6
    shares = [number(name, of, shared) for of in (early, late, never)]
    assert shares == pytest.approx([0.5, 0.6, 0.6])
    censored = [QUANTITIES[name].censored(of, shared) for of in (early, late, never)]
    assert censored == [False, False, True]


def test_an_explosion_is_no_collapse() -> None:
    exploded = member(run(), onset=Onset("explosion", 30.0, 20.0, 40.0))
    assert number("onset", exploded) == 1.0


def test_the_onset_on_the_probe_of_a_run_without_one_is_not_known() -> None:
    assert number("probe_onset", member(run())) is None


def test_a_link_looks_for_onsets_in_the_part_that_both_arms_have_done() -> None:
    """A run that stopped at 60% has not shown that it never collapses."""
    link = replace(LINK, quantity="probe_onset", direction="earlier")
    hard = {seed: collapsed("probe_onset", at) for seed, at in ((1, 0.5), (2, 0.8), (3, None))}
    medium = {seed: collapsed("probe_onset", None, last=60) for seed in hard}
    observed = link_observations.observe_link(
        link, ArmRuns({"hard": hard, "medium": medium}, {}, {})
    )
    assert observed.differences == pytest.approx({1: -0.1, 2: 0.0, 3: 0.0})
    assert (observed.censored, observed.runs) == (4, 6)


@pytest.mark.parametrize(("old", "name"), OLD_NAMES.items())
def test_a_link_by_an_old_name_reads_the_same_numbers(old: str, name: str) -> None:
    hard = {seed: collapsed("probe_onset", 0.3 * seed) for seed in (1, 2)}
    arms = ArmRuns({"hard": hard, "medium": {1: collapsed("probe_onset", 0.4)}}, {}, {})
    by_name = link_observations.observe_link(replace(LINK, quantity=name), arms)
    by_old = link_observations.observe_link(replace(LINK, quantity=old), arms)
    assert by_name.differences.keys() == {1}
    assert replace(by_old, link=by_name.link) == by_name


def evaluated_ends(ends: dict[str, list[float]]) -> Member:
    """A run whose columns of ENDS are these, one value every tenth step."""
    steps = np.arange(1.0, 10 * max(map(len, ends.values())) + 1)
    columns = {name: np.full(len(steps), np.nan) for name in ends}
    for name, values in ends.items():
        columns[name][: 10 * len(values) : 10] = values
    of = {name: ColumnSeries(steps, values) for name, values in columns.items()}
    return member(replace(run(), ends=of))


@pytest.mark.parametrize("name", ["listening", "within_sd", "best_at_16"])
def test_a_yardstick_is_the_end_of_its_column_at_the_level_of_the_link(name: str) -> None:
    rising = [n / 100 for n in range(30)]
    of = evaluated_ends({f"eval/medium/{name}": rising, f"eval/hard/{name}": [0.5] * 30})
    assert number(name, of) == pytest.approx(0.28)  # the mean of the last tenth, of three
    assert number(name, of, replace(FOOTING, column="eval/hard/reward")) == pytest.approx(0.5)
    assert number(name, evaluated_ends({"eval/medium/other": rising})) is None
    assert number(name, evaluated_ends({f"eval/medium/{name}": rising[:10]})) is None  # too few


def test_adaptation_is_what_the_step_gained() -> None:
    of = evaluated_ends({"adapt/before": [0.2] * 20, "adapt/after": [0.5] * 17 + [0.3] * 3})
    assert number("adaptation", of) == pytest.approx(0.1)
    assert number("adaptation", evaluated_ends({"adapt/before": [0.2] * 20})) is None


def test_a_link_of_spread_compares_distances_from_each_arms_median() -> None:
    assert link_observations.from_median({1: 0.1, 2: 0.4, 3: 0.2}) == pytest.approx(
        {1: 0.1, 2: 0.2, 3: 0}
    )
    assert link_observations.from_median({}) == {}
    even = {seed: evaluated_ends({"eval/medium/listening": [0.3 + seed / 100] * 20})
            for seed in (1, 2, 3)}  # fmt: skip
    wild = {seed: evaluated_ends({"eval/medium/listening": [0.3 + seed / 10] * 20})
            for seed in (1, 2, 3)}  # fmt: skip
    arms = study_arms.ArmRuns({"hard": wild, "medium": even}, {}, {})
    link = replace(LINK, quantity="listening")
    plain = link_observations.observe_link(link, arms).differences
    assert plain == pytest.approx({1: 0.09, 2: 0.18, 3: 0.27})
    seen = link_observations.observe_link(replace(link, spread=True), arms)
    assert seen.differences == pytest.approx({1: 0.09, 2: 0.0, 3: 0.09})
    assert seen.gains == {}


def test_every_number_of_a_link_has_a_range_for_what_diverged() -> None:
    bounded = worst_case.SHARES_AND_REWARDS
    names = {name for name in STUDIED if QUANTITIES[name].unit != NATS}
    assert names == set(bounded)
    assert all(low < high for low, high in bounded.values())
