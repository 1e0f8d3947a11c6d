"""Rewords errors of Hydra and OmegaConf into one line that a user can act on.

The useful part of a message is often in the exception's cause, the place in another exception, and
the input in an attribute. Not all of their errors are of their own classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from harness.compose import overrides, search_path
from harness.utils import installation

NEEDS_EXTRA = {"submitit_slurm": "slurm", "submitit_local": "slurm", "ray": "ray"}
UNKNOWN_KEY = re.compile(r"Key '.*' (?:is )?not in (?:struct|')")
GIVEN = re.compile(r"[Vv]alue '(.*)' (?:of type|is not a valid)|Unable to assign '(.*)' to")


def reword(error: BaseException) -> str:
    """Return a sentence for the first exception in the chain that is about a user's input."""
    chain = list(_causes(error))
    for describe in (_missing_option, _bad_value, _bad_yaml):
        for cause in chain:
            sentence = describe(cause)
            if sentence:
                return _file_prefix(chain) + sentence
    return _join_messages(chain)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _missing_option(error: BaseException) -> str | None:
    """Reword Hydra's `Could not find 'policy/tabulr'`, which has the options as an attribute."""
    missing = getattr(error, "missing_cfg_file", None)
    if not isinstance(missing, str) or "/" not in missing:
        return None
    group, name = missing.rsplit("/", 1)
    if name in NEEDS_EXTRA:
        return f"{group}={name} needs a plugin: {installation.install_command(NEEDS_EXTRA[name])}"
    names = ", ".join(getattr(error, "options", None) or search_path.options(group))
    return f"{group} must be one of {names}, got {name!r}"


def _bad_value(error: BaseException) -> str | None:
    """Reword OmegaConf's errors, which have the key in `full_key` and the value in the message."""
    key = str(getattr(error, "full_key", None) or "")
    if not key:
        return None
    message = str(getattr(error, "msg", None) or error).split("\n")[0]
    if UNKNOWN_KEY.match(message):
        is_ours = not key.startswith("hydra")
        return overrides.no_such_key(key) if is_ours else f"{key}: the launcher has no such setting"
    match = GIVEN.search(message)
    if match and not key.startswith("hydra"):
        return overrides.must_be(key, f"'{match[1] if match[1] is not None else match[2]}'")
    if "optional" in message.lower():
        is_ours = not key.startswith("hydra")
        return overrides.must_be(key, "null") if is_ours else f"{key} must not be null, got null"
    type_match = re.search(r"assigned: (\w+) is not a", message)
    if type_match:
        return overrides.must_be(key, f"a value of type {type_match[1]}")
    return f"{key}: {message}"


def _bad_yaml(error: BaseException) -> str | None:
    mark = getattr(error, "problem_mark", None)
    if isinstance(error, yaml.YAMLError) and mark is not None:
        return f"{mark.name}:{mark.line + 1}: must be YAML; {getattr(error, 'problem', None)}"
    return None


def _file_prefix(chain: list[BaseException]) -> str:
    """Return the file that Hydra was reading as a prefix, if it is named and is the user's."""
    for error in chain:
        match = re.match(r"In '([^']+)'", str(error))
        if match and match[1] != "config" and not match[1].startswith("hydra/"):
            return f"{match[1]}.yaml: "
    return ""


def _join_messages(chain: list[BaseException]) -> str:
    """Join the messages of the whole chain on one line."""
    messages = [" ".join(str(error).split()) for error in chain]
    return "; ".join(filter(None, dict.fromkeys(messages))) or type(chain[0]).__name__
