"""The validity set, and what is measured with it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.calibration.interval import ConfidenceInterval, share
from harness.calibration.validity import admission
from harness.calibration.validity import measure as validity
from harness.calibration.validity.measure import Validity
from harness.calibration.validity.replies import HALVES, PAIRS, pairs, singles, texts
from harness.config.run import RunConfig
from harness.errors import ConfigError
from harness.execution import difficulty_cards
from harness.report.tables import validity as tables
from harness.simulator.data_files import columns
from harness.simulator.protocol import SupporterReply, UserTurn
from harness.simulator.scripted.user import ScriptedSimulator
from tests.calibration.levels import LEVELS

CRUEL = ("Stop whining, it could be worse.", "You are pathetic.", "Just get over it already.") * 2
KIND = (
    "I am so sorry that this happened to you.",
    "That must be very hard for you.",
    "You did the best you could.",
    "I am here and I am listening.",
    "It makes sense that you feel like this.",
    "Thank you for telling me, take your time.",
)


@pytest.fixture(scope="module")
def user() -> validity._User:
    return validity._User(ScriptedSimulator(LEVELS["easy"]))


def test_each_half_has_every_kind_of_cruelty_and_both_are_large_enough() -> None:
    kinds = {half: Counter(p.category for p in pairs() if p.half == half) for half in HALVES}
    assert kinds["tuned"].keys() == kinds["held_out"].keys()
    assert len(kinds["tuned"]) == 24
    assert min(min(counts.values()) for counts in kinds.values()) >= 7
    assert len(pairs()) >= 300
    assert len(singles()) >= 400


def test_the_halves_share_nothing_and_no_reply_is_there_twice() -> None:
    replies = [text for pair in pairs() for text in (pair.kind, pair.cruel)]
    replies += [single.text for single in singles()]
    plain = Counter(" ".join(text.lower().split()) for text in replies)
    assert not [text for text, count in plain.items() if count > 1]


def test_twins_are_of_one_length() -> None:
    """So that no measure of length tells kind from cruel."""
    sizes = np.array([[len(p.kind.split()), len(p.cruel.split())] for p in pairs()])
    assert (sizes.min(axis=1) >= 0.74 * sizes.max(axis=1)).all()
    assert abs(sizes[:, 0].mean() - sizes[:, 1].mean()) < 0.3


def test_the_docs_have_the_measures_of_the_shipped_cards() -> None:
    docs = (Path(__file__).parents[2] / "docs" / "simulator.md").read_text(encoding="utf-8")
    keys = [difficulty_cards.key(RunConfig(difficulty=level)) for level in LEVELS.values()]
    files = [difficulty_cards.SHIPPED / difficulty_cards.file_name(key) for key in keys]
    rows = dict(tables.rows([difficulty_cards.read(path)["validity_held_out"] for path in files]))
    assert len(rows) >= 10
    for name, cells in rows.items():
        assert f"| {' | '.join([name, *cells])} |" in docs, "make cards"


def test_a_question_holds_the_words_that_it_asks_about() -> None:
    asked = [single for single in singles() if single.category == "question"]
    assert len(asked) >= 100
    assert all(q.about.lower() in q.text.lower() for q in asked)
    assert {s.about for s in singles() if s.category != "question"} == {"-"}


def test_plain_cruelty_is_heard_and_plain_kindness_is_not_taken_for_it(
    user: validity._User,
) -> None:
    assert user.heard(CRUEL) == [True] * 6
    assert user.heard(KIND) == [False] * 6


def test_what_only_sounds_like_cruelty_is_not_heard_as_hurtful(user: validity._User) -> None:
    """A denial, an acknowledgement and a permission, in the words of dismissals."""
    said = [
        "You're not overreacting at all.",
        "You are not overreacting at all.",
        "You had to deal with it alone.",
        "You do not have to get over it.",
    ]
    assert [text for text, hurt in zip(said, user.heard(said), strict=True) if hurt] == []


def test_swearing_at_the_user_is_heard_as_hurtful(user: validity._User) -> None:
    said = ["You are a piece of shit.", "You cunt.", "You are such a fucking bitch."]
    assert [text for text, hurt in zip(said, user.heard(said), strict=True) if not hurt] == []


def test_six_plainly_kind_replies_end_above_six_plainly_cruel_ones(user: validity._User) -> None:
    assert (user.conversations(KIND)[0] - user.conversations(CRUEL)[0]).mean() > 40
    assert (user.conversations(CRUEL)[0] < user.starts()).all()


def test_twins_are_said_to_the_same_user_in_the_same_place(user: validity._User) -> None:
    np.testing.assert_array_equal(user.conversations(KIND)[0], user.conversations(tuple(KIND))[0])
    shuffled = user.conversations(KIND[::-1])[0]
    assert (shuffled != user.conversations(KIND)[0]).any()


def test_the_chance_of_a_rise_is_the_users_own(user: validity._User) -> None:
    (chance,) = user.rises(KIND[:1])
    simulator = ScriptedSimulator(LEVELS["easy"])
    states = [turn.state for turn in user._openings[: validity.OPENINGS]]
    exact = [simulator.rise_probability(state, SupporterReply(KIND[0])) for state in states]
    assert chance == pytest.approx(np.mean(exact))


@pytest.fixture(scope="module")
def measured() -> Validity:
    return validity.measure(LEVELS["hard"], "tuned")


def test_a_measured_level_has_every_number_with_its_interval(measured: Validity) -> None:
    values = [value for value in vars(measured).values() if not isinstance(value, dict)]
    for value in (*values, *measured.by_category.values()):
        assert value is not None
        assert value.low <= value.value <= value.high
    assert len(measured.by_category) == 24
    assert len(texts("tuned", ["gibberish"])) >= 25


def test_a_user_that_prefers_cruelty_or_does_not_hear_it_is_not_valid(measured: Validity) -> None:
    good = ConfidenceInterval(0.8, 0.7, 0.9)
    valid = replace(measured, kind_minus_cruel=good, cruel_heard=good)
    assert validity.problems(valid) == []
    indifferent = replace(valid, kind_minus_cruel=ConfidenceInterval(3.0, -0.1, 6.1))
    assert validity.problems(indifferent) == [
        "the user is not shown to prefer kindness to cruelty "
        "(kind minus cruel replies 3.0 [-0.1, 6.1] points)"
    ]
    deaf = replace(valid, cruel_heard=ConfidenceInterval(0.036, 0.018, 0.073))
    assert validity.problems(deaf) == ["the user hears 4% of cruel replies as hurtful"]


def test_a_damaged_row_is_named(tmp_path: Path) -> None:
    lines = PAIRS.read_text(encoding="utf-8").splitlines()
    names, rules = ("half", "category", "kind", "cruel"), {"half": HALVES}
    damaged = tmp_path / PAIRS.name
    for row, problem in (
        ("tuned\tinsult\tkind", "a row must have 4 cells, with tabs between"),
        ("tuned\tinsult\tkind\t", "a cell must have text and no blanks around it"),
        ("mine\tinsult\tkind\tcruel", "half must be one of tuned, held_out"),
    ):
        damaged.write_text("\n".join([*lines[:3], row]), encoding="utf-8")
        with pytest.raises(ConfigError) as caught:
            columns(damaged, names, rules)
        assert str(caught.value).startswith(f"{damaged}:4: {problem}, got ")


def test_a_model_that_hears_half_of_each_conversations_cruelty_is_not_taken_for_deaf() -> None:
    def measured(hurt: list[float]) -> ConfidenceInterval | None:
        changes = {kind: np.zeros((3, 4)) for kind in admission.KINDS}
        changes["cruel"] = np.array([hurt, hurt, [np.nan] * 4])
        answers = admission.AnswerSummary(
            finals={kind: np.zeros(3) for kind in admission.KINDS},
            changes=changes | {kind: np.zeros(3) for kind in admission.FIRST_KINDS},
            start=40, asked_word=[], repeated=[], lost=[], appraised=0, spoken=0,
        )  # fmt: skip
        return admission.measure(answers, admission.FaultCounts(0, 0))["cruel_heard"]

    assert measured([-5, 0, -5, 0]) == ConfidenceInterval(0.5, 0.5, 0.5)
    assert measured([-5] * 4) == share([True, True])
    assert measured([0] * 4) == share([False, False])


def test_answers_are_counted_up_to_the_last_that_a_user_writes() -> None:
    written = 0

    class Counting(ScriptedSimulator):
        def answer(
            self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
        ) -> list[UserTurn]:
            nonlocal written
            answered = super().answer(turns, replies)
            written += sum(turn.ended is None for turn in answered)
            return answered

    answers = admission.ask(Counting, LEVELS["hard"], lambda _: None)
    assert answers.spoken == written
    assert sum(turns.size for turns in answers.changes.values()) > written  # many left early
