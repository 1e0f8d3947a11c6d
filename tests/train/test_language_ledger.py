"""The ledger of a language model: its derivatives, its arithmetic, checkpoints and whole runs."""

import contextlib
import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import Tensor

from harness.config.run import AlgorithmConfig, EvalConfig, RunConfig
from harness.errors import DataError
from harness.train.ledger import language_book, pace, walk
from harness.train.ledger.expansion import EntropyComponent
from harness.train.ledger.language_book import (
    Entropies,
    EntropyPace,
    LanguageLedger,
    LanguageLedgerStart,
    ProbeTokens,
)
from harness.train.ledger.pace import WalkingModel
from harness.train.ledger.walk import AdamWalk
from harness.train.loop.language_ledger import LedgerKeeper
from harness.train.objective.entropy_gradient import EntropyOfTokens, learning, moved
from harness.train.objective.language_loss import accumulate_gradient
from harness.train.objective.loss_batch import LossBatch, LossSettings
from harness.train.objective.micro_batches import TokenLimit
from harness.train.remedies.reference_kl import ReferenceKl
from tests.train.made import go_on, killed_after, make_run, stack_of, unselective
from tests.train.made_language import WORDS, small_model
from tests.train.made_language_runs import config, rows_of

T = 1.3
ADAM = AlgorithmConfig(group_size=2, learning_rate=1e-3)


@pytest.fixture
def model() -> Any:
    return small_model(attn_implementation="eager")


@pytest.fixture
def tokens() -> ProbeTokens:
    """Five prefixes with replies of different lengths."""
    rng = np.random.default_rng(2)
    sizes = [(3, 4), (6, 2), (2, 7), (4, 4), (5, 1)]
    ids = [rng.integers(0, WORDS, sum(size)).tolist() for size in sizes]
    return ProbeTokens(ids, [[False] * prefix + [True] * reply for prefix, reply in sizes])


def batch(groups: int = 4) -> LossBatch:
    rng = np.random.default_rng(1)
    ids = [rng.integers(0, WORDS, 9).tolist() for _ in range(2 * groups)]
    own = [[False] * 4 + [True] * 5 for _ in ids]
    return LossBatch(ids, own, [[float(a)] * 5 for a in rng.normal(size=len(ids))], None)


def settings(count: int, *remedies: ReferenceKl) -> LossSettings:
    terms = tuple(np.full(count, -2.0) for _ in remedies)
    return LossSettings(stack_of(ADAM, *remedies), unselective(count, terms), T, count)


def at(model: Any, step: int = 5) -> WalkingModel:
    """The model in mid-run: Adam's moments are not 0."""
    torch.manual_seed(7)
    size = sum(weight.numel() for weight in learning(model))
    mean, square = 1e-3 * torch.randn(size), 1e-6 * torch.rand(size)
    return WalkingModel(model, AdamWalk(ADAM, step, mean, square), T, TokenLimit())


def exact(model: Any, tokens: ProbeTokens) -> tuple[Any, Tensor, list[Tensor]]:
    """A copy in double precision, the mean entropy by the textbook, and the weights."""
    double = copy.deepcopy(model).double()
    rows = []
    for ids, own in zip(tokens.ids, tokens.own, strict=True):
        logits = double(input_ids=torch.tensor([ids])).logits[0, :-1] / T
        log_p = torch.log_softmax(logits, -1)[torch.tensor(own[1:])]
        rows.append(-(log_p.exp() * log_p).sum(-1))
    return double, torch.cat(rows).mean(), learning(double)


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing.*:FutureWarning")  # peft's
@pytest.mark.parametrize("adapters", [False, True])
def test_the_gradient_is_that_of_the_mean_entropy(
    adapters: bool, model: Any, tokens: ProbeTokens
) -> None:
    if adapters:
        model = get_peft_model(model, LoraConfig(r=2, target_modules=["q_proj", "v_proj"]))
        for weight in learning(model):
            torch.nn.init.normal_(weight, std=0.1)
    _, mean, weights = exact(model, tokens)
    wanted = torch.autograd.grad(mean, weights)
    entropy = EntropyOfTokens(tokens.ids, tokens.own, T)
    assert entropy.values(model).mean() == pytest.approx(mean.item(), abs=1e-6)
    for found, true in zip(entropy.gradient(model), wanted, strict=True):
        torch.testing.assert_close(found.double(), true, atol=1e-6, rtol=1e-3)
    assert all(weight.grad is None for weight in model.parameters())
    assert len(weights) == (8 if adapters else 24)


def test_bends_are_half_the_second_derivative(model: Any, tokens: ProbeTokens) -> None:
    still = WalkingModel(model, at(model, step=1).walk, T, TokenLimit())
    _, mean, weights = exact(model, tokens)
    slope = torch.cat(
        [g.reshape(-1) for g in torch.autograd.grad(mean, weights, create_graph=True)]
    )
    torch.manual_seed(4)
    draws = [0.0015 * torch.randn(len(slope)) for _ in range(3)]
    found = still.bends(tokens, still.delivered(tokens), draws)
    for bend, draw in zip(found, draws, strict=True):
        along = draw.double()
        products = torch.autograd.grad(slope @ along, weights, retain_graph=True)
        assert bend == pytest.approx((walk.flat(products) @ along).item() / 2, rel=0.02, abs=2e-7)


