"""Put on PYTHONPATH by tests, this folder has a stand-in for vLLM, which needs no GPU."""

import sys

if {"harness.train", "harness.train.loop.rank"} & set(sys.orig_argv):
    from trl import import_utils

    from harness.config import engine_choice

    setattr(engine_choice, "ON_GPU", ())  # noqa: B010
    import_utils.is_vllm_available = lambda **_: False  # TRL would import all of it
