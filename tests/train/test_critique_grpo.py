"""Critique-GRPO: its loss, what a critique tells, and the conversation that is spoken again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from harness.compose import planner
from harness.config.curriculum import CurriculumConfig
from harness.config.run import INTENTIONS, MAX_TURNS, STRATEGIES, RunConfig
from harness.errors import ConfigError
from harness.policy.tabular import TabularPolicy
from harness.simulator.protocol import SupporterReply
from harness.simulator.state import State
from harness.testing.algorithm_contract import CONFIG, TOKENS, AlgorithmContract, tokens_for
from harness.train.algorithms.critique_grpo import CritiqueGrpo
from harness.train.loop.tabular_step import log_p_of_acts
from harness.train.policy_gradient.algorithm import Algorithm
from harness.train.policy_gradient.losses import LossTokens, shaped
from harness.train.policy_gradient.remedy_roles import StepTokens
from harness.train.policy_gradient.rewards import Rewards
from harness.train.rollout import critiques, curriculum
from harness.train.rollout.batch import rng_of, rollout_groups
from harness.train.rollout.conversation import Conversation, Exchange
from harness.train.rollout.refinement import Cut, cuts_of
from harness.train.rollout.tabular_refinement import (
    LOWERED_NATS,
    RefinedBatch,
    blamed,
    refine,
    strategies_played,
)
from harness.train.rollout.tabular_speaker import Acts, TabularSpeaker
from tests.train.made import LEVELS, conversation, go_on, make_run, rows_of, tabular, user_turn

SIZE = 8
KINDS = ("none", "score", "reaction", "reason")
AGAIN = np.arange(TOKENS) % 3 == 0


class TestCritiqueGrpo(AlgorithmContract):
    @pytest.fixture
    def algorithm(self) -> Algorithm:
        return CritiqueGrpo()


def mixed(algorithm: CritiqueGrpo) -> LossTokens:
    """Tokens of which each third was spoken again."""
    return replace(tokens_for(algorithm), prepared=(AGAIN.astype(float),))


@pytest.mark.parametrize(("p", "slope"), [(0.1, 0.25), (1.0, 0.1 / 1.21), (0.01, 0.001 / 0.0121)])
def test_the_shaped_slope_is_largest_where_p_is_the_shaping(p: float, slope: float) -> None:
    """-A shaping p / (p + shaping)^2, the table of the paper's code at shaping 0.1."""
    made = shaped(np.log([p]), np.array([2.0]), 0.1)
    assert made.slope[0] == pytest.approx(-2 * slope, abs=1e-12)
    assert made.value[0] == pytest.approx(-2 * p / (p + 0.1), abs=1e-12)


def test_the_slope_goes_through_f_by_finite_differences_and_autograd() -> None:
    algorithm, step = CritiqueGrpo(shaping=0.3), 1e-6
    given = mixed(algorithm)
    slope = algorithm.loss(given, CONFIG).slope
    up, down = (
        algorithm.loss(replace(given, logp=given.logp + by), CONFIG).value for by in (step, -step)
    )
    np.testing.assert_allclose(slope, (up - down) / (2 * step), atol=1e-8)
    logp = torch.tensor(given.logp, requires_grad=True)
    p, advantage = logp.exp(), torch.tensor(given.advantage)
    untold = (logp - torch.tensor(given.old_logp)).exp()
    loss = -advantage * torch.where(torch.tensor(AGAIN), p / (p + 0.3), untold)
    (wanted,) = torch.autograd.grad(loss.sum(), logp)
    np.testing.assert_allclose(slope, wanted, atol=1e-12)


