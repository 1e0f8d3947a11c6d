"""The built wheel in an empty folder: harness as somebody has it who never saw the checkout."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
HERE = Path(sys.executable).parents[1]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The harness command of a venv that has the wheel; its libraries are this venv's."""
    root = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(root), str(CHECKOUT)]
    subprocess.run(build, check=True, cwd=root, stdout=subprocess.DEVNULL)
    (wheel,) = root.glob("empathy_harness-*.whl")
    venv.create(root / "venv", with_pip=False)
    python = root / "venv" / "bin" / "python"
    (site,) = (root / "venv").glob("lib/python*/site-packages")
    install = [*pip, "--python", str(python), "install", "--no-deps", str(wheel)]
    subprocess.run(install, check=True, cwd=root, stdout=subprocess.DEVNULL)
    (libraries,) = HERE.glob("lib/python*/site-packages")
    (site / "libraries.pth").write_text(f"{libraries}\n")  # after it, so that the wheel comes first
    return root / "venv" / "bin" / "harness"


def run(command: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return subprocess.run(
        [str(command), *words],
        cwd=cwd,
        env={**environment, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_code_and_its_conf_come_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    code = "from harness.compose import search_path as p; print(p.__file__)"
    code += "; print(*p.conf_folders(), *p.sweep_folders())"
    python = installed.parent / "python"
    done = subprocess.run([python, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert len(done.stdout.split()) == 3, done.stderr
    assert all(path.startswith(str(installed.parents[1])) for path in done.stdout.split())


def test_a_sweep_is_planned_and_one_is_run_and_fitted(installed: Path, tmp_path: Path) -> None:
    ladder = ("sweep", "+sweeps=difficulty_ladder", "--dry-run", "--json")
    planned = run(installed, *ladder, cwd=tmp_path)
    assert planned.returncode == 0, planned.stderr
    assert len(json.loads(planned.stdout)["runs"]) == 9
    assert not list(tmp_path.iterdir())

    words = ("policy=tabular", "trainer.steps=4", "trainer.conversations=8", "difficulty=easy,hard")
    swept = run(installed, "sweep", *words, cwd=tmp_path)
    assert swept.returncode == 0, swept.stderr
    assert run(installed, "fit-entropy-law", "runs", cwd=tmp_path).returncode == 0
    assert {"law.json", "law.csv"} <= {path.name for path in (tmp_path / "runs/law").iterdir()}


def test_a_study_is_planned_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    done = run(installed, "study", "start_emotion", "seed=1", "--dry-run", cwd=tmp_path)
    assert "8 runs of 600 steps" in done.stdout, done.stderr


def test_an_own_difficulty_in_the_current_folder_is_found(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "conf" / "difficulty").mkdir(parents=True)
    (tmp_path / "conf" / "difficulty" / "stoic.yaml").write_text("name: stoic\nthreshold: 2\n")
    done = run(installed, "sweep", "difficulty=easy,stoic", "--dry-run", cwd=tmp_path)
    assert "1-stoic-seed1" in done.stdout


def test_doctor_is_content(installed: Path, tmp_path: Path) -> None:
    done = run(installed, "doctor", "--json", cwd=tmp_path)
    findings = {f["name"]: f for f in json.loads(done.stdout)["findings"]}
    assert findings["conf and sweeps"]["status"] == "ok"
    assert "; sweeps a_model_that_speaks, curricula, " in findings["conf and sweeps"]["found"]
    studies = findings["conf and sweeps"]["found"].partition("; studies ")[2].split(", ")
    assert {"curriculum", "difficulty_ladder", "does_collapse_explain"} <= {*studies}


def test_a_report_is_made_from_the_templates_in_the_wheel(installed: Path, tmp_path: Path) -> None:
    words = ("policy=tabular", "trainer.steps=20", "trainer.conversations=8", "eval.users=8")
    trained = run(installed, "train", *words, "--dir", "one", cwd=tmp_path)
    assert trained.returncode == 0, trained.stderr
    done = run(installed, "report", "one", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "one/report.html\n"
    page = (tmp_path / "one" / "report.html").read_text()
    assert "Content-Security-Policy" in page
    assert '<details class="talk"' in page
