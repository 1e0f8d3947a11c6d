"""The numbers of each seed on one footing for all groups: what a forest plot shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.law import groups, measured, quantities
from harness.law.groups import Member
from harness.law.pairs import Side
from harness.law.quantities import Footing
from harness.law.random_effects import FEWEST_SEEDS
from harness.law.results import Interval, Pooled


def by_place(sides: Sequence[Side]) -> dict[int, dict[str, Any]]:
    """Place of a group -> reward column, shared or own; its seeds; their means."""
    if not sides:
        return {}
    column = measured.column_for(sides)
    footing = Footing(column)
    seeds = max(len(side.members) for side in sides)
    comparable = len(sides) > 1 and seeds >= FEWEST_SEEDS
    slopes = quantities.slopes(sides, footing) if comparable else None
    own = [[m.result.a for m in side.members] for side in sides]
    ceilings, gains = (of(sides, footing) for of in (quantities.ceilings, quantities.gains))
    return {
        side.place: {
            "on": column,
            "shared_range": slopes is not None,
            "seeds": [
                _seed(member, *numbers)
                for member, *numbers in zip(side.members, *values, strict=True)
            ],
            "onset": _onset(side.members),
            **{
                name: groups.weighed(list(given))
                for name, given in zip(("a", "ceiling", "gain"), values, strict=True)
            },
        }
        for side, *values in zip(sides, slopes or own, ceilings, gains, strict=True)
    }


def _seed(
    member: Member, a: Interval | None, ceiling: Interval | None, gain: Interval | None
) -> dict[str, Any]:
    return {
        "run": member.result.run,
        "seed": member.identity.seed,
        "a": a,
        "ceiling": ceiling,
        "gain": gain,
        "onset": quantities.onset_share(member),
        "reached": quantities.reached(member),
    }


def _onset(members: Sequence[Member]) -> Pooled:
    """Of the runs with an onset, as a share of the run; the others are censored."""
    shares = [quantities.onset_share(member) for member in members]
    return groups.pooled([s for s in shares if s is not None], censored=shares.count(None))
