"""Profiles in the form that RLVER published, in wording of our own, as users of ours."""

# ruff: noqa: RUF001
from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.cli import profiles as profile_commands
from harness.errors import ConfigError
from harness.simulator.served import profiles, rlver

CARD = "* 姓名：陈小舟\n* 年龄：29岁\n* 职业：面包师\n* 说话风格：\n慢，爱打比方。\n"
SCENE = """\
## 背景故事
**事件起因：**
上周，小舟的面包店收到了一封退租信。
1. **三天前**：房东说合同不能再续。小舟希望有人能认真听一听。
- 他想过搬店，但是钱不够。
### 玩家不同状态下可能的反应
* emotion低时：他会沉默。
### NPC不同回复
NPC给出具体办法时，小舟的emotion上升。
####隐藏主题:
***你想获得能真实帮助你解决当下困境的建议
"""


LINE = "他想过搬店，但是钱不够。\n"


def published(**values: object) -> dict[str, object]:
    task = "你想获得能真实帮助你解决当下困境的建议"
    profile = {"id": "a", "player": CARD, "scene": SCENE, "main_cha": "回避型",
             "cha_group": ["犹豫", "冷淡", "多疑"], "task": task, "first_talk": "唉。"}  # fmt: skip
    return profile | values


def written(path: Path, *rows: Mapping[str, object]) -> Path:
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), "utf-8")
    return path


def test_a_published_profile_becomes_a_user_and_what_moves_them_is_kept_apart(
    tmp_path: Path,
) -> None:
    (user,) = rlver.read(written(tmp_path / "p.jsonl", published()), "train")
    assert user.facts == (
        "上周，小舟的面包店收到了一封退租信。",
        "三天前：房东说合同不能再续。",
        "他想过搬店，但是钱不够。",
    )
    assert (user.intention, user.temperament, user.split) == ("advice", "avoidant", "train")
    assert user.persona.startswith("陈小舟-")
    assert user.about.endswith("慢，爱打比方。 犹豫 冷淡 多疑")
    assert user.moved_by == (
        "小舟希望有人能认真听一听。 玩家不同状态下可能的反应 emotion低时：他会沉默。 "
        "NPC不同回复 NPC给出具体办法时，小舟的emotion上升。"
    )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"task": "你想睡觉"}, "task must be one of .*, got '你想睡觉'"),
        ({"main_cha": "开朗型"}, "main_cha must be one of 负面型, 被动型, 回避型, got"),
        ({"player": None}, "player must be text, got None"),
        ({"cha_group": 5}, "cha_group must be a list of texts, got 5"),
        ({"cha_group": True}, "cha_group must be a list of texts, got True"),
        ({"cha_group": "abc"}, "cha_group must be a list of texts, got 'abc'"),
        ({"cha_group": [["x"]]}, r"cha_group must be a list of texts, got \[\['x'\]\]"),
        ({"id": "\x1b"}, r"id must have words, got ''"),
        ({"scene": LINE * 61}, r"facts must be a list of 1 to 60 texts, got \["),
        ({"scene": (LINE[:-2] + "很" * 900 + "\n") * 50}, "a line must be at most 100,000 bytes"),
        ({"scene": "user:\n" * 10 + "。" * 26}, "scene must tell what happened, got 'user:"),
        ({"scene": "## 背景"}, "scene must tell what happened, got '## 背景'"),
    ],
)
def test_what_is_no_published_profile_is_named_by_line(
    tmp_path: Path, values: dict[str, object], message: str
) -> None:
    path = written(tmp_path / "p.jsonl", published(), published(**values))
    with pytest.raises(ConfigError, match=rf"p\.jsonl:2: {message}"):
        rlver.read(path, None)


def test_the_overlap_of_a_published_split_is_reported_and_dealt_personas_have_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    others = [published(id=f"b{n}", player=CARD.replace("29", str(n))) for n in range(30, 70)]
    train = written(tmp_path / "train.jsonl", published(), *others)
    test = written(tmp_path / "test.jsonl", published(id="c"), published(id="d", player="姓名：李"))
    out = tmp_path / "as_published.jsonl"
    profile_commands.from_rlver([train], [test], out)
    printed = capsys.readouterr().out
    assert f"{out}: 43 users, 42 personas" in printed
    assert "1 of 2 held-out users reuse a persona of train (personas: 1, such as 陈小舟-" in printed
    with pytest.raises(ConfigError, match="reuse a persona of train"):
        profile_commands.check(out)
    profile_commands.from_rlver([train, test], [], tmp_path / "dealt.jsonl")
    profile_commands.check(tmp_path / "dealt.jsonl")
    assert "0 of " in capsys.readouterr().out
    assert len(profiles.load(str(tmp_path / "dealt.jsonl"))) == 43
    with pytest.raises(ConfigError, match="already exists; --out must name a new file"):
        profile_commands.from_rlver([train], [], out)


def test_a_line_of_signs_alone_is_no_fact_and_what_is_written_is_taken_and_told_in_plain_signs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = {"scene": "。" * 26 + "\n" + LINE, "cha_group": None}
    rows = [published(id=f"b{n}", player=f"姓名：李{n}", **values) for n in range(20)]
    out = tmp_path / "mine\x1b]0;.jsonl"
    profile_commands.from_rlver([written(tmp_path / "p.jsonl", *rows)], [], out)
    profile_commands.check(out)
    assert {user.facts for user in profiles.read(out)} == {(LINE.strip(),)}
    printed = capsys.readouterr().out
    assert printed.count("mine\\x1b]0;.jsonl: 20 users, 20 personas\n") == 2
    assert "\x1b" not in printed
