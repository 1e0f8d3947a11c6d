"""Conversations taken over in the middle: they are the ones they were, up to that moment."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from harness.config.curriculum import CurriculumConfig
from harness.config.run import INTENTIONS, MAX_TURNS, PolicyConfig, RunConfig, SimulatorConfig
from harness.errors import ConfigError
from harness.policy.memory import NOTHING_YET
from harness.policy.tabular import TabularPolicy
from harness.simulator.factory import make
from harness.train.rollout import curriculum
from harness.train.rollout.batch import rng_of, rollout_groups
from harness.train.rollout.conversation import StartState, take_over
from harness.train.rollout.curriculum import FEWEST, AttentiveSpeaker, start_library
from harness.train.rollout.tabular_speaker import TabularSpeaker
from tests.train import made
from tests.train.made import rows_of

REVERSE = CurriculumConfig(name="reverse", kind="reverse", whole_from=9)


def config(steps: int = 12) -> RunConfig:
    return replace(made.tabular(steps=steps, eval_every=1000), curriculum=REVERSE)


@pytest.fixture(scope="module")
def course() -> curriculum.CurriculumState:
    return curriculum.begin(config(), None)


class Attentive(AttentiveSpeaker):
    """The reference, going on with what it had begun itself."""

    def take_over(self, starts: Sequence[StartState]) -> None:
        self._heard = [start.heard for start in starts]
        self._replies = [[e.reply.text for e in start.exchanges] for start in starts]


@pytest.mark.parametrize("replies", [0, 1, 4])
def test_a_speaker_that_takes_over_its_own_conversation_continues_it_unchanged(
    course: curriculum.CurriculumState, replies: int
) -> None:
    whole = course.starts[:10]
    begun = [start.until(replies) for start in whole]
    keys = [start.key for start in whole]
    users = make(course.config.simulator, course.config.difficulty)
    taken_over = take_over(users, Attentive(keys), keys, begun)
    for start, conversation in zip(whole, taken_over, strict=True):
        assert conversation.opening == start.until(replies).last_turn
        assert len(conversation.before) == replies
        assert conversation.before + conversation.exchanges == start.exchanges


@pytest.mark.slow
def test_the_library_holds_the_best_conversations_and_is_reproducible(
    course: curriculum.CurriculumState,
) -> None:
    again = start_library(config())
    assert again == course.starts
    assert len(again) >= FEWEST
    finals = [start.last_turn.emotion for start in again]
    assert finals == sorted(finals, reverse=True)
    assert min(finals) > 60
    assert start_library(replace(config(), seed=2)) != again


def test_starts_slide_back_to_the_beginning(course: curriculum.CurriculumState) -> None:
    before = []
    for step in range(1, 13):
        group_tasks = curriculum.group_tasks(course, step)
        starts = [task.start for task in group_tasks]
        if step >= 9:
            assert starts == [None, None]
            continue
        lengths = {start.key: len(start.exchanges) for start in course.starts}
        for start in starts:
            assert start is not None
            over = 0.75 * (9 - step) / 8
            assert len(start.exchanges) == int(over * lengths[start.key]) < lengths[start.key]
        before.append(np.mean([len(start.exchanges) for start in starts if start]))
    assert before[0] >= 3
    assert before[-1] < 1


def test_a_group_shares_its_start_and_its_users_go_their_own_ways(
    course: curriculum.CurriculumState,
) -> None:
    speaker = TabularSpeaker(TabularPolicy.start("conversation"), 1.0, rng_of(course.config, 1, 1))
    conversations = rollout_groups(course, speaker, 1)
    for group in (conversations[:8], conversations[8:]):
        assert len({(c.opening.text, c.opening.emotion, len(c.before)) for c in group}) == 1
        assert len({tuple(e.answer.text for e in c.exchanges) for c in group}) > 1
        assert len({c.temperament for c in group}) == 1
    acts = speaker.acts()
    for number, conversation in enumerate(conversations):
        mine = acts.conversation == number
        count = len(conversation.exchanges)
        assert acts.reply[mine].tolist() == list(range(count))
        turns = acts.seen.features[mine, :MAX_TURNS].argmax(axis=1)
        assert turns.tolist() == [len(conversation.before) + n for n in range(count)]
    first_seen = acts.seen.features[acts.reply == 0]
    fresh = TabularSpeaker(TabularPolicy.start("conversation"), 1.0, rng_of(course.config, 9, 1))
    rollout_groups(course, fresh, 9)
    opening = fresh.acts().seen.features[fresh.acts().reply == 0]
    nothing_yet = MAX_TURNS + 2 * len(INTENTIONS) + NOTHING_YET
    assert opening[:, nothing_yet].all()
    assert not first_seen[:, nothing_yet].any()


def test_a_group_that_is_drawn_again_takes_over_from_another_user(
    course: curriculum.CurriculumState,
) -> None:
    met = []
    for groups in (None, [2, 3], [4]):  # the batch's two, both again, the first once more
        speaker = TabularSpeaker(TabularPolicy.start("conversation"), 1.0, rng_of(config(), 1, 1))
        met += [c.start for c in rollout_groups(course, speaker, 1, groups)[::8]]
    assert len({start.key for start in met if start}) == len(met) == 5


@pytest.mark.slow
def test_a_run_records_the_turns_before_its_start(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, replace(config(steps=10)))
    before = [row["curriculum/replies_before"] for row in rows]
    assert before[0] > 3
    assert before[8:] == [0, 0]
    assert rows[0]["emotion/start"] > rows[9]["emotion/start"] == 40
    table = pq.read_table(tmp_path / "conversations" / "step-00001.parquet").to_pylist()
    first = [t for t in table if (t["group"], t["sample"]) == (0, 0)]
    spoke = [(t["turn"], t["speaker"]) for t in first]
    start = spoke[0][0]
    earlier = [
        (n + late, who) for n in range(start, 0) for late, who in ((0, "user"), (1, "reference"))
    ]
    assert spoke[: len(earlier) + 2] == [*earlier, (0, "user"), (1, "policy")]
    assert {t["advantage"] for t in first if t["speaker"] == "reference"} == {None}


def test_a_served_user_cannot_be_taken_up_in_the_middle() -> None:
    served = SimulatorConfig(name="served", kind="served", base_url="http://h/v1", model="m")
    with pytest.raises(ConfigError, match=r"curriculum=reverse must have simulator=scripted"):
        replace(config(), simulator=served)


def test_a_language_model_reads_what_was_said_and_learns_only_its_own(
    course: curriculum.CurriculumState,
) -> None:
    from harness.policy import tiny
    from harness.policy.chat import chat_of
    from harness.train.engines.engine import TransformersEngine
    from harness.train.rollout.speaker import LanguageSpeaker

    tokenizer = tiny.build_tokenizer(["It is about my dog. I am sad."], 500)
    policy = PolicyConfig(hidden_size=16, layers=1, max_turn_tokens=6)
    model, chat = tiny.build_model(policy, tokenizer, 1), chat_of(tokenizer)
    speaker = LanguageSpeaker(
        TransformersEngine(model.eval()), chat, policy, np.random.default_rng(0)
    )
    conversations = rollout_groups(course, speaker, 1)
    for conversation, trajectory in zip(conversations, speaker.trajectories, strict=True):
        assert conversation.start is not None
        turns = [conversation.start.opening, *(e.answer for e in conversation.before)]
        messages = []
        for n, turn in enumerate(turns):
            messages.append({"role": "user", "content": turn.text})
            if n < len(conversation.before):
                reply = conversation.before[n].reply.text
                messages.append({"role": "assistant", "content": reply})
        whole = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        row = trajectory.row
        first = next(n for n, turn in enumerate(row.turn) if turn)
        assert tokenizer.decode(row.ids[:first]) == whole
        assert max(row.turn) == len(conversation.exchanges)
