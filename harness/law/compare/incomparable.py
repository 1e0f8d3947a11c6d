"""Explain in one sentence why a quantity of two groups is not compared or not estimated."""

from __future__ import annotations

from typing import Any

from harness.law.compare import scales, seed_means
from harness.law.compare.comparison_basis import ComparisonBasis, share_done
from harness.law.compare.pairs import GroupPair
from harness.law.compare.random_effects import FEWEST_SEEDS
from harness.law.io.clean import FEWEST_POINTS

TOLD_BY_H = ("a", "ceiling", "onset", "fall")
NO_COLUMN = f"no reward column has {FEWEST_POINTS} points in every run of both groups"
TOO_FEW = f"{FEWEST_SEEDS} runs of each group must have {FEWEST_POINTS} points"
"""Start of the reason if too few runs can be compared, for lack of points or of movement of H."""


def why(pair: GroupPair, quantity: str, column: str | None, pool_unlike: bool) -> str | None:
    """Return why the two groups cannot be compared; None if they can.

    `column`: their common reward column. `pool_unlike`: ignore differences of measurement.
    """
    if len(pair.axes) > 1:
        return f"differ in {len(pair.axes)} axes: {', '.join(pair.axes)}"
    differing = [] if pool_unlike else _unlike_cards(pair, quantity)
    if differing:
        return f"measured in different ways: {differing[0]}"
    for side in pair.sides:
        if not side.members_with(quantity):
            return f"no run of {side.name} is finished"
    if column is None and quantity in ("ceiling", "gain"):
        return scales.why_none(pair)
    if column is None and quantity == "a" and scales.own_column(pair.sides) is None:
        return NO_COLUMN
    return None


def _unlike_cards(pair: GroupPair, quantity: str) -> list[str]:
    """Return the dotted keys that differ between the cards and matter for the quantity."""
    later, baseline = pair.later.card, pair.baseline.card
    keys = sorted(
        key for key in later.keys() | baseline.keys() if later.get(key) != baseline.get(key)
    )
    ignored = ("reward.",) if quantity in TOLD_BY_H else ("reward.", "entropy.", "probe")
    if any(axis.partition(".")[0] == "policy" for axis in pair.axes):
        ignored = (*ignored, "start_model")  # a policy axis may change the start model itself
    return [f"measurement.{key}" for key in keys if not key.startswith(ignored)]


def no_replicates(pair: GroupPair, quantity: str) -> str | None:
    """Return why the runs of a group are no replicates; None if those of both groups are."""
    for side in pair.sides:
        if len(side.members_with(quantity)) < FEWEST_SEEDS:
            return f"{side.name} has one seed: seeds are the replicates, not steps"
    for side in pair.sides:
        runs = side.members_with(quantity)
        unknown = seed_means.count_unknown_seeds([member.identity.seed for member in runs])
        if unknown:
            count = f"{unknown} of {len(runs)} runs of {side.name}"
            return f"the seed of {count} is unknown, so the runs may be repeats of one seed"
    return None


def nothing_to_compare(pair: GroupPair, quantity: str, basis: ComparisonBasis) -> dict[str, Any]:
    """Return `incomparable` or `open` for runs without a common range of H or without an onset."""
    lawless = _lawless(pair, quantity, basis)
    if lawless is not None:
        return {"incomparable": lawless}
    if quantity == "onset":
        no_onset = "no run collapses within the steps that all runs have done"
        return {"open": f"{no_onset}{_until_diverged(pair)}"}
    return {"incomparable": "no H in common: there is no range of H that every run passes through"}


def _until_diverged(pair: GroupPair) -> str:
    """Return the end of the sentence if some run diverged."""
    shares = [share_done(member) for side in pair.sides for member in side.diverged]
    return f"; one diverged at {min(shares):.0%} of its steps" if shares else ""


def _lawless(pair: GroupPair, quantity: str, basis: ComparisonBasis) -> str | None:
    """Return the reason if too few runs of a group have a single law, for a and the ceiling."""
    for side in pair.sides if quantity in ("a", "ceiling") else ():
        failing = sum(basis.law_fails(member) for member in side.members)
        if failing and len(side.members) - failing < FEWEST_SEEDS:
            return f"no single law in {failing} of {len(side.members)} runs of {side.name}"
    return None


def too_little(
    pair: GroupPair, quantity: str, seeds: tuple[int, int], basis: ComparisonBasis
) -> dict[str, Any]:
    """Return the reason to give if there is no estimate."""
    if min(seeds) >= FEWEST_SEEDS:
        return {"open": "the seeds do not differ, so their spread is not known"}
    lawless = _lawless(pair, quantity, basis)
    if lawless is not None:
        return {"incomparable": lawless}
    range_note = " within the range of H that all pass through" if quantity == "a" else ""
    condition = "" if quantity == "fall" else f" and an H that varies{range_note}"
    reason = f"{TOO_FEW}{condition}; {seeds[0]} and {seeds[1]} have"
    return {"incomparable" if quantity == "a" else "open": reason}
