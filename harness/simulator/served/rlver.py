"""Converts the profiles of RLVER and SAGE (arXiv 2507.03112, 2505.02847).

A published line has a persona card (`player`), a `scene` in Markdown, one of three characters and
one of eight hidden intentions, in Chinese. The scene tells what happened, and then how the user
reacts to replies. The second part, and other sentences about the coming conversation, are given
only to the model that appraises. `first_talk` is not used: the model writes the opening.
"""

# ruff: noqa: RUF001 - the full-width signs are those of the published text
from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from harness.config.ranges import one_of
from harness.errors import ConfigError
from harness.simulator.served.profiles import Profile, checked, clean_text, lines, side_of

INTENTION_OF = {
    "你认为自己在事件中没有任何责任和错误，你想要对方也认同你没有错": "not_at_fault",
    "你希望对方引导你针对事件进行自我反思，收获自我成长": "growth",
    "你希望对方辩证地分析事件中的问题": "dialectic",
    "你希望对方深刻共情你的感受，而不是简单的安慰": "deep_empathy",
    "你希望对方用心倾听你的情绪宣泄": "venting",
    "你想分析事件中其他人物这么做的原因": "motives",
    "你想获得能真实帮助你解决当下困境的建议": "advice",
    "你希望对方真诚地夸奖你在事件中的具体行为": "praise",
}
TEMPERAMENT_OF = {"负面型": "negative", "被动型": "passive", "回避型": "avoidant"}
_NAME = re.compile(r"姓名\s*[:：]\s*\**\s*(\w+)")
_REACTIONS = re.compile(
    r"(?:状态|emotion|情绪|角色|可能|回复)\S{0,12}反应|emotion|隐藏主题|(?:贴合|偏离)\S{0,6}主题",
    re.I,
)
_MARKUP = re.compile(r"\*+|^\s*(?:[#>*+-]+|\d+[.、])\s*")
_SENTENCE = re.compile(r"[。！？!?…；]|.{25}")
_OF_THE_TALK = re.compile(r"NPC|倾诉|倾听|诉说|(?:希望|渴望).{0,12}(?:有人|对方)")
"""Matches sentences about the coming conversation, which often give away the user's intention."""


def read(path: Path, split: str | None) -> list[Profile]:
    """Return the users in a published file. Raises ConfigError.

    All are on the side `split`; with None each persona is assigned to a side.
    """
    rows = [(f"{path}:{number}", values) for number, values in lines(path)]
    return [checked(where, _profile(where, values, split)) for where, values in rows]


def _profile(where: str, values: Mapping[str, Any], split: str | None) -> Profile:
    card, scene = (_text(where, field, values) for field in ("player", "scene"))
    one_of(f"{where}: task", _text(where, "task", values), INTENTION_OF)
    one_of(f"{where}: main_cha", _text(where, "main_cha", values), TEMPERAMENT_OF)
    cha_group = values.get("cha_group")
    traits = [] if cha_group is None else cha_group
    if not isinstance(traits, list) or not all(isinstance(trait, str) for trait in traits):
        raise ConfigError(f"{where}: cha_group must be a list of texts, got {traits!r:.40}")
    events, reactions = _split_scene(scene)
    facts = [clean_text(where, "facts", line) for line in events if any(map(str.isalnum, line))]
    if not facts:
        raise ConfigError(f"{where}: scene must tell what happened, got {scene[:40]!r}")
    persona = _persona(card)
    return Profile(
        id=clean_text(where, "id", _text(where, "id", values)),
        persona=persona,
        facts=tuple(facts),
        about=clean_text(where, "about", "\n".join([card, *traits])),
        moved_by=clean_text(where, "moved_by", "\n".join(reactions)),
        intention=INTENTION_OF[values["task"]],
        temperament=TEMPERAMENT_OF[values["main_cha"]],
        split=split or side_of(persona),
    )


def _persona(card: str) -> str:
    """Return the name on the card with a hash of the whole card, so each card is one persona."""
    name = _NAME.search(card)
    digest = blake2b(" ".join(card.split()).encode(errors="replace"), digest_size=4).hexdigest()
    return f"{name[1][:20] if name else 'persona'}-{digest}"


def _split_scene(scene: str) -> tuple[list[str], list[str]]:
    """Return the lines of what happened, without headings, and the lines for the appraiser only."""
    rows = scene.split("####隐藏主题")[0].split("\n")
    cut = next((n for n, row in enumerate(rows) if _REACTIONS.search(row)), len(rows))
    plain = [_MARKUP.sub("", row).strip() for row in rows]
    events, about_conversation = [], []
    for row in plain[:cut]:
        sentences = re.split(r"(?<=[。！？!?])", row)
        events.append("".join(s for s in sentences if not _OF_THE_TALK.search(s)))
        about_conversation += [
            s for s in sentences if _OF_THE_TALK.search(s) and _SENTENCE.search(s)
        ]
    return [row for row in events if _SENTENCE.search(row)], about_conversation + plain[cut:]


def _text(where: str, field: str, values: Mapping[str, Any]) -> str:
    text = values.get(field)
    if not isinstance(text, str):
        raise ConfigError(f"{where}: {field} must be text, got {text!r:.40}")
    return text
