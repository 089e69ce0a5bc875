from __future__ import annotations

from pathlib import Path

from schemas.extras import Extra
from tests.support.curation.published_records import kinds, new_of, of, one

ZSRE = {
    "subject": "UniFirst", "src": "What is made by UniFirst?", "pred": "uniform", "rephrase": "What makes UniFirst?",
    "alt": "aircraft", "answers": ["uniform", "uniforms"], "loc": "nq question: x", "loc_ans": "y",
    "cond": "uniform >> aircraft || What is made by UniFirst?",
}  # fmt: skip


def test_zsre(tmp_path: Path) -> None:
    import_result = one(tmp_path, ZSRE, {**ZSRE, "src": "Who is UniFirst?", "alt": "Uniforms"}, {**ZSRE, "pred": "x"})
    fact = import_result.facts[0]
    assert (fact.prompt, fact.old.names, new_of(fact)) == ("What is made by {}?", ("uniform", "uniforms"), "aircraft")
    assert kinds(import_result) == ["invalid", "duplicate", "contradictory", "suspect"]
    assert of(import_result, Extra)[0].value == {"pred": "uniform", "loc": "nq question: x", "loc_ans": "y"}
    assert len(import_result.facts) == 1
