"""The JSON texts of records: as stores hold them, and the canonical one that ids are made of."""

from __future__ import annotations

import json

import pytest

from curation.store.reader import KINDS
from schemas.core.ids import canonical_json, content_id
from schemas.core.records import Frozen, Record, stored_text
from schemas.lineage import Lineage
from schemas.scripts import ScriptQuestion
from schemas.verdicts import Verdict
from tests.support.small import small_split

ODD = ["", 'a"b\\c', "\x00\x01\x1f\x7f\u2028", "\b\f\n\r\t", "é東\U0001f600", "</script>", "1e-7 0.00001"]


def same(value: Frozen) -> None:
    assert stored_text(value) == defined_stored(value)


def test_every_record_of_the_shipped_split():
    for case in small_split().cases:
        same(case)
        assert case.id == content_id("case", case.payload())
        for part in (case.fact, *case.questions, *case.prompts, *(n.link for n in case.neighbours)):
            same(part)
            assert part.id == content_id(part.kind, part.payload())
    for extra in small_split().extras:
        same(extra)


@pytest.mark.parametrize("text", ODD)
def test_odd_texts(text):
    same(Verdict(key="k", item_id="i", by="a@1", label="keep", reason=text))
    same(Lineage(item_id=text, stage="load", made_at="t", detail={"from": text, "n": [1.5, None]}))


def test_english_is_not_written_and_changes_no_id():
    fact = small_split().cases[0].fact
    same(fact)
    assert "language" not in fact.payload() and fact.language == "en"
    german = fact.model_copy(update={"language": "de"})
    same(german)
    assert german.payload()["language"] == "de" and german.id == content_id("fact", german.payload()) != fact.id


def test_what_no_json_holds_stays_an_error_or_a_constant():
    odd = Verdict(key="k", item_id="i", by="a@1", label=None, value=float("nan"), unit="u")
    assert stored_text(odd) == defined_stored(odd)
    with pytest.raises(ValueError, match="JSON compliant"):
        odd.canonical()
    half = ScriptQuestion.model_construct(key="k", fact="f", text="a \ud800 b")
    assert stored_text(half) == defined_stored(half)
    assert half.canonical() == canonical_json(half.payload())


def defined_stored(value: Frozen) -> str:
    return json.dumps(value.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))


def test_all_kinds_are_records():
    assert all(issubclass(kind, Record) for kind in KINDS.values())


def test_numbers_are_read_back_as_they_were() -> None:
    for number in (0.0, -0.0, 9.9999e-5, 1e-5, 1e15, 9999999999999998.0, 1e16, 5e-324, 1.7976931348623157e308):
        verdict = Verdict(key="k", item_id="i", by="a@1", label=None, value=number, unit="u")
        assert Verdict.model_validate_json(stored_text(verdict)) == verdict
        assert json.loads(verdict.canonical())["value"] == number


def test_a_copy_forgets_the_text() -> None:
    case = small_split().cases[0]
    other = case.model_copy(update={"key": "case/other"})
    assert other.canonical() == canonical_json(other.payload()) != case.canonical()
    assert other.id == content_id("case", other.payload()) != case.id
