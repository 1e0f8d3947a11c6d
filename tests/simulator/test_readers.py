"""What hears sentences: both readers keep the contract, and a head fits its model alone."""

from __future__ import annotations

import os
import pickle
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from harness.compose import planner
from harness.config.run import DifficultyConfig, RunConfig
from harness.config.simulator import SimulatorConfig
from harness.errors import ConfigError, DataError
from harness.execution import difficulty_cards
from harness.policy import tiny
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus
from harness.records.validity import LevelValidity, to_json
from harness.simulator import factory
from harness.simulator.protocol import ConversationKey, SupporterReply, UserSimulator
from harness.simulator.readers import head as heads
from harness.simulator.readers.head import ClassifierHead, Extraction, ReaderModelIdentity
from harness.simulator.readers.lm import LmReader, lm_reader
from harness.simulator.readers.states import SentenceStates
from harness.simulator.scripted.polarity import POLARITIES
from harness.simulator.scripted.recognition import KINDS
from harness.simulator.scripted.sentence_reader import LEXICAL, SentenceReader
from harness.simulator.scripted.user import ScriptedSimulator
from harness.testing.reader_contract import SENTENCES, ReaderContract, alike
from harness.testing.simulator_contract import SimulatorContract
from harness.train.loop.resume_checks import refuse_another_reader
from harness.utils.remembered import ValueCache

REAL = "HARNESS_READER_MODEL"
"""Environment variable that names a folder with SmolLM2-135M-Instruct."""
HIDDEN = 32
EXTRACTION = Extraction("He said:", "\nThis made me feel", (1, 2), (2,), 24)


