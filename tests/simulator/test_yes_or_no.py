"""Yes and no: said where a question, an offer or an accusation takes them, and not contradicted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from harness.config.run import DifficultyConfig
from harness.simulator.personas import EVERYONE
from harness.simulator.protocol import HELD_OUT, TRAIN, ConversationKey, SupporterReply
from harness.simulator.scripted import answers, lines
from harness.simulator.scripted.questions import question_in
from harness.simulator.scripted.said_back import denial, statements
from harness.simulator.scripted.user import ScriptedSimulator
from harness.simulator.scripted.words import sentences, words
from harness.simulator.state import Disclosures
from tests.calibration.levels import LEVELS as CONFIGS


def test_yes_and_no_begin_the_answer_to_what_takes_them() -> None:
    begins = {line.split()[0].strip(".,") for name in ("yes", "no")
              for line in lines.rows_of(lines.ANSWERS[name])} | {"Yes", "No"}  # fmt: skip
    simulator = ScriptedSimulator(CONFIGS["medium"])
    reply = SupporterReply("Has anything helped you a little?")
    right = count = 0
    for group in range(60):
        (opening,) = simulator.open([ConversationKey(4, 0, group, 0, HELD_OUT)])
        (turn,) = simulator.answer([opening], [reply])
        if turn.ended is None and len(turn.state.disclosed.told) > 1:
            count += 1
            right += words(sentences(turn.text)[1])[0] in {word.lower() for word in begins}
    assert count > 40
    assert right > 0.95 * count


def answer_of(index: int, text: str) -> list[str]:
    """The sentences by which one of EVERYONE, who has told their first fact, answers a question;
    a yes or no of theirs is said in a word, not as a whole sentence."""
    (opening,) = ScriptedSimulator(DifficultyConfig()).open([ConversationKey(4, 0, 0, 0, TRAIN)])
    user = replace(opening.state.user, persona_index=index)
    question = question_in(text)
    assert question is not None
    state = replace(opening.state, user=user, disclosed=Disclosures((0,)))
    return list(answers.answer(state, question, True, (0.99,) * 12).sentences)


def yes_or_no(sentence: str) -> str | None:
    """`yes` or `no` where that is what a sentence says."""
    says = [way for way in ("yes", "no") if sentence in lines.rows_of(lines.ANSWERS[way])]
    return says[0] if says else None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Are you sleeping well?", "no"),
        ("Do you have trouble sleeping?", "yes"),
        ("Do you eat enough?", "no"),
        ("Can you afford the rent?", "no"),
        ("Do you have money problems?", "yes"),
    ],
)
def test_who_is_not_well_says_so_however_it_is_asked(text: str, expected: str) -> None:
    said = [yes_or_no(answer_of(index, text)[0]) for index in range(len(EVERYONE))]
    assert said.count(expected) > 0.9 * len(EVERYONE)
    assert said.count("no" if expected == "yes" else "yes") == 0


@pytest.mark.parametrize(
    ("name", "text", "expected", "told"),
    [
        ("new-team", "Have you talked to Sofie about it?", "no", "not found the courage"),
        ("grandmother", "Does anyone know about it?", "no", "Nobody knows"),
        ("mistake", "Does anyone know about it?", "yes", "My whole floor knows"),
        ("village", "Do you live with your family?", None, "no children"),
        ("baby", "Do you have anyone who supports you?", None, "My mum is in another country."),
        ("boss", "Do you have anyone who supports you?", None, "Ana put a coffee on my desk"),
        ("faith", "Do you have anyone who supports you?", None, "seems to understand me"),
        ("home-care", "Do you live with your family?", None, "Karl died nine years ago"),
        ("grant", "Do you live with your family?", None, "two days away by train"),
    ],
)
def test_yes_or_no_does_not_contradict_the_sentence_that_follows(
    name: str, text: str, expected: str | None, told: str
) -> None:
    """None: the sentence answers neither yes nor no, `without a word` is no no."""
    index = next(n for n, person in enumerate(EVERYONE) if person.name == name)
    first, *more = answer_of(index, text)
    assert told in " ".join([first, *more])
    assert yes_or_no(first) == expected


def test_a_feeling_that_is_asked_about_is_owned_or_not() -> None:
    not_mine = lines.rows_of(lines.ANSWERS["other_feeling"])
    for index, person in enumerate(EVERYONE):
        for feeling in ("angry", "lonely", "ashamed", *person.feelings):
            said = answer_of(index, f"Do you feel {feeling}?")
            denials = {line.format(e=feeling).capitalize() for line in not_mine}
            is_theirs = feeling in person.feelings
            assert (f"I feel {feeling}." in said) == is_theirs, said
            assert (said[0].capitalize() in denials) != is_theirs, said


@pytest.mark.parametrize(
    ("text", "taken", "declined"),
    [
        ("Would you like to go through it together?", "accept", "decline"),
        ("Shall we look at it together?", "accept", "decline"),
        ("Could you take a day off?", "could", "could_not"),
    ],
)
def test_an_offer_is_taken_by_whom_it_helps_alone(text: str, taken: str, declined: str) -> None:
    seen = Counter[bool]()
    for threshold in (-5.0, 5.0):
        simulator = ScriptedSimulator(DifficultyConfig(threshold=threshold, stop_below=0))
        for group in range(40):
            turn, *_ = simulator.open([ConversationKey(4, 0, group, 0, HELD_OUT)])
            (turn,) = simulator.answer([turn], [SupporterReply(text)])
            rises = (turn.change or 0) > 0
            said = [lines.expand_contractions(sentence) for sentence in sentences(turn.text)]
            pool = lines.rows_of(lines.ANSWERS[taken if rises else declined])
            pool += () if rises else lines.rows_of(lines.LINES["fall.offer"])
            assert not set(said).isdisjoint(pool), turn.text
            seen[rises] += 1
    assert min(seen[True], seen[False]) > 30


def test_yes_and_no_are_said_as_whole_sentences() -> None:
    assert statements("Do you blame yourself?") == (
        "Yes, I blame myself.",
        "No, I do not blame myself.",
    )
    assert statements("Have you told anyone?") == ("", "No, I have not told anyone.")


@pytest.mark.parametrize(
    ("accusation", "said"),
    [
        ("you are so weak", "No, I am not weak."),
        ("you brought this on yourself and you know it", "No, I did not bring this on myself."),
        ("you sound like a spoiled child who wants attention", "No, I am not a spoiled child."),
        ("i think you are making it all up", "No, I am not making it all up."),
        ("you are not alone", ""),
        ("that is pathetic", ""),
    ],
)
def test_an_accusation_is_denied_in_the_first_person(accusation: str, said: str) -> None:
    assert denial(accusation) == said
