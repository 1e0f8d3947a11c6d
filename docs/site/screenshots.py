"""Takes the pictures of a report that the docs show.

    python docs/site/screenshots.py REPORT [FOLDER]

REPORT is a file of `harness report`; FOLDER is docs/figures unless it is named. It needs Chromium;
`make screenshots` trains the demo, makes its report and calls this.
"""

from __future__ import annotations

import io
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from harness.testing import browser
from harness.testing.browser import Browser

FIGURES = Path(__file__).parents[1] / "figures"
MOST_BYTES = 200_000
"""Of a picture: a page of the docs shows several."""
PHONE = 400
"""Pixels of the width at which the report promises to fit."""


@dataclass(frozen=True)
class Shot:
    """One picture."""

    name: str
    width: int
    height: int
    scheme: str
    """light or dark"""
    at: str
    """What stands at the top of it, as a selector."""
    before: str = ""
    """What is done in the page first."""


OPEN_ONE = (
    "(t => { t.open = true; })([...document.querySelectorAll('.talk')]"
    ".find(t => t.dataset.rank === 'middle' && t.dataset.moment.includes('last step')))"
)
SHOTS = (
    Shot("report_light", 1200, 900, "light", "header"),
    Shot("report_dark", 1200, 900, "dark", "#figures"),
    Shot("report_conversation", 900, 900, "light", ".talk[open]", OPEN_ONE),
    Shot("report_phone", PHONE, 800, "light", "#runs"),
)


def main() -> None:
    """Take all pictures, each whole or not at all; exits 1 with a sentence where that cannot be."""
    report = Path(sys.argv[1])
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else FIGURES
    program = browser.program()
    if program is None:
        sys.exit(
            "screenshots: no chromium on PATH, so no picture was taken: apt-get install chromium"
        )
    with tempfile.TemporaryDirectory() as profile:
        tab = Browser(program, Path(profile))
        try:
            for shot in SHOTS:
                _save(taken(tab, report, shot), folder / f"{shot.name}.png")
        finally:
            tab.close()


def taken(tab: Browser, report: Path, shot: Shot) -> bytes:
    """Return a picture of the page, as PNG."""
    tab.width(shot.width, shot.height)
    tab.scheme(shot.scheme)
    tab.open(report.resolve().as_uri())
    if shot.before:
        tab.js(shot.before)
    tab.js(f"document.querySelector('{shot.at}').scrollIntoView({{block: 'start'}})")
    return tab.picture()


def _save(picture: bytes, path: Path) -> None:
    """Write it. Raises SystemExit for one that is too large for a page.

    Colours are kept: with fewer of them the marks of one series take the colour of another.
    """
    small = io.BytesIO()
    with Image.open(io.BytesIO(picture)) as image:
        image.convert("RGB").save(small, "PNG", optimize=True)
    size = len(small.getvalue())
    if size > MOST_BYTES:
        sys.exit(f"{path}: must be at most {MOST_BYTES:,} bytes, got {size:,}")
    path.write_bytes(small.getvalue())
    print(f"{path}: {size:,} bytes")


if __name__ == "__main__":
    main()
