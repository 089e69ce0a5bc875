"""A run on a model behind an endpoint (``model = "endpoint:NAME"``): edits in the prompt, texts by journaled calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import override

from construction.llm.client import Client, Reply, gather_all
from construction.llm.connection import ModelSession, model_session
from construction.llm.cost.estimates import CallCounter, CallEstimate
from construction.llm.endpoint import Access
from construction.llm.step import Message, PlainText, Request
from curation.files.artifact_cache import Cache
from curation.files.local_models import names_a_file
from curation.files.model_packages import cache_dir
from evaluation.editors import EDITORS
from evaluation.editors.base import Editor
from evaluation.edits.edit import Edit, own_answers
from evaluation.engines.base import Engine, Job, JobResult, plain, rewritten
from evaluation.inference.answering import scored_probes, written_probes
from evaluation.metrics.base import Metric
from evaluation.metrics.text_level import CONTINUED, GO_ON
from evaluation.runs.config import ENDPOINT, EndpointChoice, RunConfig
from schemas.answers import Answer, GeneratedText
from schemas.cases import AnyCase
from schemas.core.config import validate
from schemas.core.errors import DataError, ModelError, UserError, one_line
from schemas.probes import GenerateProbe, Probe, ScoreProbe, ThoughtAsked, instructed
from schemas.text.thoughts import split_thought

if TYPE_CHECKING:
    from evaluation.editors.base import Editor

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


def open_endpoint(config: RunConfig, metrics: Sequence[Metric], cases: Sequence[AnyCase]) -> EndpointModel:
    """The model behind a run's endpoint; what it cannot do is refused here, before any call.

    Args:
        config: The run.
        metrics: Of the run.
        cases: Of the run.

    Raises:
        UserError: no name, a model of this machine, a method that needs weights, a metric that needs probabilities, or
            a budget in dollars without a price.
    """
    model = EndpointModel(config.model, endpoint_access(config.model, config.endpoint or EndpointChoice()))
    refuse_probabilities(metrics, cases)
    for one in config.editors.values():
        refuse_weights(one.name, model.make(one.name, one.params), cases[0])
    return model


class EndpointEngine(Engine):
    """Asks a model behind an endpoint; every reply is stored before it is used, so a run that was stopped goes on.

    Args:
        session: The open journal with the model's access.
    """

    def __init__(self, session: ModelSession) -> None:
        self._session = session
        self._size = 10**9 if session.access.batch else _CHUNK

    @override
    def work(self, editor: Editor, jobs: Sequence[Job]) -> Iterator[JobResult]:
        for start in range(0, len(jobs), self._size):
            yield from self._work_some(editor, jobs[start : start + self._size])

    def _work_some(self, editor: Editor, jobs: Sequence[Job]) -> list[JobResult]:
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

    @override
    def ask(self, jobs: Sequence[Job], *, rewrite: Rewrite) -> list[JobResult]:
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


def _try_edit(editor: Editor, job: Job) -> Edit | str:
    """A case's edit, or what is wrong with it: one case's fault is that case's result, and the others go on."""
    try:
        return require_prompt_edit(editor.edit([job.case.request]), f"'{editor.name}'")  # type: ignore[arg-type]
    except Exception as problem:  # noqa: BLE001
        return one_line(problem)


async def _text(client: Client, probe: GenerateProbe, rewrite: Rewrite) -> Answer:
    return read_text(probe, await client.ask(text_request(probe, rewrite)))


@contextmanager
def open_journal(config: RunConfig, access: Access) -> Iterator[ModelSession]:
    """The journal of a run's replies, ``llm.jsonl`` in its folder if the configuration names none.

    Raises:
        UserError: the journal is in use or cannot be written.
    """
    journal = (config.endpoint or EndpointChoice()).journal or config.out / "llm.jsonl"
    try:
        journal.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"the folder cannot be made: {error.strerror}", where=str(journal.parent)) from None
    with model_session(journal, access) as session:
        yield session


def estimate_calls(probes: Iterable[Probe], access: Access) -> CallEstimate:
    """Calls and tokens of texts, replies of full length; without what edits put before the prompts."""
    counter = CallCounter()
    for probe in written_probes(list(probes)):
        counter.add(text_request(probe).messages, reply_tokens=probe.longest)
    return counter.estimate(access.price())


