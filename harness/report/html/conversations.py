"""The conversations of a page: chosen by the rule of choice.py, rendered until the file is full.

They are rendered in the order of choice.KINDS, for all runs at once, so that a page contains the
same kinds of conversations of every run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from markupsafe import Markup

from harness.law.group_results import Analysis
from harness.law.results import RunResult
from harness.report.html import choice
from harness.report.html.choice import KINDS, ChosenConversation, RunConversations
from harness.report.html.folders import LocatedRun
from harness.report.html.talks import ConversationView, view
from harness.report.text import conversation as words
from harness.report.text import naming, wording
from harness.report.text.wording import plural
from harness.utils import process_pool


@dataclass(frozen=True)
class Selection:
    """The conversations in the page, and notes on those that are not."""

    rendered: tuple[Markup, ...]
    shown: tuple[ConversationView, ...]
    notes: tuple[str, ...]


def select(
    analysis: Analysis,
    runs: Sequence[LocatedRun],
    render: Callable[[ConversationView], Markup],
    room: int,
    pool: Executor | None = None,
) -> Selection:
    """Choose, read and render conversations. `room`: size in bytes. Processes of `pool` read."""
    called = naming.names(analysis)
    result = {run.run: run for run in analysis.runs}
    chosen = _chosen(result, runs, pool)
    kept: dict[tuple[str, int], Markup] = {}
    views: dict[tuple[str, int], ConversationView] = {}
    highest = _highest_entropy(one for of in chosen.values() for one in of.chosen)
    left: list[str] = []
    for kind in range(len(KINDS)):
        of_kind = [
            (run, at, one)
            for run, of in chosen.items()
            for at, one in enumerate(of.chosen)
            if one.kind == kind
        ]
        made = {}
        for run, at, one in of_kind:
            shown = view(
                one, called[run], naming.level_of(analysis, result[run]), result[run].seed, highest
            )
            made[run, at] = shown, render(shown)
        size = sum(len(text.encode("utf-8")) for _, text in made.values())
        fitting = list(made) if size <= room else list(_as_fits(made, room if not kept else 0))
        for key in fitting:
            views[key], kept[key] = made[key]
            room -= len(kept[key].encode("utf-8"))
        if len(fitting) < len(made):
            left.append(_left_out(kind, len(made) - len(fitting), len(made)))
    order = sorted(views, key=lambda key: (list(chosen).index(key[0]), key[1]))
    return Selection(
        tuple(kept[key] for key in order),
        tuple(views[key] for key in order),
        tuple(_notes(chosen, called, [views[key] for key in order], left, highest)),
    )


def _chosen(
    result: Mapping[str, RunResult], runs: Sequence[LocatedRun], pool: Executor | None
) -> dict[str, RunConversations]:
    """Return what is chosen from each run that has a folder."""
    asked = {place.run: place.folder for place in runs if place.folder is not None}
    onsets = [result[run].onset for run in asked]
    steps = [onset.step if onset else None for onset in onsets]
    questions = list(zip(asked.values(), steps, strict=True))
    read = process_pool.submit(pool, choice.choose_in_process, questions).results()
    return dict(zip(asked, read, strict=True))


def _as_fits(
    made: Mapping[tuple[str, int], tuple[ConversationView, Markup]], room: int
) -> Iterator[tuple[str, int]]:
    """Yield the conversations that fit into `room`, in the order of the runs."""
    for key, (_, text) in made.items():
        room -= len(text.encode("utf-8"))
        if room < 0:
            return
        yield key


def _left_out(kind: int, count: int, of: int) -> str:
    moments, ranks = KINDS[kind]
    what = f"{' and '.join(ranks)} of {' and '.join(moments)}"
    return f"left out to keep the file small: {count} of {plural(of, 'conversation')} ({what})"


def _notes(
    chosen: Mapping[str, RunConversations],
    called: Mapping[str, str],
    shown: Sequence[ConversationView],
    left: Sequence[str],
    highest: float,
) -> Iterator[str]:
    steps = sum(of.saved_steps for of in chosen.values())
    if not chosen:
        yield "No run folder is among the paths; logs of other programs have no conversations."
        return
    if not steps:
        yield "No conversations are saved in these runs."
        return
    yield choice.RULE
    read = plural(steps, "saved step")
    yield f"{plural(len(shown), 'conversation')} of {plural(len(chosen), 'run')}, from {read}."
    yield from left
    yield from _how_to_read(shown, highest)
    without = [called[run] for run, of in chosen.items() if not of.saved_steps]
    if without:
        yield f"no saved conversations: {', '.join(without)}"
    notes: dict[str, list[str]] = {}
    for run, of in chosen.items():
        for note in of.notes:
            notes.setdefault(note, []).append(called[run])
    for note, names in notes.items():
        whose = plural(len(names), "run") if len(names) > 2 else ", ".join(names)
        yield f"{whose}: {note}"


def _how_to_read(shown: Sequence[ConversationView], highest: float) -> Iterator[str]:
    """Yield explanations that apply to every conversation."""
    if not shown:
        return
    dashed = f"; dashed line, entropy H of each reply, 0 to {wording.number(highest)} nats"
    has_entropy = any(one.entropy_path for one in shown)
    yield f"curves: solid line, emotion after each turn, 0 to 100{dashed if has_entropy else ''}"
    if any("advantage" in one.outcome for one in shown):
        yield (
            "advantage: the weight of the replies in training, from the reward relative to the "
            "other conversations of the group; the same for every reply, unless given at a reply"
        )
    yield (
        "for it, against it: reasons for a rise of the emotion, and against a rise; "
        f"{words.UNIT['log_odds']}"
    )


def _highest_entropy(chosen: Iterator[ChosenConversation]) -> float:
    """Return the upper end of the scale of all curves of H; 1 if there are none."""
    values = [h for one in chosen for h in one.conversation.entropies_nats if h is not None]
    return max(values, default=0.0) or 1.0
