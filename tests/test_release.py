"""What a release states of itself: one version, and a wheel that anyone can build again."""

import hashlib
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

import harness

CHECKOUT = Path(__file__).parents[1]


def test_the_citation_and_the_changelog_name_the_version_of_the_package() -> None:
    cited = yaml.safe_load((CHECKOUT / "CITATION.cff").read_text())
    changelog = (CHECKOUT / "CHANGELOG.md").read_text()
    (newest, day), *_ = re.findall(r"^## (\d\S*), (\d{4}-\d\d-\d\d)$", changelog, re.MULTILINE)
    assert cited["version"] == newest == harness.__version__
    assert str(cited["date-released"]) == day


@pytest.mark.slow
def test_two_builds_give_the_same_wheel(tmp_path: Path) -> None:
    made = []
    for name in ("one", "two"):
        to = tmp_path / name
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "wheel"]
        command = [*pip, "--no-deps", "--no-build-isolation", "-w", str(to), str(CHECKOUT)]
        subprocess.run(command, check=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": ""})
        (wheel,) = to.glob("*.whl")
        made.append(hashlib.sha256(wheel.read_bytes()).hexdigest())
    assert made[0] == made[1]
    with zipfile.ZipFile(wheel) as content:
        shipped = {name for name in content.namelist() if not name.endswith(".py")}
    assert {"harness/probes/items.jsonl", "harness/simulator/lives.tsv"} <= shipped
