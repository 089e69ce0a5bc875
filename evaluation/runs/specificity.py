"""Opening a run's specificity set: refused for another model, or where it has too few questions."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from curation.files.json_files import read_json
from curation.loaders import load
from evaluation.metrics import METRICS
from evaluation.metrics.generation import DocumentChoice, SharedQuestions, SpecificityChoice
from schemas.core.config import validate
from schemas.core.errors import UserError
from schemas.documents.specificity import SpecificitySet

WHERE = "specificity.file"


def open_questions(
    choice: SpecificityChoice | None, documents: DocumentChoice, *, model: str, metrics: Iterable[str] = ()
) -> SharedQuestions | None:
    """The questions that a run's configuration names; None where it names none.

    Args:
        choice: The table ``[specificity]``.
        documents: How questions are asked.
        model: Name of the run's model.
        metrics: Names of the run's metrics.

    Raises:
        UserError: no such file, not one set in it, a set of another model or with too few questions; or metrics that
            need a set where there is none.
    """
    if choice is None:
        if needy := [name for name in metrics if METRICS.get(name).shared]:
            raise UserError(
                f"the metric '{needy[0]}' asks what the unedited model answers, and no set of such questions is named",
                where="metrics",
                fix='add specificity = { file = "known.json" } to the run, or leave the metric out',
            )
        return None
    if not choice.file.is_file():
        raise UserError("there is no such specificity set", where=f"{WHERE}: {choice.file}")
    questions = read_set(choice.file)
    refuse_other_model(questions, model=model)
    number, size = None if choice.number == "all" else choice.number, len(questions.questions)
    if number is not None and number > size:
        raise UserError(
            f"{number} questions are to be asked after every edit, and the set '{questions.key}' has {size}",
            where="specificity.number",
            fix='ask fewer, or set number = "all"',
        )
    return SharedQuestions(questions, documents, number=number, seed=choice.seed, instruction=choice.instruction)


def read_set(path: Path | str) -> SpecificitySet:
    """A specificity set from a file: one record of ours as JSON, or MULFE's released shape.

    Raises:
        UserError: neither, or not one set.
    """
    path = Path(path)
    record = read_json(path) if path.suffix == ".json" else None
    if isinstance(record, dict) and "questions" in record:
        return validate(SpecificitySet, {k: v for k, v in record.items() if k != "kind"}, where=str(path))
    sets = load(path).sets
    if len(sets) != 1:
        raise UserError(f"the file holds {len(sets)} specificity sets, not one", where=f"{WHERE}: {path}")
    return sets[0]


def refuse_other_model(questions: SpecificitySet, *, model: str, revision: str | None = None) -> None:
    """Refuse a set that was chosen for another model: what one model answers says nothing about another.

    Published sets tell the model's name only; where the set knows the weights they decide, and the name does not.

    Args:
        questions: The set.
        model: Name of the run's model.
        revision: What tells its weights from others; None before it is loaded.

    Raises:
        UserError: names both models.
    """
    if questions.revision is not None:
        if revision is None or revision == questions.revision:
            return
        ours, theirs = f"'{model}' ({revision[:12]})", f"'{questions.model}' ({questions.revision[:12]})"
    elif _last_name(model) == _last_name(questions.model):
        return
    else:
        ours, theirs = f"'{model}'", f"'{questions.model}'"
    raise UserError(
        f"the specificity set '{questions.key}' holds what {theirs} answers, and this run edits {ours}",
        where=WHERE,
        fix="name a set that was built for this model",
    )


def _last_name(model: str) -> str:
    return model.rstrip("/").rpartition("/")[2].casefold()
