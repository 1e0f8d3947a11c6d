"""Does the learnt behaviour generalise to users unlike those of training?

A run that trains on some of the eight intentions or three temperaments is probed with users of the
kinds met in training, and with the same users given another intention or temperament. The result is
the loss of reward on the other kinds, and whether training has widened it. Since all personas of a
probe are held out, the slope of reward on their unfamiliarity is measured too, with users of the
kinds met in training.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from harness.config.run import INTENTIONS, LEVELS, TEMPERAMENTS, DifficultyConfig, RunConfig
from harness.probes import unfamiliarity
from harness.probes.quantity import Probe, ProbeQuantity, Setting, Terms
from harness.simulator.factory import OURS

MET = "kinds of training"
SLOPE = "unfamiliar minus familiar persona"
KINDS: Mapping[str, tuple[str, ...]] = {"intentions": INTENTIONS, "temperaments": TEMPERAMENTS}
"""Keys of difficulty that may leave out some kinds of users, with all their values."""


def unmet_setting(kind: str) -> str:
    """Return the name of the setting with the kinds that training left out."""
    return f"other {kind}"


def gap(kind: str) -> str:
    """Return the name of the difference between kinds left out and kinds of training."""
    return f"{unmet_setting(kind)} minus {MET}"


def left_out_kinds(config: RunConfig) -> Mapping[str, list[str]]:
    """Return the values that training left out by key of difficulty, without complete keys."""
    missing = {
        kind: [value for value in values if value not in getattr(config.difficulty, kind)]
        for kind, values in KINDS.items()
    }
    return {kind: others for kind, others in missing.items() if others}


def _with_kinds(kinds: Mapping[str, Iterable[str]], config: RunConfig) -> RunConfig:
    """Return the config with only users of these kinds, at every level."""
    changes: dict[str, Any] = {kind: list(values) for kind, values in kinds.items()}

    def change(level: DifficultyConfig) -> DifficultyConfig:
        return replace(level, **changes)

    levels = replace(
        config.levels, **{name: change(getattr(config.levels, name)) for name in LEVELS}
    )
    return replace(config, difficulty=change(config.difficulty), levels=levels)


def _settings(config: RunConfig) -> Sequence[Setting]:
    left_out = left_out_kinds(config)
    met_kinds = {kind: getattr(config.difficulty, kind) for kind in left_out}
    return (
        Setting(MET, partial(_with_kinds, met_kinds)),
        *(
            Setting(unmet_setting(kind), partial(_with_kinds, {**met_kinds, kind: values}))
            for kind, values in left_out.items()
        ),
    )


def _gaps(config: RunConfig) -> Mapping[str, Terms]:
    return {gap(kind): ((1.0, unmet_setting(kind)), (-1.0, MET)) for kind in left_out_kinds(config)}


def _quantities(config: RunConfig) -> Sequence[ProbeQuantity]:
    return (
        ProbeQuantity("reward", "0 to 1", unfamiliarity.reward, whole=1.0),
        ProbeQuantity(SLOPE, "reward", unfamiliarity.of_user, settings=(MET,)),
    )


def _lacks(config: RunConfig) -> Mapping[str, str]:
    kind = config.simulator.kind
    why = f"users of simulator={kind} have no personas of known unfamiliarity"
    return {} if kind in OURS else {SLOPE: why}


def _not_measured(config: RunConfig) -> Sequence[str]:
    missing = [f"{name}: {why}" for name, why in _lacks(config).items()]
    all_met = (
        f"{unmet_setting('intentions')}, {unmet_setting('temperaments')}: training has all of "
        "difficulty.intentions and difficulty.temperaments"
    )
    return missing if left_out_kinds(config) else [all_met, *missing]


NOT_SERVED = (
    "since its groups must have the same users except for intention and temperament, and a model "
    "gives different users different words from the opening on"
)
PROBE = Probe(
    "novelty",
    "Does what was learnt carry over to users unlike those of training?",
    _quantities,
    settings=_settings,
    not_served=NOT_SERVED,
    combined=_gaps,
    then=unfamiliarity.with_slope_parts,
    not_measured=_not_measured,
    lacks=_lacks,
)
