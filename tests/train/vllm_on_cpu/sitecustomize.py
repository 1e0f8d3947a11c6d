"""Put on PYTHONPATH by tests, this lets vLLM's CPU build be the engine inside a run.

vLLM packs a layer's weights on a CPU once they are loaded, and leaves an empty one behind that
nothing can be put in afterwards; here they stay as they are. It takes no request apart, since that
rewinds a seeded generator, which a CPU's cannot be. And it may be asked for without a GPU.
"""

import os
import sys

os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")


def _let_cpu_be_asked_for() -> None:
    from harness import engines

    engines.ON_GPU = ()


def _keep_weights() -> None:
    import torch
    from vllm.model_executor.layers import utils

    def plain(layer: torch.nn.Module, remove_weight: bool) -> None:
        layer.cpu_linear = torch.nn.functional.linear

    utils.dispatch_cpu_unquantized_gemm = plain


def _compile_nothing() -> None:
    import functools

    from harness.train import vllm_engine

    options = {"enforce_eager": True, "max_num_batched_tokens": 65_536}
    vllm_engine.LLM = functools.partial(vllm_engine.LLM, **options)


_let_cpu_be_asked_for()
if "harness.train" in sys.orig_argv:
    _keep_weights()
    _compile_nothing()
