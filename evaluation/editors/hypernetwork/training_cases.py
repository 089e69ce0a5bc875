"""What MEND learns from: edits, prompts that ask for the same, texts that must stay as they are.

Of a fact its prompts and its neighbours'; of a document its probes and other documents'.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evaluation.editors.target_texts import TargetText, target_text
from evaluation.metrics.documents import answer_probe
from evaluation.metrics.generation import DocumentChoice
from evaluation.models.language_model import LM
from schemas.cases import Case, DocumentCase
from schemas.core.errors import UserError
from schemas.core.ids import seed
from schemas.documents.document import Document
from schemas.probes import instructed
from schemas.text.counting import counted

UNRELATED = 40  # documents that a document's unrelated questions are taken from, at most


class TrainingCase(NamedTuple):
    """One training case.

    Attributes:
        edit: The fact prompt with the new object, or a document: its gradient is what the network sees.
        paraphrases: Prompts of the same fact (and of its scripts) with the new object, or a document's probes with
            their answers: they must follow the edit.
        locality: Prompts of neighbour facts with their own object, or other documents' probes: their distributions
            must stay.
    """

    edit: TargetText
    paraphrases: tuple[TargetText, ...]
    locality: tuple[TargetText, ...]


def training_cases(lm: LM, cases: Sequence[Case]) -> list[TrainingCase]:
    """Training cases; those whose fact prompt cannot be read are left out.

    Raises:
        UserError: fewer than two cases, or none has a neighbour.
    """
    examples = []
    for case in cases:
        if case.fact.new is None or (edit := target_text(lm, case.fact.fact_prompt, case.fact.new_object.text)) is None:
            continue
        paraphrases = tuple(x for x in _paraphrases(lm, case) if x is not None)
        examples.append(
            TrainingCase(edit, paraphrases or (edit,), tuple(x for x in _locality(lm, case) if x is not None))
        )
    if len(examples) < 2 or not any(one.locality for one in examples):
        raise UserError(
            f"{counted(len(examples), 'case')} with a new object: too few to train on",
            fix="give more cases, with neighbours: their prompts are what an edit must not move",
        )
    return examples


def _paraphrases(lm: LM, case: Case) -> Iterator[TargetText | None]:
    new = case.fact.new_object.text
    yield target_text(lm, case.fact.fact_prompt, new)
    for text in case.fact.paraphrases:
        yield target_text(lm, text, new)
    for prompt in case.prompts:
        yield target_text(lm, prompt.text, new, separator=prompt.separator)


def _locality(lm: LM, case: Case) -> Iterator[TargetText | None]:
    for text in case.fact.neighbour_prompts:
        yield target_text(lm, text, case.fact.old.text)
    for beside in case.neighbours:
        for text in (beside.fact.fact_prompt, *beside.fact.paraphrases):
            yield target_text(lm, text, beside.fact.old.text)
        for prompt in beside.prompts:
            yield target_text(lm, prompt.text, prompt.targets[0], separator=prompt.separator)


def document_text(lm: LM, document: Document) -> TargetText | None:
    """A document as tokens, all but the first its target; None where the model cannot read it whole, or it has one."""
    ids = lm.token_ids(document.text)
    if len(ids) < 2 or (lm.limit and len(ids) > lm.limit):
        return None
    return TargetText.shifted(tuple(ids), 1)


def document_training_cases(lm: LM, cases: Sequence[DocumentCase], choice: DocumentChoice) -> list[TrainingCase]:
    """Training cases of documents; those that cannot be read, or have no probe that can be, are left out.

    What must stay are questions about other documents (no name in common), one a document, drawn from the keys.

    Args:
        lm: The unedited model.
        cases: Documents with their probes.
        choice: How probes are asked.

    Raises:
        UserError: fewer than two cases, or all are about one subject.
    """
    read = [(case, document_text(lm, case.document), _probe_lines(lm, case, choice)) for case in cases]
    usable = [(case, edit, probes) for case, edit, probes in read if edit is not None and probes]
    training_cases = []
    for case, edit, probes in usable:
        draw = random.Random(seed(case.document.key, "mend", "unrelated"))
        names = set(case.document.names)
        locality = []
        for n in draw.sample(range(len(usable)), len(usable)):
            other, _, others = usable[n]
            if other.document.key != case.document.key and names.isdisjoint(other.document.names):
                locality.append(draw.choice(others))
            if len(locality) == UNRELATED:
                break
        training_cases.append(TrainingCase(edit, probes, tuple(locality)))
    if len(training_cases) < 2 or not all(one.locality for one in training_cases):
        raise UserError(
            f"{counted(len(training_cases), 'document')} with probes that the model can read: too few to train on",
            fix="give more documents, about different things: questions about others are what an edit must not move",
        )
    return training_cases


def _probe_lines(lm: LM, case: DocumentCase, choice: DocumentChoice) -> tuple[TargetText, ...]:
    """The probes as they are asked in a run, each with its answer; those with several blanks are left out."""
    probes = [answer_probe(probe, choice) for probe in case.probes if probe.blanks < 2]
    lines = [target_text(lm, instructed(one, None), one.targets[0], separator=one.separator) for one in probes]
    return tuple(one for one in lines if one is not None)
