"""Machines that lack what others have: a home, UTF-8, a folder for temporary files, memory.

Each command works there, or ends with one sentence and a code that is not 1.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness import simulator
from harness.config.run import PolicyConfig
from harness.errors import ConfigError, DataError
from harness.execution import preflight
from harness.policy import model_files
from harness.records import run_status
from harness.records.metrics_log import MetricsLog
from harness.records.run_folder import RunFolder
from harness.testing.commands import TABULAR, command, here
from tests.faults.limited import on, quick, sentence
from tests.train.made import make_run

SHORT = (*TABULAR, "trainer.steps=2", "difficulty.turn_cap=2")
NOBODY = ("unshare", "--user", "--map-user=12345", "env", "-u", "HOME", "-u", "USER")
"""A user whose number stands for nobody, and who has no $HOME."""
SHM = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs -o ro none /dev/shm && exec "$@"', "sh")
"""No semaphores and no shared memory."""
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
LATIN = {"LC_ALL": "", "LANG": "de_DE.ISO-8859-1", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
POSIX = {"LC_ALL": "POSIX", "PYTHONUTF8": "0"}
Seen = Callable[[str, object], None]


@pytest.mark.attack(
    "a user without $HOME and without an entry among the machine's users",
    "policy=tabular trains and is fitted; policy=tiny is 73 and one sentence",
)
def test_a_user_without_a_home(
    tmp_path: Path, record_property: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_CACHE_HOME", "HARNESS_CACHE"):
        monkeypatch.delenv(name, raising=False)
    done = on(NOBODY, "train", *SHORT, "--dir", "d", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    fit = on(NOBODY, "fit-entropy-law", "d", "--json", "--figures", "none", cwd=tmp_path)
    assert fit.returncode == 0, fit.stderr
    assert sentence(fit) == "harness: results in d/law"
    assert len(json.loads(fit.stdout)["runs"]) == 1
    tiny = on(NOBODY, "sweep", "policy=tiny", cwd=tmp_path)
    assert tiny.returncode == 73
    assert sentence(tiny) == (
        "harness: HARNESS_CACHE: must name a folder for the cache, since this user has no home "
        "folder; got nothing: set it, or XDG_CACHE_HOME"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d"]
    record_property("seen", f"exit {done.returncode} and {tiny.returncode}: {sentence(tiny)}")


def test_what_stands_for_no_home_in_a_model_is_2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    for name in model_files.KEPT_IN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 12345)  # of whom pwd knows nothing
    with pytest.raises(ConfigError, match=r"policy\.model: must be a folder .* ~ .*; got '~/m'"):
        model_files.check(PolicyConfig(kind="hf", model="~/m"))
    with pytest.raises(ConfigError, match=r"HF_HOME: must name a folder for models of the hub"):
        model_files.check(PolicyConfig(kind="hf", model="owner/name"))


@pytest.mark.attack(
    "a locale without UTF-8, in folders whose names hold the byte 0xff",
    "run, status, resume and law work; JSON stays JSON",
)
@pytest.mark.parametrize(
    "locale",
    [
        pytest.param(ASCII, id="c"),
        pytest.param({}, id="utf8", marks=pytest.mark.slow),
        pytest.param(LATIN, id="latin1", marks=pytest.mark.slow),
        pytest.param(POSIX, id="posix", marks=pytest.mark.slow),
    ],
)
def test_names_and_locales_that_are_not_utf_8(
    locale: dict[str, str], tmp_path: Path, record_property: Seen
) -> None:
    name = os.fsdecode(b"r\xffn")
    at = tmp_path / os.fsdecode(b"here\xff")
    at.mkdir()
    run, law = (*SHORT, "--dir", name), (name, "--json", "--figures", "none")
    for words in (("train", *run), ("resume", name), ("fit-entropy-law", *law)):
        done = on((), *words, cwd=at, **locale)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
    (fitted,) = json.loads(done.stdout)["runs"]
    assert fitted["run"].endswith("r\udcffn")
    shown = on((), "status", name, "--json", cwd=at, **locale)
    assert json.loads(shown.stdout)["status"] == "done"
    again = on((), "train", *run, cwd=at, **locale)
    assert again.returncode == 2
    assert r"/here\udcff/r\udcffn: already holds a run; continue it" in sentence(again)
    record_property("seen", f"exit {again.returncode}: {sentence(again).rpartition('/')[2]}")


@pytest.mark.slow
@pytest.mark.parametrize("locale", [{}, ASCII], ids=["utf8", "c"])
def test_a_sweep_below_a_name_that_is_not_utf_8(locale: dict[str, str], tmp_path: Path) -> None:
    at = tmp_path / os.fsdecode(b"here\xff")
    at.mkdir()
    done = on((), "sweep", *SHORT, "seed=1,2", "--json", cwd=at, **locale)
    assert done.returncode == 0, done.stderr
    assert [row["status"] for row in json.loads(done.stdout)["runs"]] == ["done", "done"]


@pytest.mark.parametrize("option", ["--reward", "--entropy"])
def test_a_column_that_is_not_utf_8_is_2(option: str, tmp_path: Path) -> None:
    found = here("fit-entropy-law", "x", option, os.fsdecode(b"r\xff"), cwd=tmp_path)
    assert found.returncode == 2
    assert sentence(found) == f"harness: {option}: must name a column in UTF-8, got 'r\\udcff'"


@pytest.fixture
def hollow(tmp_path: Path) -> RunFolder:
    """A run with two rows and a hole of 3 GB behind them."""
    run = make_run(tmp_path / "hollow", quick())
    log = MetricsLog(run.metrics)
    for step in (1, 2):
        log.append(step, {"entropy": 1.0, "reward": 0.5})
    log.close()
    os.truncate(run.metrics, 3 * 2**30)
    stopped = replace(
        run_status.read(run.status), status="stopped", simulator_version=simulator.VERSION
    )
    run_status.write(run.status, stopped)
    return run


MEASURED = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
open(sys.argv[1], "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code)
"""
"""Runs a command and writes the memory it used, in kB, from a small process: what is started from
this one begins with its memory, which may be a gigabyte after some hundred tests.
"""


