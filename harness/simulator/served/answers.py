"""Strict parsing of the model's answers: a value of the requested schema, or an EndpointFault.

A user's message must not leak what the policy has to find out. At every level this includes scores,
prompts and names of intentions; unless difficulty.disclosure is free, it also includes the user's
hope in plain words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.config.run import INTENTIONS
from harness.simulator.served import consistency, wording
from harness.simulator.served.faults import EndpointFault
from harness.simulator.served.prompts import FITS, LONGEST_REASON
from harness.simulator.served.quoting import clean_user_text

RUN = 5
"""Number of consecutive words of the hope's wording that leak it."""
_MACHINERY = re.compile(
    r"\b(?:mood_now|target_fit|latest_message(?:_felt)?|hidden (?:intention|goal|need)|json|schema"
    r"|system prompt|language model|as an ai|simulat(?:ed|or|ion)|role-?play\w*)\b"
    r"|\b(?:mood|emotion)\b[^.?!]{0,20}\b\d{1,3}\b|\b\d{1,3} ?(?:/|out of) ?100\b"
    rf"|\b(?:{'|'.join(i for i in INTENTIONS if '_' in i)})\b",
    re.IGNORECASE,
)
_WISH = (
    r"\b(?:i (?:just |only |really )*(?:want|need|hope|wish|would like|'d like|am looking|came)"
    r"|please|can you|could you|help me|tell me)\b[^.?!]{0,40}"
)
_ALOUD = {
    "praise": _WISH + r"\b(?:prais\w+|compliment\w*|proud of me|did well|recognition)",
    "not_at_fault": _WISH + r"\b(?:not (?:my fault|to blame)|\w*n't my fault|not at fault)",
    "venting": r"\b(?:please|can you|could you|let me)\b[^.?!]{0,40}\b(?:listen|vent|off my chest)"
    r"|\b(?:just listen|let (?:it|everything) all out|need to vent)\b",
    "deep_empathy": _WISH + r"\b(?:empath\w+|(?:feel|through) (?:this|it) with me|how deep)",
    "advice": _WISH + r"\b(?:advice|what (?:i|to) (?:can |should )?do\b|solution)",
    "dialectic": _WISH + r"\b(?:(?:both|all|other|several|every) sides?|another side)",
    "growth": _WISH + r"\b(?:understand myself|grow\b|learn from (?:this|it)|why i am like)",
    "motives": _WISH + r"\b(?:why (?:they|he|she|my \w+) \w+)",
}
_WORD = re.compile(r"[a-z']+")
_FEELINGS = {wording.feeling_of(change) for change in (-10, -5, 0, 5, 10)}
"""The prompt's descriptions of the mood, which the model may return as the message."""
_PATTERNS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _ALOUD.items()}


def leak(text: str, intention: str, disclosure: str) -> str | None:
    """Return the words of a message that leak the hope or the machinery; None if none do.

    A message that is just the prompt's description of the mood leaks the machinery.
    """
    match = _MACHINERY.search(text)
    if match is None and disclosure != "free":
        match = _PATTERNS[intention].search(text)
    if match is not None:
        return match[0][:60]
    if " ".join(_WORD.findall(text.lower())) in _FEELINGS:
        return text[:60]
    return None if disclosure == "free" else _copied_run(text, wording.HOPES[intention])


def _copied_run(text: str, hope: str) -> str | None:
    """Return RUN consecutive words of `hope` that are in `text`, in first or third person."""
    spoken_words = f" {' '.join(_words(text))} "
    words = _words(hope)
    runs = (" ".join(words[n : n + RUN]) for n in range(len(words) - RUN + 1))
    return next((run for run in runs if f" {run} " in spoken_words), None)


def _words(text: str) -> list[str]:
    swapped = {"their": "my", "they": "i", "them": "me", "themselves": "myself"}
    return [swapped.get(word, word) for word in _WORD.findall(text.lower())]


_FENCE = re.compile(r"\s*```(?:json)?\s*(\{.*\})\s*```\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ServedAppraisal:
    """The model's appraisal of one reply."""

    change: int
    target_fit: str
    """One of FITS."""
    reason: str


def appraisal(content: str, allowed: Sequence[int]) -> ServedAppraisal:
    """Return the appraisal in `content`.

    Raises EndpointFault: empty, malformed, contradictory, or out_of_range for a change not in
    `allowed`.
    """
    fields = _object(content)
    change = fields.get("change")
    if type(change) is not int or change not in allowed:
        raise EndpointFault(
            "out_of_range", f"change must be one of {list(allowed)}, got {change!r:.40}"
        )
    fit, reason = fields.get("target_fit"), fields.get("reason")
    if not isinstance(reason, str):
        raise EndpointFault("malformed", f"reason must be text, got {reason!r:.40}")
    if fit not in FITS:
        raise EndpointFault(
            "malformed", f"target_fit must be one of {', '.join(FITS)}, got {fit!r:.40}"
        )
    opposite = consistency.contradiction(change, fit, reason)
    if opposite:
        raise EndpointFault("contradictory", f"a change of {change:+d} with {opposite}")
    return ServedAppraisal(change, fit, clean_user_text(reason)[:LONGEST_REASON])


def message(content: str, intention: str, disclosure: str, heard: Sequence[str] = ()) -> str:
    """Return the user's message in `content`; `heard` are the supporter's messages so far.

    Raises EndpointFault: malformed, empty, leaked, or echoed.
    """
    say = _object(content).get("say")
    if not isinstance(say, str):
        raise EndpointFault("malformed", f"say must be text, got {say!r:.40}")
    text = clean_user_text(say)
    if not any(c.isalnum() for c in text):
        raise EndpointFault("empty", "nothing said")
    leaked = leak(text, intention, disclosure)
    if leaked:
        raise EndpointFault("leaked", leaked)
    echoed = consistency.echo(text, heard)
    if echoed:
        raise EndpointFault("echoed", echoed)
    return text


def _object(content: str) -> dict[str, Any]:
    """Return the JSON object, also from a code fence, which servers without schemas often add."""
    match = _FENCE.fullmatch(content)
    if not content.strip():
        raise EndpointFault("empty", "no content")
    try:
        value = json.loads(match[1] if match else content)
    except (ValueError, RecursionError) as error:
        raise EndpointFault("malformed", f"must be JSON, got {content!r:.60}") from error
    if not isinstance(value, dict):
        raise EndpointFault("malformed", f"must be a JSON object, got {content!r:.60}")
    return value
