"""Makes the pages of the docs site that are not files of docs/, and mends links between them.

MkDocs reads pages from one folder. Some of ours lie outside it (the README of the sweeps, the
benchmarks, the changelog), and two are made: the command line, from `--help`, and the index of
public Python names. A link from a page to a file that is no page (a test, a script) becomes its
words with the file's path as a tooltip, so that the site has no dead link and needs no address of a
repository.
"""

from __future__ import annotations

import html
import os
import posixpath
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
OUTSIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "sweeps/README.md", "benchmarks/*.md")
"""Pages outside docs/, as globs from the repository's root."""
PREFIX = "repository/"
"""Where pages from outside docs/ lie on the site."""
LINK = re.compile(r'(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\((?!\w+:|#)([^)\s]+)(\s+"[^"]*")?\)')
"""A Markdown link or picture with a relative target: words, target, title."""
HELP_WIDTH = "84"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name the pages of decisions and measurements in the navigation, by their headings."""
    decisions = sorted((ROOT / "docs" / "decisions").glob("*.md"), reverse=True)
    measured = [PREFIX + path for path in _outside() if path.startswith("benchmarks/")]
    assert config.nav is not None
    config.nav.append({"Decisions": [f"decisions/{path.name}" for path in decisions]})
    config.nav.append({"Measured": measured})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that lie outside docs/ and those that are made."""
    for path in _outside():
        text = (ROOT / path).read_text(encoding="utf-8")
        files.append(File.generated(config, PREFIX + path, content=text))
    files.append(File.generated(config, "reference/cli.md", content=command_line()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page's text with its links as the site has them."""
    del config
    source = page.file.src_uri
    pages = {_in_repository(file.src_uri): file.src_uri for file in files}
    return LINK.sub(lambda link: _mended(link, source, pages), _indented_as_console(markdown))


def _mended(link: re.Match[str], source: str, pages: dict[str, str]) -> str:
    """Return the link with its target on the site; where that has no such page, its words with the
    path in the repository (`tests/faults/test_disk.py::test_...`) as their tooltip.
    """
    words, target, title = link[1], link[2], link[3] or ""
    path, hash_, anchor = target.partition("#")
    here = _in_repository(source)
    meant = posixpath.normpath(posixpath.join(posixpath.dirname(here), path))
    if meant not in pages:
        where = f"{meant}::{title.strip()[1:-1]}" if title else meant
        return f'<abbr title="{html.escape(where)}">{words.removeprefix("!")[1:-1]}</abbr>'
    to = posixpath.relpath(pages[meant], posixpath.dirname(source) or ".")
    return f"{words}({to}{hash_}{anchor}{title})"


def _in_repository(source: str) -> str:
    """Return where a page of the site lies in the repository."""
    return source.removeprefix(PREFIX) if source.startswith(PREFIX) else f"docs/{source}"


@cache
def _outside() -> tuple[str, ...]:
    found = (path for pattern in OUTSIDE for path in sorted(ROOT.glob(pattern)))
    return tuple(path.relative_to(ROOT).as_posix() for path in found)


def _indented_as_console(markdown: str) -> str:
    """Return the text with blocks of commands, indented by four, as fenced blocks of a console.

    A reader copies a fenced block with one click, and its words are coloured as a shell's.
    """
    lines = markdown.split("\n")
    out: list[str] = []
    number = 0
    while number < len(lines):
        block = _block(lines, number)
        is_commands = bool(block) and block[0].startswith(
            ("    harness ", "    make ", "    vllm ")
        )
        if is_commands and (number == 0 or not lines[number - 1].strip()):
            out += ["```sh", *(line[4:] for line in block), "```"]
            number += len(block)
        else:
            out.append(lines[number])
            number += 1
    return "\n".join(out)


def _block(lines: list[str], start: int) -> list[str]:
    """Return the lines indented by four that begin at `start`."""
    end = start
    while end < len(lines) and lines[end].startswith("    "):
        end += 1
    return lines[start:end]


@cache
def command_line() -> str:
    """Return the page of every command: what its `--help` prints."""
    names = re.findall(r"^│? {0,2}([a-z][a-z-]+) {2,}", _help(), re.MULTILINE)
    parts = ["# Command line\n", "What `harness COMMAND --help` prints.\n"]
    parts += ["```text", _help().rstrip(), "```\n"]
    for name in names:
        parts += [f"## harness {name}\n", "```text", _help(name).rstrip(), "```\n"]
    return "\n".join(parts)


def _help(*words: str) -> str:
    """Return what `harness WORDS --help` prints, plain."""
    env = {**os.environ, "COLUMNS": HELP_WIDTH, "TERM": "dumb", "NO_COLOR": "1"}
    command = [Path(sys.executable).with_name("harness"), *words, "--help"]
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return run.stdout
