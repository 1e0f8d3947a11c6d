"""Measures the validity of a scripted user, with 95% confidence intervals.

All users are held out. Measures are taken at the opening, or over conversations of six replies.
Probabilities of a rise are exact, so only users and replies are sampled. Intervals are over users,
or over replies where the same users get every reply.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache

import numpy as np

from harness.calibration.interval import ConfidenceInterval, Floats, mean, share
from harness.calibration.users import MeasuredUsers, Reader, prepare, simulated
from harness.calibration.validity import requirements
from harness.calibration.validity.replies import (
    LANGUAGE,
    LOW_EFFORT,
    pairs,
    questions,
    singles,
    texts,
)
from harness.config.run import DifficultyConfig
from harness.simulator.protocol import HELD_OUT, ConversationKey, SupporterReply, UserTurn
from harness.simulator.scripted.lines import ANSWERS
from harness.simulator.scripted.sentence_reader import LEXICAL
from harness.simulator.scripted.words import FUNCTION_WORDS, sentences, stem, words
from harness.simulator.second.voice import LINES

USERS = 60
"""Held-out users, each with one conversation of each kind."""
OPENINGS = 12
"""Held-out users whose opening each single reply answers."""
REPLIES = 6
"""Replies in a conversation."""
SEED = 2
CLOSED = ("unknown", "rather_not")
"""Tables of lines that leave a question unanswered."""


@dataclass(frozen=True)
class Validity:
    """The validity of a user: whether it prefers kindness, and understands and answers replies."""

    kind_minus_cruel: ConfidenceInterval | None
    """Final emotion after six kind replies minus after their cruel twins, in points."""
    kind_minus_start: ConfidenceInterval | None
    """Final minus initial emotion over six kind replies, in points."""
    neutral_minus_cruel: ConfidenceInterval | None
    kind_minus_neutral: ConfidenceInterval | None
    natural_minus_low_effort: ConfidenceInterval | None
    """Final emotion after natural, caring replies minus after short, off-topic or advising ones."""
    cruel_heard: ConfidenceInterval | None
    """Share of cruel replies that are heard as hurtful."""
    cruel_rises: ConfidenceInterval | None
    """P(rise) after a cruel reply, averaged over the six replies of a conversation."""
    cruel_rises_at_opening: ConfidenceInterval | None
    """P(rise) after a cruel first reply, before the user is wary."""
    negations_heard: ConfidenceInterval | None
    """Share of supportive negations that are heard as hurtful."""
    kind_words_rise: ConfidenceInterval | None
    """P(rise) after a hurtful reply in kind words."""
    gibberish_rises: ConfidenceInterval | None
    natural_flagged: ConfidenceInterval | None
    """Share of natural replies, in various styles, that are flagged as not language."""
    asked_word_in_answer: ConfidenceInterval | None
    """Share of answers to a question that contain a word of what was asked about."""
    by_category: dict[str, ConfidenceInterval | None]
    """P(rise) after the kind twin minus after the cruel twin, by kind of cruelty."""


def measure(level: DifficultyConfig, half: str | None = None, reader: Reader = LEXICAL) -> Validity:
    """Measure the users of `level` on one half of the replies, or on all with None."""
    user = _User(simulated(level, reader))
    selected = [pair for pair in pairs() if half in (None, pair.half)]
    single = [reply.text for reply in singles() if half in (None, reply.half)]
    prepare([*single, *(text for pair in selected for text in (pair.kind, pair.cruel))], reader)
    kind, cruel = [pair.kind for pair in selected], [pair.cruel for pair in selected]
    conversations = {
        name: user.conversations(replies)
        for name, replies in {
            "kind": kind,
            "cruel": cruel,
            "neutral": texts(half, ["neutral"]),
            "natural": texts(half, ["natural"]),
            "low": texts(half, LOW_EFFORT),
        }.items()
    }
    finals = {name: finals for name, (finals, _) in conversations.items()}
    rises_kind, rises_cruel = user.rises(kind), user.rises(cruel)
    categories = np.array([pair.category for pair in selected])
    return Validity(
        kind_minus_cruel=mean(finals["kind"] - finals["cruel"]),
        kind_minus_start=mean(finals["kind"] - user.starts()),
        neutral_minus_cruel=mean(finals["neutral"] - finals["cruel"]),
        kind_minus_neutral=mean(finals["kind"] - finals["neutral"]),
        natural_minus_low_effort=mean(finals["natural"] - finals["low"]),
        cruel_heard=share(user.heard(cruel)),
        cruel_rises=mean(conversations["cruel"][1]),
        cruel_rises_at_opening=mean(rises_cruel),
        negations_heard=share(user.heard(texts(half, ["supportive_negation"]))),
        kind_words_rise=mean(user.rises(texts(half, ["hurtful_kind_words"]))),
        gibberish_rises=mean(user.rises(texts(half, ["gibberish"]))),
        natural_flagged=share(user.flagged(texts(half, LANGUAGE))),
        asked_word_in_answer=share(user.answers_with_asked_word(half)),
        by_category={
            name: mean((rises_kind - rises_cruel)[categories == name])
            for name in dict.fromkeys(categories.tolist())
        },
    )


def has_asked_word(answer: str, about: str) -> bool:
    """Return whether an answer contains a content word of what was asked about.

    False for an answer that refuses or does not know, whatever its words.
    """
    parts = sentences(answer)
    closed = any(
        pattern.fullmatch(_plain(sentence)) for sentence in parts for pattern in _refusal_patterns()
    )
    return not closed and not _content_words(answer).isdisjoint(_content_words(about))


def _content_words(text: str) -> set[str]:
    return {stem(word) for word in words(text) if word not in FUNCTION_WORDS}


@cache
def _refusal_patterns() -> tuple[re.Pattern[str], ...]:
    lines = [line for name in CLOSED for group in ANSWERS[name].values() for line in group]
    lines += [line for name in CLOSED for line in LINES[name]["any"]]
    parts = ([_plain(part) for part in re.split(r"\{\w+\}", line)] for line in lines)
    return tuple(re.compile(".*".join(map(re.escape, pattern_parts))) for pattern_parts in parts)


def _plain(text: str) -> str:
    return " ".join(words(text))


def problems(measured: Validity) -> list[str]:
    """Return the reasons, one sentence each, why training on this user does not teach empathy."""
    return requirements.problems(asdict(measured))


class _User:
    """The held-out users of a level, and the measures on them."""

    def __init__(self, simulator: MeasuredUsers) -> None:
        self._simulator = simulator
        keys = [ConversationKey(SEED, 0, number, 0, HELD_OUT) for number in range(USERS)]
        self._openings = simulator.open(keys)

    def starts(self) -> Floats:
        """Return the initial emotion of each user, shape (USERS,)."""
        return np.array([turn.emotion for turn in self._openings], float)

    def conversations(self, replies: Sequence[str]) -> tuple[Floats, Floats]:
        """Return final emotion and mean P(rise) of each user over REPLIES random `replies`.

        Both have shape (USERS,). Lists of equal length get the same order, so twins are paired.
        """
        results = [self._conversation(opening, replies) for opening in self._openings]
        finals, chances = zip(*results, strict=True)
        return np.array(finals), np.array(chances)

    def _conversation(self, turn: UserTurn, replies: Sequence[str]) -> tuple[float, float]:
        order = np.random.default_rng([SEED, turn.state.key.group]).permutation(len(replies))
        chances = list[float]()
        for number in order[:REPLIES].tolist():
            if turn.ended is not None:
                break
            reply = SupporterReply(replies[number])
            chances.append(self._simulator.rise_probability(turn.state, reply))
            turn = self._simulator.answer([turn], [reply])[0]
        return float(turn.emotion), float(np.mean(chances))

    def rises(self, replies: Sequence[str]) -> Floats:
        """Return P(rise) after each reply, averaged over OPENINGS users, shape (replies,)."""
        states = [turn.state for turn in self._openings[:OPENINGS]]
        chances = self._simulator.rise_probabilities
        batches = [[SupporterReply(text)] * len(states) for text in replies]
        return np.array([np.mean(chances(states, batch)) for batch in batches])

    def heard(self, replies: Sequence[str]) -> list[bool]:
        """Return whether the first user hears each reply as hurtful."""
        return [float(self._answer(self._openings[0], text).why["hurt"]) < 0 for text in replies]

    def flagged(self, replies: Sequence[str]) -> list[bool]:
        """Return whether the first user flags each reply as not language."""
        return [self._answer(self._openings[0], text).flagged for text in replies]

    def answers_with_asked_word(self, half: str | None) -> list[bool]:
        """Return whether the answer to each question contains a word of what was asked about."""
        assigned = [
            (question, number % OPENINGS) for number, question in enumerate(questions(half))
        ]
        return [
            has_asked_word(self._answer(self._openings[user], question.text).text, question.about)
            for question, user in assigned
        ]

    def _answer(self, turn: UserTurn, text: str) -> UserTurn:
        return self._simulator.answer([turn], [SupporterReply(text)])[0]
