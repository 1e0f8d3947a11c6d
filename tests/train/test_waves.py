"""Speakers in waves: one speaks while the other's users think, and nothing else changes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from harness.config.run import DifficultyConfig, SimulatorConfig
from harness.simulator.factory import make
from harness.simulator.protocol import ConversationKey, SupporterReply, UserTurn
from harness.simulator.scripted.user import ScriptedSimulator
from harness.train.metrics import deaf
from harness.train.rollout.batch import MixedSimulator
from harness.train.rollout.conversation import StartState, WaveSpeakers, rollout, take_over
from harness.utils.pending import AwaitableResult, Pending, first_ready
from tests.simulator.endpoint import serving
from tests.simulator.served import config as served
from tests.train.continuous import ContinuousBatch
from tests.train.made_language_runs import config as language
from tests.train.made_language_runs import rows_of, run_here

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

    def ask(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> Pending[list[UserTurn]]:
        self._asked += 1
        number = self._asked
        self._log.append(f"{number} thinks")

        def wait() -> list[UserTurn]:
            self._log.append(f"{number} is waited for")
            return self.answer(turns, replies)

        return wait


def test_one_speaks_while_the_users_of_the_other_think() -> None:
    log: list[str] = []
    rollout(Slow(LEVEL, log), WaveSpeakers([Speaker("A", log), Speaker("B", log)]), KEYS)
    assert log[:10] == [
        "A has 3", "B has 4",
        "A speaks", "1 thinks", "B speaks", "2 thinks",
        "1 is waited for", "A speaks", "3 thinks", "2 is waited for",
    ]  # fmt: skip


def test_each_speaker_has_the_conversations_it_would_have_alone() -> None:
    together = rollout(Slow(LEVEL, []), WaveSpeakers([Speaker("A", []), Speaker("B", [])]), KEYS)
    users = make(SimulatorConfig(), LEVEL)
    alone = [c for part in (KEYS[:3], KEYS[3:]) for c in rollout(users, Speaker("", []), part)]
    assert together == alone
    assert [c.key for c in together] == KEYS


def test_waves_go_on_where_others_left_off() -> None:
    log: list[str] = []
    users = make(SimulatorConfig(), LEVEL)
    before = rollout(users, Speaker("", []), KEYS)
    starts = [StartState(c.key, c.opening, c.exchanges[:1]) for c in before]
    taken_over = take_over(
        users, WaveSpeakers([Speaker("A", log), Speaker("B", log)]), KEYS, starts
    )
    assert log[:4] == ["A has 3", "A takes over 3", "B has 4", "B takes over 4"]
    assert [c.start for c in taken_over] == starts
    assert all(c.exchanges for c in taken_over)


class Late(ScriptedSimulator):
    """Users who answer at once, but for one who takes `late_s` each time."""

    def __init__(self, level: DifficultyConfig, late: ConversationKey, late_s: float) -> None:
        super().__init__(level)
        self._late, self._late_s, self.polls = late, late_s, 0
        self._pool = ThreadPoolExecutor(8)

    def ask(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> Pending[list[UserTurn]]:
        def answered() -> list[UserTurn]:
            if any(turn.state.key == self._late for turn in turns):
                time.sleep(self._late_s)
            return self.answer(turns, replies)

        future = self._pool.submit(answered)
        return AwaitableResult(future.result, (future,), self._poll)

    def _poll(self) -> None:
        self.polls += 1


def test_a_late_answer_keeps_only_its_own_wave_waiting() -> None:
    log: list[str] = []
    speakers = [Speaker(name, log) for name in "ABC"]
    users = Late(LEVEL, KEYS[0], 0.3)
    conversations = rollout(users, WaveSpeakers(speakers), KEYS)
    spoken = "".join(entry[0] for entry in log if entry.endswith("speaks"))
    late = spoken.index("A", 1)
    assert spoken.startswith("ABC")
    assert late >= len(spoken) - speakers[0].turn + 1, "the others came to their ends meanwhile"
    assert users.polls > 0, "news is looked for while all wait"
    assert conversations == rollout(
        make(SimulatorConfig(), LEVEL), WaveSpeakers([Speaker(name, []) for name in "ABC"]), KEYS
    )


class Joining(Speaker):
    """Replies of different lengths, in the batch of all who speak."""

    def __init__(self, name: str, log: list[str], batch: ContinuousBatch, steps: int) -> None:
        super().__init__(name, log)
        self._batch, self._steps = batch, steps

    def begin_reply(
        self, live: Sequence[int], heard: Sequence[str]
    ) -> Pending[list[SupporterReply]]:
        said, replied = self.speak(live, heard), self._batch.join(self._steps)

        def wait() -> list[SupporterReply]:
            while not replied.done():
                self._batch.step()
            return said

        return AwaitableResult(wait, (replied,), work=self._batch.step)


def test_waves_join_the_batch_of_those_who_speak() -> None:
    batch, lengths = ContinuousBatch(), {"A": 1, "B": 2, "C": 5}
    speakers = [Joining(name, [], batch, steps) for name, steps in lengths.items()]
    conversations = rollout(Late(LEVEL, KEYS[0], 0.05), WaveSpeakers(speakers), KEYS)
    assert batch.sizes[0] == 3, "all speak at once"
    turns = zip(speakers, lengths.values(), strict=True)
    one_by_one = sum(one.turn * steps for one, steps in turns)
    assert len(batch.sizes) < one_by_one
    assert conversations == rollout(
        make(SimulatorConfig(), LEVEL), WaveSpeakers([Speaker(name, []) for name in "ABC"]), KEYS
    )


def test_a_deaf_policy_speaks_at_once_too() -> None:
    words = [["I lost my job."]] * len(KEYS)
    batch, waves = ContinuousBatch(), [range(3), range(3, 7)]
    speakers = [
        deaf.DeafSpeaker(Joining("A", [], batch, 2), words[w.start : w.stop]) for w in waves
    ]
    rollout(Late(LEVEL, KEYS[0], 0.0), WaveSpeakers(speakers), KEYS)
    assert batch.sizes[0] == 2


def test_no_news_is_missed_while_users_think() -> None:
    class Stopped(Exception):
        pass

    def stop() -> None:
        raise Stopped

    never: Future[object] = Future()
    pending: list[AwaitableResult[list[UserTurn]]] = [
        AwaitableResult(list, (never,), stop) for _ in range(2)
    ]
    with pytest.raises(Stopped):
        first_ready(pending)


def test_users_of_several_levels_are_ready_when_all_are() -> None:
    first, second = (Late(LEVEL, KEYS[n], 0.2) for n in (0, 9 % len(KEYS)))
    both = MixedSimulator([first, second], [0, 1])
    pending = both.ask(both.open(KEYS[:2]), [SupporterReply("You did your best.")] * 2)
    assert isinstance(pending, AwaitableResult)
    assert len(pending.futures) == 2
    done: AwaitableResult[list[UserTurn]] = AwaitableResult(list, (), lambda: None)
    assert first_ready([pending, done]) == 1
    assert [turn.state.simulator for turn in pending()] == [0, 1]


def test_users_of_all_levels_think_at_once() -> None:
    log: list[str] = []
    easy, hard = Slow(LEVEL, log), Slow(replace(LEVEL, threshold=1.0), log)
    both = MixedSimulator([easy, hard], [0, 1, 0, 1])
    turns = both.open(KEYS[:4])
    log.clear()
    answers = both.ask(turns, [SupporterReply("You did your best.")] * 4)
    assert log == ["1 thinks", "1 thinks"]
    assert [turn.state.simulator for turn in answers()] == [0, 1, 0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("waves", [2, 8])
def test_a_language_model_in_waves_repeats_itself(tmp_path: Path, waves: int) -> None:
    """Whichever answer comes first: byte for byte, though one user is late the second time."""
    config = language(steps=2, eval_every=1)
    config = replace(config, trainer=replace(config.trainer, waves=waves))
    rows = []
    for name, late_s in (("first", 0.0), ("second", 0.05)):
        with serving(delay_s=0.002, late_s=late_s) as endpoint:
            run = run_here(tmp_path / name, replace(config, simulator=served(endpoint.url)))
            rows.append(rows_of(run))
            assert len(endpoint.bodies) > 100
    assert rows[0] == rows[1]
    assert len(rows[0]) == 2
