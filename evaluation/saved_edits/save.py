"""Make an edit and save it: the model, an adapter, or the changes; with a card, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from curation.case_sources.support import cases_from_facts
from curation.files.artifact_cache import sha256
from curation.files.atomic import atomic_folder, write_json, write_text
from curation.files.model_packages import quiet_transformers
from curation.files.templates import templates_in
from curation.splits.partition import shared_values
from curation.splits.split_file import load_split
from evaluation.edits.routed_deltas import RoutedDelta
from evaluation.edits.weight_deltas import Delta, LowRankDelta
from evaluation.engines.base import Job, plain
from evaluation.engines.environment import environment
from evaluation.engines.fast import FastEngine
from evaluation.metrics.base import Answers, Metric, Normalisation, Summary
from evaluation.metrics.generation import load_metrics
from evaluation.models.language_model import LM
from evaluation.regimes.base import edits_digest
from evaluation.report.formatting import mean_with_interval
from evaluation.runs.config import TEACHER_FORCED
from evaluation.runs.plan import ask
from evaluation.saved_edits.formats import (
    adapter_factors,
    merge_into_weights,
    not_savable,
    refuse_shared,
    vllm_rank,
    write_adapter,
    write_deltas,
)
from schemas.cases import Case
from schemas.core.clock import now
from schemas.core.errors import UserError
from schemas.text.counting import counted
from schemas.text.escaping import markdown_code

if TYPE_CHECKING:
    from evaluation.editors.base import Editor
    from evaluation.edits.edit import Edit


def open_edit_cases(source: str, *, limit: int | None = None) -> tuple[Case, ...]:
    """The cases that a source names, in order of their keys; all of them are edited together.

    Neighbours that are edited themselves are left out: that they change is wanted.

    Args:
        source: A shipped split, a frozen split file (which also holds script prompts), or a file of facts in any
            format of ``scedit data formats``.
        limit: Take at most so many.

    Raises:
        UserError: no such file, no fact with a new object in it, or two that contradict each other.
    """
    return cases_to_edit([case for case in _read(source) if case.fact.new is not None][:limit], where=source)


def cases_to_edit(cases: Sequence[Case], *, where: str) -> tuple[Case, ...]:
    """Cases that are edited together, without the neighbours that are edited themselves.

    Args:
        cases: All of them.
        where: What an error names.

    Raises:
        UserError: there is none, or two contradict each other.
    """
    if not cases:
        raise UserError("no fact has a new object: there is nothing to edit", where=where, fix="give it facts to edit")
    edited = _edited(cases, where)
    return tuple(_without_edited(case, edited) for case in cases)


def _read(source: str) -> Sequence[Case]:
    from curation.loaders import load
    from curation.shipped import SHIPPED_NAMES, SPLITS, shipped_split

    if source in SPLITS:
        return shipped_split(source).cases
    path = Path(source)
    if source != "shipped" and not path.is_file():
        raise UserError(
            f"there is no file '{source}'", allowed=f"a file of facts, a split file, {SHIPPED_NAMES}, shipped"
        )
    if source != "shipped" and _is_split(path):
        return load_split(path).cases
    return cases_from_facts(load(source).require())


def _is_split(path: Path) -> bool:
    """Whether a file begins as a frozen split does."""
    try:
        with path.open(encoding="utf-8") as file:
            head = json.loads(file.readline(1_000_000))
    except (OSError, ValueError, RecursionError):
        return False  # the loaders say what is wrong
    return isinstance(head, dict) and {"split", "digest", "cases"} <= head.keys()


def _edited(cases: Sequence[Case], source: str) -> set[tuple[str, ...]]:
    """What is edited, by subject and relation.

    Raises:
        UserError: one fact is to get two new objects.
    """
    known: dict[tuple[str, ...], Case] = {}
    for case in cases:
        for value in shared_values(case.fact, ["fact"]):
            other = known.setdefault(value, case)
            if other.fact.new_object.text != case.fact.new_object.text:
                raise UserError(
                    f"'{other.fact.key}' and '{case.fact.key}' give one fact two new objects, "
                    f"{other.fact.new_object.text!r} and {case.fact.new_object.text!r}",
                    where=source,
                    fix="keep one of them",
                )
    return set(known)


def _without_edited(case: Case, edited: set[tuple[str, ...]]) -> Case:
    neighbours = tuple(n for n in case.neighbours if edited.isdisjoint(shared_values(n.fact, ["fact"])))
    return case if len(neighbours) == len(case.neighbours) else case.model_copy(update={"neighbours": neighbours})


class ScoreChange(NamedTuple):
    """A metric over all cases before an edit and with it; ``after.cases`` cases have something it asks about."""

    metric: Metric
    before: Summary
    after: Summary


def ask_cases(lm: LM, cases: Sequence[Case], metrics: Sequence[Metric]) -> list[Answers]:
    """The answers of the model as it stands, a mapping by probe for every case."""
    jobs = [Job(case.key, case, ask(case, metrics)) for case in cases]
    results = FastEngine(lm).ask(jobs, rewrite=None)
    return [{answer.probe: answer for answer in done.answers} for done in results]


def score_changes(
    cases: Sequence[Case],
    before: Sequence[Answers],
    after: Sequence[Answers],
    metrics: Sequence[Metric],
    *,
    normalisation: Normalisation = "mean",
) -> list[ScoreChange]:
    """Every metric that asks something about these cases, from the answers before and after; the others are left out.

    Args:
        cases: What was edited.
        before: Answers of the unedited model, as from ``ask_cases``.
        after: Answers of the edited one.
        metrics: Metrics that read log-probabilities.
        normalisation: ``mean`` per token or ``sum``.
    """
    out = []
    for metric in metrics:
        measured = [] if metric.unedited is not None else zip(cases, before, strict=True)
        then = [metric.score(c, b, b, normalisation) for c, b in measured]
        now = [metric.score(c, a, b, normalisation) for c, a, b in zip(cases, after, before, strict=True)]
        change = ScoreChange(metric, metric.summarise(then), metric.summarise(now))
        if change.after.items or change.after.unscored:
            out.append(change)
    return out


SHOWN = 50
"""Facts that the card lists; ``edit.json`` has all."""


def card(description: dict[str, Any], cases: Sequence[Case], scores: Sequence[ScoreChange]) -> str:
    """The text of README.md, by the template ``card.md.jinja``.

    Args:
        description: What ``edit.json`` holds.
        cases: What was edited.
        scores: Metrics before and after.
    """
    filters = {"quote": _quoted, "code": markdown_code, "counted": counted, "mean": mean_with_interval}
    served = vllm_rank(description["rank"]) if description["saved_as"] == "adapter" else None
    template = templates_in(Path(__file__).parent, filters=filters).get_template("card.md.jinja")
    return template.render(about=description, cases=cases, scores=scores, served=served, shown=SHOWN) + "\n"


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


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
    metrics: Sequence[str] = TEACHER_FORCED,
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
    with _model_as_saved(editor, edit, deltas, saved_as) as rounding:
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
def _model_as_saved(editor: Editor, edit: Edit, deltas: Sequence[Delta], saved_as: SavedAs) -> Iterator[float]:
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
