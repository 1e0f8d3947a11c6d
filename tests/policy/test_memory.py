"""What the tabular policy remembers of a conversation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.config.run import EMOTIONAL_INTENTIONS, INTENTIONS, STRATEGIES
from harness.policy import memory
from harness.policy.memory import NOTHING_YET, Memory, after_acts, after_messages, empty_memory

SAID = (
    "It is about my exam. I feel so ashamed.",
    "Thank you, that helps. I failed the exam twice. Please just listen to me.",
    "That does not help me. I feel how it is.",
    "I think about it all day. I failed the exam twice.",
    "",
)

RECEPTION = np.zeros((2, len(INTENTIONS), len(STRATEGIES)))
RECEPTION[0, INTENTIONS.index("venting"), STRATEGIES.index("question")] = 3.0
RECEPTION[1, INTENTIONS.index("advice"), STRATEGIES.index("question")] = 3.0


def act(name: str) -> np.ndarray:
    return np.array([STRATEGIES.index(name)])


def conversation(words: list[str], acts: list[int]) -> Memory:
    now = empty_memory(1)
    for text, played in zip(words, acts, strict=True):
        now = after_acts(after_messages(now, [text], RECEPTION), np.array([played]))
    return now


def test_before_the_opening_everything_is_equally_likely_and_nothing_was_played() -> None:
    before = empty_memory(2)
    np.testing.assert_allclose(before.belief, 1 / len(INTENTIONS))
    assert before.own.tolist() == [NOTHING_YET] * 2
    assert before.replies.tolist() == [0, 0]


def test_a_need_that_was_named_is_remembered_once_others_speak() -> None:
    named = after_messages(empty_memory(1), ["Please just listen to me."], RECEPTION)
    later = after_messages(
        after_acts(named, act("question")), ["I failed the exam twice."], RECEPTION
    )
    for heard in (named, later):
        assert INTENTIONS[heard.belief[0].argmax()] == "venting"
        assert heard.belief[0].max() > 0.98
    assert named.fact.tolist() == [0]
    assert later.fact.tolist() == [1]


def test_a_kind_that_shows_leaves_four_intentions() -> None:
    heard = after_messages(empty_memory(1), ["Yes. I feel how it is."], RECEPTION)
    belief = dict(zip(INTENTIONS, heard.belief[0], strict=True))
    assert sum(belief[i] for i in EMOTIONAL_INTENTIONS) > 0.97
    assert len({round(belief[i], 9) for i in EMOTIONAL_INTENTIONS}) == 1


def test_how_each_strategy_was_taken_is_kept_until_it_is_played_again() -> None:
    now = after_messages(empty_memory(1), ["It is about my exam."], RECEPTION)
    assert not now.taken.any()
    now = after_messages(after_acts(now, act("restate")), ["Thank you, that helps."], RECEPTION)
    now = after_messages(after_acts(now, act("suggest")), ["That does not help me."], RECEPTION)
    taken = dict(zip(STRATEGIES, now.taken[0], strict=True))
    assert (taken["restate"], taken["suggest"]) == (1, -1)
    assert now.played[0].sum() == 1  # the last strategy is `own`
    now = after_messages(after_acts(now, act("restate")), ["That does not help me."], RECEPTION)
    assert now.taken[0, STRATEGIES.index("restate")] == -1


@given(st.lists(st.tuples(st.sampled_from(SAID), st.integers(0, 7)), min_size=1, max_size=6))
def test_conversations_side_by_side_are_those_held_alone(exchanges: list[tuple[str, int]]) -> None:
    words, acts = [e[0] for e in exchanges], [e[1] for e in exchanges]
    alone = conversation(words, acts)
    both, here = empty_memory(3), np.array([2])
    for text, played in exchanges:
        heard = after_messages(memory.select_conversations(both, here), [text], RECEPTION)
        both = memory.replace_conversations(both, here, after_acts(heard, np.array([played])))
    for name in Memory.__slots__:
        np.testing.assert_array_equal(getattr(both, name)[2], getattr(alone, name)[0])
        np.testing.assert_array_equal(getattr(both, name)[0], getattr(empty_memory(1), name)[0])


def test_a_reply_taken_well_speaks_for_those_whom_it_suits() -> None:
    """By Bayes' rule: P(well | suits) = 1 / (1 + exp(-3)), for the others a half."""
    asked = after_acts(after_messages(empty_memory(1), ["Hm."], RECEPTION), act("question"))
    suits = 1 / (1 + np.exp(-3))
    for words, chance in (("Thank you, that helps.", suits), ("That does not help.", 1 - suits)):
        belief = after_messages(asked, [words], RECEPTION).belief[0]
        wanted = chance / (chance + 7 / 2)
        np.testing.assert_allclose(belief[INTENTIONS.index("venting")], wanted)
    unmoved = after_messages(asked, ["Hm."], RECEPTION).belief[0]
    np.testing.assert_allclose(unmoved, 1 / len(INTENTIONS))


@pytest.mark.parametrize("answer", ["Thank you, that helps.", "That does not help."])
def test_how_a_reply_to_a_test_is_taken_says_nothing_of_the_intention(answer: str) -> None:
    test = "I see. You put words in my mouth, and then you say they are mine."
    tested = after_acts(after_messages(empty_memory(1), [test], RECEPTION), act("question"))
    after = after_messages(tested, [answer], RECEPTION)
    np.testing.assert_array_equal(after.belief[0], np.full(len(INTENTIONS), 1 / len(INTENTIONS)))
    later = after_messages(after_acts(after, act("question")), [answer], RECEPTION)
    assert later.belief[0].max() > later.belief[0].min()


def test_what_suits_is_another_table_from_the_fourth_reply_on() -> None:
    now = after_messages(empty_memory(1), ["Hm."], RECEPTION)
    for _ in range(3):
        now = after_messages(after_acts(now, act("other")), ["Hm."], RECEPTION)
    now = after_messages(after_acts(now, act("question")), ["Thank you, that helps."], RECEPTION)
    assert INTENTIONS[now.belief[0].argmax()] == "advice"
