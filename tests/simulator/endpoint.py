"""A real HTTP server that plays a user, and misbehaves where its script says so.

python -m tests.simulator.endpoint DELAY_S [LATE_S]    prints its URL and serves until it is killed

With LATE_S the user who was asked for first takes so much longer for each answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from harness.testing.simulator_contract import REPLIES

Body = dict[str, Any]
Script = Callable[[int, Body], bytes | str | None]
"""(number of the request, its body) -> None to answer well; else bytes for the wire, or one of
HANG, DRIP."""
HANG, DRIP = "hang", "drip"
FIRST_FACT = re.compile(r"^- (.+)$", re.MULTILINE)


def response(body: bytes | str, status: str = "200 OK", **headers: str) -> bytes:
    """A whole HTTP response; `retry_after="1"` is the header Retry-After."""
    data = body.encode() if isinstance(body, str) else body
    fields = {"Content-Type": "application/json", "Content-Length": str(len(data))}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + data


def completion(content: str | None, finish: str = "stop", **origin: str) -> bytes:
    """A chat completion of `content`; `origin`: model, system_fingerprint."""
    choice = {"index": 0, "finish_reason": finish,
              "message": {"role": "assistant", "content": content}}  # fmt: skip
    usage = {"prompt_tokens": 80, "completion_tokens": 20, "total_tokens": 100}
    body = {"object": "chat.completion", "choices": [choice], "usage": usage, **origin}
    return response(json.dumps(body))


def purpose(body: Body) -> str:
    return str(body["response_format"]["json_schema"]["name"])


def level(body: Body) -> str:
    """Return the shipped level whose user the request appraises for, by what lifts their mood."""
    system = str(body["messages"][0]["content"])
    if "Any warm, friendly message lifts" in system:
        return "easy"
    return "hard" if "Only a message that gives" in system else "medium"


def data(body: Body) -> dict[str, Any]:
    """Return what the request says of the conversation."""
    content: dict[str, Any] = json.loads(body["messages"][1]["content"])
    return content


def play(body: Body) -> str:
    """Return a well-behaved model's answer: only sentences of REPLIES help, and mostly."""
    seed = body["seed"]
    if purpose(body) == "appraise":
        changes = body["response_format"]["json_schema"]["schema"]["properties"]["change"]["enum"]
        helps = data(body)["latest_message"] in REPLIES and seed % 4
        fit = "fully" if helps else "against"
        change = changes[-1 - seed % 2] if helps else changes[seed % 2]
        return json.dumps({"reason": "So it felt.", "target_fit": fit, "change": change})
    if purpose(body) == "schema":
        return "banana"
    if purpose(body) == "open":
        return json.dumps({"say": f"{_first_fact(body)} That was {seed % 1000} days ago."})
    return json.dumps({"say": f"I keep thinking of it, {seed % 1000} times a day."})


def _first_fact(body: Body) -> str:
    """Return the first fact of one of our own people, or of a profile."""
    match = FIRST_FACT.search(body["messages"][0]["content"])
    return match[1] if match else str(data(body)["person"]["facts"][0])


@dataclass
class Endpoint:
    """The server as a test sees it."""

    url: str = ""
    script: Script = lambda number, body: None
    delay_s: float = 0.0
    late_s: float = 0.0
    late: str | None = None
    """The first fact of the user who is late; of whoever is asked for first."""
    bodies: list[Body] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, request after request."""
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._one(reader, writer):
                    pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; whether the connection can go on after it."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        body = json.loads(await reader.readexactly(int(headers.get("content-length", 0))))
        number = len(self.bodies)
        self.bodies.append(body)
        self.headers.append(headers)
        await asyncio.sleep(self.delay_s + self._late_s(body))
        wire = self.script(number, body)
        await self._write(writer, completion(play(body)) if wire is None else wire)
        return wire is None or _whole(wire)

    def _late_s(self, body: Body) -> float:
        if not self.late_s or purpose(body) == "schema":
            return 0.0
        self.late = self.late or _first_fact(body)
        return self.late_s if _first_fact(body) == self.late else 0.0

    async def _write(self, writer: asyncio.StreamWriter, wire: bytes | str) -> None:
        if wire == HANG:
            await asyncio.sleep(30)
        elif wire == DRIP:
            for byte in completion("x" * 4000):
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.02)
        else:
            assert isinstance(wire, bytes)
            writer.write(wire)
            await writer.drain()


def _whole(wire: bytes | str) -> bool:
    """Whether the connection can go on after it."""
    if isinstance(wire, str) or b"Content-Length: " not in wire:
        return False
    head, body = wire.split(b"\r\n\r\n", 1)
    return len(body) == int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0])


@contextlib.contextmanager
def serving(
    script: Script = lambda number, body: None, delay_s: float = 0.0, late_s: float = 0.0
) -> Iterator[Endpoint]:
    """An endpoint on a port of its own, in a thread of its own, until the block ends."""
    endpoint = Endpoint(script=script, delay_s=delay_s, late_s=late_s)
    loop, up = asyncio.new_event_loop(), []

    async def start() -> None:
        server = await asyncio.start_server(endpoint.serve, "127.0.0.1", 0, backlog=256)
        endpoint.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        up.append(server)

    loop.run_until_complete(start())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield endpoint
    finally:
        asyncio.run_coroutine_threadsafe(_stop(up[0]), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _stop(server: asyncio.Server) -> None:
    server.close()
    mine = asyncio.current_task()
    others = [task for task in asyncio.all_tasks() if task is not mine]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.sleep(0.01)  # for connections to be taken down


if __name__ == "__main__":
    with serving(
        delay_s=float(sys.argv[1]), late_s=float(sys.argv[2] if len(sys.argv) > 2 else 0)
    ) as running:
        print(running.url, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