def test_only_what_was_spoken_again_is_shaped() -> None:
    algorithm = CritiqueGrpo()
    given = mixed(algorithm)
    ratio = np.exp(given.logp - given.old_logp)
    slope = algorithm.loss(given, CONFIG).slope
    np.testing.assert_allclose(slope[~AGAIN], (-ratio * given.advantage)[~AGAIN], atol=1e-15)
    step = StepTokens(given.logp, given.advantage, None, None, np.random.default_rng(1))
    assert not algorithm.prepare(step)[0].any()
    assert algorithm.prepare(replace(step, spoken_again=AGAIN))[0].tolist() == AGAIN.tolist()


def test_advantages_are_the_distance_from_the_mean_with_the_refined_one_in_it() -> None:
    """By hand: 0.1 was the worst of 0.1, 0.5, 0.3, 0.7 and became 0.9; the mean is then 0.6."""
    refined = Rewards.of(np.array([0.9, 0.5, 0.3, 0.7]))
    advantages = CritiqueGrpo().advantages(refined, None, CONFIG)[:, 0]
    np.testing.assert_allclose(advantages, [0.3, -0.1, -0.3, 0.1], atol=1e-15)


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
        return set(critiques.blamed(kind, one, 1, ["question", "suggest"]))

    assert told("none", worth=-1.0) == set()
    assert told("score") == {"suggest"}
    assert told("reaction", "That makes it harder.") == {"suggest"}
    assert told("reaction", "I had tea today.") == set()
    assert told("reason", worth=-1.0, fatigue=-0.5) == {"suggest"}
    assert told("reason", worth=-0.2, fatigue=-0.5) == {"question", "suggest"}
    assert told("reason", worth=0.5, fatigue=0.0) == set()  # the luck of the draw
    assert told("reason", worth=-0.1, coldness=-2.0) == set()  # wording, not strategy


@pytest.fixture(scope="module")
def drawn() -> tuple[RunConfig, list[Conversation], Acts]:
    """A batch on hard by the start policy."""
    config = tabular(LEVELS.hard, algorithm={"kind": "critique_grpo"}, conversations=64)
    speaker = TabularSpeaker(POLICY, 1.0, rng_of(config, 1, 1))
    return config, rollout_groups(curriculum.begin(config, None), speaker, 1), speaker.acts()


POLICY = TabularPolicy.start("conversation")
Drawn = tuple[RunConfig, list[Conversation], Acts]


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
    assert made.spoken_again is not None
    assert made.spoken_again.sum() == made.metrics["refined/replies"]
    for n, one in enumerate(made.conversations):
        mine = made.acts.conversation == n
        assert sorted(made.acts.reply[mine]) == list(range(len(one.exchanges)))
        from_reply = MAX_TURNS
        if one is not conversations[n]:
            from_reply = critiques.most_costly(conversations[n]) or 0
        assert ((made.acts.reply[mine] >= from_reply) == made.spoken_again[mine]).all()
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


def cuts_in(conversations: list[Conversation], acts: Acts) -> list[Cut]:
    rewards = np.array([c.reward for c in conversations])
    return cuts_of(conversations, rewards, strategies_played(acts, len(conversations)), SIZE)


def test_the_control_is_told_nothing_and_draws_by_the_plain_policy(drawn: Drawn) -> None:
    _, conversations, acts = drawn
    cuts = cuts_in(conversations, acts)
    assert all(not blamed("none", conversations, cut) for cut in cuts)
    assert all(blamed("score", conversations, cut) == {cut.played[-1]} for cut in cuts)


def test_a_critique_divides_the_odds_of_what_it_blames_for_one_reply() -> None:
    """Frequencies of 4,000 first replies and of the second, against the exact probabilities."""
    config = tabular(conversations=4000, algorithm={"group_size": 2})
    blamed = np.where(np.array(STRATEGIES) == "suggest", -LOWERED_NATS, 0.0)
    told = np.tile(blamed, (4000, 1))
    speaker = TabularSpeaker(POLICY, 1.0, rng_of(config, 1, 1), told=told)
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
    plain = [blamed(kind, conversations, cut) for cut in cuts]
    for intention in INTENTIONS:
        others = [with_intention(c, intention) for c in conversations]
        assert cuts_in(others, acts) == cuts
        assert [blamed(kind, others, cut) for cut in cuts] == plain
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
    assert made.spoken_again is not None
    assert not made.spoken_again.any()


