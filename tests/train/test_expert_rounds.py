"""Expert iteration in rounds: the start policy fitted anew to all that was kept."""

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.compose import planner
from harness.config.run import RunConfig
from harness.errors import ConfigError, DataError
from harness.policy.tabular import Observations, TabularPolicy
from harness.records import run_folder
from harness.records.checkpoints import KEPT
from harness.train.loop import tabular_rounds
from harness.train.loop.kept_conversations import KeptConversations
from harness.train.loop.tabular_batch import ActBatch
from harness.train.loop.tabular_rounds import KeptActs
from harness.train.rollout.tabular_speaker import Acts
from tests.train.made import finish, go_on, killed_after, make_run, rows_of, tabular, unselective

ROUND, PASSES, RATE = 5, 30, 4.0
NONE = KeptConversations[KeptActs]()


def rounds(steps: int = 2 * ROUND, null_control: bool = False, **trainer: Any) -> RunConfig:
    options = {"keep": 0.25, "margin": 0.0, "fit_from": "start", "round_steps": ROUND}
    algorithm = {
        "kind": "expert_iteration",
        "learning_rate": RATE,
        "null_control": null_control,
        "options": {**options, "fit_passes": PASSES},
    }
    return tabular(algorithm=algorithm, steps=steps, **trainer)


def test_a_policy_only_talks_until_its_round_ends(tmp_path: Path) -> None:
    rows = rows_of(tmp_path / "r", rounds(steps=3 * ROUND))
    moves = [row["step"] for row in rows if row["grad_norm"] is not None]
    assert moves == [5, 10, 15]
    assert [row["kl"] for row in rows[:ROUND]] == [0.0] * ROUND  # the start policy's own round
    assert all(row["kl"] > 0 for row in rows[ROUND:])
    counts = [row["kept/conversations"] for row in rows]
    assert counts == sorted(counts)
    assert 0 < counts[0] <= 4  # at most a quarter of 16
    assert all(row["kept/sequences"] <= row["kept/conversations"] for row in rows)
    assert {row["ledger/signal"] for row in rows} == {None}  # neither signal nor noise


def test_the_policy_is_the_start_after_gradient_steps_on_all_rounds(tmp_path: Path) -> None:
    """By hand, from the conversations that the checkpoint has."""
    run = make_run(tmp_path / "r", rounds())
    assert go_on(run)[0] == 0
    saved = run.checkpoints / "step-00010"
    kept = tabular_rounds.load(saved)
    seen = Observations(np.concatenate([c.features for c in kept.conversations]))
    act = np.concatenate([c.act for c in kept.conversations])
    by_hand = TabularPolicy.start(run_folder.read_config(run).policy.observation)
    for _ in range(PASSES):
        rise = by_hand.gradient(seen, act, np.full(len(act), 1 / len(act)), 1.0)
        by_hand = replace(by_hand, table=by_hand.table + RATE * rise)
    np.testing.assert_allclose(np.load(saved / "table.npy"), by_hand.table, atol=1e-10)
    assert len(kept.conversations) > 10  # of both rounds


def test_a_killed_run_ends_with_the_rows_of_one_that_was_not(tmp_path: Path) -> None:
    slow = rounds(steps=3 * ROUND, checkpoint_every=4)
    whole = make_run(tmp_path / "whole", slow)
    assert finish(whole)[0] == 0
    killed = killed_after(make_run(tmp_path / "killed", slow), 9)
    assert finish(killed)[0] == 0
    assert killed.metrics.read_bytes() == whole.metrics.read_bytes()


def test_a_checkpoint_whose_kept_conversations_were_taken_is_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", rounds(checkpoint_every=1))
    go_on(run, stop_after=ROUND)
    saved = run.checkpoints / "step-00005" / "kept.npz"
    saved.rename(tmp_path / "taken")
    with pytest.raises(ConfigError) as error:
        go_on(run)
    assert str(error.value) == (
        f"{saved}: a checkpoint of algorithm.kind=expert_iteration must hold the run's kept "
        "conversations, got no such file; restore it, or move step-00005 away to continue from an "
        "earlier checkpoint"
    )
    (tmp_path / "taken").rename(saved)
    assert go_on(run)[0] == 0


