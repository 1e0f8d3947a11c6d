"""The start model is built once, whole, the same each time, and under a name of its own."""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from harness import simulator
from harness.config.run import STRATEGIES, PolicyConfig
from harness.errors import ConfigError
from harness.policy import tiny
from harness.policy.chat import chat_of
from harness.policy.grammar import NARROW, covers, slot_spans
from harness.policy.phrases import PHRASES
from harness.simulator.personas import EVERYONE
from harness.train.engines.scoring import own_logits
from harness.train.warm_start import induction, start_model, supervised, training_rows
from harness.train.warm_start.retelling import retell_dialogue
from tests.train.made_language import QUICK

SCHEDULE = supervised.TrainingSchedule(steps=12, rate=0.02, batch=8, constant_until=0.4)


def digest(folder: Path) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The cache in which the start model of QUICK is built once, before the first test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield start_model.ensure(QUICK)


def test_a_built_start_model_is_whole_and_not_built_again(
    built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert start_model.ensure(QUICK) == built
    assert capsys.readouterr().err == ""
    card = json.loads((built / "card.json").read_text())
    assert card["parameters"] == sum(p.numel() for p in tiny.load_model(built).parameters())
    assert sum(card["strategies"].values()) == pytest.approx(1) or card["recognised"] == 0
    assert [p.name for p in built.parent.glob(".*")] == []


@pytest.mark.slow
def test_another_build_says_what_it_does_and_is_the_same_bytes(
    built: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path))
    torch.manual_seed(7)
    again = start_model.ensure(QUICK)
    progress = capsys.readouterr().err
    assert progress.count("building the start model") == 1
    assert "nats a token" in progress
    assert "recognised" in progress
    assert again != built
    assert digest(again) == digest(built)


@pytest.mark.slow
def test_a_start_model_is_the_same_bytes_on_one_thread_and_on_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With heads that copy, whose start values are products of matrices."""
    policy = replace(QUICK, layers=2, hidden_size=48)
    made = []
    for threads in (1, 2):
        monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / str(threads)))
        torch.set_num_threads(threads)
        made.append(start_model.ensure(policy))
        assert torch.get_num_threads() == threads
    torch.set_num_threads(1)
    assert [digest(folder) for folder in made] == [digest(made[0])] * 2
    cards = [(folder / "card.json").read_text() for folder in made]
    assert cards[0] == cards[1]


def test_the_name_follows_what_determines_the_model_and_nothing_else() -> None:
    name = start_model.key(QUICK)
    assert start_model.key(replace(QUICK, name="other", temperature=2.0)) == name
    for changed in (
        replace(QUICK, hidden_size=36),
        replace(QUICK, warm_start_copy_steps=4),
        replace(QUICK, warm_start_steps=13),
        replace(QUICK, warm_start_strategies="narrow"),
        replace(QUICK, warm_start_retold=0.85),
    ):
        assert start_model.key(changed) != name


def test_the_name_follows_the_users_it_learns_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their levels are code, but for the defaults of config.py."""
    name = start_model.key(QUICK)
    shorter = tuple(replace(level, turn_cap=level.turn_cap - 1) for level in training_rows.USERS)
    monkeypatch.setattr(training_rows, "USERS", shorter)
    assert start_model.key(QUICK) != name
    assert [len(training_rows.generate(n)) for n in (3, 101)] == [3, 101]


TAUGHT = {(3, 3): ("614eb1fb08a02fba", 6.3614, 6.3899)}
"""By version of start model and simulator: digest of rows; loss and H of QUICK's model, nats."""


def test_a_start_model_is_taught_what_those_of_its_version_were(built: Path) -> None:
    rows = [
        training_rows.generate(24),
        training_rows.retell(training_rows.conversations(3), 9, saying_back=True),
    ]
    card = json.loads((built / "card.json").read_text())
    rows_digest, loss, entropy = TAUGHT.get((start_model.VERSION, simulator.VERSION), ("", 0, 0))
    due = "start models have changed: raise start_model.VERSION, and add the new values"
    assert hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16] == rows_digest, due
    taught = (card["loss_nats"], card["entropy_nats"])
    assert taught == pytest.approx((loss, entropy), abs=2e-3), due


@pytest.mark.slow
def test_training_brings_the_loss_down_and_does_not_depend_on_threads() -> None:
    dialogues = training_rows.generate(64)
    tokenizer = tiny.build_tokenizer((t for d in dialogues for t in d), 600)
    rows = [training_rows.to_row(d, chat_of(tokenizer)) for d in dialogues]
    weights, losses = [], []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        model = tiny.build_model(QUICK, tokenizer, 1)
        supervised.fit(model, rows, SCHEDULE, 1, lambda step, loss: losses.append(loss))
        assert torch.get_num_threads() == threads
        weights.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
    torch.set_num_threads(1)
    assert torch.equal(*weights)
    assert losses[: SCHEDULE.steps] == losses[SCHEDULE.steps :]
    assert losses[0] == pytest.approx(np.log(600), rel=0.1)
    assert losses[SCHEDULE.steps - 1] < 0.9 * losses[0]


def test_dialogues_are_grammatical_and_about_what_the_user_said() -> None:
    dialogues = training_rows.generate(60)
    assert len(dialogues) == 60
    assert dialogues == training_rows.generate(60)
    for dialogue in dialogues:
        heard, replies = dialogue[0::2], dialogue[1::2]
        assert len(heard) == len(replies) >= 1
        for n, reply in enumerate(replies, start=1):
            assert covers(reply, heard[:n])


