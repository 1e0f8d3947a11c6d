"""The scripted user: the contract of every simulator, and what each setting of a level does."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.config.run import INTENTIONS, LEVELS, TEMPERAMENTS, DifficultyConfig, SimulatorConfig
from harness.config.simulator import TYPICALITY_CUT
from harness.simulator import listening, reference
from harness.simulator.factory import make
from harness.simulator.personas import DOMAINS, EVERYONE, PERSONAS
from harness.simulator.protocol import HELD_OUT, TRAIN, ConversationKey, SupporterReply, UserTurn
from harness.simulator.scripted.appraisal import FRESH_FACT
from harness.simulator.scripted.lines import LINES
from harness.simulator.scripted.user import ScriptedSimulator
from harness.testing.simulator_contract import REPLIES, SimulatorContract, converse, key
from tests.simulator.made_scripted import level

GOLDEN = Path(__file__).with_name("golden_conversation.txt")
MEDIUM = DifficultyConfig()


@functools.cache
def finals(level_name: str, name: str, count: int = 80) -> float:
    difficulty = level(level_name)
    keys = [key(group=n, seed=11) for n in range(count)]
    talks = reference.converse(ScriptedSimulator(difficulty), reference.REFERENCES[name], keys)
    return float(np.mean([talk[-1].emotion for talk in talks]))


def changes(difficulty: DifficultyConfig, count: int = 60) -> list[int]:
    talks = [converse(ScriptedSimulator(difficulty), key(group=n)) for n in range(count)]
    return [turn.change for talk in talks for turn in talk if turn.change is not None]


@pytest.mark.parametrize("name", LEVELS)
class TestContract(SimulatorContract):
    @pytest.fixture
    def simulator(self, name: str) -> ScriptedSimulator:
        return ScriptedSimulator(level(name))


def test_the_golden_conversation_is_reproduced() -> None:
    assert (
        transcript(converse(ScriptedSimulator(level("medium")), key(seed=3))) == GOLDEN.read_text()
    )


def transcript(turns: list[UserTurn]) -> str:
    lines = []
    for number, turn in enumerate(turns):
        if number:
            lines.append(f"supporter: {REPLIES[(number - 1) % len(REPLIES)]}")
        lines.append(f"user ({turn.emotion}): {turn.text or turn.ended}")
    return "\n".join(lines) + "\n"


def test_the_factory_makes_a_scripted_simulator() -> None:
    assert isinstance(make(SimulatorConfig(), MEDIUM), ScriptedSimulator)


@pytest.mark.parametrize(
    "name", [n if n == "hard" else pytest.param(n, marks=pytest.mark.slow) for n in LEVELS]
)
def test_listening_pays_and_silence_hurt_and_salad_do_not(name: str) -> None:
    scores = {policy: finals(name, policy) for policy in reference.REFERENCES}
    # where any kindness helps, to pick kind words at random does nearly as well as to listen
    gain = 0 if name == "easy" else 10
    assert scores["attentive"] > gain + max(v for k, v in scores.items() if k != "attentive")
    for policy in ("silent", "dismissive", "keyword_salad"):
        assert scores[policy] <= min(1 + scores["neutral"], scores["random"] / 2)


@pytest.mark.slow
def test_a_harder_level_helps_no_policy() -> None:
    for policy in reference.REFERENCES:
        easy, medium, hard = (finals(name, policy) for name in LEVELS)
        assert easy + 2 > medium > hard - 2, policy


def test_personas_are_split_in_every_domain() -> None:
    names = {split: {p.name for p in PERSONAS[split]} for split in (TRAIN, HELD_OUT)}
    assert not names[TRAIN] & names[HELD_OUT]
    assert len(names[TRAIN]) + len(names[HELD_OUT]) == len(EVERYONE) >= 48
    assert all(len(domain.train) == 2 * len(domain.held_out) > 0 for domain in DOMAINS)
    assert all(len(p.facts) >= 5 and len(set(p.feelings)) == 3 for p in EVERYONE)


def test_each_split_meets_its_own_personas_and_every_intention() -> None:
    simulator = ScriptedSimulator(MEDIUM)
    for split in (TRAIN, HELD_OUT):
        keys = [ConversationKey(1, 1, group, 0, split) for group in range(1500)]
        users = [turn.state.user for turn in simulator.open(keys)]
        assert {user.persona for user in users} == set(PERSONAS[split])
        assert {(u.intention, u.temperament) for u in users} == {
            (i, t) for i in INTENTIONS for t in TEMPERAMENTS
        }


def test_changes_keep_to_the_lattice_and_the_clamp() -> None:
    assert {abs(c) for c in changes(MEDIUM)} == {5, 10}
    assert {abs(c) for c in changes(dataclasses.replace(MEDIUM, clamp=5))} == {5}
    wide = dataclasses.replace(MEDIUM, step_size=10, clamp=20, stop_below=0, start_emotion=50)
    assert {10, 20} <= {abs(c) for c in changes(wide)}


def test_a_user_who_leaves_ends_at_zero() -> None:
    talks = [converse(ScriptedSimulator(level("hard")), key(group=n), ("",)) for n in range(50)]
    left = [talk[-1] for talk in talks if talk[-1].ended == "left"]
    assert len(left) > 40
    assert {(turn.emotion, turn.reported_emotion) for turn in left} == {(0, 0.0)}


def test_success_needs_an_emotion_of_100() -> None:
    near = dataclasses.replace(level("easy"), start_emotion=95)
    talks = [converse(ScriptedSimulator(near), key(group=n)) for n in range(30)]
    won = [talk for talk in talks if talk[-1].ended == "success"]
    assert won
    assert all(talk[-1].emotion == 100 for talk in won)


@pytest.mark.parametrize("cap", [1, 4, 9])
def test_the_turn_cap_counts_the_replies(cap: int) -> None:
    mild = dataclasses.replace(MEDIUM, turn_cap=cap, stop_below=0)
    talks = [converse(ScriptedSimulator(mild), key(group=n)) for n in range(10)]
    assert {len(talk) - 1 for talk in talks if talk[-1].ended == "cap"} == {cap}


def test_reward_noise_moves_only_what_is_reported() -> None:
    noisy = dataclasses.replace(MEDIUM, reward_noise=5.0, reward_flips=0.3)
    plain, other = (converse(ScriptedSimulator(d), key(7)) for d in (MEDIUM, noisy))
    assert [turn.text for turn in plain] == [turn.text for turn in other]
    assert [turn.emotion for turn in plain] == [turn.emotion for turn in other]
    assert all(turn.reported_emotion == turn.emotion for turn in plain)
    assert any(turn.reported_emotion != turn.emotion for turn in other[1:])


def test_flips_turn_every_reported_change_round() -> None:
    flipped = dataclasses.replace(MEDIUM, reward_flips=1.0, stop_below=0)
    turn = converse(ScriptedSimulator(flipped), key())[1]
    assert turn.change is not None
    assert turn.reported_emotion == MEDIUM.start_emotion - turn.change


def test_the_knobs_act_alone() -> None:
    threshold = dataclasses.replace(MEDIUM, threshold=1.5)
    fewer, more = (np.mean([c > 0 for c in changes(d)]) for d in (threshold, MEDIUM))
    assert fewer < more - 0.1
    one = dataclasses.replace(MEDIUM, intentions=["advice"], temperaments=["passive"])
    users = [t.state.user for t in ScriptedSimulator(one).open([key(group=n) for n in range(40)])]
    assert {(u.intention, u.temperament) for u in users} == {("advice", "passive")}


@pytest.mark.parametrize(("disclosure", "said"), [("free", "advice"), ("hint", "next")])
def test_what_is_needed_shows_by_disclosure(disclosure: str, said: str) -> None:
    talk = _heard(dataclasses.replace(MEDIUM, disclosure=disclosure, intentions=["advice"]))
    assert said in talk
    assert said not in _heard(
        dataclasses.replace(MEDIUM, disclosure="never", intentions=["advice"])
    )


def _heard(difficulty: DifficultyConfig) -> str:
    talks = [converse(ScriptedSimulator(difficulty), key(group=n, seed=2)) for n in range(30)]
    lines = [line for talk in talks for turn in talk for line in turn.text.split(". ")]
    facts = {told.text.rstrip(".") for person in EVERYONE for told in person.tellable}
    return " ".join(line for line in lines if line.rstrip(".") not in facts)


def test_taking_up_a_fact_helps_and_another_users_matter_confuses() -> None:
    (opening,) = ScriptedSimulator(MEDIUM).open([key()])
    fact = listening.to_second_person(opening.state.user.persona.facts[0])
    other = next(p for p in PERSONAS[TRAIN] if p is not opening.state.user.persona)

    def part(text: str, name: str) -> float:
        (turn,) = ScriptedSimulator(MEDIUM).answer([opening], [SupporterReply(text)])
        return float(turn.why[name])

    assert part(f"So {fact}.", "pick_up") == FRESH_FACT
    assert part("I am here with you.", "pick_up") == 0
    assert part(f"So {listening.to_second_person(other.facts[0])}.", "confusion") < 0
    assert part(f"So {fact}.", "confusion") == 0


def test_a_sentence_said_again_and_a_strategy_again_tire() -> None:
    talk = converse(ScriptedSimulator(MEDIUM), key(), ("I am here with you.",))
    assert (talk[1].why["repetition"], talk[1].why["fatigue"]) == (0, 0)
    assert float(talk[2].why["repetition"]) < 0
    assert float(talk[2].why["fatigue"]) < 0


def test_a_reply_unlike_the_start_policy_puzzles() -> None:
    level = dataclasses.replace(MEDIUM, stop_below=0)

    def answer(z: float | None, nll: float, cut: float | None = TYPICALITY_CUT) -> UserTurn:
        simulator = ScriptedSimulator(level, cut)
        reply = SupporterReply("I am here with you.", start_nll=nll, start_z=z)
        return simulator.answer(simulator.open([key()]), [reply])[0]

    typical, strange = answer(0.5, 0.5), answer(9.0, 0.5)
    assert (typical.flagged, strange.flagged) == (False, True)
    assert strange.why["rule"] == "typicality"
    assert strange.strategies == ()
    likelier, no_start, in_nats = answer(-9.0, 0.1), answer(None, 0.5), answer(0.5, 9.0)
    assert typical == likelier == no_start == in_nats, "nobody is paid for being likelier"
    assert answer(9.0, 0.5, None) == typical
    assert strange.text.startswith(LINES["puzzled"]["any"])


replies = st.lists(st.text(max_size=80) | st.sampled_from(REPLIES), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**31 - 1), sample=st.integers(0, 63), said=replies)
def test_any_text_leads_to_one_end_and_the_changes_add_up(
    seed: int, sample: int, said: list[str]
) -> None:
    turns = converse(ScriptedSimulator(MEDIUM), key(sample, seed=seed), tuple(said))
    assert len(turns) <= MEDIUM.turn_cap + 1
    total = MEDIUM.start_emotion + sum(turn.change or 0 for turn in turns)
    assert turns[-1].emotion == (0 if turns[-1].ended == "left" else total)
