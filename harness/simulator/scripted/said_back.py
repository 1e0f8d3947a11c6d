"""Turns a supporter's words into the user's: yes and no to a question, and denial of an accusation.

Both are whole sentences: `No, I have not told anyone.`, `No, I am not weak.`
"""

from __future__ import annotations

import re

LONGEST, LONGEST_DENIED = 10, 6
"""Most words of a question answered in a whole sentence, and of an accusation that is denied."""
_BEGINNING = re.compile(r"^(?:(?:and|so|but|well|oh|ok|okay|now|then)[, ]+)*", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]+(?:['\u2019][a-z]+)?")
_BEFORE_I = frozenset(
    """am are was were do did have has had can could will would shall should might must that what
    how when if where who and because why which than while as so""".split()  # noqa: SIM905
)
_AFTER_I = _BEFORE_I - {
    "that",
    "what",
    "how",
    "when",
    "if",
    "where",
    "who",
    "and",
    "so",
} | frozenset(
    """feel felt want wanted need needed think thought know knew see saw say said still usually
    always never often really most just go went get make used like enjoy look hope wish trust live
    sleep eat work talk tell told miss missed dread fear""".split()  # noqa: SIM905
)
_MINE = {"your": "my", "yours": "mine", "yourself": "myself"}
_ASKED = re.compile(
    r"^(do|did|have|had|are|were|can|would) you ((?:still |often |usually |also |ever )?"
    r"[a-z]\w+.*)$"
)
_OPEN_ENDED = re.compile(r"\b(?:any\w*|ever|yet|at all|even)\b")
_YES = {"do": "I", "did": "I did", "have": "I have", "had": "I had",
        "are": "I am", "were": "I was", "can": "I can", "would": "I would"}  # fmt: skip
_NO = {"do": "I do not", "did": "I did not", "have": "I have not", "had": "I had not",
       "are": "I am not", "were": "I was not", "can": "I can not",
       "would": "I would not"}  # fmt: skip


_DONE = {"brought": "bring", "made": "make", "ruined": "ruin", "chose": "choose",
         "caused": "cause", "invited": "invite", "wanted": "want",
         "provoked": "provoke"}  # fmt: skip
_ACCUSED_FROM = re.compile(
    r"^(?:(?:and|but|so|well|oh|honestly|frankly|actually|look|"
    r"i (?:think|guess|bet|know) (?:that )?|to be honest|the truth is|face it|admit it) ?)+(?=you )"
)
_ACCUSED_TO = re.compile(r"\b(?:and|but|because|who|that|which|if|when|so|though|or)\b")
_SMALL_BEFORE = r"(?:(?:just|only|really|so|such|always|simply|clearly|obviously|being|too) )*"
_ACCUSING = (
    re.compile(rf"^you (?P<verb>are) {_SMALL_BEFORE}(?P<rest>(?!not\b|no\b|nothing\b|lucky\b).+)$"),
    re.compile(
        rf"^you {_SMALL_BEFORE}(?P<verb>like|love|want|enjoy|sound|act|exaggerate|"
        rf"{'|'.join(_DONE)}) (?P<rest>.+)$"
    ),
)
_NOT_TO_DENY = re.compile(
    r"\b(?:fault|blame|wrong|sides?|advice|deep|chest|good|better|brave|strong|not|never|no|"
    r"nobody)\b"
)
_OF_OTHERS = re.compile(
    r"^(does|did|do|has|have|had|is|are|was|were) ((?:your|the|his|her|their) \w+|he|she|they|it|"
    r"any(?:one|body|thing)|some(?:one|body|thing)) (\w.*)$"
)
_THERE = re.compile(
    r"^(is|are|was|were) there (an?|any(?:one|body|thing)?|some(?:one|body|thing)?) (\w.*)$"
)
_SOME = {"anyone": "someone", "anybody": "somebody", "anything": "something", "any": "some"}
_NONE = {"anyone": "nobody", "anybody": "nobody", "anything": "nothing", "any": "no", "a": "no",
         "an": "no", "someone": "nobody", "somebody": "nobody", "something": "nothing",
         "some": "no"}  # fmt: skip


def statements(sentence: str) -> tuple[str, str]:
    """Return yes and no to a question as whole sentences, each empty if it cannot be formed."""
    clause = _clause(sentence).lower()
    match = _ASKED.match(clause)
    if match is None:
        return _of_others(clause)
    verb, rest = match.group(1), " ".join(_turned(match.group(2).removeprefix("ever ")))
    if len(rest.split()) > LONGEST:
        return "", ""
    yes = "" if _OPEN_ENDED.search(rest) else f"Yes, {_YES[verb]} {rest}."
    none = re.sub(r"\bsome(?=thing|body|one)", "any", rest)
    return yes, f"No, {_NO[verb]} {none}."


def _of_others(clause: str) -> tuple[str, str]:
    """Return yes and no to a question about a third person, or whether something exists."""
    there, others = _THERE.match(clause), _OF_OTHERS.match(clause)
    match = there or others
    if match is None or len(clause.split()) > LONGEST:
        return "", ""
    verb, whom, rest = match.group(1), match.group(2), " ".join(_turned(match.group(3)))
    if there:
        return f"Yes, there {verb} {_SOME.get(whom, whom)} {rest}.", (
            f"No, there {verb} {_NONE[whom]} {rest}."
        )
    subject = " ".join(_turned(whom))
    denied = f"{_NONE[whom]} {verb} {rest}" if whom in _NONE else f"{subject} {verb} not {rest}"
    does = _third_person(rest) if verb == "does" else f"{verb} {rest}"
    does = re.sub(r"\bany(?=thing|body|one\b)", "some", does)
    return f"Yes, {_SOME.get(whom, subject)} {does}.", f"No, {denied}."


def _third_person(rest: str) -> str:
    """Return a verb phrase in the third person singular: `knows of it`."""
    verb, _, more = rest.partition(" ")
    ends = "es" if verb.endswith(("s", "sh", "ch", "x", "o")) else "s"
    adverb = verb in ("still", "ever", "really", "even", "also", "sometimes", "often")
    said = {"have": "has", "be": "is"}.get(verb, verb + ends)
    return f"{verb} {_third_person(more)}" if adverb and more else f"{said} {more}".strip()


def denial(plain: str) -> str:
    """Return a denial of an accusation in plain words; empty if the sentence is no accusation."""
    clause = _ACCUSED_FROM.sub("", plain)
    match = next((m for m in (p.match(clause) for p in _ACCUSING) if m), None)
    if match is None:
        return ""
    verb, said = match.group("verb"), _ACCUSED_TO.split(match.group("rest"))[0].strip()
    rest = " ".join(_turned(said))
    if not said or len(said.split()) > LONGEST_DENIED or _NOT_TO_DENY.search(said):
        return ""
    if verb in ("sound", "act") and said.startswith("like "):
        verb, rest = "are", rest.removeprefix("like ")
    if verb == "are":
        return f"No, I am not {rest}."
    done = _DONE.get(verb)
    return f"No, I {f'did not {done}' if done else f'do not {verb}'} {rest}."


def _clause(sentence: str) -> str:
    """Return a question up to its first comma or mark, without introductory words."""
    return re.split(r"[,;(?!]", _BEGINNING.sub("", sentence.strip()))[0].strip()


def _turned(clause: str) -> list[str]:
    """Return the words of a clause with first and second person swapped."""
    turned: list[str] = []
    spoken = _WORD.findall(clause)
    for number, word in enumerate(spoken):
        low, before = word.lower(), spoken[number - 1].lower() if number else ""
        after = spoken[number + 1].lower() if number + 1 < len(spoken) else ""
        if low == "you":
            own = before in _BEFORE_I or number == 0 or after in _AFTER_I
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
