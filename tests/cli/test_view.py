"""Reading the conversations of a run from the command line."""

import contextlib
import json
import os
import pty
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.cli import view
from harness.cli.view import ViewOptions, choose_conversations
from harness.records import conversations, saved_conversations
from harness.records.conversations import TurnRecord
from harness.records.saved_conversations import SavedConversation
from harness.report.text.conversation import EFFECT
from harness.testing.commands import command, here
from tests.cli.chat_command import lines
from tests.present import present

GOLDEN = Path(__file__).parents[1] / "golden"
SMALL = ("policy=tabular", "difficulty=hard", "trainer.steps=4", "trainer.conversations=16",
         "trainer.conversations_every=2", "eval.users=4")  # fmt: skip
HOSTILE = "\x1b[31m[bold]hi[/] \x9b2J :smile: \u202eabc\r\x00"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("view")
    done = here("train", *SMALL, "--dir", "one", cwd=root)
    assert done.returncode == 0, done.stderr
    return root / "one"


@pytest.fixture
def mine(run: Path, tmp_path: Path) -> Path:
    """A copy, to be changed."""
    shutil.copytree(run, tmp_path / "one")
    return tmp_path / "one"


def saved(run: Path, step: int = 4) -> Sequence[SavedConversation]:
    return saved_conversations.read(run, step).conversations


def rewards(out: str) -> list[float]:
    return [float(present(re.search(r"reward (\S+?);", x))[1]) for x in lines(out, "ended")]


def titles(out: str) -> list[str]:
    return [line for line in out.splitlines() if line.startswith("== ")]


