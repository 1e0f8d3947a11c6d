"""Words of others in a model card: shown as they are, never read as markup, YAML or Python."""

from __future__ import annotations

import ast
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from harness.config import keys
from harness.config.run import PolicyConfig, RunConfig
from harness.export import base_model, markdown, measured, sections, source
from harness.export.base_model import BaseModel
from harness.export.card import usage
from harness.export.measured import ExportedResults
from harness.records import config_file, run_status
from harness.records.checkpoints import Checkpoint
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus
from harness.records.trained_run import TrainedRun
from harness.testing.commands import here
from harness.testing.payloads import PAYLOADS
from tests.present import present

MARKUP = (
    "<script>alert(1)</script>", "![x](http://evil/x.png)", "[x](javascript:alert(1))",
    "# heading", "| cell | cell |", "```\ncode\n```", "---\nlicense: evil\n---", "<!-- ", "https://x.y",
    "**bold**", "\n\n## Use\n\n    code", "&lt;b&gt;", "\u202e\x1b[2J",
)  # fmt: skip
TEXTS = st.text(max_size=60) | st.sampled_from((*PAYLOADS, *MARKUP))
INERT = {"paragraph", "inline", "blockquote", "strong", "text", "text_special", "softbreak"}


def kinds(text: str) -> set[str]:
    """What a Markdown reader makes of `text`: the kinds of its tokens."""
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(text)
    inner = [child for token in tokens for child in token.children or ()]
    names = {token.type for token in (*tokens, *inner)}
    return {name.removesuffix("_open").removesuffix("_close") for name in names}


@given(TEXTS)
def test_a_reply_is_a_line_of_a_quote_whatever_is_said(text: str) -> None:
    assert kinds(markdown.quote("supporter", text)) <= INERT


@given(TEXTS)
def test_a_cell_stays_in_its_table(text: str) -> None:
    shown = markdown.table(("a", text), headings=("key", "value"))
    assert kinds(shown) <= INERT | {"table", "thead", "tbody", "tr", "th", "td"}
    assert len(shown.strip().splitlines()) == 3


@given(TEXTS)
def test_a_text_in_python_is_that_text_and_ends_no_block(text: str) -> None:
    written = markdown.literal(text)
    assert ast.literal_eval(written) == text
    block = markdown.python([f"x = {written}"])
    (fence,) = MarkdownIt().parse(block)
    assert fence.type == "fence"
    assert fence.content == f"x = {written}\n"


@given(TEXTS)
def test_front_matter_says_what_it_was_given(text: str) -> None:
    written = markdown.front_matter({"base_model": text, "tags": [text]})
    assert written.isascii()
    start, inner, end = written.partition("---\n")[1:][0], written[4:-4], written[-4:]
    assert (start, end) == ("---\n", "---\n")
    assert not any(line.startswith("---") for line in inner.splitlines())
    if text.isprintable():
        assert yaml.safe_load(inner) == {"base_model": text, "tags": [text]}