def test_a_retold_dialogue_is_about_other_things_alike_in_all_of_it() -> None:
    exam = next(person for person in EVERYONE if person.name == "exam")
    texts = [
        "It is about my exam. I failed the exam twice. I feel ashamed.",
        "So you are ashamed, and it began with your exam. You said that you failed the exam twice.",
    ]
    versions = {
        tuple(retell_dialogue(texts, exam, np.random.default_rng(seed), 0.9)) for seed in range(60)
    }
    assert tuple(texts) in versions
    assert len(versions) > 40
    for opening, reply in versions:
        assert covers(reply, [opening]), (opening, reply)
    assert sum("exam" in opening for opening, _ in versions) < 5


def test_dialogues_of_the_first_phase_say_more_back() -> None:
    conversations = training_rows.conversations(10)
    shares = []
    for saying_back in (False, True):
        dialogues = training_rows.retell(conversations, 30, saying_back)
        replies = [(d[n], d[:n:2]) for d in dialogues for n in range(1, len(d), 2)]
        assert all(covers(reply, heard) for reply, heard in replies)
        shares.append(np.mean([bool(slot_spans(reply, heard)) for reply, heard in replies]))
    assert shares[0] < 0.7
    assert shares[1] > 0.95


def test_a_narrow_warm_start_is_told_three_strategies_and_few_others() -> None:
    narrow = replace(QUICK, warm_start_strategies="narrow")
    for saying_back in (False, True):
        conversations = training_rows.conversations(40, "narrow")
        dialogues = training_rows.retell(conversations, 40, saying_back, narrow)
        replies = [(d[n], d[:n:2]) for d in dialogues for n in range(1, len(d), 2)]
        assert all(covers(reply, heard) for reply, heard in replies)
        few = [strategies_of(reply) <= {*NARROW} for reply, _ in replies]
        assert 0.8 < np.mean(few) < 0.99  # 6% say something poor, and 8% may be of any strategy


def test_the_share_of_retold_dialogues_is_the_policys() -> None:
    conversations = training_rows.conversations(30)
    plain = [training_rows.texts(c) for c in conversations]
    for share, least, most in ((0.0, 30, 30), (0.5, 6, 24), (1.0, 0, 0)):
        policy = replace(QUICK, warm_start_retold=share)
        told = training_rows.retell(conversations, 30, policy=policy)
        assert least <= sum(a == b for a, b in zip(told, plain, strict=True)) <= most


def strategies_of(reply: str) -> set[str]:
    """The strategies whose phrases the sentences of `reply` are."""
    return {
        next((name for name in STRATEGIES if fits(sentence, PHRASES[name])), "poor")
        for sentence in re.split(r"(?<=[.?!])\s+", reply)
    }


def fits(sentence: str, phrases: Sequence[str]) -> bool:
    """Whether `sentence` is one of `phrases`, or a sentence of one, whatever fills its slots."""
    patterns = (re.sub(r"\\{\w+\\}", ".+", re.escape(part)) for phrase in phrases
                for part in re.split(r"(?<=[.?!])\s+", phrase))  # fmt: skip
    return any(re.fullmatch(pattern, sentence) for pattern in patterns)


def test_what_a_reply_takes_from_the_user_weighs_most() -> None:
    tokenizer = tiny.build_tokenizer(["a b c"], 600)
    turns = [
        "It is about my exam. I failed it twice.",
        "You said that you failed it twice. Take all the time you need.",
    ]
    row = training_rows.to_row(turns, chat_of(tokenizer))
    by_weight = {
        weight: tokenizer.decode(
            [i for i, w in zip(row.ids, row.weight, strict=True) if w == weight]
        )
        for weight in set(row.weight)
    }
    assert by_weight[training_rows.SLOT_WEIGHT] == "you failed it twice."
    assert by_weight[1.0] == "You said that  Take all the time you need.<|end|>"
    assert by_weight[training_rows.USER_WEIGHT].endswith("twice.<|end|><|supporter|>")


def test_a_new_model_copies_tokens_that_it_has_never_met() -> None:
    """The heads put in do what their page says, before any training."""
    tokenizer = tiny.build_tokenizer(["a b c"], 600)
    source = torch.randint(4, 260, (12, 60), generator=torch.Generator().manual_seed(5))
    ids = torch.cat([source, source[:, 20:40]], dim=1)
    own = torch.arange(80).expand(12, 80) > 60  # the first token of the span tells where it begins
    shares = []
    for put_in in (False, True):
        model = tiny.build_model(PolicyConfig(), tokenizer, 1)
        if put_in:
            induction.put_in(model, 1)
        with torch.no_grad():
            said = own_logits(model, ids, own).argmax(-1)
        shares.append(float((said == ids[own]).float().mean()))
    assert shares[0] < 0.05
    assert shares[1] > 0.8


@pytest.mark.parametrize(("layers", "heads", "width"), [(1, 2, 32), (2, 8, 32)])
def test_a_model_too_small_for_such_heads_is_left_as_it_is(
    layers: int, heads: int, width: int
) -> None:
    tokenizer = tiny.build_tokenizer(["a b c"], 600)
    policy = PolicyConfig(layers=layers, attention_heads=heads, hidden_size=width)
    model, untouched = (tiny.build_model(policy, tokenizer, 1) for _ in range(2))
    induction.put_in(model, 1)
    for one, other in zip(model.parameters(), untouched.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("policy_json", ['{"hiden_size": 3}', "[1]"])
def test_a_policy_with_unknown_keys_is_refused(
    policy_json: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["warm_start", policy_json])
    with pytest.raises(ConfigError, match="policy: keys must be among"):
        start_model.main()
