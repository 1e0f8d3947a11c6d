"""Does the policy get to know what its user came for?

The probe measures what the policy could know, by a listener with the same information: the
posterior over the eight intentions that the tabular policy uses (policy/memory.py), given the
user's words and the strategies recognised in the replies. If the reward rises while this stays
flat, the policy learnt without getting to know its users better (arXiv 2605.07138 finds this in
language models).

A language model is also asked for its own choice: eight fixed sentences, one per intention, are
scored in place of its last reply. The score of the same sentence after a greeting is subtracted,
because some sentences are more likely in any context (as in Zhao et al., arXiv 2102.09690). The
chance level is 1 in 8; the listener above is the upper reference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from harness.config.run import INTENTIONS, RunConfig
from harness.policy.tabular import recall
from harness.probes.quantity import Probe, ProbeQuantity
from harness.simulator.factory import intention_of
from harness.train.metrics.held_out import levels_of
from harness.train.rollout.tabular_speaker import RECEPTION
from harness.train.saved_policy.policy import HeldOutConversation, SavedPolicy, Turns

SENTENCES = {
    "praise": "You want to hear that you did well.",
    "not_at_fault": "You want to hear that it is not your fault.",
    "venting": "You want someone who just listens to you.",
    "deep_empathy": "You want someone to feel how deep this goes.",
    "advice": "You want advice on what you can do.",
    "dialectic": "You want to look at it from several sides.",
    "growth": "You want to learn from it about yourself.",
    "motives": "You want to know why the others did it.",
}
"""A supporter's sentence that names the user's intention, by intention."""
GREETING: Turns = (("user", "Hello."),)
"""A conversation that says nothing about the user."""
TABULAR = (
    "the policy's own choice, with policy.kind=tabular: it has no words, and acts on the "
    "listener's belief"
)
SERVED = (
    "all that could be known of served users: the listener reads the sentences of scripted users, "
    "and a model's words only if they are the same, so its numbers are lower bounds here"
)
Posterior = Callable[[HeldOutConversation], tuple[int, Sequence[float]] | None]
"""Returns the index of the user's intention and P(intention) before a reply; None if unknown."""


def posterior(
    config: RunConfig, before_last: bool, held_out: HeldOutConversation
) -> tuple[int, Sequence[float]] | None:
    """Return the listener's posterior before the first reply, or before the last one."""
    level = levels_of(config).every[held_out.meeting.level]
    intention = intention_of(held_out.meeting.key, level, config.simulator)
    if intention is None:
        return None
    answers = [exchange.answer for exchange in held_out.conversation.exchanges[:-1]]
    answers = answers if before_last else []
    heard = [held_out.conversation.opening.text, *(answer.text for answer in answers)]
    played = [(answer.strategies or ("other",))[-1] for answer in answers]
    (belief,) = recall(heard, played, RECEPTION).belief.tolist()
    return INTENTIONS.index(intention), belief


def _sum(
    posterior_of: Posterior,
    worth: Callable[[int, Sequence[float]], float],
    conversations: Sequence[HeldOutConversation],
) -> tuple[float, float]:
    values = [
        worth(*pair) for held_out in conversations if (pair := posterior_of(held_out)) is not None
    ]
    return float(sum(values)), float(len(values))


def _nats(intention: int, belief: Sequence[float]) -> float:
    """Return the log-ratio of the intention's probability to a uniform guess."""
    return math.log(max(belief[intention], 1e-12) * len(belief))


def _is_right(intention: int, belief: Sequence[float]) -> float:
    return float(int(np.argmax(belief)) == intention)


def _quantities(config: RunConfig) -> Sequence[ProbeQuantity]:
    first, last = (partial(posterior, config, before_last) for before_last in (False, True))
    own_choice = ProbeQuantity(
        "own choice before the last reply", "share", partial(_own_is_right, last), whole=1.0
    )
    return (
        ProbeQuantity("known before the first reply", "nats of 2.08", partial(_sum, first, _nats)),
        ProbeQuantity("known before the last reply", "nats of 2.08", partial(_sum, last, _nats)),
        ProbeQuantity(
            "guessed before the last reply", "share", partial(_sum, last, _is_right), whole=1.0
        ),
        *(() if config.policy.kind == "tabular" else (own_choice,)),
    )


def _own_is_right(
    posterior_of: Posterior, conversations: Sequence[HeldOutConversation]
) -> tuple[float, float]:
    """Return hits and number of the conversations with the policy's own choice."""
    return _sum(
        lambda held_out: (
            None if (pair := posterior_of(held_out)) is None else (pair[0], held_out.choice)
        ),
        _is_right,
        [held_out for held_out in conversations if held_out.choice],
    )


def with_choice(
    saved: SavedPolicy, conversations: Sequence[HeldOutConversation]
) -> Sequence[HeldOutConversation]:
    """Return the conversations, each with the policy's own choice before its last reply."""
    words, sentences = saved.words, [SENTENCES[name] for name in INTENTIONS]
    if words is None:
        return conversations
    with saved.speaking():
        usual = words.scores(GREETING, sentences)
        scores = [
            words.scores(_before_last_reply(held_out), sentences) for held_out in conversations
        ]
    return [
        replace(held_out, choice=tuple(a - b for a, b in zip(score, usual, strict=True)))
        for held_out, score in zip(conversations, scores, strict=True)
    ]


def _before_last_reply(held_out: HeldOutConversation) -> Turns:
    turns = [("user", held_out.conversation.opening.text)]
    for exchange in held_out.conversation.exchanges[:-1]:
        turns += [("policy", exchange.reply.text), ("user", exchange.answer.text)]
    return turns


def _not_measured(config: RunConfig) -> Sequence[str]:
    tabular = (TABULAR,) if config.policy.kind == "tabular" else ()
    return (*tabular, SERVED) if config.simulator.kind == "served" else tabular


PROBE = Probe(
    "understanding",
    "Does the policy find out what its user came for?",
    _quantities,
    then=with_choice,
    not_measured=_not_measured,
)
