"""The reply sets are what they are said to be, and say what their writers meant."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from harness.calibration import contexts, reply_measures
from harness.config.run import INTENTIONS, STRATEGIES, TEMPERAMENTS
from harness.errors import ConfigError
from harness.simulator.scripted.user import ScriptedSimulator
from harness.testing.simulator_contract import key
from tests.calibration.levels import ADVERSARIAL, LEVELS


def test_the_fixed_set_has_twelve_replies_for_each_strategy_and_half_of_them_held_out() -> None:
    counts = Counter((r.strategy, r.held_out) for r in contexts.fixed_replies())
    assert counts == {(s, held): 6 for s in STRATEGIES for held in (True, False)}
    assert len({r.text for r in contexts.fixed_replies()}) == 96


def test_the_free_set_has_a_reply_of_each_strategy_to_36_personas_and_half_are_held_out() -> None:
    per_person = Counter(r.persona_index for r in contexts.free_replies())
    assert set(per_person.values()) == {8}
    assert Counter(r.held_out for r in contexts.free_replies()) == {True: 144, False: 144}
    assert Counter(r.strategy for r in contexts.free_replies()) == dict.fromkeys(STRATEGIES, 36)


def test_a_fixed_reply_speaks_of_what_this_user_told_last() -> None:
    (turn, *_) = contexts.collect_contexts(LEVELS["medium"]).turns
    fact = turn.state.user.persona.tellable[turn.state.disclosed.told[-1]].text
    about = [r for r in contexts.fixed_replies() if "{fact}" in r.text]
    assert len(about) == 64
    reply = about[0].to(turn.state)
    assert "{" not in reply
    assert fact.split()[-1].rstrip(".") in reply


def test_a_free_reply_is_tried_on_users_of_every_kind() -> None:
    reply = contexts.free_replies()[0]
    for level in (LEVELS["medium"], ADVERSARIAL):
        users = contexts.users_of(reply, level)
        kinds = {(state.user.intention, state.user.temperament) for state in users}
        assert kinds == {(i, t) for i in INTENTIONS for t in TEMPERAMENTS}
        assert all((state.user.path is not None) == bool(level.paths) for state in users)


def test_contexts_at_a_level_are_those_of_its_users_and_of_the_same_turns() -> None:
    turns = ScriptedSimulator(LEVELS["medium"]).open([key(group=g) for g in range(40)])
    collected = contexts.ReplyContexts(tuple(turns), np.arange(40))
    moved = collected.at(ADVERSARIAL)
    assert {turn.state.user.path for turn in moved.turns} == {*ADVERSARIAL.paths}
    assert [turn.text for turn in moved.turns] == [turn.text for turn in turns]
    assert collected.at(LEVELS["hard"]).turns == collected.turns


@pytest.mark.parametrize("held_out", [True, False])
def test_the_strategy_of_free_wording_is_recognised(held_out: bool) -> None:
    agreement = reply_measures.strategy_agreement(held_out)
    assert agreement is not None
    assert agreement.low > 0.75


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tuning: {}\n", ":1: must have held_out, got 'tuning'"),
        ("tuning: {praise: [Well done.]}\nheld_out: {}\n", ":1: key must be one of question, "),
    ],
)
def test_fixed_replies_that_break_a_rule_are_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "replies.yaml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        contexts.read_fixed_replies(tmp_path / "replies.yaml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"told": 1, ', "", ":2: must be a JSON object with persona, told, feelings, strategy, "),
        ("}", "", ":2: must be a JSON object with "),
        ("exam", "nobody", ":2: persona must be one of .* got 'nobody'"),
        ("inform", "praise", ":2: strategy must be one of question, .* got 'praise'"),
    ],
)
def test_free_wording_that_breaks_a_rule_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    row = '{"persona": "exam", "told": 1, "feelings": ["sad"], "strategy": "inform", "text": "Hm."}'
    (tmp_path / "replies.jsonl").write_text(f"{row}\n{row.replace(old, new)}\n")
    with pytest.raises(ConfigError, match=message):
        contexts.read_free_replies(tmp_path / "replies.jsonl")
