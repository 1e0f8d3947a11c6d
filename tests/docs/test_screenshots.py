"""The pictures of the report in the docs: they are there, small, and taken by the script."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from harness.testing import browser
from tests.docs.pages import CHECKOUT
from tests.report.html.made_runs import reported, sweep

SCRIPT = CHECKOUT / "docs" / "site" / "screenshots.py"
NAMES = re.findall(r'Shot\("(\w+)"', SCRIPT.read_text(encoding="utf-8"))


def run(report: Path, folder: Path, path: str | None = None) -> subprocess.CompletedProcess[str]:
    env = None if path is None else {"PATH": path}
    words = [sys.executable, str(SCRIPT), str(report), str(folder)]
    return subprocess.run(words, env=env, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = sweep(tmp_path_factory.mktemp("sweep"))
    path = root / "report.html"
    path.write_bytes(reported(root).content)
    return path


@pytest.mark.parametrize("name", NAMES)
def test_each_is_small_and_on_the_page_of_the_report(name: str) -> None:
    path = CHECKOUT / "docs" / "figures" / f"{name}.png"
    assert path.stat().st_size <= 200_000
    page = (CHECKOUT / "docs" / "report.md").read_text(encoding="utf-8")
    assert f"(figures/{name}.png)" in page


@pytest.mark.skipif(
    browser.program() is None, reason="no chromium on PATH: apt-get install chromium"
)
def test_the_script_takes_every_one(report: Path, tmp_path: Path) -> None:
    done = run(report, tmp_path)
    assert done.returncode == 0, done.stderr
    assert {path.stem for path in tmp_path.iterdir()} == set(NAMES)
    with Image.open(tmp_path / "report_phone.png") as phone:
        assert phone.width == 400
    grounds = {}
    for name in ("report_light", "report_dark"):
        with Image.open(tmp_path / f"{name}.png") as picture:
            grounds[name] = picture.convert("L").getpixel((2, picture.height - 2))
    assert grounds["report_light"] > 200
    assert grounds["report_dark"] < 60


def test_without_a_browser_it_says_so_and_takes_none(report: Path, tmp_path: Path) -> None:
    done = run(report, tmp_path, path="/nowhere")
    assert done.returncode == 1
    said = "no chromium on PATH, so no picture was taken: apt-get install chromium"
    assert said in done.stderr
    assert not list(tmp_path.iterdir())
