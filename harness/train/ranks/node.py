"""A run's helper on another node than rank 0's: it starts that node's ranks and says how they end.

`python -m harness.train.ranks.node RUN --nodes N`: started by Slurm, through `harness train`,
`harness resume` or a sweep's job. It ends with 0 once rank 0 needs it no more, and with 75 if that
is gone.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from multiprocessing import AuthenticationError
from pathlib import Path

from harness.errors import HarnessError, StoppedError
from harness.train.ranks import rank_process
from harness.train.ranks.nodes import JOINED_WITHIN_S, POLL_S, Hello, call
from harness.train.ranks.place import RankAddress, read
from harness.train.ranks.worker import connection_of
from harness.utils import process, safe_text, slurm_step
from harness.utils.slurm_step import SlurmStep


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--die-with-parent", type=int, metavar="PID")
    arguments = parser.parse_args()
    if arguments.die_with_parent is not None:
        process.die_with(arguments.die_with_parent)
    process.keep_private()
    process.admit_stops()
    try:
        step = slurm_step.read(arguments.nodes)
        return help_at(wait_for_rank_0(arguments.run, step), step.node)
    except HarnessError as error:
        safe_text.say(str(error))
        return error.exit_code
    except (OSError, EOFError, AuthenticationError) as error:
        problem = f"rank 0 cannot be reached: {type(error).__name__}: {error}"
        safe_text.say(f"{arguments.run}: {problem}")
        return StoppedError.exit_code


def wait_for_rank_0(run: Path, step: SlurmStep) -> RankAddress:
    """Wait for rank 0 of this step and return the address where it listens.

    Raises StoppedError after JOINED_WITHIN_S, or if rank 0's process ends before.
    """
    deadline = time.monotonic() + JOINED_WITHIN_S
    while time.monotonic() < deadline:
        address = read(run)
        if address is not None and address.step == step.name:
            if address.ended:
                raise StoppedError(
                    f"{run}: a node needs rank 0, got word from {step.nodes[0]} that its process "
                    f"{address.ended} before the nodes had met"
                )
            return address
        time.sleep(POLL_S)
    raise StoppedError(
        f"{run}: a node needs rank 0, got no word of it from {step.nodes[0]} in "
        f"{JOINED_WITHIN_S:g} s"
    )


def help_at(address: RankAddress, node: int) -> int:
    """Carry out rank 0's orders until it sends `end`, and return the exit code."""
    own_socket = call(address, Hello(node))
    for number in process.STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # Slurm sends them to all nodes; only rank 0 reacts
    connection, ranks = connection_of(own_socket), dict[int, subprocess.Popen[bytes]]()
    reported: set[int] = set()
    try:
        while True:
            if select.select([connection], [], [], POLL_S)[0]:
                word, *values = connection.recv()
                if word == "end":
                    return 0
                if word == "kill":
                    ranks[values[0]].kill()
                if word == "start":
                    ranks |= _start(address, node, *values)
            for rank, child in ranks.items():
                if rank not in reported and child.poll() is not None:
                    reported.add(rank)
                    connection.send((rank, child.returncode))
    except (EOFError, OSError):
        safe_text.say("rank 0 is gone")
        return StoppedError.exit_code
    finally:
        for child in ranks.values():
            _end(child)


def _start(
    address: RankAddress, node: int, run: str, ranks: tuple[int, ...]
) -> dict[int, subprocess.Popen[bytes]]:
    """Start this node's ranks, each on its own GPU if the node has leased any."""
    gpus = [gpu for gpu in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu]
    started = {}
    for index, rank in enumerate(ranks):
        with contextlib.ExitStack() as stack:
            calls, asks = (
                stack.enter_context(call(address, Hello(node, rank, purpose)))
                for purpose in ("calls", "asks")
            )
            gpu = gpus[index] if gpus else ""
            started[rank] = rank_process.start_process(Path(run), calls, asks, gpu)
    return started


def _end(child: subprocess.Popen[bytes]) -> None:
    """Wait for a rank, which ends by itself once its connections are closed; kill it if late."""
    try:
        child.wait(rank_process.ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


if __name__ == "__main__":
    sys.exit(main())
