"""Evaluation and probe: the same users, the same draws, whatever the run."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.config.run import (
    DifficultyConfig,
    EvalConfig,
    PolicyConfig,
    RunConfig,
    SimulatorConfig,
)
from harness.policy.tabular import TabularPolicy
from harness.records.metrics import MEASURED
from harness.simulator.factory import make
from harness.simulator.protocol import HELD_OUT, SupporterReply
from harness.study import cost
from harness.train.loop import tabular_evaluation
from harness.train.metrics import card, evaluate, held_out
from harness.train.metrics.deaf import Speakers
from harness.train.metrics.held_out import Meeting
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.rollout.conversation import rollout
from tests.train.made import LEVELS, rows_of, tabular


class OneLine:
    """Says the same in every turn."""

    def begin(self, count: int) -> None:
        self.count = count

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        return [SupporterReply("How do you feel about it now?") for _ in live]


def one_line(held: Sequence[Meeting]) -> OneLine:
    return OneLine()


KEYS = [Meeting(0, user).key for user in range(64)]
START = tabular_evaluation.speakers(TabularPolicy.start("conversation"), 1.0)


def evaluated(
    config: RunConfig, speakers: Speakers, watch: evaluate.Watch | None = None
) -> dict[str, float]:
    return evaluate.evaluate(config, evaluate.meet_here(config, speakers), watch)


@pytest.mark.parametrize(
    ("steps", "every", "wanted"),
    [
        (25, 10, [1, 11, 21, 25]),
        (21, 10, [1, 11, 21]),
        (3, 10, [1, 3]),
        (4, 1, [1, 2, 3, 4]),
        (1, 10, [1]),
        (25, 0, []),
    ],
)
def test_evaluation_is_due_at_the_first_every_nth_and_the_last_step(
    steps: int, every: int, wanted: list[int]
) -> None:
    config = tabular(steps=steps, eval_every=every)
    assert [n for n in range(1, steps + 1) if evaluate.is_due(n, config)] == wanted


@pytest.mark.parametrize(
    ("steps", "count"),
    [(1, 1), (5, 5), (19, 19), (20, 20), (39, 39), (40, 21), (100, 21), (600, 21)],
)
def test_a_run_that_says_nothing_is_evaluated_often_enough_for_its_law(
    steps: int, count: int
) -> None:
    config = tabular(steps=steps, eval_every=None)
    when = [n for n in range(1, steps + 1) if evaluate.is_due(n, config)]
    assert len(when) == cost.evaluations(config) == count


@given(st.integers(1, 3000))
def test_by_default_there_are_20_evaluations_the_first_and_the_last_step_among_them(
    steps: int,
) -> None:
    config = tabular(steps=steps, eval_every=None)
    when = [n for n in range(1, steps + 1) if evaluate.is_due(n, config)]
    assert len(when) == cost.evaluations(config)
    assert min(steps, 20) <= len(when) < 40
    assert (when[0], when[-1]) == (1, steps)


@given(st.integers(1, 3000), st.integers(0, 3000))
def test_a_typed_number_stands_whatever_the_length(steps: int, every: int) -> None:
    assert tabular(steps=steps, eval_every=every).trainer.evaluated_every == every


def test_the_first_step_can_be_left_out() -> None:
    config = sized(tabular(steps=12, eval_every=5), at_start=False)
    assert [n for n in range(1, 13) if evaluate.is_due(n, config)] == [6, 11, 12]


def test_the_users_are_held_out_and_the_same_for_every_run() -> None:
    met = held_out.meetings(tabular(LEVELS.hard))
    assert [m.level for m in met] == [0] * 64 + [1] * 64 + [2] * 64
    keys = [m.key for m in met]
    assert keys[:64] == keys[64:128] == keys[128:]
    assert len(set(keys)) == 64
    assert {k.split for k in keys} == {HELD_OUT}
    assert keys == [m.key for m in held_out.meetings(tabular(seed=2))]


def test_each_level_is_what_its_users_give_alone() -> None:
    config = tabular(DifficultyConfig(name="mine", threshold=1.0, reward_flips=1.0))
    measured = evaluated(config, one_line)
    levels = {"": config.difficulty, "easy/": LEVELS.easy, "medium/": LEVELS.medium}
    for name, level in levels.items():
        alone = rollout(make(SimulatorConfig(), level), OneLine(), KEYS)
        finals = np.array([c.last.emotion / 100 for c in alone])
        assert measured[f"eval/{name}reward"] == pytest.approx(finals.mean(), abs=1e-15)
        if not name:
            assert measured["eval/reward_se"] == pytest.approx(finals.std(ddof=1) / 8)


def test_a_named_level_is_not_held_twice() -> None:
    own = tabular(replace(LEVELS.hard, name="mine"))
    measured = evaluated(own, one_line)
    assert len(held_out.meetings(own)) == 3 * 64
    assert measured["eval/reward"] == measured["eval/hard/reward"]


def test_seed_and_own_level_do_not_move_the_named_levels() -> None:
    first = evaluated(tabular(LEVELS.easy, seed=1), START)
    second = evaluated(tabular(DifficultyConfig(threshold=2.0), seed=2), START)
    for level in ("easy", "medium", "hard"):
        assert first[f"eval/{level}/reward"] == second[f"eval/{level}/reward"]


def test_what_is_reported_to_the_trainer_does_not_count() -> None:
    """Evaluation reads the users' own emotion, where every reported change has its sign flipped."""
    honest = replace(LEVELS.easy, turn_cap=2)
    flipped = replace(honest, reward_flips=1.0)
    measured = evaluated(tabular(flipped), one_line)
    conversations = rollout(make(SimulatorConfig(), flipped), OneLine(), KEYS)
    assert measured["eval/reward"] == evaluated(tabular(honest), one_line)["eval/reward"]
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


