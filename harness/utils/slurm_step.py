"""This process's place in a step of Slurm's: which of the step's nodes it is on.

srun starts one process a node (`--ntasks-per-node=1`) and tells each by its environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass

from harness.errors import ConfigError, DeviceError

KEY = "trainer.nodes"
ANSWER_S = 60.0
HOW = (
    "`srun --nodes={n} --ntasks-per-node=1 harness train ...` or by hydra/launcher=slurm with "
    "hydra.launcher.nodes={n}"
)


@dataclass(frozen=True)
class SlurmStep:
    """A step of one process a node, and the node of this process."""

    name: str
    """Of this start of the step: `JOB.STEP.RESTARTS`."""
    nodes: tuple[str, ...]
    """Names of all nodes, by number."""
    node: int
    """Number of this one."""
    master: str
    """Address of the first: $MASTER_ADDR if that is set, else its name."""


def is_other_node() -> bool:
    """Whether Slurm has started this process beside one on an earlier node of its step."""
    return "SLURM_STEP_ID" in os.environ and _number("SLURM_NODEID") > 0


def read(nodes: int) -> SlurmStep:
    """The place of this process in a step on so many nodes.

    Raises ConfigError where Slurm's step is another, or there is none; DeviceError where Slurm does
    not say its nodes' names.
    """
    how = HOW.format(n=nodes)
    if "SLURM_STEP_ID" not in os.environ:
        raise ConfigError(
            f"{KEY}={nodes} must be started on each node by Slurm, as by {how}; this process is in "
            "no step of Slurm's"
        )
    tasks, of_step = _number("SLURM_STEP_NUM_TASKS"), _number("SLURM_STEP_NUM_NODES")
    if (tasks, of_step) != (nodes, nodes):
        raise ConfigError(
            f"{KEY}={nodes} must have one process on each of {nodes} nodes, as by {how}; got "
            f"{tasks} on {of_step}"
        )
    names = hostnames(os.environ.get("SLURM_STEP_NODELIST", ""))
    if len(names) != nodes:
        raise DeviceError(f"{KEY}: Slurm must name {nodes} nodes, got {', '.join(names) or 'none'}")
    restarts = os.environ.get("SLURM_RESTART_COUNT", "0")
    step = f"{os.environ.get('SLURM_JOB_ID')}.{os.environ['SLURM_STEP_ID']}.{restarts}"
    master = os.environ.get("MASTER_ADDR") or names[0]
    return SlurmStep(step, names, _number("SLURM_NODEID"), master)


def hostnames(nodelist: str) -> tuple[str, ...]:
    """The names in Slurm's short form `n[1-3,7]`. Raises DeviceError."""
    program = shutil.which("scontrol")
    if program is None:
        raise DeviceError(f"{KEY}: names of nodes come from scontrol, which is not on the PATH")
    words = [program, "show", "hostnames", nodelist]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=ANSWER_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise DeviceError(f"{KEY}: scontrol show hostnames: {error}") from error
    return tuple(done.stdout.split())


def _number(variable: str) -> int:
    value = os.environ.get(variable, "")
    return int(value) if value.isdecimal() else -1
