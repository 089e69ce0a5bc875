"""The engine of a model behind an endpoint: edits in the prompt, texts by journaled calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from construction.llm.client import Client, Reply, gather_all
from construction.llm.connection import Access
from construction.llm.cost.estimates import CallCounter, CallEstimate
from construction.llm.session import ModelSession, model_session
from construction.llm.step import Message, PlainText, Request
from evaluation.edits.edit import Edit, own_answers
from evaluation.engines.base import Job, JobResult, case_error, plain, rewritten
from evaluation.engines.protocols import EditorLike
from evaluation.inference.answering import written_probes
from evaluation.metrics.base import Metric
from evaluation.metrics.text_level import CONTINUED, GO_ON
from evaluation.runs.endpoint import (
    EndpointChoice,
    EndpointModel,
    endpoint_access,
    make_endpoint_editor,
    refuse_probabilities,
    refuse_weights,
    require_prompt_edit,
)
from schemas.answers import Answer, GeneratedText
from schemas.cases import AnyCase
from schemas.core.errors import UserError
from schemas.probes import GenerateProbe, Probe, ThoughtAsked, instructed
from schemas.text.thoughts import split_thought

if TYPE_CHECKING:
    from evaluation.editors.base import Editor
    from evaluation.runs.config import RunConfig

_CHUNK = 20  # cases between two entries in the run's journal; all of them where a batch takes hours

Rewrite = Callable[[str], str] | None


def text_request(probe: GenerateProbe, rewrite: Rewrite = None) -> Request:
    """What the endpoint is sent for a probe: one message of the user.

    Texts at which an answer ends are not sent: some endpoints know no such setting, and an answer may begin with an
    empty line. What stands after them is cut off here.

    Args:
        probe: What is asked.
        rewrite: The edit's way with the prompt.
    """
    if probe.purpose == CONTINUED:
        text = f"{GO_ON}\n\n{rewrite(probe.prompt) if rewrite else probe.prompt}"
    else:
        text = instructed(probe, rewrite) + probe.separator
    parameters: dict[str, float | int] = {"temperature": probe.temperature, "max_tokens": probe.longest}
    if probe.top_p < 1:
        parameters["top_p"] = probe.top_p
    return Request((Message(role="user", content=text),), PlainText, parameters, probe.sample)


def read_text(probe: GenerateProbe, reply: Reply) -> Answer:
    """A reply as the answer to a probe; what the endpoint declined with words is their text, no answer is an error."""
    if isinstance(reply.value, PlainText):
        text, cut, apart = reply.value.text, reply.value.cut, reply.value.thought
    elif reply.status == "refused" and reply.raw.strip():
        text, cut, apart = reply.raw, False, None
    else:
        return Answer(probe=probe.id, error=f"{reply.status}: {reply.message or 'no text'}")
    tokens, thought, unfinished = reply.tokens_out or 0, None, False
    if probe.thought is not None:
        thought, text, unfinished = _apart(text, apart, cut, probe.thought)
    body, stopped = _until_stop(text, probe.stop)
    ended: Literal["eos", "stop", "length"] = "stop" if stopped else "length" if cut else "eos"
    written = GeneratedText(text=body, tokens=tokens, ended=ended, chat=True, thought=thought, unfinished=unfinished)
    return Answer(probe=probe.id, written=written)


def _apart(text: str, apart: str | None, cut: bool, asked: ThoughtAsked) -> tuple[str | None, str, bool]:
    """Thought, answer, and whether the thought has no end; ``apart``: what the endpoint sends beside the answer.

    A reply that was cut off before any word of the answer ended in its thought.
    """
    split = split_thought(text, asked.marks)
    thoughts = [one for one in (apart, split.thought) if one is not None]
    unfinished = split.unfinished or (bool(apart) and cut and not split.answer.strip())
    return ("\n".join(one for one in thoughts if one) if thoughts else None), split.answer, unfinished


def _until_stop(text: str, stops: Sequence[str]) -> tuple[str, bool]:
    """A text up to the first stop, empty lines before it aside; whether there was one."""
    if not stops:
        return text, False
    body = text.lstrip()
    at = min((place for stop in stops if (place := body.find(stop)) >= 0), default=None)
    return (body, False) if at is None else (body[:at], True)


class ApiEndpoint(NamedTuple):
    """A run's model behind an endpoint: how it is asked, what stands for it, and a maker of methods for it."""

    access: Access
    model: EndpointModel
    make: Callable[[str, dict[str, Any]], Editor]


