"""Put on PYTHONPATH by tests, this lets vLLM's CPU build be the engine inside a run.

vLLM packs a layer's weights on a CPU once they are loaded, and leaves an empty one behind that
nothing can be put in afterwards; here they stay as they are. It takes no request apart, since that
rewinds a seeded generator, which a CPU's cannot be. And it may be asked for without a GPU.

Two faults can be had by a variable: WEIGHTS_STAY=1 (they are put in once and never again) and
HANGS_AT_TURN=N.
"""

import functools
import os
import sys
import time
from typing import Any

os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
HANGS_S = 600


def _put(owner: object, name: str, value: object) -> None:
    """Replace an attribute of code that is not made to be changed."""
    setattr(owner, name, value)


def _let_cpu_be_asked_for() -> None:
    from harness.config import engine_choice

    _put(engine_choice, "ON_GPU", ())


def _import_as_a_run_does() -> None:
    """TRL's adapter settles what vLLM may say, since TRL imports it."""
    import harness.train.loop.trl_adapter  # noqa: F401


def _keep_weights() -> None:
    import torch
    from vllm.model_executor.layers import utils

    def plain(layer: torch.nn.Module, remove_weight: bool) -> None:
        _put(layer, "cpu_linear", torch.nn.functional.linear)

    _put(utils, "dispatch_cpu_unquantized_gemm", plain)


def _set_up_for_cpu() -> None:
    from vllm import LLM

    from harness.train.engines import vllm_engine

    eager = functools.partial(LLM, enforce_eager=True, max_num_batched_tokens=65_536)
    _put(vllm_engine, "LLM", eager)


def _talk_over_gloo() -> None:
    """Between ranks of a group: the shared memory that vLLM takes on a CPU has one name for all
    runs of a machine, and outlives a killed one.
    """
    from vllm.distributed.device_communicators.cpu_communicator import CpuCommunicator

    _put(CpuCommunicator, "_all_group_ranks_share_shm_group_name", lambda communicator: False)


def _have_faults() -> None:
    from harness.train.engines.vllm_engine import ColocatedEngine

    if os.environ.get("WEIGHTS_STAY"):
        _put(ColocatedEngine, "_take_weights", _once(ColocatedEngine._take_weights))
    if "HANGS_AT_TURN" in os.environ:
        _hang_at(int(os.environ["HANGS_AT_TURN"]))


def _once(method: Any) -> Any:
    done: list[bool] = []

    def take(engine: Any) -> None:
        if not done:
            method(engine)
        done.append(True)

    return take


def _hang_at(turn: int) -> None:
    from vllm.v1.engine.llm_engine import LLMEngine

    from harness.train.engines.running_turns import RunningTurns

    begin, turns = RunningTurns.begin, iter(range(1, sys.maxsize))

    def sleep(engine: Any) -> list[Any]:
        time.sleep(HANGS_S)
        return []

    def hang(*arguments: Any, **named: Any) -> Any:
        if next(turns) == turn:
            _put(LLMEngine, "step", sleep)
        return begin(*arguments, **named)

    _put(RunningTurns, "begin", hang)


_let_cpu_be_asked_for()
RUNS = {"harness.train", "harness.train.loop.rank"}
SCRIPTS = ("agree.py", "in_parts.py")
if RUNS & set(sys.orig_argv) or any(word.endswith(SCRIPTS) for word in sys.orig_argv):
    _import_as_a_run_does()
    _keep_weights()
    _set_up_for_cpu()
    _talk_over_gloo()
    _have_faults()