@pytest.mark.attack(
    "metrics.jsonl of 3 GB, nearly all of it a hole",
    "a sentence and 65 within seconds, in less than 1 GB of memory",
)
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("fit-entropy-law",), 65, "metrics.jsonl: must be at most 1 GiB, got 3.0 GiB: fit a part"),
        (("resume",), 65, "metrics.jsonl:3: a row must be at most 65,536 bytes long, but is"),
        (("status",), 0, "hollow: stopped, "),
    ],
)
def test_a_file_of_gigabytes_is_not_read_whole(
    hollow: RunFolder, words: tuple[str, ...], code: int, said: str, record_property: Seen
) -> None:
    here = hollow.path.parent
    measuring = [sys.executable, "-c", MEASURED, str(here / "kB"), *command(*words, "hollow")]
    done = subprocess.run(
        measuring,
        cwd=here,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    record_property("seen", f"exit {done.returncode}: ...{said}")
    assert done.returncode == code, done.stdout
    assert said in done.stdout
    assert "Traceback" not in done.stdout
    assert int((here / "kB").read_text()) < 1e6


def test_a_row_without_an_end_is_damage_only_where_no_row_is_so_long(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    log = MetricsLog(path)
    log.append(1, {})
    log.close()
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"step": 2, ' + b"x" * 60_000)
    assert MetricsLog(path).last_step == 1
    assert path.read_bytes() == whole, "the torn row of a killed run is cut"
    path.write_bytes(whole + b'{"step": 2, ' + b"x" * 66_000)
    with pytest.raises(DataError, match=r"metrics\.jsonl:2: a row must be at most 65,536 bytes"):
        MetricsLog(path)
    assert path.stat().st_size > 66_000, "and stays as it is"


@pytest.mark.attack(
    "a machine whose /dev/shm nobody may write to: no semaphores",
    "an analysis does all of its work in one process",
)
def test_an_analysis_without_semaphores(tmp_path: Path, record_property: Seen) -> None:
    rows = [{"step": n, "entropy": 2 - n / 20, "reward": n / 20} for n in range(1, 21)]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = on(SHM, "fit-entropy-law", "metrics.jsonl", "--figures", "none", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sentence(done) == "harness: results in law; a, b and the ceiling of each run: --tables"
    record_property("seen", f"exit {done.returncode}: {sentence(done)}")


@pytest.mark.attack(
    "TMPDIR that does not exist, and no other folder for temporary files",
    "what needs none works; policy=tiny is 74 and one sentence, before a run is made",
)
def test_no_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Seen
) -> None:
    gone = str(tmp_path / "gone")
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("tempfile._candidate_tempdir_list", lambda: [gone])
    monkeypatch.setattr(preflight, "missing", lambda modules: [])
    tiny = here("train", "policy=tiny", "--dir", "d", cwd=tmp_path, TMPDIR=gone)
    assert tiny.returncode == 74
    assert sentence(tiny) == (
        "harness: TMPDIR: must name a writable folder, but neither it nor /tmp is writable; got "
        f"{gone}"
    )
    assert list(tmp_path.iterdir()) == [], "nothing is made"
    checked = here("doctor", "--json", cwd=tmp_path, TMPDIR=gone)
    (found,) = (f for f in json.loads(checked.stdout)["findings"] if f["name"].startswith("tempo"))
    assert (checked.returncode, found["status"]) == (3, "problem")
    monkeypatch.undo()
    done = on((), "train", *SHORT, "--dir", "d", cwd=tmp_path, TMPDIR=gone)
    assert done.returncode == 0, done.stderr
    record_property("seen", f"exit {tiny.returncode}: {sentence(tiny)}")
