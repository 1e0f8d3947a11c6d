"""The simulated user, and the endpoint of a served one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from harness.config import grant, ranges
from harness.config.grant import Grant
from harness.config.policy import ANY_LANGUAGE_MODEL
from harness.config.ranges import (
    Address,
    Between,
    ByOption,
    Location,
    OfPlugIns,
    OneOf,
    Only,
    Rule,
    Unit,
)
from harness.errors import ConfigError

SIMULATOR_FAULTS = (
    "connection",  # refused, reset, or closed before the answer was whole
    "timeout",  # not answered whole within simulator.deadline_s
    "rate_limit",  # 429
    "server",  # 5xx
    "request",  # 4xx: asking again would not help
    "redirect",  # 3xx: not followed, so that the key goes nowhere else
    "oversized",  # a body beyond what an answer can need
    "malformed",  # no JSON, or not of the shape asked for
    "out_of_range",  # a change of emotion that is missing or that the level does not allow
    "empty",  # nothing said
    "leaked",  # the reply gives away what is hidden
    "contradictory",  # an appraisal whose fit or reason says the opposite of its change
    "echoed",  # the reply hands the supporter's own words back
)
"""The ways in which a served user can fail to answer, after retries."""

LANGUAGE_RULES = (
    "typicality",  # far more surprising to the start policy than its own replies are
    "empty",  # no word
    "endless",  # longer than anybody reads
    "script",  # letters of another script, or of two mixed
    "signs",  # markup, control characters, signs that nobody says
    "speaker",  # speaks for the user or names who speaks
    "spacing",  # no space after a stop
    "ending",  # a sentence or a question without its end
    "repetition",  # one word or one beginning again and again
    "vocabulary",  # no words, words of another language, or a mere list of words
    "grammar",  # no subject or no verb
    "neighbours",  # words side by side that do not go together
    "stuffed",  # stock phrases strung together
)
"""The rules by which a scripted user decides that a reply is not language."""
TYPICALITY_CUT = 4.5

KINDS = ("scripted", "second", "served")
IN_PROCESS = ("scripted", "second")
"""Kinds without a model. The policy can take over their conversations in the middle."""
SCRIPTED, SERVED = Only("simulator.kind", ("scripted",)), Only("simulator.kind", ("served",))
READERS = ("lexical", "lm")
LM_READER = Only("simulator.reader", ("lm",))
KEY_BELONGS = "put the key in a variable and the variable's name in simulator.api_key_env"


class Model(Rule):
    """The name of a model."""

    def check(self, key: str, value: str) -> None:
        if not value.strip():
            raise ConfigError(f"{key} must name a model that the endpoint serves, got ''")

    def __str__(self) -> str:
        return "the name of a model"


class KeyVariable(Rule):
    """The name of an environment variable that holds a key, or empty."""

    def check(self, key: str, value: str) -> None:
        if value:
            grant.check_variable(key, value)

    def __str__(self) -> str:
        return "a name that ends in _KEY or _TOKEN, or empty"


@dataclass(frozen=True)
class SimulatorConfig:
    """The simulated user: built-in code, or a model behind an OpenAI-compatible endpoint."""

    name: Annotated[str, ByOption()] = "scripted"
    """Name of the simulator, as shown in results."""
    kind: Annotated[str, OneOf(KINDS, plug_ins="simulator"), ByOption()] = "scripted"
    """Kind of simulator: scripted (in this process, without a model), second (another such user, to
    test whether results carry over), served (a model behind an endpoint) or one from a plug-in."""
    base_url: Annotated[str, Address(KEY_BELONGS), Location(), SERVED] = "http://127.0.0.1:8000/v1"
    """Address of the endpoint."""
    model: Annotated[str, Model(), SERVED] = "Qwen/Qwen3-4B-Instruct-2507"
    """Name of a model that the endpoint serves."""
    api_key_env: Annotated[str, KeyVariable(), Location(), SERVED] = ""
    """Name of the environment variable that holds the API key (not the key itself); empty if none
    is needed."""
    deadline_s: Annotated[float, Between(0.05, 3600), Unit("seconds"), SERVED] = 60.0
    """Time limit of one call, from the request to the last byte of the answer."""
    concurrency: Annotated[int, Between(1, 4096), Unit("calls"), SERVED] = 64
    """Maximum number of concurrent calls."""
    requests_per_minute: Annotated[float | None, Between(0.1, 1e7), SERVED] = None
    """Maximum calls per minute; null: no limit."""
    tokens_per_minute: Annotated[float | None, Between(1, 1e10), SERVED] = None
    """Maximum tokens per minute, prompts and answers together; null: no limit."""
    retries: Annotated[int, Between(0, 50), SERVED] = 5
    """Retries of a failed call before its conversation counts as failed."""
    backoff_s: Annotated[float, Between(0, 60), Unit("seconds"), SERVED] = 0.5
    """Wait before the first retry. It doubles with each further retry and has jitter."""
    temperature: Annotated[float | None, Between(0, 2), SERVED] = 0.5
    """Sampling temperature of the user; null: the endpoint's default. RLVER uses 0.5 (arXiv
    2507.03112)."""
    max_tokens: Annotated[int, Between(16, 100_000), Unit("tokens"), SERVED] = 400
    """Maximum length of one answer."""
    outage_s: Annotated[float, Between(0, 1e6), Unit("seconds"), SERVED] = 3600.0
    """How long a run waits for an endpoint that does not answer before it stops; 0 stops at
    once."""
    reader: Annotated[str, OneOf(READERS), SCRIPTED] = "lexical"
    """How the scripted user interprets a sentence: lexical (by words and phrases, in microseconds)
    or lm (also by a language model's hidden states, in some 60 milliseconds per new sentence)."""
    reader_model: Annotated[str, Location(), SCRIPTED, LM_READER] = ""
    """Language model of the reader: smollm2_135m (installed as a package), an id on the Hugging
    Face Hub or a local folder."""
    reader_head: Annotated[str, Location(), SCRIPTED, LM_READER] = ""
    """File of the head that benchmarks/lm_reader.py trained for that model; empty for the shipped
    head, for SmolLM2-135M-Instruct."""
    profiles: Annotated[str, Location(), Only("simulator.kind", ("scripted", "served"))] = ""
    """JSONL file with your own users; empty for the built-in ones."""
    typicality_cut: Annotated[
        float | None,
        Between(0, 1000),
        Unit("standard deviations"),
        Only("simulator.kind", IN_PROCESS),
        ANY_LANGUAGE_MODEL,
    ] = TYPICALITY_CUT
    """Surprise above which the user does not take a reply for language: how much less likely the
    start model finds it than its own replies, in their standard deviations. One-sided: unusually
    likely replies gain nothing. null disables the check."""
    options: Annotated[dict[str, Any], OfPlugIns("simulator.kind", KINDS)] = field(
        default_factory=dict, hash=False
    )
    """Options of a plug-in's simulator. Set one by simulator.options.KEY=VALUE."""

    def __post_init__(self) -> None:
        ranges.check("simulator", self)
        if self.kind == "scripted" and self.reader == "lm" and not self.reader_model.strip():
            raise ConfigError(
                "simulator.reader_model must be a folder or a name on the hub with "
                "simulator.reader=lm, got ''"
            )

    @property
    def required_grant(self) -> Grant | None:
        """The variable whose key each call sends, and the host; None without a key.

        Raises ConfigError for a host that must not get a key.
        """
        try:
            return grant.to(self.base_url, self.api_key_env) if self.api_key_env else None
        except ConfigError as error:
            raise ConfigError(f"simulator.base_url: {self.base_url}: {error}") from error
