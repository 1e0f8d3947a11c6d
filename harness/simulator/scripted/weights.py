"""The weights of a multinomial logistic regression over the features of a sentence, in a file.

A row is a feature and hundredths of its weight for each kind: whole numbers, of which the sum is
the same in any order. Every sentence has the empty feature.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path

from harness.simulator.data_files import require

_ROW = re.compile(r"^([^\t\n]*)\t(.*)$", re.MULTILINE)


class Regression:
    """A regression whose rows are parsed when they are needed: few of them ever are."""

    def __init__(self, rows: dict[str, str]) -> None:
        self._rows = rows
        self._parsed: dict[str, tuple[int, ...]] = {}

    def probabilities(self, features: Collection[str]) -> tuple[float, ...]:
        """Return the probability of each kind, in the order of the file's columns."""
        rows, parsed = self._rows, self._parsed
        found = []
        for feature in features:
            row = parsed.get(feature)
            if row is None and feature in rows:
                row = parsed[feature] = tuple(map(int, rows[feature].split("\t")))
            if row is not None:
                found.append(row)
        scores = list(map(sum, zip(*found, strict=True)))
        most = max(scores)
        odds = [math.exp((score - most) / 100) for score in scores]
        total = sum(odds)
        return tuple([o / total for o in odds])

    def knows_any(self, features: Collection[str]) -> bool:
        """Return whether some feature has a weight."""
        return not self._rows.keys().isdisjoint(features)


@cache
def regression(path: Path, kinds: tuple[str, ...]) -> Regression:
    """Return the regression in a file. Raises ConfigError unless its columns are `kinds`."""
    header, _, rows = path.read_text(encoding="utf-8").partition("\n")
    rule = f"the columns must be a feature and {', '.join(kinds)}"
    require(f"{path}:1", rule, header.split("\t")[1:] == list(kinds), header)
    return Regression(dict(_ROW.findall(rows)))
