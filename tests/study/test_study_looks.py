"""The benchmark of looks judges many studies at once as harness study judges each."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import study_looks
from benchmarks.study_verdicts import MARGIN, judged
from harness.law.compare.link_result import UNDECIDED, VERDICTS
from harness.law.compare.links import Earlier


@pytest.mark.parametrize(("rule", "most"), [("shared", None), ("most_seeds 15", 15)])
def test_a_study_ends_by_the_same_word_at_the_same_look(rule: str, most: int | None) -> None:
    schedule = (3, 6, 9)
    ended = set()
    for seed in range(60):
        values = np.random.default_rng(seed).normal([[-2.0, 0.0, 2.0][seed % 3]], 0.6, (1, 9))
        together = study_looks.until_decided(values, schedule, study_looks.RULES[rule])
        before: list[Earlier] = []
        word, pairs = UNDECIDED, 0
        while word == UNDECIDED and pairs < schedule[-1]:
            pairs = schedule[len(before)]
            look = judged([[MARGIN * float(v) for v in values[0, :pairs]]], before, most)
            before.append(look.seen)
            word = look.word
        assert (together.words[word], together.pairs) == (1, pairs)
        ended.add(word)
    assert ended >= set(VERDICTS[:3])
