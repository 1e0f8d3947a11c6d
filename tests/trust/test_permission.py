"""Grants of keys to hosts: as values, in the user's own file, and where they are used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.compose import typed_grants
from harness.config import grant
from harness.config.grant import Grant
from harness.config.run import SimulatorConfig
from harness.errors import ConfigError
from harness.simulator.served.endpoint import api_key
from harness.testing.commands import here
from harness.trust import confirmed, permission

OPENAI = Grant("api.openai.com", "OPENAI_API_KEY")


@pytest.fixture(autouse=True)
def _own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_CONFIG", str(tmp_path / "settings"))


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://api.openai.com/v1", "api.openai.com"),
        ("https://API.openai.com:443/v1", "api.openai.com"),
        ("http://api.openai.com/v1", "api.openai.com:80"),
        ("http://api.openai.com:443/v1", "api.openai.com:443"),
        ("https://h:8443", "h:8443"),
        ("http://[::1]:8000/v1", "[::1]:8000"),
    ],
)
def test_a_host_is_what_the_address_reaches(url: str, host: str) -> None:
    """A key confirmed for https is not sent in the clear because a file says http."""
    assert grant.to(url, "MY_KEY") == Grant(host, "MY_KEY")
    assert permission.parse_word(permission.to_word(Grant(host, "MY_KEY"))).host == host


@pytest.mark.parametrize(
    "host",
    ["", "https://h/v1", "h/v1", "H", "a..b", "h:0", "h:99999", "h\\x", "h%2e", "me@h", "h "],
)
def test_a_text_that_is_not_a_host_is_refused(host: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="HOST must be a host or host:port in small letters"):
        Grant(host, "MY_KEY")
    done = here("trust", host, "MY_KEY", cwd=tmp_path) if host else None
    assert done is None or done.returncode == 2
    assert not confirmed.file().exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("h",), "trust: HOST and VARIABLE must be given together, got HOST alone"),
        (("h", "HOME"), "VARIABLE must be the name of a variable that ends in _KEY or _TOKEN"),
        (
            ("h", "AWS_KEY"),
            "VARIABLE must not be a variable of another program, as AWS_ in its name",
        ),
        (
            ("h.org", "MY_KEY", "--remove"),
            "h.org MY_KEY must be confirmed before it can be revoked",
        ),
        (("--remove",), "trust: HOST and VARIABLE must be given together, got neither"),
        (("", "MY_KEY"), "HOST must be a host or host:port"),
        (("sk-proj-abcdef123456", "MY_KEY"), "HOST must be localhost, have a dot, or end in its"),
        (("me:canary@h.org", "MY_KEY"), "without a path, got 15 characters that are not"),
    ],
)
def test_what_cannot_be_trusted_is_one_line(
    words: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    done = here("trust", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert not confirmed.file().exists()


def test_what_is_confirmed_is_kept_by_host_and_taken_back() -> None:
    assert confirmed.read() == frozenset()
    for one in (OPENAI, Grant("h:8000", "MY_KEY"), Grant("h:8000", "A_TOKEN"), OPENAI):
        confirmed.add(one)
    hosts = {"api.openai.com": ["OPENAI_API_KEY"], "h:8000": ["A_TOKEN", "MY_KEY"]}
    assert json.loads(confirmed.file().read_text()) == {"schema": 1, "hosts": hosts}
    assert confirmed.file().stat().st_mode & 0o777 == 0o600
    assert confirmed.file().parent.stat().st_mode & 0o777 == 0o700
    confirmed.remove(OPENAI)
    assert confirmed.read() == {Grant("h:8000", "MY_KEY"), Grant("h:8000", "A_TOKEN")}


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": 2, "hosts": {}}', '{"schema": 1, "hosts": {"h": 5}}',
             '{"schema": 1, "hosts": {"h": ["HOME"]}}', "[" * 100_000]
)  # fmt: skip
def test_a_damaged_file_confirms_nothing_and_is_named(text: str) -> None:
    confirmed.file().parent.mkdir()
    confirmed.file().write_text(text)
    confirmed.file().chmod(0o600)
    confirmed.file().parent.chmod(0o700)
    with pytest.raises(ConfigError) as told:
        confirmed.read()
    assert str(told.value).startswith(f"{confirmed.file()}: ")


def test_a_folder_in_place_of_the_file_is_named() -> None:
    confirmed.file().mkdir(parents=True)
    rule = "must be a regular file of your own that nobody else can change, got something else"
    for use in (confirmed.read, lambda: confirmed.add(OPENAI)):
        with pytest.raises(ConfigError) as refused:
            use()
        assert str(refused.value).startswith(f"{confirmed.file()}: {rule}")


def test_the_settings_are_never_the_current_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_CONFIG", "settings")
    with pytest.raises(ConfigError, match="HARNESS_CONFIG must be an absolute path, got 'setti"):
        confirmed.read()
    monkeypatch.delenv("HARNESS_CONFIG")
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("XDG_CONFIG_HOME", "settings")
    assert confirmed.file() == Path("/home/me/.config/harness/trust.json")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/etc/mine")
    assert confirmed.file() == Path("/etc/mine/harness/trust.json")


def test_typed_words_grant_each_variable_for_each_address() -> None:
    url, key = "simulator.base_url=https://a/v1,'https://b:1/v1'", "simulator.api_key_env=A_KEY"
    assert typed_grants.grants(["seed=1", url, key]) == {Grant("a", "A_KEY"), Grant("b:1", "A_KEY")}
    assert typed_grants.grants([key]) == {Grant("127.0.0.1:8000", "A_KEY")}
    for words in ([], [url], [url, "~simulator.api_key_env"], [key, "simulator.base_url=${seed}"]):
        assert typed_grants.grants(words) == frozenset()


def test_a_key_is_not_read_without_a_grant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever makes an endpoint, and however it came to its config."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-geheim-0123")
    config = SimulatorConfig(
        kind="served", base_url="https://api.openai.com/v1", api_key_env="OPENAI_API_KEY"
    )
    with pytest.raises(ConfigError, match=r"`harness trust api\.openai\.com OPENAI_API_KEY`"):
        api_key(config)
    with permission.temporarily_granted([OPENAI]):
        assert api_key(config) == "sk-geheim-0123"
    with pytest.raises(ConfigError):
        api_key(config)
    confirmed.add(OPENAI)
    assert api_key(config) == "sk-geheim-0123"


def test_nothing_but_the_endpoint_reads_a_variable_that_a_config_names() -> None:
    package = Path(__file__).parents[2] / "harness"
    naming = [p for p in package.rglob("*.py") if "api_key_env" in p.read_text(encoding="utf-8")]
    reading = {p.name for p in naming if "os.environ" in p.read_text(encoding="utf-8")}
    assert reading == {"endpoint.py", "preflight.py"}  # preflight.py asks whether there is one
