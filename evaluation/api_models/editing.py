"""Closed models behind a chat endpoint (ScEdit Appendix G, Table 8): editing by what stands in the message.

Only methods whose edit lives in the prompt can be used: the method makes its edit as for any model, the edited message
goes to the endpoint, and the reply is text. No log-probabilities are read, so ES, S-ES and S-NS do not exist here; what
the scripts name first takes the place of S-ES, as S-ES-gen does for open models. The figures are not to be compared
with those of edited open models (Table 3).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel

from construction.llm.call_lineage import lineage_of_call
from construction.llm.prompt_text import tidy
from construction.llm.step import Message, PlainText, PromptStep, Request
from evaluation.editors import EDITORS
from evaluation.metrics.text_level.probes import GO_ON, objects, questions
from evaluation.metrics.text_level.script_parser import (
    INSTRUCTION,
    MentionedObjects,
    broken_rules,
    declines,
    names,
    parse,
)
from schemas.cases import Case
from schemas.core.config import validate
from schemas.core.errors import DataError, UserError
from schemas.core.ids import slug
from schemas.generated_scripts import GeneratedScript
from schemas.lineage import Lineage

if TYPE_CHECKING:
    from construction.llm.client import Client, Reply
    from curation.files.artifact_cache import Cache
    from evaluation.editors.base import Editor
    from evaluation.edits.edit import Edit

NOT_COMPARABLE = (
    "These are closed models edited by their prompt (as in Table 8): not to be compared with edited open models "
    "(Table 3), which are far smaller and are changed in their weights"
)
SCRIPT_TOKENS, STEP_TOKENS = 256, 24


class PromptOnlyModel:
    """Stands where a method expects the model's weights; says what is wrong when they are asked for.

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


class WeightsNeededError(UserError):
    """A method changes more than the prompt."""


def needs_weights(who: str) -> WeightsNeededError:
    """The error for a method that changes more than the prompt."""
    return WeightsNeededError(
        f"{who} needs the weights of the model, which a closed model does not show",
        allowed="methods whose edit is a text before the prompt, such as none, prompt, ike, script_ike",
    )


def make_editor(
    name: str, model: str, cache: Cache, overrides: Mapping[str, Any] | None = None, *, support: Sequence[Case] = ()
) -> Editor:
    """A method set up for a model without weights, prepared with the support.

    Raises:
        UserError: unknown method or option, or a method that needs the weights.
    """
    kind: type[Editor] = EDITORS.get(name)
    try:
        params = validate(kind.Params, dict(overrides or {}), where=f"options of '{name}'")
    except DataError:
        if overrides:
            raise
        raise needs_weights(f"'{name}'") from None  # a place in the model has no default
    editor = kind(params, PromptOnlyModel(model), cache)  # type: ignore[arg-type]
    editor.prepare(support)
    return editor


def require_prompt_edit(edit: Edit, who: str) -> Edit:
    """The edit, if it changes nothing but the prompt.

    Raises:
        UserError: it changes weights.
    """
    if edit.deltas is None or len(edit.deltas):
        raise needs_weights(f"'{who}'")
    return edit


class ApiRequest(NamedTuple):
    """One text that is asked for.

    Attributes:
        case: The case that is edited.
        editor: Label of the method.
        item: Key of the question, or of the script prompt that is continued.
        text: The message, edited.
        edited: Whether the edit changes the message.
        goes_on: A script prompt is continued, instead of a question answered.
        place: Number of the prompt in the case, where one is continued.
    """

    case: Case
    editor: str
    item: str
    text: str
    edited: bool
    goes_on: bool = False
    place: int = 0


