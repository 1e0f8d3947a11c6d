"""Checkpoints that are exported, and what an export says in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from harness.records import checkpoints
from harness.records.run_folder import RunFolder

WITHOUT_US = "import sys; sys.modules['harness'] = None; exec(sys.stdin.read())"
"""A process in which `import harness` fails, whatever is installed."""


GREEDY = """
from transformers import AutoModelForCausalLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(".")
model = AutoModelForCausalLM.from_pretrained(".")
asked = tokenizer.apply_chat_template(
    [{"role": "user", "content": %r}], add_generation_prompt=True, return_tensors="pt",
    return_dict=True)
drawn = model.generate(**asked, do_sample=False)[0, asked["input_ids"].shape[1]:].tolist()
print(asked["input_ids"][0].tolist() + drawn)
"""


def alone(script: str, folder: Path) -> str:
    """What `script` prints in the folder of an export."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_US], input=script, cwd=folder, text=True,
        capture_output=True, timeout=200, check=False,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def checkpoint(run: RunFolder, step: int) -> Path:
    return run.checkpoints / f"step-{step:05d}" / checkpoints.MODEL


def shown_python(card: str) -> str:
    (block,) = re.findall(r"^```python\n(.*?)^```$", card, re.MULTILINE | re.DOTALL)
    return str(block)


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
