"""A supporter's question as the one who is asked says it back: `What frightens me the most?`."""

from __future__ import annotations

import re

LONGEST = 8
"""Words of a question that is said back."""
_BEGINNING = re.compile(r"^(?:(?:and|so|but|well|oh|ok|okay|now|then)[, ]+)*", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]+(?:['\u2019][a-z]+)?")
_BEFORE_I = frozenset(
    """am are was were do did have has had can could will would shall should might must that what
    how when if where who and because why which than while as so""".split()  # noqa: SIM905
)
_MINE = {"your": "my", "yours": "mine", "yourself": "myself"}
_ASKED = re.compile(
    r"^(do|did|have|are|were|can|would) you ((?:still |often |usually |also )?[a-z]\w+.*)$"
)
_OPEN_ENDED = re.compile(r"\b(?:any\w*|ever|yet|at all|even)\b")
_YES = {"do": "I", "did": "I did", "have": "I have", "are": "I am", "were": "I was", "can": "I can",
        "would": "I would"}  # fmt: skip
_NO = {"do": "I do not", "did": "I did not", "have": "I have not", "are": "I am not",
       "were": "I was not", "can": "I can not", "would": "I would not"}  # fmt: skip


def question_back(sentence: str) -> str:
    """Return a question with `what`, `who` or the like said back; empty if it is too long."""
    clause = _clause(sentence)
    plain = _turned(clause)
    if not 2 <= len(plain) <= LONGEST:
        return ""
    text = " ".join(plain)
    return f"{text[:1].upper()}{text[1:]}?"


def statements(sentence: str) -> tuple[str, str]:
    """Return yes and no to a question, as whole sentences; empty where that can not be said."""
    match = _ASKED.match(_clause(sentence).lower())
    if match is None:
        return "", ""
    verb, rest = match.group(1), " ".join(_turned(match.group(2)))
    if len(rest.split()) > LONGEST:
        return "", ""
    yes = "" if _OPEN_ENDED.search(rest) else f"Yes, {_YES[verb]} {rest}."
    return yes, f"No, {_NO[verb]} {rest}."


def _clause(sentence: str) -> str:
    """Return a question up to its first comma, without its first small words and its mark."""
    return re.split(r"[,;(?!]", _BEGINNING.sub("", sentence.strip()))[0].strip()


def _turned(clause: str) -> list[str]:
    """Return the words of a clause said by the other one of the two."""
    turned: list[str] = []
    spoken = _WORD.findall(clause)
    for number, word in enumerate(spoken):
        low, before = word.lower(), spoken[number - 1].lower() if number else ""
        after = spoken[number + 1].lower() if number + 1 < len(spoken) else ""
        if low == "you":
            own = before in _BEFORE_I or (number == 0)
            turned.append("I" if own and (after or before not in ("as", "than")) else "me")
            if own and turned[-2:-1] in (["are"], ["were"]):
                turned[-2] = "am" if turned[-2] == "are" else "was"
        elif low in ("are", "were") and turned[-1:] == ["I"]:
            turned.append("am" if low == "are" else "was")
        elif low == "me" and number:
            turned.append("you")
        else:
            turned.append(_MINE.get(low, "I" if low == "i" else word))
    return turned
