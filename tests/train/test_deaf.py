"""The deaf evaluation: who hears whose words, and what that costs a listener and a schedule."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.calibration import schedules
from harness.calibration.strategy_game import StrategyGame
from harness.compose import planner
from harness.config.run import EvalConfig, RunConfig
from harness.simulator.draws import uniforms
from harness.simulator.listening import ListenerNotes, listen
from harness.simulator.protocol import SupporterReply
from harness.simulator.reference import attentive_choice, phrase
from harness.train.metrics import deaf, evaluate
from harness.train.metrics.deaf import DeafSpeaker
from harness.train.metrics.held_out import Meeting
from harness.train.rollout.conversation import WaveSpeakers
from tests.train.made import rows_of, tabular

Choice = Callable[[ListenerNotes, Sequence[str]], str]


class Recorder:
    """Notes what it hears."""

    def begin(self, count: int) -> None:
        self.heard: list[tuple[int, str]] = []

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        self.heard += zip(live, heard, strict=True)
        return [SupporterReply(text) for text in heard]


class Referee:
    """A reference policy that chooses by what it hears, and words it by what it is told."""

    def __init__(self, choose: Choice, held: Sequence[Meeting]) -> None:
        self._choose, self._held = choose, held

    def begin(self, count: int) -> None:
        self._heard: list[list[str]] = [[] for _ in range(count)]
        self._told: list[list[str]] = [[] for _ in range(count)]
        self._said: list[list[str]] = [[] for _ in range(count)]

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        return self.reply(live, heard, heard)

    def reply(
        self, live: Sequence[int], heard: Sequence[str], actual_words: Sequence[str]
    ) -> list[SupporterReply]:
        for i, words, own in zip(live, heard, actual_words, strict=True):
            self._heard[i].append(words)
            self._told[i].append(own)
            strategy = self._choose(listen(self._heard[i]), self._said[i])
            u = uniforms("referee", self._held[i].user, self._held[i].repeat, len(self._said[i]))
            notes = listen(self._told[i])
            self._said[i].append(phrase(strategy, notes, self._said[i], u, newest=True))
        return [SupporterReply(self._said[i][-1]) for i in live]


def test_the_words_are_the_next_users_who_is_still_there() -> None:
    heard = {
        Meeting(0, 0): ["a0", "a1", "a2"],
        Meeting(0, 1): ["b0"],
        Meeting(0, 2): ["c0", "c1"],
        Meeting(1, 0): ["d0"],
        Meeting(1, 1): ["e0"],
        Meeting(0, 0, 1): ["f0"],
    }
    assert deaf.swap_words(heard) == {
        Meeting(0, 0): ["b0", "c1"],
        Meeting(0, 1): ["c0", "c1", "a2"],
        Meeting(0, 2): ["a0", "a1", "a2"],
        Meeting(1, 0): ["e0"],
        Meeting(1, 1): ["d0"],
        Meeting(0, 0, 1): [],
    }


def test_the_last_words_are_repeated_and_who_has_no_other_hears_the_user() -> None:
    recorder = Recorder()
    speaker = DeafSpeaker(recorder, [["x0", "x1"], [], ["y0"]])
    speaker.begin(3)
    speaker.speak([0, 1, 2], ["own 0", "own 1", "own 2"])
    speaker.speak([0, 1], ["own 0", "own 1"])
    speaker.speak([0], ["own 0"])
    assert recorder.heard == [
        *((0, "x0"), (1, "own 1"), (2, "y0")),
        *((0, "x1"), (1, "own 1")),
        (0, "x1"),
    ]


def test_in_waves_each_speaker_hears_for_its_own_conversations() -> None:
    made: list[Recorder] = []

    def waves(held: Sequence[Meeting]) -> WaveSpeakers[Recorder]:
        made[:] = [Recorder(), Recorder()]
        return WaveSpeakers(made)

    meetings = [Meeting(0, user) for user in range(4)]
    speaker = deaf.speakers(waves, deaf.swap_words({m: [f"of {m.user}"] for m in meetings}))(
        meetings
    )
    assert isinstance(speaker, WaveSpeakers)
    for one in speaker.speakers:
        one.begin(2)
        one.speak([0, 1], ["own", "own"])
    assert [one.heard for one in made] == [[(0, "of 1"), (1, "of 2")], [(0, "of 3"), (1, "of 0")]]


@pytest.fixture(scope="module")
def medium() -> RunConfig:
    config = planner.plan(["policy=tabular", "difficulty=medium"]).points[0].config
    return replace(config, eval=EvalConfig(levels=[]))


def measured(config: RunConfig, choose: Choice) -> dict[str, float]:
    meet = evaluate.meet_here(config, lambda held: Referee(choose, held))
    return evaluate.evaluate(config, meet)


def test_a_schedule_earns_the_same_deaf_and_has_nothing_to_tell(medium: RunConfig) -> None:
    strategies = schedules.best_schedule(StrategyGame(medium.difficulty)).strategies
    row = measured(medium, lambda notes, said: strategies[len(said)])
    assert row["eval/deaf_reward"] == row["eval/reward"]
    assert 0.45 < row["eval/reward"] < 0.75
    assert row["eval/listening"] == pytest.approx(0, abs=0.05)


def test_a_listener_earns_less_when_deaf(medium: RunConfig) -> None:
    row = measured(medium, attentive_choice)
    assert row["eval/deaf_reward"] < row["eval/reward"] - 0.15
    assert 1.2 < row["eval/listening"] < 1.6


def test_a_run_without_it_has_no_deaf_reward_and_the_same_evaluation(tmp_path: Path) -> None:
    with_it, without = (
        rows_of(
            tmp_path / str(deaf),
            replace(tabular(steps=1), eval=EvalConfig(users=8, levels=["hard"], deaf=deaf)),
            evaluated=True,
        )[0]
        for deaf in (True, False)
    )
    names = ("", "hard/", "medium/")
    assert all(with_it[f"eval/{name}deaf_reward"] is not None for name in names)
    apart = {"crc32", *(f"eval/{name}deaf_reward" for name in names)}
    assert all(without[key] is None for key in apart - {"crc32"})
    assert {k: v for k, v in with_it.items() if k not in apart} == {
        k: v for k, v in without.items() if k not in apart
    }
