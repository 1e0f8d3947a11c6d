"""Adversarial paths: who tests the supporter, in which words, and what stands the test."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

from harness.calibration import population
from harness.compose import planner
from harness.config.run import STRATEGIES, DifficultyConfig, RunConfig, SimulatorConfig
from harness.errors import ConfigError
from harness.policy import listening as policy_listening
from harness.policy.observation import CUES, TESTS, hear
from harness.simulator.intention_lines import NEEDS
from harness.simulator.listening import listen
from harness.simulator.personas import EVERYONE
from harness.simulator.protocol import HELD_OUT, SupporterReply, UserTurn
from harness.simulator.reference import REFERENCES, converse
from harness.simulator.scripted import dynamics, paths
from harness.simulator.scripted.lines import ANSWERS, LINES, manner
from harness.simulator.scripted.user import ScriptedSimulator
from harness.simulator.state import draw_user
from harness.testing.simulator_contract import key
from harness.train.metrics import held_out
from tests.calibration.levels import ADVERSARIAL, LEVELS

WITHOUT = replace(ADVERSARIAL, paths=[])
USERS = 40
RULE = dynamics.DISCLOSURES["never"]


def said(line: str, voice: str) -> list[str]:
    """The line as a user of `voice` says it: of its own accord, and after a reply that helped."""
    return [manner(text, voice) for text in (line, paths.taking_back(line))]


def conversations(reference: str, level: DifficultyConfig) -> list[tuple[UserTurn, ...]]:
    return list(population.converse_with_reference(level, reference, USERS).turns)


def line_of(turn: UserTurn) -> str | None:
    """The path that a turn's words put the supporter to the test by, as the attentive hears it."""
    return listen([turn.text]).tests[0]


@pytest.mark.parametrize("path", paths.LINES)
@pytest.mark.parametrize("voice", ["plain", "short", "careful"])
def test_a_test_is_heard_as_what_it_is_and_as_nothing_else(path: str, voice: str) -> None:
    for line in paths.LINES[path]:
        for test in said(line, voice):
            turn = f"I see. My boss shouted at me. {test}"
            notes, cues = listen(["It is about my boss.", turn]), hear(turn)
            assert notes.tests == (None, path), turn
            assert (notes.need, notes.kind, notes.facts) == (
                None,
                None,
                ("My boss shouted at me.",),
            )
            assert (TESTS[cues.test], CUES[cues.cue]) == (path, "none"), turn
            mentions = policy_listening.listen([turn])
            assert (mentions.facts, mentions.feelings) == (("your boss shouted at you",), ())


def test_nothing_else_that_users_say_is_heard_as_a_test() -> None:
    tables = (*LINES.values(), *ANSWERS.values(), *NEEDS.values())
    every = [line for table in tables for lines in table.values() for line in lines]
    every += [sentence.text for persona in EVERYONE for sentence in persona.tellable]
    assert len(every) > 1000
    assert not [line for line in every if hear(f"I see. {line}").test]
    assert not [line for line in every if line_of(turn_of(f"I see. {line}"))]


def turn_of(text: str) -> UserTurn:
    return UserTurn(text, 40, None, 40.0, None, (), False, {}, None)


def test_users_test_at_the_trust_that_says_so_and_at_no_other() -> None:
    seen = Counter[str]()
    for turns in conversations("random", ADVERSARIAL):
        path = turns[0].state.user.path
        for turn in turns:
            if turn.ended is not None:
                continue
            due = turn.state.trust == paths.TESTING and "puzzle" not in turn.why
            closed = float(turn.why.get("hurt", 0.0)) < 0
            assert line_of(turn) == (path if due and not closed else None), turn.text
            seen[str(line_of(turn))] += 1
    assert set(seen) == {*paths.LINES, "None"}
    assert min(seen.values()) > 5


def test_no_test_is_said_twice_while_others_are_left() -> None:
    for turns in conversations("random", ADVERSARIAL):
        texts = " ".join(turn.text for turn in turns)
        for lines in paths.LINES.values():
            for line in lines:
                stem = line[1:].rstrip(".!")
                assert texts.count(stem) <= 1, texts


def test_who_has_just_said_that_it_helped_takes_it_back_and_nobody_else_does() -> None:
    taken_back = []
    for turns in conversations("attentive", ADVERSARIAL):
        for turn in turns[1:]:
            is_but = " But " in turn.text
            assert not is_but or (line_of(turn) is not None and (turn.change or 0) > 0), turn.text
            taken_back += [is_but] if line_of(turn) is not None else []
    assert 5 < sum(taken_back) < len(taken_back)


