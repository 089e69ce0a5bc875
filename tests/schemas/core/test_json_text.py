"""Writers of records against their definition, model_dump and json.dumps: the same text byte for byte."""

from __future__ import annotations

import json
import random
import struct
from typing import Annotated, Any

import pytest
from pydantic import PlainSerializer, field_serializer

from curation.shipped import mini_split
from curation.store.reader import KINDS
from schemas.core.ids import canonical_json, content_id
from schemas.core.json_text import canonical_text, stored_text, writer_of
from schemas.core.records import Frozen, Record
from schemas.extras import Extra
from schemas.lineage import Lineage
from schemas.scripts import ScriptQuestion
from schemas.verdicts import Verdict

LABELLED = Verdict(key="k", item_id="i", by="a@1", label="keep")
ODD = ["", 'a"b\\c', "\x00\x01\x1f\x7f\u2028", "\b\f\n\r\t", "é東\U0001f600", "</script>", "1e-7 0.00001"]


def defined(value: Frozen) -> tuple[str, str]:
    """Both texts the plain way."""
    plain = value.model_dump(mode="json")
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")), canonical_json(plain)


def same(value: Frozen) -> None:
    assert (stored_text(value), canonical_text(value)) == defined(value)


def test_every_record_of_the_shipped_split():
    for case in mini_split().cases:
        same(case)
        assert case.id == content_id("case", case.payload())
        for part in (case.fact, *case.questions, *case.prompts, *(n.link for n in case.neighbours)):
            same(part)
            assert part.id == content_id(part.kind, part.payload())
    for extra in mini_split().extras:
        same(extra)


def test_the_usual_kinds_have_a_writer():
    kinds = ("fact", "neighbour", "question", "script", "prompt", "case", "verdict", "generated")
    assert all(writer_of(KINDS[kind]) for kind in kinds)
    assert writer_of(Extra) is None  # written by its aliases
    assert writer_of(Lineage) is None  # holds any values


@pytest.mark.parametrize("text", ODD)
def test_odd_texts(text):
    same(Verdict(key="k", item_id="i", by="a@1", label="keep", reason=text))
    same(Lineage(item_id=text, stage="load", made_at="t", detail={"from": text, "n": [1.5, None]}))


def test_english_is_not_written_and_changes_no_id():
    fact = mini_split().cases[0].fact
    same(fact)
    assert "language" not in fact.payload() and fact.language == "en"
    german = fact.model_copy(update={"language": "de"})
    same(german)
    assert german.payload()["language"] == "de" and german.id == content_id("fact", german.payload()) != fact.id


def test_numbers_as_python_writes_them():
    rng = random.Random(1)
    numbers = [0.0, -0.0, 1e-4, 9.9999e-5, 1e-5, 1e15, 9999999999999998.0, 1e16, 1e-7, 5e-324, 1.7976931348623157e308]
    numbers += [number for _ in range(500) if (number := struct.unpack("d", rng.randbytes(8))[0]) == number]
    numbers += [rng.choice([1, -1]) * rng.random() * 10.0 ** rng.randint(-12, 20) for _ in range(500)]
    for number in numbers:
        if abs(number) != float("inf"):
            verdict = Verdict(key="k", item_id="i", by="a@1", label=None, value=number, unit="u")
            assert canonical_text(verdict) == defined(verdict)[1]
            assert Verdict.model_validate_json(stored_text(verdict)) == verdict


def test_what_no_json_holds_stays_an_error_or_a_constant():
    odd = Verdict(key="k", item_id="i", by="a@1", label=None, value=float("nan"), unit="u")
    assert stored_text(odd) == defined_stored(odd)
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical_text(odd)
    half = ScriptQuestion.model_construct(key="k", fact="f", text="a \ud800 b")
    assert stored_text(half) == defined_stored(half)
    assert canonical_text(half) == canonical_json(half.payload())


def defined_stored(value: Frozen) -> str:
    return json.dumps(value.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))


class Loud(Frozen):
    text: Annotated[str, PlainSerializer(str.upper)]


class Louder(Frozen):
    text: str

    @field_serializer("text")
    def _upper(self, text: str) -> str:
        return text.upper()


class Anything(Frozen):
    value: Any
    union: int | str = 0


class Holder(Frozen):
    inner: tuple[Louder, ...]


@pytest.mark.parametrize(
    "value", [Loud(text="a"), Louder(text="a"), Anything(value={"b": 1, "a": 2}), Holder(inner=(Louder(text="a"),))]
)
def test_other_serialisers_are_obeyed(value):
    assert writer_of(type(value)) is None
    same(value)


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_values_of_another_type_than_declared():
    same(Verdict.model_construct(key="k", item_id=7, by="a@1", label="keep", related=["x"]))
    for related in ([], (), None, "", {}):  # an empty value of another type is not the empty tuple
        same(Verdict.model_construct(**{**LABELLED.__dict__, "related": related}))
    question = ScriptQuestion(key="k", fact="f", text="t")
    assert question.model_copy(update={"text": 3}).id == content_id("question", {"key": "k", "fact": "f", "text": 3})


def test_a_copy_forgets_the_text():
    case = mini_split().cases[0]
    assert case.canonical() == canonical_json(case.payload())
    other = case.model_copy(update={"key": "case/other"})
    assert other.canonical() == canonical_json(other.payload()) != case.canonical()
    assert other.id == content_id("case", other.payload()) != case.id


def test_all_kinds_are_records():
    assert all(issubclass(kind, Record) for kind in KINDS.values())
