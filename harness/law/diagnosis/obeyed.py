"""Whether a run's updates obeyed its rewards: do advantages go with what was earned?

The conversations that a run saves hold both. Their correlation within groups is near 1 for an
algorithm that compares a group's rewards, and 0 where advantages are dealt out at random, by a null
control or by a fault that credits the wrong conversation.
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
from harness.records.saved_conversations import Conversation

FEWEST = 6
"""Groups that taught something, below which nothing is said."""
NONE_SAVED = "no conversations were saved"
TOO_FEW = (
    f"the saved conversations have {{saved}} groups that taught something, and it takes {FEWEST}"
)
NO_SPREAD = "the advantages of the saved conversations do not differ"
Pairs = Sequence[tuple[float, float]]
"""Mean advantage and reward of conversations."""


def obeyed(run: Path) -> Interval | str:
    """The correlation of advantage and reward over a run's saved conversations, or why there is
    none.

    Each is centred within its group, or over the step where groups are of one; the 95% interval
    leaves out a group at a time, or a conversation.
    """
    try:
        steps = [saved_conversations.read(run, n) for n in saved_conversations.steps(run)]
    except HarnessError as error:
        return plain_file.one_line(error)
    if not steps:
        return NONE_SAVED
    sums = np.array([one for step in steps for one in _sums(step.conversations)])
    if len(sums) < FEWEST:
        return TOO_FEW.format(saved=len(sums))
    return correlation(sums) or NO_SPREAD


def correlation(sums: Floats) -> Interval | None:
    """The correlation of which each group has sums of a r, a a and r r, shape (groups, 3)."""
    whole = sums.sum(axis=0)
    without = whole - sums
    if not (without[:, 1:] > 0).all():
        return None
    value, rest = _ratio(whole[None])[0], _ratio(without)
    n = len(sums)
    error = float(np.sqrt((n - 1) / n * ((rest - rest.mean()) ** 2).sum()))
    half = numbers.t_quantile(0.975, n - 1) * error
    return Interval(float(value), max(-1.0, float(value) - half), min(1.0, float(value) + half))


def _ratio(sums: Floats) -> Floats:
    ratios: Floats = sums[:, 0] / np.sqrt(sums[:, 1] * sums[:, 2])
    return ratios


def _sums(conversations: Sequence[Conversation]) -> Iterator[tuple[float, float, float]]:
    """Sums of a r, a a and r r of each group whose rewards differ, or of each conversation."""
    by_group: dict[int, list[tuple[float, float]]] = {}
    for one in conversations:
        if (pair := _pair(one)) is not None:
            by_group.setdefault(one.group, []).append(pair)
    groups = list(by_group.values())
    if any(len(group) > 1 for group in groups):
        for group in groups:
            a, r = _centred(group)
            if np.ptp(r) > 0:
                yield float(a @ r), float(a @ a), float(r @ r)
    elif groups:
        a, r = _centred([pair for group in groups for pair in group])
        yield from zip((a * r).tolist(), (a * a).tolist(), (r * r).tolist(), strict=True)


def _centred(pairs: Pairs) -> tuple[Floats, Floats]:
    values = np.array(pairs, dtype=np.float64)
    a, r = (values - values.mean(axis=0)).T
    return a, r


def _pair(conversation: Conversation) -> tuple[float, float] | None:
    """Mean advantage of the replies, and the reward; None where either was not kept."""
    given = [turn.advantage for turn in conversation.replies if turn.advantage is not None]
    if conversation.reward is None or not given:
        return None
    return fmean(given), conversation.reward
