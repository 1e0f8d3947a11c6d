"""Work is shared between processes, and nobody can tell from the results."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor
from pathlib import Path

import pytest

from harness.report import write
from harness.utils import process_pool
from tests.report import made


def square(value: int) -> int:
    return value * value


def whose(_: int) -> int:
    return os.getpid()


def die_elsewhere(parent: int) -> int:
    """Ends the process it is done in, unless that is `parent`."""
    if os.getpid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
    return parent


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor | None]:
    """One other process."""
    with process_pool.worker_pool(2) as pool:
        yield pool


@pytest.mark.slow
def test_results_come_in_the_order_of_the_pieces(pool: Executor | None) -> None:
    values = list(range(50))
    assert process_pool.submit(pool, square, values).results() == [v * v for v in values]


@pytest.mark.parametrize("left", [0, 1])
def test_this_process_takes_part_but_for_what_is_left_to_the_others(
    pool: Executor | None, left: int
) -> None:
    doers = process_pool.submit(pool, whose, range(40)).results(left_to_others=left * 40)
    assert (os.getpid() in doers) == (not left)


def test_one_process_has_no_others() -> None:
    with process_pool.worker_pool(1) as pool:
        assert process_pool.submit(pool, whose, [1]).results(left_to_others=1) == [os.getpid()]


@pytest.mark.slow
def test_what_a_killed_process_had_is_done_here() -> None:
    with process_pool.worker_pool(2) as pool:
        for _ in range(2):  # the second time the others are gone before they begin
            begun = process_pool.submit(pool, die_elsewhere, [os.getpid()] * 3)
            assert begun.results(left_to_others=3) == [os.getpid()] * 3


@pytest.mark.slow
def test_figures_drawn_elsewhere_have_the_same_bytes(pool: Executor | None, tmp_path: Path) -> None:
    analysis = made.ladder(levels=1, seeds=1)
    here = write.write_results(analysis, tmp_path / "here", "auto")
    begun = write.begin_figures(analysis, "auto", pool)
    write.write_analysis(analysis, tmp_path / "there", begun)
    for path in here:
        assert path.read_bytes() == (tmp_path / "there" / path.name).read_bytes(), path.name
