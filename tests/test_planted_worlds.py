"""The planted worlds: each construction does what makes its claim true or false, and is tabulated.

One whole world goes through runs, study and table as `python -m benchmarks.planted_worlds` does it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks import planted_table, planted_truth
from benchmarks.planted_truth import World
from benchmarks.planted_worlds import CALIBRATED, OF_REPEAT, seeds_of
from benchmarks.worlds.planted_worlds.lock_in import LockIn
from benchmarks.worlds.planted_worlds.mute_critique import MuteCritique
from benchmarks.worlds.planted_worlds.users import CLAMP, REPLIES, SILENT_WORDS, STEP, Planted
from harness.config.options import Options
from harness.config.run import DifficultyConfig, SimulatorConfig
from harness.simulator import factory
from harness.simulator.protocol import (
    HELD_OUT,
    ConversationKey,
    SupporterReply,
    UserSimulator,
    UserTurn,
)
from harness.simulator.scripted.user import ScriptedSimulator
from harness.study import file
from harness.testing.algorithm_contract import AlgorithmContract
from harness.testing.options_contract import OptionsContract
from harness.testing.reward_contract import RewardContract
from harness.testing.simulator_contract import SimulatorContract
from harness.train.policy_gradient.advantages import group_relative
from harness.train.policy_gradient.algorithm import Algorithm
from harness.train.rollout import critiques
from harness.train.rollout.conversation import Conversation, Exchange
from harness.train.rollout.rewards import Reward
from harness.utils import extensions

LEVEL = DifficultyConfig()
KIND, ADVICE = "That must hurt a lot.", "Maybe you could talk to a friend."
KEYS = [ConversationKey(5, 1, group, sample) for group in range(4) for sample in range(8)]
HELD = [ConversationKey(5, 0, user, 0, HELD_OUT) for user in range(32)]


def talks(
    planted: Planted, keys: Sequence[ConversationKey], text: str = KIND
) -> list[Conversation]:
    """A conversation a key, in which `text` is said to the end."""
    users = planted.users(LEVEL)
    made = []
    for key, opening in zip(keys, users.open(keys), strict=True):
        exchanges: list[Exchange] = []
        turn: UserTurn = opening
        while turn.ended is None:
            (turn,) = users.answer([turn], [SupporterReply(text)])
            exchanges.append(Exchange(SupporterReply(text), turn))
        made.append(Conversation(key, opening, tuple(exchanges)))
    return made


class TestPlanted(SimulatorContract):
    @pytest.fixture(params=[{}, {"salt": 3}, {"words": "open"}, {"carried": 0.3, "account": False}])
    def simulator(self, request: pytest.FixtureRequest) -> UserSimulator:
        return Planted(**request.param).users(LEVEL)


class TestPlantedOptions(OptionsContract):
    @pytest.fixture
    def options(self) -> Options:
        return Planted()


class TestLockIn(RewardContract):
    @pytest.fixture(params=[LockIn(), LockIn(0.0), LockIn(1.0, "question")])
    def reward(self, request: pytest.FixtureRequest) -> Reward:
        made: Reward = request.param
        return made


class TestMuteCritique(AlgorithmContract):
    @pytest.fixture
    def algorithm(self) -> Algorithm:
        return MuteCritique()


def test_with_nothing_planted_they_are_the_scripted_users_in_short_talks() -> None:
    short = replace(LEVEL, turn_cap=REPLIES, step_size=STEP, clamp=CLAMP)
    scripted, planted = ScriptedSimulator(short), Planted().users(LEVEL)
    replies = [SupporterReply(KIND)] * len(KEYS)
    assert planted.answer(planted.open(KEYS), replies) == scripted.answer(
        scripted.open(KEYS), replies
    )


def test_salt_draws_other_training_users_and_the_same_held_out_ones() -> None:
    plain, salted = (Planted(salt=salt) for salt in (0, 1))
    texts = [[turn.text for turn in p.users(LEVEL).open(KEYS)] for p in (plain, salted)]
    assert sum(one == other for one, other in zip(*texts, strict=True)) < len(KEYS) / 4
    assert talks(plain, HELD) == talks(salted, HELD)
    moved = replace(KEYS[0], seed=KEYS[0].seed + 1_000_000)
    assert salted.user(KEYS[0], LEVEL) == plain.user(moved, LEVEL)


def test_users_without_words_say_the_same_whoever_they_are_and_feel_as_they_would() -> None:
    silent, speaking = talks(Planted(words="none"), KEYS), talks(Planted(), KEYS)
    heard = {c.opening.text for c in silent} | {c.exchanges[0].answer.text for c in silent}
    assert heard == {SILENT_WORDS}
    assert [c.last.emotion for c in silent] == [c.last.emotion for c in speaking]


@pytest.mark.parametrize("carried", [0.7, 0.3, 0.2])
def test_held_out_users_keep_exactly_the_share_of_the_change_and_training_users_all(
    carried: float,
) -> None:
    whole, part = (talks(Planted(carried=share), HELD) for share in (1.0, carried))
    start = LEVEL.start_emotion
    changes = [c.last.emotion - start for c in whole]
    assert len(set(changes)) > 2
    assert [c.last.emotion - start for c in part] == [round(carried * n) for n in changes]
    assert [carried * n for n in changes] == pytest.approx([round(carried * n) for n in changes])
    trained = talks(Planted(carried=carried), KEYS)
    assert [c.reward for c in trained] == [c.reward for c in talks(Planted(), KEYS)]


def test_noise_that_a_group_shares_moves_rewards_and_no_advantage() -> None:
    clean, noisy = (
        np.array([c.reward for c in talks(Planted(shared_noise=points), KEYS)])
        for points in (0.0, 20.0)
    )
    shifts = (noisy - clean).reshape(4, 8)
    assert np.ptp(shifts, axis=1) == pytest.approx(0.0)
    assert shifts[:, 0].std() > 0.05
    assert group_relative(noisy, 8, 0.1) == pytest.approx(group_relative(clean, 8, 0.1))


def test_where_a_coin_decides_advice_is_heard_whatever_is_said() -> None:
    said = [talks(Planted(advice="tossed"), HELD * 8, text) for text in (KIND, ADVICE)]
    heard = [[e.answer.strategies for c in some for e in c.exchanges] for some in said]
    assert heard[0] == heard[1]
    many = [ConversationKey(9, step, 0, 0) for step in range(400)]
    told = [e.answer.strategies for c in talks(Planted(advice="tossed"), many) for e in c.exchanges]
    assert np.mean([one == ("suggest",) for one in told]) == pytest.approx(0.25, abs=0.05)


def test_users_without_an_account_give_a_critique_nothing_to_blame() -> None:
    def blamed(planted: Planted) -> list[frozenset[str]]:
        found = []
        for conversation in talks(planted, KEYS, ADVICE):
            reply = critiques.most_costly(conversation)
            if reply is not None:
                played = ["suggest"] * (reply + 1)
                found.append(
                    critiques.discouraged_strategies("reason", conversation, reply, played)
                )
        return found

    assert frozenset({"suggest"}) in blamed(Planted())
    mute = blamed(Planted(account=False))
    assert len(mute) > 5
    assert set(mute) == {frozenset()}


def test_a_reward_for_one_move_is_the_end_and_the_share_of_that_move() -> None:
    conversations = talks(Planted(), KEYS, ADVICE)
    paid = LockIn(0.25, "suggest").rewards(conversations).shared
    assert paid == pytest.approx([0.75 * c.reward + 0.25 for c in conversations])
    unpaid = LockIn(0.25, "question").rewards(conversations).shared
    assert unpaid == pytest.approx([0.75 * c.reward for c in conversations])


def test_listening_to_the_users_of_a_plug_in_is_measured_where_it_tells_who_they_are() -> None:
    with extensions.registered("simulator", "planted", Planted):
        config = SimulatorConfig("planted", "planted", options={"salt": 2})
        told = [factory.intention_of(key, LEVEL, config) for key in KEYS]
        assert told == [Planted(salt=2).user(key, LEVEL).intention for key in KEYS]
        assert len(set(told)) > 2
        assert factory.temperament_of(KEYS[0], LEVEL, config) is not None


def test_every_world_is_a_study_whose_links_each_have_a_truth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(planted_truth.HERE)
    worlds = planted_truth.worlds()
    assert len(worlds) == 12
    for world in worlds:
        study = file.read(world.name)
        assert len(study.links) == len(world.effect) == len(study.deciding)
        assert set(world.right) <= {"supported", "contradicted", "no effect"}
        assert 2 <= world.early < world.pairs <= OF_REPEAT
        assert study.seeds == f"range(1,{world.pairs + 1})"
        _check_right(world)
    assert {1.0, 2.0} <= {abs(effect) for world in worlds for effect in world.effect}


def _check_right(world: World) -> None:
    """The words that are right follow from the true differences."""
    if min(world.effect) >= 1:
        assert world.right == ("supported",)
    elif min(world.effect) == 0:
        assert world.right == ("no effect",)
    elif min(world.effect) < 0:
        assert world.right == ("contradicted",)
    else:
        assert set(world.right) == {"supported", "no effect"}


def test_no_two_repeats_and_no_calibration_share_a_seed() -> None:
    every = [seed for w in planted_truth.worlds() for n in range(100) for seed in seeds_of(w, n)]
    assert len(every) == len(set(every))
    assert max(every) < CALIBRATED


WORLD = World("made", 0, "", (1.0,), ("supported",), 4, 2)


def made_row(
    repeat: int, verdict: str, needed: int | None, values: Sequence[float]
) -> dict[str, Any]:
    by_seed = {str(10 * repeat + n): value for n, value in enumerate(values)}
    link = {
        "name": "gains more", "margin": 0.1, "direction": "more", "quantity": "gain",
        "verdict": verdict, "by_seed": by_seed, "plain_by_seed": None,
    }  # fmt: skip
    first = {**link, "verdict": "undecided", "by_seed": dict(list(by_seed.items())[:2])}
    early = {"verdict": "undecided", "seeds_needed": needed, "links": [first]}
    return {"world": "made", "repeat": repeat, "verdict": verdict, "links": [link], "early": early}


def test_undecided_counts_as_neither_right_nor_wrong() -> None:
    words = ("supported", "no effect", "contradicted", "undecided")
    assert [WORLD.score(word) for word in words] == ["right", "wrong", "wrong", "undecided"]
    values = (0.1, 0.12, 0.08, 0.1)
    rows = [made_row(n, word, None, values) for n, word in enumerate((*words, "supported"))]
    head, _, row, total, *_ = planted_table.table([WORLD], rows)
    assert head.startswith("| world | true, in margins |")
    assert "| 5 | 40 (12-77) | 40 (12-77) | 20 (4-62) |" in row
    assert "supported 2, no effect 1, contradicted 1, undecided 1" in row
    assert total.startswith("| all |")


def test_what_was_asked_for_is_held_against_the_spread_of_all_pairs() -> None:
    rng = np.random.default_rng(3)
    drawn = 0.1 + 0.08 * rng.standard_normal((20, 4))
    rows = [made_row(n, "undecided", 3 + n, list(values)) for n, values in enumerate(drawn)]
    answers = planted_table.of_seeds(rows)
    assert [one.asked for one in answers] == [3 + n for n in range(20)]
    (needed,) = {one.needed for one in answers}
    assert 8 <= needed <= 16  # ((1.96 + 0.84) * 0.8)^2 = 5, at Student's t and a second look more
    assert np.mean([one.is_decided for one in answers if one.asked > 12]) > 0.7
    *_, last = planted_table.table([WORLD], rows)
    near = sum(needed / 2 <= one.asked <= needed * 2 for one in answers)
    assert f"| 20 | 12 | {needed:.0f} | {100 * near / 20:.0f} (" in last


@pytest.mark.slow
def test_a_world_is_asked_judged_and_gone_on_with(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-index", "--no-build-isolation", "--no-deps", "--target", str(tmp_path / "s")]
    subprocess.run([*pip, *offline, str(planted_truth.HERE)], check=True, cwd=tmp_path)
    root = Path(planted_truth.__file__).parents[1]
    path = os.pathsep.join((str(root), str(tmp_path / "s")))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}

    def asked(*words: str) -> list[str]:
        command = [sys.executable, "-m", "benchmarks.planted_worlds", *words]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    words = ("run", str(tmp_path / "out"), "--worlds", "paid_advice", "--repeats")
    assert asked(*words, "1") == ["paid_advice 0 supported"]
    assert asked(*words, "1") == []
    (row,) = (tmp_path / "out" / "rows-1.jsonl").read_text().splitlines()
    link = json.loads(row)["links"][0]
    (world,) = planted_truth.worlds(["paid_advice"])
    assert list(link["by_seed"]) == [str(seed) for seed in seeds_of(world, 0)]
    assert np.mean(list(link["by_seed"].values())) > 0.1
    table = asked("table", str(tmp_path / "out"), "--worlds", "paid_advice")
    assert "| 1 | 100 (21-100) | 0 (0-79) | 0 (0-79) | supported 1 |" in table[2]


@dataclass(frozen=True)
class Unknown(Planted):
    """Users of whom is told what harness does not know."""

    def user(self, key: ConversationKey, difficulty: DifficultyConfig) -> Any:
        return SimpleNamespace(intention="boredom")


def test_what_is_told_of_a_user_and_not_known_counts_as_not_told() -> None:
    with extensions.registered("simulator", "unknown", Unknown):
        config = SimulatorConfig("unknown", "unknown")
        assert factory.intention_of(KEYS[0], LEVEL, config) is None
        assert factory.temperament_of(KEYS[0], LEVEL, config) is None
