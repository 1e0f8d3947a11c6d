"""Learn the word weights by which the scripted user reads strategies, and say how well they read.

python -m benchmarks.strategy_reader           # learn, write strategy_weights.tsv, report
python -m benchmarks.strategy_reader --check   # report, and fail if the file is not what is learnt
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import polarity_reader, word_weights
from benchmarks.word_weights import Weights
from harness.simulator.scripted.recognition import KINDS, SURE, WEIGHTS

SENTENCES = Path(__file__).with_name("strategy_sentences.tsv")
PENALTY = 3.0
LEAST_WEIGHT = 8
"""A feature that never weighs as many hundredths is left out of the file."""


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
    return word_weights.learn([s.text for s in sentences], kinds, PENALTY)


def report(weights: Weights, unseen: Sequence[Sentence]) -> None:
    """Print how often the most likely kind is right, where it is sure, of unseen batches."""
    chances = word_weights.probabilities([s.text for s in unseen], weights)
    kinds = [KINDS[n] for n in chances.argmax(axis=1)]
    right = np.array([k == s.kind for k, s in zip(kinds, unseen, strict=True)])
    sure = chances.max(axis=1) >= SURE
    print(f"{len(unseen)} sentences of unseen batches: right {right.mean():.3f}; sure of "
          f"{sure.mean():.3f}, and of these right {right[sure].mean():.3f}")  # fmt: skip


def main() -> None:
    labelled = [(s.held_out, Sentence(s.batch, s.strategy, s.text)) for s in polarity_reader.read()]
    unseen = [sentence for held_out, sentence in labelled if held_out]
    learnt = [*read(), *(sentence for held_out, sentence in labelled if not held_out)]
    rows = word_weights.lines(learn(learnt), KINDS, LEAST_WEIGHT)
    report(word_weights.weights_of(rows), unseen)
    if "--check" not in sys.argv:
        WEIGHTS.write_text("\n".join(rows) + "\n", encoding="utf-8")
        return
    kept = WEIGHTS.read_text(encoding="utf-8").splitlines()
    if not word_weights.alike(rows, kept, LEAST_WEIGHT):
        sys.exit(f"{WEIGHTS.name}: must be what is learnt from {SENTENCES.name} and "
                 f"{polarity_reader.FOLDER.name}; learn it again")  # fmt: skip


if __name__ == "__main__":
    main()
