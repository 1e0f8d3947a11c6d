"""The export of a run: it loads and talks without harness, or is refused in one sentence."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
import yaml

from harness.export.card import EXAMPLE
from harness.law.io import difficulty_card
from harness.policy import tiny
from harness.policy.chat import chat_of
from harness.records.run_folder import RunFolder
from harness.testing.commands import TABULAR, here
from harness.train.engines.engine import TransformersEngine
from tests.export.made import GREEDY, alone, checkpoint, damage, shown_python

COLDEST = 1e-4
"""A temperature at which a draw is the likeliest token."""


def greedy(weights: Path, words: str, most: int) -> list[int]:
    """Prompt and likeliest reply by the run's own engine."""
    chat = chat_of(tiny.load_tokenizer(weights))
    prompt = chat.opening(words)
    sampler = TransformersEngine(tiny.load_model(weights)).sampler(1, chat.end, COLDEST)
    (turn,) = sampler.speak([0], [prompt], torch.full((1, most), 0.5, dtype=torch.float64))
    return [*prompt, *turn.ids]


def front_of(card: str) -> dict[str, object]:
    values: dict[str, object] = yaml.safe_load(card.split("---\n")[1])
    return values


def test_without_harness_it_says_what_the_run_would_say(run: RunFolder, exported: Path) -> None:
    said = json.loads(alone(GREEDY % EXAMPLE, exported))
    assert said == greedy(checkpoint(run, 4), EXAMPLE, 32)


def test_the_python_of_its_card_runs_in_its_folder(exported: Path) -> None:
    assert alone(shown_python((exported / "README.md").read_text()), exported).strip()


def test_the_last_step_is_exported_or_the_one_that_is_named(
    run: RunFolder, exported: Path, tmp_path: Path
) -> None:
    done = here("export", str(run.path), "early", "--step", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"early: step 2 of {run.path}, ")
    for folder, step in ((exported, 4), (tmp_path / "early", 2)):
        saved = checkpoint(run, step) / "model.safetensors"
        assert (folder / "model.safetensors").read_bytes() == saved.read_bytes()
        assert f"after step {step} of 4" in (folder / "README.md").read_text()


def test_it_holds_a_model_and_nothing_of_the_trainer(exported: Path) -> None:
    assert sorted(path.name for path in exported.iterdir()) == [
        "README.md", "chat_template.jinja", "config.json", "generation_config.json",
        "harness.yaml", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
    ]  # fmt: skip
    config = json.loads((exported / "config.json").read_text())
    assert (config["model_type"], config["use_cache"]) == ("qwen3", True)
    assert json.loads((exported / "generation_config.json").read_text()) == {
        "eos_token_id": 3, "pad_token_id": 0, "do_sample": True, "temperature": 1.0, "top_k": 0,
        "top_p": 1.0, "max_new_tokens": 32,
    }  # fmt: skip


def test_its_card_says_what_the_run_measured(run: RunFolder, exported: Path) -> None:
    card = (exported / "README.md").read_text()
    row = json.loads(run.metrics.read_text().splitlines()[-1])
    assert front_of(card)["license"] == "mit"
    assert front_of(card)["pipeline_tag"] == "text-generation"
    assert f"| entropy H, nats | {row['entropy']:.4g} |" in card
    assert f"| own level | {row['eval/reward']:.4g} |" in card
    assert "| entropy.support | full vocabulary |" in card  # of the measurement card
    assert "| difficulty.turn\\_cap | 2 |" in card  # of the difficulty card
    assert "| algorithm.group\\_size | 4 |" in card
    assert "> **supporter**: " in card
    assert "Entropy law" not in card, "nobody has fitted it"


