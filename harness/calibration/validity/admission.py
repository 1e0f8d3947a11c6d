"""The admission test of a served user: the measures of the validity card, for a language model.

A model answers in seconds and costs money, so there are fewer users than for a scripted user, each
reply is answered once, and `most_requests` bounds the number of requests. Only turns are inspected,
so any simulator can be tested.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from harness.calibration.interval import ConfidenceInterval, Floats, clustered_mean, mean, share
from harness.calibration.validity.measure import has_asked_word
from harness.calibration.validity.replies import LOW_EFFORT, pairs, questions, texts
from harness.config.run import DifficultyConfig
from harness.simulator.protocol import (
    HELD_OUT,
    ConversationKey,
    SupporterReply,
    UserSimulator,
    UserTurn,
)
from harness.simulator.served.consistency import repeats

USERS = 12
"""Held-out users, each with one conversation of each of KINDS."""
KINDS = ("kind", "cruel", "natural", "low_effort")
REPLIES = 6
"""Replies in a conversation."""
FIRST = 24
"""Number of first replies of each of FIRST_KINDS, and of questions."""
FIRST_KINDS = ("supportive_negation", "hurtful_kind_words", "gibberish", "natural", "shuffled")
SEED = 3
HALF = "held_out"
Make = Callable[[DifficultyConfig], UserSimulator]
Progress = Callable[[int], None]
"""Called with the number of requests just completed."""


@dataclass(frozen=True)
class AnswerSummary:
    """The users' answers at one level, summarised; NaN for a conversation that failed."""

    finals: Mapping[str, Floats]
    """Final emotion of each user by kind of conversation, shape (USERS,)."""
    changes: Mapping[str, Floats]
    """Changes of emotion by kind of conversation, shape (USERS, REPLIES), NaN after its end; and
    by kind of first reply, shape (FIRST,)."""
    start: float
    asked_word: Sequence[bool]
    """Whether each answer to a question contains a word of what was asked about."""
    repeated: Sequence[bool]
    """Whether each answer in a conversation loops or repeats an earlier one."""
    lost: Sequence[bool]
    """Whether each conversation failed."""
    appraised: int
    """Number of replies that were appraised."""
    spoken: int
    """Number of messages that users wrote in answer."""


@dataclass(frozen=True)
class FaultCounts:
    """Numbers of faulty answers at one level, by fault, retried or given up."""

    contradictory: int
    echoed: int


def most_requests() -> int:
    """Return the most requests for one level, not counting retries."""
    conversations = USERS * len(KINDS) * (2 * REPLIES - 1)  # the last reply gets no answer
    return USERS + conversations + FIRST * len(FIRST_KINDS) + 2 * FIRST


def ask(make: Make, level: DifficultyConfig, progress: Progress) -> AnswerSummary:
    """Simulate all conversations of one level and return the summarised answers."""
    long, brief = (replace(level, turn_cap=replies) for replies in (REPLIES, 1))
    keys = [ConversationKey(SEED, 0, number, 0, HELD_OUT) for number in range(USERS)]
    openings = make(long).open(keys)
    progress(len(openings))
    finals, changes, repeated = _conversations(make(long), openings, progress)
    first = {name: _first_replies(name) for name in FIRST_KINDS}
    first_answers = {
        name: _answers(make(brief), openings, replies, progress) for name, replies in first.items()
    }
    chosen_questions = questions(HALF)[:FIRST]
    answers = _answers(
        make(long),
        openings,
        [question.text for question in chosen_questions],
        lambda n: progress(2 * n),
    )
    turns = [turn for answered in first_answers.values() for turn in answered]
    all_finals = np.concatenate([finals[kind] for kind in KINDS])
    appraised = [np.isfinite(values) for values in changes.values()]
    return AnswerSummary(
        finals=finals,
        changes={
            **changes,
            **{name: _changes(answered) for name, answered in first_answers.items()},
        },
        start=float(level.start_emotion),
        asked_word=[
            has_asked_word(turn.text, question.about)
            for turn, question in zip(answers, chosen_questions, strict=True)
            if turn.ended is None
        ],
        repeated=repeated,
        lost=[
            *(~np.isfinite(all_finals)).tolist(),
            *(turn.ended == "failed" for turn in [*turns, *answers]),
        ],
        appraised=int(sum(map(np.sum, appraised)))
        + sum(turn.change is not None for turn in [*turns, *answers]),
        spoken=len(repeated) + sum(turn.ended is None for turn in answers),
    )


