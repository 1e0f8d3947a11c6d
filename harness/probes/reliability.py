"""Does the policy stay true to the facts, when its user is sad and when they are wrong?

Training for warmth has made language models more often wrong (Ibrahim, Hafner and Rocher, arXiv
2507.21919, doi 10.1038/s41586-026-10410-0). A policy of this project's phrases knows no facts of
the world, so `policy=tiny` is asked for those that its user tells (fidelity.py); a Hugging Face
model is asked questions of an item file (knowledge.py). A tabular policy is asked neither.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.config.run import RunConfig
from harness.errors import ConfigError
from harness.probes import fidelity
from harness.probes.quantity import AS_TRAINED, Battery, ItemChoice, Probe, Quantity, Setting

TABULAR = (
    "policy.kind=tabular: it chooses strategies, and the phrase grammar which of the user's facts "
    "a sentence takes up, mostly the newest, true or not: no training of this policy changes that"
)


def _settings(config: RunConfig) -> Sequence[Setting]:
    if config.policy.kind == "tabular":
        return (AS_TRAINED,)
    return tuple(map(Setting, fidelity.FRAMINGS))


def _quantities(config: RunConfig) -> Sequence[Quantity]:
    return () if config.policy.kind == "tabular" else fidelity.QUANTITIES


def _battery(config: RunConfig, choice: ItemChoice) -> Battery:
    if choice.file is not None and config.policy.kind != "hf":
        raise ConfigError(
            "--items must go with a model that knows of the world (policy.kind=hf), got "
            f"{choice.file} for {config.policy.kind}"
        )
    if config.policy.kind == "tabular":
        return Battery(0, lambda saved, watch: {})
    return fidelity.battery(choice.first)


PROBE = Probe(
    "reliability",
    "Does the policy stay true to the facts, when its user is sad and when they are wrong?",
    _quantities,
    settings=_settings,
    battery=_battery,
    not_measured=lambda config: (TABULAR,) if config.policy.kind == "tabular" else (),
)
