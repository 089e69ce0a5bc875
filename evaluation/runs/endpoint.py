"""A model behind an endpoint as the writer of a run: ``model = "endpoint:NAME"``, and the table ``[endpoint]``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from curation.files.local_models import names_a_file
from evaluation.editors import EDITORS
from evaluation.inference.answering import scored_probes
from evaluation.metrics.base import Metric
from schemas.cases import AnyCase
from schemas.core.config import Options, validate
from schemas.core.errors import DataError, ModelError, UserError
from schemas.probes import GenerateProbe, ScoreProbe

if TYPE_CHECKING:
    from construction.llm.connection import Access
    from curation.files.artifact_cache import Cache
    from evaluation.editors.base import Editor
    from evaluation.edits.edit import Edit
    from schemas.answers import Answer

ENDPOINT = "endpoint:"
"""How the name of a model behind an endpoint begins in a run's configuration."""
_Positive = Annotated[float, Field(gt=0)]


class EndpointChoice(Options):
    """How an endpoint is asked: the options of every command that asks a model, as a table of a run.

    Attributes:
        base_url: Address up to ``/v1``; that of OpenAI where it is not given.
        api_key_env: Environment variable with the key.
        concurrency: Calls in flight at once.
        rpm, tpm: Requests and tokens a minute at most.
        timeout: Seconds until a call is given up.
        max_cost, max_tokens: Budget of the run's journal, in US dollars and tokens.
        prices: A price table.
        attempts: Times to ask where a reply is empty or cut off.
        batch: Use the Batch API.
        journal: The replies on record; ``llm.jsonl`` in the run's folder where it is not given.
    """

    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    concurrency: Annotated[int, Field(ge=1, le=512)] = 8
    rpm: _Positive | None = None
    tpm: _Positive | None = None
    timeout: _Positive | None = None
    max_cost: Annotated[float, Field(ge=0)] | None = None
    max_tokens: Annotated[int, Field(ge=0)] | None = None
    prices: Path | None = None
    attempts: Annotated[int, Field(ge=1, le=10)] | None = None
    batch: bool = False
    journal: Path | None = None


def is_endpoint(model: str) -> bool:
    """Whether a run's model is one behind an endpoint.

    Example:
        >>> is_endpoint("endpoint:gpt-4.1-mini"), is_endpoint("embedded")
        (True, False)
    """
    return model.startswith(ENDPOINT)


def endpoint_access(model: str, choice: EndpointChoice) -> Access:
    """How the endpoint of a run's model is asked.

    Raises:
        UserError: no name, a model of this machine, or a budget in dollars without a price.
    """
    from construction.llm.connection import Access

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
    """What a run asks of a model behind an endpoint (``evaluation.engines.protocols.Scorer``): its name and no weights.

    Texts are written by ``EndpointEngine``.

    Args:
        model: As the run's configuration names it.
    """

    device, other_attention, weights = "endpoint", "", None

    def __init__(self, model: str) -> None:
        self.name, self.revision = model.removeprefix(ENDPOINT), model
        self.editable = PromptOnlyModel(self.name)

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


def make_endpoint_editor(name: str, model: EndpointModel, cache: Cache, params: Mapping[str, Any]) -> Editor:
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
        return kind(options, model.editable, cache)  # type: ignore[arg-type]
    except WeightsNeededError:
        raise needs_weights(f"'{name}'") from None


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
