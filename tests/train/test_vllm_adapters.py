"""Runs that share a server's frozen base, each with adapters of its own.

The server is a process with transformers and peft that stands for vLLM (`lora_server.py`); a real
one, vLLM's CPU build, is in test_vllm_lora.py.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.config import engine_choice
from harness.config.run import PolicyConfig, RunConfig, TrainerConfig
from harness.errors import ConfigError, StoppedError
from harness.execution import engine_places, gpu_lease, run_lease
from harness.records.run_folder import RunFolder
from harness.train.engines import vllm_address
from harness.train.engines.engine import Engine, TransformersEngine
from harness.train.engines.vllm_adapters import AdapterEngine
from harness.train.loop import start as starts
from tests.train.adapter_server import GAP, Server, adapted, config, models, serving, with_a_model
from tests.train.engine_contract import EngineContract
from tests.train.made import finish, killed_after, make_run, start, status
from tests.train.made_hugging_face import SMALL


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_a_model(tmp_path_factory.mktemp("base") / "model", 1)


@pytest.fixture(scope="module")
def server(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(base, tmp_path_factory.mktemp("server")) as one:
        yield one


@pytest.fixture(autouse=True)
def own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "locks").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "locks"))
    monkeypatch.setattr(gpu_lease, "POLL_S", 0.01)


class TestTransformers(EngineContract):
    @pytest.fixture
    def model(self, base: Path) -> Any:
        return models(base).learner

    @pytest.fixture
    def engine(self, model: Any) -> Engine:
        return TransformersEngine(model)


class TestAdapted(EngineContract):
    @pytest.fixture
    def loaded(self, base: Path) -> starts.StartModels:
        return models(base)

    @pytest.fixture
    def model(self, loaded: starts.StartModels) -> Any:
        return loaded.learner

    @pytest.fixture
    def engine(
        self, base: Path, loaded: starts.StartModels, server: Server, tmp_path: Path
    ) -> Iterator[Engine]:
        own = config(base, server.url)
        engine = AdapterEngine(loaded.learner, own, loaded.chat, tmp_path / "adapters", pytest.fail)
        yield engine
        engine.close()


class TestAdaptedBesideAnother(TestAdapted):
    """The same at a server at which another run's adapters are loaded and drawn with meanwhile."""

    @pytest.fixture(autouse=True)
    def other(self, base: Path, server: Server, tmp_path: Path) -> Iterator[None]:
        engine = adapted(base, server, tmp_path / "other")
        self.change(engine._model)
        with engine.awake():
            self.spoken(engine)
            yield
            self.spoken(engine)
        engine.close()
        assert vllm_address.names(server.url) == ["base"]


def test_a_runs_last_adapters_are_dropped_once_the_next_are_loaded(
    base: Path, server: Server, tmp_path: Path
) -> None:
    before = len(server.told())
    engine = adapted(base, server, tmp_path / "adapters")
    for _ in range(2):
        with engine.awake():
            (kept,) = (tmp_path / "adapters").iterdir()
            assert vllm_address.names(server.url) == ["base", kept.name]
            assert (kept / "adapter_model.safetensors").is_file()
    engine.close()
    assert [(one["what"], len(one["loaded"])) for one in server.told()[before:]] == [
        ("loaded", 1), ("loaded", 2), ("dropped", 1), ("dropped", 0),
    ]  # fmt: skip
    assert not (tmp_path / "adapters").exists()


