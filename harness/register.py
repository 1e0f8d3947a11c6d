"""Extensions for this process: `harness.register.figure("mine", MINE)` in a notebook or a test.

Runs are separate processes and do not see what is registered here. They find algorithms, remedies,
rewards and simulators by entry points, as docs/plugins.md shows. So registration is for figures and
importers, and for tests of the others. Each function raises ConfigError if the name is invalid or
is taken by harness itself or by another extension.
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
"""Keys of harness.law.io.reading.OURS, repeated here since importing that module needs numpy."""
FIGURES = (
    "entropy_law", "entropy_curves", "residuals", "levels", "forest", "onset_by_difficulty",
    "reward_by_listening", "law", "contrasts", "transfer", "listening",
)  # fmt: skip
"""Names of the figures of harness.report, repeated here for the same reason."""


def algorithm(name: str, item: type[Algorithm]) -> None:
    """Add an algorithm, a value of `algorithm.kind`.

    `item` is a frozen dataclass derived from harness.train.policy_gradient.algorithm.Algorithm. Its
    fields are the keys of `algorithm.options`.
    """
    _register("algorithm", name, item)


def remedy(name: str, item: type[Remedy]) -> None:
    """Add a remedy, a method in `remedy.methods`.

    `item` is a frozen dataclass derived from a role in harness.train.policy_gradient.remedy_roles.
    """
    _register("remedy", name, item)


def reward(name: str, item: type[Reward]) -> None:
    """Add a reward, a value of `reward.mode`.

    `item` is a frozen dataclass derived from harness.train.rollout.rewards.Reward. Its fields are
    the keys of `reward.options`.
    """
    _register("reward", name, item)


def simulator(name: str, item: type[SimulatorPlugIn]) -> None:
    """Add a kind of simulated users, a value of `simulator.kind`.

    `item` is a frozen dataclass derived from harness.simulator.factory.SimulatorPlugIn. Its fields
    are the keys of `simulator.options`.
    """
    _register("simulator", name, item)


def importer(name: str, item: Importer) -> None:
    """Add an importer, an instance of harness.law.io.importers.rows.Importer.

    `harness.load` and `harness.fit` then read logs of its format.
    """
    _register("importer", name, item)


def figure(name: str, item: FigureSpec[Any]) -> None:
    """Add a figure, an instance of harness.report.figures.figure_specs.FigureSpec.

    `name` must be the figure's own name. `Law.plot(name)` draws it, and `Law.save` writes it after
    the other figures.
    """
    _register("figure", name, item)


def our_names(kind: str) -> tuple[str, ...]:
    """Return harness's own names of a kind, in alphabetical order, without heavy imports."""
    listed = {
        "reward": rewards.MODES,
        "simulator": simulators.KINDS,
        "importer": IMPORTERS,
        "figure": FIGURES,
    }
    return tuple(sorted(listed[kind] if kind in listed else _files(kind)))


def _files(kind: str) -> set[str]:
    """Return the names of algorithms or remedies, each of which is a file."""
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
