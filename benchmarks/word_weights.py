"""Learn a weight for each word and kind from labelled sentences: a multinomial regression."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from harness.simulator.scripted.sentence_features import extract_features

LEAST_COUNT = 2
"""A feature of fewer sentences is not learnt."""
Floats = NDArray[np.float64]
Weights = Mapping[str, Floats]
"""By feature, a weight for each kind."""


def learn(texts: Sequence[str], kinds: NDArray[np.int64], penalty: float) -> Weights:
    """Penalised maximum likelihood; `kinds`: number of each text's kind, from 0."""
    counts = Counter(f for text in texts for f in extract_features(text).features)
    names = sorted(f for f, n in counts.items() if n >= LEAST_COUNT)
    x = _matrix(texts, names)
    target = np.eye(int(kinds.max()) + 1)[kinds]
    shape = len(names), target.shape[1]

    def loss(flat: Floats) -> tuple[float, Floats]:
        w = flat.reshape(shape)
        logp = _log_softmax(x @ w)
        gradient = x.T @ (np.exp(logp) - target) + penalty * w
        return float(-logp[target > 0].sum() + penalty / 2 * (w**2).sum()), gradient.ravel()

    weights = minimize(loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B",
                       options={"maxiter": 300}).x.reshape(shape)  # fmt: skip
    return dict(zip(names, weights, strict=True))


def probabilities(texts: Sequence[str], weights: Weights) -> Floats:
    """P(kind) of each text, shape (texts, kinds)."""
    scores = _matrix(texts, list(weights)) @ np.array(list(weights.values()))
    chances: Floats = np.exp(_log_softmax(scores))
    return chances


def lines(weights: Weights, kinds: Sequence[str], least: int) -> list[str]:
    """The file: a header, then a feature a line, with weights in hundredths, less their mean.

    A feature that never weighs `least` hundredths is left out.
    """
    rounded = {f: np.rint(100 * (w - w.mean())).astype(int) for f, w in weights.items()}
    kept = {f: w for f, w in rounded.items() if np.abs(w).max() >= least}
    rows = ["\t".join((f, *map(str, w))) for f, w in sorted(kept.items())]
    return ["\t".join(("feature", *kinds)), *rows]


def weights_of(rows: Sequence[str]) -> Weights:
    """The weights in the lines of a file."""
    cells = [row.split("\t") for row in rows[1:]]
    return {name: np.array(values, float) / 100 for name, *values in cells}


def alike(rows: Sequence[str], others: Sequence[str], least: int) -> bool:
    """Whether two files have been learnt from the same: the last digits of sums differ from CPU to
    CPU, by which a weight is rounded up on one and down on another, and a feature that never weighs
    more than `least` hundredths is kept on one alone.
    """
    one, other = weights_of(rows), weights_of(others)
    apart = [_most(one[name] - other[name]) for name in one.keys() & other.keys()]
    alone = [_most({**one, **other}[name]) for name in one.keys() ^ other.keys()]
    nearly = 1e-9  # of hundredths as floats
    return (
        rows[0] == others[0]
        and max(apart, default=0.0) <= 0.01 + nearly
        and max(alone, default=0.0) <= least / 100 + nearly
    )


def _most(weights: Floats) -> float:
    return float(np.abs(weights).max())


def _log_softmax(scores: Floats) -> Floats:
    shifted = scores - scores.max(axis=1, keepdims=True)
    logp: Floats = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return logp


def _matrix(texts: Sequence[str], names: Sequence[str]) -> csr_matrix:
    place = {name: n for n, name in enumerate(names)}
    cells = [
        (n, place[f])
        for n, text in enumerate(texts)
        for f in extract_features(text).features
        if f in place
    ]
    rows, columns = zip(*cells, strict=True)
    return csr_matrix((np.ones(len(cells)), (rows, columns)), (len(texts), len(names)))
