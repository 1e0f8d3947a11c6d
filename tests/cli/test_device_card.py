"""harness doctor --gpu: what the card of a trial holds, on a CPU and by made numbers of a GPU."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import Qwen3Model

from harness.cli import device_card
from harness.cli.device_card import NO_ESTIMATE, NO_GPU
from harness.compose import planner
from harness.errors import ConfigError, DeviceError
from harness.testing.commands import here
from harness.train.trial import measure
from harness.train.trial.results import PhaseMemory, Trial, TrialSize
from tests.train.made_hugging_face import SMALL, config

SHAPE = (
    "policy=hf", "policy.init=random", "policy.hidden_size=32", "policy.layers=2",
    "policy.attention_heads=4", "policy.key_value_heads=2", "policy.head_size=8",
    "policy.feed_forward_size=64", "policy.vocabulary=800", "policy.max_turn_tokens=8",
    "trainer.conversations=8", "difficulty.turn_cap=2",
)  # fmt: skip


@pytest.fixture(scope="module")
def trial() -> Trial:
    threads = torch.get_num_threads()
    found = measure.measure(config(SMALL))
    torch.set_num_threads(threads)
    return found


def test_a_trial_on_a_cpu_measures_what_a_cpu_can(trial: Trial) -> None:
    assert (trial.device, trial.size) == ("cpu", TrialSize(8, 2, 8))
    assert trial.precision.entropy == pytest.approx(6.68, abs=0.05), "of 800 words, about log 800"
    assert 0 < trial.precision.logp_gap <= trial.precision.largest_logp_gap < 0.1
    assert abs(trial.precision.entropy_gap) < 0.01
    assert trial.engine.engine == "transformers"
    assert max(trial.engine.before, trial.engine.after) < 1e-5
    assert trial.engine.stale > 1e-3, "the update moved the weights, and the engine went along"
    assert [phase.peak for phase in trial.phases] == [None, None]
    assert trial.rollout_tokens_per_s > 0
    assert trial.training_tokens_per_s > 0


def test_the_card_says_of_each_row_whether_it_was_measured(trial: Trial) -> None:
    rows = {row.name: row for row in device_card.rows_of(trial)}
    for name in ("peak memory of the rollout", "peak memory of the update"):
        assert rows[name].value is None
        assert rows[name].value_text.startswith(
            f"{NO_GPU}; estimated for a run's longest step on a GPU, {trial.longest.words}: "
        )
        assert (rows[name].wanted, rows[name].verdict) == ("", "")
    assert rows["wake, and send the weights"].value_text == NO_GPU
    assert rows["engine's log-probabilities from the trainer's"].status == "ok"


def test_a_gap_and_a_peak_that_are_not_as_wanted_are_problems(trial: Trial) -> None:
    phases = (PhaseMemory("rollout", 10**10, 11 * 10**9), PhaseMemory("update", 10**10, 12 * 10**9))
    gap = replace(trial.engine, engine="vllm_colocate", after=0.2, send_s=2.0)
    rows = {
        row.name: row
        for row in device_card.rows_of(replace(trial, device="cuda", phases=phases, engine=gap))
    }
    assert rows["peak memory of the rollout"].status == "ok"
    assert rows["peak memory of the update"].status == "problem"
    assert rows["the same after an update and the sending of its weights"].status == "problem"
    assert rows["wake, and send the weights (vllm_colocate)"].value_text == "2 s"
    (none,) = (r for r in device_card.rows_of(replace(trial, phases=())) if r.name == "peak memory")
    assert none.value_text == NO_ESTIMATE


def test_of_several_ranks_one_is_tried_with_its_share_of_the_conversations() -> None:
    given = planner.point([*SHAPE, "trainer.gpus=2", "trainer.nodes=2", "algorithm.group_size=2"])
    tried = device_card._one_rank_config(given.config, has_gpu=False)
    assert (tried.trainer.world, tried.trainer.gpus, tried.trainer.conversations) == (1, 0, 2)


def test_sharded_weights_are_refused(tmp_path: Path) -> None:
    done = here(
        "doctor", "--gpu", *SHAPE, "trainer.gpus=2", "trainer.shard=full",
        "algorithm.group_size=4", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == ConfigError.exit_code
    rule = "trainer.shard: must be none for --gpu, which tests a policy on one GPU, got full"
    assert rule in " ".join(done.stderr.split())


def test_the_command_writes_a_card_that_names_no_place(tmp_path: Path) -> None:
    done = here("doctor", "--gpu", *SHAPE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "device-card"
    page, card = (folder / "card.md").read_text(), json.loads((folder / "card.json").read_text())
    assert done.stdout == page
    assert page.count(NO_GPU) == 3
    assert "| engine's log-probabilities from the trainer's |" in page
    assert card["schema"] == 1
    assert card["device"]["kind"] == "cpu"
    assert {row["name"] for row in card["rows"] if row["value"] is None} == {
        "wake, and send the weights", "peak memory of the rollout", "peak memory of the update",
    }  # fmt: skip
    assert card["overrides"] == list(SHAPE)
    assert str(tmp_path) not in page + json.dumps(card)


@pytest.mark.parametrize("model", ["./anna/model", "/home/anna/model", "~/anna", "anna/model"])
def test_no_word_and_no_model_of_a_folder_stands_in_the_card(
    trial: Trial, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "anna" / "model").mkdir(parents=True)
    words = (
        "policy=hf", f"policy.model={model}", f"+policy.model={model}", "trainer.conversations=8",
        "simulator.profiles=anna/p.jsonl", "++simulator.options={file: /home/anna/x}",
    )  # fmt: skip
    asked = config(replace(SMALL, model=model))
    card = device_card.card_of(trial, asked, words, device_card.device_of(trial))
    assert card["policy"]["model"] == "a folder"
    page = device_card.markdown(card, device_card.rows_of(trial))
    assert "`harness doctor --gpu policy=hf trainer.conversations=8`" in page
    assert "anna" not in page + json.dumps(card)
    there = config(replace(SMALL, model="Qwen/Qwen3-0.6B"))
    card = device_card.card_of(trial, there, (), device_card.device_of(trial))
    assert card["policy"]["model"] == "Qwen/Qwen3-0.6B"


def test_a_value_that_is_no_number_is_a_problem_and_the_card_is_written_all_the_same(
    trial: Trial,
) -> None:
    nan = replace(trial, engine=replace(trial.engine, before=math.nan, stale=math.inf))
    rows = {row.name: row for row in device_card.rows_of(nan)}
    gap = rows["engine's log-probabilities from the trainer's"]
    assert (gap.value, gap.status) == (None, "problem")
    card = device_card.card_of(nan, config(SMALL), (), device_card.device_of(nan))
    json.dumps(card, allow_nan=False)
    page = device_card.markdown(card, list(rows.values()))
    assert "trainer's | must be a finite number, got nan | at most 0.1 | problem |" in page
    assert "shown | must be a finite number, got inf |  | problem |" in page


def test_the_card_says_in_what_a_cpu_computed(trial: Trial) -> None:
    asked = config(replace(SMALL, dtype="bfloat16"))
    card = device_card.card_of(trial, asked, (), device_card.device_of(trial))
    assert card["policy"]["dtype"] == "float32"
    assert " s. float32, all weights; " in device_card.markdown(card, device_card.rows_of(trial))


def test_a_trial_out_of_memory_says_what_to_lower(monkeypatch: pytest.MonkeyPatch) -> None:
    def forward(*_: Any, **__: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB")

    monkeypatch.setattr(Qwen3Model, "forward", forward)
    sentence = (
        "the trial: out of memory; lower trainer.conversations or policy.max_turn_tokens; a "
        "Hugging Face policy needs less memory with policy.gradient_checkpointing=true or "
        "policy.lora_rank=32 "
        "(OutOfMemoryError: CUDA out of memory. Tried to allocate 9 GiB)"
    )
    with pytest.raises(DeviceError, match=re.escape(sentence)):
        measure.measure(config(SMALL))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--gpu", "policy=tabular"], "policy: must be a language model for --gpu, got tabular"),
        (["policy=tiny"], "config overrides and --out need --gpu, got policy=tiny"),
        (["--out", "here"], "config overrides and --out need --gpu, got --out here"),
        (["--gpu", "policy=tiny", "seed=1,2"], "seed: train does one run, got 2 values"),
    ],
)
def test_what_cannot_be_tried_is_refused_before_anything_is_created(
    tmp_path: Path, words: list[str], sentence: str
) -> None:
    done = here("doctor", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert not list(tmp_path.iterdir())
