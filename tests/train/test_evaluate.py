"""Evaluation and probe: the same users, the same draws, whatever the run."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from harness.config.run import DifficultyConfig, SimulatorConfig
from harness.policy.tabular import TabularPolicy
from harness.simulator.factory import make
from harness.simulator.protocol import HELD_OUT, SupporterReply
from harness.train.metrics import evaluate
from harness.train.rollout.conversation import rollout
from harness.train.rollout.tabular_speaker import TabularSpeaker
from tests.train.made import LEVELS, tabular


class OneLine:
    """Says the same in every turn."""

    def begin(self, count: int) -> None:
        self.count = count

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        return [SupporterReply("How do you feel about it now?") for _ in live]


def start_speaker() -> TabularSpeaker:
    return TabularSpeaker(TabularPolicy.start(), 1.0, np.random.default_rng(evaluate.SEED))


@pytest.mark.parametrize(
    ("steps", "every", "wanted"),
    [
        (25, 10, [1, 11, 21, 25]),
        (21, 10, [1, 11, 21]),
        (3, 10, [1, 3]),
        (4, 1, [1, 2, 3, 4]),
        (1, 10, [1]),
    ],
)
def test_evaluation_is_due_at_the_first_every_nth_and_the_last_step(
    steps: int, every: int, wanted: list[int]
) -> None:
    config = tabular(steps=steps, eval_every=every)
    assert [n for n in range(1, steps + 1) if evaluate.due(n, config)] == wanted


def test_the_users_are_held_out_and_the_same_for_every_run() -> None:
    keys = evaluate.keys()
    assert len(set(keys)) == evaluate.USERS == 64
    assert {k.split for k in keys} == {HELD_OUT}
    assert keys == evaluate.keys()


def test_each_level_is_what_its_users_give_alone() -> None:
    config = tabular(DifficultyConfig(name="mine", threshold=1.0, reward_flips=1.0))
    measured = evaluate.evaluate(config, OneLine())
    levels = {"": config.difficulty, "easy/": LEVELS.easy, "medium/": LEVELS.medium}
    for name, level in levels.items():
        alone = rollout(make(SimulatorConfig(), level), OneLine(), evaluate.keys())
        finals = np.array([c.last.emotion / 100 for c in alone])
        assert measured[f"eval/{name}reward"] == pytest.approx(finals.mean(), abs=1e-15)
        if not name:
            assert measured["eval/reward_se"] == pytest.approx(finals.std(ddof=1) / 8)


def test_a_run_at_a_named_level_does_not_evaluate_it_twice() -> None:
    speaker = OneLine()
    measured = evaluate.evaluate(tabular(replace(LEVELS.hard, name="mine")), speaker)
    assert speaker.count == 3 * evaluate.USERS
    assert measured["eval/reward"] == measured["eval/hard/reward"]


def test_seed_and_own_level_do_not_move_the_named_levels() -> None:
    first = evaluate.evaluate(tabular(LEVELS.easy, seed=1), start_speaker())
    second = evaluate.evaluate(tabular(DifficultyConfig(threshold=2.0), seed=2), start_speaker())
    for level in ("easy", "medium", "hard"):
        assert first[f"eval/{level}/reward"] == second[f"eval/{level}/reward"]


def test_what_is_reported_to_the_trainer_does_not_count() -> None:
    """Evaluation reads the users' own emotion, where every reported change has its sign flipped."""
    honest = replace(LEVELS.easy, turn_cap=2)
    flipped = replace(honest, reward_flips=1.0)
    measured = evaluate.evaluate(tabular(flipped), OneLine())
    conversations = rollout(make(SimulatorConfig(), flipped), OneLine(), evaluate.keys())
    assert measured["eval/reward"] == evaluate.evaluate(tabular(honest), OneLine())["eval/reward"]
    assert measured["eval/reward"] != pytest.approx(
        np.mean([c.reward for c in conversations]), abs=0.01
    )


def test_half_of_the_probe_is_openers_and_half_is_mid_conversation() -> None:
    prefixes = evaluate.prefixes()
    assert len(prefixes) == 64
    assert [len(p.strategies) for p in prefixes[:32]] == [0] * 32
    assert all(1 <= len(p.strategies) <= evaluate.LONGEST for p in prefixes[32:])
    for prefix in prefixes:
        speakers = [speaker for speaker, _ in prefix.turns]
        assert speakers == (["user", "policy"] * len(prefix.strategies)) + ["user"]
        assert all(text for _, text in prefix.turns)
        assert len(prefix.heard) == len(prefix.strategies) + 1


def test_the_probe_does_not_repeat_itself() -> None:
    assert len({p.turns for p in evaluate.prefixes()}) == 64


def test_a_further_level_moves_no_uniform_of_a_language_model() -> None:
    few, more = evaluate.ByTurn(0), evaluate.ByTurn(0)
    for _ in range(3):
        np.testing.assert_array_equal(few.random((6, 4)), more.random((8, 4))[:6])
    assert not np.array_equal(evaluate.ByTurn(1).random((6, 4)), evaluate.ByTurn(0).random((6, 4)))
