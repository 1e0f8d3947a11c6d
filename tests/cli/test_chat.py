"""Talking to a user from the command line: what is printed, how it ends, what the JSON holds."""

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

import pytest

from harness.testing.commands import BUDGET_S, command, here
from tests.cli.chat_command import chat, lines

KIND = (
    "What happened then?",
    "You sound so lonely.",
    "You did the right thing by telling me.",
    "It is good that you speak about it.",
)
HOSTILE = "\x1b[31m[bold red]hi[/] \x9b2J :smile: \u202eabc"


def test_a_chat_shows_both_sides_the_emotion_and_its_change(tmp_path: Path) -> None:
    done = chat("difficulty=easy", "seed=3", stdin="\n".join(KIND), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("A scripted user, difficulty easy, seed 3.\n")
    assert lines(done.stdout, "you") == list(KIND)
    assert len(lines(done.stdout, "user")) == 1 + len(KIND)
    first, *later = lines(done.stdout, "emotion")
    assert first == "[########............]  40"
    before = 40
    for shown in later:
        bar, emotion, change = shown.rsplit(maxsplit=2)
        assert int(emotion) == before + int(change)
        assert bar.count("#") * 5 == int(emotion)
        before = int(emotion)
    assert done.stdout.splitlines()[-1].startswith(
        f"stopped: you ended the conversation; emotion 40 to {before} in 4 replies, "
    )
    assert not list(tmp_path.iterdir())


def test_what_is_hidden_is_shown_only_if_asked_for(tmp_path: Path) -> None:
    words = ("seed=3", "difficulty.intentions=[advice]", "difficulty.temperaments=[passive]")
    replies = "You sound so lonely.\nYou are stupid.\n"
    plain = chat(*words, stdin=replies, cwd=tmp_path).stdout
    assert not [x for x in ("hidden", "heard", "why", "trust") if lines(plain, x)]
    assert "passive" not in plain
    shown = chat(*words, "--reveal", stdin=replies, cwd=tmp_path).stdout
    came_for = "came for advice that truly solves their difficulty; temperament: passive"
    assert lines(shown, "hidden") == [came_for]
    assert lines(shown, "heard")[0] == "a reflection of feelings"
    kind, rude = lines(shown, "why")
    assert kind.startswith("worth to this user ")
    assert "hurts " in rude
    for why in (kind, rude):
        *parts, whole = (float(number) for number in re.findall(r" ([+-]\d+\.\d\d)", why))
        assert sum(parts) == pytest.approx(whole, abs=0.05)
    assert re.search(r"log-odds of a rise -\d+\.\d\d \(\d+%\)$", rude)
    assert len(lines(shown, "trust")) == 2
    hidden = ("hidden", "heard", "why", "trust")
    assert [x for x in shown.splitlines() if not x.startswith(hidden)] == plain.splitlines()


@pytest.mark.slow
def test_the_words_choose_the_user_and_the_level(tmp_path: Path) -> None:
    def opening(*words: str) -> str:
        return lines(chat(*words, stdin="", cwd=tmp_path).stdout, "user")[0]

    assert opening("seed=2", "difficulty=hard") == opening("seed=2", "difficulty=hard")
    assert len({opening(f"seed={seed}") for seed in (1, 2)}) == 2
    done = chat("difficulty.start_emotion=60", stdin="", cwd=tmp_path)
    assert lines(done.stdout, "emotion") == ["[############........]  60"]
    assert done.stdout.splitlines()[-1].endswith("; emotion 60 to 60 in 0 replies, 0 up, 0 down")


ENDS = {
    "success": (["difficulty.start_emotion=95", "difficulty.threshold=-5"], KIND[:1], "success: "),
    "left": (["difficulty.start_emotion=10", "difficulty.threshold=5"], ("You are stupid.",),
             "left: the user has left, which counts as emotion 0; emotion 10 to 0 in 1 reply"),
    "cap": (["difficulty.turn_cap=2"], KIND, "cap: the turn limit is reached; emotion 40 to "),
}  # fmt: skip


@pytest.mark.parametrize("how", ENDS)
def test_each_end_has_last_words_and_its_sentence_and_asks_for_no_more(
    how: str, tmp_path: Path
) -> None:
    words, replies, sentence = ENDS[how]
    done = chat(*words, stdin="\n".join(replies), cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith(sentence)
    assert len(lines(done.stdout, "you")) <= 2
    assert len(lines(done.stdout, "user")) == 1 + len(lines(done.stdout, "you"))


def test_with_json_the_chat_is_on_stderr_and_stdout_is_one_value(tmp_path: Path) -> None:
    done = chat("seed=3", "difficulty=hard", "--json", stdin="\n".join(KIND[:2]), cwd=tmp_path)
    value = json.loads(done.stdout)
    assert (value["schema"], value["difficulty"], value["seed"]) == (1, "hard", 3)
    assert value["ended"] is None
    assert [turn["reply"] for turn in value["turns"]] == [None, *KIND[:2]]
    assert [turn["user"] for turn in value["turns"]] == lines(done.stderr, "user")
    assert value["emotion"] == value["turns"][-1]["emotion"]
    assert value["turns"][0]["change"] is None
    assert value["turns"][2]["strategies"] == ["reflect"]
    assert value["temperament"] in ("negative", "passive", "avoidant")


def test_nothing_a_reply_holds_reaches_the_terminal_but_as_text(tmp_path: Path) -> None:
    done = chat("--reveal", stdin=HOSTILE.encode() + b"\n\xff\xfe\0\r\n\n", cwd=tmp_path)
    assert done.returncode == 0
    assert lines(done.stdout, "you") == [
        r"\x1b[31m[bold red]hi[/] \x9b2J :smile: \u202eabc",
        r"��\x00",
        "(nothing)",
    ]
    assert done.stdout.replace("\n", "").isprintable()


def test_a_sweep_and_a_wrong_key_end_with_one_line(tmp_path: Path) -> None:
    done = here("chat", "seed=1,2", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "harness: seed: chat has one user; give one value, got 2\n"
    assert here("chat", "sed=1", cwd=tmp_path).returncode == 2


@pytest.mark.parametrize("word", ["trainer.steps=9", "algorithm=ppo", "remedy=clip_higher"])
def test_a_key_of_training_is_refused_since_it_changes_no_user(word: str, tmp_path: Path) -> None:
    done = here("chat", "difficulty=easy", word, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    key = word.partition("=")[0]
    rule = "chat trains nothing, so only seed, difficulty and simulator have an effect"
    assert done.stderr == f"harness: {key}: {rule}, got {word}\n"


@pytest.mark.slow
def test_without_any_input_it_ends_after_the_opening(tmp_path: Path) -> None:
    script = " ".join(f"'{word}'" for word in command("chat")) + " <&-"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith(
        "stopped: you ended the conversation; emotion 40 to 40"
    )


IN_A_SESSION = (
    "import fcntl, os, signal, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT]); os.execv"
)
"""A new session has no terminal whose keys would interrupt it; its child takes the one given. Nor
may it inherit that interrupts are ignored, as what a shell puts in the background does, or kept
back, as a command does that another test ran in this process."""


class AtTerminal:
    """`harness chat WORDS` at a terminal of its own; ended on the way out if it still runs."""

    def __init__(self, *words: str, cwd: Path) -> None:
        self.seen = ""
        self.terminal, theirs = pty.openpty()
        begin = f"{IN_A_SESSION}(sys.argv[1], sys.argv[1:])"
        self.child = subprocess.Popen(
            [sys.executable, "-c", begin, *command("chat", *words)],
            cwd=cwd,
            env={**os.environ, "TERM": "dumb"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.child.kill()
        self.child.wait()
        os.close(self.terminal)

    def until(self, text: str, count: int = 1) -> None:
        while self.seen.count(text) < count:
            assert self._read(BUDGET_S), f"nothing more than {self.seen!r}"

    def press(self, key: str, text: str) -> None:
        """A key, and again as people do: one that comes just before the reading is unheard."""
        deadline = time.monotonic() + BUDGET_S
        while text not in self.seen:
            assert time.monotonic() < deadline, f"{key!r} did nothing to {self.seen!r}"
            self.type(key)
            while text not in self.seen and self._read(3):
                pass

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def end(self) -> int:
        """The exit code, once all is read."""
        with contextlib.suppress(OSError):  # EIO: the other side has closed it
            self.until("nothing, so to the end")
        return self.child.wait(BUDGET_S)

    def _read(self, within_s: float) -> bool:
        ready, _, _ = select.select([self.terminal], [], [], within_s)
        if ready:
            self.seen += os.read(self.terminal, 4096).decode(errors="replace")
        return bool(ready)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "code"),
    [pytest.param("\x04", 0, id="Ctrl-D"), pytest.param("\x03", 130, id="Ctrl-C")],
)
def test_at_a_terminal_a_key_ends_the_chat_with_its_summary(
    key: str, code: int, tmp_path: Path
) -> None:
    with AtTerminal("seed=3", cwd=tmp_path) as at:
        at.until("you     ")
        at.type("What happened then?\r")
        at.until("emotion", 2)
        at.until("you     ", 2)
        at.press(key, "stopped: ")
        assert at.end() == code
    assert at.seen.count("What happened then?") == 1
    assert "stopped: you ended the conversation; emotion 40 to " in at.seen
    assert "in 1 reply, " in at.seen
    assert "Traceback" not in at.seen


@pytest.mark.slow
def test_an_interrupted_pipe_ends_the_same_way(tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command("chat"), cwd=tmp_path, stdin=pipe, stdout=pipe, text=True
    ) as child:
        assert child.stdout is not None
        while not child.stdout.readline().startswith("emotion"):
            pass
        child.send_signal(signal.SIGINT)
        assert child.wait(BUDGET_S) == 130
        assert "stopped: you ended the conversation" in child.stdout.read()
