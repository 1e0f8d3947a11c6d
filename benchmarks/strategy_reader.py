"""Learn the word weights by which the scripted user reads strategies, and say how well they read.

python -m benchmarks.strategy_reader           # learn, write strategy_weights.tsv, report
python -m benchmarks.strategy_reader --check   # report, and fail if the file is not what is learnt
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from harness.simulator.scripted.recognition import KINDS, WEIGHTS, features

SENTENCES = WEIGHTS.with_name("strategy_sentences.tsv")
LEAST_COUNT = 2
PENALTY = 0.3
LEAST_WEIGHT = 0.1
"""A feature that never weighs as much is left out of the file."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sentence:
    writer: str
    kind: str
    text: str


def read(path: Path = SENTENCES) -> list[Sentence]:
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return [Sentence(*row) for row in rows]


def learn(sentences: list[Sentence]) -> dict[str, Floats]:
    """Penalised maximum likelihood: by feature, a weight for each of KINDS."""
    counts = Counter(f for s in sentences for f in features(s.text))
    names = sorted(f for f, n in counts.items() if n >= LEAST_COUNT)
    x, y = _matrix(sentences, names), np.array([KINDS.index(s.kind) for s in sentences])
    shape = len(names), len(KINDS)
    target = np.eye(len(KINDS))[y]

    def loss(flat: Floats) -> tuple[float, Floats]:
        w = flat.reshape(shape)
        scores = x @ w
        scores -= scores.max(axis=1, keepdims=True)
        log_total = np.log(np.exp(scores).sum(axis=1, keepdims=True))
        logp = scores - log_total
        gradient = x.T @ (np.exp(logp) - target) + PENALTY * w
        return float(-logp[target > 0].sum() + PENALTY / 2 * (w**2).sum()), gradient.ravel()

    weights = minimize(loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B",
                       options={"maxiter": 300}).x.reshape(shape)  # fmt: skip
    return dict(zip(names, weights, strict=True))


def _matrix(sentences: list[Sentence], names: list[str]) -> csr_matrix:
    place = {name: n for n, name in enumerate(names)}
    cells = [(n, place[f]) for n, s in enumerate(sentences) for f in features(s.text) if f in place]
    rows, columns = zip(*cells, strict=True)
    return csr_matrix((np.ones(len(cells)), (rows, columns)), (len(sentences), len(names)))


def right(sentences: list[Sentence], weights: dict[str, Floats]) -> float:
    """Share of sentences whose kind is the most likely one."""
    names = list(weights)
    scores = _matrix(sentences, names) @ np.array([weights[n] for n in names])
    kinds = [KINDS[n] for n in scores.argmax(axis=1)]
    return float(np.mean([k == s.kind for k, s in zip(kinds, sentences, strict=True)]))


def lines(weights: dict[str, Floats]) -> list[str]:
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
