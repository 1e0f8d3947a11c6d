"""vLLM servers that are a run's own: real processes stand for servers, and for runs that write.

What is untried: a GPU, vLLM itself, and TRL's client on both. The runs below ask their server for
its model, which is what a run does first, and the servers say no; the writers below send what TRL's
client sends when weights are renewed, without the weights.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.config import engine_choice
from harness.config.run import PolicyConfig, RunConfig, TrainerConfig
from harness.errors import ConfigError, StoppedError
from harness.execution import engine_lease, gpu_lease, run_lease
from harness.testing.commands import command, harness, ledger, only_sweep, start_command, wait_until

SERVER = """
import json, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

seconds, path = float(sys.argv[1]), sys.argv[2]
inside, lock = [], threading.Lock()

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(b"503 Not yet")

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(b"200 OK")

    def answer(self, status):
        who = self.headers.get("X-Writer", self.client_address[1])
        with lock:
            inside.append(who)
            with open(path, "a") as log:
                print(json.dumps({"what": self.path, "inside": inside}), file=log)
        try:  # a line a second, so that nobody takes it for dead
            self.wfile.write(b"HTTP/1.0 " + status + b"\\r\\n")
            until = time.monotonic() + seconds
            while (left := until - time.monotonic()) > 0:
                self.wfile.write(b"X-Slow: yes\\r\\n")
                time.sleep(min(left, 1.0))
        except OSError:  # who asked is gone
            return
        finally:
            with lock:
                inside.remove(who)
        self.wfile.write(b"Content-Length: 2\\r\\n\\r\\n{}")

    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""
WRITER = """
import json, sys, urllib.request
from harness.config.run import RunConfig, TrainerConfig
from harness.execution import run_lease
urls, renewals = sys.argv[1].split(","), int(sys.argv[2])
config = RunConfig(trainer=TrainerConfig(engine="vllm_server", engine_url=urls))
lease = run_lease.take(config)
print(lease.engine.url, flush=True)
for _ in range(renewals):
    for step in ("start_weight_update", "update_weights", "finish_weight_update"):
        data, head = b"{}", {"X-Writer": sys.argv[3]}
        request = urllib.request.Request(f"{lease.engine.url}/{step}", data, head)
        urllib.request.urlopen(request).read()
"""
STAND_IN = "Metadata-Version: 2.1\nName: vllm\nVersion: 0.31.0\n"
"""Of a package that is only there: a sweep on this machine is planned as if vLLM were installed."""


@dataclass(frozen=True)
class Server:
    """A process that stands for `vllm serve`, and what it was asked."""

    url: str
    log: Path

    def asked(self) -> list[dict[str, Any]]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [json.loads(line) for line in lines]


@contextlib.contextmanager
def serving(root: Path, number: int, seconds: float) -> Iterator[Server]:
    """A server that takes `seconds` for an answer."""
    log = root / f"server-{number}.jsonl"
    words = [sys.executable, "-c", SERVER, str(seconds), str(log)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Server(f"http://127.0.0.1:{process.stdout.readline().strip()}", log)
        finally:
            process.kill()


@pytest.fixture(autouse=True)
def own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "locks").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "locks"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "locks"))
    monkeypatch.setattr(gpu_lease, "POLL_S", 0.01)


def served(*urls: str, gpus: int = 0) -> RunConfig:
    trainer = TrainerConfig(engine="vllm_server", engine_url=list(urls), gpus=gpus)
    return RunConfig(policy=PolicyConfig(), trainer=trainer)


def never_twice() -> Any:
    return iter([False, True]).__next__


