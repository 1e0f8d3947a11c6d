"""How a reply is typed and how long it is must not decide whether it helps."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from harness.calibration import contexts
from harness.calibration.contexts import FixedReply, FreeReply, users_of
from harness.simulator.protocol import SupporterReply
from harness.simulator.scripted import language_guard, sentence_guard, word_pairs
from harness.simulator.scripted.bigrams import Bigrams, count_pairs
from harness.simulator.scripted.reading import read
from harness.simulator.scripted.recognition import dismisses
from harness.simulator.scripted.user import ScriptedSimulator
from harness.simulator.scripted.words import sentences, words
from harness.simulator.state import State
from tests.simulator.made_scripted import NATURAL, level

MEDIUM = ScriptedSimulator(level("medium"))
MOST = 0.05
"""Largest change of acceptance."""
CONTRACTED = (
    ("I am", "I'm"), ("ou are", "ou're"), ("t is", "t's"), ("do not", "don't"),
    ("can not", "can't"), ("ou have", "ou've"), ("has not", "hasn't"), ("did not", "didn't"),
    ("I have", "I've"),
)  # fmt: skip
KIND = {k: [s for _, kind, s in NATURAL if kind == k] for k in {row[1] for row in NATURAL}}


def _fits_anyone(sentence: str) -> bool:
    return not (read(sentence).facts or read(sentence).feelings)


FOR_ANYONE = {kind: list(filter(_fits_anyone, said)) for kind, said in KIND.items()}

Reply = FixedReply | FreeReply
Alter = Callable[[Reply, str, random.Random], str]


def slips(count: int) -> Alter:
    def alter(reply: Reply, text: str, r: random.Random) -> str:
        for _ in range(count):
            text = _slip(text, r)
        return text

    return alter


def _slip(text: str, r: random.Random) -> str:
    """Drop or double a letter, or swap it with the next."""
    n = r.choice([n for n in range(1, len(text) - 2) if text[n : n + 2].isalpha()])
    a, b = text[n], text[n + 1]
    return text[:n] + r.choice((b, a + a + b, b + a)) + text[n + 2 :]


def contracted(reply: Reply, text: str, r: random.Random) -> str:
    for long, short in CONTRACTED:
        text = text.replace(long, short)
    return text


def opened(reply: Reply, text: str, r: random.Random) -> str:
    for long, short in CONTRACTED:
        text = text.replace(short, long)
    return text


def lengthened(most: int) -> Alter:
    """Add sentences of the reply's strategy that fit anyone, up to this number of words."""

    def alter(reply: Reply, text: str, r: random.Random) -> str:
        while len(words(more := f"{text} {r.choice(FOR_ANYONE[reply.strategy])}")) <= most:
            text = more
        return text

    return alter


ALTERED: dict[str, Alter] = {
    "one slip": slips(1),
    "two slips": slips(2),
    "small letters, no stop": lambda reply, text, r: text.lower().rstrip(".!?"),
    "capitals": lambda reply, text, r: text.upper(),
    "contracted": contracted,
    "opened": opened,
    "no apostrophes": lambda reply, text, r: text.replace("'", ""),
    "30 words": lengthened(30),
    "60 words": lengthened(60),
}


@functools.cache
def _states() -> tuple[State, ...]:
    return tuple(turn.state for turn in contexts.collect_contexts(level("medium")).turns[::40])


def accepted(alter: Alter, replies: Sequence[FixedReply]) -> float:
    r = random.Random(1)
    texts = [(s, SupporterReply(alter(x, x.to(s), r))) for s in _states() for x in replies]
    return float(np.mean([MEDIUM.rise_probability(s, reply) for s, reply in texts]))


def clean(reply: Reply, text: str, r: random.Random) -> str:
    return text


@pytest.mark.slow
@pytest.mark.parametrize("name", ALTERED)
def test_typing_and_length_do_not_decide(name: str) -> None:
    replies = contexts.fixed_replies()[::3]
    assert abs(accepted(ALTERED[name], replies) - accepted(clean, replies)) < MOST


@pytest.mark.parametrize("longest", [12, 16, 21])
def test_replies_of_eight_words_and_more_are_heard(longest: int) -> None:
    """The shortest and the longest fixed replies differ by their wording, not by a fault."""
    texts = [x.to(s) for s in _states() for x in contexts.fixed_replies()]
    chosen = [t for t in texts if longest - 4 <= len(words(t)) <= longest]
    assert len(chosen) > 50
    assert np.mean([language_guard.fault(t) is not None for t in chosen]) < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("name", ALTERED)
def test_typing_and_length_do_not_decide_in_free_wording(name: str) -> None:
    r = random.Random(2)
    both = [
        [MEDIUM.rise_probability(s, SupporterReply(text)) for text in (x.text, altered)]
        for x in contexts.free_replies()
        if (altered := ALTERED[name](x, x.text, r))
        for s in users_of(x, MEDIUM.difficulty)
    ]
    before, after = np.mean(both, axis=0)
    assert abs(after - before) < MOST


def test_natural_sentences_are_not_deemed_faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each writer's sentences by what is known from the other writers'."""
    wrong, count = 0, 0
    for writer in {row[0] for row in NATURAL}:
        others = Bigrams.of(count_pairs(text for by, _, text in NATURAL if by != writer))
        for module in (language_guard, sentence_guard, word_pairs):
            monkeypatch.setattr(module, "english_bigrams", lambda others=others: others)
        for text in [t for by, kind, t in NATURAL if by == writer and kind != "none"][::3]:
            parts = sentences(text)
            faults = [sentence_guard.fault_in.__wrapped__(p) for p in parts] + [
                language_guard._surface_fault(text)
            ]
            wrong += any(faults) or any(map(dismisses, parts))
            count += 1
    assert count > 800
    assert wrong < 0.015 * count


def test_words_that_are_spelt_right_are_left_as_they_are() -> None:
    """Though no natural sentence and no user has them, and another word is a slip away."""
    right = "lean pace rely shit shoot widow waking nose".split()  # noqa: SIM905
    assert {word: words(word) for word in right} == {word: [word] for word in right}
    assert words("You can lean on me, or rely on me, at your own pace.") == (
        "you can lean on me or rely on me at your own pace".split()  # noqa: SIM905
    )


def test_replies_in_free_wording_are_not_deemed_faulty() -> None:
    texts = [reply.text for reply in contexts.free_replies()]
    wrong = [t for t in texts if language_guard.fault(t) or any(map(dismisses, sentences(t)))]
    assert len(wrong) < 0.03 * len(texts)


def test_the_unkind_and_the_off_topic_hurt_or_carry_nothing() -> None:
    hurtful = [dismisses(s) for text in KIND["none"] for s in sentences(text)]
    assert np.mean(hurtful) > 0.07
