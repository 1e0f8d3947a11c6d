"""Multinomial logistic regression over the features of a sentence, with weights from a file.

A row is a feature and its weight for each kind in hundredths. The weights are integers, so that
their sum does not depend on the order. Every sentence has the empty feature (the intercept).
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
    """A regression whose rows are parsed on first use, because few are ever used."""

    def __init__(self, rows: dict[str, str]) -> None:
        self._rows = rows
        self._parsed: dict[str, tuple[int, ...]] = {}

    def probabilities(self, features: Collection[str]) -> tuple[float, ...]:
        """Return the probability of each kind, in the order of the file's columns."""
        rows, parsed = self._rows, self._parsed
        weights = []
        for feature in features:
            row = parsed.get(feature)
            if row is None and feature in rows:
                row = parsed[feature] = tuple(map(int, rows[feature].split("\t")))
            if row is not None:
                weights.append(row)
        scores = list(map(sum, zip(*weights, strict=True)))
        highest = max(scores)
        odds = [math.exp((score - highest) / 100) for score in scores]
        total = sum(odds)
        return tuple([o / total for o in odds])

    def knows_any(self, features: Collection[str]) -> bool:
        """Return whether any of the features has a weight."""
        return not self._rows.keys().isdisjoint(features)


@cache
def regression(path: Path, kinds: tuple[str, ...]) -> Regression:
    """Return the regression of a file. Raises ConfigError unless its columns are `kinds`."""
    header, _, rows = path.read_text(encoding="utf-8").partition("\n")
    rule = f"the columns must be a feature and {', '.join(kinds)}"
    require(f"{path}:1", rule, header.split("\t")[1:] == list(kinds), header)
    return Regression(dict(_ROW.findall(rows)))
