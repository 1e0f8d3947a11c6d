"""The allowed keys of an endpoint's config; a secret is never repeated."""

from __future__ import annotations

from typing import Any

import pytest

from harness.config.run import SimulatorConfig
from harness.errors import ConfigError

NO_URLS = (
    *("", "localhost:8000", "ftp://host/v1", "http://", "http://h:0/v1"),
    *("http://a..b/v1", "http://host\x01/v1", "http://h\ud800/v1"),
)


@pytest.mark.parametrize("url", NO_URLS, ids=repr)
def test_a_base_url_is_a_url(url: str) -> None:
    with pytest.raises(ConfigError, match=r"base_url must be http\(s\)://HOST"):
        SimulatorConfig(base_url=url)


@pytest.mark.parametrize("key", ["sk-abc123", "gsk_abc123", "A KEY", "A" * 65])
def test_a_key_where_a_name_belongs_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(ConfigError, match="name of an environment variable") as refused:
        SimulatorConfig(api_key_env=key)
    assert key not in str(refused.value)


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "OPENROUTER_API_KEY",
        "TOGETHER_API_KEY",
        "AZURE_OPENAI_API_KEY",
        *("HF_TOKEN", "API_KEY", "MY_KEY", "SIM_KEY"),
    ],
)
def test_a_variable_that_holds_a_services_key_is_taken(name: str) -> None:
    grant = SimulatorConfig(kind="served", api_key_env=name).required_grant
    assert grant is not None
    assert grant.variable == name


@pytest.mark.parametrize(
    "name",
    [
        *("HOME", "OPENAI_API_KEY_FILE", "AKIAIOSFODNN7EXAMPLE"),
        *("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY", "GITHUB_TOKEN", "GH_TOKEN", "CI_JOB_TOKEN"),
        *("WANDB_API_KEY", "SSH_KEY", "DJANGO_SECRET_KEY", "TLS_PRIVATE_KEY", "AZURE_STORAGE_KEY"),
    ],
)
def test_a_variable_that_may_hold_something_else_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=r"simulator\.api_key_env must (not )?be") as refused:
        SimulatorConfig(kind="served", api_key_env=name)
    assert "AKIA" not in str(refused.value)  # it may be the key itself


def test_a_password_in_the_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigError, match="must not hold a user or a password") as refused:
        SimulatorConfig(base_url="https://me:geheim@host/v1")
    assert "geheim" not in str(refused.value)


@pytest.mark.parametrize(
    "values", [{"model": " "}, {"retries": -1}, {"deadline_s": 0.0}, {"requests_per_minute": 0.0}]
)
def test_each_key_has_its_range(values: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=rf"simulator\.{next(iter(values))}"):
        SimulatorConfig(**values)
