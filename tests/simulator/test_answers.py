"""Questions are understood, and answered from what this persona could tell, or not at all."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from harness.calibration.validity.replies import singles
from harness.config.run import LEVELS, DifficultyConfig
from harness.simulator.personas import EVERYONE, PERSONAS
from harness.simulator.protocol import HELD_OUT, TRAIN, ConversationKey, SupporterReply, UserTurn
from harness.simulator.scripted import lines
from harness.simulator.scripted.questions import question_in
from harness.simulator.scripted.relevance import NEAR
from harness.simulator.scripted.user import ScriptedSimulator
from harness.simulator.scripted.words import content, sentences, words
from tests.calibration.levels import LEVELS as CONFIGS

QUESTIONS = {
    "When did all this start?": "since_when",
    "How long have you been feeling like that?": "since_when",
    "How often does he do that?": "how_often",
    "What exactly happened that evening?": "happened",
    "And how do you feel now?": "feeling",
    "What have you tried so far?": "tried",
    "What helps you, even a little?": "helps",
    "What do you need from me right now?": "need",
    "Are you safe at the moment?": "safe",
    "Do you sometimes think about suicide?": "safe",
    "How are you sleeping these days?": "sleep",
    "have you eaten anything today?": "food",
    "How is it going at work?": "work",
    "Who else knows about it?": "who_knows",
    "What are you most afraid of?": "fear",
    "What did she say to you?": "others_say",
    "Have you talked to him about it?": "talked",
    "What was it like before?": "before",
    "Can you tell me how your nights are?": "sleep",
    "Do you live alone?": "home",
}


IN_OTHER_WORDS = {
    "Do you feel safe at home?": "safe_there",
    "Are you safe with him?": "safe_there",
    "What would you need from me to feel safe talking again?": "need",
    "Since how many time you have this problem?": "since_when",
    "And then?": "happened",
    "what is the worst part for you": "worse",
    "do u sleep ok": "sleep",
    "Who in your family knows how bad it is?": "who_knows",
    "What are you afraid would happen if you told them?": "fear",
    "Where are you living at the moment, and with whom?": "home",
    "How did it feel to read that?": "read",
    "Did I get that right?": "checked",
}
"""Wordings beside QUESTIONS, some of which are not answered from a life."""


def answer(text: str, group: int, level: str = "medium", split: str = HELD_OUT) -> UserTurn:
    simulator = ScriptedSimulator(CONFIGS[level])
    (opening,) = simulator.open([ConversationKey(4, 0, group, 0, split)])
    return simulator.answer([opening], [SupporterReply(text)])[0]


@pytest.mark.parametrize(("text", "subject"), {**QUESTIONS, **IN_OTHER_WORDS}.items())
def test_a_question_is_understood_for_what_it_asks(text: str, subject: str) -> None:
    question = question_in(f"I see. {text}")
    assert question is not None
    assert question.subject == subject


@pytest.mark.parametrize(
    "text", ["I am here with you.", "That must hurt.", "Really?", "That is safe to say.", ""]
)
def test_what_asks_nothing_is_no_question(text: str) -> None:
    assert question_in(text) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Do you sleep?", "yes_no"),
        ("How do you sleep?", "open"),
        ("Is it the mornings or the evenings?", "either"),
        ("Would you like to go through it together?", "offer"),
        ("Could you take a day off?", "proposal"),
        ("So you feel ashamed of it?", "guess"),
        ("I guess he is lonely, don't you think", "guess"),
        ("Do you have somebody, a friend or the family?", "yes_no"),
        ("Tell me more about your boss.", "open"),
    ],
)
def test_a_question_takes_an_answer_of_its_kind(text: str, kind: str) -> None:
    question = question_in(text)
    assert question is not None
    assert question.kind == kind


def test_most_questions_on_a_topic_are_answered_from_it() -> None:
    """The rest are refused, or hold no sentence of a persona; none has one that is unconnected."""
    told, all_answers = Counter[str](), 0
    for text, subject in QUESTIONS.items():
        for group in range(30):
            turn = answer(text, group)
            new = turn.state.disclosed.told[1:] if turn.ended is None else ()
            all_answers += 1
            told["any"] += bool(new)
            for index in new:
                sentence = turn.state.user.persona.tellable[index]
                shared = content(sentence.text) & content(text)
                told["right"] += sentence.topic in (subject, *NEAR.get(subject, ())) or (
                    sentence.topic == "fact" and bool(shared)
                )
    assert told["right"] == told["any"]
    assert told["any"] > 0.75 * all_answers


def test_the_sentence_that_names_whom_it_is_about_is_preferred() -> None:
    boss = next(n for n, person in enumerate(EVERYONE) if person.name == "son")
    persona = EVERYONE[boss]
    simulator = ScriptedSimulator(DifficultyConfig(threshold=-5.0))
    groups = range(400)
    opening = next(
        turn
        for turn in simulator.open([ConversationKey(4, 0, g, 0, HELD_OUT) for g in groups])
        if turn.state.user.persona is persona
    )
    for name in ("Clara", "Jorge"):
        (turn,) = simulator.answer([opening], [SupporterReply(f"What does {name} say?")])
        assert name in turn.text, turn.text


def share_not_told(level: str) -> float:
    """Of answers to the tuned questions, those that refuse or ask back."""
    closed = [lines.ANSWERS[name] for name in ("rather_not", "unknown")]
    starts = {
        line.partition("{")[0] for table in closed for line in lines.rows_of(table)
        if len(line.partition("{")[0].split()) > 1
    }  # fmt: skip
    asks = [s.text for s in singles() if s.category == "question" and s.half == "tuned"]
    answers = [answer(text, group, level) for group, text in enumerate(asks * 3)]
    silent = [any(start in lines.expand_contractions(a.text) for start in starts) for a in answers]
    return sum(silent) / len(silent)


@pytest.mark.parametrize("level", LEVELS)
def test_few_questions_are_refused_or_asked_back(level: str) -> None:
    assert share_not_told(level) <= 0.2


def test_a_used_up_topic_is_said_to_be_told() -> None:
    simulator = ScriptedSimulator(DifficultyConfig(threshold=-5.0, stop_below=0))
    already = lines.rows_of(lines.ANSWERS["told_already"])
    for group in range(20):
        (turn,) = simulator.open([ConversationKey(4, 0, group, 0, TRAIN)])
        for text in ("How do you sleep?", "And your sleep?", "How were you sleeping last week?",
                     "Do you sleep at all?"):  # fmt: skip
            if turn.ended is None:
                (turn,) = simulator.answer([turn], [SupporterReply(text)])
        if turn.ended is None:
            assert any(line in lines.expand_contractions(turn.text) for line in already), turn.text


@pytest.mark.parametrize("threshold", [-5.0, 5.0], ids=["helped", "not helped"])
def test_most_is_told_unasked_and_a_sentence_at_a_time(threshold: float) -> None:
    """Whoever is free with words goes on telling, whether the reply helped or not."""
    difficulty = DifficultyConfig(threshold=threshold, stop_below=0, disclosure="free")
    simulator, told = ScriptedSimulator(difficulty), 0
    for group in range(60):
        turn, *_ = simulator.open([ConversationKey(4, 0, group, 0, HELD_OUT)])
        (turn,) = simulator.answer([turn], [SupporterReply("I am here with you, take your time.")])
        new = turn.state.disclosed.told[1:]
        tellable = turn.state.user.persona.tellable
        assert len(new) <= 1
        assert all(tellable[index].text in lines.expand_contractions(turn.text) for index in new)
        told += len(new)
    assert told > 0.6 * 60


def test_a_long_word_is_not_said_back_at_length() -> None:
    text = f"Would you like to say a bit more to me about the {'a' * 1850} that you have?"
    for group in range(20):
        assert len(answer(text, group, "easy").text) < 600


def test_a_feeling_asked_about_is_said_before_its_reason() -> None:
    count = 0
    for group in range(40):
        turn = answer("How do you feel now?", group)
        told, feelings = turn.state.disclosed, turn.state.user.persona.feelings
        if turn.ended is None and len(told.told) > 1:
            count += 1
            second = sentences(turn.text)[1]
            assert any(feeling in words(second) for feeling in feelings), turn.text
    assert count > 20


@pytest.mark.parametrize("level", LEVELS)
def test_safety_is_answered_seriously_even_by_who_leaves(level: str) -> None:
    for group in range(40):
        turn = answer("Are you thinking of ending your life?", group, level)
        persona = turn.state.user.persona
        safe = [told.text for told in persona.tellable if told.topic == "safe"]
        assert any(text in lines.expand_contractions(turn.text) for text in safe), turn.text


def test_cruelty_about_dying_is_met_with_hurt() -> None:
    grave = set(lines.rows_of(lines.LINES["fall.death"]))
    neutral = lines.all_lines(["flat"])
    for group in range(30):
        turn = answer("You are pathetic, nobody would care if you were dead.", group, "easy")
        first = sentences(lines.expand_contractions(turn.text))[0]
        assert first in grave | neutral, turn.text
        assert turn.state.disclosed.told == (0,)


def test_rises_and_falls_can_be_told_apart_by_words_alone() -> None:
    """A naive Bayes classifier of one half of the personas' reactions, read to the other half."""
    by_half: tuple[list[tuple[str, bool]], list[tuple[str, bool]]] = ([], [])
    simulator = ScriptedSimulator(DifficultyConfig(disclosure="free", stop_below=0))
    replies = [s.text for s in singles() if s.half == "tuned" and s.category == "natural"]
    for group in range(240):
        (turn,) = simulator.open([ConversationKey(4, 0, group, 0, TRAIN)])
        for number in range(6):
            text = replies[(group * 7 + number) % len(replies)]
            if turn.ended is None:
                (turn,) = simulator.answer([turn], [SupporterReply(text)])
                if turn.ended is None and voice_shows(turn.text):
                    half = turn.state.user.persona_index % 2
                    by_half[half].append((sentences(turn.text)[0], (turn.change or 0) > 0))
    train, other = by_half
    counts = {way: Counter(w for text, rises in train if rises == way for w in set(words(text)))
              for way in (True, False)}  # fmt: skip
    total = {way: sum(rises == way for _, rises in train) for way in (True, False)}

    def score(text: str) -> float:
        return sum(
            math.log((counts[True][w] + 0.5) / (total[True] + 1))
            - math.log((counts[False][w] + 0.5) / (total[False] + 1))
            for w in set(words(text))
        )

    right = sum((score(text) > 0) == rises for text, rises in other)
    assert len(other) > 300
    assert right >= 0.9 * len(other)


def voice_shows(text: str) -> bool:
    return sentences(text)[0] not in lines.all_lines(["flat", "puzzled"])


def test_every_persona_answers_every_topic_of_a_life() -> None:
    assert len(PERSONAS[TRAIN]) == 40
    assert len(PERSONAS[HELD_OUT]) == 20
    for person in EVERYONE:
        assert len({told.topic for told in person.tellable}) == 26
