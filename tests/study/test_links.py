"""Verdicts on pairs of known truth."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from harness.law.compare import links, study_verdict
from harness.law.compare.link_observations import LinkObservations
from harness.law.compare.worst_case import LostPair
from harness.records.study_file import Link
from tests.present import present

LESS = Link("less", "gain", "hard", "medium", "less", 0.05)


def seen(
    link: Link, values: list[float], net: list[float] | None = None, **more: Any
) -> LinkObservations:
    by_seed = dict(enumerate(values, start=1))
    nets = None if net is None else dict(enumerate(net, start=1))
    return LinkObservations(link, by_seed, nets, **more)


def drawn(mean: float, spread: float, pairs: int, seed: int = 1) -> list[float]:
    """Exactly this mean and standard deviation."""
    values = np.random.default_rng(seed).normal(size=pairs)
    values = (values - values.mean()) / values.std(ddof=1)
    return [float(v) for v in mean + spread * values]


@pytest.mark.parametrize(
    ("mean", "spread", "verdict", "why"),
    [
        (-0.2, 0.05, "supported", None),
        (-0.02, 0.01, "supported", "smaller than the margin"),
        (0.0, 0.02, "no effect", "less by 0.05 is ruled out, p <0.001"),
        (0.2, 0.05, "contradicted", "the opposite holds, p <0.001"),
        (-0.03, 0.02, "supported", "smaller than the margin"),
        (0.0, 0.06, "no effect", "less by 0.05 is ruled out, p 0.027"),
        (-0.05, 0.2, "undecided", "not shown, and less by 0.05 is not ruled out"),
    ],
)
def test_a_link_is_judged_by_the_interval_of_its_pairs(
    mean: float, spread: float, verdict: str, why: str | None
) -> None:
    (judged,) = links.judge_links([seen(LESS, drawn(mean, spread, 10))], ["less"])
    assert (judged.verdict, judged.why) == (verdict, why)
    half = 2.262157 * spread / 10**0.5  # t of 9 degrees of freedom
    difference = present(judged.judged)
    assert difference.value == pytest.approx(mean)
    assert difference.low == pytest.approx(mean - half, rel=1e-5)
    assert difference.high == pytest.approx(mean + half, rel=1e-5)
    assert (judged.seeds_needed is None) == (verdict != "undecided")


def test_one_that_states_more_reads_the_same_numbers_the_other_way() -> None:
    more = dataclasses.replace(LESS, direction="more")
    (judged,) = links.judge_links([seen(more, drawn(-0.2, 0.05, 10))], ["less"])
    assert judged.verdict == "contradicted"


def test_what_null_controls_do_too_does_not_count() -> None:
    """The plain difference is plain to see; net of the null nothing is left of it."""
    link = dataclasses.replace(LESS, net_of_null=True)
    found = seen(link, drawn(-0.2, 0.02, 10), net=drawn(0.0, 0.02, 10))
    (judged,) = links.judge_links([found], ["less"])
    assert judged.verdict == "no effect"
    assert present(judged.plain).high < -0.1 < present(judged.judged).low
    both = seen(link, drawn(-0.2, 0.02, 10), net=drawn(-0.15, 0.02, 10))
    assert links.judge_links([both], ["less"])[0].verdict == "supported"
    against = seen(link, drawn(-0.2, 0.02, 10), net=drawn(0.15, 0.02, 10))
    assert (
        links.judge_links([against], ["less"])[0].verdict == "no effect"
    )  # plainly it points as stated
    only_net = seen(link, drawn(0.2, 0.02, 10), net=drawn(-0.15, 0.02, 10))
    assert links.judge_links([only_net], ["less"])[0].verdict == "undecided"


def test_links_that_must_all_hold_are_each_shown_by_themselves_and_findings_by_holm() -> None:
    """p about 0.03 is enough for each of four that decide together, and not for four findings."""
    near = drawn(-0.2, 0.2 * 10**0.5 / 2.57, 10)
    alone = links.judge_links([seen(LESS, near)], ["less"])
    p = present(alone[0].p).supported
    assert p == pytest.approx(0.03, abs=0.003)
    four = [dataclasses.replace(LESS, name=f"{n}") for n in range(4)]
    names = [link.name for link in four]
    judged = links.judge_links([seen(link, near) for link in four], names)
    assert study_verdict.verdict(judged, names) == "supported"
    assert [present(j.p).supported for j in judged] == [p] * 4
    beside = links.judge_links([seen(link, near) for link in four], [])
    assert {j.verdict for j in beside} == {"undecided"}
    assert present(beside[0].p).supported == pytest.approx(4 * p)
    primary = links.judge_links([seen(link, near) for link in four], ["0"])
    assert [j.verdict for j in primary] == ["supported", *["undecided"] * 3]


@pytest.mark.parametrize(("mean", "word"), [(0.2, "contradicted"), (0.0, "no effect")])
def test_one_of_several_links_that_fails_must_do_better(mean: float, word: str) -> None:
    """Any of them is enough, so p about 0.03 is enough for one, not for one of four."""
    against = drawn(mean, (mean + 0.05 * (mean == 0)) * 10**0.5 / 2.57, 10)
    assert links.judge_links([seen(LESS, against)], ["less"])[0].verdict == word
    four = [dataclasses.replace(LESS, name=f"{n}") for n in range(4)]
    judged = links.judge_links([seen(link, against) for link in four], [link.name for link in four])
    assert word not in {j.verdict for j in judged}


def test_pairs_without_the_known_ones_detect_larger_differences_alone() -> None:
    """Seeds 1 to 10 were judged; p of five new ones counts 18 times, so t must reach 6.6."""
    earlier = {"less": [frozenset(map(str, range(1, 11)))]}
    new = dict(enumerate(drawn(0.0, 1.0, 5), start=11))
    (judged,) = links.judge_links([LinkObservations(LESS, new)], ["less"], earlier)
    assert present(judged.minimum_detectable) == pytest.approx((6.5697 + 0.9410) / 5**0.5, rel=1e-4)
    known = seen(LESS, drawn(0.0, 1.0, 6))
    (judged,) = links.judge_links([known], ["less"], earlier)
    assert (judged.verdict, judged.minimum_detectable) == ("undecided", None)


def test_pairs_that_cannot_be_told_apart_decide_nothing() -> None:
    assert links.judge_links([seen(LESS, [])], ["less"])[0].why == (
        "too few seeds with a number for each run of the pair: 0, and at least 2 are needed"
    )
    assert links.judge_links([seen(LESS, [0.1])], ["less"])[0].verdict == "undecided"
    alike = links.judge_links([seen(LESS, [0.1, 0.1, 0.1])], ["less"])[0]
    assert (alike.verdict, alike.judged) == ("undecided", None)
    assert alike.why == "every pair differs by 0.1, so the spread is not known"


def test_arms_that_do_the_same_are_named_as_such() -> None:
    why = "both have the same value in every pair: what differs between them has no effect here"
    for zeros in ([0.0, 0.0, 0.0], [0.0, -4e-16, 2e-15]):
        same = links.judge_links([seen(LESS, zeros)], ["less"])[0]
        assert (same.verdict, same.judged, same.why) == ("undecided", None, why)


def test_the_seeds_it_asks_for_would_decide() -> None:
    """At a second look, so many pairs of the same spread find the margin in 80% of cases."""
    first = seen(LESS, drawn(-0.05, 0.15, 6))
    (judged,) = links.judge_links([first], ["less"])
    assert judged.verdict == "undecided"
    needed = present(judged.seeds_needed)
    before = {"less": [first.pairs]}
    found = [
        np.mean(
            [
                links.judge_links([seen(LESS, _sample(-0.05, 0.15, needed, s))], ["less"], before)[
                    0
                ].verdict
                == "supported"
                for s in range(400)
            ]
        )
    ]
    assert found[0] == pytest.approx(0.8, abs=0.06)
    assert present(judged.minimum_detectable) > 0.15


def _sample(mean: float, spread: float, pairs: int, seed: int) -> list[float]:
    return [float(v) for v in np.random.default_rng(seed).normal(mean, spread, size=pairs)]


@pytest.mark.parametrize("truths", [(0.0,), (-0.1, -0.1, -0.1, 0.0)])
def test_what_is_not_so_is_seldom_supported(truths: tuple[float, ...]) -> None:
    """A link without a difference in 2.5% of studies, a study of four of which it is one in no
    more; the bound is three standard errors of 600 studies above. The benchmark has the rates.
    """
    names = [f"{number}" for number in range(len(truths))]
    supported = 0
    for study in range(600):
        made = [
            seen(dataclasses.replace(LESS, name=name), _sample(truth, 0.03, 5, 10 * study + place))
            for place, (name, truth) in enumerate(zip(names, truths, strict=True))
        ]
        supported += study_verdict.verdict(links.judge_links(made, names), names) == "supported"
    assert 0 < supported / 600 < 0.025 + 3 * (0.025 * 0.975 / 600) ** 0.5


def test_a_difference_of_the_margin_is_seldom_called_none() -> None:
    judged = [
        links.judge_links([seen(LESS, _sample(-LESS.margin, 0.06, 5, study))], ["less"])[0].verdict
        for study in range(600)
    ]
    assert judged.count("contradicted") == 0
    assert 0 < judged.count("no effect") / 600 < 0.025 + 3 * (0.025 * 0.975 / 600) ** 0.5


def test_where_there_are_enough_for_the_margin_it_asks_for_more_than_there_are() -> None:
    (judged,) = links.judge_links([seen(LESS, drawn(-0.025, 0.043, 11))], ["less"])
    assert judged.verdict == "undecided"
    assert present(judged.seeds_needed) > 11


def test_the_study_needs_all_of_them_and_one_that_fails_is_enough() -> None:
    names = ("a", "b")

    def of(*values: list[float]) -> str:
        made = [
            seen(dataclasses.replace(LESS, name=name), given)
            for name, given in zip(names, values, strict=True)
        ]
        return study_verdict.verdict(links.judge_links(made, names), names)

    yes, no, open_ = drawn(-0.3, 0.05, 8), drawn(0.1, 0.05, 8), drawn(-0.05, 0.3, 8)
    none = drawn(0.0, 0.01, 8)
    assert of(yes, yes) == "supported"
    assert of(yes, open_) == "undecided"
    assert of(no, open_) == of(no, yes) == of(no, none) == "contradicted"
    assert of(none, open_) == of(none, yes) == "no effect"


def test_a_link_whose_check_does_not_hold_is_undecided_whatever_its_numbers() -> None:
    given = dataclasses.replace(LESS, given="restored")
    check = dataclasses.replace(LESS, name="restored")
    judged = links.judge_links([seen(given, drawn(-0.3, 0.05, 8))], ["less"])
    failed = links.judge_links([seen(check, drawn(0.3, 0.05, 8))], [])
    (held,) = study_verdict.hold_back(judged, failed)
    assert (held.verdict, held.why) == ("undecided", "its check, restored, is contradicted")
    assert study_verdict.seeds_needed([held], ["less"]) is None
    fine = links.judge_links([seen(check, drawn(-0.3, 0.05, 8))], [])
    assert study_verdict.hold_back(judged, fine) == judged


def test_a_check_may_hang_on_one_before_it() -> None:
    names = ("first", "second", "third")
    chain = [
        dataclasses.replace(LESS, name=name, given=before)
        for name, before in zip(names, (None, *names), strict=False)
    ]
    numbers = (drawn(0.3, 0.05, 8), drawn(-0.3, 0.05, 8), drawn(-0.3, 0.05, 8))
    judged = links.judge_links([seen(c, n) for c, n in zip(chain, numbers, strict=True)], [])
    held = study_verdict.hold_back_checks(judged)
    assert [c.verdict for c in held] == ["contradicted", "undecided", "undecided"]
    assert held[2].why == "its check, second, is undecided"


LEARNT = {"hard": [0.30, 0.32, 0.34], "medium": [0.3, 0.31, 0.33]}


@pytest.mark.parametrize(("mean", "word"), [(0.0, "no effect"), (0.2, "contradicted")])
def test_arms_that_learnt_nothing_say_nothing_of_a_link_on_reward(mean: float, word: str) -> None:
    values = drawn(mean, 0.01, 8)
    (learnt,) = links.judge_links([seen(LESS, values, gains=LEARNT)], ["less"])
    assert learnt.verdict == word
    idle = {arm: [0.0, 0.01, -0.01] for arm in LEARNT}
    (judged,) = links.judge_links([seen(LESS, values, gains=idle)], ["less"])
    assert (judged.verdict, judged.seeds_needed) == ("undecided", None)
    least = "neither arm gains 0.05 or more with an interval above 0"
    assert judged.why == f"nothing was learnt: {least}"
    wide = {**idle, "hard": [-0.1, 0.1, 0.4]}  # by its mean 0.13, and nothing that is shown
    assert links.judge_links([seen(LESS, values, gains=wide)], ["less"])[0].why == judged.why
    one = {**idle, "hard": LEARNT["hard"]}
    assert links.judge_links([seen(LESS, values, gains=one)], ["less"])[0].verdict == word
    supported = seen(LESS, drawn(-0.2, 0.01, 8), gains=idle)
    assert links.judge_links([supported], ["less"])[0].verdict == "supported"


def test_a_pair_that_diverged_opens_a_link_that_it_could_turn() -> None:
    """Nine pairs of -0.2: a tenth of up to +0.05 changes nothing, one of up to +1 does."""
    values = drawn(-0.2, 0.02, 9)
    near = {10: LostPair(("9-hard-seed10 at step 4",), -1.0, 0.05)}
    (kept,) = links.judge_links([seen(LESS, values, lost=near)], ["less"])
    assert (kept.verdict, kept.if_lost_at_worst) == ("supported", "supported")
    assert present(kept.at_worst).value == pytest.approx((9 * -0.2 + 0.05) / 10)
    far = {10: LostPair(("9-hard-seed10 at step 4",), -1.0, 1.0)}
    (turned,) = links.judge_links([seen(LESS, values, lost=far)], ["less"])
    why = (
        "the verdict would be undecided instead of supported with the least favourable values for "
        "the diverged runs"
    )
    assert (turned.verdict, turned.why, turned.pairs) == ("undecided", why, 9)
    any_number = {10: LostPair(("9-hard-seed10 at step 4",), -np.inf, np.inf)}
    (unknown,) = links.judge_links([seen(LESS, values, lost=any_number)], ["less"])
    assert (unknown.verdict, unknown.at_worst) == ("undecided", None)


def test_a_link_without_effect_is_bounded_from_the_other_side() -> None:
    values = drawn(0.0, 0.01, 9)
    below = {10: LostPair(("x at step 1",), -1.0, 0.0)}
    assert links.judge_links([seen(LESS, values, lost=below)], ["less"])[0].verdict == "undecided"
    above = {10: LostPair(("x at step 1",), 0.0, 1.0)}
    assert links.judge_links([seen(LESS, values, lost=above)], ["less"])[0].verdict == "no effect"
