"""An endpoint that echoes the key: it stands in no message, in no answer, in no file."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from harness.errors import ConfigError, EndpointError
from harness.simulator.served.completions import redactor
from harness.simulator.served.endpoint import is_local
from harness.simulator.served.simulator import check_endpoint
from harness.testing.simulator_contract import converse, key
from tests.simulator.endpoint import Body, completion, purpose, response, serving
from tests.simulator.served import connected, users

KEY = "sk-GEHEIM/0123456789"
SPELT = "".join(f"\\u{ord(c):04x}" for c in KEY)


def fit(text: str) -> bytes:
    return completion(json.dumps({"reason": "r", "target_fit": text, "change": 5}))


ECHOES = {
    "an error": response(f"who is {KEY}?", "401 Unauthorized"),
    "an error, cut inside of it": response(" " * 1_990 + KEY, "401 Unauthorized"),
    "an error with NUL in it": response(f"who is {KEY[:9]}\0{KEY[9:]}?", "401 Unauthorized"),
    "an error of 200 kB": response(KEY * 10_000, "401 Unauthorized"),
    "an error within a 200": response(json.dumps({"error": f"who is {KEY}?"})),
    "a body cut at 60": response(b" " * 50 + KEY.encode()),
    "a header": b"HTTP/1.1 200 OK\r\nBad Header " + KEY.encode() + b"\r\n\r\n",
    "content": completion(f"who is {KEY}?"),
    "content in JSON's escapes": completion(f'who is "{SPELT}"?'),
    "another content": response(json.dumps({"choices": [{"message": {"content": [KEY]}}]})),
    "target_fit": fit(KEY),
    "target_fit with NUL in it": fit(f"{KEY[:9]}\0{KEY[9:]}"),
    "target_fit by escapes": completion(f'{{"reason": "r", "target_fit": "{SPELT}", "change": 5}}'),
}


@pytest.mark.parametrize("name", ECHOES)
def test_an_echoed_key_is_in_no_message(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    with (
        serving(lambda n, b: ECHOES[name]) as endpoint,
        connected(endpoint.url, api_key_env="A_KEY", retries=0) as line,
        pytest.raises((EndpointError, ConfigError), match=r", got \w+: ") as refused,
    ):
        check_endpoint(line)
    assert not any(part in str(refused.value) for part in ("GEHEIM", "0123456789", SPELT[:12]))
    assert "KEY" in str(refused.value) or name in ("a header", "an error of 200 kB")


UNAUTHORIZED, FORBIDDEN = response("who?", "401 Unauthorized"), response("no", "403 Forbidden")


@pytest.mark.parametrize("wire", [UNAUTHORIZED, FORBIDDEN], ids=["401", "403"])
@pytest.mark.parametrize("variable", ["A_KEY", ""])
def test_a_refused_key_is_the_users_to_mend(
    wire: bytes, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    with (
        serving(lambda n, b: wire) as endpoint,
        connected(endpoint.url, api_key_env=variable, retries=5) as line,
        pytest.raises(ConfigError) as refused,
    ):
        check_endpoint(line)
    status = "401 who?" if wire == UNAUTHORIZED else "403 no"
    rule = (
        f"$A_KEY must hold a key that {endpoint.url} accepts"
        if variable
        else f"must name the variable of a key, since {endpoint.url} asks for one"
    )
    assert str(refused.value) == f"simulator.api_key_env: {rule}, got request: {status}"
    assert len(endpoint.bodies) == 1


def test_a_key_that_is_refused_later_ends_the_conversation_with_the_same_sentence() -> None:
    with (
        serving(lambda n, b: UNAUTHORIZED if n else None) as endpoint,
        connected(endpoint.url) as line,
        pytest.raises(ConfigError, match="must name the variable of a key"),
    ):
        converse(users(line), key())


def test_a_text_that_a_gateway_forbids_loses_its_conversation_alone() -> None:
    with (
        serving(lambda n, b: FORBIDDEN if purpose(b) == "appraise" else None) as endpoint,
        connected(endpoint.url) as line,
    ):
        turns = converse(users(line), key())
    assert (turns[-1].ended, turns[-1].why) == ("failed", {"fault": "request"})


def test_an_echoed_key_is_in_no_answer_and_no_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("A_KEY", KEY)

    def echo(number: int, body: Body) -> bytes:
        text = f'"I am {SPELT if number % 2 else KEY}."'
        content = f'{{"say": {text}, "reason": {text}, "target_fit": "fully", "change": 5}}'
        return completion(content, model=KEY, system_fingerprint=f"{KEY}-{purpose(body)}")

    with serving(echo) as endpoint, connected(endpoint.url, api_key_env="A_KEY") as line:
        line.keep_in(tmp_path)
        turns = converse(users(line), key())
    assert turns[-1].ended == "cap"
    assert turns[0].text == turns[1].text == turns[1].why["reason"] == "I am KEY."
    files = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert json.loads(files["answerer.json"])["model"] == "KEY"
    for text in (repr(turns), *files.values(), *capsys.readouterr()):
        assert "KEY" in text or not text
        assert not any(part in text for part in ("GEHEIM", SPELT[:12]))


def test_a_word_in_place_of_a_key_is_a_word_and_no_text_takes_long() -> None:
    assert redactor("EMPTY")("an EMPTY room") == "an EMPTY room"
    redact = redactor("s" * 20)
    for text in ("s" * 19 + " ", "s\\", "\\u0073", "\\n", "s ", "\0"):
        began = time.process_time()
        redact(text * (100_000 // len(text)))
        assert time.process_time() - began < 2


@pytest.mark.parametrize("letters", ["ntb", "%s%"])
def test_a_key_of_any_letters_is_found_however_it_is_escaped_and_in_time(letters: str) -> None:
    value = f"sk-a{letters}-0123456"
    redact = redactor(value)
    for spelt in (value, "\\".join(value), "\\n".join(value), "\n".join(value)):
        assert redact(f"who is {spelt}?") == "who is KEY?"
    for hostile in (value[:4] + r"\n\t\b\r" * 10_000, f"{value[:-1]} " * 5_000):
        began = time.process_time()
        assert redact(hostile) == hostile
        assert time.process_time() - began < 2


def test_no_other_credentials_of_the_environment_go_to_the_endpoint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"):
        monkeypatch.setenv(f"OPENAI_{name}", "another-service")
    custom = "X-Mine: another-service\nHost: another-service\nAuthorization: another-service"
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", custom)
    with serving() as endpoint, connected(endpoint.url, api_key_env="A_KEY") as line:
        check_endpoint(line)
    (sent,) = endpoint.headers
    host = endpoint.url.removeprefix("http://").removesuffix("/v1")
    expected = {"authorization": f"bearer {KEY}".lower(), "host": host, "user-agent": "harness"}
    assert expected.items() <= sent.items()
    assert set(sent) - set(expected) == {
        "accept", "accept-encoding", "content-type", "content-length"}  # fmt: skip
    assert "another-service" not in str(sent)


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "localhost", "LOCALHOST"])
def test_an_endpoint_on_this_machine_is_reached_by_no_proxy(
    monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    for name in ("HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving() as endpoint, connected(endpoint.url.replace("127.0.0.1", host)) as line:
        check_endpoint(line)


def test_every_name_of_this_machine_is_known_and_no_other() -> None:
    here = (
        "127.0.0.2",
        "127.255.0.1",
        "::1",
        "::",
        "::ffff:127.0.0.1",
        "a.localhost",
        "localhost.",
    )
    assert all(map(is_local, here))
    away = ("10.0.0.1", "8.8.8.8", "::ffff:8.8.8.8", "fe80::1%eth0", "localhost.example", "host")
    assert not any(map(is_local, away))