def test_its_card_has_the_verdict_that_stands_beside_the_run(
    run: RunFolder, tmp_path: Path
) -> None:
    shutil.copytree(run.path, tmp_path / "runs" / "one")
    done = here("fit-entropy-law", "runs", "--figures", "none", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    law = tmp_path / "runs" / "law" / "law.json"
    values = json.loads(law.read_text())
    for entry in values["runs"]:
        entry.update(verdict="holds", reasons=["not_validated_out_of_time"], regime="learning",
                         a={"value": 0.3, "low": 0.2, "high": 0.4},
                         identified={"a": True, "ceiling": False})  # fmt: skip
    law.write_text(json.dumps(values))
    assert here("export", "runs/one", "model", cwd=tmp_path).returncode == 0
    card = (tmp_path / "model" / "README.md").read_text()
    assert "Verdict: law holds. The run was fitted whole; this is step 4 of it." in card
    assert "* not validated out of time: fitted on the first part" in card
    assert "| a | 0.30 \\[0.20, 0.40\\] |" in card
    assert "| regime | learning |" in card
    law.write_text("{")
    assert here("export", "runs/one", "again", cwd=tmp_path).returncode == 0
    assert "Verdict" not in (tmp_path / "again" / "README.md").read_text()


def test_its_card_has_the_difficulty_card_of_its_sweep(run: RunFolder, tmp_path: Path) -> None:
    shutil.copytree(run.path, tmp_path / "one")
    card = {name: {"value": 0.5, "low": 0.4, "high": 0.6} for name in difficulty_card.MEASURES}
    anchors = {"random": {"reward": {"value": 0.31, "low": 0.3, "high": 0.32}},
               "attentive": {"listening": 1.45}, "optimum": {"reward": 0.9}}  # fmt: skip
    entry = {
        "level": "easy",
        "difficulty": {},
        "runs": ["one"],
        "card": {**card, "anchors": anchors},
    }
    (tmp_path / "cards.json").write_text(json.dumps({"schema": 1, "cards": [entry]}))
    assert here("export", "one", "model", cwd=tmp_path).returncode == 0
    card_text = (tmp_path / "model" / "README.md").read_text()
    assert "| need expression | 0.50 \\[0.40, 0.60\\] |" in card_text
    assert "| own level | 0.31 \\[0.30, 0.32\\] | - | - | 0.90 | 1.45 |" in card_text
    heard = (
        "| users | reward | standard error | on another user's words | listening, nats | share of"
    )
    assert heard in card_text


def test_a_damaged_last_checkpoint_is_passed_over_and_said(run: RunFolder, tmp_path: Path) -> None:
    mine = RunFolder(shutil.copytree(run.path, tmp_path / "one"))
    damage(checkpoint(mine, 4) / "model.safetensors")
    done = here("export", "one", "model", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("model: step 2 of one, ")
    assert done.stderr == (
        "harness: one/checkpoints/step-00004: trainer/model.safetensors differs from its manifest; "
        "an older checkpoint is exported\n"
    )


@pytest.mark.parametrize("words", [[], ["--step", "4"]])
def test_a_run_without_a_whole_checkpoint_is_refused(
    run: RunFolder, tmp_path: Path, words: list[str]
) -> None:
    mine = RunFolder(shutil.copytree(run.path, tmp_path / "one"))
    for step in (2, 4):
        damage(checkpoint(mine, step) / "tokenizer.json")
    done = here("export", "one", "model", *words, cwd=tmp_path)
    assert done.returncode == 65
    rule = "a checkpoint must be as it was saved, got: trainer/tokenizer.json differs from its"
    assert f"step-0000{4 if words else 2}: {rule} manifest" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--step", "3"], "one/checkpoints: --step must be a step whose checkpoint was kept, 2, 4; "
                          "got 3: trainer.keep_every=N keeps every N-th"),
        (["--merge"], "--merge: must be given for a run that trains adapters only "
                      "(policy.lora_rank above 0), got one whose weights are full anyway"),
    ],
)  # fmt: skip
def test_what_cannot_be_exported_is_refused(
    run: RunFolder, tmp_path: Path, words: list[str], sentence: str
) -> None:
    (tmp_path / "one").symlink_to(run.path)
    done = here("export", "one", "model", *words, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, f"harness: {sentence}\n")
    assert not (tmp_path / "model").exists()


def test_a_run_of_the_tabular_policy_or_without_a_checkpoint_is_refused(
    run: RunFolder, tmp_path: Path
) -> None:
    here("train", *TABULAR, "trainer.steps=2", "--dir", "table", cwd=tmp_path)
    done = here("export", "table", "model", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "harness: table/config.yaml: policy.kind must be that of a language model, tiny or hf, for "
        "weights that other programs load, got tabular\n",
    )
    shutil.copytree(run.path, tmp_path / "one")
    shutil.rmtree(tmp_path / "one" / "checkpoints")
    done = here("export", "one", "model", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        65,
        "harness: one/checkpoints: must hold a checkpoint, saved every 2 steps "
        "(trainer.checkpoint_every), got none\n",
    )


def test_what_is_no_run_is_refused(run: RunFolder, tmp_path: Path) -> None:
    shutil.copytree(run.path, tmp_path / "runs" / "one")
    done = here("export", "runs", "model", cwd=tmp_path)
    assert done.returncode == 65
    assert done.stderr.endswith("for the first, `harness export runs/one model`\n")


@pytest.mark.parametrize("place", ["file", "full", "link", "one/model"])
def test_a_place_that_is_taken_is_left_alone(run: RunFolder, tmp_path: Path, place: str) -> None:
    shutil.copytree(run.path, tmp_path / "one")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    before = sorted(tmp_path.rglob("*"))
    done = here("export", "one", place, cwd=tmp_path)
    given = {"file": "a file", "full": "one that holds 'mine'", "link": "a link to empty"}
    assert done.returncode == 2
    assert f"{place}: an export " in done.stderr
    assert given.get(place, "got one in ") in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_an_empty_folder_is_filled_and_parents_are_made(run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for place in ("empty", "models/of/mine"):
        done = here("export", str(run.path), place, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / place / "model.safetensors").is_file()


def test_a_config_that_was_changed_is_refused(run: RunFolder, tmp_path: Path) -> None:
    mine = RunFolder(shutil.copytree(run.path, tmp_path / "one"))
    mine.config.write_text(mine.config.read_text().replace("seed: 1", "seed: 2"))
    done = here("export", "one", "model", cwd=tmp_path)
    assert done.returncode == 2
    assert "one/config.yaml: must be as it was when the run was planned" in done.stderr


def test_nothing_is_left_of_an_export_that_fails(run: RunFolder, tmp_path: Path) -> None:
    """The checkpoint goes while it is copied, as that of a run that goes on may."""
    mine = RunFolder(shutil.copytree(run.path, tmp_path / "one"))
    (checkpoint(mine, 4) / "config.json").unlink()
    (checkpoint(mine, 4).parent / "manifest.json").write_text(
        json.dumps(_described_again(checkpoint(mine, 4).parent))
    )
    done = here("export", "one", "model", cwd=tmp_path)
    assert done.returncode == 65
    assert "trainer/config.json: cannot be read" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def _described_again(folder: Path) -> dict[str, object]:
    values: dict[str, object] = json.loads((folder / "manifest.json").read_text())
    files = values["files"]
    assert isinstance(files, dict)
    return {**values, "files": {k: v for k, v in files.items() if k != "trainer/config.json"}}
