"""Data files of the simulator: each rule of theirs, by a file that breaks it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import ConfigError
from harness.simulator import personas
from harness.simulator.data_files import TableRules, tables
from harness.simulator.personas import TOPICS
from harness.simulator.scripted import recognition, word_classes

HEADER = "table\tkey\ttext\n"
RULES = {
    "greeting": TableRules(("plain", "short"), ("t",)),
    "goodbye": TableRules(single=True),
}
WHOLE = (
    "# a comment\n\n" + HEADER + "greeting\tplain\tHi, {t}.\ngreeting\tplain\tHello.\n"
    "greeting\tshort\tHi.\ngoodbye\tany\tBye.\n"
)


def table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "lines.tsv"
    path.write_text(text, encoding="utf-8")
    return path


def test_texts_are_read_by_table_and_key_in_the_order_of_the_file(tmp_path: Path) -> None:
    assert tables(table(tmp_path, WHOLE), RULES) == {
        "greeting": {"plain": ("Hi, {t}.", "Hello."), "short": ("Hi.",)},
        "goodbye": {"any": ("Bye.",)},
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("greeting\tplain\tHi.\n", "lines.tsv:1: the first row must be table key text, with tabs"),
        (WHOLE + "greeting\tplain\n", ":8: a row must have 3 cells, with tabs between, got "),
        (WHOLE + "greeting\tplain\t\n", ":8: a cell must have text and no blanks around it, got "),
        (WHOLE + "greeting\tplain \tHo.\n", ":8: a cell must have text and no blanks around it"),
        (WHOLE + "greeting\tplain\tHello.\n", ":8: a row must be there once, and is in line 5, "),
        (WHOLE + "parting\tplain\tHo.\n", ":8: table must be one of greeting, goodbye, got 'par"),
        (WHOLE + "greeting\tloud\tHo.\n", ":8: key of greeting must be one of plain, short, got "),
        (WHOLE + "greeting\tshort\tHo {e}.\n", ":8: only t may stand in braces, got 'Ho {e}.'"),
        (WHOLE + "greeting\tshort\tHo {t.\n", ":8: braces must be paired, got 'Ho {t.'"),
        (WHOLE.replace("Bye.", "Bye, {t}."), ":7: no braces here, got 'Bye, {t}.'"),
        (WHOLE + "goodbye\tany\tHo.\n", ":8: goodbye must have one text for any, got 'Ho.'"),
        (HEADER + "goodbye\tany\tBye.\n", "lines.tsv: greeting must have a text for plain, got "),
    ],
)
def test_a_table_that_breaks_a_rule_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        tables(table(tmp_path, text), RULES)


def test_a_table_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.tsv: must be a readable UTF-8 file, got "):
        tables(tmp_path / "none.tsv", RULES)
    (tmp_path / "latin.tsv").write_bytes(b"\xe9")
    with pytest.raises(ConfigError, match=r"latin\.tsv: must be a readable UTF-8 file, got "):
        tables(tmp_path / "latin.tsv", RULES)


ONE = """\
    - name: {name}
      topic: my exam
      voice: plain
      feelings: [sad, tired, angry]
      facts:
        - I failed the exam.
        - I told nobody.
        - My father is a doctor.
        - He asks every day.
        - I sleep badly.
