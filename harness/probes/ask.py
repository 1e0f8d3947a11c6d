"""Asks a probe's question of a run: which policies, the conversations with each, what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.config.run import LEVELS, RunConfig
from harness.errors import ConfigError
from harness.probes import readings
from harness.probes.quantity import Probe, Setting
from harness.probes.readings import Answers, Asked
from harness.probes.results import START, Probed, Reading
from harness.records import run_folder, trained_run
from harness.records.outcomes import OWN
from harness.records.run_folder import RunFolder
from harness.records.trained_run import TrainedRun
from harness.train.metrics.held_out import levels_of
from harness.train.saved_policy import policy as saved_policy
from harness.train.saved_policy.policy import Held

BY_START = "start"
Say = Callable[[str, int, int], None]
"""Called with what is held, the conversations so far, and all of them."""


@dataclass(frozen=True)
class Question:
    """What is asked of a run."""

    probe: Probe
    run: Path
    step: int | None = None
    """None for the last."""
    along: bool = False
    """Ask every checkpoint that was kept."""
    against: str = BY_START
    """`start`, or the folder of another run, whose last checkpoint it is."""
    users: int = 64
    repeats: int | None = None
    """None for the probe's own."""

    @property
    def conversations(self) -> int:
        """With each user."""
        return self.probe.repeats if self.repeats is None else self.repeats


@dataclass(frozen=True)
class _Policy:
    """One policy that is asked."""

    of: TrainedRun
    step: int

    @property
    def checkpoint(self) -> Path | None:
        return None if self.step == START else self.of.checkpoint.path


def ask(question: Question, say: Say) -> Probed:
    """Hold the conversations and measure them.

    Raises ConfigError for what cannot be asked, DataError for a folder that is no run and for a
    checkpoint that cannot be loaded, which is found when its turn comes.
    """
    last = _found(question.run, question.step)
    policies = [_Policy(one, one.checkpoint.step) for one in _asked(question, last)]
    reference = _reference(question, last)
    settings = question.probe.settings(last.config)
    asked = Asked.of(question.probe, last.config)
    before = _answers(question, reference, settings, say)
    found: list[Reading] = []
    for policy in policies:
        answers = _answers(question, policy, settings, say)
        found += readings.of(asked, answers, policy.step, before)
    held = sum(len(some) for by_user in before.values() for some in by_user.values())
    return Probed(
        probe=question.probe.name,
        asks=question.probe.asks,
        run=str(question.run),
        against=question.against,
        reference=tuple(readings.of(asked, before, reference.step, None)),
        steps=tuple(policy.step for policy in policies),
        users=question.users,
        repeats=question.conversations,
        conversations=held * (1 + len(policies)),
        readings=tuple(found),
    )


def _asked(question: Question, last: TrainedRun) -> Iterable[TrainedRun]:
    if not question.along:
        return [last]
    return trained_run.every(question.run)


def _reference(question: Question, last: TrainedRun) -> _Policy:
    """What the run's policies are held against."""
    if question.against == BY_START:
        return _Policy(last, START)
    other = _found(Path(question.against), None)
    for key, met in _WHO_IS_MET.items():
        own, others = (met(one.config) for one in (last, other))
        if own != others:
            raise ConfigError(
                f"{other.run.config}: {key} must be as in {last.run.config}, since both meet the "
                f"same users with --against, got {others} instead of {own}"
            )
    return _Policy(other, other.checkpoint.step)


def _found(folder: Path, step: int | None) -> TrainedRun:
    run = RunFolder(folder)
    if run_folder.read_config(run).simulator.kind == "served":
        rule = "must be one that answers in this process, since a probe would pay for every answer"
        raise ConfigError(f"{run.config}: simulator.kind {rule}, got served")
    return trained_run.find(folder, step)


def _names(config: RunConfig) -> Mapping[int, str]:
    """The levels that a run is evaluated at, by number; `own` is none of the named ones."""
    met = levels_of(config).met
    return {number: LEVELS[number] if number < len(LEVELS) else OWN for number in met}


def _levels(config: RunConfig) -> Any:
    """All that the users of each level that is met follow from."""
    every = levels_of(config).every
    return {name: every[number].knobs() for number, name in _names(config).items()}


_WHO_IS_MET: Mapping[str, Callable[[RunConfig], Any]] = {
    "policy.kind": lambda config: config.policy.kind,
    "simulator.kind": lambda config: config.simulator.kind,
    "simulator.profiles": lambda config: config.simulator.profiles,
    "eval.levels": lambda config: list(_names(config).values()),
    "difficulty or levels": _levels,
}
"""By key: what two policies must have in common to be held against each other."""


def _answers(question: Question, policy: _Policy, settings: Sequence[Setting], say: Say) -> Answers:
    held: dict[tuple[str, str], dict[int, list[Held]]] = {}
    for setting in settings:
        names = _names(setting.changed(policy.of.config))
        for one in _held(question, policy, setting, say):
            level = names[one.meeting.level]
            here = held.setdefault((level, setting.name), {})
            here.setdefault(one.meeting.user, []).append(one)
    return held


def _held(question: Question, policy: _Policy, setting: Setting, say: Say) -> Sequence[Held]:
    of, what = policy.of, "the start" if policy.step == START else f"step {policy.step}"
    changed = setting.changed(of.config)
    config = saved_policy.of_size(changed, question.users, question.conversations)
    speaking = saved_policy.of(config, policy.checkpoint, of.status.start_model)
    shown = f"{what}, {setting.name}" if setting.name else what
    return saved_policy.rollouts(speaking, lambda held, of: say(shown, held, of))
