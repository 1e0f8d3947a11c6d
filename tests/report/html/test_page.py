"""The report page: what it says, that text in it is inert, and that it needs nothing else."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from pathlib import Path

import pytest
import yaml

from harness.law import analysis
from harness.records import conversations, holder, run_status
from harness.records.run_folder import RunFolder
from harness.report.html import folders, page, render
from harness.report.html.page import MOST_BYTES, Report
from harness.testing import run_folders, synthetic
from harness.utils.safe_text import escape
from tests.report.html.made_runs import PLANTED, Page, reported, save, sweep, talk

TEMPLATES = sorted(render.TEMPLATES.iterdir())
ATTRIBUTES_OF_LINKS = (
    "href",
    "src",
    "srcset",
    "action",
    "data",
    "poster",
    "background",
    "xlink:href",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sweep(tmp_path_factory.mktemp("sweep"))


@pytest.fixture(scope="module")
def made(folder: Path) -> Report:
    return reported(folder)


@pytest.fixture(scope="module")
def shown(made: Report) -> Page:
    return Page(made.content)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """Planted text in conversations, config values, a run's name, its status and its versions."""
    root = tmp_path_factory.mktemp("hostile")
    for seed, text in enumerate(PLANTED, 1):
        name = re.sub(r"[/\x00]", "_", text)
        run = root / f"{seed}-{name}"
        level = text.replace("\x00", "").replace("\x1b", "").replace("\x07", "").replace("\x9b", "")
        run_folders.write_run(run, synthetic.lawful_rows(seed, 40), seed, level)
        planned = RunFolder(run)
        status = run_status.read(planned.status)
        card = {"entropy": {text: text}, "list": [text]}
        versions = {"python": text, text: "1"}
        run_status.write(
            planned.status, dataclasses.replace(status, measurement=card, versions=versions)
        )
        save(run, (1, 40), 3, text)
    run_folders.write_cards(root, {})
    cards = json.loads((root / "cards.json").read_text())
    for entry, text in zip(cards["cards"], itertools.cycle(PLANTED)):
        entry["level"], entry["card"][text] = text, text
    (root / "cards.json").write_text(json.dumps(cards))
    return Page(reported(root).content)


def test_the_answer_comes_first_then_table_figures_cards_and_conversations(shown: Page) -> None:
    text = shown.text
    places = [
        text.index(words)
        for words in (
            "4 runs: law holds", "By level", "find a run", "the law R = -a exp(H) + b",
            "Measurement card", "Difficulty cards", "Config differences", "find in what was said",
        )
    ]  # fmt: skip
    assert places == sorted(places)


def test_every_section_of_the_contents_is_there_once(shown: Page) -> None:
    anchors = [a["href"] for a in shown.named("a")]
    ids = [attributes["id"] for _, attributes in shown.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {str(anchor)[1:] for anchor in anchors} <= set(ids)
    labelled = [a["aria-labelledby"] for _, a in shown.elements if "aria-labelledby" in a]
    clips = re.findall(r"url\(#([^)]*)\)", str(shown.elements))
    assert {*labelled, *clips} <= set(ids)


def test_the_same_folder_gives_the_same_bytes(folder: Path, made: Report) -> None:
    assert reported(folder).content == made.content


def test_nothing_is_loaded_from_anywhere(shown: Page) -> None:
    for _, attributes in shown.elements:
        for name in ATTRIBUTES_OF_LINKS:
            assert str(attributes.get(name, "#")).startswith(("#", "url(#", "M"))
    loading = {
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "base",
        "audio",
        "video",
        "source",
        "use",
    }
    assert not loading & {tag for tag, _ in shown.elements}
    values = " ".join(str(v) for _, attributes in shown.elements for v in attributes.values())
    style = (render.TEMPLATES / "style.css").read_text()
    for text in (values, style, *shown.scripts):
        assert not re.search(r"https?:|url\((?!#)|@import|fetch\(|XMLHttpRequest|import\(", text)


def test_the_policy_allows_our_style_and_script_alone(shown: Page) -> None:
    (policy,) = [m["content"] for m in shown.named("meta") if "http-equiv" in m]
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert shown.scripts[-1:] == [(render.TEMPLATES / "page.js").read_text()]
    events = [name for _, attributes in shown.elements for name in attributes if name[:2] == "on"]
    assert not events
    assert not [a for _, a in shown.elements if "style" in a]


def test_planted_text_is_text_and_nothing_else(hostile: Page, shown: Page) -> None:
    assert {tag for tag, _ in hostile.elements} <= {tag for tag, _ in shown.elements}
    assert not hostile.named("img")
    kinds = [attributes.get("type") for attributes in hostile.named("script")]
    assert set(kinds) == {"application/json", None}
    assert kinds.count(None) == 1
    for _, attributes in hostile.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "autofocus"]
    for text in PLANTED:
        assert escape(text) in hostile.text, text