def test_a_smaller_probe_has_the_first_of_both_kinds() -> None:
    every = evaluate.prefixes()
    assert evaluate.prefixes(4) == (*every[:2], *every[32:34])
    assert evaluate.prefixes(3) == (*every[:2], every[32])
    assert evaluate.prefixes(0) == ()
    probed = [card.of_tabular(sized(tabular(), prefixes=n))["probe"] for n in (64, 3)]
    assert probed == ["32 openers, 32 mid-conversation", "2 openers, 1 mid-conversation"]


def test_a_run_without_prefixes_has_no_probe(tmp_path: Path) -> None:
    (row,) = rows_of(tmp_path, sized(tabular(steps=1), users=2, prefixes=0), evaluated=True)
    assert row["entropy/probe"] is None
    assert row["eval/reward"] is not None


def sized(config: RunConfig, **size: Any) -> RunConfig:
    return replace(config, eval=EvalConfig(**size))


def draws(config: RunConfig, held: Sequence[Meeting], turns: int = 3) -> FloatArray:
    """A language model's uniforms in some meetings, shape (turns, meetings, tokens)."""
    made = held_out.TurnDraws(config, held)
    return np.array([made.random((len(held), 4)) for _ in range(turns)])


SERVED = replace(tabular(), simulator=SimulatorConfig(name="served", kind="served"))
BEYOND = sized(tabular(), users=70, repeats=2)
"""More users than one generator has rows for, and a second meeting with each."""


def test_the_first_evaluations_draws_are_those_of_one_table() -> None:
    everyone = held_out.meetings(tabular())
    wave = [np.random.default_rng([held_out.SEED, 0, turn]).random((192, 4)) for turn in (1, 2, 3)]
    np.testing.assert_array_equal(draws(tabular(), everyone), wave)
    table = np.random.default_rng(held_out.SEED).random((192, 5, 2))
    np.testing.assert_array_equal(held_out.TableDraws(everyone).random((192, 5, 2)), table)


def test_two_waves_have_generators_of_their_own() -> None:
    measured = draws(SERVED, held_out.meetings(SERVED), turns=1)[0]
    halves = [np.random.default_rng([held_out.SEED, wave, 1]).random((96, 4)) for wave in (0, 1)]
    np.testing.assert_array_equal(measured, np.concatenate(halves))


