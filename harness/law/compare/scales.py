"""On which reward groups can be compared: their own where it is one scale, else a common one."""

from __future__ import annotations

from collections.abc import Sequence

from harness.law.compare.groups import Member
from harness.law.compare.pairs import Pair, Side, axes, moves_scale
from harness.law.compare.replicates import COMMON
from harness.law.io.clean import FEWEST_POINTS
from harness.law.io.column_choice import EVALUATION, TRAINING

OWN = (EVALUATION, TRAINING)
"""What runs may have been fitted on, the better one first."""
APART = "different scales: each on its own users' reward"


def column_for(sides: Sequence[Side]) -> str | None:
    """The reward column to compare on: the headline where it is one scale, else a common one.

    None where every common evaluation has too few points in some run.
    """
    members = [member for side in sides for member in side.members]
    headline = own(sides)
    apart = [axes(sides[0], side) for side in sides[1:]]
    if headline and not any(moves_scale(a, headline) for a in apart):
        return headline
    for column in COMMON:
        enough = (_points(m, column) >= FEWEST_POINTS for m in members)
        if all(enough) and not any(moves_scale(a, column) for a in apart):
            return column
    return None


def own(sides: Sequence[Side]) -> str | None:
    """The column of the groups' own means; where those differ, one that every run has points
    enough of. None where there is none.
    """
    members = [member for side in sides for member in side.members]
    columns = {member.column for member in members}
    if len(columns) == 1:
        return columns.pop() or None
    shared = [c for c in OWN if all(_points(m, c) >= FEWEST_POINTS for m in members)]
    return shared[0] if members and shared else None


def why_none(pair: Pair) -> str:
    """Of two groups without such a column: what would be one, and what gives it more points."""
    members = [member for side in pair.sides for member in side.members]
    common = [column for column in COMMON if not moves_scale(pair.axes, column)]
    if not common:
        return f"{APART}, whatever they are evaluated on"
    fewest = {column: min(_points(m, column) for m in members) for column in common}
    column = max(common, key=lambda name: fewest[name])
    if not fewest[column]:
        return f"{APART}, and none of {', '.join(common)} is in every run"
    said = f"{column} is one scale and has {fewest[column]} of the {FEWEST_POINTS} points"
    every = _often_enough(min(members, key=lambda m: _points(m, column)))
    return f"{APART}; {said} it takes" + (f": add trainer.eval_every={every}" if every else "")


def _points(member: Member, column: str) -> int:
    return len(member.replicate.points.get(column, ()))


def _often_enough(member: Member) -> int | None:
    """How often to evaluate for FEWEST_POINTS in a run of its length; None if it does already."""
    trainer = (member.identity.config or {}).get("trainer")
    given = trainer if isinstance(trainer, dict) else {}
    steps, every = given.get("steps"), given.get("eval_every")
    if not isinstance(steps, int) or not isinstance(every, int):
        return None
    needed = steps // FEWEST_POINTS
    return needed if 0 < needed < every else None
