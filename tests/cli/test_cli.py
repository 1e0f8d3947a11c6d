"""The command line as a user meets it: one line and an exit code, JSON, help, tracebacks."""

import importlib.metadata
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.config.run import RunConfig
from harness.records import run_folder
from harness.records.run_folder import RunFolder
from harness.testing.commands import TABULAR, command, harness

Run = Callable[..., tuple[int, str, str]]


WRONG = {
    "no such command": (["swep"], "No such command 'swep'. Did you mean 'sweep'?"),
    "no such option": (["sweep", "--dryrun"], "No such option: --dryrun (Possible options"),
    "a folder for a sweep": (
        ["sweep", "--out", "X"],
        "name the folder of a sweep by --dir, or by --name below runs/. See `harness sweep",
    ),
    "a name that is no folder's": (["sweep", "--name", "../x"], "--name: must be at most 96"),
    "an empty name": (["sweep", "--name", ""], "--name: must be at most 96"),
    "a long name": (["sweep", "--name", "x" * 97], "--name: must be at most 96"),
    "a name of results": (["sweep", "--name", "law"], "--name: law is the folder of another"),
    "a note of two lines": (["sweep", "--note", "a\nb"], "--note: must be one line"),
    "a note that colours": (["sweep", "--note", "\x1b[31m"], "--note: must be one line"),
    "a long note": (["sweep", "--note", "x" * 301], "--note: must be one line"),
    "a folder to resume": (
        ["resume", "--dir", "X"],
        "No such option: --dir: name the folder without an option, as in `harness resume PATH`"
        ". See",
    ),
    "a word for a run to resume": (
        ["resume", "X", "seed=2"],
        "argument(s) (seed=2): a run that is resumed keeps its config; `harness train` starts",
    ),
    "option without value": (["train", "--dir"], "Option '--dir' requires an argument."),
    "missing option": (["train", "seed=1"], "Missing option '--dir'."),
    "bad choice": (["sweep", "--on-failure", "retry"], "'retry' is not one of 'continue', 'stop'"),
    "bad events": (["train", "--dir", "d", "--events", "xml"], "xml"),
    "bad figures": (["fit-entropy-law", "x", "--figures", "some"], "some"),
    "an empty path": (["fit-entropy-law", ""], "must name a file or a folder, got ''"),
    "an empty --out": (["fit-entropy-law", "x", "--out", ""], "must name a file or a folder"),
    "an empty --dir": (["study", "x", "--dir", ""], "'--dir': must name a file or a folder"),
    "a run without a folder": (["train", "--dir", ""], "'--dir': must name a file or a folder"),
    "no path": (["fit-entropy-law"], "Missing argument 'PATH"),
    "wrong key": (["sweep", "sed=1"], "sed=1: no such key; nearest: seed"),
    "wrong key of a run": (["train", "sed=1", "--dir", "d"], "sed=1: no such key; nearest: seed"),
    "two points for one run": (
        ["train", "seed=1,2", "--dir", "d"],
        "seed: train does one run, got 2 values; use `harness sweep`",
    ),
    "one swept point for one run": (
        ["train", "seed=choice(1)", "--dir", "d"],
        "seed: train does one run, got 1 values; use `harness sweep`",
    ),
    "a file with a question": (["sweep", "+sweeps=none"], "sweeps must be one of"),
    "a control character": (["sweep", "seed=\x1b[31m"], "cannot be read"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_command_is_one_line_code_2_and_nothing_is_created(name: str, run: Run) -> None:
    words, message = WRONG[name]
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("harness: ")
    assert err.count("\n") == 1
    assert err.strip().isprintable()
    assert not list(Path().iterdir())


def test_debug_shows_the_traceback_wherever_it_stands(run: Run) -> None:
    code, _, err = run("sweep", "--debug", "sed=1")
    assert code == 2
    assert "Traceback" in err
    assert err.splitlines()[-1].startswith("harness: sed=1")
    assert "Traceback" not in run("sweep", "sed=1")[2]


def test_help_lists_every_command_and_quotes_ranges(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    for name in ("sweep", "train", "resume", "status", "fit-entropy-law", "doctor"):
        assert name in out
    assert "'range(1,4)'" in run("sweep", "--help")[1]


def test_help_shows_every_summary_whole(run: Run) -> None:
    """Summaries too long for a line of 80 characters end in three dots."""
    _, commands = run("--help")[1].split("Commands:")
    assert "..." not in commands


def test_the_version_is_that_of_the_installed_package(run: Run) -> None:
    assert run("--version") == (0, f"harness {importlib.metadata.version('empathy-harness')}\n", "")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["swep"], "harness"),
        (["sweep", "--nope"], "harness sweep"),
        (["train", "seed=1"], "harness train"),
        (["profiles", "chek"], "harness profiles"),
        (["profiles", "check"], "harness profiles check"),
        (["sweep", "--retries", "99"], "harness sweep"),
    ],
)
def test_an_error_of_usage_names_the_help_of_its_command(
    words: list[str], named: str, run: Run
) -> None:
    assert run(*words)[2].endswith(f" See `{named} --help`.\n")


@pytest.mark.parametrize("short", [[], ["sweep"], ["profiles", "check"]])
def test_every_command_has_a_short_word_for_help(short: list[str], run: Run) -> None:
    code, out, err = run(*short, "-h")
    assert (code, err) == (0, "")
    assert out == run(*short, "--help")[1]
    assert "-h, --help" in out


def test_a_group_of_commands_alone_shows_its_help(run: Run) -> None:
    code, out, err = run("profiles")
    assert (code, err) == (0, "")
    assert out == run("profiles", "--help")[1]