@pytest.mark.parametrize("config", [tabular(), SERVED, BEYOND])
@pytest.mark.parametrize("size", [1, 7])
def test_a_meeting_has_its_draws_in_every_slice(config: RunConfig, size: int) -> None:
    everyone = held_out.meetings(config)
    whole = draws(config, everyone)
    flat = whole.reshape(3, len(everyone), -1)
    assert len(np.unique(flat[0], axis=0)) == len(everyone)
    for first in range(0, len(everyone), size):
        some = everyone[first : first + size]
        np.testing.assert_array_equal(draws(config, some), whole[:, first : first + size])
        if first > 40:
            break
    table = held_out.TableDraws(everyone).random((len(everyone), 2, 3))
    np.testing.assert_array_equal(
        held_out.TableDraws(everyone[-size:]).random((size, 2, 3)), table[-size:]
    )


def test_a_run_is_evaluated_in_slices_of_its_batch_and_says_how_far_it_is() -> None:
    config = replace(tabular(conversations=16), policy=PolicyConfig())
    watched: list[tuple[int, int]] = []
    evaluated(config, one_line, lambda held, of: watched.append((held, of)))
    assert watched == [(held, 384) for held in range(0, 384, 16)]


def test_what_is_met_does_not_depend_on_slices_or_on_the_size_of_the_evaluation() -> None:
    whole = evaluate.finals(tabular(), START)
    few = evaluate.finals(sized(tabular(), users=5, levels=["hard"]), START)
    assert {level: outcomes.shape for level, outcomes in few.items()} == {1: (5, 1), 2: (5, 1)}
    for level, outcomes in few.items():
        np.testing.assert_array_equal(outcomes, whole[level][:5])
    more = evaluate.finals(sized(tabular(), users=65, repeats=2), START)
    np.testing.assert_array_equal(more[2][:64, :1], whole[2])
    assert not np.array_equal(more[2][:64, 1:], whole[2])


def test_listening_is_told_of_each_reply_number_at_the_runs_own_level() -> None:
    mine = sized(tabular(replace(LEVELS.hard, name="mine", threshold=0.1)), users=24)
    measured = evaluated(mine, START)
    told = [key for key in measured if "turn_" in key]
    assert told == [f"eval/listening/turn_{n}" for n in range(1, LEVELS.hard.turn_cap + 1)]
    assert set(told) <= set(MEASURED)
    assert math.isfinite(measured["eval/listening/turn_1"])


def test_a_level_that_is_not_evaluated_has_no_numbers_but_the_runs_own_has() -> None:
    measured = evaluated(sized(tabular(LEVELS.hard), levels=[]), one_line)
    assert {key for key in measured if key.endswith("/reward")} == {
        "eval/reward",
        "eval/hard/reward",
    }
    assert measured["eval/reward"] == measured["eval/hard/reward"]
    mine = sized(tabular(DifficultyConfig(name="mine", threshold=1.0)), levels=["easy"])
    measured = evaluated(mine, one_line)
    assert {key for key in measured if key.endswith("/reward")} == {
        "eval/reward",
        "eval/easy/reward",
    }


def test_a_turn_cap_ends_the_conversations_of_evaluations_alone() -> None:
    capped = sized(tabular(), turn_cap=2)
    by_hand = replace(LEVELS.easy, turn_cap=2)
    conversations = rollout(make(SimulatorConfig(), by_hand), OneLine(), KEYS)
    assert {len(c.exchanges) for c in conversations} == {2}
    expected = np.mean([c.last.emotion / 100 for c in conversations])
    assert evaluated(capped, one_line)["eval/easy/reward"] == pytest.approx(expected)
    assert capped.difficulty.turn_cap == 8


def test_the_card_says_how_large_the_evaluation_is() -> None:
    said = card.of_tabular(sized(tabular(), users=4, levels=["hard", "easy"], turn_cap=3))["eval"]
    assert {key: said[key] for key in ("users", "levels", "repeats", "turn_cap")} == {
        "users": 4, "levels": ["easy", "hard"], "repeats": 1, "turn_cap": 3,
    }  # fmt: skip
    assert said["conversations"] == "4 held-out users a level, fixed draws"
