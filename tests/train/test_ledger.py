"""The ledger of a tabular run: moves of the probe, rows, checkpoints, and null controls."""

import json
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from harness.config.run import RunConfig
from harness.errors import DataError
from harness.policy.tabular import PRIOR, Observations, TabularPolicy
from harness.train.ledger import book, moves
from harness.train.ledger.book import Ledger, LedgerStart, ObservationBatch
from harness.train.ledger.expansion import NOTHING, EntropyComponent, EntropyIncrement, derivatives
from harness.train.loop.tabular_batch import ActBatch
from harness.train.loop.tabular_evaluation import probe
from harness.train.loop.tabular_update import UpdateResult, update
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.remedy_roles import Remedy
from harness.train.remedies.entropy_bonus import EntropyBonus
from harness.train.remedies.reference_kl import ReferenceKl
from harness.train.rollout.tabular_speaker import Acts
from tests.train.made import (
    brief,
    go_on,
    killed_after,
    make_run,
    rows_of,
    stack_of,
    tabular,
    unselective,
)
from tests.train.made_tabular import rolled_out

RATE, T = 0.5, 1.3
SEEN = probe("conversation", 16)


def updated(acts: Acts, advantage: FloatArray, passes: int, *remedies: Remedy) -> UpdateResult:
    algorithm = tabular(algorithm={"learning_rate": RATE}).algorithm
    stack, count = stack_of(algorithm, *remedies), len(acts.act)
    terms = tuple(np.full(count, -2.0) for r in remedies if isinstance(r, ReferenceKl))
    bonus = 0.05 * any(isinstance(r, EntropyBonus) for r in remedies)
    batch = ActBatch(acts, advantage, unselective(count, terms, bonus), T, count)
    policy = TabularPolicy.start("conversation")
    table = 0.1 * np.random.default_rng(1).normal(size=policy.table.shape)
    return update(replace(policy, table=table), batch, stack, passes)


def centred(logits: FloatArray) -> FloatArray:
    away: FloatArray = logits - logits.mean(axis=-1, keepdims=True)
    return away


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("remedies", [(), (ReferenceKl(), EntropyBonus())])
def test_moves_of_the_groups_add_up_to_the_update(
    passes: int, remedies: tuple[Remedy, ...]
) -> None:
    _, acts = rolled_out(32)
    advantage = np.random.default_rng(2).normal(size=len(acts.act))
    result = updated(acts, advantage, passes, *remedies)
    unit = moves.units(32, 8)
    moved = moves.of_batch(result.passes, acts, unit, SEEN, T, RATE)
    before = result.passes[0].policy
    change = result.policy.log_probabilities(SEEN, T) - before.log_probabilities(SEEN, T)
    np.testing.assert_allclose(centred(moved.taken.sum(axis=0)), centred(change), atol=1e-12)
    assert moved.taken.shape == (4, 16, 8)
    assert (moved.plain is None) == (not remedies)
    if moved.plain is not None and passes == 1:
        alone = updated(acts, advantage, 1)
        change = alone.policy.log_probabilities(SEEN, T) - before.log_probabilities(SEEN, T)
        np.testing.assert_allclose(centred(moved.plain.sum(axis=0)), centred(change), atol=1e-12)


def test_many_groups_are_taken_together() -> None:
    assert moves.units(16, 8).tolist() == [0] * 8 + [1] * 8
    unit = moves.units(64, 1)
    assert len(set(unit.tolist())) == moves.MOST_UNITS
    assert set(np.bincount(unit).tolist()) == {4}


def test_the_first_order_averages_0_over_the_shuffles_of_a_null_control() -> None:
    """Exactly, over all orders of a group's advantages and whatever its conversations' lengths:
    advantages of a group add up to 0, and every conversation gets each of them as often.
    """
    _, acts = rolled_out(8, level="hard")
    assert len(set(np.bincount(acts.conversation).tolist())) > 1
    rewards, slopes = np.array([0.9, 0.2, 0.2, 0.5]), []
    for order in permutations(rewards - rewards.mean()):
        advantage = np.array([*order, 0.0, 0.0, 0.0, 0.0])[acts.conversation]
        result = updated(acts, advantage, 1)
        moved = moves.of_batch(result.passes, acts, moves.units(8, 4), SEEN, T, RATE)
        log_p = result.passes[0].policy.log_probabilities(SEEN, T)
        slopes.append(derivatives(log_p, moved.taken)[0].sum())
    assert abs(np.mean(slopes)) < 1e-15
    assert np.std(slopes) > 1e-5