@pytest.mark.slow
def test_tiny_without_its_packages_ends_with_the_command_that_installs_them(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.execution.preflight.FOR_LANGUAGE_MODELS", ("torch_is_not_here",))
    for words in (["sweep", "policy=tiny"], ["train", "policy=tiny", "--dir", "d"]):
        code, out, err = run(*words)
        assert (code, out) == (2, "")
        assert "policy.kind: tiny needs torch_is_not_here: pip install" in err
        assert "policy=tabular" in err
        assert err.count("\n") == 1
    code, _, err = run("sweep", "policy=tiny", "--dry-run")
    assert code == 0
    assert "note: policy.kind: tiny needs torch_is_not_here" in err
    assert not list(Path().iterdir())


def test_a_gpu_that_is_not_there_is_71_and_nothing_is_created(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    for words in (["sweep"], ["train", "--dir", "d"]):
        code, out, err = run(*words, "policy=tabular", "trainer.gpus=1")
        assert (code, out) == (71, "")
        assert err == "harness: trainer.gpus: must be 0 without a visible GPU, got 1\n"
    assert not list(Path().iterdir())


def test_a_folder_that_cannot_be_made_is_73(run: Run) -> None:
    Path("runs").write_text("a file where the folder should be")
    code, _, err = run("sweep", "policy=tabular")
    assert code == 73
    assert "runs: File exists" in err or "Not a directory" in err
    Path("file").write_text("")
    assert run("train", "policy=tabular", "--dir", "file/run")[0] == 73


def test_a_folder_with_somebodys_files_is_refused(run: Run) -> None:
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("keep me")
    code, _, err = run("train", "policy=tabular", "--dir", "mine")
    assert code == 2
    assert "found 'notes.txt'" in err
    assert [path.name for path in Path("mine").iterdir()] == ["notes.txt"]


def test_status_and_resume_of_nothing_exit_65(run: Run) -> None:
    Path("empty").mkdir()
    for words in (["status", "empty"], ["resume", "empty"], ["resume", "nowhere"]):
        code, out, err = run(*words)
        assert (code, out) == (65, "")
        assert ("no such folder" if "nowhere" in words else "no run.json") in err


@pytest.mark.parametrize("command", ["status", "resume"])
def test_a_folder_that_holds_runs_names_them(command: list[str], run: Run) -> None:
    for name in ("a", "b"):
        run_folder.create(RunFolder(Path("runs") / name), RunConfig())
    code, out, err = run(command, "runs")
    assert (code, out) == (65, "")
    assert "contains a, b; " in err
    assert f"`harness {command} runs/b`" in err
    assert run("status", "runs/b")[0] == 0


def test_fit_entropy_law_of_nothing_names_no_folder_of_results(run: Run) -> None:
    Path("log.md").write_text("# no log\n")
    code, out, err = run("fit-entropy-law", "log.md")
    assert code == 65
    assert "log.md:1: must hold one JSON object a line" in out
    assert "results" not in out + err
    assert err.endswith("no run could be read, so nothing was written\n")


def test_fit_entropy_law_of_nothing_is_65_and_json_all_the_same(run: Run) -> None:
    Path("empty").mkdir()
    code, out, err = run("fit-entropy-law", "empty", "nowhere", "--json")
    assert code == 65
    assert [r["error"]["class"] for r in json.loads(out)["runs"]] == ["missing_file"] * 2
    assert "no run could be read, so nothing was written" in err
    assert not list(Path("empty").iterdir())


@pytest.mark.slow
def test_output_that_nobody_reads_any_more_is_no_error(tmp_path: Path) -> None:
    words = " ".join(f"'{word}'" for word in command("sweep", "seed=1,2", "--dry-run"))
    script = f"set -o pipefail; {words} | true"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


LEFT = ("config.yaml", "train.log", ".lock", ".run.json.123.tmp", ".config.yaml.9.tmp")
"""Files that a start that died leaves behind."""


@pytest.mark.slow
def test_a_run_and_its_law_from_the_command_line(tmp_path: Path) -> None:
    one = tmp_path / "d/one"
    one.mkdir(parents=True)
    for name in LEFT:
        (one / name).write_text("left behind")
    trained = harness(
        *("train", *TABULAR, "trainer.steps=6", "difficulty.turn_cap=2"),
        *("--dir", "d/one", "--events", "jsonl"),
        cwd=tmp_path,
    )
    assert trained.returncode == 0, trained.stderr
    texts = [p.read_text() for p in one.iterdir() if p.suffix in (".tmp", ".yaml")]
    assert "left behind" not in texts
    events = [json.loads(line) for line in trained.stdout.splitlines()]
    assert events[0] == {"event": "start", "step": 0}
    assert [e["step"] for e in events if e["event"] == "step"] == [1, 2, 3, 4, 5, 6]
    assert events[-1] == {"event": "end", "status": "done", "exit_code": 0}

    law = harness("fit-entropy-law", "d", "--json", "--figures", "none", cwd=tmp_path)
    assert law.returncode == 0
    (fitted,) = json.loads(law.stdout)["runs"]
    assert fitted["status"] == "ok"
    assert law.stderr.splitlines()[-1] == "harness: results in d/law"
    assert {"law.json", "law.csv"} <= {path.name for path in (tmp_path / "d/law").iterdir()}


def test_a_folder_that_holds_a_run_is_refused(run: Run) -> None:
    run_folder.create(RunFolder(Path("d")), RunConfig())
    code, _, err = run("train", *TABULAR, "--dir", "d")
    assert code == 2
    assert "already holds a run" in err
