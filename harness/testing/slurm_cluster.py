"""A Slurm cluster on this machine, for tests: munged, slurmctld, and a slurmd for each node.

On Debian: `apt-get install slurmctld slurmd slurm-client munge`. The daemons run as the current
user on free ports, independently of any cluster that the machine belongs to, and end with the
context that started them.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

NODE = (
    "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} RealMemory=4000"
)
DAEMONS = ("munged", "slurmctld", "slurmd")
CLIENTS = ("sbatch", "squeue", "scancel", "scontrol", "sinfo")
START_S, STOP_S = 30.0, 30.0
CPUS = 2
"""CPUs of each node, whatever the machine has; also the number of jobs that run at once."""
SETTINGS = """\
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
SlurmctldPort={port}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdSpoolDir={folder}/spool-%n
StateSaveLocation={folder}/state
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
JobRequeue=1
KillWait=30
ReturnToService=2
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def answers() -> bool:
    """Return whether a cluster answers on this machine."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        return (
            subprocess.run(["sinfo"], capture_output=True, timeout=20, check=False).returncode == 0
        )
    return False


def missing() -> list[str]:
    """Return the programs of a cluster that are not installed."""
    search_path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
    return [name for name in (*DAEMONS, *CLIENTS) if shutil.which(name, path=search_path) is None]


@contextlib.contextmanager
def start_cluster(nodes: int = 1) -> Iterator[Path]:
    """Start a cluster and yield its slurm.conf, for $SLURM_CONF; remove everything at the end.

    `nodes`: several nodes are named n0, n1 and so on. These are no host names, so Slurm must
    support several slurmd per host (slurmd -N), as Debian's does. Raises TimeoutError, with the
    last lines of the daemons' output, if the nodes do not become idle.
    """
    host = socket.gethostname().partition(".")[0]
    names = [host] if nodes == 1 else [f"n{number}" for number in range(nodes)]
    # a short path, since the name of a socket is limited to 107 bytes
    with tempfile.TemporaryDirectory(prefix="slurm-") as name, contextlib.ExitStack() as daemons:
        folder = Path(name)
        conf = _write_config(folder, names)
        environment = {**os.environ, "SLURM_CONF": str(conf)}
        for words in _commands(folder, conf, names):
            daemons.enter_context(_daemon(words, folder, environment))
            if words[0] == "munged":
                _wait_until((folder / "munge.sock").exists, folder)
        _wait_until(lambda: _count_idle(environment) == nodes, folder)
        try:
            yield conf
        finally:
            _end_jobs(environment)


def _count_idle(environment: dict[str, str]) -> int:
    """Return the number of idle nodes."""
    return _output_of(["sinfo", "-h", "-N", "-o", "%T"], environment).split().count("idle")


def _write_config(folder: Path, names: Sequence[str]) -> Path:
    folder.chmod(0o755)  # munge's clients, of any user, must reach its socket
    for name in ("state", *(f"spool-{node}" for node in names)):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    host = socket.gethostname().partition(".")[0]
    conf = folder / "slurm.conf"
    first, *ports = _free_ports(1 + len(names))
    nodes = [
        NODE.format(name=name, host=host, port=port, cpus=CPUS)
        for name, port in zip(names, ports, strict=True)
    ]
    user, lines = getpass.getuser(), "\n".join(nodes)
    conf.write_text(SETTINGS.format(host=host, user=user, folder=folder, port=first, nodes=lines))
    return conf


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        servers = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)
        ]
        return [server.getsockname()[1] for server in servers]


def _commands(folder: Path, conf: Path, names: Sequence[str]) -> list[list[str]]:
    munge = {"key-file": "munge.key", "socket": "munge.sock", "pid-file": "munged.pid",
             "log-file": "munged.log", "seed-file": "munge.seed"}  # fmt: skip
    node_options = [["-N", name] for name in names] if len(names) > 1 else [[]]
    options = [f"--{option}={folder / name}" for option, name in munge.items()]
    return [
        ["munged", "--foreground", "--force", *options],
        ["slurmctld", "-D", "-f", str(conf)],
        *(["slurmd", "-D", "-f", str(conf), *node_option] for node_option in node_options),
    ]


@contextlib.contextmanager
def _daemon(words: Sequence[str], folder: Path, environment: dict[str, str]) -> Iterator[None]:
    search_path = os.pathsep.join((environment.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
    program = shutil.which(words[0], path=search_path)
    assert program is not None
    with (
        (folder / f"{words[0]}.out").open("ab") as out,
        subprocess.Popen([program, *words[1:]], stdout=out, stderr=out, env=environment) as child,
    ):
        try:
            yield
        finally:
            child.terminate()
            try:
                child.wait(STOP_S)
            except subprocess.TimeoutExpired:
                child.kill()


def _end_jobs(environment: dict[str, str]) -> None:
    """Cancel the remaining jobs, so that no job outlives its cluster."""
    user = f"--user={os.getuid()}"
    _output_of(["scancel", user], environment)
    deadline = time.monotonic() + STOP_S
    while time.monotonic() < deadline and _output_of(["squeue", "-h", user], environment):
        time.sleep(0.5)
    _output_of(["scancel", "--signal=KILL", user], environment)


def _output_of(words: Sequence[str], environment: dict[str, str]) -> str:
    result = subprocess.run(
        words, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    return result.stdout


def _wait_until(is_ready: Callable[[], bool], folder: Path) -> None:
    deadline = time.monotonic() + START_S
    while not is_ready():
        if time.monotonic() > deadline:
            tails = [path.read_text(errors="replace")[-500:] for path in folder.glob("*.out")]
            raise TimeoutError(f"no Slurm within {START_S:g} s: {' '.join(tails)}")
        time.sleep(0.2)
