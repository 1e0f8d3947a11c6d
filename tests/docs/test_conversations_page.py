"""The page of conversations with the scripted user, and the command that prints it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from benchmarks import conversations

PAGE = Path(__file__).parents[2] / "docs" / "conversations.md"
DATA = yaml.safe_load(conversations.FILE.read_text(encoding="utf-8"))


def test_the_page_is_what_the_command_prints() -> None:
    assert PAGE.read_text(encoding="utf-8") == conversations.page(), (
        "python -m benchmarks.conversations > docs/conversations.md; if users say other things, "
        "read them, mark what follows in benchmarks/conversations.yaml and set `read`"
    )


def test_with_all_every_conversation_is_printed_as_the_page_has_it() -> None:
    shown = PAGE.read_text(encoding="utf-8").split("\n### ")[1:]
    every = conversations.page(every=True).split("\n### ")[1:]
    assert (len(shown), len(every)) == (13, 30)
    assert {text.strip() for text in shown} < {text.strip() for text in every}


def test_each_supporter_meets_another_person() -> None:
    openings = [conversations.converse("medium", s)[0] for s in DATA["supporters"].values()]
    assert len({turn.state.user.persona_index for turn in openings}) == len(openings) == 10


def test_marks_of_other_words_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert conversations.page(every=True).count(" Follows: ") == 177
    changed = tmp_path / "conversations.yaml"
    changed.write_text(yaml.safe_dump({**DATA, "read": "others"}), encoding="utf-8")
    monkeypatch.setattr(conversations, "FILE", changed)
    page = conversations.page()
    assert "The users have changed since: what follows is not marked." in page
    assert " Follows: " not in page


def test_what_is_said_is_shown_as_it_is() -> None:
    said = "**no** <b>\n# it's [a](b) `c`"
    shown = "\\*\\*no\\*\\* \\<b\\> \\# it's \\[a\\](b) \\`c\\`"
    assert conversations.escaped(said) == shown
