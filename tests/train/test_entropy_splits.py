"""Which tokens open a strategy, and the entropies of both kinds."""

from typing import Any

import numpy as np
import pytest

from harness.policy.chat import Chat
from harness.train.engines.scoring import TokenRow
from harness.train.metrics import entropy_splits
from harness.train.metrics.entropy_splits import PlanningTokens, openings
from harness.train.metrics.token_metrics import TokenTrace


class Words:
    """A tokenizer with a token a word; id 0 ends a turn, 1 ends thinking."""

    def __init__(self) -> None:
        self.vocabulary = ["<end>", "</think>"]

    def decode(self, ids: list[int]) -> str:
        return " ".join(self.vocabulary[i] for i in ids) + " "

    def ids(self, text: str) -> list[int]:
        for word in text.split():
            if word not in self.vocabulary:
                self.vocabulary.append(word)
        return [self.vocabulary.index(word) for word in text.split()]


def planned(text: str, thought: int | None = None) -> tuple[list[str], PlanningTokens, TokenRow]:
    """The words of a reply that open a strategy, the planning that found them, and its tokens."""
    words: Any = Words()
    row = TokenRow()
    row.extend(words.ids("My boss shouted at me"))
    row.extend([*words.ids(text), 0], 1)
    planning = PlanningTokens(Chat(words, 0, 0, ((), ()), ((), ()), thought))
    marks = planning.plans(row)
    tokens = [*text.split(), "<end>"]
    return [w for w, mark in zip(tokens, marks, strict=True) if mark], planning, row


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("You could talk to someone you trust about it.", "You could talk"),
        ("It sounds like a lot. What if you took one small step?", "It sounds like What if you"),
        ("That sounds hard. Have you tried sleep?", "That sounds Have you tried"),
        ("Well I said you could talk to them", ""),
        ("Bananas are yellow.", ""),
    ],
)
def test_the_first_words_of_a_sentence_plan_where_they_open_a_strategy(
    text: str, wanted: str
) -> None:
    assert planned(text)[0] == wanted.split()


def test_tokens_of_thinking_open_no_strategy_and_count_as_neither() -> None:
    text = "You could talk </think> You could talk to them."
    openers, planning, row = planned(text, thought=1)
    assert openers == ["You", "could", "talk"]
    entropy = np.arange(10.0)  # the words, then <end>
    none = np.zeros(10)
    trace = TokenTrace(entropy, none, none, none, none.astype(int), none.astype(int))
    split = planning.entropies(trace, [row])
    assert split == {"entropy/planning": 5.0, "entropy/execution": 8.0}
    classes = planning.classes([row])
    assert list(classes) == ["planning", "execution", "thinking"]
    np.testing.assert_array_equal(sum(of.astype(int) for of in classes.values()), np.ones(10))


def test_a_reply_that_plans_nothing_has_no_planning_entropy() -> None:
    _, planning, row = planned("Bananas are yellow.")
    none = np.zeros(4)
    trace = TokenTrace(none + 0.5, none, none, none, none.astype(int), none.astype(int))
    split = planning.entropies(trace, [row])
    assert split == {"entropy/planning": None, "entropy/execution": 0.5}


def test_openings_are_short_and_without_slots() -> None:
    assert all(1 <= len(words.split()) <= 4 for words in openings())
    assert not any("{" in words for words in openings())
    assert "you could talk" in openings()


END = 9


def row(*turns: tuple[int, ...]) -> TokenRow:
    """User words (id 1) before each turn."""
    tokens = TokenRow()
    for number, ids in enumerate(turns, start=1):
        tokens.extend([1, 1])
        tokens.extend(ids, number)
    return tokens


def trace(entropy_nats: list[float]) -> TokenTrace:
    values, zeros = np.array(entropy_nats), np.zeros(len(entropy_nats))
    places = zeros.astype(np.int64)
    return TokenTrace(values, values, zeros, zeros, places, places + 1)


def test_each_turn_is_split_at_its_own_last_end() -> None:
    rows = [row((5, END, 5, END, 6), (END, 7)), row((8, 8))]
    #             thought          said | t    s          never came to an end
    split = entropy_splits.thinking_entropies(trace([1, 1, 1, 1, 4, 1, 6, 2, 2]), rows, END)
    assert split["entropy/thinking"] == pytest.approx((4 * 1 + 1 + 2 + 2) / 7)
    assert split["entropy/reply"] == pytest.approx(5)


def test_a_turn_that_never_ends_its_thinking_has_no_reply_entropy() -> None:
    assert entropy_splits.thinking_entropies(trace([1.0, 3.0]), [row((5, 5))], END) == {
        "entropy/thinking": 2.0,
        "entropy/reply": None,
    }
