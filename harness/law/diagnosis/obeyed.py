"""Measure whether a run's updates followed its rewards: do advantages correlate with rewards?

Saved conversations hold both. Their correlation within groups is near 1 for an algorithm that
compares the rewards of a group. It is 0 if advantages are assigned at random, by a null control or
by a fault that credits the wrong conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np

from harness.errors import HarnessError
from harness.law.estimate import numbers
from harness.law.results import Floats, Interval
from harness.records import plain_file, saved_conversations
from harness.records.saved_conversations import SavedConversation

FEWEST = 6
"""Smallest number of groups with a signal for an estimate."""
NONE_SAVED = "no conversations were saved"
TOO_FEW = f"the saved conversations have {{saved}} groups with a signal, and {FEWEST} are needed"
NO_SPREAD = "the advantages of the saved conversations do not differ"
Pairs = Sequence[tuple[float, float]]
"""Mean advantage and reward of each conversation."""


def advantage_correlation(run: Path) -> Interval | str:
    """Return the correlation of advantage and reward over saved conversations, or why there is
    none.

    Both are centred within groups, or within steps if groups have one member. The 95% interval is a
    jackknife over groups, or over conversations.
    """
    try:
        steps = [saved_conversations.read(run, number) for number in saved_conversations.steps(run)]
    except HarnessError as error:
        return plain_file.one_line(error)
    if not steps:
        return NONE_SAVED
    sums = np.array([group_sums for step in steps for group_sums in _sums(step.conversations)])
    if len(sums) < FEWEST:
        return TOO_FEW.format(saved=len(sums))
    return correlation(sums) or NO_SPREAD


def correlation(sums: Floats) -> Interval | None:
    """Return the correlation, given sums of a r, a a and r r of each group, shape (groups, 3).

    None if advantages or rewards have no spread without some group.
    """
    total = sums.sum(axis=0)
    partial = total - sums
    if not (partial[:, 1:] > 0).all():
        return None
    value, partial_ratios = _ratio(total[None])[0], _ratio(partial)
    n = len(sums)
    error = float(np.sqrt((n - 1) / n * ((partial_ratios - partial_ratios.mean()) ** 2).sum()))
    half = numbers.t_quantile(0.975, n - 1) * error
    return Interval(float(value), max(-1.0, float(value) - half), min(1.0, float(value) + half))


def _ratio(sums: Floats) -> Floats:
    ratios: Floats = sums[:, 0] / np.sqrt(sums[:, 1] * sums[:, 2])
    return ratios


def _sums(conversations: Sequence[SavedConversation]) -> Iterator[tuple[float, float, float]]:
    """Yield sums of a r, a a and r r of each group with unequal rewards, or each conversation."""
    by_group: dict[int, list[tuple[float, float]]] = {}
    for conversation in conversations:
        if (pair := _pair(conversation)) is not None:
            by_group.setdefault(conversation.group, []).append(pair)
    groups = list(by_group.values())
    if any(len(group) > 1 for group in groups):
        for group in groups:
            a, r = _centre(group)
            if np.ptp(r) > 0:
                yield float(a @ r), float(a @ a), float(r @ r)
    elif groups:
        a, r = _centre([pair for group in groups for pair in group])
        yield from zip((a * r).tolist(), (a * a).tolist(), (r * r).tolist(), strict=True)


def _centre(pairs: Pairs) -> tuple[Floats, Floats]:
    values = np.array(pairs, dtype=np.float64)
    a, r = (values - values.mean(axis=0)).T
    return a, r


def _pair(conversation: SavedConversation) -> tuple[float, float] | None:
    """Return the mean advantage of the replies and the reward; None if either was not saved."""
    advantages = [turn.advantage for turn in conversation.replies if turn.advantage is not None]
    if conversation.reward is None or not advantages:
        return None
    return fmean(advantages), conversation.reward
