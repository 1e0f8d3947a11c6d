"""The commands that the pages of the documentation show, with the output shown after them."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md"))]
SHOWN = re.compile(r"^ *(?:\$ )?(harness [a-z][^|]*)")
"""A line that shows a command: indented, or after a prompt."""
PLACEHOLDER = re.compile(r"\.\.\.|\$|\b[A-Z]{3,}[A-Z_]*\b")
"""What a reader replaces: PATH, HOST, $VARIABLE, three dots."""
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Shown:
    """One command of harness on one page."""

    page: str
    line: int
    """Its line in the page, from 1."""
    words: tuple[str, ...]
    """Without `harness`."""

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"

    in_console: bool = False
    """Whether it stands in a block of a console, where it is run with its output."""

    @property
    def is_left_open(self) -> bool:
        """Whether it can not be tried by itself: a reader fills it in, or it has its session."""
        return self.in_console or any(PLACEHOLDER.search(word) for word in self.words)


@dataclass(frozen=True)
class Typed:
    """A line that a reader types, in a block of a console, and what the page shows after it."""

    where: str
    command: str
    output: str


def commands(page: Path) -> list[Shown]:
    """Return the commands that a page shows, in its order."""
    name = page.relative_to(CHECKOUT).as_posix()
    lines = page.read_text(encoding="utf-8").split("\n")
    found = []
    for number, line in enumerate(lines):
        shown = SHOWN.match(line)
        if shown and line[0] in " $":
            text = shown[1]
            following = number + 1
            while text.endswith("\\"):
                text = text[:-1] + lines[following].strip()
                following += 1
            words = shlex.split(text, comments=True)[1:]
            found.append(Shown(name, number + 1, tuple(words), line[0] == "$"))
    return found


def session(page: Path) -> list[Typed]:
    """Return what a page's console blocks type, in its order."""
    name = page.relative_to(CHECKOUT).as_posix()
    text = page.read_text(encoding="utf-8")
    found = []
    for block in CONSOLE.finditer(text):
        line = text.count("\n", 0, block.start(1)) + 1
        for part in re.split(r"^(?=\$ )", block[1], flags=re.MULTILINE):
            command, _, output = part.replace("\\\n", "").partition("\n")
            if command.startswith("$ "):
                found.append(Typed(f"{name}:{line}", command[2:], output.strip("\n")))
            line += part.count("\n")
    return found


NUMBER = re.compile(r"\d*\.\d+")
PIECES = re.compile(r"(\d*\.\d+| ?\.\.\. ?)")


def agrees(shown: str, printed: str) -> bool:
    """Return whether a command printed what a page shows.

    `...` on the page stands for anything; runs of blanks are one; a decimal number may differ by 2
    in its last place, as the sums of another processor do.
    """
    pieces = PIECES.split(" ".join(shown.split()))
    found = re.fullmatch("".join(map(_pattern, pieces)), " ".join(printed.split()), re.DOTALL)
    numbers = filter(NUMBER.fullmatch, pieces)
    return found is not None and all(map(_near, numbers, found.groups()))


def _pattern(piece: str) -> str:
    if piece.strip() == "...":
        return ".*?"
    return r"(\d*\.\d+)" if NUMBER.fullmatch(piece) else re.escape(piece)


def _near(shown: str, printed: str) -> bool:
    places = len(shown.partition(".")[2])
    same_places = len(printed.partition(".")[2]) == places
    return same_places and abs(float(shown) - float(printed)) <= 2.5 * 10**-places
