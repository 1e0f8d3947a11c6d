"""Learn the weights by which the scripted user tells care from cruelty, and say how well they do.

python -m benchmarks.polarity_reader           # learn, write polarity_weights.tsv, report
python -m benchmarks.polarity_reader --check   # learn, and fail if the file is not what is learnt
python -m benchmarks.polarity_reader --curve   # report what more sentences brought

Learns from the sentences in benchmarks/sentences and the tuned half of the validity set, and is
judged on the batches it did not see (every fourth) and on the other half, never tuned on.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import word_weights
from benchmarks.word_weights import Weights
from harness.calibration.validity.replies import pairs, texts
from harness.config.run import STRATEGIES
from harness.simulator.data_files import columns
from harness.simulator.scripted.polarity import POLARITIES, WEIGHTS
from harness.simulator.scripted.words import sentences as split

FOLDER = Path(__file__).with_name("sentences")
COLUMNS = ("batch", "strategy", "polarity", "pair", "text")
PENALTY = 10.0
LEAST_WEIGHT = 4
"""A feature that never weighs as many hundredths is left out of the file."""
SHARES = (0.25, 0.5, 1.0)
CLEAR = {
    "supportive_negation": "caring",
    "hurtful_kind_words": "hurtful",
    "neutral": "neutral",
    "off_topic": "neutral",
}
"""Polarity of the single replies of some categories."""
HURTFUL = POLARITIES.index("hurtful")
FALSE_ALARMS = 0.1
"""Share of kind twins and supportive negations at which hearing is compared."""


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
        """Whether its batch is never learnt from."""
        return int(self.batch[1:]) % 4 == 0


def read() -> list[Sentence]:
    """Every sentence. Raises ConfigError for a malformed file."""
    allowed = {"strategy": STRATEGIES, "polarity": POLARITIES}
    files = sorted(FOLDER.glob("*.tsv"))
    return [Sentence(*row) for file in files for row in columns(file, COLUMNS, allowed)]


def tuned_half() -> list[Sentence]:
    """The sentences of the validity set's tuned half whose polarity is beyond doubt."""
    twins = [pair for pair in pairs() if pair.half == "tuned"]
    labelled = [(twin.kind, "caring") for twin in twins] + [
        (twin.cruel, "hurtful") for twin in twins
    ]
    for category, polarity in CLEAR.items():
        labelled += [(text, polarity) for text in texts("tuned", [category])]
    return [Sentence("v1", "other", polarity, "-", text) for text, polarity in labelled]


def learn(sentences: Sequence[Sentence]) -> Weights:
    """By feature, a weight for each of POLARITIES."""
    kinds = np.array([POLARITIES.index(s.polarity) for s in sentences])
    return word_weights.learn([s.text for s in sentences], kinds, PENALTY)


def hurt(replies: Sequence[str], weights: Weights) -> word_weights.Floats:
    """P(hurtful) of the most hurtful sentence of each reply."""
    parts = [split(reply) or [reply] for reply in replies]
    chances = word_weights.probabilities([s for some in parts for s in some], weights)
    ends = np.cumsum([len(some) for some in parts])
    return np.array([some[:, HURTFUL].max() for some in np.split(chances, ends[:-1])])


def report(weights: Weights, unseen: Sequence[Sentence]) -> None:
    """Print how well the weights hear sentences of unseen batches and the validity set."""
    for polarity in POLARITIES:
        some = [s.text for s in unseen if s.polarity == polarity]
        chances = word_weights.probabilities(some, weights)
        shares = np.bincount(chances.argmax(axis=1), minlength=3) / len(some)
        heard = ", ".join(f"{p} {v:.3f}" for p, v in zip(POLARITIES, shares, strict=True))
        print(f"unseen batches, {len(some)} {polarity}: heard as {heard}")
    half = "held_out"
    twins = [pair for pair in pairs() if pair.half == half]
    cruel, kind = (hurt([getattr(p, n) for p in twins], weights) for n in ("cruel", "kind"))
    negated = hurt(texts(half, ["supportive_negation"]), weights)
    limit = np.quantile(np.concatenate([kind, negated]), 1 - FALSE_ALARMS)
    area = np.mean(cruel[:, None] > kind[None])
    print(
        f"validity set, {half}: above .5 of {len(cruel)} cruel {np.mean(cruel > 0.5):.3f}, "
        f"kind twins {np.mean(kind > 0.5):.3f}, supportive negations "
        f"{np.mean(negated > 0.5):.3f}; area under the curve {area:.3f}; cruel heard at "
        f"{FALSE_ALARMS:.0%} false alarms {np.mean(cruel > limit):.3f}",
        flush=True,
    )


def curve(learnt: Sequence[Sentence], unseen: Sequence[Sentence]) -> None:
    """Report on growing shares of the batches."""
    batches = sorted({s.batch for s in learnt})
    order = np.random.default_rng(1).permutation(len(batches))
    for share in SHARES:
        kept = {batches[n] for n in order[: round(share * len(batches))]}
        some = [s for s in learnt if s.batch in kept]
        print(f"learnt from {len(some)} sentences:")
        report(learn(some), unseen)


def main() -> None:
    everything = read()
    learnt = [s for s in everything if not s.held_out]
    unseen = [s for s in everything if s.held_out]
    print(f"{len(learnt)} sentences to learn from, {len(unseen)} of other batches to judge")
    if "--curve" in sys.argv:
        curve(learnt, unseen)
        return
    rows = word_weights.lines(learn([*learnt, *tuned_half()]), POLARITIES, LEAST_WEIGHT)
    report(word_weights.weights_of(rows), unseen)
    if "--check" not in sys.argv:
        WEIGHTS.write_text("\n".join(rows) + "\n", encoding="utf-8")
        return
    kept = WEIGHTS.read_text(encoding="utf-8").splitlines()
    if not word_weights.alike(rows, kept, LEAST_WEIGHT):
        sys.exit(f"{WEIGHTS.name} is not what is learnt from {FOLDER.name}")


if __name__ == "__main__":
    main()
