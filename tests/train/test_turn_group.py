"""Turns that ranks draw together: gloo ranks, with the transformers sampler as their engine."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from harness.config.run import RunConfig, TrainerConfig
from harness.errors import ConfigError
from harness.policy import huggingface
from harness.train.engines.engine import TurnRequest
from harness.train.engines.sampler import SampledTurn, Sampler
from harness.train.engines.turn_group import join_requests
from harness.train.ranks.links import LOOPBACK, Links, Rendezvous
from tests.train import made_ranks
from tests.train.made_ranks import POLICY

END, LIMIT = 3, 6
PROMPTS = {0: [[5, 6, 7], [8, 9]], 1: [[10, 11]], 2: [[12, 13, 14]], 3: [[15]]}
"""What each rank's conversations begin with."""
TURNS = {0: 1, 1: 4, 2: 2, 3: 0}
"""How often each rank speaks before it has no more to say: some end early, one says nothing."""


def model() -> Any:
    torch.manual_seed(1)
    return huggingface.load_model(POLICY, None, "cpu")


def drawn(whole: Any, request: TurnRequest) -> list[SampledTurn]:
    """Turns from seeds, as vLLM draws them: a prompt's depend on its seed alone."""
    rows = [torch.rand(LIMIT, generator=torch.Generator().manual_seed(s)) for s in request.seeds]
    sampler = Sampler(whole, len(rows), request.end, request.temperature)
    return sampler.speak(range(len(rows)), request.prompts, torch.stack(rows).double())


def request_of(rank: int, turn: int, prompts: list[list[int]]) -> TurnRequest:
    seeds = [1000 * rank + 100 * turn + n for n in range(len(prompts))]
    return TurnRequest(prompts, seeds, LIMIT, END, 1.3)


def said(rank: int, complete: Any) -> list[list[int]]:
    """All tokens of a rank's conversations, which go on from its own turns."""
    prompts, turns = PROMPTS[rank], []
    for turn in range(TURNS[rank]):
        replies = complete(request_of(rank, turn, prompts))
        turns += [reply.ids for reply in replies]
        prompts = [[*old, *new.ids] for old, new in zip(prompts, replies, strict=True)]
    return turns


ON_A_RANK = """
import json, os, sys
import torch
from harness.train.engines.turn_group import GroupStopped, TurnGroup
from tests.train.test_turn_group import drawn, linked, model, said
folder, rank, ranks, size, does = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5]
torch.set_num_threads(1)
whole, calls = model(), []
def draw(request):
    calls.append(len(request.prompts))
    turns = drawn(whole, request)
    return turns[::-1] if does == 'unlike' and rank else turns
mates = linked(folder, rank, ranks).mates(size)
group = TurnGroup(draw, mates)
told = {'place': mates.place, 'ended': 'well'}
try:
    with group.speaking():
        if does == 'dies' and rank == 1:
            os._exit(9)
        if does == 'stops' and rank == 1:
            raise InterruptedError('asked to stop')
        told['turns'] = said(rank, group.complete)
    with group.speaking():
        pass
except Exception as error:
    told['ended'] = type(error).__name__ + ': ' + str(error)
told['calls'] = calls
with open(f'{folder}/{rank}.json', 'w') as file:
    json.dump(told, file)
os._exit(0)
"""


def linked(folder: str, rank: int, ranks: int) -> Links:
    return Links(Rendezvous(folder=folder, address=LOOPBACK), rank, ranks, "cpu", 60.0)


def told(folder: Path, ranks: int, does: str = "") -> dict[int, dict[str, Any]]:
    """What each of `ranks` processes, in groups of two, writes."""
    words = [sys.executable, "-c", ON_A_RANK, str(folder)]
    given = [[*words, str(rank), str(ranks), "2", does] for rank in range(ranks)]
    processes = [subprocess.Popen(one) for one in given]
    for process in processes:
        process.wait(240)
    found = {rank: folder / f"{rank}.json" for rank in range(ranks)}
    return {rank: json.loads(path.read_text()) for rank, path in found.items() if path.exists()}


@pytest.mark.slow  # four processes that import torch
@pytest.mark.timeout(600)
def test_neighbours_draw_every_turn_together_and_keep_what_each_would_have_drawn_alone(
    tmp_path: Path,
) -> None:
    ranks, whole = told(tmp_path, 4), model()
    for rank, one in ranks.items():
        assert one["ended"] == "well"
        assert one["turns"] == said(rank, lambda request: drawn(whole, request))
        assert one["place"] == rank % 2
    assert ranks[0]["calls"] == ranks[1]["calls"] == [3, 1, 1, 1]
    assert ranks[2]["calls"] == ranks[3]["calls"] == [1, 1]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("does", "first", "second"),
    [
        ("stops", "GroupStopped: ", "InterruptedError: asked to stop"),
        (
            "unlike",
            "ValueError: trainer.engine_tensor_parallel: ranks of a group must sample the "
            "same tokens, got different ones; choose trainer.engine_tensor_parallel=1",
            "ValueError: trainer.engine_tensor_parallel: ranks of a group must sample the "
            "same tokens, got different ones; choose trainer.engine_tensor_parallel=1",
        ),
        ("dies", "RuntimeError: ", None),
    ],
)
def test_a_group_whose_ranks_part_ends(
    tmp_path: Path, does: str, first: str, second: str | None
) -> None:
    ranks = told(tmp_path, 2, does)
    assert ranks[0]["ended"].startswith(first)
    assert (ranks[1]["ended"] if 1 in ranks else None) == second


@given(st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=3), min_size=1, max_size=4))
def test_joined_requests_keep_their_order(prompts: list[list[int]]) -> None:
    requests = [request_of(rank, 0, [one, one]) for rank, one in enumerate(prompts)]
    whole = join_requests(requests)
    assert whole.prompts == [one for one in prompts for _ in range(2)]
    assert whole.seeds == [seed for request in requests for seed in request.seeds]
    assert (whole.limit, whole.end, whole.temperature) == (LIMIT, END, 1.3)


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (
            {"gpus": 2, "engine_tensor_parallel": 2},
            "trainer.engine_tensor_parallel must be 1 unless trainer.engine=vllm_colocate, got 2 "
            "with trainer.engine=auto; set trainer.engine=vllm_colocate",
        ),
        (
            {"gpus": 3, "engine": "vllm_colocate", "engine_tensor_parallel": 2},
            "trainer.engine_tensor_parallel must divide trainer.gpus, since groups are of ranks of "
            "one node, got 2 with trainer.gpus=3",
        ),
    ],
)
def test_groups_that_cannot_be_are_refused(given: dict[str, Any], rule: str) -> None:
    with pytest.raises(ConfigError) as refused:
        TrainerConfig(**given)
    assert str(refused.value) == rule


def test_a_run_goes_on_in_groups_where_its_ranks_divide() -> None:
    given = config()
    assert given.on_ranks(2).trainer.engine_tensor_parallel == 2
    assert given.on_ranks(1).trainer.engine_tensor_parallel == 1


def config() -> RunConfig:
    base = made_ranks.config(1)
    trainer = replace(
        base.trainer, ranks=None, gpus=4, engine="vllm_colocate", engine_tensor_parallel=2
    )
    return replace(base, trainer=trainer)