@pytest.mark.parametrize("reverse", [False, True])
def test_a_stopped_run_goes_on_to_the_same_bytes(tmp_path: Path, reverse: bool) -> None:
    config = tabular(
        LEVELS.hard, algorithm={"kind": "critique_grpo"}, steps=6, checkpoint_every=2,
        updates_per_batch=2,
    )  # fmt: skip
    if reverse:
        course = CurriculumConfig(name="reverse", kind="reverse", whole_from=5)
        config = replace(config, curriculum=course)
    straight = rows_of(tmp_path / "straight", config)
    assert all(row["refined/replies"] > 0 for row in straight)
    stopped = make_run(tmp_path / "stopped", config)
    go_on(stopped, stop_after=3)
    go_on(stopped)
    assert stopped.metrics.read_bytes() == (tmp_path / "straight/metrics.jsonl").read_bytes()


def test_the_first_row_speaks_of_what_the_policy_did_untold(tmp_path: Path) -> None:
    """R, H and kl of the first batch are those of grpo's; what is learnt from is another."""
    rows = {
        kind: rows_of(tmp_path / kind, tabular(LEVELS.hard, algorithm={"kind": kind}, steps=1))[0]
        for kind in ("grpo", "critique_grpo")
    }
    for column in ("reward", "entropy", "entropy/t1", "kl", "turns/mean", "emotion/final"):
        assert rows["critique_grpo"][column] == rows["grpo"][column]
    assert rows["critique_grpo"]["cov/mean"] != rows["grpo"]["cov/mean"]
    assert rows["grpo"]["refined/replies"] is None


@pytest.mark.parametrize(
    "words",
    [
        ("reward=mixed", "remedy=dynamic_sampling"),
        ("reward=delta", "remedy=entropy_bonus"),
        ("algorithm.null_control=true", "algorithm.options.critique=score", "simulator=second"),
    ],
)
def test_it_goes_with_other_rewards_users_and_remedies(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    small = ("trainer.steps=2", "trainer.conversations=16", "policy=tabular", "difficulty=hard")
    plan = planner.plan(["algorithm=critique_grpo", "seed=1", *small, *words])
    last = rows_of(tmp_path / "r", plan.points[0].config)[-1]
    assert last["refined/replies"] > 0
    assert np.isfinite(last["grad_norm"])


def test_what_it_cannot_do_is_refused_by_name() -> None:
    def refused(*words: str) -> str:
        with pytest.raises(ConfigError) as error:
            planner.plan(["algorithm=critique_grpo", *words])
        return str(error.value)

    tab = "policy=tabular"
    assert refused(tab, "curriculum=mixed") == (
        "curriculum.kind must be none or reverse with algorithm.kind=critique_grpo, whose "
        "conversations are taken over at the run's own level, got mixed"
    )
    assert refused(tab, "simulator=second") == (
        "algorithm.options.critique must not be reason with simulator.kind=second, whose account "
        "has no parts that a strategy is blamed by, got reason"
    )
    assert refused(tab, "algorithm.options.critique=hint") == (
        "algorithm.options.critique must be one of none, score, reaction, reason, got 'hint'"
    )
    assert refused(tab, "algorithm.options.shaping=0") == (
        "algorithm.options.shaping must lie between 0.001 and 10, got 0"
    )
    assert refused(tab, "remedy=dppo").startswith(
        "remedy.methods.dppo must go with an algorithm that has a ratio"
    )
    assert refused(tab, "algorithm.clip_low=0.1", "trainer.updates_per_batch=2") == (
        "algorithm.clip_low: has no effect with algorithm.kind=critique_grpo, since it does not "
        "clip, got 0.1"
    )