def writer(urls: Sequence[str], renewals: int, name: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", WRITER, ",".join(urls), str(renewals), name]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def test_two_runs_never_have_one_server_and_a_freed_one_is_taken() -> None:
    one, other = "http://127.0.0.1:8001", "http://127.0.0.1:8002"
    first = run_lease.take(served(one, other))
    second = run_lease.take(served(one, other))
    assert [first.engine.url, second.engine.url] == [one, other]
    told: list[str] = []
    with pytest.raises(StoppedError, match=r"^stopped while waiting for a free vLLM server$"):
        run_lease.take(served(one, other), iter([False, False, True]).__next__, told.append)
    assert told == [f"waits for a vLLM server that no other run has: {one}, {other}"]
    run_lease.release(second)
    third = run_lease.take(served(one, other))
    assert third.engine.url == other
    for lease in (first, third):
        run_lease.release(lease)


def test_a_server_is_one_under_all_of_its_names() -> None:
    lease = run_lease.take(served("http://localhost:8001/"))
    with pytest.raises(StoppedError):
        run_lease.take(served("http://127.0.0.1:8001"), never_twice())
    other_port = run_lease.take(served("http://127.0.0.1:8002"))
    other_path = run_lease.take(served("http://127.0.0.1:8001/second"))
    for taken in (lease, other_port, other_path):
        run_lease.release(taken)


def test_a_server_of_another_machine_is_locked_where_machines_meet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    here = engine_lease.lock_of("http://localhost:8000")
    there = engine_lease.lock_of("http://192.0.2.7:8000")
    assert here.is_relative_to(tmp_path / "locks")
    assert there.parent == tmp_path / "cache" / "harness-engines"
    assert there == engine_lease.lock_of("http://192.0.2.7:8000/")


def test_a_run_without_a_server_waits_for_none() -> None:
    plain = RunConfig()
    assert run_lease.take(plain).descriptors == ()
    assert engine_choice.addresses(plain) == ()


def test_a_run_that_waits_for_a_server_in_vain_gives_its_gpu_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    taken = run_lease.take(served("http://127.0.0.1:8001"))
    with pytest.raises(StoppedError):
        run_lease.take(served("http://127.0.0.1:8001", gpus=1), iter([False, False, True]).__next__)
    with gpu_lease.lease(1) as gpu:
        assert gpu.visible == "0"
    run_lease.release(taken)


def test_no_more_runs_at_once_than_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3")
    one, two = "http://a:1", "http://b:1"
    assert gpu_lease.runs_at_once([served(one, two, gpus=1)] * 5) == 2
    assert gpu_lease.runs_at_once([served(one, gpus=1)] * 5) == 1
    assert gpu_lease.runs_at_once([served(one, gpus=1), served(two, gpus=1)]) == 2


def test_the_process_of_a_run_is_told_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    config = served("http://a:1", "http://b:1")
    assert engine_choice.address(config) == "http://a:1"
    monkeypatch.setenv(engine_choice.LEASED, "http://b:1")
    assert engine_choice.address(config) == "http://b:1"
    monkeypatch.setenv(engine_choice.LEASED, "http://evil:1")
    assert engine_choice.address(config) == "http://a:1"


@pytest.mark.parametrize(
    ("urls", "sentence"),
    [
        ([], "must name one or more addresses, each once, got []"),
        (["http://a:1", "http://a:1/"], "must name one or more addresses, each once, got "),
        (["http://a:1", "nonsense"], "must be http(s)://HOST[:PORT]/PATH, got 'nonsense'"),
        ([1], "must be http(s)://HOST[:PORT]/PATH or empty, or a list of such, got [1]"),
        (8000, "must be http(s)://HOST[:PORT]/PATH or empty, or a list of such, got 8000"),
    ],
)
def test_what_is_no_list_of_servers_is_refused(urls: object, sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        TrainerConfig(engine="vllm_server", engine_url=urls)
    assert str(refused.value).startswith(f"trainer.engine_url {sentence}")


def test_writers_of_weights_take_turns_at_two_servers(tmp_path: Path) -> None:
    """Five processes renew the weights of two servers: no two are ever inside of one."""
    with serving(tmp_path, 1, 0.02) as one, serving(tmp_path, 2, 0.02) as two:
        urls = [one.url, two.url]
        writers = [writer(urls, 3, f"writer {n}") for n in range(5)]
        had = [process.communicate(timeout=100)[0].strip() for process in writers]
        asked = [server.asked() for server in (one, two)]
    assert set(had) == {one.url, two.url}, "both are used"
    assert all(len(request["inside"]) == 1 for log in asked for request in log)
    for log in asked:
        names = [request["inside"][0] for request in log]
        assert len(names) == 9 * len(set(names))
        assert names == sorted(names, key=names.index), "a writer is not interrupted by another"
        assert [request["what"] for request in log[:3]] == [
            "/start_weight_update", "/update_weights", "/finish_weight_update",
        ]  # fmt: skip


def test_the_server_of_a_writer_that_is_killed_is_free_at_once(tmp_path: Path) -> None:
    with serving(tmp_path, 1, 30) as server, serving(tmp_path, 2, 0) as other:
        killed = writer([server.url], 1, "killed")
        wait_until(lambda: server.asked() or None, "a writer inside of the server")
        with pytest.raises(StoppedError):
            run_lease.take(served(server.url), never_twice())
        killed.kill()
        killed.communicate()
        lease = run_lease.take(served(server.url))
        assert lease.engine.url == server.url
        run_lease.release(lease)
        assert other.asked() == []


def stand_in(root: Path) -> str:
    """A folder for PYTHONPATH in which vLLM seems to be installed."""
    info = root / "installed" / "vllm-0.31.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(STAND_IN)
    (root / "installed" / "vllm").mkdir()
    (root / "installed" / "vllm" / "__init__.py").touch()
    return str(root / "installed")


def sweep_words(urls: Sequence[str], seeds: str) -> list[str]:
    return [
        "sweep", "policy=tiny_smoke", "trainer.steps=1", "trainer.conversations=8",
        "trainer.gpus=1", "trainer.engine=vllm_server",
        f"trainer.engine_url=[{','.join(urls)}]", f"seed={seeds}",
    ]  # fmt: skip


@pytest.mark.slow
def test_the_runs_of_a_sweep_share_servers_and_never_one_at_once(tmp_path: Path) -> None:
    """Four runs on four GPUs (in name) and two servers, which take two seconds to say no."""
    with serving(tmp_path, 1, 2.0) as one, serving(tmp_path, 2, 2.0) as two:
        done = harness(
            *sweep_words([one.url, two.url], "1,2,3,4"), cwd=tmp_path,
            PYTHONPATH=stand_in(tmp_path), CUDA_VISIBLE_DEVICES="0,1,2,3",
        )  # fmt: skip
        asked = [server.asked() for server in (one, two)]
    assert done.returncode == 3, done.stderr
    rows = ledger(only_sweep(tmp_path))
    assert [row["status"] for row in rows] == ["stopped"] * 4
    for row in rows:
        assert "must answer as `vllm serve` does, got: HTTP Error 503" in str(row["reason"])
    assert sum(map(len, asked)) == 4
    assert all(asked), "both are used"
    assert all(len(request["inside"]) == 1 for log in asked for request in log)


@pytest.mark.slow
def test_a_run_that_is_killed_frees_its_server_for_one_that_waits(tmp_path: Path) -> None:
    environment = {"PYTHONPATH": stand_in(tmp_path), "CUDA_VISIBLE_DEVICES": "0,1"}
    with serving(tmp_path, 1, 60) as server, pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        words = sweep_words([server.url], "1")[1:]
        first = command("train", *words, "--dir", "first")
        with subprocess.Popen(first, cwd=tmp_path, stderr=subprocess.DEVNULL) as one:
            wait_until(lambda: server.asked() or None, "the first run at the server")
            with start_command("train", *words, "--dir", "second", cwd=tmp_path) as two:
                assert two.stderr is not None
                assert two.stderr.readline() == (
                    f"harness: waits for a vLLM server that no other run has: {server.url}\n"
                )
                assert len(server.asked()) == 1
                one.send_signal(signal.SIGKILL)
                wait_until(lambda: len(server.asked()) == 2 or None, "the other run at the server")
