"""What an engine is: units of work in, results out; what a run consists of and what is kept is the runner's matter."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evaluation.editors.base import Editor
from schemas.answers import Answer
from schemas.cases import AnyCase
from schemas.probes import GenerateProbe, Probe

REWRITTEN = "rewritten_prompts"
"""Note of a result: prompts of texts and of questions about events that the edit changed, each once, with the probes
that were asked with it."""


class Job(NamedTuple):
    """One unit of work: a case, and what is still to be asked of it. ``key`` names the unit in the journal."""

    key: str
    case: AnyCase
    probes: tuple[Probe, ...]


class JobResult(NamedTuple):
    """What became of a job. In a group, times are shares of the group's time, and the peak is the group's."""

    job: Job
    answers: Sequence[Answer] = ()
    notes: Mapping[str, Any] = {}
    error: str | None = None
    seconds_edit: float = 0.0
    seconds_score: float = 0.0
    peak_bytes: int | None = None


class Engine(ABC):
    """How independent single edits are made and scored, and how probes are asked of a model as it stands.

    Attributes:
        on_stage: Told, in words, what is done before the next results come, and how many seconds that will take
            (0.0: not known); set by whoever shows progress.
    """

    on_stage: Callable[[str, float], None] = staticmethod(lambda stage, seconds: None)

    def expect(self, editors: Iterable[Editor]) -> None:
        """Told once which methods will come, before the unedited model is asked; here nothing is prepared."""
        return

    @abstractmethod
    def work(self, editor: Editor, jobs: Sequence[Job]) -> Iterator[JobResult]:
        """An edit of its own for every job; results as they are finished, in any order."""

    def ask(self, jobs: Sequence[Job], *, rewrite: Callable[[str], str] | None) -> list[JobResult]:
        """All jobs' probes asked of the model as it stands, in the order of the jobs; not every engine can."""
        raise NotImplementedError


def plain(notes: Mapping[str, Any]) -> dict[str, Any]:
    """Notes as JSON values; what JSON does not know becomes a number where it can, else text."""

    def other(value: Any) -> Any:
        try:
            return float(value)
        except (TypeError, ValueError):
            return str(value)

    values: dict[str, Any] = json.loads(json.dumps(dict(notes), default=other))
    return values


def rewritten(probes: Iterable[Probe], rewrite: Callable[[str], str] | None) -> dict[str, Any]:
    """The note of what an edit made of the prompts of texts and questions; empty where it leaves all as they are.

    Scored prompts without an instruction (those of facts) are not noted. A text that is only put before prompts is kept
    once, however many prompts it stands before.

    Example:
        >>> probe = GenerateProbe(purpose="script_question", item="q", prompt="How?")
        >>> rewritten([probe], lambda prompt: "It is so. " + prompt)[REWRITTEN][0]["before"]
        'It is so. '
    """
    probe_ids: dict[tuple[str, str], list[str]] = {}
    for probe in probes if rewrite is not None else ():
        if not _is_noted(probe) or (text := rewrite(probe.prompt)) == probe.prompt:  # type: ignore[misc]
            continue
        before = text.endswith(probe.prompt)
        kind_and_text = ("before", text[: len(text) - len(probe.prompt)]) if before else ("whole", text)
        probe_ids.setdefault(kind_and_text, []).append(probe.id)
    return {REWRITTEN: [{kind: text, "probes": ids} for (kind, text), ids in probe_ids.items()]} if probe_ids else {}


def _is_noted(probe: Probe) -> bool:
    return isinstance(probe, GenerateProbe) or bool(probe.instruction)


def with_earlier(notes: Mapping[str, Any], earlier: Mapping[str, Any], new_ids: Collection[str]) -> dict[str, Any]:
    """Notes of a result that adds answers to an earlier one: its prompts stay stored where they were not asked anew.

    Args:
        notes: Of the new answers.
        earlier: Of the answers that were there.
        new_ids: Ids of the new probes.
    """
    earlier_prompts = [
        {**one, "probes": [p for p in one["probes"] if p not in new_ids]} for one in earlier.get(REWRITTEN, ())
    ]
    both = [*(one for one in earlier_prompts if one["probes"]), *notes.get(REWRITTEN, ())]
    return {**notes, **({REWRITTEN: both} if both else {})}


def prompt_as_read(probe: Probe, notes: Mapping[str, Any]) -> str:
    """A probe's prompt as the edited model was given it, by the notes of its result; the instruction is left out."""
    for one in notes.get(REWRITTEN, ()):
        if probe.id in one["probes"]:
            return str(one["whole"]) if "whole" in one else f"{one['before']}{probe.prompt}"
    return probe.prompt
