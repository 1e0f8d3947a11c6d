from __future__ import annotations

import random

import numpy as np
import pytest

from harness.simulator import surface
from harness.simulator.words import sentences
from tests.simulator.distortions import truncated
from tests.simulator.test_typing import NATURAL

BROKEN_OFF = (
    "I can imagine how it hurts that you lost a.",
    "It seems so painful to you that your father.",
    "It sounds like you feel sad because your old friends.",
    "I can see how heavy it.",
    "You are here now that she.",
    "So your wife.",
    "It must be so hard that.",
    "It is very common to.",
    "Many people need a long.",
    "They act out of.",
    "I am here with.",
    "It happens as.",
    "What hurts most.",
    "What I hear is.",
    "When it happened to me.",
)
WHOLE = (
    "We spoke of it, my wife and I.",
    "You do not have to.",
    "I would be glad to.",
    "You have every right to.",
    "Everybody needs somebody to be with.",
    "That is nothing to be ashamed of.",
    "Tell me what you are afraid of.",
    "I know how you feel.",
    "I heard that the other day.",
    "Of course it hurts like that.",
    "I know that.",
    "What a long day.",
    "What hurts most is that he lied.",
    "If you want to.",
    "so what hurts most",
    "Stay for a while.",
    "Nobody should go through that.",
    "It is not as bad as that.",
)


@pytest.mark.parametrize("text", BROKEN_OFF)
def test_what_is_broken_off_is_found(text: str) -> None:
    assert surface.fault(text) == "a sentence without its end"


@pytest.mark.parametrize("text", WHOLE)
def test_what_ends_though_it_looks_open_is_whole(text: str) -> None:
    assert surface.fault(text) is None


def test_natural_sentences_cut_short_are_found_a_fifth_of_the_time() -> None:
    """The rest are sentences still, or end on a word that sentences end on."""
    r = random.Random(3)
    whole = [s for _, kind, text in NATURAL for s in sentences(text) if kind != "none"][::3]
    cut = [truncated(s, r) for s in whole if len(s.split()) > 4]
    assert len(cut) > 800
    assert np.mean([surface.fault(text) is not None for text in cut]) > 0.19
