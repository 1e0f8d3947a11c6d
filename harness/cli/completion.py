"""What a shell offers for a half-typed command: commands, options, config keys, run folders.

The scripts are typer's (`--install-completion`); the answers are ours, since typer's parse the
whole command line, which takes longer, and know nothing of KEY=VALUE. Nothing is offered that a
shell would not take literally, and of files only names are read.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import typer
from typer.main import get_command_from_info

LITERAL = re.compile(r"[\w.,/=+@%~-]+", re.ASCII)
OF_FOLDERS = ("DIR", "PATH", "[PATH]", "RUN", "FOLDER")
WRITTEN_TO = ("--dir", "--out", "new_folder")
"""Options and arguments that name a folder yet to be made: the shell's own file names serve
there."""
MOST_FOLDERS = 2000
ALWAYS = ("-h", "--help", "--debug")
AT_FIRST = ("--version", "--install-completion", "--show-completion")
Offer = tuple[str, str]
"""A word, and what it means."""


def answer(app: typer.Typer, request: str) -> int | None:
    """Print the completions that a shell asked for. Return the exit code, or None for a shell that
    is not supported here.
    """
    shell = request.removeprefix("complete_")
    if shell not in ("bash", "zsh", "fish"):
        return None
    if shell == "bash":
        words, typed, key = _split_bash(os.environ.get("COMP_WORDS", ""))
    else:
        words, typed = _split(os.environ.get("_TYPER_COMPLETE_ARGS", ""))
        key = ""
    matches = sorted(
        {offer for offer in offers(app, words, key + typed) if LITERAL.fullmatch(offer[0])}
    )
    if os.environ.get("_TYPER_COMPLETE_FISH_ACTION") == "is-args":
        return 0 if matches else 1  # by which fish offers these words, or names of files
    print(_format_offers(shell, matches, key))
    return 0


def _format_offers(shell: str, matches: Sequence[Offer], key: str) -> str:
    if shell == "bash":
        return "\n".join(word.removeprefix(key) for word, _ in matches)
    plain = [(word, re.sub(r"[^\w .,;=/()-]", "", meaning)) for word, meaning in matches]
    if shell == "fish":
        return "\n".join(f"{word}\t{meaning}" if meaning else word for word, meaning in plain)
    quoted = [f'"{word}":"{meaning}"' if meaning else f'"{word}"' for word, meaning in plain]
    return f"_arguments '*: :(({chr(10).join(quoted)}))'" if quoted else "_files"


def _split_bash(text: str) -> tuple[list[str], str, str]:
    """The whole words, the one being typed, and the `KEY=` before it, where bash has split it."""
    all_words = text.split("\n") if "\n" in text else text.split(" ")
    index = int(os.environ.get("COMP_CWORD", "0") or 0)
    words, typed = all_words[1:index], all_words[index] if index < len(all_words) else ""
    if typed == "=":
        words, typed = [*words, "="], ""
    if words[-1:] == ["="] and len(words) > 1:
        return words[:-2], typed, f"{words[-2]}="
    return words, typed, ""


def _split(line: str) -> tuple[list[str], str]:
    """The whole words and the one being typed, of a line as it stands; a quote may be open."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        words.extend(lexer)
    except ValueError:
        words.append(lexer.token)
    typed = "" if not words or line.endswith(" ") else words.pop()
    return words[1:], typed


def offers(app: typer.Typer, words: Sequence[str], typed: str) -> Iterator[Offer]:
    """Return the completions of the word `typed`, which follows the whole words `words`."""
    names = [word for word in words if not word.startswith("-")]
    infos: Any = {info.name: info for info in app.registered_commands}
    groups = {group.name: group.typer_instance for group in app.registered_groups}
    if names and names[0] in groups:
        inner = groups[names[0]]
        assert inner is not None
        names, groups = names[1:], {}
        infos = {i.name or i.callback.__name__: i for i in inner.registered_commands if i.callback}
    if not names:
        helps = {name: (info.callback.__doc__ or "").split("\n")[0] for name, info in infos.items()}
        choices = {**helps, **{str(name): "" for name in groups}}
        first_options = dict.fromkeys((*ALWAYS, *AT_FIRST), "")
        yield from _starting_with(
            (first_options if typed.startswith("-") else choices).items(), typed
        )
    elif names[0] in infos:
        yield from _offers_of_command(infos[names[0]], words, names[1:], typed)


