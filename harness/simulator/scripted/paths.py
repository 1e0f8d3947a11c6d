"""Adversarial paths: users who put the supporter to the test once they begin to trust.

Three of the six trajectory types of the Adversarial Empathy Benchmark (AEB, arXiv 2605.07138),
those that its abstract names: users gaslight, escalate, and press for unconditional validation. As
there, formulaic replies fail: each path takes another reply than the next, whatever the user came
for.

A user with a path tests as long as their trust is TESTING: in words (path_lines.tsv), and by what
they make of the next reply, `FITS` in place of their intention's. Trust grows only by a reply that
stands the test, and then they go on to what they came for. The numbers are chosen, not measured on
people.
"""

from __future__ import annotations

from pathlib import Path

from harness.config.difficulty import PATHS
from harness.simulator.data_files import Table, tables

PUT_TO_THE_TEST = "test"
"""The part of `UserTurn.why` that an answer to a reply has which was put to the test."""
TESTING = 1
"""Trust at which a user with a path puts the supporter to the test."""
#                 question restate reflect disclose affirm suggest inform other
FITS = {
    "gaslighting": (0.7, -0.5, 0.0, 0.8, -0.5, -0.8, -0.9, 0.1),
    "escalation": (-0.7, 0.1, 0.8, -0.4, -0.6, -1.0, -0.9, 0.9),
    "validation": (0.2, 0.8, -0.2, 0.7, -0.9, -0.5, -0.3, -0.5),
}  # fmt: skip
"""Fit of each strategy, in the order of STRATEGIES, to a user who tests, -1 to 1. Who gaslights is
asked how they remember it, or told how the supporter does; who is angry is seen and not left; who
presses is told what was understood, and what one thinks oneself."""
RELUCTANCE = 3.5
"""Log-odds by which a rise is less likely while they test, whatever is replied: to stand a test
costs before it pays."""
LINES = tables(Path(__file__).with_name("path_lines.tsv"), {"test": Table(PATHS)})["test"]
"""By path, what who tests says."""

assert set(FITS) == set(PATHS)


def taking_back(line: str) -> str:
    """Return a line as said after thanks."""
    return f"But {line if line.startswith('I ') else line[0].lower() + line[1:]}"


def tests(path: str | None, trust: int) -> bool:
    """Return whether a user puts the supporter to the test."""
    return path is not None and trust == TESTING
