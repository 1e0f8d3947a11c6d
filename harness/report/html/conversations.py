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
    bytes_left: int,
    pool: Executor | None = None,
) -> Selection:
    """Choose, read and render conversations, of `bytes_left` at most. Processes of `pool` read."""
    names = naming.names(analysis)
    result = {run.run: run for run in analysis.runs}
    chosen = _choose_conversations(result, runs, pool)
    rendered: dict[tuple[str, int], Markup] = {}
    views: dict[tuple[str, int], ConversationView] = {}
    highest = _highest_entropy(
        conversation for run_choice in chosen.values() for conversation in run_choice.chosen
    )
    omissions: list[str] = []
    for kind in range(len(KINDS)):
        entries = [
            (run, index, conversation)
            for run, run_choice in chosen.items()
            for index, conversation in enumerate(run_choice.chosen)
            if conversation.kind == kind
        ]
        candidates = {}
        for run, index, conversation in entries:
            conversation_view = view(
                conversation,
                names[run],
                naming.level_of(analysis, result[run]),
                result[run].seed,
                highest,
            )
            candidates[run, index] = conversation_view, render(conversation_view)
        size = sum(len(text.encode("utf-8")) for _, text in candidates.values())
        fitting = (
            list(candidates)
            if size <= bytes_left
            else list(_first_that_fit(candidates, bytes_left if not rendered else 0))
        )
        for key in fitting:
            views[key], rendered[key] = candidates[key]
            bytes_left -= len(rendered[key].encode("utf-8"))
        if len(fitting) < len(candidates):
            omissions.append(_omission_note(kind, len(candidates) - len(fitting), len(candidates)))
    order = sorted(views, key=lambda key: (list(chosen).index(key[0]), key[1]))
    return Selection(
        tuple(rendered[key] for key in order),
        tuple(views[key] for key in order),
        tuple(_notes(chosen, names, [views[key] for key in order], omissions, highest)),
    )


def _choose_conversations(
    result: Mapping[str, RunResult], runs: Sequence[LocatedRun], pool: Executor | None
) -> dict[str, RunConversations]:
    """Return what is chosen from each run that has a folder."""
    folders = {located.run: located.folder for located in runs if located.folder is not None}
    onsets = [result[run].onset for run in folders]
    steps = [onset.step if onset else None for onset in onsets]
    questions = list(zip(folders.values(), steps, strict=True))
    choices = process_pool.submit(pool, choice.choose_in_process, questions).results()
    return dict(zip(folders, choices, strict=True))


def _first_that_fit(
    candidates: Mapping[tuple[str, int], tuple[ConversationView, Markup]], bytes_left: int
) -> Iterator[tuple[str, int]]:
    """Yield the conversations that fit into `bytes_left`, in the order of the runs."""
    for key, (_, text) in candidates.items():
        bytes_left -= len(text.encode("utf-8"))
        if bytes_left < 0:
            return
        yield key


def _omission_note(kind: int, count: int, total: int) -> str:
    moments, ranks = KINDS[kind]
    names = f"{' and '.join(ranks)} of {' and '.join(moments)}"
    conversations = plural(total, "conversation")
    return f"left out to keep the file small: {count} of {conversations} ({names})"


def _notes(
    chosen: Mapping[str, RunConversations],
    run_names: Mapping[str, str],
    views: Sequence[ConversationView],
    omissions: Sequence[str],
    highest: float,
) -> Iterator[str]:
    steps = sum(run_choice.saved_steps for run_choice in chosen.values())
    if not chosen:
        yield "No run folder is among the paths; logs of other programs have no conversations."
        return
    if not steps:
        yield "No conversations are saved in these runs."
        return
    yield choice.RULE
    source = f"{plural(len(chosen), 'run')}, from {plural(steps, 'saved step')}"
    yield f"{plural(len(views), 'conversation')} of {source}."
    yield from omissions
    yield from _reading_notes(views, highest)
    without_conversations = [
        run_names[run] for run, run_choice in chosen.items() if not run_choice.saved_steps
    ]
    if without_conversations:
        yield f"no saved conversations: {', '.join(without_conversations)}"
    notes: dict[str, list[str]] = {}
    for run, run_choice in chosen.items():
        for note in run_choice.notes:
            notes.setdefault(note, []).append(run_names[run])
    for note, names in notes.items():
        runs_text = plural(len(names), "run") if len(names) > 2 else ", ".join(names)
        yield f"{runs_text}: {note}"


def _reading_notes(views: Sequence[ConversationView], highest: float) -> Iterator[str]:
    """Yield explanations that apply to every conversation."""
    if not views:
        return
    dashed = f"; dashed line, entropy H of each reply, 0 to {wording.number(highest)} nats"
    has_entropy = any(conversation_view.entropy_path for conversation_view in views)
    yield f"curves: solid line, emotion after each turn, 0 to 100{dashed if has_entropy else ''}"
    if any("advantage" in conversation_view.outcome for conversation_view in views):
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
    values = [
        h
        for conversation_choice in chosen
        for h in conversation_choice.conversation.entropies_nats
        if h is not None
    ]
    return max(values, default=0.0) or 1.0