def test_moved_weights_are_put_back_bit_by_bit(model: Any, tokens: ProbeTokens) -> None:
    before = [weight.clone() for weight in learning(model)]
    walking = at(model)
    delivered, slope = walking.delivered(tokens), walking.slope(tokens)
    with moved(model) as move:
        move(walking.walk.offset())
        entropy = EntropyOfTokens(tokens.ids, tokens.own, T)
        assert entropy.values(model).mean() == delivered
        torch.testing.assert_close(walk.flat(entropy.gradient(model)), slope)
        with contextlib.suppress(KeyboardInterrupt), moved(model) as further:
            further(torch.ones_like(slope))
            raise KeyboardInterrupt
        assert entropy.values(model).mean() == delivered
    for weight, start in zip(learning(model), before, strict=True):
        assert torch.equal(weight, start)
    assert delivered != pytest.approx(walking.entropies(tokens).by_token.mean(), abs=1e-6)


def measured(
    walking: WalkingModel, tokens: ProbeTokens, of: LossBatch, how: LossSettings
) -> EntropyPace:
    return pace.pace(walking, tokens, walking.entropies(tokens), walking.slope(tokens), of, how, 15)


def test_sums_are_the_gradient_of_the_batch_and_contrasts_of_its_groups(model: Any) -> None:
    walking, whole = at(model), batch()
    how = settings(whole.tokens)
    found = pace.sums(walking, whole, how, 15)
    accumulate_gradient(model, whole, how)
    torch.testing.assert_close(found.whole, pace.take_gradient(model), atol=1e-6, rtol=1e-4)
    assert len(found.draws) == 3
    assert all(weight.grad is None for weight in model.parameters())


def test_groups_that_pull_alike_make_no_noise(model: Any, tokens: ProbeTokens) -> None:
    one = batch(1)
    alike = LossBatch(one.ids * 4, one.own * 4, one.advantage * 4, None)
    found = measured(at(model), tokens, alike, settings(alike.tokens))
    assert found.noise.value == pytest.approx(0, abs=1e-6)
    assert found.walk == pytest.approx(0, abs=1e-12)
    apart = measured(at(model), tokens, batch(), settings(batch().tokens))
    assert abs(apart.noise.value) > 1e-5
    assert apart.walk > 1e-6
    assert apart.noise.variance > 0
    assert (apart.remedy.value, apart.remedy.variance) == (0, 0)


def test_a_remedy_is_what_it_adds_to_the_first_order(model: Any, tokens: ProbeTokens) -> None:
    walking, whole = at(model), batch()
    found = measured(walking, tokens, whole, settings(whole.tokens, ReferenceKl()))
    moves = []
    for how in (settings(whole.tokens, ReferenceKl()), settings(whole.tokens)):
        accumulate_gradient(model, whole, how)
        moves.append(walking.walk.move(walking.walk.clip(pace.take_gradient(model))))
    wanted = pace.dot(walking.slope(tokens), moves[0] - moves[1])
    assert found.remedy.value == pytest.approx(wanted, rel=1e-3)
    assert found.remedy.variance > 0


def opening(
    step: int, by_token: list[float], delivered: float, made: EntropyPace
) -> LanguageLedgerStart:
    """Of two prefixes with two tokens each."""
    replies = ProbeTokens([[5, 6, 7], [8, 9, 10]], [[False, True, True]] * 2)
    return LanguageLedgerStart(step, replies, Entropies(np.array(by_token), delivered), made)


def test_entries_are_what_was_booked_and_the_ends_evenly_mixed() -> None:
    """Without momentum all weights are 1; of four steps the ends share 2.5 to 1.5."""
    early = EntropyPace(EntropyComponent(-0.1, 0.01), 0.04, EntropyComponent(0.2, 0.0))
    late = EntropyPace(EntropyComponent(-0.2, 0.01), 0.08, EntropyComponent(0.0, 0.0))
    ledger = LanguageLedger(opening(3, [1.0, 1.0, 0.5, 0.5], 0.7, early))
    ledger = ledger.with_update(0.3, 0.01).with_update(0.1, 0.02)
    now = opening(7, [0.9, 0.9, 0.9, 0.9], 0.8, late)
    then = Entropies(np.array([0.8, 0.8, 0.6, 0.6]), 0.75)
    entries = ledger.metrics_at(now, then, 0.0)
    wanted = {
        "total": 0.7 - 0.75,
        "states": 0.9 - 0.7,
        "noise": 2.5 * -0.1 + 1.5 * -0.2,
        "remedy": 2.5 * 0.2,
        "signal": 0.4 - 2.5 * 0.2,
        "momentum": (0.7 - 0.75) - (0.75 - 0.7) + 0.03,
        "total_se": 0.15,  # of two prefixes that change by -0.2 and 0.1
        "noise_se": (4 * 4 * 0.01) ** 0.5,
        "signal_se": (2.5 * 0.04 + 1.5 * 0.08) ** 0.5,
        "remedy_se": 0.0,
        "states_se": 0.1,
    }
    found = {name: entries[f"ledger/{name}"] for name in wanted}
    assert found == pytest.approx(wanted)
    parts = sum(wanted[name] for name in ("signal", "noise", "remedy", "momentum"))
    assert entries["ledger/closure"] == pytest.approx(wanted["total"] - parts)
    assert LanguageLedger().metrics_at(now, then, 0.0) == {}


