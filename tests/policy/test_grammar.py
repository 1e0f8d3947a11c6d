"""The phrase grammar says what it is asked to, in the user's words, and knows its sentences."""

import random
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.config.run import STRATEGIES, DifficultyConfig, SimulatorConfig
from harness.policy.grammar import covers, random_reply, slots, speak, take_up
from harness.policy.listening import NOTHING, listen, turn_round
from harness.policy.phrases import PHRASES, POOR, TAKING_UP
from harness.simulator.factory import make
from harness.simulator.protocol import HELD_OUT, TRAIN, ConversationKey, SupporterReply
from harness.simulator.scripted.reading import read
from harness.simulator.scripted.sentence_reader import recognise

OPENING = "It is about my exam. I failed the exam twice. I feel so ashamed."


@pytest.mark.parametrize(
    ("said", "said_back"),
    [
        ("I failed the exam twice", "you failed the exam twice"),
        ("My boss shouted at me", "your boss shouted at you"),
        ("I was on a trip when they called", "you were on a trip when they called"),
        ("We had to sell our old house", "you had to sell your old house"),
        ("Nobody asked me if I could come", "nobody asked you if you could come"),
        ("I am not sure I can do this by myself", "you are not sure you can do this by yourself"),
        ("It was hard, and I'm tired", "it was hard, and you are tired"),
    ],
)  # fmt: skip
def test_the_users_words_are_turned_round(said: str, said_back: str) -> None:
    assert turn_round(said) == said_back


def test_listening_splits_words_into_topic_facts_and_feelings() -> None:
    heard = listen([OPENING, "That helps. My parents paid for the course. Please listen to me."])
    assert heard.topics == ("your exam",)
    assert heard.facts == ("you failed the exam twice", "your parents paid for the course")
    assert heard.feelings == ("ashamed",)


def test_thanks_needs_and_questions_are_not_facts() -> None:
    assert (
        listen(["Thank you, that helps. Please tell me what I can do. What do I do now?"]).facts
        == ()
    )


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_strategy_can_be_spoken_to_someone_who_said_nothing_to_take_up(strategy: str) -> None:
    assert covers(speak(strategy, ["Hello."], random.Random(1).random), messages=["Hello."])


def test_a_reply_takes_up_the_newest_fact_most_often() -> None:
    draws = random.Random(1)
    heard = [OPENING, "My parents paid for the course."]
    replies = [speak("restate", heard, draws.random) for _ in range(400)]
    newest = sum("your parents paid" in r for r in replies)
    oldest = sum("you failed the exam" in r for r in replies)
    assert newest > 2 * oldest > 0


WORDS = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.sampled_from(
            [
                "I",
                "me",
                "my",
                "was",
                "lost",
                "a",
                "3",
                "(two)",
                "it's",
                "is",
                "about",
                "so,",
                "sad",
                "feel.",
                "failed?",
                "élan",
            ]
        ),
        max_size=20,
    ).map(" ".join),
)


@given(st.lists(WORDS, min_size=1, max_size=4), st.integers(0, 2**32))
def test_any_words_get_a_reply_that_the_grammar_covers(heard: list[str], seed: int) -> None:
    draw = random.Random(seed).random
    for strategy in STRATEGIES:
        assert covers(speak(strategy, heard, draw), heard)
    assert covers(random_reply(heard, draw), heard)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "You said that.",
        "What I hear is that you failed the exam twice",
        "It sounds like, and that is hard.",
        "You are exam the telling me that.",
        "Take all the time you need. You the need.",
    ],
)
def test_other_text_is_not_covered(text: str) -> None:
    assert not covers(text)


def test_with_the_conversation_at_hand_only_what_was_said_may_fill_a_slot() -> None:
    assert covers("You said that your dog died on Friday.")
    assert not covers("You said that your dog died on Friday.", messages=[OPENING])
    assert covers("You said that you failed the exam twice.", messages=[OPENING])


