"""Runs a probe with served users, whose every answer costs money.

Answers are kept in the probe's own journal, so that a probe that was interrupted or is repeated
pays only for what is new. The run's journal is neither read nor written. Limits, retries and
outages follow the run's `simulator` keys. As in an evaluation, a probe that lost many conversations
fails, because its numbers would describe only the remaining users.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.config.grant import Grant
from harness.config.run import RunConfig, SimulatorConfig
from harness.errors import EndpointError, HarnessError
from harness.execution import preflight
from harness.probes.quantity import Answers
from harness.records import atomic
from harness.simulator.served.client import EndpointClient, client_for
from harness.simulator.served.faults import Outage
from harness.simulator.served.simulator import check_endpoint, probe_request
from harness.simulator.served.usage import Usage
from harness.train.loop.served_users import MOST_LOST
from harness.train.metrics.held_out import levels_of
from harness.trust import permission

JOURNAL = "simulator"
"""Folder of the journal, in the folder of the probe's answer."""
THE_STEP = 1
"""The journal's only step. It has no row, so requests that failed are repeated."""
Tell = Callable[[str], None]


@contextlib.contextmanager
def open_clients(
    configs: Sequence[RunConfig], folder: Path, tell: Tell
) -> Iterator[EndpointClient]:
    """Return a context in which the served users of `configs`, all at one endpoint, can be used.

    The journal is kept in `folder`, and `tell` receives messages. Raises ConfigError for an invalid
    simulator and for a key that may not be sent or is refused, EndpointError if the endpoint does
    not answer, DataError for a damaged journal, and StorageError.
    """
    grants = frozenset[Grant]().union(*map(preflight.check_users, configs))
    preflight.tell(grants)
    simulator = configs[0].simulator
    client = client_for(simulator)
    try:
        with permission.temporarily_granted(grants):
            with atomic.storage_errors(folder):
                folder.mkdir(parents=True, exist_ok=True)
            client.keep_in(folder / JOURNAL)
            client.at_step(THE_STEP, binding=False)
            client.wait_out_outages(probe_request(), lambda outage: tell(_words(simulator, outage)))
            check_endpoint(client)
            yield client
    except HarnessError:
        usage = client.take_usage()
        if usage.calls:
            tell(f"asked before it ended: {usage.words()}")
        raise
    finally:
        client.close()


def _words(simulator: SimulatorConfig, outage: Outage) -> str:
    if outage.seconds is None:
        return f"{simulator.base_url} is away: {outage.fault}; waiting for it"
    outcome = "answers again" if outage.answered else "was given up"
    return f"{simulator.base_url} {outcome} after {outage.seconds:.0f} s"


def most_requests(config: RunConfig, conversations: int) -> int:
    """Return an upper bound on the requests for `conversations` per level, without retries.

    A conversation takes an opening and two requests per reply, but no message after the last reply.
    A user's opening is requested only once.
    """
    levels = levels_of(config)
    return sum(conversations * 2 * levels.every[number].turn_cap for number in levels.met)


def refuse_lost(answers: Answers, url: str) -> int:
    """Return the number of lost conversations.

    Raises EndpointError if more than the share MOST_LOST of a level's conversations were lost.
    """
    total = 0
    for (level, _), users in answers.items():
        conversations = [held_out for repeats in users.values() for held_out in repeats]
        lost = sum(held_out.conversation.last.ended == "failed" for held_out in conversations)
        total += lost
        if lost > MOST_LOST * len(conversations):
            raise EndpointError(
                f"simulator.base_url: at most {MOST_LOST:.0%} of the {len(conversations)} "
                f"conversations of a level may be lost on {url}, {lost} at {level} were; what was "
                "answered is kept: the same command asks for the rest"
            )
    return total


def cost(usage: Usage, lost: int) -> dict[str, Any]:
    """Return the cost of a probe as stored: in requests and tokens, because prices are unknown."""
    return {**usage.to_json(), "lost_conversations": lost}


def cost_words(cost: Mapping[str, Any]) -> str:
    """Return the cost of a probe as text to print."""
    parts = [
        f"{cost['calls']:,} requests", f"{cost['tokens']:,} tokens",
        f"{cost['remembered']:,} answers from the journal",
    ]  # fmt: skip
    for name, key in (("asked again", "retries"), ("given up", "given_up")):
        if cost[key]:
            parts.append(f"{name}: {', '.join(f'{k} {n:,}' for k, n in cost[key].items())}")
    if cost["lost_conversations"]:
        parts.append(f"{cost['lost_conversations']:,} conversations lost")
    return f"cost: {', '.join(parts)}"
