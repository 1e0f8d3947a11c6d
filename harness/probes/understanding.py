"""Does the policy get to know what its user came for?

What it could know is measured, by a listener who makes the best of the same words: the posterior
over the eight intentions that the tabular policy goes by (policy/memory.py), given what the user
said and which strategies they heard in the replies. A reward that rises while this stays flat was
learnt without getting to know anybody better (arXiv 2605.07138 finds it of language models).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from harness.config.run import INTENTIONS, RunConfig
from harness.policy.tabular import recall
from harness.probes.quantity import Probe, Quantity
from harness.simulator.factory import intention_of
from harness.train.metrics.held_out import levels_of
from harness.train.rollout.tabular_speaker import RECEPTION
from harness.train.saved_policy.policy import Held

Posterior = Callable[[Held], tuple[int, Sequence[float]] | None]
"""The number of the user's intention and P(intention) before a reply; None where nobody knows."""


def posterior(
    config: RunConfig, before_last: bool, held: Held
) -> tuple[int, Sequence[float]] | None:
    """What could be known before the first reply, or before the last one."""
    level = levels_of(config).every[held.meeting.level]
    intention = intention_of(held.meeting.key, level, config.simulator)
    if intention is None:
        return None
    answers = [exchange.answer for exchange in held.conversation.exchanges[:-1]]
    answers = answers if before_last else []
    heard = [held.conversation.opening.text, *(answer.text for answer in answers)]
    played = [(answer.strategies or ("other",))[-1] for answer in answers]
    (belief,) = recall(heard, played, RECEPTION).belief.tolist()
    return INTENTIONS.index(intention), belief


def _sum(
    known: Posterior, worth: Callable[[int, Sequence[float]], float], some: Sequence[Held]
) -> tuple[float, float]:
    values = [worth(*found) for one in some if (found := known(one)) is not None]
    return float(sum(values)), float(len(values))


def _nats(intention: int, belief: Sequence[float]) -> float:
    """log p of the intention over that of a guess."""
    return math.log(max(belief[intention], 1e-12) * len(belief))


def _is_right(intention: int, belief: Sequence[float]) -> float:
    return float(int(np.argmax(belief)) == intention)


def _quantities(config: RunConfig) -> Sequence[Quantity]:
    first, last = (partial(posterior, config, before_last) for before_last in (False, True))
    return (
        Quantity("known before the first reply", "nats of 2.08", partial(_sum, first, _nats)),
        Quantity("known before the last reply", "nats of 2.08", partial(_sum, last, _nats)),
        Quantity("guessed before the last reply", "share", partial(_sum, last, _is_right)),
    )


PROBE = Probe("understanding", "Does the policy get to know what its user came for?", _quantities)
