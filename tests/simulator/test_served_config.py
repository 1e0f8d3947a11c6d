"""What may be said of an endpoint; a key is never repeated."""

from __future__ import annotations

import pytest

from harness.config import SimulatorConfig
from harness.errors import ConfigError

NO_URLS = (
    *("", "localhost:8000", "ftp://host/v1", "http://", "http://h:0/v1"),
    *("http://a..b/v1", "http://host\x01/v1", "http://h\ud800/v1"),
)


@pytest.mark.parametrize("url", NO_URLS, ids=repr)
def test_a_base_url_is_a_url(url):
    with pytest.raises(ConfigError, match=r"base_url must be http\(s\)://HOST"):
        SimulatorConfig(base_url=url)


@pytest.mark.parametrize("key", ["sk-abc123", "gsk_abc123", "A KEY", "A" * 65])
def test_a_key_where_a_name_belongs_is_refused_and_not_repeated(key):
    with pytest.raises(ConfigError, match="name of an environment variable") as told:
        SimulatorConfig(api_key_env=key)
    assert key not in str(told.value)


def test_a_password_in_the_url_is_refused_and_not_repeated():
    with pytest.raises(ConfigError, match="must not hold a user or a password") as told:
        SimulatorConfig(base_url="https://me:geheim@host/v1")
    assert "geheim" not in str(told.value)


@pytest.mark.parametrize(
    "given", [{"model": " "}, {"retries": -1}, {"deadline_s": 0.0}, {"requests_per_minute": 0.0}]
)
def test_each_key_has_its_range(given):
    with pytest.raises(ConfigError, match=rf"simulator\.{next(iter(given))}"):
        SimulatorConfig(**given)
