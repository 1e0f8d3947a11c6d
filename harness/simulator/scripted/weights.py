"""The weights of a multinomial logistic regression over the features of a sentence, in a file.

A row is a feature and hundredths of its weight for each kind: whole numbers, of which the sum is
the same in any order. Every sentence has the empty feature.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import cache, lru_cache
from pathlib import Path


def probabilities(path: Path, features: Collection[str]) -> tuple[float, ...]:
    """Return the probability of each kind, in the order of the file's columns."""
    table = _rows(path)
    weights = [_weights(path, feature) for feature in features if feature in table]
    scores = [sum(column) for column in zip(*weights, strict=True)]
    most = max(scores)
    odds = [math.exp((score - most) / 100) for score in scores]
    total = sum(odds)
    return tuple([o / total for o in odds])


def knows_any(path: Path, features: Collection[str]) -> bool:
    """Return whether some feature has a weight."""
    return not _rows(path).keys().isdisjoint(features)


@cache
def _rows(path: Path) -> dict[str, str]:
    """Return the cells of each feature; they are parsed when needed, as few of them ever are."""
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    cells = (line.partition("\t") for line in lines)
    return {feature: weights for feature, _, weights in cells}


@lru_cache(maxsize=65536)
def _weights(path: Path, feature: str) -> tuple[int, ...]:
    return tuple(map(int, _rows(path)[feature].split("\t")))
