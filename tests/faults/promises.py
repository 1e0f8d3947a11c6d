"""The promises of docs/reliability.md: reads them, and says which of them no test holds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

EXEMPT = "What is not promised"
"""The section whose bullets need no test."""
BULLET = re.compile(r"[*-] (?P<text>.*)")
TO = r"\((?P<target>[^\s)]+)(?: \"(?P<title>[^\"]*)\")?\)"
LINK = re.compile(rf"\[[^\]]*\]{TO}")
LAST_LINK = re.compile(rf"(?P<before>.*)\s+\[(?P<text>test|benchmark)\]{TO}")
"""The last link of a promise, to what holds it."""
ONLY_BULLETS = "in a section only bullets and headings may stand"
CODE = re.compile(r"`[^`]*`")
SENTENCE_ENDS = re.compile(r"[.!?;](?=\s|$)")
NEVER_RUN = re.compile(r"pytest\.(mark\.(skip|xfail)\b|mark\.skipif\(True\b|skip\()")


@dataclass(frozen=True)
class Link:
    """A link at the end of a promise: where to, and the test's name."""

    text: str
    target: str
    title: str | None


@dataclass(frozen=True)
class Promise:
    """A bullet: its line in the page, what it says, and what holds it."""

    line: int
    sentence: str
    links: tuple[Link, ...]


@dataclass(frozen=True)
class Page:
    """What a page promises, the lines that are neither promise nor heading, and all its links."""

    promises: tuple[Promise, ...]
    strays: tuple[tuple[int, str], ...]
    targets: tuple[tuple[int, str], ...]


def read(text: str) -> Page:
    """Bullets outside the exempt section are promises; before the first section all may stand."""
    promises, strays, targets = [], [], []
    in_section = exempt = False
    for number, line in enumerate(text.splitlines(), 1):
        targets += [(number, link["target"]) for link in LINK.finditer(line)]
        if line.startswith("## "):
            in_section, exempt = True, line.lstrip("# ") == EXEMPT
        elif line.startswith("#") or not line.strip() or exempt:
            continue
        elif bullet := BULLET.fullmatch(line):
            promises.append(_promise(number, bullet["text"].strip()))
        elif in_section:
            strays.append((number, line))
    return Page(tuple(promises), tuple(strays), tuple(targets))


def _promise(line: int, text: str) -> Promise:
    links: list[Link] = []
    while last := LAST_LINK.fullmatch(text):
        links.insert(0, Link(last["text"], last["target"], last["title"]))
        text = last["before"]
    return Promise(line, text, tuple(links))


def problems(path: Path) -> list[str]:
    """What is wrong, one line each: where, which rule, what was given."""
    page, folder = read(path.read_text()), path.parent
    found = [(line, f"{ONLY_BULLETS}, got {given!r}") for line, given in page.strays]
    found += [(p.line, problem) for p in page.promises for problem in _problems(p, folder)]
    found += [
        (line, f"a link must lead to a file, got {target!r}")
        for line, target in page.targets
        if not (folder / target.partition("#")[0]).is_file()
    ]
    name = path.relative_to(folder.parent)
    return [f"{name}:{line}: {problem}" for line, problem in sorted(found)]


def _problems(promise: Promise, folder: Path) -> Iterator[str]:
    if len(SENTENCE_ENDS.findall(CODE.sub("code", promise.sentence))) != 1:
        yield f"a promise must be one sentence with a full stop, got {promise.sentence!r}"
    if not promise.links:
        yield f"a promise must end with a link to the test that holds it, got {promise.sentence!r}"
    for link in promise.links:
        path = folder / link.target
        if link.text == "test" and path.is_file() and link.title not in _tests(path.resolve()):
            yield (
                f"the title of a link must be a test that pytest runs from {link.target}, "
                f"got {link.title!r}"
            )
        if link.text == "benchmark" and not link.target.startswith("../benchmarks/"):
            yield f"a benchmark must be a file of ../benchmarks/, got {link.target!r}"


@cache
def _tests(path: Path) -> frozenset[str]:
    """Names of the tests that pytest collects from a file and does not skip in any case."""
    if not path.match("test_*.py"):
        return frozenset()
    tree = ast.parse(path.read_text())
    if any(_is_skip(node) for node in tree.body):
        return frozenset()
    found = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return frozenset(
        node.name for node in found
        if node.name.startswith("test_")
        and not any(NEVER_RUN.match(ast.unparse(mark)) for mark in node.decorator_list)
        and not any(_is_skip(first) for first in node.body[:2])
    )  # fmt: skip


def _is_skip(node: ast.stmt) -> bool:
    """Whether a statement on its own skips what follows, or marks a module's tests as skipped."""
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
        marks = node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else [node.value]
        return any(NEVER_RUN.match(ast.unparse(mark)) for mark in marks)
    return isinstance(node, ast.Expr) and bool(NEVER_RUN.match(ast.unparse(node.value)))
