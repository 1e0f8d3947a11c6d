"""Which strategy a sentence carries where no rule of the lexicon fits: by the weights of its words.

A multinomial logistic regression over words, pairs of neighbours, and how the sentence begins and
ends; `strategy_weights.tsv` holds what `benchmarks/strategy_reader.py` learnt from the sentences
in `strategy_sentences.tsv`, written for that from the strategies' definitions (ESConv, arXiv
2106.01144, section 3).
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

from harness.config.run import STRATEGIES
from harness.simulator.scripted.words import asks, words

NONE = "none"
KINDS = (*STRATEGIES, NONE)
WEIGHTS = Path(__file__).with_name("strategy_weights.tsv")
SURE = 0.4
"""Least probability at which a sentence is taken to carry a strategy."""


def features(sentence: str) -> tuple[str, ...]:
    """The features of one sentence, each once."""
    found = words(sentence)
    pairs = [f"{a} {b}" for a, b in pairwise(("^", *found, "?" if asks(sentence) else "."))]
    openings = [f"^ {' '.join(found[:n])}" for n in (2, 3) if len(found) >= n]
    return tuple(sorted({"", *found, *pairs, *openings}))


def probabilities(sentence: str) -> dict[str, float]:
    """P(kind) for each of KINDS."""
    weights = _weights()
    rows = [weights[f] for f in features(sentence) if f in weights]
    scores = [sum(column) for column in zip(*rows, strict=True)]
    most = max(scores)
    odds = [math.exp(s - most) for s in scores]
    total = sum(odds)
    return {kind: o / total for kind, o in zip(KINDS, odds, strict=True)}


@lru_cache(maxsize=65536)
def guess(sentence: str) -> str | None:
    """The strategy it most likely carries; None if none, or if that is not sure."""
    found = probabilities(sentence)
    best = max(found, key=lambda kind: found[kind])
    return best if best != NONE and found[best] >= SURE else None


@cache
def _weights() -> dict[str, tuple[float, ...]]:
    """By feature, the weight for each of KINDS; the empty feature is in every sentence."""
    lines = WEIGHTS.read_text(encoding="utf-8").splitlines()[1:]
    rows = (line.split("\t") for line in lines)
    return {name: tuple(map(float, values)) for name, *values in rows}
