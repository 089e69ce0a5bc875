"""What is part of a record's id, ids that users keep, and records that come back from their text as they were."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, ClassVar

import pytest
from pydantic import TypeAdapter, ValidationError

from schemas.answers import Answer, GeneratedText, NextTokens, TargetScore
from schemas.cases import Case, DocumentCase
from schemas.core.ids import canonical_json, content_id
from schemas.core.records import Frozen, Record, stored_text
from schemas.documents.specificity import SpecificitySet
from schemas.documents.statement import Premise, Statement
from schemas.events.open_answer import OpenAnswer
from schemas.extras import Extra
from schemas.lineage import Lineage
from schemas.probes import GenerateProbe, Probe, ScoreProbe, ThoughtAsked
from schemas.ratings import Rating
from schemas.runs import CaseResult, RunManifest
from schemas.scripts import ScriptQuestion
from schemas.verdicts import Verdict, verdict_key
from tests.schemas.made_records import ASKED, LEAGUE, MANIFEST, OPEN_ANSWER, PAIR, SCORE, WRITE
from tests.support.documents.records import document_case, make_document, make_probe
from tests.support.events import event_case, make_fact_question
from tests.support.facts import SOURCE, make_fact, peru_fact
from tests.support.small import small_split

EXTRA = {"key": "f/1/x", "of": "f/1", "also": ["f/2"], "name": "x", "content": '{"a":"é","b":1}'}
SCRIPT_RATING = {
    "key": "rating/rate_script@3/person:ann/coherence/i1",
    "item_id": "i1",
    "aspect": "coherence",
    "scale": "likert7",
    "value": 4,
    "rater": "person:ann",
    "form": "rate_script@3",
    "reason": "fine",
}
UNSCORED = {
    "item_id": "i1",
    "aspect": "consistency",
    "value": None,
    "rater": "judge:m",
    "key": "k",
    "form": "judge_consistency_paper@2",
    "reason": "no usable reply: refused: no",
}
STEPS = GenerateProbe(
    purpose="script_question",
    item="q",
    prompt="How?",
    instruction="I",
    chat="auto",
    start="Step 1:",
    most=9,
    stop=("x",),
)
ROME = Statement(subject="Chad", prompt="The capital of {} is", target="Rome")
HOP = make_probe(group="hop", old_answer="x", premises=(Premise(query="Who?", answers=("A", "B")),))
OLD_SCORE = TargetScore(text="Lima", logprob=-6.0, tokens=4)
ENDLESS = TargetScore(text="Lima", logprob=float("-inf"), tokens=1)


@pytest.mark.parametrize(
    ("record", "id", "absent"),
    [
        (SCORE, "7f57efb4e5b41fc70181", ()),
        (WRITE, "79206052322de877ccaa", ()),
        (STEPS, "eaaab057fd29d280c22b", ()),
        (make_document(), "07d4818897a1c2344a97", ("further_names", "statements")),
        (make_fact_question(background=True, path=("P118",)), "a15538f46af9270c70bd", ("background_questions",)),
        (Extra.model_validate(EXTRA), "6ee12cde34ae3eb84b19", ("subject", "depends_on")),
        (Rating.model_validate(SCRIPT_RATING), "5aea261a9dbd3ed84de0", ("rubric", "before_id")),
        (Rating.model_validate(UNSCORED), "a7c110170638fdd6e09b", ("rubric", "before_id")),
    ],
    ids=lambda value: value.kind if isinstance(value, Record) else "",
)
def test_ids_that_users_keep_in_stores_and_runs(
    record: Record | ScoreProbe | GenerateProbe, id: str, absent: tuple[str, ...]
) -> None:
    """As earlier versions had them: fields that came later are in no text of a record that does not use them."""
    assert record.id == id
    if isinstance(record, Record):
        for text in (stored_text(record), record.canonical(), json.dumps(record.payload())):
            assert not json.loads(text).keys() & {*absent}


def test_texts_that_stay_as_they_were_byte_for_byte() -> None:
    for kind, fields in ((Extra, EXTRA), (Rating, SCRIPT_RATING)):
        text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
        assert stored_text(kind.model_validate(fields)) == kind.model_validate_json(text).model_dump_json() == text
    assert not {"group", "old_answer", "premises"} & make_probe().payload().keys()
    assert "level" in make_probe(level=None).payload()
    assert "type" not in Case(key="case/1", fact=peru_fact()).payload() and event_case().payload()["type"] == "event"
    for old, text in (
        (TargetScore, '{"text":"Lima","logprob":-6.0,"tokens":4}'),
        (GeneratedText, '{"text":" Lima","tokens":4,"ended":"eos","chat":false}'),
    ):
        assert old.model_validate_json(text).model_dump_json() == text
    written = Answer(probe="p", targets=(OLD_SCORE,)).model_dump_json()
    assert not {name for name in ("greedy", "next_tokens", "matched") if name in written}


@pytest.mark.parametrize(
    ("record", "change"),
    [
        (make_fact(), {"old": {"text": "Lima", "aliases": ["City of Kings"]}}),
        (make_fact(), {"key": "f/2"}),
        (make_fact(), {"prompt": "{} has the capital"}),
        (Case(key="case/1", fact=peru_fact()), {"fact": peru_fact(paraphrases=())}),
        (Case(key="case/1", fact=peru_fact()), {"key": "case/2"}),
        (Extra.model_validate(EXTRA), {"also": ()}),
        (OpenAnswer.model_validate(OPEN_ANSWER), {"text": ""}),
        (
            SpecificitySet.model_validate({"key": "s", "model": "m", "questions": [ASKED], "source": SOURCE}),
            {"questions": [{**ASKED, "answer": "Bo"}]},
        ),
        (make_document(), {"further_names": ("Ada Brun",)}),
        (make_document(), {"statements": (ROME,)}),
        (make_probe(), HOP.model_dump(exclude={"key"})),
        (make_fact_question(background=True), {"background_questions": [LEAGUE]}),
        (Rating.model_validate(PAIR), {"before_id": "z"}),
        (Rating.model_validate(PAIR), {"value": 4}),
        *(
            (probe, change)
            for probe in (SCORE, WRITE)
            for change in (
                {"separator": "\n"},
                {"instruction": "A"},
                {"instruction_in_context": "A"},
                {"prompt": "It was"},
            )
        ),
        *(
            (SCORE, change)
            for change in (
                {"targets": ("Oslo", "Lima")},
                {"greedy": True},
                {"matches": True},
                {"top": 5},
            )
        ),
        *(
            (WRITE, change)
            for change in (
                {"chat": "auto"},
                {"start": "Step 1:"},
                {"most": 255},
                {"temperature": 0.5},
                {"top_p": 0.9},
                {"seed": 1},
                {"sample": 1},
                {"stop": ("\n",)},
                {"thought": {"marks": (("<t>", "</t>"),), "most": 5}},
            )
        ),
        *(
            (RunManifest.model_validate(MANIFEST), {name: value})
            for name, value in [
                ("params", {"a": 1}),
                ("components", {"torch": "1"}),
                ("editor_version", 2),
                *((name, MANIFEST[name] * 2) for name in MANIFEST if isinstance(MANIFEST[name], str)),
            ]
        ),
    ],
)
def test_what_a_record_is_known_by(record: Record | ScoreProbe | GenerateProbe, change: dict[str, Any]) -> None:
    changed = record.model_validate({**record.model_dump(by_alias=True), **change})
    assert changed.id != record.id
    assert (
        record.model_copy(update={name: getattr(changed, name) for name in changed.model_fields_set}).id == changed.id
    )


@pytest.mark.parametrize("change", [{"purpose": "paraphrase"}, {"item": "f/2"}, {"cluster": "f/3"}])
@pytest.mark.parametrize("probe", [SCORE, WRITE], ids=["score", "write"])
def test_what_a_probe_is_for_does_not_count(probe: ScoreProbe | GenerateProbe, change: dict[str, str]) -> None:
    assert probe.model_validate({**probe.model_dump(), **change}).id == probe.id


def test_the_order_of_settings_is_no_difference() -> None:
    one, other = (
        RunManifest.model_validate({**MANIFEST, "params": way}) for way in ({"a": 1, "b": 2}, {"b": 2, "a": 1})
    )
    assert one.id == other.id


def test_every_part_of_the_name_tells_verdicts_apart() -> None:
    ways: list[dict[str, Any]] = [
        {"item_id": "x", "by": "leak@1"},
        {"item_id": "y", "by": "leak@1"},
        {"item_id": "x", "by": "leak@2"},
        {"item_id": "x", "by": "leak@1", "model": "GPT 4"},
        {"item_id": "x", "by": "leak@1", "related": ("y",)},
        {"item_id": "x", "by": "leak@1", "related": ("y", "z")},
    ]
    assert len({verdict_key(**way) for way in ways}) == len(ways)
    assert verdict_key(item_id="x", by="leak@1", related=("y",), model="GPT 4") == "verdict/leak@1/x~y~gpt-4"


@pytest.mark.parametrize(
    "record",
    [
        SCORE,
        WRITE,
        STEPS.model_copy(update={"thought": ThoughtAsked(marks=(("<t>", "</t>"),), most=5)}),
        document_case(document=make_document(statements=(ROME,), further_names=("Ada Brun",)), probes=(HOP,)),
        make_fact_question(background=True, path=("P118",)),
        make_fact_question(background=True, path=("P118",), background_questions=[LEAGUE]),
        OpenAnswer.model_validate({**OPEN_ANSWER, "text": "  \n(A)\x00"}),
        Rating.model_validate(PAIR),
        Lineage(item_id="x", stage="load", made_at="2026-01-01T00:00:00Z"),
        *(
            Verdict(key="k", item_id="i", by="a@1", label=None, value=number, unit="u")
            for number in (0.0, -0.0, 9.9999e-5, 1e-5, 1e15, 9999999999999998.0, 1e16, 5e-324, 1.7976931348623157e308)
        ),
        OLD_SCORE.model_copy(update={"greedy": True}),
        Answer(
            probe="p",
            targets=(OLD_SCORE.model_copy(update={"greedy": False, "matched": 0}),),
            next_tokens=NextTokens(ids=(3, 1), logprobs=(-0.5, -2.0)),
        ),
        *(
            GeneratedText.model_validate({"text": "", "tokens": 1, "ended": "length", **more})
            for more in ({"thought": ""}, {"thought": "Lima?", "unfinished": True})
        ),
        CaseResult(run="r", case="c", answers=(Answer(probe="p", targets=(ENDLESS,)),), notes={"norm": 1.5}),
    ],
)
def test_a_record_comes_back_as_what_it_was(record: Frozen) -> None:
    assert type(record).model_validate_json(stored_text(record)) == record
    if isinstance(record, ScoreProbe | GenerateProbe):
        assert TypeAdapter(Probe).validate_json(record.model_dump_json()) == record
    if isinstance(record, DocumentCase):
        assert DocumentCase.model_validate(record.payload()).id == record.id


def test_id_is_content_and_survives_processes() -> None:
    code = f"from schemas.facts import Fact\nprint(Fact.model_validate_json({make_fact().model_dump_json()!r}).id)"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert make_fact().id == process and len(process) == 20


class Measure(Record):
    kind: ClassVar[str] = "measure"


def test_the_kind_is_in_the_id() -> None:
    class Other(Measure):
        kind: ClassVar[str] = "other"

    assert Measure(key="m").id != Other(key="m").id


def test_records_do_not_change() -> None:
    with pytest.raises(ValidationError):
        make_fact().prompt = "x {}"  # type: ignore[misc]


ODD = ["", 'a"b\\c', "\x00\x01\x1f\x7f\u2028", "\b\f\n\r\t", "é東\U0001f600", "</script>", "1e-7 0.00001"]


@pytest.mark.parametrize(
    "record",
    [
        *(Verdict(key="k", item_id="i", by="a@1", label="keep", reason=text) for text in ODD),
        *(Lineage(item_id=text, stage="load", made_at="t", detail={"from": text, "n": [1.5, None]}) for text in ODD),
        *(
            part
            for case in small_split().cases
            for part in (case, case.fact, *case.questions, *case.prompts, *(n.link for n in case.neighbours))
        ),
        *small_split().extras,
        make_fact(language="de"),
        ScriptQuestion.model_construct(key="k", fact="f", text="a \ud800 b"),
    ],
)
def test_the_text_of_a_record_is_its_fields_as_json(record: Frozen) -> None:
    fields = record.model_dump(mode="json")
    assert stored_text(record) == json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    if isinstance(record, Record):
        assert record.canonical() == canonical_json(record.payload())
        assert record.id == content_id(record.kind, record.payload())


def test_english_is_not_written() -> None:
    german = make_fact(language="de")
    assert "language" not in make_fact().payload() and german.payload()["language"] == "de"


def test_what_no_json_holds_has_no_id() -> None:
    odd = Verdict(key="k", item_id="i", by="a@1", label=None, value=float("nan"), unit="u")
    assert '"value":NaN' in stored_text(odd)
    with pytest.raises(ValueError, match="JSON compliant"):
        odd.canonical()