@pytest.mark.attack(
    "a run folder of others says markup in its card, its law and its conversation",
    expected="the model card shows it as text",
)
def test_what_a_run_folder_says_is_text_in_its_card(
    run: RunFolder, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    mine = RunFolder(shutil.copytree(run.path, tmp_path / "one"))
    status = run_status.read(mine.status)
    card = {f"key {n}": text for n, text in enumerate(MARKUP)}
    run_status.write(mine.status, replace(status, measurement=card, versions=card))
    law = {
        "run": "one", "status": "ok", "verdict": MARKUP[0], "reasons": list(MARKUP),
        "regime": MARKUP[1], "reward": MARKUP[2],
        "config": yaml.safe_load(mine.config.read_text()),
    }  # fmt: skip
    (mine.path / "law").mkdir()
    (mine.path / "law" / "law.json").write_text(json.dumps({"runs": [law]}))
    done = here("export", "one", "model", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "model" / "README.md").read_text()
    seen = kinds(text.split("---\n", 2)[2])
    record_property("seen", f"kinds of text in the card: {sorted(seen)}")
    tables = {"table", "thead", "tbody", "tr", "th", "td"}
    assert seen <= INERT | tables | {"heading", "fence", "bullet_list", "list_item"}
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings[1:] == [
        "## Use", "## Results", "## Entropy law", "## Difficulty card", "## Measurement card",
        "## A conversation", "## Settings",
    ]  # fmt: skip
    assert all(char.isprintable() or char == "\n" for char in text)


@pytest.mark.parametrize(
    "part",
    [{"identified": "a"}, {"onset": ["late"]}, {"reasons": 5}],
    ids=lambda part: str([*part]),
)
def test_a_verdict_with_a_damaged_part_is_left_out(tmp_path: Path, part: dict[str, object]) -> None:
    config, law = RunConfig(), tmp_path / "law" / "law.json"
    status = RunStatus(status="done", config_hash=config_file.config_hash(config))
    checkpoint = Checkpoint(4, tmp_path / "checkpoints" / "step-00004")
    found = TrainedRun(RunFolder(tmp_path), config, status, checkpoint)
    law.parent.mkdir()
    for damage in ({}, part):
        entry = {"run": "one", "status": "ok", "config": config_file.to_dict(config), **damage}
        law.write_text(json.dumps({"runs": [entry]}))
        assert (measured.law_entry(found) is None) == bool(damage)


def test_what_a_policy_said_is_text(run: RunFolder) -> None:
    one = present(measured.conversation(run.path, 4))
    for text in MARKUP:
        turns = tuple(replace(turn, text=text) for turn in one.turns)
        told = ExportedResults(conversation=replace(one, turns=turns))
        (heading, *_, quoted) = sections.example(told)
        assert heading.startswith("## A conversation\n")
        assert kinds(quoted) <= INERT
        assert len(quoted.splitlines()) == 2 * len(turns)


def hf(**values: object) -> PolicyConfig:
    known: dict[str, object] = {"name": "hf", "kind": "hf", "hidden_size": 16, "attention_heads": 2}
    return PolicyConfig(**(known | values))  # type: ignore[arg-type]


def test_a_model_of_the_hub_is_named_with_its_revision() -> None:
    known = base_model.of(hf(model="owner/none-of-that-name", revision="c0ffee"))
    assert known == BaseModel(
        "owner/none-of-that-name at c0ffee",
        "owner/none-of-that-name",
        '"owner/none-of-that-name", revision="c0ffee"',
    )


def test_a_folder_is_named_by_its_last_part_and_its_own_card_tells_the_license(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "secret project" / "mine"
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("---\nlanguage: en\nlicense: cc-by-4.0\n---\n# Mine\n")
    assert base_model.of(hf(model=str(folder))) == BaseModel(
        "the model in a folder named mine", license="cc-by-4.0"
    )
    (folder / "README.md").write_text("---\nlicense: [evil]\n---\nlicense: mit\n---\n")
    assert base_model.of(hf(model=str(folder))).license is None


def test_the_python_asks_as_the_training_did() -> None:
    policy = hf(model="a/b", system_prompt='Be "kind".\nBe brief.', lora_rank=4, temperature=0.7)
    lines = usage(policy, '"a/b"', "{% if enable_thinking %}{{ date_string }}{% endif %}")
    text = "\n".join(lines)
    ast.parse(text)
    assert '{"role": "system", "content": "Be \\"kind\\".\\nBe brief."},' in text
    assert 'enable_thinking=False, date_string="1 Jan 2026"' in text
    assert "temperature=0.7, top_k=0, top_p=1.0, max_new_tokens=32" in text
    assert "enable_thinking" not in "\n".join(usage(policy, None, "plain"))


def test_the_settings_name_no_place_of_the_machine_that_trained(run: RunFolder) -> None:
    config = config_file.from_dict({
        **config_file.to_dict(RunConfig()),
        "policy": {"kind": "hf", "name": "hf", "model": "/home/anna/models/policy"},
        "simulator": {
            "reader": "lm", "reader_model": "anna/models/reader", "reader_head": "head.npz",
            "profiles": "anna/users.jsonl",
        },
        "algorithm": {"options": {"table": "/home/anna/table.csv"}},
    })  # fmt: skip
    text = "".join(sections.settings(replace(source.find(run.path, None), config=config)))
    assert "| simulator.reader | lm |" in text
    assert "| trainer.conversations | 64 |" in text
    assert "anna" not in text
    for key in ("reader\\_model", "reader\\_head", "profiles", "policy.model", "engine\\_url"):
        assert key not in text


def test_a_served_model_is_named_unless_its_name_is_a_path() -> None:
    assert not keys.names_location("simulator.model", "Qwen/Qwen3-4B-Instruct-2507")
    assert keys.names_location("simulator.model", "/home/anna/qwen")
    assert not keys.names_location("policy.temperature", ".5")
    assert {name for name, key in keys.keys().items() if key.is_location} == {
        "policy.model", "simulator.base_url", "simulator.api_key_env", "simulator.reader_model",
        "simulator.reader_head", "simulator.profiles", "trainer.engine_url",
    }  # fmt: skip
