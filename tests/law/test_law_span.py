"""The law that a verdict speaks of: which rows it is of, and when there is none."""

from __future__ import annotations

import numpy as np
import pytest

from harness.law import law_span
from harness.law.estimate import identifiability, onset
from harness.law.io.clean import Points
from harness.law.law_span import JudgedLaw, Span
from harness.law.results import Identifiability
from harness.testing import synthetic
from harness.testing.promises import HOLDS
from harness.testing.synthetic import HIGH, LOW, TRUE_CEILING, SyntheticRun
from tests.present import present


def judged(log: SyntheticRun) -> JudgedLaw:
    points = Points(log.steps, log.entropy, log.reward)
    course = onset.bin_entropy(log.steps, log.entropy)
    begun = onset.find_onset(present(course), points)
    return law_span.judge(identifiability.fit(points), begun, course, intervened=False)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_law_that_breaks_at_the_collapse_is_that_of_the_rows_before_it(seed: int) -> None:
    law = judged(synthetic.kink(seed, 600, LOW))
    assert law.verdict.word == "holds_until_onset"
    last = law.fitted.points.steps[-1]
    assert last < present(law.span.until) <= last + 1
    assert len(law.whole.points) == 600
    ceiling = present(law.fitted.spread).ceiling
    assert ceiling.low < TRUE_CEILING < ceiling.high


def test_a_lawful_run_is_its_own_span() -> None:
    law = judged(synthetic.lawful(1, 300, LOW))
    assert law.verdict.word in HOLDS
    assert law.span == Span()
    assert law.fitted is law.whole


def test_a_law_that_fails_has_no_identified_number_however_narrow_its_intervals() -> None:
    law = judged(synthetic.wrong_sign(1, 300, LOW))
    assert law.span.fails
    assert identifiability.judge_identifiability(law.whole).ceiling
    assert law.identified == Identifiability(a=False, ceiling=False)


def test_a_collapse_at_which_the_law_may_have_broken_does_not_settle_the_numbers() -> None:
    every = [judged(synthetic.kink(seed, 600, HIGH)) for seed in range(1, 25)]
    doubted = [
        (present(law.fitted.spread).ceiling, present(law.whole.spread).ceiling)
        for law in every
        if law.verdict.word == "undetermined" and law.span.until is not None
    ]
    assert len(doubted) > 2
    off = np.array([[abs(c.value - TRUE_CEILING) for c in pair] for pair in doubted])
    widths = np.array([[c.high - c.low for c in pair] for pair in doubted])
    before, whole = off.mean(axis=0)
    assert before < whole - 0.05
    assert widths[:, 0].mean() > widths[:, 1].mean()