def test_a_ledger_is_read_back_as_it_was_saved(tmp_path: Path) -> None:
    made = EntropyPace(EntropyComponent(-0.1, 0.01), 0.04, EntropyComponent(0.2, 0.3))
    ledger = LanguageLedger(opening(3, [1.0, 1.0, 0.5, 0.5], 0.7, made)).with_update(0.3, 0.01)
    ledger.save(tmp_path)
    again = language_book.load(tmp_path)
    assert (again.first, again.rescaled) == (0.3, 0.01)
    assert ledger.opening is not None
    assert again.opening is not None
    assert again.opening.tokens == ledger.opening.tokens
    assert (again.opening.step, again.opening.pace) == (3, made)
    assert again.opening.entropies.by_token.tolist() == [1.0, 1.0, 0.5, 0.5]


def test_a_checkpoint_without_a_ledger_begins_one_and_a_damaged_one_is_refused(
    tmp_path: Path,
) -> None:
    assert language_book.load(None) == language_book.load(tmp_path) == LanguageLedger()
    LanguageLedger().save(tmp_path)
    assert not (tmp_path / language_book.FILE).exists()
    (tmp_path / language_book.FILE).write_bytes(b"PK no ledger")
    with pytest.raises(DataError, match=r"language_ledger\.npz: must hold a ledger, but does not"):
        language_book.load(tmp_path)


def kept(draws: int = 3, prefixes: int = 8, **trainer: Any) -> RunConfig:
    """A run that is evaluated at steps 1, 3 and 4."""
    run = config(**({"eval_every": 2, "conversations": 16} | trainer))
    return replace(run, eval=EvalConfig(users=2, levels=[], deaf=False, prefixes=prefixes,
                                        ledger_draws=draws))  # fmt: skip


@pytest.mark.parametrize(
    "without",
    [
        kept(draws=0),
        kept(prefixes=0),
        kept(conversations=4),
        kept(updates_per_batch=2),
        kept(gpus=2, engine="transformers"),
    ],
)
def test_where_noise_cannot_be_told_no_ledger_is_kept(without: RunConfig) -> None:
    assert language_book.is_kept(kept())
    assert not language_book.is_kept(without)


def test_a_run_that_keeps_none_leaves_that_of_its_checkpoint(tmp_path: Path) -> None:
    """As one has that was resumed with one rank and goes on with two."""
    made = EntropyPace(EntropyComponent(-0.1, 0.01), 0.04, EntropyComponent(0.2, 0.3))
    LanguageLedger(opening(3, [1.0], 0.7, made)).save(tmp_path)
    assert LedgerKeeper(kept(), tmp_path).is_due
    assert not LedgerKeeper(kept(gpus=2, engine="transformers"), tmp_path).is_due


def ledger_of(row: dict[str, Any]) -> dict[str, float]:
    return {key.removeprefix("ledger/"): row[key] for key in row if key.startswith("ledger/")}


@pytest.mark.slow
def test_a_killed_run_keeps_its_ledger_and_learns_as_it_would_without(tmp_path: Path) -> None:
    whole = make_run(tmp_path / "whole", kept(), users=None)
    assert go_on(whole)[0] == 0
    killed = killed_after(make_run(tmp_path / "killed", kept(), users=None), 3)
    assert go_on(killed)[0] == 0
    assert killed.metrics.read_bytes() == whole.metrics.read_bytes()
    rows = rows_of(whole)
    assert [row["step"] for row in rows if row["ledger/noise"] is not None] == [3, 4]
    for row in (rows[2], rows[3]):
        entries = ledger_of(row)
        assert abs(entries["closure"]) < 0.2 * abs(entries["signal"]) + abs(entries["noise"])
        assert entries["signal_se"] > 0 < entries["noise_se"]
        assert entries["momentum"] != 0
    change = rows[2]["entropy/probe"] - rows[0]["entropy/probe"]
    assert change == pytest.approx(rows[2]["ledger/total"] + rows[2]["ledger/states"], abs=1e-6)
    without = make_run(tmp_path / "without", kept(draws=0), users=None)
    assert go_on(without)[0] == 0
    for row, other in zip(rows, rows_of(without), strict=True):
        apart = {key for key in row if row[key] != other[key]}
        assert all(key.startswith("ledger/") or key == "crc32" for key in apart)
