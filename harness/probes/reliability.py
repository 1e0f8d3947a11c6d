"""Does the policy stay true to the facts, when its user is sad and when they are wrong?

Training for warmth made language models wrong more often (Ibrahim, Hafner and Rocher, arXiv
2507.21919, doi 10.1038/s41586-026-10410-0). `policy=tiny` has no world knowledge, so it is tested
on the facts that its user tells (fidelity.py). A Hugging Face model is asked the questions of an
item file (knowledge.py). A tabular policy is asked neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.config.run import RunConfig
from harness.errors import ConfigError
from harness.probes import fidelity, knowledge, warmth
from harness.probes.quantity import (
    AS_TRAINED,
    Battery,
    ItemChoice,
    Probe,
    ProbeQuantity,
    Setting,
    Terms,
)
from harness.probes.results import ProbeReading

TABULAR = (
    "policy.kind=tabular: it chooses strategies, and the phrase grammar chooses the user's fact "
    "(mostly the newest, true or not), which training does not change"
)


def _settings(config: RunConfig) -> Sequence[Setting]:
    if config.policy.kind == "tabular":
        return (AS_TRAINED,)
    if config.policy.kind == "hf":
        return tuple(map(Setting, (warmth.SETTING, *knowledge.FRAMINGS)))
    return tuple(map(Setting, fidelity.FRAMINGS))


def _combinations(config: RunConfig) -> Mapping[str, Terms]:
    return knowledge.COMBINED if config.policy.kind == "hf" else {}


def _quantities(config: RunConfig) -> Sequence[ProbeQuantity]:
    by_kind = {"tabular": (), "tiny": fidelity.QUANTITIES, "hf": knowledge.QUANTITIES}
    return by_kind[config.policy.kind]


def _battery(config: RunConfig, choice: ItemChoice) -> Battery:
    if choice.file is not None and config.policy.kind != "hf":
        raise ConfigError(
            "--items must go with a model that knows of the world (policy.kind=hf), got "
            f"{choice.file} for {config.policy.kind}"
        )
    if config.policy.kind == "tabular":
        return Battery(0, lambda saved, watch: {})
    if config.policy.kind == "hf":
        return knowledge.battery(choice)
    return fidelity.battery(choice.first)


def _verdict(readings: Sequence[ProbeReading]) -> str:
    """Return a verdict on the cost of warmth for a Hugging Face model; empty for others."""
    has_questions = any(reading.level == knowledge.ALL for reading in readings)
    return knowledge.verdict(readings) if has_questions else ""


PROBE = Probe(
    "reliability",
    "Does the policy keep to the facts when the user is sad, and when the user is wrong?",
    _quantities,
    settings=_settings,
    combined=_combinations,
    battery=_battery,
    verdict=_verdict,
    not_measured=lambda config: (TABULAR,) if config.policy.kind == "tabular" else (),
)