def test_what_is_shown_is_what_was_saved(run: Path) -> None:
    done = here("view", "one", "--limit", "100", cwd=run.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(titles(done.stdout)) == 16
    every = saved(run)
    assert lines(done.stdout, "policy") == [t.text for c in every for t in c.replies]
    spoken = [t.text for c in every for t in c.turns if not t.is_reply]
    assert [x for x in lines(done.stdout, "user") if "(persona " not in x] == spoken
    shown = [re.sub(r"^\S+  ", "", x) for x in lines(done.stdout, "emotion") if "[" not in x]
    assert shown == [" ".join(map(str, c.emotions)) for c in every]
    entropies = [f"{t.entropy_nats:.2f} nats" for c in every for t in c.replies]
    assert lines(done.stdout, "entropy") == entropies
    assert rewards(done.stdout) == pytest.approx([c.reward for c in every], abs=0.005)


def test_the_default_is_the_worst_the_middle_and_the_best_of_the_last_step(run: Path) -> None:
    done = here("view", "one", cwd=run.parent)
    first, what, steps, *_ = done.stdout.splitlines()
    assert first == "one: step 4 of 4, done"
    assert what == "3 of 16 conversations: the worst, the middle one and the best by reward"
    assert steps == "also saved: steps 1, 2 (--step N)"
    ranked = sorted(c.reward or 0.0 for c in saved(run))
    assert rewards(done.stdout) == pytest.approx([ranked[0], ranked[8], ranked[-1]], abs=0.005)


@pytest.mark.parametrize(("option", "place"), [("--worst", 0), ("--best", -1)])
def test_the_worst_and_the_best_come_first(run: Path, option: str, place: int) -> None:
    out = here("view", "one", option, "--limit", "4", "--step", "1", cwd=run.parent).stdout
    shown, ranked = rewards(out), sorted(c.reward or 0.0 for c in saved(run, 1))
    assert shown[0] == pytest.approx(ranked[place], abs=0.005)
    assert shown == sorted(shown, reverse=option == "--best")
    assert all("step 1," in title for title in titles(out))


def test_a_reader_is_told_who_the_user_is_what_was_heard_and_why_it_moved(run: Path) -> None:
    out = here("view", "one", "--worst", "--limit", "1", cwd=run.parent).stdout
    (one,) = choose_conversations(
        saved(run), ViewOptions(run, worst=True, limit=1), 1
    ).conversations
    who = lines(out, "user")[0]
    assert who.startswith(f"{one.topic} (persona {one.persona}), temperament {one.temperament}, ")
    assert lines(out, "came for")[0].endswith(" (hidden from the policy)")
    reply, answer = one.turns[1:3]
    why = present(answer.why)
    heard = lines(out, "heard")[0]
    assert all(f'"{told}"' in heard for told in present(reply.taken_up))
    moved = "rose" if present(answer.change) > 0 else "fell"
    told = lines(out, "why")[1]  # the first says what the numbers are
    assert re.match(rf"{moved}(; a rise was|, though).* \d+% likely", told)
    assert f"{100 * present(why.rise_probability):.0f}% likely" in told
    strongest = max(abs(v) for part, v in why.effects.items() if part != "user")
    assert re.search(rf"\([+-]{strongest:.1f}\)", told)


def test_json_is_one_typed_object_a_line_of_every_conversation(run: Path) -> None:
    done = here("view", "one", "--json", cwd=run.parent)
    values = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(values) == 16
    every = {c.name: c for c in saved(run)}
    for value in values:
        one = every[f"{value['step']}.{value['group']}.{value['sample']}"]
        assert (value["schema"], value["run"]) == (1, "one")
        for name in (
            "level",
            "persona",
            "topic",
            "voice",
            "temperament",
            "intention",
            "path",
            "reward",
        ):
            assert value[name] == getattr(one, name)
        assert value["emotions"] == list(one.emotions)
        assert value["entropies_nats"] == list(one.entropies_nats)
        assert value["ended"] == one.ended
        for turn, known in zip(value["turns"], one.turns, strict=True):
            assert (turn["text"], turn["emotion"]) == (known.text, known.emotion)
            if known.why is not None:
                assert turn["why"]["effects"] == known.why.effects
    few = here("view", "one", "--json", "--best", "--limit", "2", cwd=run.parent).stdout
    assert len(few.splitlines()) == 2


def a_batch(run: Path, step: int, **values: Any) -> None:
    user = {"emotion_after": 40, "level": "easy"}
    turns = [
        TurnRecord(0, 0, 0, "user", HOSTILE, **{**user, **values}),
        TurnRecord(0, 0, 1, "policy", f"{HOSTILE}\nsecond line", ["question"], [HOSTILE],
                   level="easy"),
        TurnRecord(0, 0, 1, "user", HOSTILE, emotion_after=45, change=5, ended="cap", why=[],
                   reason=HOSTILE, fit="fully", level="easy"),
    ]  # fmt: skip
    (run / "conversations").mkdir(parents=True, exist_ok=True)
    conversations.write(run / "conversations", step, turns)


def test_the_policy_speaks_after_the_last_reply_of_the_reference(mine: Path) -> None:
    turns = [
        TurnRecord(0, 0, -1, "user", "Hello.", emotion_after=40),
        TurnRecord(0, 0, 0, "reference", "I hear you."),
        TurnRecord(0, 0, 0, "user", "Thank you.", emotion_after=50, change=10),
        TurnRecord(0, 0, 1, "policy", "What happened?"),
        TurnRecord(0, 0, 1, "user", "A lot.", emotion_after=55, change=5, ended="cap"),
    ]
    conversations.write(mine / "conversations", 9, turns)
    shown = here("view", "one", "--step", "9", cwd=mine.parent).stdout.splitlines()
    heads = [line.split()[0] for line in shown if line.split()[:1] in
             (["user"], ["reference"], ["policy"], ["the"])]  # fmt: skip
    assert heads[1:] == ["user", "reference", "the", "user", "policy", "user"]


def test_nothing_that_a_text_holds_reaches_the_terminal_but_as_text(mine: Path) -> None:
    a_batch(mine, 9, persona=HOSTILE, topic=HOSTILE, intention=HOSTILE, temperament=HOSTILE)
    for words in ([], ["--json"]):
        done = here("view", str(mine), "--step", "9", *words, cwd=mine.parent)
        assert done.returncode == 0, done.stderr
        assert done.stdout.replace("\n", "").isprintable()
    out = here("view", str(mine), "--step", "9", cwd=mine.parent).stdout
    escaped = r"\x1b[31m[bold]hi[/] \x9b2J :smile: \u202eabc"
    assert lines(out, "policy") == [escaped]
    assert "          second line" in out.splitlines()
    assert f'takes up "{escaped}' in lines(out, "heard")[0]
    assert "it serves what they came for" in out


def test_a_level_and_a_step_that_are_not_there_are_refused_with_those_that_are(run: Path) -> None:
    done = here("view", "one", "--level", "easy", cwd=run.parent)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "harness: one: --level: step 4 must have conversations of the level, one of hard; "
        "got 'easy'\n"
    )
    done = here("view", "one", "--step", "3", cwd=run.parent)
    assert done.stderr == ("harness: one: --step: must be one of the saved steps 1, 2, 4; got 3\n")
    done = here("view", "one", "--worst", "--best", cwd=run.parent)
    assert (done.returncode, done.stderr) == (
        2, "harness: --worst, --best: give one of them, got both\n",
    )  # fmt: skip
    assert len(titles(here("view", "one", "--level", "hard", cwd=run.parent).stdout)) == 3