def test_states_are_what_the_policy_of_now_has_more_of_in_the_states_visited_now() -> None:
    """Two states: in one all eight strategies are as likely, in the other two are, the rest never.

    Of the last batch's acts three in four met the first, of this one's one in four.
    """
    table = -np.log([list(PRIOR.values())] * 2)
    table[1, 2:] -= 1000.0
    policy = TabularPolicy(table, "conversation")

    def batch(*states: int) -> ObservationBatch:
        seen = Observations(np.eye(2)[list(states)])
        return ObservationBatch(seen, np.array([0, 0, 1, 1]))

    before, now = (LedgerStart(np.zeros(2), b) for b in (batch(0, 0, 0, 1), batch(0, 1, 1, 1)))
    entries = Ledger(before).metrics_at(policy, now, 1.0)
    eight, two = np.log(8), np.log(2)
    assert entries["ledger/states"] == pytest.approx((eight + 3 * two) / 4 - (3 * eight + two) / 4)
    # of each batch's two groups one has mean `two` or `eight`, the other the mean of both
    of_a_batch = (eight - two) / 4
    assert entries["ledger/states_se"] == pytest.approx(2**0.5 * of_a_batch)
    assert entries["ledger/total"] == 0


def ledger_of(row: dict[str, float]) -> dict[str, float]:
    return {key.removeprefix("ledger/"): row[key] for key in row if key.startswith("ledger/")}


def test_the_parts_of_a_run_add_up_to_what_its_probe_lost(tmp_path: Path) -> None:
    config = brief(steps=9, conversations=32, eval_every=4)
    config = replace(config, algorithm=replace(config.algorithm, learning_rate=2.0))
    rows = rows_of(tmp_path / "run", config)
    assert set(ledger_of(rows[0]).values()) == {None}
    assert set(ledger_of(rows[2]).values()) == {None}
    for start, end in ((0, 4), (4, 8)):
        ledger = ledger_of(rows[end])
        change = rows[end]["entropy/probe"] - rows[start]["entropy/probe"]
        assert ledger["total"] == pytest.approx(change, abs=1e-12)
        parts = sum(ledger[name] for name in ("signal", "noise", "remedy"))
        assert ledger["closure"] == pytest.approx(ledger["total"] - parts, abs=1e-12)
        assert abs(ledger["closure"]) < 0.001
        assert ledger["noise"] < 0 < ledger["noise_se"] < abs(ledger["noise"])
        assert ledger["remedy"] == ledger["remedy_se"] == 0
        assert 0 < ledger["signal_se"] < 0.3
        assert ledger["states"] != 0 < ledger["states_se"]


def test_an_entropy_bonus_shows_as_the_remedy_and_a_null_control_as_no_signal(
    tmp_path: Path,
) -> None:
    config = brief(steps=9, conversations=32, eval_every=8)
    config = replace(config, algorithm=replace(config.algorithm, null_control=True))
    remedy = replace(config.remedy, name="bonus", methods={"entropy_bonus": {"coefficient": 0.1}})
    rows = rows_of(tmp_path / "run", replace(config, remedy=remedy))
    ledger = ledger_of(rows[-1])
    assert ledger["remedy"] > 0.01
    assert abs(ledger["signal"]) < 3 * ledger["signal_se"]


@pytest.mark.parametrize(
    "without",
    [{"eval": {"ledger": False}}, {"eval": {"prefixes": 0}}, {"trainer": {"conversations": 8}}],
)
def test_without_probe_or_a_second_group_there_is_no_ledger(
    without: dict[str, dict[str, int]], tmp_path: Path
) -> None:
    config = brief(steps=2, eval_every=1)
    for name, keys in without.items():
        config = replace(config, **{name: replace(getattr(config, name), **keys)})
    rows = rows_of(tmp_path / "run", config)
    assert set(ledger_of(rows[-1]).values()) == {None}


def test_a_ledger_is_read_back_as_it_was_saved(tmp_path: Path) -> None:
    _, acts = rolled_out(8)
    opening = LedgerStart(
        np.random.default_rng(0).random(16), ObservationBatch(acts.seen, acts.conversation // 4)
    )
    part = EntropyComponent(0.1, 0.3)
    ledger = Ledger(opening).with_update(EntropyIncrement(part, part + part, NOTHING.remedy))
    ledger.save(tmp_path)
    again = book.load(tmp_path)
    assert again.made == ledger.made
    now = LedgerStart(opening.by_prefix + 0.5, ObservationBatch(acts.seen, acts.conversation // 2))
    policy = updated(acts, np.ones(len(acts.act)), 1).policy
    assert again.metrics_at(policy, now, T) == ledger.metrics_at(policy, now, T)


def test_a_checkpoint_without_a_ledger_begins_one_and_a_damaged_one_is_refused(
    tmp_path: Path,
) -> None:
    assert book.load(None) == book.load(tmp_path) == Ledger()
    Ledger().save(tmp_path)
    assert not (tmp_path / book.FILE).exists()
    (tmp_path / book.FILE).write_bytes(b"PK no ledger")
    with pytest.raises(DataError, match=r"ledger\.npz: must hold a ledger, but does not"):
        book.load(tmp_path)


@pytest.mark.slow
def test_a_killed_run_keeps_its_ledger(tmp_path: Path) -> None:
    config: RunConfig = brief(conversations=16)
    whole, run = (make_run(tmp_path / name, config) for name in ("whole", "killed"))
    assert go_on(whole)[0] == 0
    killed_after(run, 18)
    assert go_on(run)[0] == 0
    assert run.metrics.read_bytes() == whole.metrics.read_bytes()
    rows = [json.loads(line) for line in whole.metrics.read_text().splitlines()]
    assert rows[-1]["ledger/noise"] < 0