class ApiScriptStep(PromptStep[ApiRequest, GeneratedScript]):
    """Asks a closed model for a script, or for the rest of a cut step; one message, no system text.

    Args:
        model: Its name in records.
        temperature: As the endpoint takes it.
    """

    name, version, reply = "closed_script", 1, PlainText

    def __init__(self, model: str, *, temperature: float = 0.0) -> None:
        self.model, self.temperature = model, temperature

    def prompt(self, item: ApiRequest) -> list[Message]:
        """Instruction, then the edited question or prompt, as for open models with a chat template."""
        return [Message(role="user", content=f"{GO_ON if item.goes_on else INSTRUCTION}\n\n{item.text}")]

    def sampled(self, item: ApiRequest, sample: int = 0) -> Request:
        """The request for a text."""
        token_limit = STEP_TOKENS if item.goes_on else SCRIPT_TOKENS
        return self.request(
            item, parameters={"temperature": self.temperature, "max_tokens": token_limit}, sample=sample
        )

    def parse(self, item: ApiRequest, reply: BaseModel) -> list[GeneratedScript]:
        """The script as a record."""
        assert isinstance(reply, PlainText)
        return [self.script(item, reply.text)]

    def script(self, item: ApiRequest, text: str, *, sample: int = 0, declined: bool = False) -> GeneratedScript:
        """A record of a text, or of a refusal by the endpoint."""
        return GeneratedScript(
            key=f"closed/{slug(self.model)}/{slug(item.editor)}/{item.item}/{sample}",
            case=item.case.key,
            fact=item.case.fact.key,
            question=item.item,
            model=self.model,
            editor=item.editor,
            edited=item.edited,
            sample=sample,
            text=text,
            steps=parse(text).steps,
            refused=declined or declines(text),
        )


def api_requests(cases: Iterable[Case], editors: Mapping[str, Editor], *, goes_on: bool = True) -> list[ApiRequest]:
    """Everything that is asked: each question of each case under each method, and each script prompt.

    Raises:
        UserError: a method changes weights, or has nothing to demonstrate with.
    """
    out = []
    for case in cases:
        for label, editor in editors.items():
            edit = require_prompt_edit(editor.edit([case.fact]), label)
            for key, text in questions(case):
                prompt_text = edit.rewrite(tidy(text))
                out.append(ApiRequest(case, label, key, prompt_text, prompt_text != tidy(text)))
            for n, prompt in enumerate(case.prompts if goes_on else ()):
                prompt_text = edit.rewrite(prompt.text)
                out.append(ApiRequest(case, label, prompt.key, prompt_text, prompt_text != prompt.text, True, n))
    return out


class ApiAnswer(NamedTuple):
    """One text that came back.

    Attributes:
        ask: What was asked.
        status: ``ok``, ``refused``, ``permanent`` (the endpoint will not take it) or ``unanswered`` (ask again).
        text: The reply.
        cut: Its length was limited.
        script: The record, of answered questions and refusals.
        line: Its lineage.
    """

    ask: ApiRequest
    status: str
    text: str
    cut: bool
    script: GeneratedScript | None
    line: Lineage | None

    @property
    def mentioned(self) -> MentionedObjects:
        """Which object the text names first, and which at all."""
        new, old = objects(self.ask.case, self.ask.case.prompts[self.ask.place] if self.ask.goes_on else None)
        return names(self.text, new, old)

    @property
    def in_format(self) -> bool:
        """Whether it keeps the format of Appendix A."""
        return not broken_rules(self.text, ended="length" if self.cut else "eos")


async def request_text(step: ApiScriptStep, ask: ApiRequest, client: Client) -> ApiAnswer:
    """One text of a closed model."""
    reply = await client.ask(step.sampled(ask))
    text, cut = (reply.value.text, reply.value.cut) if isinstance(reply.value, PlainText) else ("", False)
    keep = not ask.goes_on and reply.status in ("ok", "refused")
    script = step.script(ask, text, declined=reply.status == "refused") if keep else None
    line = _line(script, step, reply, client) if script is not None else None
    return ApiAnswer(ask, reply.status, text, cut, script, line)


def _line(script: GeneratedScript, step: ApiScriptStep, reply: Reply, client: Client) -> Lineage:
    detail = {"closed": True, "temperature": step.temperature}
    return lineage_of_call(script.id, "generate", reply, client, step.label, detail=detail)
