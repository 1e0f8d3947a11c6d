"""harness doctor: what it looks at, and that each problem comes with what to do."""

import importlib.metadata
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli import doctor
from harness.cli.doctor import CheckResult
from harness.utils import installation

REQUIRES = [
    "numpy>=1",
    "hydra-core>=99",
    "not-there>=2",
    "torch-not-there>=2; extra == 'train'",
    "ruff; extra == 'dev'",
]


def named(findings: list[CheckResult]) -> dict[str, CheckResult]:
    return {finding.name: finding for finding in findings}


def test_this_machine_is_looked_at_from_python_to_conf(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    findings = named(doctor.examine())
    assert {"python", "numpy", "cores", "memory", "gpus", "runs folder"} <= set(findings)
    assert findings["python"].status == "ok"
    assert findings["smollm2_135m"].status in ("ok", "note")
    assert "levels adversarial, easy, hard, medium" in findings["conf and sweeps"].found
    assert not list(tmp_path.iterdir())


def test_packages_against_what_the_distribution_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: REQUIRES)
    findings = named(doctor.examine())
    assert findings["numpy"].status == "ok"
    assert findings["hydra-core"].status == "problem"
    assert findings["hydra-core"].found.endswith("is outside >=99")
    assert findings["hydra-core"].advice == "pip install 'hydra-core>=99'"
    assert findings["not-there"].advice == "pip install 'not-there>=2'"
    assert findings["extra train"].status == "note"
    assert findings["extra train"].advice == f"for it, {installation.install_command('train')}"
    assert "ruff" not in findings
    assert doctor.exit_code(list(findings.values())) == 3


def test_a_folder_that_cannot_be_written_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs").write_text("a file where the folder should be")
    monkeypatch.chdir(tmp_path)
    finding = named(doctor.examine())["runs folder"]
    assert (finding.status, finding.advice) == (
        "problem",
        "run harness in a folder that you can write to",
    )


@pytest.mark.parametrize(("free_gb", "status"), [(64.0, "ok"), (2.5, "note"), (0.5, "problem")])
def test_memory_is_held_against_what_the_runs_take(
    free_gb: float | None, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_available_gb", lambda: free_gb)
    monkeypatch.setattr("harness.execution.gpu_lease.cores", lambda: 2)
    finding = named(doctor.examine())["memory"]
    assert finding.status == status
    assert (finding.advice is None) == (status == "ok")


def test_lines_and_json_say_the_same() -> None:
    findings = [CheckResult("torch", "problem", "is not installed", "pip install torch")]
    assert doctor.line(findings[0]).split(maxsplit=2) == [
        "problem",
        "torch",
        "is not installed: pip install torch",
    ]
    value = json.loads(json.dumps(doctor.to_json(findings)))
    assert value["schema"] == 1
    assert value["findings"][0]["advice"] == "pip install torch"
    assert doctor.exit_code([CheckResult("a", "note", "b")]) == 0


def test_plug_ins_are_listed_and_a_broken_one_is_a_problem(
    tmp_path: Path, installed: Callable[..., None]
) -> None:
    assert "plug-ins" not in named(doctor.examine())
    (tmp_path / "other_code.py").write_text("Mine = print('said at import')\n")
    installed("[harness.rewards]\nmine = other_code:Mine\n")
    assert named(doctor.examine())["plug-ins"] == CheckResult(
        "plug-ins", "ok", "other 1.0: reward mine"
    )
    installed("[harness.conf]\nmine = nowhere\n", "third")
    found = named(doctor.examine())
    assert found["plug-ins"].status == "problem"
    assert found["plug-ins"].found.startswith("harness.conf: mine of third must name")
    assert "conf and sweeps" not in found


def test_a_plug_in_that_cannot_be_imported_is_a_problem_and_is_not_imported_here(
    tmp_path: Path, installed: Callable[..., None]
) -> None:
    (tmp_path / "other_code.py").write_text("Mine = 1\n")
    (tmp_path / "other_broken.py").write_text("raise ValueError('no such\\nfile')\n")
    installed("[harness.rewards]\nmine = other_code:Mine\nyours = other_broken:Mine\n")
    problem, listed = [f for f in doctor.examine() if f.name == "plug-ins"]
    assert doctor.line(problem).split("  ", 1) == [
        "problem",
        "plug-ins                harness.rewards: yours of other must be importable as "
        "other_broken:Mine, got ValueError: no such\\nfile: repair or uninstall the package",
    ]
    assert listed == CheckResult("plug-ins", "ok", "other 1.0: reward mine")
    assert doctor.exit_code([problem, listed]) == 3
    assert not {"other_code", "other_broken"} & set(sys.modules)


def test_a_module_of_the_current_folder_is_not_taken_for_a_plug_ins(
    tmp_path: Path, installed: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / "other_here.py").write_text("open('imported', 'w').close()\nMine = 1\n")
    installed("[harness.rewards]\nmine = other_here:Mine\n")
    monkeypatch.chdir(here)
    finding = named(doctor.examine())["plug-ins"]
    assert finding.found.endswith("got ModuleNotFoundError: No module named 'other_here'")
    assert not (here / "imported").exists()


def test_a_plug_in_with_a_name_of_harness_itself_is_a_problem(
    tmp_path: Path, installed: Callable[..., None]
) -> None:
    (tmp_path / "other_a.py").write_text("A = 1\n")
    rewards = "[harness.rewards]\nterminal = other_a:A\nmine = other_a:A\n"
    installed(f"{rewards}[harness.figures]\nlaw = other_a:A\n")
    first, second, listed = [f for f in doctor.examine() if f.name == "plug-ins"]
    assert first == CheckResult(
        "plug-ins",
        "problem",
        "harness.rewards: terminal of other must have a name of its own, got one of harness's",
        "rename the entry point or uninstall the package",
    )
    assert second.found.startswith("harness.figures: law of other must have a name of its own")
    assert (listed.status, listed.found) == (
        "ok", "other 1.0: reward mine, reward terminal, figure law"
    )  # fmt: skip
