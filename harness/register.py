"""Extensions for this process: `harness.register.figure("mine", MINE)` in a notebook or a test.

Runs are processes of their own and do not see what is registered here. What a run trains with
(algorithm, remedy, reward, simulator) is found there by entry point, as docs/plugins.md shows; so
registration serves figures and importers, and tests of the others. Each function raises ConfigError
where the name is taken, by harness itself or by another extension.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.config import reward as rewards
from harness.config import simulator as simulators
from harness.errors import ConfigError
from harness.utils import extensions

if TYPE_CHECKING:
    from harness.law.io.importers.rows import Importer
    from harness.report.figures.figure_specs import FigureSpec
    from harness.simulator.factory import SimulatorPlugIn
    from harness.train.policy_gradient.algorithm import Algorithm
    from harness.train.policy_gradient.remedy_roles import Remedy
    from harness.train.rollout.rewards import Reward

NAME = re.compile(r"[a-z][a-z0-9_]*")
IMPORTERS = (
    "wandb_csv", "csv", "trainer_state", "metric_maps", "verl_console", "trl_console", "json_lines",
)  # fmt: skip
"""Keys of OURS of harness.law.io.reading, whose import takes numpy."""
FIGURES = (
    "entropy_law", "entropy_curves", "residuals", "levels", "forest", "onset_by_difficulty",
    "reward_by_listening", "law", "contrasts", "transfer", "listening",
)  # fmt: skip
"""Names of files that harness.report writes, whose import takes numpy likewise."""


def algorithm(name: str, item: type[Algorithm]) -> None:
    """Add an algorithm: a frozen dataclass derived from
    harness.train.policy_gradient.algorithm.Algorithm; an `algorithm.kind`, its fields being
    `algorithm.options`.
    """
    _register("algorithm", name, item)


def remedy(name: str, item: type[Remedy]) -> None:
    """Add a remedy: a method of `remedy.methods`.

    `item` is a frozen dataclass that plays a role of harness.train.policy_gradient.remedy_roles.
    """
    _register("remedy", name, item)


def reward(name: str, item: type[Reward]) -> None:
    """Add a reward: a frozen dataclass derived from harness.train.rollout.rewards.Reward; a
    `reward.mode`, its fields being `reward.options`.
    """
    _register("reward", name, item)


def simulator(name: str, item: type[SimulatorPlugIn]) -> None:
    """Add a kind of users: a frozen dataclass derived from
    harness.simulator.factory.SimulatorPlugIn; a `simulator.kind`, its fields being
    `simulator.options`.
    """
    _register("simulator", name, item)


def importer(name: str, item: Importer) -> None:
    """Add an Importer of harness.law.io.importers.rows: logs of a format that `harness.load` and
    `harness.fit` then read.
    """
    _register("importer", name, item)


def figure(name: str, item: FigureSpec[Any]) -> None:
    """Add a FigureSpec of harness.report.figures.figure_specs; `name` must be the figure's own.
    `Law.plot(name)` draws it, and `Law.save` writes it after the others.
    """
    _register("figure", name, item)


def our_names(kind: str) -> tuple[str, ...]:
    """Names of a kind that are harness's own, in alphabetical order; nothing heavy is imported."""
    listed = {
        "reward": rewards.MODES,
        "simulator": simulators.KINDS,
        "importer": IMPORTERS,
        "figure": FIGURES,
    }
    return tuple(sorted(listed[kind] if kind in listed else _files(kind)))


def _files(kind: str) -> set[str]:
    """Algorithms and remedies are a file each."""
    package = extensions.group(kind).rpartition(".")[2]
    files = (Path(__file__).parent / "train" / package).glob("[!_]*.py")
    return {file.stem for file in files}


def _register(kind: str, name: str, item: Any) -> None:
    where = f"harness.register.{kind}: a name must"
    if not NAME.fullmatch(name):
        rule = "be small letters, digits and '_', with a letter first"
        raise ConfigError(f"{where} {rule}, got {name!r}")
    ours = our_names(kind)
    if name in ours:
        raise ConfigError(f"{where} be none of harness's own, {', '.join(ours)}, got {name!r}")
    extensions.register(kind, name, item)
