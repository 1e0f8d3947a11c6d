"""Draws the pictures of the gallery again: python docs/site/pictures.py PATH.

PATH holds the runs; `make gallery` trains those of the docs and calls this. The pictures go to
docs/figures. That of the demo is drawn by `make picture`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from PIL import Image

import harness

FIGURES = Path(__file__).parents[1] / "figures"
SHOWN = ("entropy_law", "entropy_curves", "levels", "forest", "reward_by_listening")
COLOURS = 64
"""Enough for a picture of lines and marks, at a third of the bytes."""


def main() -> None:
    law = harness.fit(harness.load(Path(sys.argv[1])))
    with tempfile.TemporaryDirectory() as scratch:
        law.save(scratch)
        for name in SHOWN:
            with Image.open(Path(scratch) / f"{name}.png") as picture:
                few = picture.convert("RGB").quantize(COLOURS)
            few.save(FIGURES / f"gallery_{name}.png", optimize=True)


if __name__ == "__main__":
    main()
