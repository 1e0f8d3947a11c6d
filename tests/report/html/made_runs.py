"""Sweeps on disk with conversations, some of them hostile, and pages taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from harness.law import analysis
from harness.records import conversations
from harness.records.conversations import TurnRecord
from harness.report.html import page
from harness.report.html.page import Report
from harness.testing import run_folders, synthetic
from harness.testing.synthetic import LOW

PLANTED = (
    "<script>document.documentElement.dataset.planted='yes'</script>",
    "</script><img src=x onerror=\"document.documentElement.dataset.planted='yes'\">",
    "<!--<script>",
    "\"><b onmouseover='document.documentElement.dataset.planted=1'>\" autofocus x='",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07",
    "\u202egnp.exe\u202c \u200bzero",
    "nul\x00byte \x9b31m",
    "{{ 7 * 7 }} {% raw %} ${1+1} `x`",
    "&lt;script&gt; &amp; javascript:alert(1)",
    "http://example.org/x https://example.org/y",
)


def talk(
    group: int, sample: int, emotions: Sequence[int], text: str = "", level: str | None = "hard"
) -> list[TurnRecord]:
    """A conversation whose user feels so after each reply."""
    about: dict[str, Any] = {
        "level": level, "persona": "only-woman", "topic": "my workshop", "voice": "plain",
        "temperament": "passive", "intention": "venting",
    }  # fmt: skip
    reward = emotions[-1] / 100
    turns = []
    for turn, emotion in enumerate(emotions):
        last = turn == len(emotions) - 1
        if turn:
            turns.append(
                TurnRecord(
                    group, sample, turn, "policy", text or f"I hear you {turn}.",
                    strategies=["reflect"], taken_up=["I am tired."], entropy_nats=1.5 - 0.1 * turn,
                    advantage=0.5, reward=reward, **about,
                )
            )  # fmt: skip
        turns.append(
            TurnRecord(
                group, sample, turn, "user", text or f"I am tired {turn}.",
                emotion_after=emotion, change=emotion - emotions[turn - 1] if turn else None,
                ended="cap" if last else None, why=[{"part": "worth", "effect": 1.2}] * bool(turn),
                why_unit="log_odds", rise_probability=0.7, reward=reward, **about,
            )
        )  # fmt: skip
    return turns


def save(run: Path, steps: Sequence[int] = (1, 30, 60), many: int = 5, text: str = "") -> None:
    """Conversations of some steps, of unlike outcomes."""
    for step in steps:
        turns = [
            turn
            for sample in range(many)
            for turn in talk(0, sample, [40, 30 + 10 * sample, 20 + 15 * sample], text)
        ]
        conversations.write(run / "conversations", step, turns)


def sweep(root: Path, levels: Sequence[str] = ("easy", "hard"), seeds: int = 2) -> Path:
    """Runs that follow the law, with conversations."""
    number = 0
    for level in levels:
        for seed in range(1, seeds + 1):
            folder = root / f"{number}-{level}-seed{seed}"
            lines = synthetic.rows(synthetic.lawful(seed + 10 * number, 60, LOW))
            run_folders.write_run(folder, lines, seed, level)
            save(folder)
            number += 1
    anchors = run_folders.anchors(0.4, 0.6, 1.0, 0.8)
    run_folders.write_cards(root, dict.fromkeys(levels, anchors))
    return root


def reported(*paths: Path) -> Report:
    return page.report(paths[0].name, paths, analysis.analyse(paths))


class Page(HTMLParser):
    """A page taken apart: elements with their attributes, text outside scripts, data."""

    def __init__(self, content: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.data: list[str] = []
        self.scripts: list[str] = []
        self._inside: str | None = None
        self.feed(content.decode("utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            kind = dict(attrs).get("type")
            self._inside = "data" if kind == "application/json" else tag

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside is None:
            self.texts.append(data)
        elif self._inside == "data":
            self.data.append(data)
        elif self._inside == "script":
            self.scripts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]
