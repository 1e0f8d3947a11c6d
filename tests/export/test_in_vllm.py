"""An export in vLLM, its CPU build, with nothing of harness; skipped where it is not installed."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.config import engine_choice
from harness.testing import commands
from tests.train.made import finish, make_run
from tests.train.made_hugging_face import FOR_VLLM, ON_CPU
from tests.train.made_ranks import config

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(engine_choice.installed_vllm() is None, reason="vLLM is not installed here"),
]


@pytest.mark.parametrize("lora_rank", [0, 4])
def test_vllm_loads_an_export_and_talks_as_transformers_does(
    tmp_path: Path, lora_rank: int
) -> None:
    """With the chat template, and the longest reply of the training."""
    policy = replace(FOR_VLLM, lora_rank=lora_rank)
    given = config(1, policy, steps=1, eval_every=0, engine="transformers")
    run = make_run(tmp_path / "run", given, users=None)
    code, _, err = finish(run)
    assert code == 0, err
    words = ["export", str(run.path), str(tmp_path / "out"), *["--merge"][: lora_rank > 0]]
    done = commands.harness(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    talk = [sys.executable, str(ON_CPU / "chat.py"), str(tmp_path / "out")]
    chat = subprocess.run(talk, capture_output=True, text=True, timeout=600)
    assert chat.returncode == 0, chat.stderr
    told = json.loads(chat.stdout.splitlines()[-1])
    assert told["same_prompt"]
    assert told["largest_gap"] <= 1e-4 < told["spread"]
    assert 0 < told["tokens"] <= told["limit"] == policy.max_turn_tokens