"""
PERSONAS = "study:\n  train:\n" + ONE.format(name="exam") + "  held_out:\n" + ONE.format(name="b")
LIVES = [(name, topic, f"I have {topic} to tell.") for name in ("exam", "b") for topic in TOPICS]


def lives_beside(path: Path, rows: list[tuple[str, str, str]] = LIVES) -> None:
    lines = ["persona\ttopic\ttext", *map("\t".join, rows)]
    path.with_name("lives.tsv").write_text("\n".join(lines) + "\n")


def test_personas_are_read_by_domain_and_side(tmp_path: Path) -> None:
    path = tmp_path / "personas.yaml"
    path.write_text(PERSONAS)
    lives_beside(path)
    (domain,) = personas.read(path)
    assert (domain.name, domain.held_out[0].name) == ("study", "b")
    (exam,) = domain.train
    assert (exam.topic, exam.voice) == ("my exam", "plain")
    assert exam.feelings == ("sad", "tired", "angry")
    assert (len(exam.facts), exam.facts[4]) == (5, "I sleep badly.")
    assert [told.topic for told in exam.tellable] == ["fact"] * 5 + list(TOPICS)
    assert exam.tellable[5].text == "I have happened to tell."


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (LIVES[1:], "lives.tsv: exam must have 1 to 3 sentences of happened, got 0"),
        ([*LIVES, LIVES[0]], ":52: a life must have a sentence once, got 'I have happened to"),
        ([*LIVES, ("exam", "sleep", "bad")], ":52: a sentence of a life must be a sentence that "),
        ([*LIVES, ("exam", "dreams", "Badly.")], ":52: topic must be one of happened, "),
        (LIVES[len(TOPICS):], "personas.yaml:3: a persona must have a life, got 'exam'"),
    ],
)  # fmt: skip
def test_lives_that_break_a_rule_are_refused(
    tmp_path: Path, rows: list[tuple[str, str, str]], message: str
) -> None:
    path = tmp_path / "personas.yaml"
    path.write_text(PERSONAS)
    lives_beside(path, rows)
    with pytest.raises(ConfigError, match=re.escape(message)):
        personas.read(path)


def test_a_row_is_named_by_its_line_behind_comments_and_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "personas.yaml"
    path.write_text(PERSONAS)
    lives_beside(path, [("# exam", "", ""), ("", "", ""), *LIVES, ("exam", "sleep", "bad")])
    lives = path.with_name("lives.tsv")
    lives.write_text(lives.read_text().replace("\n\t\t\n", "\n\n"))
    with pytest.raises(ConfigError, match=r"lives\.tsv:54: a sentence of a life must be"):
        personas.read(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[sad,", "[sad", ":6: must have 3 feelings, got 2"),
        ("feelings: [", "feelings: [[", "personas.yaml:7: must be YAML, got "),
        ("study:", "study: 1 #", "personas.yaml:2: must be YAML, got "),
        (PERSONAS, "", "personas.yaml: must be YAML with values, got none"),
        (PERSONAS, "- a\n", ":1: must be a mapping, got "),
        (PERSONAS, PERSONAS + PERSONAS, ":24: a key must be there once, got 'study'"),
        ("  held_out:\n", "  other:\n", ":14: key must be one of train, held_out, got 'other'"),
        ("voice: plain", "voice: loud", ":5: voice must be one of plain, short, careful, got 'l"),
        ("      topic: my exam\n", "", ":3: must have topic, got 'name, voice, feelings, facts'"),
        ("name: b", "name: exam", ":14: a name must be there once, got 'exam'"),
        ("tired", "Tired", ":6: a feeling must be one lower-case word, got 'Tired'"),
        ("        - I sleep badly.\n", "", ":8: must have 5 facts, got 4"),
        ("He asks every day.", "He asks", ":11: a fact must be a sentence that ends with a stop, "),
        ("facts:", "facts: nothing #", ":8: must be"),
        ("topic: my exam", "topic:", ":4: must be text, got ''"),
    ],
)
def test_personas_that_break_a_rule_are_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "personas.yaml"
    path.write_text(PERSONAS.replace(old, new, 1))
    lives_beside(path)
    with pytest.raises(ConfigError, match=re.escape(message)):
        personas.read(path)


def test_a_domain_needs_personas_of_both_sides(tmp_path: Path) -> None:
    path = tmp_path / "personas.yaml"
    lives_beside(path)
    path.write_text("study:\n  train: []\n  held_out:\n" + ONE.format(name="b"))
    with pytest.raises(ConfigError, match="study must have personas of both sides, got '0 and 1'"):
        personas.read(path)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("opening\tquestion\ttell <who>\n", ":2: named part must be one of , got 'who'"),
        ("closing\tquestion\tbye\n", ":2: table must be one of let, opening, phrase, "),
        ("opening\tpraise\tbye\n", ":2: key of opening must be one of question, restate, "),
        ("opening\tquestion\ttell me\n", "lexicon.tsv: must have rows of phrase, got 'none'"),
    ],
)
def test_a_lexicon_that_breaks_a_rule_is_refused(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "lexicon.tsv"
    path.write_text(HEADER + row)
    with pytest.raises(ConfigError, match=re.escape(message)):
        recognition.read_lexicon(path)


def test_a_named_part_stands_for_its_pattern(tmp_path: Path) -> None:
    path = tmp_path / "lexicon.tsv"
    text = recognition.LEXICON.read_text(encoding="utf-8")
    path.write_text(text + "let\tfoes\tfoes|rivals\noff_topic\tany\tyour (<foes>)\n")
    assert recognition.read_lexicon(path)["off_topic"]["any"][-1].pattern == "your (foes|rivals)"


@pytest.mark.parametrize("compiled", [recognition.at_start, recognition.anywhere])
def test_a_wording_must_be_a_regular_expression(compiled: Callable[..., re.Pattern[str]]) -> None:
    wordings = [
        recognition.LexiconPattern("x.tsv:1", "tell me"),
        recognition.LexiconPattern("x.tsv:2", "(tell"),
    ]
    assert compiled(wordings[:1]).search("tell me")
    rule = r"x\.tsv:2: must be a regular expression \(missing \), .*, got '\(tell'"
    with pytest.raises(ConfigError, match=rule):
        compiled(wordings)


def test_each_wording_of_the_lexicon_is_a_regular_expression_of_its_own() -> None:
    for by_key in recognition.read_lexicon(recognition.LEXICON).values():
        for wording in itertools.chain.from_iterable(by_key.values()):
            recognition.anywhere([wording])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("words\tBE\tis\n", ":2: table must be one of class, never, got 'words'"),
        ("class\tBe\tis\n", ":2: a class must have a name in capitals, got 'Be'"),
        ("class\tFINITE\tBE has\n", ":2: class must be one of , got 'BE'"),
        ("class\tBE\tis -are\n", ":2: -word must take out a word of a class, got 'are'"),
    ],
)
def test_word_classes_that_break_a_rule_are_refused(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "word_classes.tsv"
    path.write_text(HEADER + row)
    with pytest.raises(ConfigError, match=re.escape(message)):
        word_classes.read(path)


def test_classes_are_made_of_words_and_of_other_classes(tmp_path: Path) -> None:
    path = tmp_path / "word_classes.tsv"
    rows = "class\tBE\tis are\nclass\tBE\twas\nclass\tMOST\tBE has -is\nnever\tBE to\tMOST\n"
    path.write_text(HEADER + rows)
    classes, never = word_classes.read(path)
    assert classes == {"BE": {"is", "are", "was"}, "MOST": {"are", "was", "has"}}
    assert never == dict.fromkeys(("is", "are", "was", "to"), classes["MOST"])
