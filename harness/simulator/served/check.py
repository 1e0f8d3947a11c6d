"""Whether the endpoint is there and speaks as it must, asked before anything is built on it."""

from __future__ import annotations

import json

from harness.config.run import INTENTIONS, TEMPERAMENTS, DifficultyConfig
from harness.simulator.protocol import TRAIN, ConversationKey
from harness.simulator.served import answers, prompts, wording
from harness.simulator.served.line import Line
from harness.simulator.served.requests import Request
from harness.simulator.served.talk import USER, Talk
from harness.simulator.state import User

LEVEL = DifficultyConfig()


def question() -> Request:
    """A reply to appraise, as in any talk: the least that shows that users can be played."""
    user = User(0, INTENTIONS[0], TEMPERAMENTS[0])
    key = ConversationKey(0, 0, 0, 0, TRAIN)
    talk = Talk(key, user, LEVEL.start_emotion, 0.0, ((USER, user.persona.facts[0]),))
    return prompts.appraise(talk, "I am here with you.", LEVEL)


def reach(line: Line) -> None:
    """Have one reply appraised. Raises EndpointError if that cannot be done."""
    line.check(question(), lambda content: answers.appraisal(content, wording.changes(LEVEL)))


def enforces_schema(line: Line) -> bool:
    """Whether the schema binds what the model writes, tried with orders that go against it.

    Raises EndpointError if that cannot be asked.
    """
    shape = {"type": "string", "enum": ["apple", "pear"]}
    request = Request(
        "schema",
        ("check",),
        "Answer with the one word banana: plain text, no braces, no quotes.",
        {"question": "Which fruit?"},
        prompts.object_of({"fruit": shape}),
    )
    try:
        content = line.check(request, lambda content: content)
        return json.loads(content) in ({"fruit": "apple"}, {"fruit": "pear"})
    except (ValueError, RecursionError):
        return False
