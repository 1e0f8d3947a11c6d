"""Learn the word weights by which the scripted user reads strategies, and say how well they read.

python -m benchmarks.strategy_reader           # learn, write strategy_weights.tsv, report
python -m benchmarks.strategy_reader --check   # report, and fail if the file is not what is learnt
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import word_weights
from benchmarks.word_weights import Weights
from harness.simulator.scripted.recognition import KINDS, WEIGHTS, features

SENTENCES = WEIGHTS.with_name("strategy_sentences.tsv")
PENALTY = 0.3
LEAST_WEIGHT = 0.1
"""A feature that never weighs as much is left out of the file."""


@dataclass(frozen=True)
class Sentence:
    writer: str
    kind: str
    text: str


def read(path: Path = SENTENCES) -> list[Sentence]:
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return [Sentence(*row) for row in rows]


def learn(sentences: list[Sentence]) -> Weights:
    """By feature, a weight for each of KINDS."""
    kinds = np.array([KINDS.index(s.kind) for s in sentences])
    return word_weights.learn([s.text for s in sentences], kinds, features, PENALTY)


def right(sentences: list[Sentence], weights: Weights) -> float:
    """Share of sentences whose kind is the most likely one."""
    chances = word_weights.probabilities([s.text for s in sentences], weights, features)
    kinds = [KINDS[n] for n in chances.argmax(axis=1)]
    return float(np.mean([k == s.kind for k, s in zip(kinds, sentences, strict=True)]))


def lines(weights: Weights) -> list[str]:
    """The file: a header, then a feature a line."""
    kept = {f: w for f, w in weights.items() if np.abs(w).max() >= LEAST_WEIGHT}
    rows = ["\t".join((f, *(f"{v:.2f}" for v in w))) for f, w in kept.items()]
    return ["\t".join(("feature", *KINDS)), *rows]


def main() -> None:
    sentences = read()
    for writer in sorted({s.writer for s in sentences}):
        others = [s for s in sentences if s.writer != writer]
        theirs = [s for s in sentences if s.writer == writer]
        share = right(theirs, learn(others))
        print(f"learnt from the others, right of writer {writer}'s: {share:.3f}")
    text = "\n".join(lines(learn(sentences))) + "\n"
    if "--check" not in sys.argv:
        WEIGHTS.write_text(text, encoding="utf-8")
    elif text != WEIGHTS.read_text(encoding="utf-8"):
        sys.exit(f"{WEIGHTS.name}: must be what is learnt from {SENTENCES.name}; learn it again")


if __name__ == "__main__":
    main()
