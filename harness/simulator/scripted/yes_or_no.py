"""Decides whether a persona's sentence answers a question with yes, no or neither."""

from __future__ import annotations

import re

from harness.simulator.scripted.questions import ParsedQuestion

_DENIES = re.compile(
    r"\b(?:no|not|never|nobody|nothing|none|hardly|cannot|alone|on my own|by myself|hide|hid|"
    r"stopped|forgot|without|refuse|no one)\b"
)
_WANTING = re.compile(
    r"\b(?:trouble|problem|problems|hard|harder|difficult|worse|bad|badly|lose|lost|losing|less|"
    r"affect\w*|awake|nightmares?|dreams?|dream|dreaming|tired|skip\w*|tight|struggl\w*|worry|"
    r"worried|worries|debt|debts|pain|stress\w*|suffer\w*|enough trouble)\b"
)
_ALONE = re.compile(r"\b(?:alone|by myself|on my own|only company|no one)\b")
_ASKS_OF_SUPPORT = re.compile(
    r"\b(?:is there|do you have|have you (?:got|any\w+|some\w+)|alone|lonely|on your own|helps?|"
    r"supports?|listens?)\b"
)
_COMPANY = re.compile(
    r"\b(?:with|we|three|four|helps?|brings?|calls?|sits?|stays?|listens?|holds?|texts?)\b"
)
_WELL = frozenset(["sleep", "food", "work"])
"""Topics whose questions ask whether all is well; it never is."""
_BY_SENTENCE = frozenset(["support", "who_knows", "talked", "home", "plan"])
"""Topics for which the sentence itself says yes or no."""
_YES_OR_NO = (
    _WELL | _BY_SENTENCE | {"tried", "money", "before", "feeling", "helps", "body", "fear", "self"}
)
"""Topics for which question and sentence decide between yes and no."""


def says_neither(question: ParsedQuestion, text: str) -> bool:
    """Return whether a sentence answers a yes-or-no question neither with yes nor with no."""
    if question.subject == "support" and _ASKS_OF_SUPPORT.search(question.plain) is None:
        return True
    if question.subject not in ("home", "support"):
        return question.subject not in _YES_OR_NO
    is_alone = _ALONE.search(text) is not None
    return not is_alone and ("alone" in question.plain or _COMPANY.search(text) is None)


def says_no(question: ParsedQuestion, text: str) -> bool:
    """Return whether `text`, the sentence that answers a yes-or-no question, means no."""
    subject, plain = question.subject, question.plain
    if subject == "tried":
        joined = text.lower().replace(" ", "")  # `ear plugs` are `earplugs`
        return not any(entity in joined for entity in question.entities)
    if subject in _WELL:
        return _WANTING.search(plain) is None
    if subject == "money":
        return re.search(r"\b(?:manage|afford|enough|okay|fine)\b", plain) is not None
    if subject == "before":
        return (
            re.search(r"\b(?:felt|feel|happened|been) like|(?:this|it|that) before", plain)
            is not None
        )
    if "alone" in plain or "lonely" in plain:
        return _ALONE.search(text) is None
    if subject in _BY_SENTENCE:
        return _DENIES.search(text.lower()) is not None
    return False
