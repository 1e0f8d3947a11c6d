"""What the probes count, on conversations whose numbers are known."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import pytest

from harness.config.run import INTENTIONS, PolicyConfig, RunConfig
from harness.probes import alliance, drift, grounding, understanding, width
from harness.probes.quantity import Probe, replies
from harness.simulator.protocol import SupporterReply, UserTurn
from harness.train.metrics.evaluate import HeldOutUsers
from harness.train.metrics.held_out import Meeting
from harness.train.metrics.replies import Reply
from harness.train.saved_policy.policy import Divergence, HeldOutConversation, Turns
from tests.train.made import conversation, user_turn

FEELING = "Hm. I feel sad."
FACT = "Hm. My sister moved out in May."
Told = tuple[str, tuple[str, ...]]
"""The user's answer, and the strategies that they heard in the reply to which it is one."""


def held(*exchanges: Told, last: UserTurn | None = None, nats: float = 0.0) -> HeldOutConversation:
    """A conversation whose opening tells no feeling."""
    turns = [user_turn(50, text, strategies=heard) for text, heard in exchanges]
    turns += [last] if last is not None else []
    exchanged = [(SupporterReply("I see."), turn) for turn in turns]
    return HeldOutConversation(
        Meeting(0, 0), conversation(0, 0, 40, exchanged), Divergence(nats, len(turns))
    )


def measured(probe: Probe, name: str, some: Sequence[HeldOutConversation]) -> tuple[float, float]:
    (quantity,) = [one for one in probe.quantities(RunConfig()) if one.name == name]
    return quantity.of_user(some)


TALK = held(
    (FEELING, ("question",)),
    (FACT, ("suggest",)),
    ("Hm.", ("reflect", "question", "question")),
    (FACT, ()),
)


def test_each_reply_has_what_was_heard_before_it_and_told_after_it() -> None:
    assert list(replies([TALK])) == [
        Reply(("question",), after_feeling=False, wanted=None, facts_told=0),
        Reply(("suggest",), after_feeling=True, wanted=None, facts_told=1),
        Reply(("reflect", "question", "question"), after_feeling=False, wanted=None, facts_told=0),
        Reply((), after_feeling=False, wanted=None, facts_told=1),
    ]


def test_what_follows_a_failure_is_not_there() -> None:
    lost = held((FEELING, ("inform",)), last=user_turn(50, "", ended="failed"))
    assert [reply.strategies for reply in replies([lost])] == [("inform",)]


def test_last_words_tell_no_fact() -> None:
    ended = held(last=user_turn(100, FACT, ended="success", strategies=("affirm",)))
    assert [reply.facts_told for reply in replies([ended])] == [None]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("acts of grounding", (300.0, 4.0)),
        ("question", (200.0, 4.0)),
        ("reflect", (100.0, 4.0)),
        ("restate", (0.0, 4.0)),
        ("solving", (100.0, 4.0)),
        ("solving just after a feeling", (100.0, 1.0)),
        ("told after a question", (0.0, 2.0)),
        ("told after other replies", (2.0, 2.0)),
    ],
)
def test_grounding(name: str, parts: tuple[float, float]) -> None:
    assert measured(grounding.PROBE, name, [TALK]) == parts
    doubled = (2 * parts[0], 2 * parts[1])
    assert measured(grounding.PROBE, name, [TALK, TALK]) == doubled


def test_drift() -> None:
    moved = held((FEELING, ("inform",)), ("Hm.", ("suggest", "inform")), nats=0.6)
    assert measured(drift.PROBE, "solving", [TALK, moved]) == (3, 6)
    assert measured(drift.PROBE, "solving just after a feeling", [TALK, moved]) == (2, 2)
    assert measured(drift.PROBE, "KL to the start", [TALK, moved]) == (0.6, 6)


def test_an_alliance_that_no_user_keeps_account_of_is_not_measured() -> None:
    """The users of these conversations have no memory; those that have one: test_alliance.py."""
    for name in ("bond", "goal", "task", "alliance"):
        assert measured(alliance.PROBE, name, [TALK]) == (0, 0)


def test_width() -> None:
    finals = [100, 40, 60, 100]
    met = [held(last=user_turn(final, ended="cap")) for final in finals]
    met.append(held(last=user_turn(0, ended="failed")))
    assert measured(width.PROBE, "best of 1", met) == pytest.approx((0.75, 1))
    assert measured(width.PROBE, "best of 4", met) == pytest.approx((1.0, 1))
    assert measured(width.PROBE, "best of 8", met) == (0, 0)
    assert measured(width.PROBE, "all succeed of 2", met) == pytest.approx((1 / 6, 1))