def _conversations(
    users: UserSimulator, openings: Sequence[UserTurn], progress: Progress
) -> tuple[dict[str, Floats], dict[str, Floats], list[bool]]:
    """Return final emotions and changes by kind, and whether each answer repeats itself.

    All conversations are simulated at once.
    """
    replies = _replies()
    numbers = range(len(openings))
    orders = {  # the same for kind and cruel twins, whose lists have equal length
        kind: [np.random.default_rng([SEED, user]).permutation(len(candidates)) for user in numbers]
        for kind, candidates in replies.items()
    }
    turns = {(kind, user): opening for kind in KINDS for user, opening in enumerate(openings)}
    changes = {kind: np.full((len(openings), REPLIES), np.nan) for kind in KINDS}
    earlier = {key: [turn.text] for key, turn in turns.items()}
    repeated = list[bool]()
    for number in range(REPLIES):
        live = [key for key, turn in turns.items() if turn.ended is None]
        messages = [replies[kind][orders[kind][user][number]] for kind, user in live]
        answered = users.answer(
            [turns[key] for key in live], [SupporterReply(text) for text in messages]
        )
        for (kind, user), turn in zip(live, answered, strict=True):
            turns[kind, user] = turn
            if turn.ended is None:
                repeated.append(repeats(turn.text, earlier[kind, user]))
                earlier[kind, user].append(turn.text)
            changes[kind][user, number] = np.nan if turn.change is None else turn.change
        progress(len(live) * (1 if number == REPLIES - 1 else 2))
    finals = {
        kind: np.array([_emotion(turns[kind, user]) for user in range(len(openings))])
        for kind in KINDS
    }
    return finals, changes, repeated


def _emotion(turn: UserTurn) -> float:
    return float("nan") if turn.ended == "failed" else float(turn.emotion)


def _replies() -> dict[str, list[str]]:
    selected = [pair for pair in pairs() if pair.half == HALF]
    return {
        "kind": [pair.kind for pair in selected],
        "cruel": [pair.cruel for pair in selected],
        "natural": texts(HALF, ["natural"]),
        "low_effort": texts(HALF, LOW_EFFORT),
    }


def _first_replies(kind: str) -> list[str]:
    """Return FIRST replies of one kind; `shuffled` are natural replies with shuffled words."""
    if kind != "shuffled":
        return texts(HALF, [kind])[:FIRST]
    rng = np.random.default_rng(SEED)
    return [" ".join(rng.permutation(text.split())) for text in texts(HALF, ["natural"])[:FIRST]]


def _answers(
    users: UserSimulator, openings: Sequence[UserTurn], replies: Sequence[str], progress: Progress
) -> list[UserTurn]:
    """Return the answers to first replies, each by the next user in turn."""
    turns = [openings[number % len(openings)] for number in range(len(replies))]
    answered = users.answer(turns, [SupporterReply(text) for text in replies])
    progress(len(replies))
    return answered


def _changes(turns: Sequence[UserTurn]) -> Floats:
    return np.array([np.nan if turn.change is None else turn.change for turn in turns], float)


def measure(answers: AnswerSummary, faults: FaultCounts) -> dict[str, ConfidenceInterval | None]:
    """Return the measures of one level: those of the validity card, and some of its own.

    A reply counts as heard as hurtful if it lowers the mood.
    """
    finals, changes = answers.finals, answers.changes
    hurt = {name: values < 0 for name, values in changes.items()}
    rises = {name: values > 0 for name, values in changes.items()}
    first = {name: share(values[np.isfinite(changes[name])]) for name, values in rises.items()}
    negations = np.isfinite(changes["supportive_negation"])
    return {
        "kind_minus_cruel": _mean(finals["kind"] - finals["cruel"]),
        "kind_minus_start": _mean(finals["kind"] - answers.start),
        "natural_minus_low_effort": _mean(finals["natural"] - finals["low_effort"]),
        "cruel_heard": _turn_share(hurt["cruel"], changes["cruel"]),
        "cruel_rises": _turn_share(rises["cruel"], changes["cruel"]),
        "negations_heard": share(hurt["supportive_negation"][negations]),
        "kind_words_rise": first["hurtful_kind_words"],
        "gibberish_rises": first["gibberish"],
        "natural_rises": first["natural"],
        "shuffled_rises": first["shuffled"],
        "asked_word_in_answer": share(answers.asked_word),
        "contradictions": _rate(faults.contradictory, answers.appraised),
        "echoes": _rate(faults.echoed, answers.spoken),
        "repeats": share(answers.repeated),
        "lost": share(answers.lost),
    }


def _mean(values: Floats) -> ConfidenceInterval | None:
    return mean(values[np.isfinite(values)])


def _turn_share(hits: ArrayLike, changes: Floats) -> ConfidenceInterval | None:
    """Return a share of turns, clustered by conversation."""
    values = np.where(np.isfinite(changes), np.asarray(hits, float), np.nan)
    conversations = np.broadcast_to(np.arange(len(changes))[:, None], changes.shape)
    interval = clustered_mean(values.ravel(), conversations.ravel())
    if interval is None or 0 < interval.value < 1:
        return interval
    answered = np.isfinite(changes).any(axis=1).sum()
    return share([interval.value == 1] * answered)  # all equal: an interval of positive width


def _rate(faults: int, good: int) -> ConfidenceInterval | None:
    """Return the share of faulty answers among faulty and good ones."""
    return share([True] * faults + [False] * good)


def order(levels: Mapping[str, AnswerSummary]) -> list[dict[str, Any]]:
    """Return the paired difference in final emotion of each level and the next, easiest first.

    At each level the same users get the same replies.
    """
    names = list(levels)
    return [
        {"easier": easier, "harder": harder, "difference": _difference(levels, easier, harder)}
        for easier, harder in pairwise(names)
    ]


def _difference(
    levels: Mapping[str, AnswerSummary], easier: str, harder: str
) -> ConfidenceInterval | None:
    ends = [np.array([levels[name].finals[kind] for kind in KINDS]) for name in (easier, harder)]
    return _mean((ends[0] - ends[1]).mean(axis=0))
