"""What a reply is worth to the second user: doubt takes from it, and never adds."""

from dataclasses import replace

import numpy as np
import pytest

from harness.simulator.second import dynamics
from harness.simulator.second.appraisal import SecondAppraisal, appraise
from harness.simulator.second.reading import read
from harness.simulator.state import Disclosures, User

REPLIES = (
    "That sounds so hard, and I am glad that you tell me.",
    "You should call her. You should write it down. You should sleep. You should go for a walk.",
    "You are pathetic.",
    "My car is in the garage since the brakes of the engine broke down in winter again.",
    "I am sorry that I said so. What happened then?",
)


def appraised(text: str, hurt: float, acceptance: str = "reasonable") -> SecondAppraisal:
    """A reply of which each sentence is as likely cruel as `hurt`, in nats, says."""
    heard = read(text)
    said = tuple(replace(s, judged=replace(s.judged, hurt=hurt)) for s in heard.said)
    level, user = dynamics.ACCEPTANCES[acceptance], User(0, "venting", "passive")
    past = (frozenset({"advise"}), frozenset({"feel_with"}))
    return appraise(
        replace(heard, said=said), False, user, Disclosures((0,)), past, frozenset(), True, level
    )


@pytest.mark.parametrize("text", REPLIES)
@pytest.mark.parametrize("acceptance", dynamics.ACCEPTANCES)
def test_the_more_a_reply_may_hurt_the_less_it_is_worth(text: str, acceptance: str) -> None:
    nats = np.linspace(-2, 6, 81)
    worths = [appraised(text, hurt, acceptance).worth for hurt in nats]
    assert (np.diff(worths) <= 1e-12).all()
    assert worths[-1] < worths[0] - 1


def test_a_trace_of_doubt_excuses_nothing() -> None:
    text = REPLIES[1]
    sure, doubtful = appraised(text, -2.0), appraised(text, 0.001)
    assert sure.parts["too_much"] == doubtful.parts["too_much"] == -dynamics.TOO_MUCH
    assert doubtful.worth == pytest.approx(sure.worth, abs=0.01)
    assert doubtful.parts["hurt"] == pytest.approx(-dynamics.CRUELTY * 0.0005, rel=0.01)