def _offers_of_command(
    info: Any, words: Sequence[str], names: Sequence[str], typed: str
) -> Iterator[Offer]:
    command: Any = get_command_from_info(info, pretty_exceptions_short=True, rich_markup_mode=None)
    options = {name: param for param in command.params if _is_option(param) for name in param.opts}
    last_option = options.get(words[-1]) if words else None
    if last_option is not None and not last_option.is_flag:
        if words[-1] not in WRITTEN_TO:
            yield from _values(last_option, typed)
        return
    if typed.startswith("-"):
        helps = {name: option.help or "" for name, option in options.items()}
        yield from _starting_with({**helps, **dict.fromkeys(ALWAYS, "")}.items(), typed)
        return
    value_count = sum(not options[word].is_flag for word in words if word in options)
    arguments = [param for param in command.params if not _is_option(param)]
    index = len(names) - value_count
    argument = arguments[min(index, len(arguments) - 1)] if arguments else None
    if argument is not None and argument.name not in WRITTEN_TO:
        yield from _values(argument, typed)


def _is_option(param: Any) -> bool:
    return str(param.opts[0]).startswith("-")


def _values(param: Any, typed: str) -> Iterator[Offer]:
    """Return the possible values of an option or an argument."""
    kind = getattr(getattr(param, "type_descriptor", None), "annotation", None)
    choices = [item for item in (kind, *getattr(kind, "__args__", ())) if isinstance(item, type)]
    for choice in choices:
        if issubclass(choice, Enum):
            yield from _starting_with(((str(member.value), "") for member in choice), typed)
    if param.metavar == "KEY=VALUE":
        from harness.cli import completion_keys

        yield from completion_keys.offers(typed)
    elif param.metavar in ("GROUP", "NAME"):
        from harness.cli import completion_keys

        names = completion_keys.groups() if param.metavar == "GROUP" else _studies()
        yield from _starting_with(((name, "") for name in names), typed)
    elif param.metavar in OF_FOLDERS:
        yield from ((path, "") for path in folders(typed))


def _studies() -> list[str]:
    from harness.cli import completion_keys

    return completion_keys.files("sweeps/studies")


def _starting_with(candidates: Iterable[Offer], typed: str) -> Iterator[Offer]:
    return (candidate for candidate in candidates if candidate[0].startswith(typed))


def folders(typed: str) -> Iterator[str]:
    """Return the runs, sweeps and other folders that a path can be completed to, one level further
    down too.
    """
    base, slash, _ = typed.rpartition("/")
    for path in _subfolders(f"{base}{slash}"):
        if not path.startswith(typed):
            continue
        if _is_ours(path):
            yield path
            continue
        inner = [below for below in _subfolders(f"{path}/") if _is_ours(below)]
        yield from inner or [f"{path}/"]


def _subfolders(base: str) -> list[str]:
    """Return the folders in `base`, which is empty or ends with a slash."""
    try:
        with os.scandir(base or ".") as scan:
            entries = [entry for entry, _ in zip(scan, range(MOST_FOLDERS), strict=False)]
            return sorted(
                f"{base}{entry.name}" for entry in entries
                if not entry.name.startswith(".") and entry.is_dir()
            )  # fmt: skip
    except (OSError, ValueError):
        return []


def _is_ours(path: str) -> bool:
    return any((Path(path) / name).is_file() for name in ("sweep.json", "run.json"))