def test_nothing_in_the_page_is_invisible(hostile: Page) -> None:
    values = [str(v) for _, attributes in hostile.elements for v in attributes.values()]
    for text in (*hostile.texts, *values, *hostile.data):
        assert all(char.isprintable() or char == "\n" for char in text), text


def test_data_are_json_that_no_text_ends(hostile: Page) -> None:
    assert hostile.data
    for content in hostile.data:
        assert not set(content) & set("<>&")
        panel = json.loads(content)
        assert {"x", "y", "box", "series"} == panel.keys()


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_templates_quote_every_attribute_and_trust_nothing(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"=\s*\{\{", text), "an attribute without quotes"
    assert "safe" not in re.findall(r"\|\s*(\w+)", text)
    assert "innerHTML" not in text
    assert "eval(" not in text
    assert "autoescape false" not in text


def test_a_sweep_of_thirty_runs_stays_below_the_limit(tmp_path: Path) -> None:
    root = sweep(tmp_path, ("easy", "medium", "hard"), 10)
    for run in sorted(root.glob("*-seed*")):
        save(run, (1, 20, 40, 60), 6, "long words " * 130)
    report = reported(root)
    assert len(report.content) <= MOST_BYTES
    assert report.conversations > 100


def test_what_has_no_room_is_counted_kind_by_kind(
    folder: Path, made: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    talks = made.content.count(b'<details class="talk"')
    assert made.conversations == talks > 24
    first, last = made.content.index(b'<details class="talk"'), made.content.rindex(b"</details>")
    room = (last - first) / talks * 9.5
    monkeypatch.setattr(page, "MOST_BYTES", int(len(made.content) - (last - first) + room))
    monkeypatch.setattr(page, "FOR_NOTES", 0)
    less = reported(folder)
    assert less.conversations == 8, "the middle ones of first and last step, of each of 4 runs"
    left = [note for note in less.notes if note.startswith("left out")]
    words = "left out to keep the file small: 16 of 16 conversations"
    assert left[0] == f"{words} (worst and best of first step and last step)"


def test_config_differences_name_the_keys_and_who_has_which(shown: Page) -> None:
    text = re.sub(r"\s+", " ", shown.text)
    assert "difficulty" in text
    after = text[text.index("Config differences") :]
    assert "0-easy-seed1, 1-easy-seed2" in after
    assert "2-hard-seed1, 3-hard-seed2" in after


def test_configs_that_differ_in_the_sixth_digit_differ(tmp_path: Path) -> None:
    for seed, rate in enumerate((0.00123451, 0.00123454), 1):
        run = run_folders.write_run(tmp_path / f"{seed}", synthetic.lawful_rows(seed, 40))
        run_folders.planned_with(run, "algorithm", learning_rate=rate)
    text = re.sub(r"\s+", " ", Page(reported(tmp_path).content).text)
    assert "algorithm.learning_rate0.001234510.00123454" in text


def test_what_holds_of_every_conversation_is_said_once(shown: Page, tmp_path: Path) -> None:
    assert shown.text.count("entropy H of each reply") == 1
    assert shown.text.count("for it, against it:") == 1
    talks = shown.text[shown.text.index("find in what was said") :]
    assert talks.count("advantage 0.50") == len([a for _, a in shown.elements if "data-run" in a])
    root = sweep(tmp_path, ("easy",), 1)
    turns = talk(0, 0, [40, 50, 60])
    unlike = [
        dataclasses.replace(turn, advantage=0.25 * turn.turn) if turn.speaker == "policy" else turn
        for turn in turns
    ]
    conversations.write(root / "0-easy-seed1" / "conversations", 60, unlike)
    text = Page(reported(root).content).text
    assert "H 1.40 nats · advantage 0.25" in text
    assert "H 1.30 nats · advantage 0.50" in text


def test_a_damaged_file_of_conversations_is_said_and_the_rest_is_shown(tmp_path: Path) -> None:
    root = sweep(tmp_path, ("easy",), 2)
    before = reported(root).conversations
    broken = root / "0-easy-seed1" / "conversations" / "step-00060.parquet"
    broken.write_bytes(b"PAR1 no")
    made = reported(root)
    assert made.conversations == before - 3
    assert any("must be a parquet file of conversations" in note for note in made.notes)


def test_a_running_run_and_one_that_died_are_shown_as_far_as_they_are(tmp_path: Path) -> None:
    run = tmp_path / "one"
    run_folders.write_run(run, synthetic.lawful_rows(1, 40), status="running")
    with holder.hold(RunFolder(run)):
        text = Page(reported(run).content).text
    assert "1 run, 1 unfinished" in text
    assert "running at step 40" in text
    assert "crashed at step 40" in Page(reported(run).content).text
    assert "No conversations are saved in these runs." in text


def test_a_log_of_another_program_has_its_law_and_no_conversations(tmp_path: Path) -> None:
    log = run_folders.write_rows(tmp_path / "log", synthetic.lawful_rows(1, 60)) / "metrics.jsonl"
    text = Page(reported(log).content).text
    assert "on same-batch reward, which is expected to fit" in text
    assert "logs of other programs have no conversations" in text


def test_a_damaged_config_or_cards_file_leaves_the_rest(tmp_path: Path) -> None:
    root = sweep(tmp_path, ("easy",), 2)
    (root / "0-easy-seed1" / "config.yaml").write_text("[not: a, config")
    (root / "cards.json").write_text('{"cards": [{"level": 3}, 4]}')
    text = Page(reported(root).content).text
    assert "Difficulty cards" not in text
    assert "2 runs" in text


def test_an_overlong_number_of_a_cards_file_is_no_number(tmp_path: Path) -> None:
    root = sweep(tmp_path, ("easy",), 1)
    text = (root / "cards.json").read_text()
    (root / "cards.json").write_text(text.replace('"value": 0.5', '"value": 1' + "0" * 400))
    assert "Difficulty cards" in Page(reported(root).content).text


def test_a_level_of_two_kinds_of_users_has_a_card_of_each(tmp_path: Path) -> None:
    root = sweep(tmp_path, ("hard",), 1)
    path = root / "cards.json"
    (entry,) = json.loads(path.read_text())["cards"]
    entries = [{**entry, "card": {**entry["card"], "reader": reader}}
               for reader in ("lexical", "second")]  # fmt: skip
    path.write_text(json.dumps({"cards": [*entries, entries[1]]}))
    (run,) = folders.locate_runs([root], analysis.analyse([root]))
    assert [card.level for card in folders.level_cards([run])] == ["hard, lexical", "hard, second"]


def test_the_palette_is_readable_in_both_schemes() -> None:
    style = (render.TEMPLATES / "style.css").read_text()
    light = _colours(style[: style.index('[data-theme="dark"]')])
    dark = _colours(style[style.index('[data-theme="dark"]') : style.index("@media (prefers")])
    scheme = style[style.index("@media (prefers") :]
    assert dark == _colours(scheme[: scheme.index("}")]), "the switch and the system agree"
    for colours in (light, dark):
        for ink in ("ink", "quiet", "link", *(f"series-{n}" for n in range(7))):
            for ground in ("bg", "panel"):
                assert _contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
        for ground in ("user-bg", "policy-bg"):
            assert _contrast(colours["ink"], colours[ground]) >= 4.5
            assert _contrast(colours["quiet"], colours[ground]) >= 4.5
        for word in ("yes", "no", "open"):
            assert _contrast(colours[word], colours[f"{word}-bg"]) >= 4.5
    assert light.keys() == dark.keys()


def _colours(style: str) -> dict[str, str]:
    return dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", style))


def _contrast(one: str, other: str) -> float:
    """By WCAG 2."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_a_run_without_a_config_stands_beside_those_with_one(tmp_path: Path) -> None:
    root = sweep(tmp_path, ("easy",), 2)
    path = root / "0-easy-seed1" / "config.yaml"
    config = yaml.safe_load(path.read_text())
    assert config["seed"] == 1
    run_folders.write_rows(root / "bare", synthetic.lawful_rows(3, 60))
    text = Page(reported(root).content).text
    assert "1 run without a config.yaml" in text
