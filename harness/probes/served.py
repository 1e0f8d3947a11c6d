"""Asking a probe's question of served users, whose every answer is paid for.

Answers are kept in a journal of the probe's own, so that one that was broken off, or is asked once
more, pays only for what is new; the run's journal is neither read nor written. Limits, retries and
outages are those of the run's `simulator` keys. As in an evaluation, a probe that lost many
conversations has no answer: its numbers would be those of the users who are left.
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
"""In the folder of the probe's answer."""
THE_STEP = 1
"""The journal is kept as of one step without a row: faults in it are asked again."""
Tell = Callable[[str], None]


@contextlib.contextmanager
def met(configs: Sequence[RunConfig], folder: Path, tell: Tell) -> Iterator[EndpointClient]:
    """Let the served users of `configs`, all of one endpoint, be met in the block.

    `folder`: where the journal is kept. `tell` is given sentences for people. Raises ConfigError
    for users who cannot be met and for a key that may not be sent or is refused, EndpointError if
    the endpoint does not answer, DataError for a damaged journal, StorageError.
    """
    sends = frozenset[Grant]().union(*map(preflight.check_users, configs))
    preflight.tell(sends)
    simulator = configs[0].simulator
    client = client_for(simulator)
    try:
        with permission.given(sends):
            with atomic.storage(folder):
                folder.mkdir(parents=True, exist_ok=True)
            client.keep_in(folder / JOURNAL)
            client.at_step(THE_STEP, binding=False)
            client.wait_out_outages(probe_request(), lambda news: tell(_words(simulator, news)))
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
    back = "answers again" if outage.answered else "was given up"
    return f"{simulator.base_url} {back} after {outage.seconds:.0f} s"


def most_requests(config: RunConfig, conversations: int) -> int:
    """Return the most requests that so many conversations of each level take, without retries.

    An opening and, for each reply, what it changes and what the user says; nobody speaks after the
    last reply, and openings of one user are asked for once.
    """
    levels = levels_of(config)
    return sum(conversations * 2 * levels.every[number].turn_cap for number in levels.met)


def refuse_lost(answers: Answers, url: str) -> int:
    """Return how many conversations were lost. Raises EndpointError for more than MOST_LOST of a
    level's.
    """
    lost_in_all = 0
    for (level, _), users in answers.items():
        held = [one for some in users.values() for one in some]
        lost = sum(one.conversation.last.ended == "failed" for one in held)
        lost_in_all += lost
        if lost > MOST_LOST * len(held):
            raise EndpointError(
                f"simulator.base_url: at most {MOST_LOST:.0%} of the {len(held)} conversations of "
                f"a level may be lost on {url}, {lost} at {level} were; what was answered is kept: "
                "the same command asks for the rest"
            )
    return lost_in_all


def cost(usage: Usage, lost: int) -> dict[str, Any]:
    """Return what a probe cost, as it is written; no price is known here, so it is in tokens."""
    return {**usage.to_json(), "lost_conversations": lost}


def cost_words(cost: Mapping[str, Any]) -> str:
    """Return what a probe cost, to be printed."""
    parts = [
        f"{cost['calls']:,} requests", f"{cost['tokens']:,} tokens",
        f"{cost['remembered']:,} answers from the journal",
    ]  # fmt: skip
    for what, key in (("asked again", "retries"), ("given up", "given_up")):
        if cost[key]:
            parts.append(f"{what}: {', '.join(f'{k} {n:,}' for k, n in cost[key].items())}")
    if cost["lost_conversations"]:
        parts.append(f"{cost['lost_conversations']:,} conversations lost")
    return f"cost: {', '.join(parts)}"
