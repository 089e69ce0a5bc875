"""What the checks here share: a scorer by name, objects that compete, a fact's prompts as probes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from typing_extensions import override

from curation.checks.store_checks import CheckContext, StoreCheck
from curation.files.model_packages import EMBEDDED, EMBEDDED_LABEL
from schemas.answers import Answer
from schemas.core.config import Options
from schemas.core.records import Record
from schemas.facts import Fact, Object
from schemas.probes import ScoreProbe
from schemas.scripts import ScriptPrompt
from schemas.verdicts import Verdict

_REMEMBERED = 4096  # answers: plain prompts come back, script prompts do not


class ModelParams(Options):
    """Settings of a check that scores with a model.

    Attributes:
        device: ``auto``, ``cpu``, ``cuda`` ...
        dtype: ``float32``, ``bfloat16`` or ``float16``.
    """

    device: str = "auto"
    dtype: str = "float32"


class ModelCheck(StoreCheck):
    """Base of checks that score with a language model, which is loaded when the first item is judged.

    Args:
        params: Settings.
        model: ``embedded``, a folder, a GGUF file or a hub name.
        lm: A scorer (``inference.answering.ModelScorer``) that is already there, used instead of loading ``model``.
    """

    default_model = EMBEDDED

    class Params(ModelParams):
        """How the model is loaded."""

    def __init__(self, params: Options | None = None, *, model: str | None = None, lm: Any = None) -> None:
        super().__init__(params, model=model)
        self._lm = lm

    @property
    def model(self) -> str | None:
        """The model's name in verdicts."""
        return None if self.model_name is None else model_label(self.model_name)

    @property
    def lm(self) -> Any:
        """The scorer, loaded on first use."""
        if self._lm is None:
            from evaluation.inference.answering import ModelScorer
            from evaluation.models.language_model import LM

            assert self.model_name is not None
            lm = LM.load(self.model_name, device=self.params.device, dtype=self.params.dtype)
            self._lm = ModelScorer(lm)
        return self._lm


class MeasuredCheck(ModelCheck):
    """Base of checks that measure an item by the answers to probes, which are remembered over the items of one run."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._memory: dict[str, Answer] = {}

    def probes(self, item: Record, around: CheckContext) -> list[ScoreProbe] | str:
        """What to ask about an item (nothing: an empty list), or why it cannot be measured."""
        raise NotImplementedError

    def measured(self, item: Record, probes: Sequence[ScoreProbe], answers: Sequence[Answer]) -> Verdict:
        """The verdict that follows from the answers."""
        raise NotImplementedError

    @override
    def judge(self, items: Sequence[Record], around: CheckContext) -> Iterator[Verdict]:
        asked = [self.probes(item, around) for item in items]
        flat = {probe.id: probe for one in asked if not isinstance(one, str) for probe in one}
        new = [probe for probe in flat.values() if probe.id not in self._memory]
        if new:
            self._memory |= zip((probe.id for probe in new), self.lm.score(new), strict=True)
        answers = self._memory
        self._memory = dict(list(answers.items())[-_REMEMBERED:])
        for item, one in zip(items, asked, strict=True):
            if isinstance(one, str):
                yield self.verdict(item, "unscored", one)
                continue
            mine = [answers[probe.id] for probe in one]
            wrong = next((answer.error for answer in mine if answer.error), None)
            yield self.verdict(item, "unscored", wrong) if wrong else self.measured(item, one, mine)

    @override
    def cost(self, items: Sequence[Record], around: CheckContext) -> Mapping[str, Any]:
        asked = [self.probes(item, around) for item in items]
        return {"scored objects": sum(len(p.targets) for one in asked if not isinstance(one, str) for p in one)}


class PromptCheck(MeasuredCheck):
    """Base of checks that measure script prompts."""

    on = "prompt"

    def ask(self, prompt: ScriptPrompt, fact: Fact, around: CheckContext) -> list[ScoreProbe] | str:
        """What to ask about a prompt of a fact, or why it cannot be measured."""
        raise NotImplementedError

    def probes(self, item: Record, around: CheckContext) -> list[ScoreProbe] | str:
        """The probes of a prompt, whose fact must be there."""
        assert isinstance(item, ScriptPrompt)
        fact = around.facts.get(item.fact)
        return f"the fact '{item.fact}' is not in the store" if fact is None else self.ask(item, fact, around)


def model_label(name: str) -> str:
    """How verdicts call a model: a folder or file goes by its last part, the embedded model by its full name.

    Example:
        >>> model_label("models/gpt2-xl"), model_label("embedded")
        ('models/gpt2-xl', 'SmolLM2-135M-Instruct (embedded, Q4_1)')
    """
    if name == EMBEDDED:
        return EMBEDDED_LABEL
    path = Path(name).expanduser()
    return path.resolve().name if path.exists() else name


def rivals(fact: Fact, objects: Iterable[Object], *, limit: int, apart: Iterable[Object] = ()) -> tuple[Object, ...]:
    """The first objects of a fact's relation, at most so many, that share no name with its old one or with ``apart``.

    Args:
        fact: The fact.
        objects: Those of its relation in the order drawn for it (``CheckContext.objects``).
        limit: At most so many.
        apart: Objects that are compared anyway.
    """
    taken = {name.casefold() for one in (fact.old, *apart) for name in one.names}
    return tuple(islice((o for o in objects if not taken & {name.casefold() for name in o.names}), limit))


def other_objects(fact: Fact, around: CheckContext, *, limit: int) -> tuple[str, ...]:
    """What a fact's old object is compared with, at most so many: the new object, then rivals."""
    apart = [fact.new] if fact.new else []
    more = rivals(fact, around.objects[fact.relation.id], limit=limit - len(apart), apart=apart)
    return tuple(one.text for one in (*apart, *more))


def no_other(fact: Fact) -> str:
    """Why nothing can be compared."""
    return f"no other object of the relation {fact.relation.id} is in the store"
