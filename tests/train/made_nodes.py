"""Two nodes, which here are processes that Slurm's environment tells apart."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from harness.config.run import RunConfig
from tests.train.made_ranks import config

NAMES = ("n0", "n1")


@pytest.fixture(name="slurm")
def step_on_two_nodes(tmp_path: Path) -> dict[str, str]:
    """What srun tells the processes of a step on two nodes, but for which they are on; both are
    this machine, and a program stands for Slurm's own, which would know neither.
    """
    programs = tmp_path / "bin"
    programs.mkdir()
    scontrol = programs / "scontrol"
    scontrol.write_text(
        f"#!/bin/sh\n[ \"$*\" = 'show hostnames n[0-1]' ] && echo {' '.join(NAMES)}"
    )
    scontrol.chmod(0o755)
    return {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "SLURM_JOB_ID": "7",
        "SLURM_STEP_ID": "0",
        "SLURM_STEP_NUM_NODES": "2",
        "SLURM_STEP_NUM_TASKS": "2",
        "SLURM_STEP_NODELIST": "n[0-1]",
        "MASTER_ADDR": "127.0.0.1",
    }


def on_two(**trainer: Any) -> RunConfig:
    return config(1, nodes=2, **trainer)
