"""What is held against a supporter: evidence of ill will adds up, fades and is forgiven in part."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.config.run import DifficultyConfig
from harness.simulator.protocol import HELD_OUT, ConversationKey, SupporterReply, UserTurn
from harness.simulator.scripted.dynamics import (
    MOST_GOODWILL,
    MOST_SUSPICION,
    next_suspicion,
)
from harness.simulator.scripted.user import ScriptedSimulator

STAYS = dataclasses.replace(DifficultyConfig(), stop_below=0)
CRUEL, KIND = "You brought this on yourself, you pathetic fool.", "I believe you, and I am here."
APOLOGY = "I am sorry, I should not have said that."
MILD = ("Well, you chose this.", "Did you do something to make him so angry?")
"""Cruel without a word that is so by itself."""
KIND_SENTENCES = (
    "I believe you.", "That sounds really hard.", "You did the best you could.",
    "It makes sense that you feel like this.", "Thank you for telling me.",
)  # fmt: skip
UNCLEAR = ("Maybe you should have thought of that before.", "You could have tried harder.")
"""May be meant either way."""
COLD = (
    "The office is open from nine to five on weekdays.",
    "There is a form for that on the website.",
    "The train to the city takes forty minutes.",
)
USERS = 12


def after(*replies: str, group: int = 0) -> UserTurn:
    simulator = ScriptedSimulator(STAYS)
    (turn,) = simulator.open([ConversationKey(1, 0, group, 0, HELD_OUT)])
    for reply in replies:
        (turn,) = simulator.answer([turn], [SupporterReply(reply)])
    return turn


@given(
    st.floats(-MOST_GOODWILL, MOST_SUSPICION), st.floats(-20, 20), st.floats(0, 5), st.booleans()
)
def test_suspicion_grows_with_evidence_within_bounds(
    before: float, evidence: float, more: float, apologises: bool
) -> None:
    value = next_suspicion(before, evidence, apologises)
    assert -MOST_GOODWILL <= value <= MOST_SUSPICION
    assert value <= next_suspicion(before, evidence + more, apologises)
    assert value <= next_suspicion(before, evidence, apologises=False)


def test_cruelty_is_hurtful_and_leaves_doubt() -> None:
    cruel, kind = after(CRUEL), after(KIND)
    assert float(cruel.why["hurt"]) < 0
    assert float(cruel.why["doubt"]) < 0
    assert (kind.why["hurt"], kind.why["doubt"], kind.why["coldness"]) == (0.0, 0.0, 0.0)


def test_kindness_beside_cruelty_does_not_undo_it() -> None:
    padded = f"{KIND} You are not alone. It is not your fault. {CRUEL}"
    assert float(after(padded).why["hurt"]) < 0


@pytest.mark.parametrize("mild", MILD)
def test_many_kind_sentences_do_not_undo_one_mildly_cruel(mild: str) -> None:
    """However many there are: five kind sentences weigh far more than one that is a little cruel,
    and that one is still heard."""
    padded = [" ".join([*KIND_SENTENCES[:n], mild, *KIND_SENTENCES[n:]]) for n in (0, 3, 5)]
    for group in range(USERS):
        assert after(" ".join(KIND_SENTENCES), group=group).why["hurt"] == 0
        for text in padded:
            assert float(after(text, group=group).why["hurt"]) < 0, text


@pytest.mark.parametrize("unclear", UNCLEAR)
def test_who_was_hurt_hears_an_unclear_reply_as_hurtful(unclear: str) -> None:
    """And who was met kindly does not: the same words, said to the same user."""
    for group in range(USERS):
        assert float(after(CRUEL, unclear, group=group).why["hurt"]) < 0
        assert after(KIND, unclear, group=group).why["hurt"] == 0


@pytest.mark.parametrize("cold", COLD)
def test_a_reply_without_any_kindness_is_cold(cold: str) -> None:
    for group in range(USERS):
        turn = after(cold, group=group)
        assert float(turn.why["coldness"]) < -1
        assert turn.why["hurt"] == 0, "but not hurtful"
        for kind in KIND_SENTENCES:
            assert after(kind, group=group).why["coldness"] == 0


def test_an_apology_repairs_in_part() -> None:
    hurt, repaired = after(CRUEL), after(CRUEL, APOLOGY)
    assert 0 < repaired.state.suspicion < 0.5 * hurt.state.suspicion
    assert next_suspicion(3.0, -0.5, apologises=True) == pytest.approx(0.85)
    assert next_suspicion(3.0, -0.5, apologises=False) == pytest.approx(1.9)
    assert after(CRUEL, KIND).state.suspicion > after(KIND).state.suspicion


def test_a_threat_ends_trust() -> None:
    warm = after(KIND, "What happened then?", "It is not your fault.")
    hurt = after(KIND, "What happened then?", "It is not your fault.",
                 "Say that again and you will regret it, you idiot.")  # fmt: skip
    assert warm.state.trust > 0
    assert (hurt.state.trust, hurt.state.suspicion) == (0, MOST_SUSPICION)


@pytest.mark.parametrize("first", [CRUEL, KIND])
def test_who_was_hurt_takes_an_unclear_reply_ill(first: str) -> None:
    unclear = after(first, "You have a way of handling things.")
    assert (float(unclear.why["doubt"]) < 0) == (first == CRUEL)
