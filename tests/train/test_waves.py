"""Speakers in waves: one speaks while the other's users think, and nothing else changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.config.run import DifficultyConfig, SimulatorConfig
from harness.simulator.factory import make
from harness.simulator.protocol import ConversationKey, PendingAnswers, SupporterReply, UserTurn
from harness.simulator.scripted.user import ScriptedSimulator
from harness.train.rollout.batch import SideBySide
from harness.train.rollout.conversation import InWaves, StartState, rollout, take_over
from tests.simulator.endpoint import serving
from tests.simulator.served import config as served
from tests.train.test_language_run import config as language
from tests.train.test_language_run import rows_of, run_here

KEYS = [ConversationKey(1, 1, n // 2, n % 2) for n in range(7)]
LEVEL = DifficultyConfig(turn_cap=4)


class Speaker:
    """Says what its conversations, and how often it has spoken, make it say."""

    def __init__(self, name: str, log: list[str]) -> None:
        self._name, self._log = name, log

    def begin(self, count: int) -> None:
        self.turn = 0
        self._log.append(f"{self._name} has {count}")

    def take_over(self, starts: Sequence[object]) -> None:
        self._log.append(f"{self._name} takes over {len(starts)}")

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        self.turn += 1
        self._log.append(f"{self._name} speaks")
        texts = ("How do you feel now?", "It sounds like you feel very sad.", "You did your best.")
        return [SupporterReply(texts[(i + self.turn) % 3]) for i in live]


class Slow(ScriptedSimulator):
    """Users who think until they are waited for."""

    def __init__(self, level: DifficultyConfig, log: list[str]) -> None:
        super().__init__(level)
        self._log, self._asked = log, 0

    def ask(self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]) -> PendingAnswers:
        self._asked += 1
        number = self._asked
        self._log.append(f"{number} thinks")

        def wait() -> list[UserTurn]:
            self._log.append(f"{number} is waited for")
            return self.answer(turns, replies)

        return wait


def test_one_speaks_while_the_users_of_the_other_think() -> None:
    log: list[str] = []
    rollout(Slow(LEVEL, log), InWaves([Speaker("A", log), Speaker("B", log)]), KEYS)
    assert log[:10] == [
        "A has 3", "B has 4",
        "A speaks", "1 thinks", "B speaks", "2 thinks",
        "1 is waited for", "A speaks", "3 thinks", "2 is waited for",
    ]  # fmt: skip


def test_each_speaker_has_the_conversations_it_would_have_alone() -> None:
    together = rollout(Slow(LEVEL, []), InWaves([Speaker("A", []), Speaker("B", [])]), KEYS)
    users = make(SimulatorConfig(), LEVEL)
    alone = [c for part in (KEYS[:3], KEYS[3:]) for c in rollout(users, Speaker("", []), part)]
    assert together == alone
    assert [c.key for c in together] == KEYS


def test_waves_go_on_where_others_left_off() -> None:
    log: list[str] = []
    users = make(SimulatorConfig(), LEVEL)
    before = rollout(users, Speaker("", []), KEYS)
    starts = [StartState(c.key, c.opening, c.exchanges[:1]) for c in before]
    taken_over = take_over(users, InWaves([Speaker("A", log), Speaker("B", log)]), KEYS, starts)
    assert log[:4] == ["A has 3", "A takes over 3", "B has 4", "B takes over 4"]
    assert [c.start for c in taken_over] == starts
    assert all(c.exchanges for c in taken_over)


def test_users_of_all_levels_think_at_once() -> None:
    log: list[str] = []
    easy, hard = Slow(LEVEL, log), Slow(replace(LEVEL, threshold=1.0), log)
    both = SideBySide([easy, hard], [0, 1, 0, 1])
    turns = both.open(KEYS[:4])
    log.clear()
    answers = both.ask(turns, [SupporterReply("You did your best.")] * 4)
    assert log == ["1 thinks", "1 thinks"]
    assert [turn.state[0] for turn in answers()] == [0, 1, 0, 1]


@pytest.mark.slow
def test_a_language_model_in_waves_repeats_itself(tmp_path: Path) -> None:
    """Whichever answer comes first: the endpoint's delays are random."""
    config = language(steps=2, eval_every=1)
    rows = []
    for name in ("first", "second"):
        with serving(delay_s=0.002) as endpoint:
            run = run_here(tmp_path / name, replace(config, simulator=served(endpoint.url)))
            rows.append(rows_of(run))
            assert len(endpoint.bodies) > 100
    assert rows[0] == rows[1]
    assert len(rows[0]) == 2
