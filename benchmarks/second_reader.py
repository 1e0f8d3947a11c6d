"""Learn the weights by which the second user hears a sentence, and say how well they do.

python -m benchmarks.second_reader           # learn, write weights.tsv, report
python -m benchmarks.second_reader --report  # report on the weights that ship

One regression over nine things that a sentence can do: ESConv's eight strategies, and hurt. Learns
from the batches of benchmarks/sentences that are not held out and from the tuned half of the
validity set; judged on the others.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from benchmarks.polarity_reader import Sentence, read, tuned_half
from benchmarks.word_weights import Floats
from harness.records import atomic
from harness.simulator.second import reading, sentence
from harness.simulator.second.sentence import OUTCOMES, WEIGHTS, features_of
from harness.simulator.second.text import sentences

PENALTY = 6.0
LEAST_COUNT = 4
LEAST_WEIGHT = 12
"""A feature that never weighs as many hundredths is left out of the file."""


def outcome(labelled: Sentence) -> int:
    """Number of what a labelled sentence does."""
    hurts = labelled.polarity == "hurtful"
    return OUTCOMES.index("hurt" if hurts else labelled.strategy)


def learn(labelled: Sequence[Sentence]) -> list[str]:
    """Return the lines of the file of weights: penalised maximum likelihood."""
    found = [_features(s.text) for s in labelled]
    counts = Counter(f for some in found for f in some)
    names = sorted(f for f, n in counts.items() if n >= LEAST_COUNT)
    x = _matrix(found, names)
    target = np.eye(len(OUTCOMES))[[outcome(s) for s in labelled]]
    shape = len(names), len(OUTCOMES)

    def loss(flat: Floats) -> tuple[float, Floats]:
        w = flat.reshape(shape)
        scores = x @ w
        scores -= scores.max(axis=1, keepdims=True)
        logp = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        gradient = x.T @ (np.exp(logp) - target) + PENALTY * w
        return float(-logp[target > 0].sum() + PENALTY / 2 * (w**2).sum()), gradient.ravel()

    weights = minimize(loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B",
                       options={"maxiter": 120}).x.reshape(shape)  # fmt: skip
    rounded = np.rint(100 * (weights - weights.mean(axis=1, keepdims=True))).astype(int)
    kept = [(n, w) for n, w in zip(names, rounded, strict=True) if np.abs(w).max() >= LEAST_WEIGHT]
    return ["\t".join(("feature", *OUTCOMES)), *("\t".join((n, *map(str, w))) for n, w in kept)]


def _features(text: str) -> set[str]:
    return {f for s in sentences(text) for f in features_of(s)}


def _matrix(found: Sequence[set[str]], names: Sequence[str]) -> csr_matrix:
    place = {name: n for n, name in enumerate(names)}
    cells = [(n, place[f]) for n, some in enumerate(found) for f in some if f in place]
    rows, columns = zip(*cells, strict=True)
    return csr_matrix((np.ones(len(cells)), (rows, columns)), (len(found), len(names)))


def report(labelled: Sequence[Sentence]) -> None:
    """Print how the shipped weights do on sentences that they have not seen."""
    heard = [reading.read(s.text) for s in labelled]
    for polarity in ("hurtful", "caring", "neutral"):
        some = [
            h.hurt >= reading.HURTS_FROM
            for h, s in zip(heard, labelled, strict=True)
            if s.polarity == polarity
        ]
        print(f"{polarity}: {np.mean(some):.3f} of {len(some)} heard as hurtful")
    kind = [(h, s) for h, s in zip(heard, labelled, strict=True) if s.polarity != "hurtful"]
    print(f"strategy: {np.mean([s.strategy in h.strategies for h, s in kind]):.3f} of {len(kind)}")


def main() -> None:
    every = read()
    if "--report" not in sys.argv:
        lines = learn([*(s for s in every if not s.held_out), *tuned_half()])
        atomic.write_bytes(WEIGHTS, ("\n".join(lines) + "\n").encode(), durable=False)
        print(f"{len(lines) - 1} features")
        reading.read.cache_clear()
        sentence.weights.cache_clear()
        sentence.judge.cache_clear()
    report([s for s in every if s.held_out])


if __name__ == "__main__":
    main()
