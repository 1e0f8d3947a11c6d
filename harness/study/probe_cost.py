"""Estimates the CPU hours of the probes of a study from measured costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.config.run import RunConfig
from harness.config.simulator import IN_PROCESS
from harness.probes import expected, registry
from harness.probes.expected import ProbeSize
from harness.records.study_file import LinkProbe
from harness.study import cost
from harness.study.answers import probes_of_arms
from harness.study.arms import PlannedStudy, run_identity


@dataclass(frozen=True)
class _ProbeCosts:
    """Costs in CPU seconds: user time on one core."""

    start: float
    """Cost of starting a probe, which loads both policies."""
    conversation: float
    reply: float
    """Cost of a reply to an item."""


MEASURED = {
    "tabular": _ProbeCosts(start=0.4, conversation=2.9e-3, reply=0.0),
    "tiny": _ProbeCosts(start=1.0, conversation=52e-3, reply=5.3e-3),
}
"""Policy -> costs, measured on 2026-11-27 without imports: grounding with 64 held-out users x 4
conversations at one level (tiny: 32 x 4), and 200 items of reliability.
"""


@dataclass(frozen=True)
class ProbeCost:
    """The probe results that a study needs."""

    by_probe: Mapping[str, int]
    """Name of a probe -> number of results, one per run."""
    cpu_hours: float | None
    """None if the cost of one is unknown."""

    @property
    def sentence(self) -> str:
        """Description of the results and their cost; empty if no link uses a probe."""
        if not self.by_probe:
            return ""
        counts = ", ".join(f"{name} {count}" for name, count in self.by_probe.items())
        total = sum(self.by_probe.values())
        hours = "CPU hours not known" if self.cpu_hours is None else cost.about(self.cpu_hours)
        return f"; then {total} answer{'s' * (total != 1)} of probes ({counts}): {hours}"


def of_study(planned: PlannedStudy) -> ProbeCost:
    """Count the probe results of all runs, including existing ones."""
    runs = {
        (run_identity(point), probe.name): (point.config, probe)
        for arm, probes in probes_of_arms(planned).items()
        for point in planned.points[arm].values()
        for probe in probes
    }
    by_probe: dict[str, int] = {}
    for _, name in runs:
        by_probe[name] = by_probe.get(name, 0) + 1
    seconds = [_cpu_s(config, probe) for config, probe in runs.values()]
    measured = [value for value in seconds if value is not None]
    return ProbeCost(by_probe, sum(measured) / 3600 if len(measured) == len(seconds) else None)


def _cpu_s(config: RunConfig, probe: LinkProbe) -> float | None:
    costs = MEASURED.get(config.policy.name) if cost.is_as_measured(config.policy) else None
    if costs is None or config.simulator.kind not in IN_PROCESS or config.trainer.gpus:
        return None
    size = (
        ProbeSize(first=probe.items)
        if probe.items is not None
        else ProbeSize(users=probe.users, repeats=probe.repeats)
    )
    answer = expected.of(registry.get(probe.name), config, size)
    seconds = answer.conversations * costs.conversation + answer.replies_of_items * costs.reply
    return costs.start + 2 * seconds
