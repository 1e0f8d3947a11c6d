"""What strategies a batch holds, by hand."""

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from harness.config.run import TEMPERAMENTS
from harness.simulator.protocol import ConversationKey, SupporterReply
from harness.simulator.state import Disclosures, State, User
from harness.train.metrics.conversation_metrics import alliance_metrics, strategy_metrics
from harness.train.metrics.replies import reply_metrics
from harness.train.rollout.conversation import Conversation
from tests.train.made import conversation, rows_of, tabular, user_turn


def conversation_of(sample: int, temperament: str, *replies: tuple[str, ...]) -> Conversation:
    exchanges = [
        (SupporterReply("Hm."), user_turn(40, strategies=strategies)) for strategies in replies
    ]
    return conversation(0, sample, 40, exchanges, temperament)


def test_grounding_and_entropy_by_temperament_equal_those_worked_out_by_hand() -> None:
    measured = strategy_metrics(
        [
            conversation_of(
                0, "negative", ("question", "question"), ("restate", "suggest"), ("reflect",)
            ),
            conversation_of(1, "negative", ("reflect", "reflect"), ("reflect", "inform")),
            conversation_of(2, "passive", ("suggest",), ()),
            conversation_of(3, "passive", ("suggest",)),
        ]
    )
    # two questions, one restatement, two replies that only acknowledge; eight replies
    assert measured["grounding/per_100_turns"] == pytest.approx(100 * 5 / 8)
    mix = [2 / 9, 1 / 9, 1 / 9, 4 / 9, 1 / 9]
    wanted = -sum(p * math.log(p) for p in mix)
    assert measured["strategy/entropy_by_temperament/negative"] == pytest.approx(wanted)
    assert measured["strategy/entropy_by_temperament/passive"] == 0
    assert measured["strategy/entropy_by_temperament/avoidant"] is None


def test_what_asking_is_worth_and_what_meets_a_feeling_equal_those_worked_out_by_hand() -> None:
    told = {"fact": "Hm. My sister moved out in May.", "feeling": "Hm. I feel sad.", "": "Hm."}

    def talk(sample: int, *replies: tuple[str, str]) -> Conversation:
        exchanges = [
            (SupporterReply("Hm."), user_turn(40, told[answer], strategies=(strategy,)))
            for strategy, answer in replies
        ]
        return conversation(0, sample, 40, exchanges)

    measured = reply_metrics(
        [
            talk(0, ("question", "fact"), ("affirm", "feeling"), ("suggest", "")),
            talk(1, ("question", ""), ("question", "feeling"), ("reflect", "fact")),
        ]
    )
    # one fact of three questions, one of three other replies; two feelings, one met by advice
    nobody_knows = {"solving/where_wanted": None, "solving/where_unwanted": None}
    found = {"grounding/question_value": 0.0, "solving/after_feeling": 0.5}
    assert measured == found | nobody_knows
    asked_alone = reply_metrics([talk(0, ("question", "fact"))])
    assert asked_alone == dict.fromkeys(found) | nobody_knows
    worth = reply_metrics([talk(0, ("question", "fact"), ("affirm", ""))])
    assert worth["grounding/question_value"] == 1.0


def talk(sample: int, intention: str, trust: int, *strategies: str) -> Conversation:
    """A conversation with a user who came for this, in replies of one strategy each."""
    state = State(
        ConversationKey(1, 1, 0, sample), User(0, intention, "passive"), 40, 40.0, Disclosures()
    )
    answers = [
        user_turn(40, strategies=(s,), state=replace(state, trust=trust)) for s in strategies
    ]
    made = conversation(0, sample, 40, [(SupporterReply("Hm."), answer) for answer in answers])
    return replace(made, opening=made.opening.with_state(state))


def test_solving_is_told_apart_by_what_the_user_came_for() -> None:
    comforted = talk(0, "venting", 1, "suggest", "reflect", "affirm", "inform", "reflect")
    advised = [talk(1, "advice", 1, "suggest", "reflect"), talk(2, "growth", 1, "inform")]
    measured = reply_metrics([comforted, *advised])
    assert measured["solving/where_wanted"] == pytest.approx(2 / 3)
    assert measured["solving/where_unwanted"] == pytest.approx(2 / 5)
    assert reply_metrics([comforted])["solving/where_wanted"] is None


def test_what_answers_a_test_tells_neither_of_solving_nor_of_the_alliance() -> None:
    plain = talk(1, "advice", 1, "suggest", "reflect")
    first, second = plain.exchanges
    answer = replace(second.answer, why={"test": -3.5})
    tested = replace(plain, exchanges=(first, replace(second, answer=answer)))
    assert reply_metrics([plain])["solving/where_wanted"] == 0.5
    assert reply_metrics([tested])["solving/where_wanted"] == 1.0
    assert alliance_metrics([plain])["alliance/task"] == 0.5
    assert alliance_metrics([tested])["alliance/task"] == 1.0


def test_the_alliance_is_the_mean_of_conversations_that_have_it() -> None:
    served, unserved = talk(0, "deep_empathy", 3, "reflect"), talk(1, "advice", 0, "affirm")
    nobody = conversation_of(2, "passive", ("affirm",))  # whose user has no memory
    assert alliance_metrics([served, unserved, nobody]) == pytest.approx(
        {"alliance/bond": 0.5, "alliance/goal": 0.5, "alliance/task": 0.5, "alliance/mean": 0.5}
    )
    assert alliance_metrics([served])["alliance/mean"] == 1.0


def test_a_run_counts_each_temperament_apart(tmp_path: Path) -> None:
    row = rows_of(tmp_path, tabular(steps=1, conversations=64))[0]
    table = pq.read_table(tmp_path / "conversations" / "step-00001.parquet").to_pylist()
    counts: dict[str, Counter[str]] = {t: Counter() for t in TEMPERAMENTS}
    for turn in table:
        if turn["strategies"]:
            counts[turn["temperament"]].update(turn["strategies"])
    assert sum(bool(c) for c in counts.values()) > 1
    for name, count in counts.items():
        shares = [n / count.total() for n in count.values()]
        value = -sum(p * math.log(p) for p in shares) if shares else None
        assert row[f"strategy/entropy_by_temperament/{name}"] == pytest.approx(value)
    assert json.dumps(row["grounding/per_100_turns"]) != "null"