def model(folder: Path, seed: int = 1) -> str:
    """Save a transformer with random weights and its tokenizer."""
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = tiny.build_tokenizer(SENTENCES, 400)
    shape = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=HIDDEN,
        intermediate_size=64,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        LlamaForCausalLM(shape).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def learnt(identity: ReaderModelIdentity) -> ClassifierHead:
    """Return a head with random weights for a model."""
    rng = np.random.default_rng(2)
    features = 3 * HIDDEN + heads.WORD_FEATURES
    return ClassifierHead(
        identity,
        EXTRACTION,
        centre=np.zeros(features),
        scale=np.ones(features),
        polarity=rng.normal(0, 0.3, (features + 1, len(POLARITIES))),
        strategy=rng.normal(0, 0.3, (features + 1, len(KINDS))),
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A model and its head."""
    folder = tmp_path_factory.mktemp("reader")
    name = model(folder / "model")
    (folder / "head.npz").write_bytes(learnt(SentenceStates(name).identity).to_bytes())
    return name, str(folder / "head.npz")


def fresh(names: tuple[str, str]) -> LmReader:
    """Return the reader of a model and a head, which has read nothing."""
    lm_reader.cache_clear()
    return lm_reader(*names)


class TestLexical(ReaderContract):
    @pytest.fixture
    def reader(self) -> SentenceReader:
        return LEXICAL

    @pytest.fixture
    def another(self) -> SentenceReader:
        return LEXICAL

    @pytest.fixture
    def made_by(self) -> str:
        return "from harness.simulator.scripted.sentence_reader import LEXICAL as reader"


def python(names: tuple[str, str]) -> str:
    return f"from harness.simulator.readers.lm import lm_reader\nreader = lm_reader(*{names!r})"


class TestLm(ReaderContract):
    @pytest.fixture
    def reader(self, made: tuple[str, str]) -> SentenceReader:
        return lm_reader(*made)

    @pytest.fixture
    def another(self, made: tuple[str, str]) -> SentenceReader:
        return fresh(made)

    @pytest.fixture
    def made_by(self, made: tuple[str, str]) -> str:
        return python(made)


@pytest.mark.skipif(REAL not in os.environ, reason=f"{REAL} names no folder with the model")
class TestLmOfTheShippedHead(ReaderContract):
    @pytest.fixture
    def reader(self) -> SentenceReader:
        return lm_reader(os.environ[REAL])

    @pytest.fixture
    def another(self) -> SentenceReader:
        return fresh((os.environ[REAL], ""))

    @pytest.fixture
    def made_by(self) -> str:
        return python((os.environ[REAL], ""))

    def test_it_tells_care_from_cruelty(self, reader: SentenceReader) -> None:
        kind, cruel = reader.hear(["It is not your fault.", "It is all your fault."])
        assert kind.polarity.caring > 0.5 > kind.polarity.hurtful
        assert cruel.polarity.hurtful > 0.5 > cruel.polarity.caring


class TestUsersWhoHearWithAModel(SimulatorContract):
    @pytest.fixture
    def simulator(self, made: tuple[str, str]) -> UserSimulator:
        simulator = factory.make(settings(made), DifficultyConfig())
        assert isinstance(simulator, ScriptedSimulator)
        assert isinstance(simulator.reader, LmReader)
        return simulator

    def test_hostile_text_is_answered_and_does_not_help(  # type: ignore[override]
        self, simulator: UserSimulator
    ) -> None:
        """Of random weights nothing of the kind holds; the shipped head is measured."""


def settings(names: tuple[str, str]) -> SimulatorConfig:
    return SimulatorConfig(reader="lm", reader_model=names[0], reader_head=names[1])


def test_a_batch_of_replies_is_read_at_once_and_chances_are_those_of_each_alone(
    made: tuple[str, str],
) -> None:
    user = ScriptedSimulator(DifficultyConfig(), reader=fresh(made))
    turns = user.open([ConversationKey(1, 1, n, 0) for n in range(4)])
    states, replies = [t.state for t in turns], [SupporterReply(text) for text in SENTENCES[:4]]
    chances = user.rise_probabilities(states, replies)
    assert user.reader.misses == 4
    user.answer(turns, replies)
    assert user.reader.misses == 4
    alone = ScriptedSimulator(DifficultyConfig(), reader=fresh(made))
    for state, reply, chance in zip(states, replies, chances, strict=True):
        assert alone.rise_probability(state, reply) == pytest.approx(chance, abs=1e-3)
    other = ScriptedSimulator(DifficultyConfig())
    assert other.rise_probabilities(states, replies) != pytest.approx(chances, abs=1e-3)


def test_another_process_gets_the_reader_by_what_it_is_made_of(made: tuple[str, str]) -> None:
    reader = fresh(made)
    assert pickle.loads(pickle.dumps(reader)) is reader
    assert pickle.loads(pickle.dumps(LEXICAL)) == LEXICAL


def test_a_head_is_written_and_read_back(made: tuple[str, str], tmp_path: Path) -> None:
    head = heads.read(Path(made[1]))
    (tmp_path / "again.npz").write_bytes(head.to_bytes())
    again = heads.read(tmp_path / "again.npz")
    assert (again.model, again.extraction, again.digest) == (
        head.model, head.extraction, head.digest,
    )  # fmt: skip
    other = replace(head, polarity=head.polarity + 1e-2)
    assert other.digest != head.digest


def test_the_shipped_head_is_whole() -> None:
    head = heads.read(heads.SHIPPED)
    assert (head.model.architecture, head.model.hidden_size, head.model.layers) == (
        "llama",
        576,
        30,
    )
    assert heads.SHIPPED.stat().st_size < 400_000


def test_a_head_of_another_model_is_refused(made: tuple[str, str], tmp_path: Path) -> None:
    other = model(tmp_path / "other", seed=2)
    with pytest.raises(ConfigError) as caught:
        lm_reader(other, made[1])
    a = r"\(llama of 3 layers, hidden size 32, weights \w{12}\)"
    assert re.fullmatch(
        r"simulator\.reader_model: must be the model that the head head\.npz was learnt on "
        rf"{a}, or simulator\.reader_head must name a head for it, as "
        rf"benchmarks/lm_reader\.py writes one; got '.*other' {a}",
        str(caught.value),
    )
    with pytest.raises(ConfigError, match="smollm2_135m_instruct"):
        lm_reader(made[0])


@pytest.mark.parametrize("content", [b"", b"no head", b"PK\x03\x04"])
def test_a_file_that_is_no_head_is_refused(
    made: tuple[str, str], tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "head.npz"
    path.write_bytes(content)
    rule = (
        r"^simulator\.reader_head: must be a file that benchmarks/lm_reader\.py has written, got "
    )
    with pytest.raises(ConfigError, match=rule):
        lm_reader(made[0], str(path))
    with pytest.raises(ConfigError, match=rule):
        lm_reader(made[0], str(tmp_path / "none.npz"))


def test_a_head_whose_shapes_do_not_fit_is_refused(made: tuple[str, str], tmp_path: Path) -> None:
    head = heads.read(Path(made[1]))
    for broken in (replace(head, centre=head.centre[1:]), replace(head, scale=head.scale * np.nan)):
        (tmp_path / "head.npz").write_bytes(broken.to_bytes())
        with pytest.raises(ConfigError, match=r"^simulator\.reader_head: .*of shape"):
            heads.read(tmp_path / "head.npz")


def test_a_folder_without_a_model_is_refused(made: tuple[str, str], tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"^simulator\.reader_model: must be a folder or a name on"
    ):
        lm_reader(str(tmp_path), made[1])


def test_a_home_that_nobody_has_is_refused_by_key() -> None:
    for key, arguments in (
        ("simulator.reader_head", ("smollm2_135m", "~nobody-at-all/x")),
        ("simulator.reader_model", ("~nobody-at-all/x", "")),
    ):
        rule = rf"^{key}: must be a path that can be found, .*; got '~nobody-at-all/x'$"
        with pytest.raises(ConfigError, match=rule):
            lm_reader(*arguments)


def test_keys_of_the_reader_are_refused_where_they_do_nothing() -> None:
    with pytest.raises(ConfigError, match=r"^simulator\.reader_model must be .*, got ''"):
        planner.point(["simulator.reader=lm"])
    for words in (["simulator=served", "simulator.reader=lm"], ["simulator.reader_model=x"],
                  ["simulator.reader_head=x"]):  # fmt: skip
        with pytest.raises(ConfigError, match="has no effect with simulator"):
            planner.plan(words)


def test_a_reader_has_cards_of_its_own(made: tuple[str, str]) -> None:
    values = {"reader": "lm", "reader_model": made[0], "reader_head": made[1]}
    words = [f"simulator.{key}={value}" for key, value in values.items()]
    lexical, heard = planner.point([]).config, planner.point(words).config
    assert difficulty_cards.key(lexical) != difficulty_cards.key(heard)
    name = factory.reader_of(heard.simulator).name
    assert re.fullmatch(r"lm \(llama \w{12}, head \w{12}\)", name)


def test_a_run_goes_on_with_no_other_reader(made: tuple[str, str], tmp_path: Path) -> None:
    config, folder = replace(RunConfig(), simulator=settings(made)), RunFolder(tmp_path)
    name = factory.reader_of(config.simulator).name
    own, other = ({"medium": LevelValidity(reader, {})} for reader in (name, "lm (llama 0)"))
    for sound in (None, to_json(own)):
        refuse_another_reader(folder, config, RunStatus(validity=sound))
    refuse_another_reader(folder, RunConfig(), RunStatus(validity=to_json(other)))
    with pytest.raises(
        DataError, match=r"run\.json: a run must continue with the reader that it was"
    ):
        refuse_another_reader(folder, config, RunStatus(validity=to_json(other)))


def test_what_is_remembered_is_made_once_and_the_oldest_is_forgotten() -> None:
    remembered = ValueCache[str, str](2)
    assert remembered.of(["a", "b", "a"], lambda new: [key.upper() for key in new]) == [
        "A", "B", "A",
    ]  # fmt: skip
    assert remembered.of(["c", "b"], lambda new: [f"{key}2" for key in new]) == ["c2", "B"]
    assert remembered.made == 3
    assert remembered.of(["a"], lambda new: ["new"]) == ["new"]


def test_a_sentence_is_heard_alike_whatever_is_read_beside(made: tuple[str, str]) -> None:
    """More than one batch, of unlike lengths."""
    many = [f"{'It was hard. ' * (n % 7)}{n} days ago." for n in range(150)]
    together = fresh(made).hear(many)
    for at in (0, 77, 149):
        alike(fresh(made).hear([many[at]])[0], together[at])
