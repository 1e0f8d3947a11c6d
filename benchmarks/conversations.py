"""Conversations of typed supporters with the scripted user at each level, as a page of Markdown.

python -m benchmarks.conversations > docs/conversations.md
python -m benchmarks.conversations --all
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

from harness.config.run import DifficultyConfig
from harness.simulator.protocol import HELD_OUT, ConversationKey, SupporterReply, UserTurn
from harness.simulator.scripted.user import ScriptedSimulator

FILE = Path(__file__).with_suffix(".yaml")
CONF = Path(__file__).parents[1] / "conf" / "difficulty"
LEVELS = ("easy", "medium", "hard")
SEED, STEP, COLD_BELOW = 7, 1, -1
VERDICTS = {"y": "yes", "p": "partly", "n": "no"}
"""Whether the user's words follow from what was said, as a reader marked them."""


def converse(level: str, supporter: dict[str, Any]) -> list[UserTurn]:
    """Return the turns of one user, until they go or the supporter has no more to say."""
    text = (CONF / f"{level}.yaml").read_text(encoding="utf-8")
    user = ScriptedSimulator(DifficultyConfig(**yaml.safe_load(text)))
    turns = user.open([ConversationKey(SEED, STEP, supporter["user"], 0, HELD_OUT)])
    for reply in supporter["replies"]:
        if turns[-1].ended is None:
            turns += user.answer(turns[-1:], [SupporterReply(reply)])
    return turns


def heard(turn: UserTurn) -> str:
    """Return how the user took a reply, in a few words."""
    why = {part: value for part, value in turn.why.items() if isinstance(value, float)}
    took = [*turn.strategies] or ["no strategy"]
    took += ["not language"] if turn.flagged else []
    took += ["hurtful"] if why["hurt"] < 0 else ["cold"] if why["coldness"] < COLD_BELOW else []
    took += [f"doubt {why['doubt']:.1f}"] if why["doubt"] < 0 else []
    ended = f" Ended: {turn.ended}." if turn.ended else ""
    return f"Heard: {', '.join(took)}. Emotion {turn.emotion}.{ended}"


def escaped(text: str) -> str:
    """Return words as one line of Markdown that shows them as they are."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&])", r"\\\1", " ".join(text.split()))


def section(supporter: dict[str, Any], turns: list[UserTurn], marks: str) -> Iterator[str]:
    """Yield the lines of one conversation; `marks` has a letter an answer, or is empty."""
    about: str = supporter["about"]
    yield f"{about[0].upper()}{about[1:]}.\n"
    yield f"1. **User**: {escaped(turns[0].text)}"
    for number, turn in enumerate(turns[1:]):
        follows = f" Follows: {VERDICTS[marks[number]]}." if marks else ""
        yield f"1. **Supporter**: {escaped(supporter['replies'][number])}\\"
        yield f"   _{escaped(heard(turn))}{follows}_\\"
        yield f"   **User**: {escaped(turn.text)}"
    yield ""


def counts(marks: dict[str, dict[str, str]]) -> Iterator[str]:
    """Yield the table of how many answers follow, by level."""
    yield f"| level | answers | {' | '.join(VERDICTS.values())} |\n|---|---|---|---|---|"
    for level in LEVELS:
        all_of_them = "".join(marks[level].values())
        by_verdict = [str(all_of_them.count(mark)) for mark in VERDICTS]
        yield f"| {level} | {len(all_of_them)} | {' | '.join(by_verdict)} |"


def ending(turns: list[UserTurn]) -> str:
    """Return how a conversation ended, in a few words."""
    last = turns[-1]
    return f"{'left' if last.ended == 'left' else last.emotion} after {len(turns) - 1}"


def endings(
    supporters: dict[str, dict[str, Any]], talks: dict[str, dict[str, list[UserTurn]]]
) -> Iterator[str]:
    """Yield the table of how conversations ended, by supporter and level."""
    yield f"| supporter | {' | '.join(LEVELS)} | shown | what to see |"
    yield "|---|---|---|---|---|---|"
    for who, supporter in supporters.items():
        ends = [ending(talks[level][who]) for level in LEVELS]
        links = [f"[{level}](#{who.replace(' ', '-')}-{level})" for level in supporter["shown"]]
        yield f"| {who} | {' | '.join(ends)} | {', '.join(links)} | {supporter['see']} |"


def page(*, every: bool = False) -> str:
    """Return the page, with those conversations that it shows or with every one."""
    data = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    supporters, marks = data["supporters"], data["follows"]
    talks = {name: {who: converse(name, supporters[who]) for who in supporters} for name in LEVELS}
    words = "\n".join(turn.text for some in talks.values() for t in some.values() for turn in t)
    is_read = sha256(words.encode()).hexdigest()[:12] == data["read"]
    tables = {"endings": endings(supporters, talks), "follows": counts(marks)}
    introduction: str = data["introduction"]
    for name, table in tables.items():
        introduction = introduction.replace(f"<!-- {name} -->", "\n".join(table))
    later = "" if is_read else "The users have changed since: what follows is not marked.\n"
    lines = [introduction, "## Conversations\n", later]
    for who, supporter in supporters.items():
        for name in LEVELS if every else supporter["shown"]:
            lines.append(f"### {who.capitalize()}, {name}\n")
            lines += section(supporter, talks[name][who], marks[name][who] if is_read else "")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


if __name__ == "__main__":
    print(page(every="--all" in sys.argv[1:]), end="")
