"""This process's place in a Slurm step: which of the step's nodes it is on.

srun starts one process per node (`--ntasks-per-node=1`) and sets environment variables in each.
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
    """A step with one process per node, and the node of this process."""

    name: str
    """Name of this start of the step: `JOB.STEP.RESTARTS`."""
    nodes: tuple[str, ...]
    """Names of all nodes, by index."""
    node: int
    """Index of this node."""
    master: str
    """Address of the first node: $MASTER_ADDR if set, else its name."""


def is_other_node() -> bool:
    """Whether Slurm has started this process on another node of its step than the first."""
    return "SLURM_STEP_ID" in os.environ and _number("SLURM_NODEID") > 0


def read(nodes: int) -> SlurmStep:
    """Return the place of this process in a step on `nodes` nodes.

    Raises ConfigError if there is no step or it does not have one process on each of `nodes` nodes,
    DeviceError if Slurm does not provide the nodes' names.
    """
    command = HOW.format(n=nodes)
    if "SLURM_STEP_ID" not in os.environ:
        raise ConfigError(
            f"{KEY}={nodes} must be started on each node by Slurm, as by {command}; this process "
            "is in no step of Slurm's"
        )
    tasks, step_nodes = _number("SLURM_STEP_NUM_TASKS"), _number("SLURM_STEP_NUM_NODES")
    if (tasks, step_nodes) != (nodes, nodes):
        raise ConfigError(
            f"{KEY}={nodes} must have one process on each of {nodes} nodes, as by {command}; got "
            f"{tasks} on {step_nodes}"
        )
    names = hostnames(os.environ.get("SLURM_STEP_NODELIST", ""))
    if len(names) != nodes:
        raise DeviceError(f"{KEY}: Slurm must name {nodes} nodes, got {', '.join(names) or 'none'}")
    restarts = os.environ.get("SLURM_RESTART_COUNT", "0")
    step = f"{os.environ.get('SLURM_JOB_ID')}.{os.environ['SLURM_STEP_ID']}.{restarts}"
    master = os.environ.get("MASTER_ADDR") or names[0]
    return SlurmStep(step, names, _number("SLURM_NODEID"), master)


def hostnames(nodelist: str) -> tuple[str, ...]:
    """Expand Slurm's short form `n[1-3,7]` to host names. Raises DeviceError."""
    program = shutil.which("scontrol")
    if program is None:
        raise DeviceError(f"{KEY}: names of nodes come from scontrol, which is not on the PATH")
    words = [program, "show", "hostnames", nodelist]
    try:
        result = subprocess.run(words, capture_output=True, text=True, timeout=ANSWER_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise DeviceError(f"{KEY}: scontrol show hostnames: {error}") from error
    return tuple(result.stdout.split())


def _number(variable: str) -> int:
    value = os.environ.get(variable, "")
    return int(value) if value.isdecimal() else -1