def test_what_a_killed_attempt_left_is_dropped_and_its_names_are_not_used_again(
    base: Path, server: Server, tmp_path: Path
) -> None:
    other, killed = (adapted(base, server, tmp_path / name) for name in ("other", "run"))
    with other.awake(), killed.awake():
        _, of_other, left = vllm_address.names(server.url)
    again = adapted(base, server, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert vllm_address.names(server.url) == ["base", of_other]
    with again.awake():
        assert left not in vllm_address.names(server.url)
    again.close()
    assert vllm_address.names(server.url) == ["base", of_other]
    other.close()


def test_a_rank_above_the_servers_is_refused(base: Path, server: Server, tmp_path: Path) -> None:
    own = config(base, server.url, rank=32)
    loaded = starts.load(own, "cpu")
    engine = AdapterEngine(loaded.learner, own, loaded.chat, tmp_path / "adapters", pytest.fail)
    with pytest.raises(ConfigError) as refused, engine.awake():
        pass
    assert str(refused.value).startswith(
        f"trainer.engine_url: {server.url} must load adapters of policy.lora_rank=32 from "
        f"{tmp_path}/adapters/harness-"
    )
    assert str(refused.value).endswith("got: LoRA rank 32 is greater than max_lora_rank 16.")


def test_another_base_is_refused(server: Server, tmp_path: Path) -> None:
    other = with_a_model(tmp_path / "model", 2)
    with pytest.raises(ConfigError) as refused:
        adapted(other, server, tmp_path / "adapters")
    assert str(refused.value).startswith(
        f"trainer.engine_url: {server.url} must serve the policy's own base (with --dtype float32 "
        "and --logprobs-mode processed_logprobs), within 0.02 nats a token, got base, whose "
        "log-probabilities are "
    )


@pytest.mark.parametrize(
    ("policy", "given"),
    [(replace(SMALL, lora_rank=0), "policy.kind=hf with policy.lora_rank=0"),
     (PolicyConfig(), "policy.kind=tiny with policy.lora_rank=0")],
)  # fmt: skip
def test_a_run_that_trains_no_adapters_is_refused(policy: PolicyConfig, given: str) -> None:
    trainer = TrainerConfig(engine="vllm_adapters", engine_url="http://localhost:1")
    with pytest.raises(ConfigError) as refused:
        RunConfig(policy=policy, trainer=trainer)
    assert str(refused.value) == (
        "trainer.engine=vllm_adapters is for training LoRA adapters, policy.kind=hf with "
        f"policy.lora_rank above 0, got {given}; vllm_server takes all weights"
    )


def test_a_run_that_overwrites_weights_is_refused_at_a_server_for_adapters(
    base: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_choice, "installed_vllm", lambda: "0.31.0")
    vllm_address.check(config(base, server.url))
    with pytest.raises(ConfigError) as refused:
        vllm_address.check(config(base, server.url, engine="vllm_server", gpus=1))
    assert str(refused.value) == (
        f"trainer.engine_url: {server.url} must be a server without adapters for "
        "trainer.engine=vllm_server, which overwrites its weights, got one whose base other runs "
        "may share; choose trainer.engine=vllm_adapters"
    )


def test_as_many_runs_share_a_server_as_it_draws_adapters_of_and_none_that_writes(
    base: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    sharing = config(base, server.url)
    assert engine_places.shared(sharing) == {server.url: 2}
    assert engine_places.in_all([sharing] * 5) == 2
    first, second = run_lease.take(sharing), run_lease.take(sharing)
    assert first.engine.url == second.engine.url == server.url
    told: list[str] = []
    for other in (sharing, config(base, server.url, engine="vllm_server")):
        with pytest.raises(StoppedError, match="stopped while waiting for a free vLLM server"):
            run_lease.take(other, iter([False, False, True]).__next__, told.append)
    assert told == [
        f"waits for a vLLM server that has place for one more run: {server.url}",
        f"waits for a vLLM server that no other run has: {server.url}",
    ]
    run_lease.release(first)
    third = run_lease.take(sharing)
    for lease in (second, third):
        run_lease.release(lease)
    writer = run_lease.take(config(base, server.url, engine="vllm_server"))
    with pytest.raises(StoppedError):
        run_lease.take(sharing, iter([False, True]).__next__)
    run_lease.release(writer)


@pytest.mark.slow
def test_a_server_that_takes_no_adapters_is_refused(base: Path, tmp_path: Path) -> None:
    with serving(base, tmp_path, "--max-loras", "0") as server:
        assert vllm_address.places(server.url) == 0
        run = make_run(tmp_path / "run", config(base, server.url))
        code, _, err = finish(run)
    assert code == 2
    assert (
        f"trainer.engine_url: {server.url} must load adapters while it runs, as "
        "`VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 vllm serve MODEL --enable-lora "
    ) in err
    assert err.count("\n") == 1


@pytest.mark.slow
def test_a_server_that_is_restarted_is_given_the_adapters_again(base: Path, tmp_path: Path) -> None:
    contract = EngineContract()
    with serving(base, tmp_path) as server:
        engine = adapted(base, server, tmp_path / "adapters")
        with engine.awake():
            before = contract.spoken(engine)
            sampler = engine.sampler(1, 3, 1.3)
            server.end()
            with pytest.raises(StoppedError, match=r"must answer as `vllm serve` does, got: "):
                sampler.speak([0], [[5]], torch.zeros((1, 2), dtype=torch.float64))
            server.begin()
            after = contract.spoken(engine)
        engine.close()
    assert before == after
    assert [one["what"] for one in server.told()] == ["loaded", "loaded", "dropped"]


@pytest.mark.slow
def test_turns_that_a_restart_lost_are_drawn_again_together(base: Path, tmp_path: Path) -> None:
    with serving(base, tmp_path) as server:
        engine = adapted(base, server, tmp_path / "adapters")
        with engine.awake():
            server.end()
            uniforms = torch.zeros((1, 2), dtype=torch.float64)
            first, second = (
                engine.sampler(1, 3, 1.3).begin_turn([0], [[word]], uniforms) for word in (5, 6)
            )
            time.sleep(1.0)  # until both have failed
            server.begin()
            assert len(first()) == 1
            time.sleep(2.0)  # until the second has been drawn beside the first
            server.end()
            assert len(second()) == 1, "it was drawn before it was asked for"
            server.begin()
        engine.close()


@pytest.mark.slow
def test_two_runs_at_once_on_one_server_have_the_rows_of_each_alone(
    base: Path, server: Server, tmp_path: Path
) -> None:
    def run_of(name: str, seed: int) -> RunFolder:
        return make_run(tmp_path / name, config(base, server.url, seed=seed, steps=2))

    alone = [run_of(f"alone{seed}", seed) for seed in (1, 2)]
    for run in alone:
        code, _, err = finish(run)
        assert code == 0, err
    before = len(server.told())
    both = [run_of(f"both{seed}", seed) for seed in (1, 2)]
    children = [start(run) for run in both]
    for child in children:
        _, err = child.communicate(timeout=300)
        assert child.returncode == 0, err
    assert any(len(one["loaded"]) >= 2 for one in server.told()[before:]), "they met"
    for run, other in zip(both, alone, strict=True):
        assert run.metrics.read_bytes() == other.metrics.read_bytes()
        gaps = [json.loads(line)[f"{GAP}/max"] for line in run.metrics.read_text().splitlines()]
        assert max(gaps) < 1e-4
        assert status(run)["measurement"]["engine"] == "vllm_adapters"
    assert both[0].metrics.read_bytes() != both[1].metrics.read_bytes()
    assert vllm_address.names(server.url) == ["base"]


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_rows(base: Path, server: Server, tmp_path: Path) -> None:
    whole, killed = (
        make_run(tmp_path / name, config(base, server.url, steps=3)) for name in ("whole", "killed")
    )
    assert finish(whole)[0] == 0
    killed_after(killed, 1)
    assert len(vllm_address.names(server.url)) == 2
    code, events, err = finish(killed)
    assert (code, events[0]["event"]) == (0, "resume"), err
    assert killed.metrics.read_bytes() == whole.metrics.read_bytes()
    assert vllm_address.names(server.url) == ["base"]