def test_simulated_users_recognise_what_the_grammar_means() -> None:
    """At least 90% of the replies of every strategy, to users of both splits at all levels."""
    spoken: Counter[str] = Counter()
    recognised: Counter[str] = Counter()
    flagged = 0
    for meant, text, was_flagged in _replies():
        spoken[meant] += 1
        recognised[meant] += recognise(text) == (meant,)
        flagged += was_flagged
    shares = {strategy: recognised[strategy] / spoken[strategy] for strategy in STRATEGIES}
    assert {strategy: share for strategy, share in shares.items() if share < 0.9} == {}
    assert flagged < 0.01 * spoken.total()


def _replies() -> Iterator[tuple[str, str, bool]]:
    draw = random.Random(7)
    for disclosure in ("free", "hint", "never"):
        users = make(SimulatorConfig(), DifficultyConfig(disclosure=disclosure))
        for group in range(120):
            split = (TRAIN, HELD_OUT)[group % 2]
            turn = users.open([ConversationKey(3, 1, group, 0, split)])[0]
            heard = [turn.text]
            while turn.ended is None:
                meant = draw.choice(STRATEGIES)
                text = speak(meant, heard, draw.random)
                turn = users.answer([turn], [SupporterReply(text)])[0]
                heard.append(turn.text)
                yield meant, text, turn.flagged


@pytest.fixture(scope="module")
def facts() -> list[str]:
    """What 60 users of both splits tell in their opening, said back."""
    users = make(SimulatorConfig(), DifficultyConfig(disclosure="free"))
    keys = [ConversationKey(3, 1, n, 0, (TRAIN, HELD_OUT)[n % 2]) for n in range(60)]
    return sorted({fact for turn in users.open(keys) for fact in listen([turn.text]).facts})


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_users_recognise_every_sentence_that_takes_up_a_fact(
    strategy: str, facts: list[str]
) -> None:
    """Each phrase alone, since the policy may come to say only one."""
    assert len(facts) > 30
    for phrase in TAKING_UP[strategy]:
        right = [recognise(phrase.format(clause=fact)) == (strategy,) for fact in facts]
        assert sum(right) >= 0.9 * len(facts), phrase


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_fact_is_taken_up_in_new_words_while_there_are_any(strategy: str) -> None:
    mentions, draws = listen([OPENING, "My parents paid for the course."]), random.Random(4)
    said = set[str]()
    for _ in TAKING_UP[strategy]:
        said.add(take_up(strategy, mentions, said, draws.random))
    assert len(said) == len(TAKING_UP[strategy]) == 7
    assert all("your parents paid for the course" in reply for reply in said)
    assert take_up(strategy, mentions, said, draws.random) in said
    assert all(covers(reply, [OPENING, "My parents paid for the course."]) for reply in said)


def test_without_a_fact_nothing_is_taken_up() -> None:
    assert take_up("restate", NOTHING, set(), lambda: 0.0) == speak("restate", [], lambda: 0.0)


def test_poor_replies_carry_no_strategy_and_hurt() -> None:
    for phrase in POOR:
        text = phrase.format(topic="your exam")
        assert read(text).strategies == ()
        assert read(text).hurts


def test_every_strategy_has_some_ten_phrases_and_none_twice() -> None:
    everything = [p for phrases in PHRASES.values() for p in phrases] + list(POOR)
    assert set(PHRASES) == set(STRATEGIES)
    assert all(10 <= len(phrases) <= 12 for phrases in PHRASES.values())
    assert len(set(everything)) == len(everything)


def test_rightly_filled_slots_are_told_from_misremembered_ones() -> None:
    heard = ["It is about my exam. I failed the exam twice.", "No. I feel so ashamed."]
    assert slots("You said that you failed the exam twice.", heard) == [("clause", True)]
    assert slots("You said that you failed the exam once.", heard) == [("clause", False)]
    assert slots(
        "So you are sad, and it began with your exam. Take all the time you need.", heard
    ) == [
        ("feeling", False),
        ("topic", True),
    ]
    assert slots("Bananas are yellow.", heard) == []
