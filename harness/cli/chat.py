"""The chat command: a person plays the supporter of one user, one reply a line."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from rich.console import Console

from harness.cli import chat_view, untrained
from harness.compose import typed_grants
from harness.config.run import RunConfig
from harness.errors import EXIT_INTERRUPTED_TWICE, EndpointError
from harness.execution import preflight
from harness.simulator.factory import make
from harness.simulator.protocol import ConversationKey, SupporterReply, UserSimulator, UserTurn
from harness.trust import permission

PROMPT = "you".ljust(chat_view.LABEL_WIDTH)
FIRST_STEP = 1


@dataclass(frozen=True)
class ChatExchange:
    """A reply to the user, and their answer to it."""

    reply: str | None
    """None before the opening."""
    turn: UserTurn


def chat(overrides: Sequence[str], *, reveal: bool, as_json: bool) -> int:
    """Hold the conversation and return the exit code: 0, also at the end of the input; 69 if the
    user could not be asked; 130 if interrupted.

    Raises ConfigError for a sweep, for a key that changes no user, and where a served user lacks
    something.
    """
    config = untrained.one_user(overrides, "chat")
    grants = preflight.check_users(config, typed_grants.grants(overrides))
    preflight.tell(grants)
    with permission.temporarily_granted(grants):
        return _chat(config, reveal, as_json)


def _chat(config: RunConfig, reveal: bool, as_json: bool) -> int:
    stream = sys.stderr if as_json else sys.stdout
    output = chat_view.console(stream)
    simulator = make(config.simulator, config.difficulty)
    exchanges: list[ChatExchange] = []
    code = 0
    try:
        for exchange in conversation(simulator, _key(config), _lines(stream, output)):
            traits = chat_view.hidden_traits(exchange.turn) if reveal else None
            if not exchanges:
                chat_view.show_start(_heading(config), traits, output)
            exchanges.append(exchange)
            chat_view.show_turn(exchange.turn, traits, output)
    except KeyboardInterrupt:
        if not exchanges:
            raise
        code = EXIT_INTERRUPTED_TWICE
    chat_view.show_end([exchange.turn for exchange in exchanges], output)
    if as_json:
        print(json.dumps(_to_json(config, exchanges), indent=1, allow_nan=False), flush=True)
    return EndpointError.exit_code if exchanges[-1].turn.ended == chat_view.FAILED else code


def conversation(
    simulator: UserSimulator, key: ConversationKey, replies: Iterator[str]
) -> Iterator[ChatExchange]:
    """Yield the opening, then the answer to each reply until the user ends it or no reply is left.

    The next reply is read only once the caller has taken the answer to the last one.
    """
    (turn,) = simulator.open([key])
    if getattr(turn.state, "fault", None) is not None:  # known by now; a reply would bring it out
        (turn,) = simulator.answer([turn], [SupporterReply("")])
    yield ChatExchange(None, turn)
    while turn.ended is None:
        reply = next(replies, None)
        if reply is None:
            return
        (turn,) = simulator.answer([turn], [SupporterReply(reply)])
        yield ChatExchange(reply, turn)


def _key(config: RunConfig) -> ConversationKey:
    """The user whom the first group of `harness train seed=N` meets."""
    return ConversationKey(config.seed, FIRST_STEP, 0, 0)


def _heading(config: RunConfig) -> str:
    level, kind = config.difficulty.name, config.simulator.kind
    return f"A {kind} user, difficulty {level}, seed {config.seed}."


def _lines(stream: TextIO, output: Console) -> Iterator[str]:
    """Yield replies as they are typed or piped in; the conversation is printed to `stream`."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # bytes that are no text are no bug of ours
    while sys.stdin is not None:  # as it is where the input is closed
        try:
            yield _read_typed(stream) if sys.stdin.isatty() else _read_piped(output)
        except EOFError:
            return


def _read_typed(stream: TextIO) -> str:
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - where it is there, arrow keys edit the line
    with contextlib.redirect_stdout(stream):  # which is where input() writes its prompt
        return input(PROMPT)


def _read_piped(output: Console) -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    reply = line.rstrip("\r\n")
    chat_view.show_reply(reply, output)
    return reply


def _to_json(config: RunConfig, exchanges: Sequence[ChatExchange]) -> dict[str, Any]:
    last = exchanges[-1].turn
    traits = chat_view.hidden_traits(last)
    return {
        "schema": 1,
        "difficulty": config.difficulty.name,
        "seed": config.seed,
        "simulator": config.simulator.kind,
        "intention": traits.intention,
        "temperament": traits.temperament,
        "path": traits.path,
        "ended": last.ended,
        "emotion": last.emotion,
        "turns": [_turn_to_json(exchange) for exchange in exchanges],
    }


def _turn_to_json(exchange: ChatExchange) -> dict[str, Any]:
    turn = exchange.turn
    return {
        "reply": exchange.reply,
        "user": turn.text,
        "emotion": turn.emotion,
        "change": turn.change,
        "reported_emotion": None if turn.ended == chat_view.FAILED else turn.reported_emotion,
        "strategies": list(turn.strategies),
        "flagged": turn.flagged,
        "trust": chat_view.hidden_traits(turn).trust,
        "why": dict(turn.why),
    }
