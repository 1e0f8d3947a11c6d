"""A roll call of ranks, some of which are stopped processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st

from harness.train.ranks import roll_call
from harness.train.ranks.roll_call import RollCall, behind

RANKS = 4
ON_A_RANK = """
import sys, time
import torch.distributed as dist
from harness.train.ranks import roll_call
folder, rank, begun = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
roll_call.answer(dist.FileStore(f'{folder}/{roll_call.NAME}', 4), rank, lambda: begun)
print('ready', flush=True)
time.sleep(600)
"""


@pytest.fixture
def ranks(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[list[int]]:
    """Processes of ranks 1 to 3, which have begun so many rounds each."""
    words = [sys.executable, "-c", ON_A_RANK, str(tmp_path)]
    started = [
        subprocess.Popen([*words, str(rank), str(begun)], stdout=subprocess.PIPE)
        for rank, begun in enumerate(request.param, 1)
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
    yield [process.pid for process in started]
    for process in started:
        process.kill()
        process.communicate()


def call(folder: Path, own: int = 7) -> RollCall:
    store = dist.FileStore(str(folder / roll_call.NAME), RANKS)
    return RollCall(store, RANKS, 2, lambda: own)


@pytest.mark.slow  # three processes that import torch
@pytest.mark.parametrize("ranks", [[7, 9, 9]], indirect=True)
def test_a_stopped_rank_is_silent_whatever_group_it_is_in(ranks: list[int], tmp_path: Path) -> None:
    os.kill(ranks[2], signal.SIGSTOP)
    called, began = call(tmp_path), time.monotonic()
    assert called.silent() == called.missing() == [3]
    assert time.monotonic() - began < 2 * roll_call.ANSWERS_WITHIN_S + 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ranks", "missing"), [([7, 9, 8], [3]), ([6, 9, 9], [1]), ([8, 9, 9], [])], indirect=["ranks"]
)
def test_a_rank_is_missing_that_is_behind_its_own_group_but_not_the_first(
    ranks: list[int], missing: list[int], tmp_path: Path
) -> None:
    called = call(tmp_path)
    assert called.silent() == []
    assert called.missing() == missing


@given(st.dictionaries(st.integers(0, 20), st.integers(0, 3)), st.integers(1, 4))
def test_nobody_is_behind_who_has_begun_as_many_rounds_as_all(
    rounds: dict[int, int], in_group: int
) -> None:
    late = behind(rounds, in_group)
    for rank, begun in rounds.items():
        mates = [n for other, n in rounds.items() if other // in_group == rank // in_group]
        assert (rank in late) == (begun < max(mates))