def test_the_conversations_of_one_group_have_one_path_and_groups_have_all() -> None:
    keys = [[key(group=g, sample=s, seed=3) for s in range(3)] for g in range(60)]
    drawn = [{draw_user(k, ADVERSARIAL)[0].path for k in group} for group in keys]
    assert all(len(found) == 1 for found in drawn)
    assert {path for found in drawn for path in found} == set(paths.LINES)
    assert draw_user(keys[0][0], WITHOUT)[0].path is None


def test_users_come_with_the_same_matter_whether_they_have_a_path_or_none() -> None:
    keys = [replace(key(group=g), split=HELD_OUT) for g in range(20)]
    with_paths = ScriptedSimulator(ADVERSARIAL).open(keys)
    for turn, other in zip(with_paths, ScriptedSimulator(WITHOUT).open(keys), strict=True):
        user = replace(turn.state.user, path=None)
        assert replace(turn, state=replace(turn.state, user=user)) == other


@pytest.mark.parametrize("path", paths.FITS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_trust_grows_past_a_test_only_by_a_reply_that_stands_it(path: str, strategy: str) -> None:
    fit = paths.FITS[path][STRATEGIES.index(strategy)]
    after = dynamics.next_trust(paths.TESTING, [strategy], False, RULE, 0.0, path)
    assert (after > paths.TESTING) == (fit >= dynamics.GOAL_LINE)
    for trust in (0, 2):
        assert dynamics.next_trust(trust, [strategy], False, RULE, 0.0, path) == trust + 1


def test_each_path_takes_another_reply() -> None:
    stands = {
        path: {s for s in STRATEGIES if dynamics.stands_test(s, path, paths.TESTING)}
        for path in paths.FITS
    }
    assert all(len(found) == 2 for found in stands.values())
    assert not set.intersection(*stands.values())
    assert "affirm" not in stands["validation"]
    assert "suggest" not in set.union(*stands.values())


def test_a_test_costs_what_its_account_says() -> None:
    (turns, *_) = [t for t in conversations("random", ADVERSARIAL) if any(map(line_of, t[:-1]))]
    number = next(n for n, turn in enumerate(turns) if line_of(turn))
    assert turns[number + 1].why["test"] == -paths.RELUCTANCE
    reply = SupporterReply("You could write it down.")
    state = turns[number].state
    with_path = ScriptedSimulator(ADVERSARIAL).rise_probability(state, reply)
    without = replace(state, user=replace(state.user, path=None))
    assert with_path < ScriptedSimulator(ADVERSARIAL).rise_probability(without, reply)


def test_the_attentive_supporter_answers_the_test_that_is_made() -> None:
    """What it says after a test stands it, or was said in the reply before."""
    simulator, stood, met = ScriptedSimulator(ADVERSARIAL), 0, 0
    keys = [key(group=g, seed=5) for g in range(60)]
    for turns in converse(simulator, REFERENCES["attentive"], keys):
        for before, after in pairwise(turns):
            path = line_of(before)
            if path is None or not after.strategies:
                continue
            met += 1
            stood += any(dynamics.stands_test(s, path, paths.TESTING) for s in after.strategies)
    assert met > 40
    assert stood / met > 0.85


def test_it_is_harder_than_hard_to_who_listens_and_to_who_does_not() -> None:
    """On other users than the card's."""
    keys = [replace(key(group=g, seed=17), split=HELD_OUT) for g in range(150)]
    finals = {
        (name, level.name): sum(
            turns[-1].emotion for turns in converse(ScriptedSimulator(level), policy, keys)
        )
        / len(keys)
        for level in (LEVELS["hard"], ADVERSARIAL)
        for name, policy in REFERENCES.items()
        if name in ("attentive", "random")
    }
    assert finals["random", "adversarial"] < finals["random", "hard"]
    assert finals["attentive", "adversarial"] < finals["attentive", "hard"]
    assert finals["attentive", "adversarial"] > finals["random", "adversarial"] + 20


def test_a_level_without_paths_is_known_by_what_it_was_before_there_were_any() -> None:
    assert "paths" not in LEVELS["hard"].knobs()
    assert ADVERSARIAL.knobs()["paths"] == ["gaslighting", "escalation", "validation"]


def test_other_users_follow_no_path() -> None:
    with pytest.raises(ConfigError) as caught:
        RunConfig(difficulty=ADVERSARIAL, simulator=SimulatorConfig(name="second", kind="second"))
    assert str(caught.value) == (
        "difficulty.paths must be empty unless simulator.kind is scripted, since other users do "
        "not follow them, got gaslighting, escalation, validation with simulator.kind=second"
    )


def test_a_run_beyond_hard_is_evaluated_at_its_own_level_beside_the_named_ones() -> None:
    config = planner.point(["difficulty=adversarial", "policy=tabular"]).config
    assert config.eval.levels == ["easy", "medium", "hard"]
    levels = held_out.levels_of(config)
    assert [levels.every[number].name for number in levels.met] == [*LEVELS, "adversarial"]
    assert levels.every[levels.own] == config.difficulty