def test_what_is_no_run_is_refused_and_runs_inside_are_named(run: Path, tmp_path: Path) -> None:
    for name in ("0-easy", "1-hard"):
        shutil.copytree(run, tmp_path / "sweep" / name)
    (tmp_path / "sweep" / "sweep.json").write_text("{}")
    done = here("view", "sweep", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        65,
        "harness: sweep: must be the folder of one run, got a sweep of 2: 0-easy, 1-hard; for the "
        "first, `harness view sweep/0-easy`\n",
    )
    for name, given in (
        ("swep", "must be the folder of a run: no such folder; nearest: sweep"),
        (".", "got a folder of 2: sweep/0-easy"),
    ):
        done = here("view", name, cwd=tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (65, 1)
        assert given in done.stderr
    (tmp_path / "empty").mkdir()
    done = here("view", "empty", cwd=tmp_path)
    assert done.stderr == "harness: empty: must be the folder of a run: has no run.json\n"


def test_a_run_that_is_running_is_read_up_to_what_it_has_saved(mine: Path) -> None:
    status = json.loads((mine / "run.json").read_text())
    (mine / "run.json").write_text(json.dumps({**status, "status": "running"}))
    (mine / "conversations" / "step-00004.parquet").unlink()
    out = here("view", str(mine), cwd=mine.parent).stdout
    assert out.splitlines()[0] == f"{mine}: step 2 of 4, crashed", "no process holds it"
    shutil.rmtree(mine / "conversations")
    done = here("view", str(mine), cwd=mine.parent)
    assert (done.returncode, done.stderr) == (
        65,
        f"harness: {mine}: no conversations are saved yet: a run saves some at its first step\n",
    )


def test_a_damaged_file_is_named_and_a_damaged_status_is_not_in_the_way(mine: Path) -> None:
    (mine / "run.json").write_text("{")
    assert here("view", str(mine), cwd=mine.parent).returncode == 0
    path = mine / "conversations" / "step-00004.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    done = here("view", str(mine), cwd=mine.parent)
    assert (done.returncode, done.stderr.count("\n")) == (65, 1)
    assert "step-00004.parquet: must be a parquet file of conversations" in done.stderr


def test_a_run_of_an_older_version_says_what_it_did_not_keep() -> None:
    done = here("view", str(GOLDEN / "2026-11-23" / "run"), cwd=GOLDEN)
    assert done.returncode == 0, done.stderr
    assert "was written by an older version, which did not keep persona, topic," in done.stdout
    assert {*lines(done.stdout, "came for")} == {"not recorded"}
    assert "by last emotion" in done.stdout.splitlines()[1]


def test_a_reader_that_leaves_early_is_no_error(run: Path) -> None:
    words = " ".join(f"'{word}'" for word in command("view", str(run), "--limit", "16"))
    script = f"{words} | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert (done.stdout.splitlines()[-1], done.stderr) == ("0", "")


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("colour", [True, False])
def test_on_a_terminal_lines_fit_and_go_through_the_pager(
    run: Path, columns: int, colour: bool
) -> None:
    env = {"PAGER": "cat", "TERM": "xterm-256color", "COLUMNS": str(columns)}
    seen = at_terminal(run, env if colour else {**env, "NO_COLOR": "1"})
    assert ("\x1b[32m" in seen or "\x1b[31m" in seen) == colour
    bare = re.sub(r"\x1b\[[0-9;]*m", "", seen)
    shown = bare.splitlines()
    assert max(map(len, shown)) <= min(columns, 100)
    assert "in nats" not in bare
    words = " ".join(bare.split())
    (one,) = choose_conversations(saved(run), ViewOptions(run, best=True, limit=1), 1).conversations
    assert " ".join(one.replies[0].text.split()[:5]) in words
    assert any(line.startswith("─") or "───" in line for line in shown)


def at_terminal(run: Path, env: dict[str, str]) -> str:
    """What `harness view` shows at a terminal of its own."""
    terminal, theirs = pty.openpty()
    child = subprocess.Popen(
        command("view", str(run), "--best", "--limit", "1"),
        env={**os.environ, **env},
        stdin=theirs, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):  # EIO: the other side has closed it
        while data := os.read(terminal, 65536):
            seen += data
    assert child.wait() == 0, seen
    os.close(terminal)
    return seen.decode()


def of(reward: float | None, sample: int) -> SavedConversation:
    none = (None,) * 6
    return SavedConversation(1, 0, sample, "easy", *none, reward, ())


def test_a_lost_conversation_comes_last_and_ties_keep_their_order() -> None:
    batch = [of(0.5, 0), of(None, 1), of(0.1, 2), of(0.5, 3), of(0.9, 4)]
    worst = choose_conversations(batch, ViewOptions(Path(), worst=True), 5).conversations
    assert [c.sample for c in worst] == [2, 0, 3, 4, 1]
    best = choose_conversations(batch, ViewOptions(Path(), best=True), 5).conversations
    assert [c.sample for c in best][:1] == [4]
    assert best[-1].sample == 1
    assert choose_conversations(batch, ViewOptions(Path()), 9).conversations == batch
    assert view.FEW == 3


def test_the_page_on_view_names_every_part_of_an_appraisal() -> None:
    page = (Path(__file__).parents[2] / "docs" / "view.md").read_text(encoding="utf-8")
    table = page.split("| part | is | users |")[1].split("\n\n")[0]
    never_shown = {"remark"}  # an act without worth
    assert {part for part in EFFECT if f"`{part}`" not in table} == never_shown
