"""How much longer does vLLM take for a batch of conversations whose users take time to answer?

    python -m benchmarks.waves [THREADS]

Runs of two steps of 64 conversations of 6 turns, with a model of random weights whose replies are
up to 48 tokens. In the first two runs scripted users answer at once: the plain batch is one wave,
and then each conversation goes on by itself. In the others a local endpoint answers each call, of
which a turn has two, after 0.5 s. Takes vLLM's CPU build, which draws as in
tests/train/test_vllm.py. Rates are of the second step's rollout, since the first warms up: users
who differ say when conversations end, so tokens a second are compared, not seconds.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from harness.config.run import DifficultyConfig, EvalConfig, PolicyConfig, RunConfig
from harness.config.simulator import SimulatorConfig
from tests.simulator.endpoint import serving
from tests.simulator.served import config as served
from tests.train.made import make_run, start, status
from tests.train.made_hugging_face import config as hugging_face

ON_CPU = Path(__file__).parents[1] / "tests" / "train" / "vllm_on_cpu"
DELAY_S, CONVERSATIONS, TURNS, STEPS = 0.5, 64, 6, 2
POLICY = PolicyConfig(
    name="hf", kind="hf", init="random", hidden_size=512, layers=4, attention_heads=8,
    key_value_heads=2, head_size=64, feed_forward_size=1024, vocabulary=800, max_turn_tokens=48,
)  # fmt: skip


def main() -> None:
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ON_CPU), os.environ.get("PYTHONPATH", "")])
    plain = _rate(_config(threads, 1), SimulatorConfig())
    print(f"plain batch: {plain:.0f} tokens a second", flush=True)
    alone = _rate(_config(threads, None), SimulatorConfig())
    print(f"each by itself: {alone:.0f} tokens a second, {alone / plain:.0%} of it", flush=True)
    for waves, name in ((1, "1 wave"), (2, "2 waves"), (None, "each by itself")):
        with serving(delay_s=DELAY_S) as endpoint:
            users = replace(served(endpoint.url), concurrency=CONVERSATIONS)
            rate = _rate(_config(threads, waves), users)
        print(f"{name}: {rate:.0f} tokens a second, {rate / plain:.0%} of it", flush=True)


def _config(threads: int, waves: int | None) -> RunConfig:
    base = hugging_face(POLICY, steps=STEPS, conversations=CONVERSATIONS, eval_every=0)
    trainer = replace(
        base.trainer, threads=threads, waves=waves, engine="vllm_colocate", gpu_memory_share=0.1
    )
    users = DifficultyConfig(turn_cap=TURNS, stop_below=0)
    return replace(base, trainer=trainer, difficulty=users, eval=EvalConfig(levels=[]))


def _rate(config: RunConfig, users: SimulatorConfig) -> float:
    """Tokens of the policy a second of rollout."""
    with tempfile.TemporaryDirectory() as folder:
        run = make_run(Path(folder) / "run", replace(config, simulator=users))
        _, err = start(run).communicate()
        if status(run)["status"] != "done":
            sys.exit(err)
        events = map(json.loads, run.events.read_text().splitlines())
        steps = {e["step"]: e["seconds"]["rollout"] for e in events if e["event"] == "step"}
        row = json.loads(run.metrics.read_text().splitlines()[-1])
        return float(CONVERSATIONS * row["completions/mean_length"] / steps[STEPS])


if __name__ == "__main__":
    main()
