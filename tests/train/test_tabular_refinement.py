"""Critiques of tabular conversations: what each blames, and what is spoken again after it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.config.run import INTENTIONS, MAX_TURNS, STRATEGIES, RunConfig
from harness.policy.tabular import TabularPolicy
from harness.simulator.protocol import SupporterReply
from harness.simulator.state import State
from harness.train.loop.tabular_batch import log_p_of_acts
from harness.train.rollout import critiques, curriculum
from harness.train.rollout.batch import rng_of, rollout_groups
from harness.train.rollout.conversation import Conversation, Exchange
from harness.train.rollout.refinement import CutPoint, cuts_of
from harness.train.rollout.tabular_refinement import (
    LOWERED_NATS,
    RefinedBatch,
    discouraged_by_cut,
    refine,
    strategies_played,
)
from harness.train.rollout.tabular_speaker import Acts, TabularSpeaker
from tests.train.made import LEVELS, conversation, tabular, user_turn

SIZE = 8
KINDS = ("none", "score", "reaction", "reason")
POLICY = TabularPolicy.start("conversation")
Drawn = tuple[RunConfig, list[Conversation], Acts]


def talk(*changes: int, why: dict[str, float] | None = None, text: str = "Hm.") -> Conversation:
    turns = [
        (SupporterReply("Yes."), user_turn(50, text, change=c, why=why or {})) for c in changes
    ]
    return conversation(0, 0, 50, turns)


def test_the_most_costly_reply_is_the_first_of_the_deepest_falls() -> None:
    assert critiques.most_costly(talk(5, -5, 10, -10, -5, -10)) == 3
    assert critiques.most_costly(talk(-5)) == 0
    assert critiques.most_costly(talk(5, 0, 10)) is None


def test_what_each_critique_blames() -> None:
    def told(kind: str, text: str = "Hm.", **why: float) -> set[str]:
        one = talk(5, -5, why=why, text=text)
        return set(critiques.discouraged_strategies(kind, one, 1, ["question", "suggest"]))

    assert told("none", worth=-1.0) == set()
    assert told("score") == {"suggest"}
    assert told("reaction", "That makes it harder.") == {"suggest"}
    assert told("reaction", "I had tea today.") == set()
    assert told("reason", worth=-1.0, fatigue=-0.5) == {"suggest"}
    assert told("reason", worth=-0.2, fatigue=-0.5) == {"question", "suggest"}
    assert told("reason", worth=0.5, fatigue=0.0) == set()  # the luck of the draw
    assert told("reason", worth=-0.1, coldness=-2.0) == set()  # wording, not strategy


@pytest.fixture(scope="module")
def drawn() -> Drawn:
    """A batch on hard by the start policy."""
    config = tabular(LEVELS.hard, algorithm={"kind": "critique_grpo"}, conversations=64)
    speaker = TabularSpeaker(POLICY, 1.0, rng_of(config, 1, 1))
    return config, rollout_groups(curriculum.begin(config, None), speaker, 1), speaker.acts()


def spoken_again(drawn: Drawn, critique: str | None) -> RefinedBatch:
    config, conversations, acts = drawn
    return refine(critique, POLICY, conversations, acts, config, 1)


def texts(one: Conversation) -> list[str]:
    return [word for e in one.exchanges for word in (e.reply.text, e.answer.text)]


def test_without_a_critique_of_the_algorithm_the_batch_is_the_very_same(drawn: Drawn) -> None:
    made = spoken_again(drawn, None)
    assert made.conversations is drawn[1]
    assert made.acts is drawn[2]
    assert set(made.metrics.values()) == {None}


def test_the_worst_of_each_group_goes_on_from_before_its_most_costly_reply(drawn: Drawn) -> None:
    _, conversations, _ = drawn
    made = spoken_again(drawn, "reason")
    changed = [
        n for n, (a, b) in enumerate(zip(conversations, made.conversations, strict=True)) if a != b
    ]
    assert [n // SIZE for n in changed] == list(range(8))
    replies = 0
    for n in changed:
        old, new = conversations[n], made.conversations[n]
        group = conversations[n - n % SIZE : n - n % SIZE + SIZE]
        assert old.reward == min(c.reward for c in group)
        cut = critiques.most_costly(old)
        assert cut is not None
        assert new.exchanges[:cut] == old.exchanges[:cut]
        assert new.opening == old.opening
        assert new.key == replace(old.key, sample=old.key.sample + SIZE)
        assert new.last.ended is not None
        assert isinstance(new.last.state, State)
        assert new.last.state.user == old.opening.state.user
        assert new.last.state.key == new.key  # by which its user's turns are drawn
        replies += len(new.exchanges) - cut
    assert made.metrics["refined/replies"] == replies
    assert made.metrics["refined/groups"] == 1
    before, after = (
        np.mean([many[n].reward for n in changed]) for many in (conversations, made.conversations)
    )
    assert made.metrics["refined/gain"] == pytest.approx(after - before, abs=1e-12)


def test_the_acts_are_those_of_the_conversations_and_the_new_ones_are_marked(drawn: Drawn) -> None:
    _, conversations, acts = drawn
    made = spoken_again(drawn, "score")
    assert made.is_refined is not None
    assert made.is_refined.sum() == made.metrics["refined/replies"]
    for n, one in enumerate(made.conversations):
        mine = made.acts.conversation == n
        assert sorted(made.acts.reply[mine]) == list(range(len(one.exchanges)))
        from_reply = MAX_TURNS
        if one is not conversations[n]:
            from_reply = critiques.most_costly(conversations[n]) or 0
        assert ((made.acts.reply[mine] >= from_reply) == made.is_refined[mine]).all()
        for a, reply in zip(made.acts.act[mine], made.acts.reply[mine], strict=True):
            assert STRATEGIES[a] in one.exchanges[reply].answer.strategies
    # what is read before a reply that is spoken again is what was read before it the first time
    for cut in cuts_in(conversations, acts):
        before, again = (
            batch.seen.features[
                (batch.conversation == cut.conversation) & (batch.reply == cut.reply)
            ]
            for batch in (acts, made.acts)
        )
        assert len(before) == 1
        np.testing.assert_array_equal(again, before)


def cuts_in(conversations: list[Conversation], acts: Acts) -> list[CutPoint]:
    rewards = np.array([c.reward for c in conversations])
    return cuts_of(conversations, rewards, strategies_played(acts, len(conversations)), SIZE)


def test_the_control_is_told_nothing_and_draws_by_the_plain_policy(drawn: Drawn) -> None:
    _, conversations, acts = drawn
    cuts = cuts_in(conversations, acts)
    assert all(not discouraged_by_cut("none", conversations, cut) for cut in cuts)
    assert all(discouraged_by_cut("score", conversations, cut) == {cut.played[-1]} for cut in cuts)


def test_a_critique_divides_the_odds_of_what_it_blames_for_one_reply() -> None:
    """Frequencies of 4,000 first replies and of the second, against the exact probabilities."""
    config = tabular(conversations=4000, algorithm={"group_size": 2})
    blamed = np.where(np.array(STRATEGIES) == "suggest", -LOWERED_NATS, 0.0)
    told = np.tile(blamed, (4000, 1))
    speaker = TabularSpeaker(POLICY, 1.0, rng_of(config, 1, 1), log_p_change=told)
    rollout_groups(curriculum.begin(config, None), speaker, 1)
    acts = speaker.acts()
    plain = np.exp(POLICY.log_probabilities(acts.seen, 1.0))[0]  # the same everywhere at the start
    lowered = plain * np.exp(blamed)
    lowered /= lowered.sum()
    for reply, wanted in ((0, lowered), (1, plain)):
        mine = acts.act[acts.reply == reply]
        share = np.bincount(mine, minlength=len(STRATEGIES)) / len(mine)
        np.testing.assert_allclose(share, wanted, atol=4 * np.sqrt(0.25 / len(mine)))
    # scored as if nothing had been told
    np.testing.assert_allclose(log_p_of_acts(POLICY, acts, 1.0), np.log(plain)[acts.act])


@pytest.mark.parametrize("kind", KINDS)
def test_no_critique_names_or_knows_the_hidden_intention(drawn: Drawn, kind: str) -> None:
    """It is a set of strategies, and the same whatever the user came for, all else being equal."""
    assert not set(INTENTIONS) & set(STRATEGIES)
    _, conversations, acts = drawn

    def with_intention(one: Conversation, intention: str) -> Conversation:
        def told(turn: Any) -> Any:
            user = replace(turn.state.user, intention=intention)
            return turn.with_state(replace(turn.state, user=user))

        exchanges = tuple(Exchange(e.reply, told(e.answer)) for e in one.exchanges)
        return replace(one, opening=told(one.opening), exchanges=exchanges)

    cuts = cuts_in(conversations, acts)
    plain = [discouraged_by_cut(kind, conversations, cut) for cut in cuts]
    for intention in INTENTIONS:
        others = [with_intention(c, intention) for c in conversations]
        assert cuts_in(others, acts) == cuts
        assert [discouraged_by_cut(kind, others, cut) for cut in cuts] == plain
    assert all(names <= set(STRATEGIES) for names in plain)


def test_groups_whose_worst_conversation_never_fell_stay_as_they_are(drawn: Drawn) -> None:
    config, _, acts = drawn
    risen = [talk(*(5,) * (int(acts.reply[acts.conversation == n].max()) + 1)) for n in range(64)]
    made = refine("reason", POLICY, risen, acts, config, 1)
    assert made.conversations == risen
    assert made.metrics == {
        "refined/groups": 0.0,
        "refined/replies": 0.0,
        "refined/gain": None,
        "refined/failed": 0.0,
    }
    assert made.is_refined is not None
    assert not made.is_refined.any()
