"""How well words alone tell care from cruelty, and what more sentences would bring.

python -m benchmarks.polarity_reader

Learns from the sentences in benchmarks/sentences, of seven writers and 136 batches, and is
judged on the batches it did not see (every fourth) and on the tuned half of the validity set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import word_weights
from benchmarks.word_weights import Weights
from harness.calibration.validity.replies import pairs, texts
from harness.config.run import STRATEGIES
from harness.simulator.data_files import columns
from harness.simulator.scripted.recognition import features
from harness.simulator.scripted.words import sentences as split

FOLDER = Path(__file__).with_name("sentences")
POLARITIES = ("caring", "neutral", "hurtful")
COLUMNS = ("batch", "strategy", "polarity", "pair", "text")
PENALTY = 1.0
SHARES = (0.25, 0.5, 1.0)
HURTFUL = POLARITIES.index("hurtful")


@dataclass(frozen=True)
class Sentence:
    """A supporter's sentence with its labels."""

    batch: str
    """A letter for the writer, then a number: each batch imagines another person."""
    strategy: str
    polarity: str
    pair: str
    """The same for the two lines of a minimal pair, - for others."""
    text: str

    @property
    def held_out(self) -> bool:
        return int(self.batch[1:]) % 4 == 0


def read() -> list[Sentence]:
    """Every sentence. Raises ConfigError for a malformed file."""
    allowed = {"strategy": STRATEGIES, "polarity": POLARITIES}
    files = sorted(FOLDER.glob("*.tsv"))
    return [Sentence(*row) for file in files for row in columns(file, COLUMNS, allowed)]


def learn(sentences: Sequence[Sentence]) -> Weights:
    kinds = np.array([POLARITIES.index(s.polarity) for s in sentences])
    return word_weights.learn([s.text for s in sentences], kinds, features, PENALTY)


def hurt(replies: Sequence[str], weights: Weights) -> list[float]:
    """P(hurtful) of the most hurtful sentence of each reply."""
    parts = [split(reply) or [reply] for reply in replies]
    chances = word_weights.probabilities([s for some in parts for s in some], weights, features)
    ends = np.cumsum([len(some) for some in parts])
    return [float(some[:, HURTFUL].max()) for some in np.split(chances, ends[:-1])]


def heard(replies: Sequence[str], weights: Weights) -> float:
    return float(np.mean([chance > 0.5 for chance in hurt(replies, weights)]))


def main() -> None:
    everything = read()
    learnt = [s for s in everything if not s.held_out]
    unseen = [s for s in everything if s.held_out]
    by = {p: [s.text for s in unseen if s.polarity == p] for p in POLARITIES}
    twins = [pair for pair in pairs() if pair.half == "tuned"]
    batches = sorted({s.batch for s in learnt})
    order = np.random.default_rng(1).permutation(len(batches))
    print(f"{len(learnt)} sentences to learn from, {len(unseen)} of other batches to judge")
    for share in SHARES:
        kept = {batches[n] for n in order[: round(share * len(batches))]}
        some = [s for s in learnt if s.batch in kept]
        weights = learn(some)
        print(
            f"learnt from {len(some)}: hurtful heard {heard(by['hurtful'], weights):.3f}, "
            f"caring taken for it {heard(by['caring'], weights):.3f}; "
            f"validity set: cruel heard {heard([p.cruel for p in twins], weights):.3f}, kind twins "
            f"{heard([p.kind for p in twins], weights):.3f}, supportive negations "
            f"{heard(texts('tuned', ['supportive_negation']), weights):.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
