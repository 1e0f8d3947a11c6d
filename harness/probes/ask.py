"""Runs a probe: selects the policies, simulates their conversations, and measures them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.config.run import RunConfig
from harness.errors import ConfigError
from harness.probes import expected, readings, served, source
from harness.probes.expected import level_names
from harness.probes.quantity import Answers, Battery, ItemChoice, Probe, Setting
from harness.probes.readings import MeasurementPlan
from harness.probes.results import ProbeReading, ProbeResult
from harness.probes.source import PolicySource
from harness.records import probe_answer, provenance
from harness.train.metrics.held_out import levels_of
from harness.train.saved_policy import loading
from harness.train.saved_policy import policy as saved_policy
from harness.train.saved_policy.policy import HeldOutConversation
from harness.utils import safe_text

BY_START = probe_answer.BY_START
Say = Callable[[str, int, int], None]
"""Called with the name of the policy, the conversations or items so far, and their total."""


@dataclass(frozen=True)
class ProbeRequest:
    """A probe to run on a training run, or on the model in a folder."""

    probe: Probe
    run: Path
    step: int | None = None
    """Step of the checkpoint; None for the last one."""
    along: bool = False
    """Whether to probe every kept checkpoint."""
    against: str = BY_START
    """The reference: `start`, or the folder of another run (its last checkpoint) or of a model."""
    users: int = expected.USERS
    repeats: int | None = None
    """None for the probe's default."""
    choice: ItemChoice = field(default_factory=ItemChoice)
    """The items, for a probe that asks items."""
    out: Path | None = None
    """Folder of the answer; None for one in the run's folder."""

    @property
    def folder(self) -> Path:
        """Folder of the answer and of the journal of served users."""
        return self.out or probe_answer.path_of(self.run, self.probe.name).parent

    @property
    def conversations(self) -> int:
        """Number of conversations with each user."""
        return self.probe.repeats if self.repeats is None else self.repeats


def ask(question: ProbeRequest, say: Say, tell: served.Tell = safe_text.say) -> ProbeResult:
    """Simulate the conversations, or ask the items, and measure them.

    `tell` receives messages about served users and about damaged checkpoints that are skipped.
    Raises ConfigError for a question that cannot be answered, DataError for a folder that is not a
    run or without an intact checkpoint, and, when its turn comes, for a checkpoint that cannot be
    loaded. With served users it also raises as `served.open_clients` and `served.refuse_lost` do.
    """
    probe = _with_enough_repeats(question.probe, question.conversations)
    question = replace(question, probe=probe)
    last = _find_source(question.run, question.step, probe)
    policies = source.all_checkpoints(question.run) if question.along else [last]
    reference = _reference(question, last)
    passed_over = dict.fromkeys(
        line for policy in (last, reference) for line in _describe_skipped(policy)
    )
    for line in passed_over:
        tell(line)
    if probe.battery is not None or last.config.simulator.kind != "served":
        return _measure(question, last, policies, reference, say)
    configs = [
        saved_policy.of_size(setting.changed(last.config), question.users, question.conversations)
        for setting in probe.settings(last.config)
    ]
    tell(_announcement(question, configs, 1 + len(policies)))
    lost_counts: list[int] = []
    with served.open_clients(configs, question.folder, tell) as client:
        url = client.config.base_url
        probed = _measure(
            question, last, policies, reference, say,
            lambda answers: lost_counts.append(served.refuse_lost(answers, url)),
        )  # fmt: skip
        return replace(probed, cost=served.cost(client.take_usage(), sum(lost_counts)))


