"""Which engine draws a language model's turns, and what is said where it cannot."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from harness.config import engine_choice
from harness.config.run import PolicyConfig, RunConfig, TrainerConfig
from harness.errors import ConfigError, DeviceError
from harness.testing.commands import here

HF = PolicyConfig(name="hf", kind="hf", init="random")


def run(policy: PolicyConfig = HF, **trainer: Any) -> RunConfig:
    return RunConfig(policy=policy, trainer=TrainerConfig(**trainer))


@pytest.mark.parametrize(
    ("version", "gpus", "policy", "chosen"),
    [
        ("0.31.0+cpu", 1, HF, "vllm_colocate"),
        ("0.25.1", 1, HF, "vllm_colocate"),
        ("0.33.0", 1, HF, "transformers"),
        (None, 1, HF, "transformers"),
        ("0.31.0", 0, HF, "transformers"),
        ("0.31.0", 1, PolicyConfig(), "transformers"),
    ],
)
def test_auto_is_vllm_for_a_model_on_a_gpu_where_it_is_installed(
    version: str | None,
    gpus: int,
    policy: PolicyConfig,
    chosen: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine_choice, "installed_vllm", lambda: version)
    assert engine_choice.engine_of(run(policy, gpus=gpus)) == chosen
    engine_choice.check(run(policy, gpus=gpus))
    assert engine_choice.engine_of(run(policy, gpus=gpus, engine="transformers")) == "transformers"


def test_a_vllm_that_auto_passes_over_is_told_at_planning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, however many runs there are."""
    monkeypatch.setattr(engine_choice, "installed_vllm", lambda: "0.33.1")
    words = ["policy=hf", "policy.init=random", "seed=1,2", "--dry-run"]
    done = here("sweep", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = (
        "harness: trainer.engine=auto: using transformers, which is slower, since TRL needs "
        "vllm<0.32,>=0.22 and 0.33.1 is installed"
    )
    assert done.stderr.splitlines().count(said) == 1
    assert engine_choice.rejected_vllm(run(gpus=1, engine="transformers")) is None
    assert engine_choice.rejected_vllm(run(gpus=0)) is None
    monkeypatch.setattr(engine_choice, "installed_vllm", lambda: "0.31.0")
    assert engine_choice.rejected_vllm(run(gpus=1)) is None


def test_what_of_vllm_was_not_tried_on_a_gpu_is_told_at_planning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_choice, "installed_vllm", lambda: "0.31.0")
    words = ["policy=hf", "policy.init=random", "trainer.gpus=1", "seed=1,2", "--dry-run"]
    done = here("sweep", *words, cwd=tmp_path)
    said = [line for line in done.stderr.splitlines() if "has been tried" in line]
    assert said == [
        "harness: trainer.engine=vllm_colocate: on a GPU vllm 0.22 has been tried, not 0.31.0, "
        "which may run its V2 model runner there; max_num_batched_tokens is vLLM's default, which "
        "leaves less of a small trainer.gpu_memory_share to the cache than TRL's 4096"
    ]
    assert engine_choice.untried_vllm(run(gpus=1, engine="transformers")) is None
    monkeypatch.setattr(engine_choice, "installed_vllm", lambda: "0.25.1")
    assert engine_choice.untried_vllm(run(gpus=1)) is None


def test_vllm_without_a_gpu_is_a_device_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_choice, "installed_vllm", lambda: "0.31.0")
    for engine, url in (("vllm_colocate", ""), ("vllm_server", "http://localhost:8000")):
        with pytest.raises(DeviceError, match=f"{engine} needs a GPU, trainer.gpus=1, got"):
            engine_choice.check(run(engine=engine, engine_url=url))


@pytest.mark.parametrize("version", ["0.33.0", "0.20.2"])
def test_a_vllm_that_trl_does_not_take_is_refused(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_choice, "installed_vllm", lambda: version)
    with pytest.raises(ConfigError, match=rf"needs vllm<0.32,>=0.22, got {version}: pip install"):
        engine_choice.check(run(engine="vllm_colocate", gpus=1))


def test_the_extra_and_the_check_name_one_version_range() -> None:
    """The extra and the check name one range."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["optional-dependencies"]["vllm"] == ["vllm>=0.22,<0.32"]
    assert str(engine_choice.VLLM) == "<0.32,>=0.22"


@pytest.mark.parametrize(
    ("engine", "url"),
    [("vllm_server", ""), ("vllm_colocate", "http://h:1"), ("auto", "http://h:1")],
)
def test_an_address_goes_with_a_server_alone(engine: str, url: str) -> None:
    with pytest.raises(ConfigError, match=r"trainer.engine_url must be the address of the server"):
        TrainerConfig(engine=engine, engine_url=url)


@pytest.mark.parametrize(
    "url", ["localhost", "nonsense://x", "http://", "http://h:notaport", "http://local host:8000"]
)
def test_what_is_no_address_is_refused_before_anything_is_created(url: str) -> None:
    with pytest.raises(ConfigError) as refused:
        TrainerConfig(engine="vllm_server", engine_url=url)
    assert str(refused.value) == (
        f"trainer.engine_url must be http(s)://HOST[:PORT]/PATH, got {url!r}"
    )


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigError, match="must not hold a user or a password") as refused:
        TrainerConfig(engine="vllm_server", engine_url="http://me:hunter2@h:8000")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("engine", ["auto", "vllm_server"])
@pytest.mark.parametrize("url", [None, 5, [None]])
def test_what_is_neither_an_address_nor_a_list_is_refused_in_one_sentence(
    engine: str, url: object
) -> None:
    with pytest.raises(ConfigError) as raised:
        TrainerConfig(engine=engine, engine_url=url)
    assert str(raised.value) == (
        "trainer.engine_url must be http(s)://HOST[:PORT]/PATH or empty, or a list of such, "
        f"got {url!r}"
    )


def test_an_engine_is_no_part_of_a_policy_that_draws_no_tokens() -> None:
    tabular = PolicyConfig(kind="tabular", name="tabular")
    with pytest.raises(ConfigError, match=r"must be auto with policy.kind tabular, .* got transf"):
        run(tabular, engine="transformers")


@pytest.mark.skipif(engine_choice.installed_vllm() is not None, reason="vLLM is installed here")
def test_vllm_that_is_not_installed_is_told_in_one_line(tmp_path: Path) -> None:
    words = ["policy=hf", "policy.init=random", "trainer.gpus=0", "trainer.engine=vllm_colocate"]
    done = here("train", *words, "--dir", "run", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    message = (
        "harness: trainer.engine: vllm_colocate needs vllm<0.32,>=0.22, got none: pip install "
    )
    assert done.stderr.startswith(message)
    assert done.stderr.endswith("[vllm]', or choose trainer.engine=transformers\n")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()
