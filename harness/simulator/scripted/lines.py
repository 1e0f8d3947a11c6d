"""The lines that scripted users say, by table and key, and how each voice phrases them.

The lines are in lines.tsv and answer_lines.tsv; lines about a need are in ../need_lines.tsv.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from harness.config.run import STRATEGIES, TEMPERAMENTS
from harness.simulator.data_files import TableRules, Texts, tables
from harness.simulator.draws import pick
from harness.simulator.intention_lines import KINDS_OF_NEED, NEEDS
from harness.simulator.personas import TOPICS, VOICES

ENDINGS = ("success", "left", "cap")
BANDS = ("low", "middle", "lighter")
"""Bands of emotion, which decide how a feeling is phrased."""
RISES = (*STRATEGIES, "taken_up", "named", "presence", "apology", "safe", "anyway")
"""Reasons why a reply helped: its strategy, a fact or feeling taken up, presence, an apology, a
question about safety, or none of these."""
FALLS = (
    *STRATEGIES, "offer", "said_back", "praise", "apology", "early", "misread", "again", "short",
    "long", "many", "empty", "anyway", "asked_again", "only_asks", "safe", "hurt", "cruel",
    "brushed", "cold", "wary", "death",
)  # fmt: skip
"""Reasons why a reply did not help. Each is a claim that reasons.py has checked."""
MORE = "more_of."
"""Prefix of a strategy as a reason: the reply repeats the strategy of the reply before it."""
TEMPERED = {
    "rise": (
        ("agrees_of", frozenset(["restate", "reflect", "affirm", "inform", "taken_up", "named"])),
        ("thanks_of", frozenset(["disclose", "suggest", "other", "presence"])),
    ),
    "fall": (
        ("doubts_of", frozenset(["restate", "reflect", "affirm", "praise", "inform"])),
        ("turns_down_of", frozenset(["suggest", "early"])),
        ("hurt_of", frozenset(["cruel"])),
    ),
}
"""For a rise and a fall: the tables by temperament, with the reasons that their lines fit."""
ANYBODY = "any"
HURTFUL = ("hurt", "cruel", "brushed", "death")
"""Reasons of hurt, after which the user tells nothing more."""
_MANNERS = TableRules((ANYBODY, *VOICES))
LINES = tables(
    Path(__file__).with_name("lines.tsv"),
    {
        "opener": TableRules(VOICES, ("t",)),
        "opener_without_topic": TableRules(VOICES),
        **{f"rise.{reason}": _MANNERS for reason in RISES},
        **{f"fall.{reason}": _MANNERS for reason in FALLS},
        **{name: TableRules(TEMPERAMENTS) for pairs in TEMPERED.values() for name, _ in pairs},
        "more_of": TableRules(STRATEGIES),
        "flat": TableRules((ANYBODY, "claim", "question", "closed")),
        "leaves_question": TableRules(),
        "puzzled": TableRules(),
        "silent": TableRules(),
        "new_feeling": TableRules(BANDS[:2], ("e",)),
        "told_feeling": TableRules(BANDS, ("e",)),
        **{f"farewell.{ending}": TableRules(VOICES, single=True) for ending in ENDINGS},
        "storms_off": TableRules(TEMPERAMENTS, single=True),
    },
)
"""Lines by table and key, without the lines about a need."""
ANSWERS = tables(
    Path(__file__).with_name("answer_lines.tsv"),
    {
        **{
            name: TableRules(VOICES)
            for name in ("yes", "no", "both", "guess_right", "guess_wrong", "told_already",
                         "unknown", "could", "could_not", "accept", "decline", "go_on", "explain",
                         "safe", "safe_there", "safe_harm", "checked_right", "checked_wrong",
                         "thinks_well", "thinks_little", "hurt_read", "fine_read")
        },
        **{
            name: TableRules(VOICES, ("x",))
            for name in ("echo", "rather_not", "nothing_of")
        },
        "other_feeling": TableRules(VOICES, ("e",)),
        "wants_kind": TableRules(KINDS_OF_NEED),
        "scale": TableRules(VOICES, ("n",)),
        "name": TableRules((*TOPICS, "feeling", "fact"), single=True),
    },
)  # fmt: skip
"""Lines that begin or refuse an answer, by table and voice; and the names of topics."""
NEED_LINES = tuple(line for table in NEEDS.values() for texts in table.values() for line in texts)
_CONTRACTIONS = (
    ("I am", "I'm"), ("It is", "It's"), ("it is", "it's"), ("That is", "That's"),
    ("that is", "that's"), ("There is", "There's"), ("there is", "there's"), ("do not", "don't"),
    ("Do not", "Don't"), ("does not", "doesn't"), ("did not", "didn't"), ("have not", "haven't"),
    ("has not", "hasn't"), ("are not", "aren't"), ("cannot", "can't"), ("is not", "isn't"),
    ("You are", "You're"), ("you are", "you're"),
)  # fmt: skip
_SHORT = dict(_CONTRACTIONS)
_LONG = {short: long for long, short in _CONTRACTIONS}
_TO_SHORTEN = re.compile(rf"\b(?:{'|'.join(_SHORT)})\b(?= \w)")
_TO_EXPAND = re.compile(rf"\b(?:{'|'.join(_LONG)})\b")


def manner(text: str, voice: str) -> str:
    """Return `text` in `voice`; only the `short` voice uses contractions."""
    return _TO_SHORTEN.sub(lambda m: _SHORT[m.group()], text) if voice == "short" else text


def expand_contractions(text: str) -> str:
    """Return `text` with the contractions of `manner` undone."""
    return _TO_EXPAND.sub(lambda m: _LONG[m.group()], text)


def all_lines(names: Iterable[str]) -> frozenset[str]:
    """Return the lines of some tables of LINES, whatever their key."""
    return frozenset(line for name in names for lines in LINES[name].values() for line in lines)


@cache
def of_user(table: str, voice: str, temperament: str | None = None) -> tuple[str, ...]:
    """Return the lines of a table for one voice: lines for any voice, and its own.

    A `temperament` adds its lines that fit the table's reason.
    """
    by_voice, (direction, _, reason) = LINES[table], table.partition(".")
    pool = (*by_voice[ANYBODY], *by_voice[voice])
    if temperament is None:
        return pool
    fitting = (name for name, reasons in TEMPERED[direction] if reason in reasons)
    return (*pool, *(line for name in fitting for line in LINES[name][temperament]))


def pick_unsaid(pool: tuple[str, ...], said_lines: frozenset[str], u: float) -> str:
    """Return a line of `pool` by the draw `u`, one of `said_lines` only if all have been said."""
    if said_lines.isdisjoint(pool):
        return pick(pool, u)
    fresh = tuple([line for line in pool if line not in said_lines])
    return pick(fresh or pool, u)


def is_phrase(sentence: str) -> bool:
    """Return whether a sentence, without contractions, is a line that any user may say."""
    return sentence in _phrases()[0] or any(p.fullmatch(sentence) for p in _phrases()[1])


@cache
def _phrases() -> tuple[frozenset[str], tuple[re.Pattern[str], ...]]:
    """Return the lines that any user may say: fixed ones, and patterns for those with blanks."""
    chosen = [texts for name, texts in (*LINES.items(), *ANSWERS.items())
              if name not in ("new_feeling", "told_feeling", "name")]  # fmt: skip
    lines = {line for texts in chosen for line in rows_of(texts)}
    fixed = frozenset(expand_contractions(line) for line in lines if "{" not in line)
    open_lines = [
        re.escape(line).replace(r"\{n\}", r"\d+").replace(r"\{x\}", r"[\w' ]+")
        .replace(r"\{e\}", r"\w+").replace(r"\{t\}", ".+")
        for line in lines if "{" in line
    ]  # fmt: skip
    return fixed, tuple(re.compile(line, re.IGNORECASE) for line in sorted(open_lines))


def rows_of(texts: Texts) -> tuple[str, ...]:
    """Return all texts of one table."""
    return tuple(line for lines in texts.values() for line in lines)


def shows_attitude(text: str) -> bool:
    """Return whether the first sentence of `text` shows how the user took the reply."""
    return not text.startswith(_UNREADABLE)


def speaks_of_need(text: str) -> bool:
    """Return whether `text` contains a line about the user's intention."""
    plain = expand_contractions(text)
    return any(line in plain for line in NEED_LINES)


_UNREADABLE = tuple(
    f"{manner(line, voice)} "
    for line in sorted(all_lines(("flat", "puzzled")))
    for voice in ("plain", "short")
)
