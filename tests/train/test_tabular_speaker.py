"""The tabular policy in conversation: what it hears, what it is told, and what it takes over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from harness.config.run import EMOTIONAL_INTENTIONS, INTENTIONS, MAX_TURNS, STRATEGIES
from harness.policy.memory import KIND_NATS, LATE_REPLY, NAMED_NATS
from harness.policy.observation import CHANGES, CUES, hear
from harness.policy.tabular import BELIEF, OBSERVATIONS, TabularPolicy
from harness.simulator.protocol import ConversationKey, SupporterReply, UserTurn
from harness.simulator.reference import EARLY_TURNS, reception
from harness.train.rollout.conversation import Exchange, StartState
from harness.train.rollout.tabular_speaker import Acts, TabularSpeaker

EXAM = "It is about my exam. I failed the exam twice. Please just listen to me."
HOUSE = "It is about our house. We had to sell our old house. I need advice that works."
COUNT = 40


def spoken(heard: str, told: str, observation: str) -> tuple[Acts, list[str]]:
    """The first reply in each of COUNT conversations, whose draws differ."""
    start = TabularPolicy.start(observation)
    table = np.random.default_rng(8).normal(size=start.table.shape)
    policy = TabularPolicy(table, observation)
    speaker = TabularSpeaker(policy, 1.0, np.random.default_rng(1))
    speaker.begin(COUNT)
    live = list(range(COUNT))
    replies = speaker.reply(live, [heard] * COUNT, [told] * COUNT)
    return speaker.acts(), [reply.text for reply in replies]


@pytest.mark.parametrize("observation", sorted(OBSERVATIONS))
def test_it_chooses_by_what_it_hears_and_speaks_of_what_it_is_told(observation: str) -> None:
    own, own_words = spoken(EXAM, EXAM, observation)
    deaf, deaf_words = spoken(HOUSE, EXAM, observation)
    other, other_words = spoken(EXAM, HOUSE, observation)
    np.testing.assert_array_equal(own.act, other.act)
    np.testing.assert_array_equal(own.seen.features, other.seen.features)
    assert (own.act != deaf.act).sum() > 5
    for words in (own_words, deaf_words):
        assert sum("exam" in text for text in words) > 5
        assert not any("house" in text for text in words)
    assert sum("house" in text for text in other_words) > 5
    assert not any("exam" in text for text in other_words)
    alike = own.act == deaf.act
    assert alike.any()
    same = [a == b for a, b in zip(own_words, deaf_words, strict=True)]
    assert all(np.array(same)[alike])


def turn(text: str, *strategies: str) -> UserTurn:
    return UserTurn(text, 50, None, 50.0, None, strategies, False, {}, state=None)


def begun(words: Sequence[str], played: Sequence[str | None]) -> StartState:
    """A conversation in which the reply before each of the words but the first was `played`."""
    exchanges = tuple(
        Exchange(SupporterReply("I see."), turn(text, *([strategy] if strategy else [])))
        for text, strategy in zip(words[1:], played, strict=True)
    )
    return StartState(ConversationKey(1, 1, 0, 0), turn(words[0]), exchanges)


def posterior(words: Sequence[str], played: Sequence[str]) -> list[float]:
    """P(intention | words) by Bayes' rule, one factor of one intention after the other."""
    suits, weights = reception(), []
    for number, intention in enumerate(INTENTIONS):
        kind = "heart" if intention in EMOTIONAL_INTENTIONS else "head"
        likelihood = 1.0
        for reply, text in enumerate(words, start=-1):
            cue, change = CUES[hear(text).cue], CHANGES[hear(text).change]
            likelihood *= np.exp({intention: NAMED_NATS, kind: KIND_NATS}.get(cue, 0.0))
            if reply >= 0 and change in ("better", "worse"):
                late, strategy = int(reply >= EARLY_TURNS), STRATEGIES.index(played[reply])
                well = 1 / (1 + np.exp(-suits[late][number][strategy]))
                likelihood *= well if change == "better" else 1 - well
        weights.append(likelihood)
    return [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize(
    ("words", "played"),
    [
        (["It is about my exam."], []),
        (["It is about my exam. Please just listen to me.", "Thank you, that helps."], ["reflect"]),
        (["Hm.", "That does not help me. I feel how it is.", "Hm."], ["suggest", None]),
        (
            ["Hm.", "Thank you, that helps.", "Hm.", "That does not help.", "Yes, exactly.",
             "That does not help me. I think about it all day."],
            ["question", "affirm", "suggest", "reflect", "suggest"],
        ),
    ],
)  # fmt: skip
def test_what_it_takes_over_is_remembered_as_bayes_rule_has_it(
    words: list[str], played: list[str | None]
) -> None:
    """The last words are heard with the reply that takes over, those before when it does."""
    speaker = TabularSpeaker(TabularPolicy.start("conversation"), 1.0, np.random.default_rng(0))
    speaker.begin(2)
    speaker.take_over([begun(["Hm."], []), begun(words, played)])
    speaker.speak([0, 1], ["Hm.", words[-1]])
    features = speaker.acts().seen.features
    belief = features[:, MAX_TURNS : MAX_TURNS + len(INTENTIONS)] / BELIEF
    np.testing.assert_allclose(belief[0], 1 / len(INTENTIONS))
    wanted = posterior(words, [strategy or "other" for strategy in played])
    np.testing.assert_allclose(belief[1], wanted, rtol=1e-9)
    assert features[1, :MAX_TURNS].argmax() == len(played)


def test_it_speaks_of_what_was_told_before_it_took_over_and_repeats_no_reply() -> None:
    start = begun([EXAM, "Hm."], ["restate"])
    said = "You said that you failed the exam twice."
    start = replace(start, exchanges=(replace(start.exchanges[0], reply=SupporterReply(said)),))
    speaker = TabularSpeaker(TabularPolicy.start("conversation"), 1.0, np.random.default_rng(2))
    speaker.begin(600)
    speaker.take_over([start] * 600)
    replies = [reply.text for reply in speaker.speak(list(range(600)), ["Hm."] * 600)]
    assert all("you failed the exam twice" in text for text in replies)
    assert said not in replies
    assert "You mentioned that you failed the exam twice." in replies


def test_trust_is_expected_from_the_same_reply_as_the_reference_expects_it() -> None:
    """Whose table of what suits whom, before and after, the policy's belief learns by."""
    assert LATE_REPLY == EARLY_TURNS
