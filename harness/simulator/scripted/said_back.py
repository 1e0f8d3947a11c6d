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
        return _third_person_statements(clause)
    verb, phrase = match.group(1), " ".join(_swap_persons(match.group(2).removeprefix("ever ")))
    if len(phrase.split()) > LONGEST:
        return "", ""
    yes = "" if _OPEN_ENDED.search(phrase) else f"Yes, {_YES[verb]} {phrase}."
    negated = re.sub(r"\bsome(?=thing|body|one)", "any", phrase)
    return yes, f"No, {_NO[verb]} {negated}."


def _third_person_statements(clause: str) -> tuple[str, str]:
    """Return yes and no to a question about a third person, or whether something exists."""
    existence, third_person = _THERE.match(clause), _OF_OTHERS.match(clause)
    match = existence or third_person
    if match is None or len(clause.split()) > LONGEST:
        return "", ""
    verb, noun, phrase = match.group(1), match.group(2), " ".join(_swap_persons(match.group(3)))
    if existence:
        return f"Yes, there {verb} {_SOME.get(noun, noun)} {phrase}.", (
            f"No, there {verb} {_NONE[noun]} {phrase}."
        )
    subject = " ".join(_swap_persons(noun))
    negative = (
        f"{_NONE[noun]} {verb} {phrase}" if noun in _NONE else f"{subject} {verb} not {phrase}"
    )
    affirmative = _third_person(phrase) if verb == "does" else f"{verb} {phrase}"
    affirmative = re.sub(r"\bany(?=thing|body|one\b)", "some", affirmative)
    return f"Yes, {_SOME.get(noun, subject)} {affirmative}.", f"No, {negative}."


def _third_person(phrase: str) -> str:
    """Return a verb phrase in the third person singular: `knows of it`."""
    verb, _, complement = phrase.partition(" ")
    ending = "es" if verb.endswith(("s", "sh", "ch", "x", "o")) else "s"
    is_adverb = verb in ("still", "ever", "really", "even", "also", "sometimes", "often")
    inflected = {"have": "has", "be": "is"}.get(verb, verb + ending)
    return (
        f"{verb} {_third_person(complement)}"
        if is_adverb and complement
        else f"{inflected} {complement}".strip()
    )


def denial(plain: str) -> str:
    """Return a denial of an accusation in plain words; empty if the sentence is no accusation."""
    clause = _ACCUSED_FROM.sub("", plain)
    match = next((m for m in (p.match(clause) for p in _ACCUSING) if m), None)
    if match is None:
        return ""
    verb, accusation = match.group("verb"), _ACCUSED_TO.split(match.group("rest"))[0].strip()
    phrase = " ".join(_swap_persons(accusation))
    if (
        not accusation
        or len(accusation.split()) > LONGEST_DENIED
        or _NOT_TO_DENY.search(accusation)
    ):
        return ""
    if verb in ("sound", "act") and accusation.startswith("like "):
        verb, phrase = "are", phrase.removeprefix("like ")
    if verb == "are":
        return f"No, I am not {phrase}."
    infinitive = _DONE.get(verb)
    return f"No, I {f'did not {infinitive}' if infinitive else f'do not {verb}'} {phrase}."


def _clause(sentence: str) -> str:
    """Return a question up to its first comma or mark, without introductory words."""
    return re.split(r"[,;(?!]", _BEGINNING.sub("", sentence.strip()))[0].strip()


def _swap_persons(clause: str) -> list[str]:
    """Return the words of a clause with first and second person swapped."""
    swapped: list[str] = []
    spoken_words = _WORD.findall(clause)
    for number, word in enumerate(spoken_words):
        lowered, before = word.lower(), spoken_words[number - 1].lower() if number else ""
        after = spoken_words[number + 1].lower() if number + 1 < len(spoken_words) else ""
        if lowered == "you":
            is_subject = before in _BEFORE_I or number == 0 or after in _AFTER_I
            swapped.append("I" if is_subject and (after or before not in ("as", "than")) else "me")
            if is_subject and swapped[-2:-1] in (["are"], ["were"]):
                swapped[-2] = "am" if swapped[-2] == "are" else "was"
        elif lowered in ("are", "were") and swapped[-1:] == ["I"]:
            swapped.append("am" if lowered == "are" else "was")
        elif lowered == "me" and number:
            swapped.append("you")
        else:
            swapped.append(_MINE.get(lowered, "I" if lowered == "i" else word))
    return swapped
