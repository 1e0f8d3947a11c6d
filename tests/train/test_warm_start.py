"""The start model is built once, whole, the same each time, and under a name of its own."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from harness.config import PolicyConfig
from harness.policy import tiny
from harness.policy.chat import chat_of
from harness.policy.grammar import covers
from harness.train import dialogues, supervised, warm_start
from harness.train.vary import KINDS, retold

QUICK = PolicyConfig(
    hidden_size=32, layers=1, attention_heads=2, vocabulary=600, warm_start_steps=12
)


def digest(folder: Path) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def test_it_is_built_once_and_the_same_bytes_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = []
    for name in ("one", "two"):
        monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / name))
        torch.manual_seed(len(name))
        found.append(warm_start.ensure(QUICK))
    said = capsys.readouterr().err
    assert said.count("building the start model") == 2
    assert "nats a token" in said
    assert "recognised" in said
    assert digest(found[0]) == digest(found[1])
    assert warm_start.ensure(QUICK) == found[1]
    assert capsys.readouterr().err == ""
    card = json.loads((found[0] / "card.json").read_text())
    assert card["parameters"] == sum(p.numel() for p in tiny.load_model(found[0]).parameters())
    assert sum(card["strategies"].values()) == pytest.approx(1) or card["recognised"] == 0
    assert [p.name for p in found[0].parent.glob(".*")] == []


def test_the_name_follows_what_determines_the_model_and_nothing_else() -> None:
    name = warm_start.key(QUICK)
    assert warm_start.key(replace(QUICK, name="other", temperature=2.0)) == name
    for change in ({"hidden_size": 36}, {"vocabulary": 601}, {"warm_start_steps": 13}):
        assert warm_start.key(replace(QUICK, **change)) != name


def test_training_brings_the_loss_down_and_does_not_depend_on_threads() -> None:
    said = dialogues.generate(64)
    tokenizer = tiny.build_tokenizer((t for d in said for t in d), 600)
    rows = [dialogues.to_row(d, chat_of(tokenizer)) for d in said]
    weights, losses = [], []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        model = tiny.build_model(QUICK, tokenizer, 1)
        supervised.fit(model, rows, 20, 0.02, 1, lambda step, loss: losses.append(loss))
        assert torch.get_num_threads() == threads
        weights.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
    torch.set_num_threads(1)
    assert torch.equal(*weights)
    assert losses[:20] == losses[20:]
    assert losses[0] == pytest.approx(np.log(600), rel=0.1)
    assert losses[19] < 0.75 * losses[0]


def test_dialogues_are_grammatical_and_about_what_the_user_said() -> None:
    said = dialogues.generate(60)
    assert len(said) == 60
    assert said == dialogues.generate(60)
    for dialogue in said:
        heard, replies = dialogue[0::2], dialogue[1::2]
        assert len(heard) == len(replies) >= 1
        for n, reply in enumerate(replies, start=1):
            assert covers(reply, heard[:n])


def test_a_retold_dialogue_keeps_its_shape_and_swaps_alike_in_all_of_it() -> None:
    texts = ["My boss lost my dog on Monday.", "So your boss lost your dog on Monday."]
    versions = {tuple(retold(texts, np.random.default_rng(seed))) for seed in range(60)}
    assert tuple(texts) in versions
    assert len(versions) > 30
    swaps = {word: kind for kind in KINDS for word in kind}
    for told, told_back in versions:
        assert told.removeprefix("My") == told_back.removeprefix("So your").replace("your", "my")
        assert told.split()[1] in swaps["boss"]


@pytest.mark.parametrize("given", ['{"hiden_size": 3}', "[1]"])
def test_a_policy_with_unknown_keys_is_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["warm_start", given])
    with pytest.raises(warm_start.ConfigError, match="policy: keys must be among"):
        warm_start.main()