def test_a_user_who_says_what_they_came_for_is_known() -> None:
    """The user of this meeting came for what `intention_of` says; each cue names one intention."""
    asked = held(("Hm. I only want to know what I can do.", ("question",)), ("Hm.", ("inform",)))
    first = understanding.posterior(RunConfig(), False, asked)
    last = understanding.posterior(RunConfig(), True, asked)
    assert first is not None
    assert last is not None
    assert first[0] == last[0]
    assert first[1] == pytest.approx([1 / 8] * 8)
    assert sum(last[1]) == pytest.approx(1)
    assert last[1][INTENTIONS.index("advice")] > 0.95
    nats, count = measured(understanding.PROBE, "known before the first reply", [asked])
    assert nats == pytest.approx(0, abs=1e-9)
    assert count == 1


class Guesser:
    """A policy that takes everybody to have come for the intention whose cue it last heard."""

    config = RunConfig()

    @property
    def words(self) -> Guesser:
        return self

    def speaking(self) -> AbstractContextManager[object]:
        return nullcontext()

    def replies(self, openings: Sequence[str]) -> list[str]:
        raise AssertionError("it is not asked to speak")

    def rollout(self, users: HeldOutUsers, some: Sequence[Meeting]) -> list[HeldOutConversation]:
        raise AssertionError("nobody is met")

    def scores(self, turns: Turns, options: Sequence[str]) -> list[float]:
        """Likes its first sentence best whoever is there, and the right one a little more."""
        heard = " ".join(text for speaker, text in turns if speaker == "user")
        liked = 9.0 if "what I can do" in heard else 0.0
        return [5.0 * (n == 0) + liked * ("advice" in text) for n, text in enumerate(options)]


def test_a_policy_s_own_choice_is_what_it_hears_beyond_what_it_likes_to_say() -> None:
    """The user of this meeting came for what `intention_of` says; their cue names advice."""
    cue, bare = "Hm. I only want to know what I can do.", "Hm."
    told, silent = (held((one, ("question",)), (bare, ("inform",))) for one in (cue, bare))
    asked, unheard = understanding.with_choice(Guesser(), [told, silent])
    assert list(asked.choice) == [9.0 * (name == "advice") for name in INTENTIONS]
    assert list(unheard.choice) == [0] * 8
    found = understanding.posterior(RunConfig(), True, told)
    assert found is not None
    right = float(INTENTIONS[found[0]] == "advice")
    name = "own choice before the last reply"
    assert measured(understanding.PROBE, name, [asked]) == (right, 1)
    assert measured(understanding.PROBE, name, [told]) == (0, 0)


def test_the_last_answer_is_not_heard_before_the_last_reply() -> None:
    late = held(("Hm.", ("question",)), ("Hm. I only want to know what I can do.", ("inform",)))
    (asked,) = understanding.with_choice(Guesser(), [late])
    assert list(asked.choice) == [0] * 8


def test_each_intention_has_a_sentence_of_its_own() -> None:
    assert set(understanding.SENTENCES) == set(INTENTIONS)
    assert len({*understanding.SENTENCES.values()}) == 8


def test_a_tabular_policy_has_no_choice_of_its_own() -> None:
    tabular = RunConfig(policy=PolicyConfig(name="tabular", kind="tabular"))
    names = [quantity.name for quantity in understanding.PROBE.quantities(tabular)]
    assert "own choice before the last reply" not in names
    (reason,) = understanding.PROBE.not_measured(tabular)
    assert reason.startswith("the policy's own choice, with policy.kind=tabular: it has no words")


@pytest.mark.parametrize(
    ("trained", "asked"),
    [(1.0, [0.05, 0.5, 1.0, 2.0]), (0.08, [0.05, 0.05, 0.08, 0.16]), (8.0, [0.05, 4.0, 8.0, 10.0])],
)
def test_width_is_asked_around_the_temperature_of_training_within_what_there_is(
    trained: float, asked: list[float]
) -> None:
    config = RunConfig(policy=PolicyConfig(temperature=trained))
    found = [setting.changed(config).policy.temperature for setting in width.SETTINGS]
    assert found == asked
