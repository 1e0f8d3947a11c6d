"""How many waves a batch has, and numbers that do not depend on it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from harness.train.metrics.held_out import Meeting
from harness.train.ranks.work import RankWork
from harness.train.rollout.batch import ROLLOUT_STREAM, rng_of, streams, waves
from harness.train.rollout.conversation import shares
from harness.train.rollout.uniforms import RolloutUniforms
from tests.simulator.served import config as served
from tests.train.made_language_runs import config as language


@pytest.mark.parametrize("attempt", [0, 2])
def test_a_conversation_draws_the_same_in_any_number_of_waves(attempt: int) -> None:
    run = replace(language(), simulator=served("http://localhost:1/v1"))
    tokens, tables = run.policy.max_turn_tokens, {}
    for count in (1, 2, 3, 8):
        parts = shares(8, count)
        batch = RolloutUniforms(run, 5, attempt, 8)
        drawn = [batch.of(part) for part in parts]
        turns = [[one.random((len(part), tokens)) for one, part in zip(drawn, parts, strict=True)]
                 for _ in range(2)]  # fmt: skip
        tables[count] = np.stack([np.concatenate(turn) for turn in turns])
    for count in (1, 3, 8):
        np.testing.assert_array_equal(tables[count], tables[2])
    halves = [rng_of(run, 5, ROLLOUT_STREAM, 2 * attempt + half) for half in (0, 1)]
    for turn in tables[2]:  # as every version before
        np.testing.assert_array_equal(
            turn, np.concatenate([rng.random((4, tokens)) for rng in halves])
        )


def test_with_a_scripted_user_a_batch_draws_from_one_stream_as_ever() -> None:
    run = language()
    shape = (8, run.policy.max_turn_tokens)
    drawn = RolloutUniforms(run, 5, 1, 8).of(range(8)).random(shape)
    np.testing.assert_array_equal(drawn, rng_of(run, 5, ROLLOUT_STREAM, 1).random(shape))


def test_waves_are_single_conversations_unless_the_engine_draws_for_one_at_a_time() -> None:
    config = language()
    users = replace(config, simulator=served("http://localhost:1/v1"))
    assert [waves(config, 8, together) for together in (False, True)] == [1, 8]
    assert [waves(users, 8, together) for together in (False, True)] == [2, 8]
    assert waves(users, 1, False) == 1
    many = replace(users, trainer=replace(users.trainer, waves=100))
    few = replace(users, trainer=replace(users.trainer, waves=3))
    assert [waves(many, 8, False), waves(few, 8, True)] == [8, 3]
    assert streams(many) == streams(users) == 2


@pytest.mark.parametrize(("together", "speakers"), [(True, 5), (False, 2)])
def test_each_conversation_has_a_speaker_where_the_engine_draws_for_all_at_once(
    together: bool, speakers: int
) -> None:
    engine: Any = SimpleNamespace(together=together)
    chat: Any = SimpleNamespace(end=0)
    users = replace(language(), simulator=served("http://localhost:1/v1"))
    work = RankWork(users, None, None, chat, engine)
    assert (
        len(work.held_out_speakers([Meeting(0, user, 0) for user in range(5)]).speakers) == speakers
    )
