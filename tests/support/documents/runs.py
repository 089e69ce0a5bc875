"""Runs on documents put together by hand: answers as a journal holds them, and their scores."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from curation.splits.split_file import make_split
from evaluation.analysis.comparison import Comparison, compare
from evaluation.metrics.documents import ExactMatch, ExactMatchLevel1
from evaluation.runs.frame import Scores
from evaluation.runs.results import EditorRun, Run
from schemas.answers import CaseScores, ItemScore
from schemas.cases import DocumentCase
from schemas.runs import CaseResult
from tests.support.documents.records import make_document, make_probe

METRICS = (ExactMatch(), ExactMatchLevel1())


def numbered_case(n: int, answers: Mapping[str, tuple[str, ...]]) -> DocumentCase:
    """A document with a probe an answer, whose tags are given; probes without tags are of level 1."""
    document = make_document(f"d/{n}", f"Document {n} says much.")
    probes = tuple(
        make_probe(f"What is {answer} of {n}?", answer, level=3 if tags else 1, tags=tags, document=document.key)
        for answer, tags in answers.items()
    )
    return DocumentCase(key=f"case/{n}", document=document, probes=probes)


def document_run(cases: list[DocumentCase], methods: Mapping[str, Mapping[str, Any]]) -> Run:
    """A run folder as read back; a method's mapping has what its manifest says beside the usual."""
    editors = []
    for label, said in methods.items():
        results = {case.key: CaseResult(run="r", case=case.key) for case in cases}
        manifest: Any = SimpleNamespace(**{"editor": label, "regime": "single", "params": {}, "components": {}, **said})
        editors.append(EditorRun(label, manifest, results, {}))
    record: dict[str, Any] = {"split_digest": "d", "config": {}, "regime": "single"}
    return Run(Path(), record, make_split("documents", cases), tuple(c.key for c in cases), tuple(editors))


def scores_of(cases: list[DocumentCase], right: Mapping[str, set[str]]) -> Scores:
    """EM of every method: 1 for the answers that it gives, 0 for the others."""
    return Scores(
        {
            label: {
                metric.name: {
                    case.key: CaseScores(
                        case=case.key,
                        metric=metric.name,
                        items=tuple(
                            ItemScore(probe=p.key, item=p.key, value=float(p.answer in answers))
                            for p in case.probes
                            if metric.level in (None, p.level)
                        ),
                    )
                    for case in cases
                }
                for metric in METRICS
            }
            for label, answers in right.items()
        }
    )


def table_of(run: Run, scores: Scores) -> Comparison:
    """The table of all cases."""
    return compare(run, scores, METRICS)[0]
