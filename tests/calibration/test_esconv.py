"""Hearing measured on a file in the form of ESConv, of our own sentences."""

import json
from pathlib import Path

import numpy as np
import pytest

from harness.calibration.validity import esconv
from harness.errors import DataError
from harness.testing.commands import here

FILE = """\
1.0 0 0 I lost my job.  EOS 1.0 1 1 [Questions] When did this happen? 
1.0 0 0 I lost my job.  EOS 1.0 1 1 [Questions] When did this happen?  EOS 0.5 0 2 On Monday. EOS \
1.0 1 3 [Providing Suggestions] Maybe you could talk to a friend about it.
1.0 0 0 Hello EOS 1.0 1 1 [Self-disclosure] Qwx zzrk plmf.
1.0 0 0 Hello EOS 1.0 1 1 [Information] You did your best, and that takes courage.
1.0 0 0 Hello EOS 1.0 1 1 [Other] Hi
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "esconv.tsv"
    path.write_text(FILE)
    return path


def test_utterances_are_counted_once_however_often_their_conversation_is_there(file: Path) -> None:
    assert esconv.utterances(file) == [
        ("question", "When did this happen?"),
        ("suggest", "Maybe you could talk to a friend about it."),
        ("disclose", "Qwx zzrk plmf."),
        ("inform", "You did your best, and that takes courage."),
        ("other", "Hi"),
    ]


@pytest.mark.parametrize("said", ["First.\u2028Second.", "First.\x85", "", " "])
def test_a_turn_may_have_any_text_or_none(tmp_path: Path, said: str) -> None:
    path = tmp_path / "esconv.tsv"
    path.write_text(f"1.0 0 0 {said} EOS 1.0 1 1 [Other] Hi{said}\r\n", encoding="utf-8")
    assert esconv.utterances(path) == [("other", f"Hi{said}".strip())]


def test_shares_by_hand(file: Path) -> None:
    heard = esconv.measure(esconv.utterances(file))
    assert heard.agreement is not None
    assert heard.agreement.value == pytest.approx(2 / 5)
    assert heard.unheard is not None
    assert heard.unheard.value == pytest.approx(2 / 5)
    assert heard.heard_per_utterance is not None
    assert heard.heard_per_utterance.value == pytest.approx(3 / 5)
    assert heard.not_language is not None
    assert heard.not_language.value >= 1 / 5
    assert heard.by_strategy["question"].n == 1


def test_kappa_by_hand() -> None:
    """Two of three agree; by chance (1/3 * 1/3) * 3 or 1/3 * 2/3 + ... would."""
    first, second = np.array([0, 1, 2]), np.array([0, 1, 1])
    assert esconv.kappa(first, second) == pytest.approx((2 / 3 - 1 / 3) / (1 - 1 / 3))
    assert esconv.kappa(first, first) == pytest.approx(1.0)
    always = np.zeros(3, np.int64)
    assert esconv.kappa(np.array([0, 1, 2]), always) == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("line", "got"),
    [
        ("hello", "'hello'"),
        ("1.0 1 1 no strategy here", "'1.0 1 1 no strategy here'"),
        ("1.0 1 1 [Bribery] Take this.", "'1.0 1 1 [Bribery] Take this.'"),
    ],
)
def test_a_line_of_another_form_is_named(tmp_path: Path, line: str, got: str) -> None:
    path = tmp_path / "bad.tsv"
    path.write_text(FILE + line + "\n")
    with pytest.raises(DataError) as caught:
        esconv.utterances(path)
    assert str(caught.value) == (
        f"{path}:6: a turn must be WEIGHT SPEAKER TURN TEXT, a supporter's with [Strategy], "
        f"got {got}"
    )


def test_the_command_prints_a_table_and_keeps_the_numbers(file: Path, tmp_path: Path) -> None:
    done = here("calibrate", "--esconv", str(file), "--out", "heard", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Cohen's kappa without Others" in done.stdout
    kept = json.loads((tmp_path / "heard" / "esconv.json").read_text())
    assert kept["n"] == 5
    assert kept["reader"] == "lexical"
    assert "friend" not in (tmp_path / "heard" / "esconv.json").read_text()  # nothing is stored
    refused = here("calibrate", "--esconv", str(file), "difficulty=easy", cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr == (
        "harness: --esconv: recognition is the same at every level, so only "
        "simulator.reader* may be given with it, got difficulty=easy\n"
    )
