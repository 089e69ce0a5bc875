"""A document with a probe of every group, and answers to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evaluation.metrics.documents import any_answer_probe, premise_probes
from evaluation.metrics.generation import DocumentChoice
from schemas.answers import Answer, TargetScore
from schemas.cases import DocumentCase
from schemas.documents.document import DocumentProbe
from schemas.documents.statement import GROUPS, Premise, Statement
from schemas.probes import ScoreProbe
from tests.support.documents.records import document_case, make_document, make_probe

CHOICE = DocumentChoice()
PREMISES = (Premise(query="Where is Rovo?", answers=("Sorne", "in Sorne")), Premise(query="Who?", answers=("Ada",)))


def grouped_case(key: str = "case/grouped", **changes: object) -> DocumentCase:
    """One probe of each group; two right answers, an old one, and a hop that takes two things for granted."""
    stated = Statement(subject="Orla Bridge", prompt="The {} is in", target="Rovo")
    probes = tuple(
        make_probe(
            f"{group}? ___",
            "Sorne",
            level=None,
            accepted=("Sornes",),
            group=group,
            old_answer="Lund",
            premises=PREMISES if group == "hop" else (),
        )
        for group in GROUPS
    )
    fields = {"document": make_document(statements=(stated,)), "probes": probes, **changes}
    return document_case(key, **fields)


def probe_of(case: DocumentCase, group: str) -> DocumentProbe:
    """The case's probe of a group."""
    return next(probe for probe in case.probes if probe.group == group)


def answer(probe: ScoreProbe, greedy: Sequence[bool | None], logprobs: Sequence[float] | None = None) -> Answer:
    """An answer: for each target whether it is greedy, and its log-probability."""
    told = logprobs or [-1.0] * len(probe.targets)
    targets = tuple(
        TargetScore(text=text, logprob=value, tokens=1, greedy=right)
        for text, right, value in zip(probe.targets, greedy, told, strict=True)
    )
    return Answer(probe=probe.id, targets=targets)


def grouped_answers(case: DocumentCase, right: Mapping[str, Sequence[bool | None]]) -> dict[str, Answer]:
    """Answers by group: which of its accepted answers are greedy; none where nothing is said."""
    asked = {probe.group: any_answer_probe(probe, CHOICE) for probe in case.probes}
    return {p.id: answer(p, right.get(str(group), (False, False))) for group, p in asked.items()}


def premise_answers(case: DocumentCase, known: Sequence[Sequence[bool]]) -> dict[str, Answer]:
    """Answers to what the hop takes for granted."""
    asked = premise_probes(probe_of(case, "hop"), CHOICE)
    return {p.id: answer(p, hits) for p, hits in zip(asked, known, strict=True)}