def batch(advantage: list[float], act: list[int]) -> ActBatch:
    """Conversations of two replies, whose features say which they are of."""
    conversation = np.repeat(np.arange(len(act) // 2), 2)
    reply = np.tile(np.arange(2), len(act) // 2)
    seen = Observations(reply[:, None].astype(float))
    acts = Acts(seen, np.array(act), conversation, reply)
    each = np.repeat(np.array(advantage), 2)
    return ActBatch(acts, each, unselective(len(act)), 1.0, len(act))


def test_what_was_kept_before_is_not_kept_again(tmp_path: Path) -> None:
    first = NONE.with_new(tabular_rounds.kept_in(batch([1.0, 0.0, 1.0], [3, 4, 5, 5, 3, 4])))
    assert [c.act.tolist() for c in first.conversations] == [[3, 4]]
    second = first.with_new(tabular_rounds.kept_in(batch([0.0, 2.0, 2.0], [1, 1, 3, 4, 4, 3])))
    assert [c.act.tolist() for c in second.conversations] == [[3, 4], [4, 3]]
    assert second.metrics() == {"kept/conversations": 2.0, "kept/sequences": 2.0}
    whole = tabular_rounds.batch_of(second, temperature=1.0)
    assert whole.acts.conversation.tolist() == [0, 0, 1, 1]
    assert whole.acts.reply.tolist() == [0, 1, 0, 1]
    assert whole.denominator == 4
    tabular_rounds.save(second, tmp_path)
    again = tabular_rounds.load(tmp_path)
    assert again.keys == second.keys
    assert (
        again.with_new(tabular_rounds.kept_in(batch([1.0], [3, 4]))).metrics() == second.metrics()
    )


def test_nothing_kept_is_saved_and_read_as_nothing(tmp_path: Path) -> None:
    tabular_rounds.save(NONE, tmp_path)
    assert tabular_rounds.load(tmp_path) == NONE


def named(folder: Path) -> str:
    """What reading the kept conversations of `folder` is refused with, after the file's path."""
    with pytest.raises(DataError) as error:
        tabular_rounds.load(folder)
    return str(error.value).removeprefix(f"{folder / 'kept.npz'}: ")


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / KEPT
    for content in (b"", b"no archive"):
        file.write_bytes(content)
        assert named(tmp_path).startswith("must hold the kept conversations, got ")
    kept = NONE.with_new(tabular_rounds.kept_in(batch([1.0, 1.0], [3, 4, 5, 5])))
    tabular_rounds.save(kept, tmp_path)
    whole = file.read_bytes()
    for at in range(len(whole)):  # a changed byte that matters to nobody is let pass
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        with contextlib.suppress(DataError):
            assert tabular_rounds.load(tmp_path).keys == kept.keys


def test_arrays_that_do_not_go_together_are_named(tmp_path: Path) -> None:
    def holding(replies: Any, features: Any, act: Any) -> str:
        arrays = {"replies": replies, "features": features, "act": act}
        np.savez(tmp_path / KEPT, **arrays)
        return named(tmp_path)

    rows = "features and act must have a row for each of the replies of a conversation, got "
    assert holding([2, 1], np.ones((4, 5)), [1, 2, 3]) == f"{rows}[4, 3] for [2, 1]"
    assert holding([3, 0], np.ones((3, 5)), [1, 2, 3]) == f"{rows}[3, 3] for [3, 0]"
    types = "replies, features and act must be 1-D int64, 2-D float64, 1-D int64, got 1-D int64, "
    assert holding([3], np.ones((3, 5)), [1.0, 2.0, 3.0]) == (f"{types}2-D float64, 1-D float64")
    assert holding([3], np.ones(3), [1, 2, 3]) == f"{types}1-D float64, 1-D int64"


def refused(*words: str) -> str:
    given = ("algorithm=expert_iteration", "algorithm.options.fit_from=start", *words)
    with pytest.raises(ConfigError) as error:
        planner.plan(
            [*given, *([] if any("policy=" in word for word in words) else ["policy=tabular"])]
        )
    return str(error.value)


def test_what_rounds_cannot_go_with_is_refused_by_name() -> None:
    among = "with algorithm.options.fit_from=start"
    assert refused("policy=qwen3_0_6b", "trainer.shard=full", "trainer.gpus=2") == (
        f"trainer.shard must be none {among}, since the start weights are put back whole, got full"
    )
    assert refused("trainer.steps=25") == (
        f"trainer.steps must be a multiple of algorithm.options.round_steps (10) {among}, since an "
        "incomplete round has no update, got 25"
    )
    assert refused("trainer.updates_per_batch=2").startswith(
        f"trainer.updates_per_batch must be 1 {among}; set algorithm.options.fit_passes, "
    )
    assert refused("remedy=entropy_bonus").startswith(f"remedy must be none {among}, since ")
    assert refused("eval.adapts_to=negative").startswith(f"eval.adapts_to must be null {among}, ")
    assert refused("trainer.stop_when=flat") == (
        f"trainer.stop_when must be null {among}, since the reward is flat until a round ends, got "
        "flat"
    )


def test_keys_of_rounds_are_refused_where_each_batch_moves_the_policy() -> None:
    for key in ("round_steps", "fit_passes"):
        with pytest.raises(ConfigError) as error:
            planner.plan(
                ["policy=tabular", "algorithm=expert_iteration", f"algorithm.options.{key}=5,20"]
            )
        assert str(error.value) == (
            f"algorithm.options.{key}: has no effect with algorithm.options.fit_from=current; it "
            "belongs to algorithm.options.fit_from=start, got 5"
        )


@pytest.mark.slow
def test_the_reward_rises_and_a_null_control_s_does_not(tmp_path: Path) -> None:
    for null, least, most in ((False, 0.03, 1.0), (True, -0.05, 0.05)):
        config = rounds(steps=100, conversations=32, null_control=null)
        rewarded = [row["reward"] for row in rows_of(tmp_path / f"{null}", config)]
        assert least < np.mean(rewarded[-25:]) - np.mean(rewarded[:5]) < most
