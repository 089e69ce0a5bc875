"""An edit of a model: tried in a ``with`` block, saved, or taken home as a LoRA adapter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from scedit.facts import python_errors, read
from scedit.models import language_model, named
from schemas.core.errors import UserError

if TYPE_CHECKING:
    from peft import LoraConfig
    from torch import Tensor

    from evaluation.editors.base import Editor
    from evaluation.edits.edit import Edit
    from schemas.cases import Case


class LoraAdapter(NamedTuple):
    """An edit as PEFT takes it: ``set_peft_model_state_dict(get_peft_model(model, config), weights)``.

    Attributes:
        config: Rank and target maps.
        weights: ``lora_A`` [rank, in] and ``lora_B`` [out, rank] of every map, float32.
    """

    config: LoraConfig
    weights: dict[str, Tensor]


class ModelEdit:
    """One edit that makes all its facts true; the model stays as it is.

    Attributes:
        edit: The edit as data: ``deltas`` (changes of weights), ``notes`` (norms, losses, steps).
        cases: What was edited.
    """

    def __init__(self, editor: Editor, edit: Edit, cases: tuple[Case, ...]) -> None:
        self._editor, self.edit, self.cases = editor, edit, cases

    def __repr__(self) -> str:
        """Method, number of facts, model."""
        return f"ModelEdit({self._editor.name}, {len(self.cases)} facts, {self._editor.lm.name})"

    @contextmanager
    def on(self, model: Any = None) -> Iterator[Any]:
        """The edited model for the time of a ``with`` block; taken off bit for bit at its end.

        Args:
            model: The model that the edit was made for; it may be left out.

        Raises:
            UserError: another model.
        """
        lm = self._editor.lm
        if model is not None and model is not lm.model:
            raise UserError("the edit was made for another model", fix="make it for this one: scedit.edit(model, ...)")
        with self.edit.on(lm) as edited:
            yield edited.model

    def rewrite(self, prompt: str) -> str:
        """The prompt as the edited model is to see it: itself, unless the method edits in context."""
        return self.edit.rewrite(prompt)

    @python_errors
    def save(self, folder: Path | str, *, saved_as: Literal["model", "adapter", "deltas"] = "model") -> Path:
        """Save it with a model card that says how it scores, as ``scedit edit`` does; the edit is made anew.

        Args:
            folder: A new or empty folder.
            saved_as: The edited model for transformers, a LoRA adapter for PEFT and vLLM, or the changes of weights.

        Raises:
            UserError: the folder holds something, or the edit cannot be saved so.
        """
        from evaluation.saved_edits.save import SavedAs, save_edit
        from schemas.core.registry import check_choice

        check_choice(saved_as, get_args(SavedAs), "saved_as")
        return save_edit(self._editor, self.cases, folder, saved_as=saved_as).folder

    def as_lora(self) -> LoraAdapter:
        """The edit as a LoRA adapter in memory, exact; ``save(folder, saved_as="adapter")`` writes one.

        Raises:
            UserError: the edit is no low-rank change of linear maps.
        """
        from peft import LoraConfig

        from evaluation.saved_edits.formats import adapter_factors

        found = adapter_factors(self._editor.lm.model, tuple(self.edit.deltas or ()))
        config = LoraConfig(
            r=found.rank, lora_alpha=found.rank, target_modules=list(found.down), fan_in_fan_out=found.transposed
        )
        return LoraAdapter(config, found.tensors())


@python_errors
def edit(model: Any, tokenizer: Any, facts: Any, method: str | type[Editor] = "rome", **settings: Any) -> ModelEdit:
    """Edit facts into a model, all together.

    Args:
        model: A causal language model of transformers, which is put into eval mode, gradients of its weights off; or a
            name: ``embedded``, a folder, a hub name.
        tokenizer: Its fast tokenizer; None with a name.
        facts: What ``scedit.read`` returns or takes; those without a new object are left out.
        method: An editing method (``scedit model editors`` lists them), or a class of your own.
        settings: Its settings, such as ``layer=17``.

    Raises:
        UserError: unknown method or setting, a model that it cannot edit, or facts that contradict each other.

    Example:
        >>> found = edit("embedded", None, facts, "ft")  # doctest: +SKIP
        >>> with found.on() as edited:  # doctest: +SKIP
        ...     edited.generate(...)
    """
    from curation.case_sources.support import cases_from_facts
    from evaluation.editors import EDITORS
    from evaluation.editors.base import Editor
    from evaluation.editors.presets import make_editor
    from evaluation.edits.edit import check_edit
    from evaluation.runs.plan import plain_params
    from evaluation.saved_edits.save import cases_to_edit

    cases = cases_to_edit(cases_from_facts(read(facts).require()), where="the facts")
    editor = make_editor(named(method, EDITORS, Editor), language_model(model, tokenizer), overrides=settings)
    if editor.wants_support(plain_params(editor)):
        fix = "use evaluate(..., support='shipped'), or name a trained file in its settings where it has one"
        raise UserError(f"'{editor.name}' learns from declared cases, and an edit by hand has none", fix=fix)
    return ModelEdit(editor, check_edit(editor.edit([case.fact for case in cases])), cases)
