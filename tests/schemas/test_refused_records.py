"""Records that are refused, each with what its reader is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from schemas.core.records import Record, Text
from schemas.documents.simplified import SimplifiedFact
from schemas.documents.specificity import SpecificitySet
from schemas.documents.statement import Premise, Statement
from schemas.events.open_answer import OpenAnswer
from schemas.events.template import EventTemplate
from schemas.extras import Extra
from schemas.facts import Neighbour
from schemas.generated_scripts import GeneratedScript
from schemas.lineage import Lineage
from schemas.probes import GenerateProbe, Probe
from schemas.ratings import Rating
from schemas.scripts import Script, ScriptPrompt
from schemas.verdicts import Verdict
from tests.schemas.made_records import ASKED, LEAGUE, OPEN_ANSWER, PAIR, RATING, SCORE, WRITE
from tests.support.construction.event_templates import TRANSFER
from tests.support.documents.records import make_document, make_probe
from tests.support.events import event_case, make_event, make_fact_question, make_tendency
from tests.support.facts import SOURCE, make_fact


class Measure(Record):
    kind: ClassVar[str] = "measure"
    name: Text


def of(kind: type[BaseModel] | TypeAdapter[Any], fields: dict[str, Any]) -> Callable[..., Any]:
    """What makes a record of these fields and changes to them."""
    make = kind.validate_python if isinstance(kind, TypeAdapter) else kind.model_validate
    return lambda **change: make({**fields, **change})


ROME = {"subject": "Chad", "prompt": "The capital of {} is", "target": "Rome"}
DRAWN = {"role": "A", "relation": "P54"}

REFUSED: dict[str, tuple[Callable[..., Any], list[tuple[dict[str, Any], str]]]] = {
    "record": (
        of(Measure, {"key": "m", "name": "x"}),
        [
            ({"key": ""}, "at least 1"),
            ({"key": "a b"}, "pattern"),
            ({"key": "a\n"}, "pattern"),
            ({"key": "\u00a0"}, "pattern"),
            ({"key": "x" * 401}, "at most 400"),
            ({"name": ""}, "empty"),
            ({"name": " x"}, "white space"),
            ({"name": "x\n"}, "white space"),
        ],
    ),
    "fact": (
        make_fact,
        [
            ({"colour": "red"}, "Extra inputs"),
            ({"prompt": "The capital is"}, "exactly one"),
            ({"prompt": "{} and {}"}, "it holds 2"),
            ({"new": {"text": "lima"}}, "equal"),
            ({"old": "Straße", "new": "STRASSE"}, "nothing would be edited"),
            ({"new": None, "change": "counterfactual"}, "new object exactly when"),
            ({"change": "none"}, "new object exactly when"),
            ({"subject": " Peru"}, "white space"),
            ({"subject": ""}, "empty"),
            ({"key": "a b"}, "pattern"),
        ],
    ),
    "neighbour": (
        of(Neighbour, {"key": "n/1", "edit": "f/1", "fact": "f/2", "how": "same_object"}),
        [({"how": "random"}, "'same_object' or 'near_subject'")],
    ),
    "extra": (
        of(Extra, {"key": "f/1/x", "of": "f/1", "name": "x", "content": "1"}),
        [({"subject": "f/1"}, "Extra inputs"), *(({"content": c}, "content") for c in ("", "{", "NaN", "{'a': 1}"))],
    ),
    "lineage": (
        of(Lineage, {}),
        [
            ({"stage": "load", "made_at": "2026"}, "Field required"),
            ({"item_id": "x", "made_at": "2026"}, "Field required"),
            ({"item_id": "x", "stage": "load"}, "Field required"),
        ],
    ),
    "document": (make_document, [({"text": ""}, "must not be empty"), ({"further_names": ("",)}, "must not be empty")]),
    "probe of a document": (
        lambda **change: make_probe(**{"query": "Who?", "answer": "Ada", **change}),
        [
            ({"level": 0}, "should be 1, 2 or 3"),
            ({"level": 4}, "should be 1, 2 or 3"),
            ({"level": "1.5"}, "should be 1, 2 or 3"),
            ({"answer": " "}, "white space"),
            ({"query": ""}, "empty"),
            ({"tags": ("weather",)}, "tags"),
            ({"tags": ("time", "time")}, "tags"),
            ({"group": "other"}, "group"),
        ],
    ),
    "simplified fact": (
        of(SimplifiedFact, {"key": "d/openie/0", "document": "d", "strategy": "openie", **ROME}),
        [
            ({"target": " Rome"}, "white space"),
            ({"prompt": "Ada lives in"}, "exactly one {} for the subject, it holds"),
            ({"prompt": "{} and {} live in"}, "exactly one {} for the subject, it holds"),
        ],
    ),
    "specificity set": (
        of(SpecificitySet, {"key": "s", "model": "m", "source": SOURCE}),
        [
            ({"questions": ()}, "at least 1"),
            ({"questions": (ASKED, ASKED)}, "'q1' is there twice"),
            ({"questions": ({**ASKED, "ppl": 0.5},)}, "greater than or equal"),
        ],
    ),
    "statement": (of(Statement, ROME), [({"prompt": p}, "prompt") for p in ("The capital is", "{} or {} is", "")]),
    "premise": (of(Premise, {"query": "Who?"}), [({"answers": ()}, "at least 1")]),
    "event": (make_event, [({"text": text}, "empty|white space") for text in ("", " ", "\n")]),
    "open answer": (
        of(OpenAnswer, OPEN_ANSWER),
        [
            ({"sample": -1}, "greater than or equal"),
            ({"question": "two words"}, "pattern"),
            ({"steps": ["Go"]}, "Extra"),
        ],
    ),
    "question about a fact": (
        make_fact_question,
        [({"answer": "unknown", "scope": "out"}, "in scope: out of scope nothing changes")],
    ),
    "background": (
        lambda **change: make_fact_question(**{"background": True, "background_questions": [LEAGUE], **change}),
        [
            ({"background": False}, "a question in scope whose 'background' is true"),
            ({"scope": "out"}, "a question in scope whose 'background' is true"),
            ({"background_questions": [LEAGUE, LEAGUE]}, "asks what is asked already"),
            ({"text": LEAGUE["text"].upper()}, "asks what is asked already"),
            ({"background_questions": [{"text": "Who leads it?", "answer": {"text": "Unknown"}}]}, "is never unknown"),
            ({"background_questions": [{"text": " ", "answer": {"text": "Peru"}}]}, "white space"),
            ({"background_questions": [{"text": "Who leads it?"}]}, "answer"),
        ],
    ),
    "question of tendency": (
        make_tendency,
        [
            ({"options": ()}, "at least 3"),
            ({"options": ("Rise", "Fall")}, "at least 3"),
            ({"options": ("Rise", "Fall", "Stay", "Vanish")}, "at most 3"),
            ({"options": ("Rise", "rise.", "Stay")}, "'Rise'.*three different ones"),
            ({"options": ("Rise", "", "Stay")}, "empty"),
            ({"answer": "D"}, "'A', 'B' or 'C'"),
            ({"answer": "Rise"}, "'A', 'B' or 'C'"),
            ({"scope": "maybe"}, "'in' or 'out'"),
        ],
    ),
    "template": (
        of(EventTemplate, TRANSFER),
        [
            ({"text": "{A} met {Z} at {B}"}, r"the place \{Z\} of the template 'transfer' has no type"),
            ({"text": "Somebody moved."}, "has no place such as"),
            ({"text": " "}, "must not"),
            ({"derived": {"A": "B.P54", "C": "A.P54"}}, "the role 'A' is drawn and derived"),
            ({"derived": {"C": "A"}}, "has to lead from a drawn one"),
            ({"derived": {"C": "A.P54", "D": "C.P118"}}, "has to lead from a drawn one"),
            ({"impacted": []}, "changes nothing"),
            ({"impacted": [{**DRAWN, "role": "X", "object": "B"}]}, r"no role 'X' \(there are A, B, C\)"),
            ({"impacted": [{**DRAWN, "object": "X.P118"}]}, "no role 'X'"),
            ({"untouched": [DRAWN]}, "would be in and out of scope"),
            ({"impacted": [{**DRAWN, "object": o} for o in ("B", "unknown")]}, "'P54' of 'A' is impacted twice"),
            ({"feasible": [{"rule": "differ", **DRAWN, "other": "Y"}]}, "no role 'Y'"),
            ({"feasible": [{"rule": "differ", **DRAWN}]}, "needs a second role"),
            ({"feasible": [{"rule": "absent", **DRAWN, "other": "B"}]}, "takes no second role"),
            ({"places": {"A": {"kind": "player"}, "B": "club"}}, "places.A"),
        ],
    ),
    "case of an event": (
        event_case,
        [
            ({"facts": (), "tendencies": ()}, "without a question measures nothing"),
            ({"facts": (make_fact_question(event="e/other"),)}, "about another event .'e/other'"),
            (
                {"facts": (make_fact_question("Who?", "A"), make_fact_question("WHO?", "B", scope="out"))},
                "both in and out of scope",
            ),
        ],
    ),
    "generated script": (
        of(
            GeneratedScript,
            {"key": "g/1", "case": "c/1", "fact": "f/1", "question": "q/1", "model": "m", "editor": "rome"}
            | {"edited": True, "text": "x"},
        ),
        [
            ({"sample": -1}, "greater than or equal"),
            ({"question": "q 1"}, "pattern"),
            ({"text": None}, "valid string"),
            ({"edited": "maybe"}, "valid boolean"),
        ],
    ),
    "probe": (
        of(TypeAdapter(Probe), SCORE.model_dump()),
        [
            ({"targets": ()}, "at least 1"),
            ({"ask": "choose"}, "'score', 'generate'"),
            ({"colour": "red"}, "Extra inputs"),
        ],
    ),
    "probe that writes": (
        of(GenerateProbe, WRITE.model_dump()),
        [
            ({"most": 0}, "most"),
            ({"temperature": -0.1}, "temperature"),
            ({"top_p": 0}, "top_p"),
            ({"top_p": 1.1}, "top_p"),
        ],
    ),
    "rating": (
        of(Rating, RATING),
        [
            ({"value": 0}, "outside 1 to 7"),
            ({"value": 8}, "outside 1 to 7"),
            ({"scale": "likert9"}, "unknown scale 'likert9'; allowed: likert7, likert5"),
            ({"scale": "likert5"}, "the scale of the rubric 'script' is likert7, not likert5"),
            ({"value": True}, "true is no rating: a whole number is"),
            ({"value": "4/7"}, "integer"),
            ({"aspect": "accuracy"}, "the rubric 'script' has no aspect 'accuracy': executability, coherence"),
            ({"rubric": "beauty"}, "unknown rubric 'beauty'; allowed: script, tendency, consistency"),
            ({"before_id": "y"}, "under the rubric 'script' names one text"),
            ({"rater": "somebody"}, "pattern"),
            ({"rater": "person:"}, "pattern"),
            ({"form": "rate_script"}, "pattern"),
            ({"value": 3.5}, "integer"),
            ({"value": None}, "says why"),
            ({"value": None, "reason": " "}, "says why"),
        ],
    ),
    "rating of a pair": (of(Rating, PAIR), [({"before_id": None}, "under the rubric 'consistency' names both texts")]),
    "script": (
        of(Script, {"key": "s", "question": "q"}),
        [
            ({"steps": ["a b c d e f g h"]}, "at most 7 words"),
            ({"steps": ["go"] * 10}, "at most 9"),
            ({"steps": []}, "at least 1"),
            ({"steps": ["Step 1: go"]}, "without its"),
            ({"steps": ["go\nhome"]}, "one line"),
        ],
    ),
    "prompt of a script": (
        of(
            ScriptPrompt,
            {"key": "p", "fact": "f", "text": "Go to", "separator": " ", "offset": 6, "targets": ("Lima",)},
        ),
        [
            ({"targets": ()}, "at least 1"),
            ({"text": "Go to "}, "white space"),
            ({"targets": ("",)}, "empty"),
            ({"separator": " ("}, "offset"),
        ],
    ),
    "verdict": (
        of(Verdict, {"key": "v", "item_id": "x", "by": "leak@1", "label": "keep"}),
        [
            ({"label": "drop"}, "carries a reason"),
            *(({"label": label, "reason": " \n"}, "carries a reason") for label in ("drop", "unsure", "unscored")),
            ({"label": None}, "a label or a value"),
            ({"value": 1.0}, "has a unit"),
            ({"by": "Leak"}, "pattern"),
        ],
    ),
}


@pytest.mark.parametrize(
    ("make", "change", "message"),
    [
        pytest.param(make, change, message, id=f"{name}-{n}")
        for name, (make, changes) in REFUSED.items()
        for n, (change, message) in enumerate(changes)
    ],
)
def test_a_faulty_record_is_refused(make: Callable[..., Any], change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        make(**change)