def _with_enough_repeats(probe: Probe, repeats: int) -> Probe:
    """Return the probe without the quantities that need more than `repeats` conversations per user.

    Its `not_measured` lists them.
    """

    def not_measured(config: RunConfig) -> Sequence[str]:
        least = {q.name: q.least_repeats for q in probe.quantities(config)}
        names = [name for name, needed in least.items() if needed > repeats]
        rule = f"take up to {max(least.values(), default=0)} conversations with a user"
        reasons = [f"{', '.join(names)}: {rule}, and --repeats is {repeats}"] if names else []
        return [*probe.not_measured(config), *reasons]

    return replace(
        probe,
        quantities=lambda c: [q for q in probe.quantities(c) if q.least_repeats <= repeats],
        not_measured=not_measured,
    )


def _describe_skipped(policy: PolicySource) -> list[str]:
    return [f"{problem}; {policy.shown} is used instead" for problem in policy.passed_over]


def _announcement(question: ProbeRequest, configs: Sequence[RunConfig], policies: int) -> str:
    count = question.users * question.conversations
    limit = 1 + policies * sum(served.most_requests(config, count) for config in configs)
    url = configs[0].simulator.base_url
    return f"asks {url} at most {limit:,} times, plus retries; --users and --repeats lower that"


def _measure(
    question: ProbeRequest,
    last: PolicySource,
    policies: Sequence[PolicySource],
    reference: PolicySource,
    say: Say,
    check: Callable[[Answers], None] = lambda answers: None,
) -> ProbeResult:
    """Return the result. `check` is called with each policy's answers and may raise."""
    probe = question.probe
    plan = MeasurementPlan.of(probe, last.config)
    battery = None if probe.battery is None else probe.battery(last.config, question.choice)
    answers_of = _answers_of(question, battery, say)
    before = answers_of(reference) if plan.quantities else {}
    check(before)
    measured: list[ProbeReading] = []
    for policy in policies:
        answers = answers_of(policy) if plan.quantities else {}
        check(answers)
        measured += readings.of(plan, answers, policy.step, before)
    conversation_count = (
        0 if battery else sum(len(c) for users in before.values() for c in users.values())
    )
    return ProbeResult(
        probe=probe.name,
        asks=probe.asks,
        run=str(question.run),
        against=question.against,
        reference=tuple(readings.of(plan, before, reference.step, None)),
        steps=tuple(policy.step for policy in policies),
        users=0 if battery else question.users,
        repeats=0 if battery else question.conversations,
        conversations=conversation_count * (1 + len(policies)),
        readings=tuple(measured),
        items=None if battery is None else battery.items,
        not_measured=tuple(probe.not_measured(last.config)),
        verdict=probe.verdict(
            [reading for reading in measured if reading.step == policies[-1].step]
        ),
        item_file=None if question.choice.file is None else str(question.choice.file),
        passed_over=tuple(dict.fromkeys((*last.passed_over, *reference.passed_over))),
        checkpoints={
            str(policy.step): policy.checkpoint for policy in policies if policy.checkpoint
        },
        made_by=provenance.current_versions(),
    )


def _reference(question: ProbeRequest, last: PolicySource) -> PolicySource:
    """Return the policy that the run's policies are compared with."""
    if question.against == BY_START:
        return last.start
    other = _find_source(Path(question.against), None, question.probe)
    compared, why = _WHO_IS_MET, "meet the same users"
    if question.probe.battery is not None:
        compared, why = _WHO_IS_ASKED, "are asked the same items"
    for key, value_of in compared.items():
        if value_of(last.config) != value_of(other.config):
            own_value, other_value = (
                _SHOWN.get(key, value_of)(policy.config) for policy in (last, other)
            )
            raise ConfigError(
                f"{other.where}: {key} must be as in {last.where}, since both {why} with "
                f"--against, got {other_value} instead of {own_value}"
            )
    if last.config.simulator.kind == "served":  # the users are the run's, at the run's endpoint
        return replace(other, config=replace(other.config, simulator=last.config.simulator))
    return other


