"""The probe-simulator command: one conversation with a served user, and a test of its endpoint."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from harness.cli import untrained
from harness.compose import typed_grants
from harness.config.run import RunConfig
from harness.errors import ConfigError, EndpointError
from harness.execution import preflight
from harness.simulator.draws import uniforms
from harness.simulator.protocol import ConversationKey, SupporterReply, UserTurn
from harness.simulator.reference import attentive
from harness.simulator.served.client import client_for
from harness.simulator.served.simulator import ServedSimulator, check_endpoint, enforces_schema
from harness.trust import permission
from harness.utils import safe_text
from harness.utils.safe_text import escape

BOUND = "the endpoint enforces the JSON schema during generation"
UNBOUND = (
    "the endpoint does not enforce the JSON schema: answers are checked, and requested again if "
    "invalid; expect faults of the types malformed and out_of_range"
)


def probe(overrides: Sequence[str]) -> int:
    """Print one conversation with the user that the words choose: 0, or 69 if it was lost.

    Raises ConfigError for a sweep and for a key that changes no user, EndpointError if the endpoint
    does not answer.
    """
    config = _config(overrides)
    grants = preflight.check_users(config, typed_grants.grants(overrides))
    preflight.tell(grants)
    with permission.temporarily_granted(grants):
        return _probe(config)


def _probe(config: RunConfig) -> int:
    client = client_for(config.simulator)
    safe_text.say(
        f"connecting to {config.simulator.base_url}, up to {config.simulator.retries + 1} attempts"
    )
    try:
        check_endpoint(client)
        print(escape(f"{config.simulator.base_url}: answers as {config.simulator.model}"))
        print(BOUND if enforces_schema(client) else UNBOUND)
        client.take_usage()
        is_lost = False
        for text, turn in _conversation(ServedSimulator(config.difficulty, client), config.seed):
            print(escape(text), flush=True)
            is_lost = turn.ended == "failed"
        print(", ".join(f"{name} {value}" for name, value in client.take_usage().to_json().items()))
        return EndpointError.exit_code if is_lost else 0
    finally:
        client.close()


def _config(overrides: Sequence[str]) -> RunConfig:
    """Return the config with the served simulator, unless the words choose another option of it."""
    chosen = any(word.lstrip("+").startswith("simulator=") for word in overrides)
    words = overrides if chosen else ["simulator=served", *overrides]
    config = untrained.one_user(words, "probe-simulator")
    if config.simulator.kind != "served":
        raise ConfigError(
            f"simulator.kind: probe-simulator needs served, got {config.simulator.kind}"
        )
    return config


def _conversation(users: ServedSimulator, seed: int) -> Iterator[tuple[str, UserTurn]]:
    """Yield each turn and its line. The supporter is the attentive reference."""
    began = time.monotonic()
    (turn,) = users.open([ConversationKey(seed, 1, 0, 0)])
    user_texts, replies = [turn.text], list[str]()
    yield _line(turn, time.monotonic() - began), turn
    while turn.ended is None:
        replies.append(attentive(user_texts, replies, uniforms("probe", seed, len(replies))))
        yield f"supporter                   {replies[-1]}", turn
        began = time.monotonic()
        (turn,) = users.answer([turn], [SupporterReply(replies[-1])])
        user_texts.append(turn.text)
        yield _line(turn, time.monotonic() - began), turn


def _line(turn: UserTurn, seconds: float) -> str:
    """`user  45  +5    1.02 s  I think that helps a little.`"""
    change = "" if turn.change is None else f"{turn.change:+d}"
    text = turn.text if turn.ended is None else f"(ended: {turn.why.get('fault', turn.ended)})"
    return f"user  {turn.emotion:3}  {change:>3}  {seconds:7.2f} s  {text}"
