"""Make an edit and save it: the model, an adapter, or the changes; with a card, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from curation.files.atomic import atomic_folder, write_json, write_text
from curation.files.checksums import sha256
from evaluation.edits.routed_deltas import RoutedDelta
from evaluation.edits.weight_deltas import Delta, LowRankDelta
from evaluation.engines.base import plain
from evaluation.engines.environment import environment
from evaluation.metrics.base import Normalisation
from evaluation.models.loading import quiet_transformers
from evaluation.regimes.base import edits_digest
from evaluation.runs.config import DEFAULT_METRICS
from evaluation.runs.plan import load_metrics
from evaluation.saved_edits.delta_file import write_deltas
from evaluation.saved_edits.edit_scores import ScoreChange, ask_cases, score_changes
from evaluation.saved_edits.merged_weights import merge_into_weights, not_savable, refuse_shared
from evaluation.saved_edits.model_card import card
from evaluation.saved_edits.peft_adapter import adapter_factors, write_adapter
from schemas.cases import Case
from schemas.core.clock import now
from schemas.core.errors import UserError

if TYPE_CHECKING:
    from evaluation.editors.base import Editor
    from evaluation.edits.edit import Edit

SavedAs = Literal["model", "adapter", "deltas"]
ABOUT = "edit.json"


class SavedEdit(NamedTuple):
    """What was saved, and where; ``about`` is what ``edit.json`` holds."""

    folder: Path
    about: dict[str, Any]
    scores: list[ScoreChange]


def refuse_taken(folder: Path) -> None:
    """Refuse a place that holds anything, before work begins.

    Raises:
        UserError: it is a file, or a folder with something in it.
    """
    try:
        taken = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    except OSError as error:
        raise UserError(
            f"cannot be looked into: {error.strerror}", where=str(folder), fix="name a new folder"
        ) from None
    if taken:
        raise UserError("there is something here already", where=str(folder), fix="name a new or empty folder")


def save_edit(
    editor: Editor,
    cases: Sequence[Case],
    folder: Path | str,
    *,
    saved_as: SavedAs = "model",
    metrics: Sequence[str] = DEFAULT_METRICS,
    normalisation: Normalisation = "mean",
) -> SavedEdit:
    """Make one edit of all cases' facts, score it as it is saved, and save it.

    Args:
        editor: The method, set up for the model (``make_editor``). The model comes back bit for bit as it was.
        cases: What to edit and ask.
        folder: A new or empty folder. It takes its name when everything is in it.
        saved_as: ``model`` (safetensors that transformers loads), ``adapter`` (LoRA in the format of PEFT; low-rank
            edits only) or ``deltas`` (float32 changes of any kind).
        metrics: Names of metrics that read log-probabilities.
        normalisation: As for ``scedit run``.

    Raises:
        UserError: the folder holds something, the edit changes no weights, or cannot be saved so.
    """
    folder = Path(folder)
    refuse_taken(folder)
    if editor.routes:
        raise not_savable(editor.name)
    lm, kinds = editor.lm, load_metrics(metrics)
    before = ask_cases(lm, cases, kinds)
    edit = editor.edit([case.fact for case in cases])
    deltas = _changes(editor, edit, saved_as)
    with _in_force(editor, edit, deltas, saved_as) as rounding:
        scores = score_changes(cases, before, ask_cases(lm, cases, kinds), kinds, normalisation=normalisation)
        description = _description(editor, edit, cases, scores, saved_as, normalisation, rounding)
        with atomic_folder(folder) as partial:
            if saved_as == "adapter":
                description["rank"] = write_adapter(lm, deltas, partial).rank
            elif saved_as == "deltas":
                write_deltas(deltas, partial)
            else:
                _write_model(lm, partial)
            description["files"] = {p.name: sha256(p) for p in sorted(partial.iterdir()) if p.suffix == ".safetensors"}
            write_text(partial / "README.md", card(description, cases, scores), "the model card")
            write_json(partial / ABOUT, description)
            for file in partial.glob("*.safetensors"):  # safetensors makes them for their owner alone
                file.chmod((partial / ABOUT).stat().st_mode)
    return SavedEdit(folder, description, scores)


def _changes(editor: Editor, edit: Edit, saved_as: SavedAs) -> tuple[Delta, ...]:
    """An edit's changes of weights, refused where they cannot be saved as wanted."""
    if not edit.deltas:
        raise UserError(
            f"'{editor.name}' changes the prompt or nothing, not the weights: there is nothing to save",
            fix="use a method that changes weights, such as rome, memit, ft or lora",
        )
    deltas = tuple(edit.deltas)
    for delta in deltas:
        if isinstance(delta, RoutedDelta):
            raise not_savable(editor.name)
        refuse_shared(editor.lm.model, delta)
        if not delta.norm() < float("inf"):
            raise UserError(f"the change of '{delta.weight}' is not finite", fix="use other options of the method")
    if saved_as == "adapter":
        adapter_factors(editor.lm.model, deltas)
    return deltas


@contextmanager
def _in_force(editor: Editor, edit: Edit, deltas: Sequence[Delta], saved_as: SavedAs) -> Iterator[float]:
    """The model as whoever loads the folder will have it; the share of the edit that rounding took."""
    if saved_as == "model":
        with merge_into_weights(editor.lm.model, deltas) as rounding:
            yield rounding
        return
    with edit.on(editor.lm):
        yield 0.0


def _write_model(lm: Any, folder: Path) -> None:
    try:
        with quiet_transformers():
            lm.model.save_pretrained(folder)
            lm.tokenizer.save_pretrained(folder)
    except (ValueError, RuntimeError, NotImplementedError) as error:
        reason = " ".join(str(error).split())[:300]
        raise UserError(
            f"transformers cannot save this model: {reason}", fix="use --save-as adapter or deltas"
        ) from None


def _description(
    editor: Editor,
    edit: Edit,
    cases: Sequence[Case],
    scores: Sequence[ScoreChange],
    saved_as: SavedAs,
    normalisation: Normalisation,
    rounding: float,
) -> dict[str, Any]:
    lm = editor.lm
    return {
        "saved_as": saved_as,
        "made_at": now(zone="Z"),
        "method": str(editor.name),
        "method_version": int(editor.version),
        "params": editor.params.model_dump(mode="json"),
        "components": {str(name): str(value) for name, value in editor.components.items()},
        "model": lm.name,
        "model_revision": lm.revision,
        "dtype": str(lm.dtype).removeprefix("torch."),
        "facts_digest": edits_digest(cases),
        "facts": [case.fact.model_dump(mode="json", exclude_defaults=True) for case in cases],
        "weights": [
            {
                "weight": d.weight,
                "shape": list(d.shape),
                "rank": d.left.shape[1] if isinstance(d, LowRankDelta) else None,
                "norm": d.norm(),
            }
            for d in edit.deltas or ()
        ],
        "rounding": rounding,
        "notes": plain(edit.notes),
        "normalisation": normalisation,
        "scores": [_score(change) for change in scores],
        "environment": environment(str(lm.device), weights=lm.model),
    }


def _score(change: ScoreChange) -> dict[str, Any]:
    row = {"metric": change.metric.name, "version": change.metric.version, "better": change.metric.better}
    for name, summary in (("before", change.before), ("after", change.after)):
        data = summary._asdict()
        row[name] = {key: data[key] for key in ("mean", "ends", "kind", "cases", "items", "unscored", "ties")}
    return row
