"""Each contract suite of harness.testing refuses an extension that breaks it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from harness.config.options import Options
from harness.config.run import MAX_TURNS
from harness.law.io.importers.rows import Importer, Rows
from harness.report.figures import canvas
from harness.report.figures.canvas import Drawing
from harness.report.figures.figure_specs import FigureSpec, Subject
from harness.testing import algorithm_contract, figure_contract, reward_contract
from harness.testing.algorithm_contract import AlgorithmContract
from harness.testing.figure_contract import FigureContract
from harness.testing.importer_contract import ImporterContract
from harness.testing.options_contract import OptionsContract
from harness.testing.reward_contract import RewardContract
from harness.train.algorithms.grpo import Grpo
from harness.train.policy_gradient.rewards import Rewards
from harness.train.rollout.conversation import Conversation
from harness.train.rollout.rewards import Reward, Terminal

Batch = Sequence[Conversation]
LOG = ("a.mine", "".join(f"{n} {2 / n:.4f}\n" for n in range(1, 21)).encode())


def ends(batch: Batch) -> np.ndarray:
    return Terminal().rewards(batch).total


def broken(rewards: Callable[[Batch], Rewards]) -> Reward:
    """A reward made of a function."""

    @dataclass(frozen=True)
    class Broken(Reward):
        def rewards(self, conversations: Batch) -> Rewards:
            return rewards(conversations)

    return Broken()


DRAWS = np.random.default_rng(1)
BROKEN_REWARDS: dict[str, Callable[[Batch], Rewards]] = {
    "there_is_a_number_for_each": lambda batch: Rewards.of(ends(batch)[1:]),
    "only_a_failed_conversation": lambda batch: Rewards.of(np.nan_to_num(ends(batch))),
    "turns_have_a_part_exactly": lambda batch: Rewards.of(
        ends(batch), np.zeros((len(batch), MAX_TURNS))
    ),
    "the_same_conversations_earn": lambda batch: Rewards.of(ends(batch) + DRAWS.normal()),
    "the_order_of_groups": lambda batch: Rewards.of(ends(batch) + np.arange(len(batch))),
    "it_tells_conversations_of": lambda batch: Rewards.of(0 * ends(batch)),
}


def method(suite: Any, words: str) -> Any:
    (name,) = [name for name in dir(suite) if name.startswith(f"test_{words}")]
    return getattr(suite, name)


@pytest.mark.parametrize("words", BROKEN_REWARDS)
def test_a_broken_reward_is_refused(words: str) -> None:
    batch = reward_contract.conversations()
    method(RewardContract(), words)(Terminal(), batch)
    with pytest.raises(AssertionError):
        method(RewardContract(), words)(broken(BROKEN_REWARDS[words]), batch)


@dataclass(frozen=True)
class Undeclared(Options):
    """Options as nobody should write them."""

    rate: float = 1.0

    @classmethod
    def key(cls) -> str:
        return "reward.options"


@pytest.mark.parametrize("words", ["every_option_says", "every_number_has_a_range"])
def test_undeclared_options_are_refused(words: str) -> None:
    with pytest.raises(AssertionError):
        method(OptionsContract(), words)(Undeclared())


def rows(data: bytes) -> Rows:
    """A sound importer: lines of two numbers; the last line without its end is torn."""
    *whole, last = data.split(b"\n")
    found: list[dict[str, Any]] = []
    places, malformed = [], []
    for number, line in enumerate(whole, 1):
        try:
            step, entropy = line.decode("ascii").split()
            row = {"step": int(step), "entropy": float(entropy), "reward": 0.5}
        except ValueError:
            malformed.append(number)
        else:
            found.append(row)
            places.append(number)
    damage = {"malformed_line": malformed, "torn_last_line": [len(whole) + 1] * bool(last)}
    damage = {reason: where for reason, where in damage.items() if where}
    return Rows(found, places, damage, "must hold two numbers a line", scattered=False)


def strict(data: bytes) -> Rows:
    return Rows([{"step": int(data.split()[0])}], [1], {}, "must hold a number", scattered=False)


SOUND = Importer(lambda name, data: name.endswith(".mine"), rows)
BROKEN_IMPORTERS = {
    "it_takes_its_own": replace(SOUND, looks_like=lambda name, data: True),
    "a_whole_log_has_a_place": replace(SOUND, rows=lambda data: replace(rows(data), lines=[1])),
    "damaged_bytes_are": replace(SOUND, rows=strict),
    "a_log_torn_anywhere": replace(SOUND, rows=strict),
}


@pytest.mark.parametrize("words", BROKEN_IMPORTERS)
def test_a_broken_importer_is_refused(words: str) -> None:
    method(ImporterContract(), words)(SOUND, LOG)
    with pytest.raises((AssertionError, ValueError, IndexError)):
        method(ImporterContract(), words)(BROKEN_IMPORTERS[words], LOG)


def select(subject: Subject) -> Iterator[tuple[str, Any]]:
    yield "", [run.run for run in subject.analysis.runs]


def draw(runs: Sequence[str], name: str) -> Drawing:
    grid = canvas.grid("Runs", [""], 1, 2.0)
    grid.panels[0][0].set_xlabel(canvas.label(runs[0]))
    return Drawing(name, grid.figure, ("run",), tuple({"run": run} for run in runs))


def unescaped(runs: Sequence[str], name: str) -> Drawing:
    drawing = draw(runs, name)
    drawing.figure.axes[0].set_xlabel(runs[0])
    return drawing


MINE = FigureSpec("mine", "Runs.", select, draw)
BROKEN_FIGURES: dict[str, FigureSpec[Any]] = {
    "its_name_can_be": replace(MINE, name="law"),
    "it_says_in_a_sentence": replace(MINE, shows="runs"),
    "the_rows_of_its_csv": replace(MINE, draw=lambda n, name: replace(draw(n, name), columns=())),
    "a_page_has_a_name": replace(MINE, select=lambda subject: [("", []), ("", [])]),
    "its_numbers_travel": replace(MINE, select=lambda subject: [("", lambda: 0)]),
    "text_of_a_run": replace(MINE, draw=unescaped),
}


@pytest.mark.parametrize("words", BROKEN_FIGURES)
def test_a_broken_figure_is_refused(words: str) -> None:
    about_names = words.startswith("it") and words != "its_numbers_travel"
    given = [] if about_names else [figure_contract.example()]
    method(FigureContract(), words)(MINE, *given)
    with pytest.raises((AssertionError, AttributeError)):
        method(FigureContract(), words)(BROKEN_FIGURES[words], *given)


def test_a_loss_whose_slope_is_no_gradient_is_skipped_and_said_so() -> None:
    class OfOthers(AlgorithmContract):
        through_the_clip = True

    with pytest.raises(pytest.skip.Exception, match="on purpose not the gradient"):
        OfOthers().test_the_slope_is_the_gradient_of_the_summed_value(Grpo())


def test_tokens_that_are_moved_are_of_as_many_conversations() -> None:
    given = replace(algorithm_contract.tokens(), conversations=12)
    moved = algorithm_contract.moved(given, 3, 0.5)
    assert moved.conversations == 12
    assert (moved.logp - given.logp).nonzero()[0].tolist() == [3]
