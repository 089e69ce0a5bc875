from __future__ import annotations

from evaluation.simplify.editor import Coverage, coverage
from schemas.cases import DocumentCase
from schemas.documents.simplified import SimplifiedFact
from tests.support.documents.records import BRIDGE, document_case, document_records


def statement(place: int, target: str, prompt: str = "{} opened in") -> SimplifiedFact:
    return SimplifiedFact(
        key=f"s/{place}", document=BRIDGE, strategy="t", subject="The Orla Bridge", prompt=prompt, target=target
    )


def test_every_count() -> None:
    *_, document, probe = document_records()
    tram = DocumentCase(key="case/tram", document=document, probes=(probe,))  # type: ignore[arg-type]
    statements = (
        statement(0, "1931"),
        statement(1, "1931"),
        statement(2, "May 1931"),
        statement(3, "Orla", "{} is the"),
        statement(4, "", "{} was"),
        statement(5, "BRUN", "{} was designed by"),
    )
    assert coverage([document_case(), tram], {BRIDGE: statements}) == Coverage(
        documents=2,
        without=1,
        facts=5,
        empty=1,
        duplicates=1,
        ambiguous=1,
        target_in_prompt=1,
        probes=5,
        answers=3,
    ), "1931 twice, and Brun, an accepted answer"
