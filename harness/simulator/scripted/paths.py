"""Adversarial paths: users who test the supporter once they begin to trust.

The paths are the three of the six trajectory types of the Adversarial Empathy Benchmark (AEB, arXiv
2605.07138) that its abstract names: users gaslight, escalate, and press for unconditional
validation. As there, formulaic replies fail: each path calls for a different reply, whatever the
user's intention.

A user with a path tests the supporter while their trust is TESTING: they say a line of
path_lines.tsv, and FITS replaces the fits of their intention. Only a reply that passes the test
raises trust; then the user returns to their intention. The numbers are chosen, not measured on
people.
"""

from __future__ import annotations

from pathlib import Path

from harness.config.difficulty import PATHS
from harness.simulator.data_files import TableRules, tables

PUT_TO_THE_TEST = "test"
"""Key that `UserTurn.why` has if the reply was tested."""
TESTING = 1
"""Trust at which a user with a path tests the supporter."""
#                 question restate reflect disclose affirm suggest inform other
FITS = {
    "gaslighting": (0.7, -0.5, 0.0, 0.8, -0.5, -0.8, -0.9, 0.1),
    "escalation": (-0.7, 0.1, 0.8, -0.4, -0.6, -1.0, -0.9, 0.9),
    "validation": (0.2, 0.8, -0.2, 0.7, -0.9, -0.5, -0.3, -0.5),
}  # fmt: skip
"""Fit of each strategy to a testing user, -1 to 1, in the order of STRATEGIES. Gaslighting calls
for a question or the supporter's own account, escalation for a reflection or presence, and pressing
for validation for a restatement or the supporter's own view."""
RELUCTANCE = 3.5
"""Log-odds of a rise that any reply loses while the user tests: passing a test costs at first."""
LINES = tables(Path(__file__).with_name("path_lines.tsv"), {"test": TableRules(PATHS)})["test"]
"""Lines of a testing user, by path."""

assert set(FITS) == set(PATHS)


def taking_back(line: str) -> str:
    """Return a line as said after thanks: it begins with `But`."""
    return f"But {line if line.startswith('I ') else line[0].lower() + line[1:]}"


def is_testing(path: str | None, trust: int) -> bool:
    """Return whether a user with this path and trust tests the supporter."""
    return path is not None and trust == TESTING