def _find_source(folder: Path, step: int | None, probe: Probe) -> PolicySource:
    config, where = source.config_of(folder)
    try:
        expected.refuse_served(probe, config)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error
    policy = source.of(folder, step)
    if probe.needs_start and not policy.knows_start:
        rule = f"policy.model must name the start model of the policy for {probe.name}"
        raise ConfigError(f"{where}: {rule}, got nothing")
    unknown = [key for key in policy.left_out if key.startswith(OF_USERS)]
    if unknown and probe.battery is None:
        rule = f"left_out must not name keys that determine the users, got {unknown[0]}"
        raise ConfigError(
            f"{where}: {rule}: put its value into config, and remove it from left_out"
        )
    return policy


def _levels(config: RunConfig) -> Any:
    """Return the settings that determine the users, for each level of the evaluation."""
    levels = levels_of(config).every
    return {name: levels[number].knobs() for number, name in level_names(config).items()}


def _levels_shown(config: RunConfig) -> str:
    """Return eval.levels as given; if empty, with the levels that are used instead."""
    typed, names = config.eval.levels, list(level_names(config).values())
    return str(typed) if typed else f"{typed} (uses {', '.join(names)})"


OF_USERS = ("simulator.", "difficulty.", "levels.", "eval.")
"""Prefixes of the config keys that determine the users."""
_WHO_IS_ASKED: Mapping[str, Callable[[RunConfig], Any]] = {
    "policy.kind": lambda config: config.policy.kind,
}
_WHO_IS_MET: Mapping[str, Callable[[RunConfig], Any]] = {
    **_WHO_IS_ASKED,
    "simulator.kind": lambda config: config.simulator.kind,
    "simulator.profiles": lambda config: config.simulator.profiles,
    "simulator.model": lambda config: config.simulator.model,
    "simulator.temperature": lambda config: config.simulator.temperature,
    "simulator.reader": lambda config: config.simulator.reader,
    "simulator.reader_model": lambda config: config.simulator.reader_model,
    "simulator.reader_head": lambda config: config.simulator.reader_head,
    "simulator.typicality_cut": lambda config: config.simulator.typicality_cut,
    "simulator.options": lambda config: config.simulator.options,
    "eval.levels": lambda config: list(level_names(config).values()),
    "difficulty or levels": _levels,
}
"""Config values that two compared policies must share, by key."""
_SHOWN: Mapping[str, Callable[[RunConfig], Any]] = {"eval.levels": _levels_shown}
"""Values to show in an error message, where they differ from the compared ones."""


def _answers_of(
    question: ProbeRequest, battery: Battery | None, say: Say
) -> Callable[[PolicySource], Answers]:
    """Return a function that gets one policy's answers, from items or from users."""

    def from_items(policy: PolicySource) -> Answers:
        assert battery is not None
        speaking = loading.load(policy.config, policy.weights, policy.start_model)
        return battery.ask(speaking, lambda done, total: say(policy.shown, done, total))

    def from_users(policy: PolicySource) -> Answers:
        answers: dict[tuple[str, str], dict[int, list[HeldOutConversation]]] = {}
        for setting in question.probe.settings(policy.config):
            names = level_names(setting.changed(policy.config))
            for held_out in _simulate(question, policy, setting, say):
                level = names[held_out.meeting.level]
                by_user = answers.setdefault((level, setting.name), {})
                by_user.setdefault(held_out.meeting.user, []).append(held_out)
        return answers

    return from_users if battery is None else from_items


def _simulate(
    question: ProbeRequest, policy: PolicySource, setting: Setting, say: Say
) -> Sequence[HeldOutConversation]:
    changed = setting.changed(policy.config)
    config = saved_policy.of_size(changed, question.users, question.conversations)
    if question.probe.needs_start:
        config = saved_policy.reading_start(config)
    speaking = loading.load(config, policy.weights, policy.start_model)
    name = f"{policy.shown}, {setting.name}" if setting.name else policy.shown
    conversations = saved_policy.rollouts(speaking, lambda done, total: say(name, done, total))
    return question.probe.then(speaking, conversations)