def endpoint_access(model: str, choice: EndpointChoice) -> Access:
    """How the endpoint of a run's model is asked.

    Raises:
        UserError: no name, a model of this machine, or a budget in dollars without a price.
    """
    name = model.removeprefix(ENDPOINT)
    if not name:
        raise UserError("'endpoint:' names no model", where="model", allowed="endpoint:NAME, the name at its endpoint")
    if choice.base_url is None and names_a_file(name):
        raise UserError(
            f"'{name}' is a model on this machine, and no endpoint is named",
            where="model",
            fix=f"set endpoint.base_url, or run the model itself: model = '{name}'",
        )
    options = choice.model_dump(exclude={"api_key_env", "journal"})
    access = Access(model=name, key_name=choice.api_key_env, **options)
    access.check()
    return access


class WeightsNeededError(UserError):
    """A method changes more than the prompt."""


def needs_weights(who: str) -> WeightsNeededError:
    """The error for a method that changes more than the prompt."""
    return WeightsNeededError(
        f"{who} needs the weights of the model, which a model behind an endpoint does not show",
        allowed="methods whose edit is a text before the prompt, such as none, prompt, ike, script_ike",
    )


def require_prompt_edit(edit: Edit, who: str) -> Edit:
    """The edit, if it changes nothing but the prompt.

    Raises:
        UserError: it changes weights.
    """
    if edit.deltas is None or len(edit.deltas):
        raise needs_weights(f"'{who}'")
    return edit


class PromptOnlyModel:
    """Stands for the model where a method expects weights; any use of them raises an error.

    Args:
        name: The model's name at its endpoint.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        import torch

        self.device = torch.device("cpu")  # where a method's own encoder computes

    def __getattr__(self, what: str) -> Any:
        if what.startswith("__"):
            raise AttributeError(what)
        raise needs_weights("this method")


class EndpointModel:
    """What a run asks of a model behind an endpoint (``inference.answering.Scorer``): its name and no weights.

    Texts are written by ``EndpointEngine``.

    Args:
        model: As the run's configuration names it.
        access: How it is asked.
    """

    device, other_attention, weights = "endpoint", "", None

    def __init__(self, model: str, access: Access) -> None:
        self.name, self.revision, self.access = model.removeprefix(ENDPOINT), model, access
        self.editable, self.has_chat = PromptOnlyModel(self.name), False  # it is asked in messages anyway
        self._cache = Cache(cache_dir())

    def make(self, name: str, params: Mapping[str, Any]) -> Editor:
        """A method set up for a model without weights.

        Raises:
            UserError: an unknown method or option, or a method that needs the weights.
        """
        kind: type[Editor] = EDITORS.get(name)
        try:
            options = validate(kind.Params, dict(params), where=f"editors.{name}.params")
        except DataError:
            if params:
                raise
            raise needs_weights(f"'{name}'") from None  # a place in the model has no default
        try:
            return kind(options, self.editable, self._cache)  # type: ignore[arg-type]
        except WeightsNeededError:
            raise needs_weights(f"'{name}'") from None

    def score(self, probes: Sequence[ScoreProbe], **_: Any) -> list[Answer]:
        """Log-probabilities are not to be had.

        Raises:
            ModelError: always.
        """
        raise ModelError("an endpoint gives no probabilities of targets", where=self.name)

    def write(self, probes: Sequence[GenerateProbe], **_: Any) -> list[Answer]:
        """Texts come from the engine.

        Raises:
            ModelError: always.
        """
        raise ModelError("texts of a model behind an endpoint are written by its engine", where=self.name)


def refuse_weights(name: str, editor: Editor, case: AnyCase) -> None:
    """Refuse, before any call, a method that changes more than the prompt: it tries to make the edit of one case.

    Raises:
        UserError: it does.
    """
    try:
        edit = editor.edit([case.request])
    except WeightsNeededError:
        raise needs_weights(f"'{name}'") from None
    except Exception:  # noqa: BLE001 - it is not prepared yet, or this case has a fault of its own: no matter of weights
        return
    require_prompt_edit(edit, name)


def refuse_probabilities(metrics: Sequence[Metric], cases: Sequence[AnyCase]) -> None:
    """Refuse, before any call, metrics that need probabilities.

    Raises:
        UserError: names the first of them, and those of the run that read texts.
    """
    reading = {m.name: all(not scored_probes(m.probes(case)) for case in cases) for m in metrics}
    if wrong := [name for name, texts in reading.items() if not texts]:
        raise UserError(
            f"the metric '{wrong[0]}' reads probabilities, which an endpoint does not give",
            where="metrics",
            allowed=", ".join(name for name, texts in reading.items() if texts)
            or "metrics of written answers, such as s_es_gen, refusal_rate, ev_fact",
            fix="leave it out",
        )