def open_endpoint(config: RunConfig, metrics: Sequence[Metric], cases: Sequence[AnyCase]) -> ApiEndpoint:
    """What a run on an endpoint needs; what it cannot do is refused here, before any call.

    Args:
        config: The run.
        metrics: Of the run.
        cases: Of the run.

    Raises:
        UserError: a method that needs weights, a metric that needs probabilities, a budget without a price.
    """
    from curation.files.artifact_cache import Cache
    from curation.files.model_packages import cache_dir

    access = endpoint_access(config.model, config.endpoint or EndpointChoice())
    stand_in, cache = EndpointModel(config.model), Cache(cache_dir())

    def make(name: str, params: dict[str, Any]) -> Editor:
        return make_endpoint_editor(name, stand_in, cache, params)

    refuse_probabilities(metrics, cases)
    for one in config.editors.values():
        refuse_weights(one.name, make(one.name, one.params), cases[0])
    return ApiEndpoint(access, stand_in, make)


class EndpointEngine:
    """Asks a model behind an endpoint; every reply is on record before it is used, so a run that was stopped goes on.

    Args:
        session: The open journal with the model's access.
    """

    def __init__(self, session: ModelSession) -> None:
        self._session = session
        self._size = 10**9 if session.access.batch else _CHUNK

    def expect(self, editors: Iterable[EditorLike]) -> None:
        """Nothing is to be prepared."""

    def work(self, editor: EditorLike, jobs: Sequence[Job]) -> Iterator[JobResult]:
        """See ``Engine``."""
        for start in range(0, len(jobs), self._size):
            yield from self._work_some(editor, jobs[start : start + self._size])

    def _work_some(self, editor: EditorLike, jobs: Sequence[Job]) -> list[JobResult]:
        """The edits of some cases, then all their texts at once."""
        begun = time.perf_counter()
        edits = [_try_edit(editor, job) for job in jobs]
        edited = (time.perf_counter() - begun) / len(jobs)
        constant = [
            None if isinstance(edit, str) else own_answers([edit], job.probes)
            for edit, job in zip(edits, jobs, strict=True)
        ]
        groups: list[tuple[Sequence[Probe], Rewrite]] = [
            ((), None) if isinstance(edit, str) or fixed is not None else (job.probes, edit.rewrite)
            for edit, fixed, job in zip(edits, constant, jobs, strict=True)
        ]
        answers_by_job, spent = self._answers(groups)
        out = []
        for job, edit, fixed, answers in zip(jobs, edits, constant, answers_by_job, strict=True):
            if isinstance(edit, str):
                out.append(JobResult(job, error=edit, seconds_edit=edited))
                continue
            notes = plain(edit.notes) | rewritten(job.probes, edit.rewrite)
            out.append(
                JobResult(
                    job,
                    answers if fixed is None else fixed,
                    notes,
                    seconds_edit=edited,
                    seconds_score=spent / len(jobs),
                )
            )
        return out

    def ask(self, jobs: Sequence[Job], *, rewrite: Rewrite) -> list[JobResult]:
        """See ``Engine``."""
        answers_by_job, spent = self._answers([(job.probes, rewrite) for job in jobs])
        return [
            JobResult(job, answers, rewritten(job.probes, rewrite), seconds_score=spent / len(jobs))
            for job, answers in zip(jobs, answers_by_job, strict=True)
        ]

    def _answers(self, groups: Sequence[tuple[Sequence[Probe], Rewrite]]) -> tuple[list[list[Answer]], float]:
        """The answers to each group of probes, and the seconds that all took."""
        begun = time.perf_counter()
        calls = [(probe, rewrite) for probes, rewrite in groups for probe in written_probes(probes)]

        async def gather() -> list[Answer]:
            async with self._session.client() as client:
                return await gather_all([_text(client, probe, rewrite) for probe, rewrite in calls])

        answers = iter(self._session.run(gather()) if calls else ())
        answers_by_job = [[next(answers) for _ in written_probes(probes)] for probes, _ in groups]
        return answers_by_job, time.perf_counter() - begun


def _try_edit(editor: EditorLike, job: Job) -> Edit | str:
    """A case's edit, or what is wrong with it: one case's fault is that case's result, and the others go on."""
    try:
        return require_prompt_edit(editor.edit([job.case.request]), f"'{editor.name}'")  # type: ignore[arg-type]
    except Exception as problem:  # noqa: BLE001
        return case_error(problem)


async def _text(client: Client, probe: GenerateProbe, rewrite: Rewrite) -> Answer:
    return read_text(probe, await client.ask(text_request(probe, rewrite)))


@contextmanager
def endpoint_engine(access: Access, journal: Path) -> Iterator[EndpointEngine]:
    """The engine, its journal open.

    Raises:
        UserError: the journal is in use or cannot be written.
    """
    try:
        journal.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"the folder cannot be made: {error.strerror}", where=str(journal.parent)) from None
    with model_session(journal, access) as session:
        yield EndpointEngine(session)


def estimate_calls(probes: Iterable[Probe], access: Access, *, methods: int) -> CallEstimate:
    """Calls and tokens of a run: every text by every method, replies of full length; without what edits put before."""
    counter = CallCounter()
    for probe in written_probes(list(probes)):
        counter.add(text_request(probe).messages, reply_tokens=probe.longest, times=methods)
    return counter.estimate(access.price())
