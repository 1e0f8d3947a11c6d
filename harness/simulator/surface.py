"""Is a reply language at all? Checks on the surface of the text, without any grammar of replies."""

from __future__ import annotations

from harness.simulator.words import FUNCTION_WORDS, sentences, words

MAX_CHARACTERS = 2000


def fault(text: str) -> str | None:
    """What is wrong with `text` as language; None for a reply that reads like one."""
    if len(text) > MAX_CHARACTERS:
        return "endless"
    found = words(text)
    if not found:
        return "empty"
    if not text.strip()[0].isupper() or text.strip()[-1] not in ".?!":
        return "not sentences"
    for sentence in sentences(text):
        wrong = _sentence_fault(words(sentence))
        if wrong:
            return wrong
    return None


def _sentence_fault(found: list[str]) -> str | None:
    if any(a == b for a, b in zip(found, found[1:], strict=False)):
        return "doubled word"
    if len(found) > 4 and len(set(found)) < 0.6 * len(found):
        return "same words again"
    if len(found) > 3 and not any(w in FUNCTION_WORDS for w in found):
        return "no sentence"
    return None
