"""Results that take time: what is made of them, and of several."""

import time
from concurrent.futures import Future

import pytest

from harness.utils import pending as pending_results
from harness.utils.pending import AwaitableResult, Pending, first_ready, gather, ready, then


def test_what_is_there_already_is_not_awaited_nor_what_is_made_of_it() -> None:
    made: Pending[str] = then(ready(3), str)
    assert not isinstance(made, AwaitableResult)
    assert made() == "3"


def test_several_are_there_when_the_last_is_and_each_polls_and_works() -> None:
    log: list[str] = []

    def works(name: str, left: list[int]) -> bool:
        log.append(name)
        return bool(left) and bool(left.pop())

    futures: list[Future[int]] = [Future(), Future()]
    left = [1]
    pending: list[Pending[int]] = [
        AwaitableResult(futures[0].result, (futures[0],), lambda: log.append("first polls")),
        AwaitableResult(futures[1].result, (futures[1],), work=lambda: works("second", left)),
    ]
    several = then(gather(pending), lambda both: both)
    assert isinstance(several, AwaitableResult)
    several.poll()
    assert [several.work(), several.work()] == [True, False]
    assert log == ["first polls", "second", "second"]
    futures[1].set_result(2)
    there = [several.is_ready]
    futures[0].set_result(1)
    there.append(several.is_ready)
    assert there == [False, True]
    assert several() == [1, 2]


def test_several_of_which_one_does_not_tell_do_not_tell() -> None:
    done: Future[int] = Future()
    done.set_result(1)
    pending: list[Pending[int]] = [AwaitableResult(done.result, (done,)), ready(2)]
    several = gather(pending)
    assert not isinstance(several, AwaitableResult)
    assert several() == [1, 2]


def test_what_is_there_already_goes_before_what_is_awaited() -> None:
    never: Future[int] = Future()
    awaited = AwaitableResult(never.result, (never,))
    assert first_ready([awaited, ready(1), awaited]) == 1


def test_what_gets_ready_between_the_work_and_the_wait_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pending_results, "POLL_EVERY_S", 5.0)
    late: Future[int] = Future()
    never: Future[int] = Future()

    def works() -> bool:
        if not late.done():
            late.set_result(1)
        return False

    pending = [
        AwaitableResult(late.result, (late,)),
        AwaitableResult(never.result, (never,), work=works),
    ]
    began_s = time.monotonic()
    assert first_ready(pending) == 0
    assert time.monotonic() - began_s < pending_results.POLL_EVERY_S
