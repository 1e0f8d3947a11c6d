"""An H that rises from its first step: an explosion, and no word on whether R follows it."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from harness.law.analysis import analyse
from harness.report.text import explain
from harness.testing import cells, run_folders, synthetic
from harness.testing.promises import CLAIMED, HOLDS
from harness.testing.synthetic import HIGH, LOW, Noise

RUNS = 30


def looks(name: str, n: int, noise: Noise) -> list[cells.LawOutcome]:
    return [cells.look(cells.REGIMES[name](s, n, noise)) for s in range(RUNS)]


@pytest.mark.parametrize("name", ["rise", "rise_level"])
@pytest.mark.parametrize(("n", "noise"), [(60, LOW), (300, LOW), (300, HIGH)])
def test_it_explodes_from_its_first_step(name: str, n: int, noise: Noise) -> None:
    found = looks(name, n, noise)
    assert Counter(look.regime for look in found)["exploded"] >= 0.95 * RUNS
    onsets = [look.onset for look in found if look.onset is not None]
    assert {at.kind for at in onsets} == {"explosion"}
    assert sum(at.step < 1 + n / 16 for at in onsets) >= 0.8 * RUNS
    assert sum(at.low <= 1 <= at.high for at in onsets) >= 0.8 * RUNS
    assert all(at.low <= at.step <= at.high <= n + 1 for at in onsets)


def test_where_r_follows_it_the_law_holds_and_the_rise_is_told() -> None:
    verdicts = [look.verdict for look in looks("rise", 300, LOW)]
    assert sum(verdict.word in HOLDS for verdict in verdicts) >= 0.95 * RUNS
    assert all("entropy_rises" in verdict.reasons for verdict in verdicts)


def test_where_r_does_not_follow_it_the_law_does_not_hold() -> None:
    for name, noise in product(("rise_unrelated", "rise_stop"), (LOW, HIGH)):
        words = Counter(look.verdict.word for look in looks(name, 300, noise))
        assert sum(words[word] for word in CLAIMED) <= 0.10 * RUNS


def test_entropy_that_was_spent_and_comes_back_fails_the_law_as_before() -> None:
    verdicts = [look.verdict for look in looks("explode", 300, LOW)]
    assert all(v.word == "fails" and "entropy_rises" in v.reasons for v in verdicts)


def test_noise_that_lifts_a_level_entropy_is_no_failure() -> None:
    words = Counter(look.verdict.word for look in looks("flat", 300, HIGH))
    assert words["fails"] <= 0.10 * RUNS


def test_the_sentence_says_what_is_so(tmp_path: Path) -> None:
    """There is no trough in such a run."""
    log = cells.REGIMES["rise"](1, 300, LOW)
    run_folders.write_rows(tmp_path, synthetic.rows(log))
    (run,) = analyse([tmp_path]).runs
    said = "\n".join(explain.explain_run(run))
    assert "Onset: entropy explodes from step 3 " in said
    assert "Regime exploded: H rose and stayed up" in said
    assert "Verdict: law holds (form open).\n  entropy rises: H ends well above its lowest." in said
