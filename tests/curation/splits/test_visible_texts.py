from __future__ import annotations

from collections.abc import Callable

import pytest

from curation.splits.contradictions import contradictions, overwritten
from curation.splits.split_file import make_split
from curation.splits.versions import diff
from curation.splits.visible_texts import case_lines, case_records, record_keys, visible_texts
from schemas.cases import Case, DocumentCase, EventCase
from schemas.events.questions import BackgroundQuestion
from schemas.facts import Object, Source
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from tests.support.arithmetic import make_case
from tests.support.documents.grouped import grouped_case, probe_of
from tests.support.documents.records import document_case
from tests.support.events import event_case, make_event
from tests.support.facts import peru_fact
from tests.support.small import small_split

CASE = event_case()
ASKED = BackgroundQuestion(text="In which league is Brenta?", answer=Object(text="First League"))


def test_every_record_of_a_case_comes_once_and_the_edit_first() -> None:
    records = list(case_records(CASE))
    assert records[0] == CASE.event and len(records) == 1 + len(CASE.facts) + len(CASE.tendencies)
    assert list(record_keys(CASE)) == [r.key for r in records] and len({r.key for r in records}) == len(records)
    case = small_split().cases[0]
    kinds = [r.kind for r in case_records(case)]
    assert kinds[0] == "fact" and kinds.count("fact") == 1 + len(case.neighbours) == 1 + kinds.count("neighbour")


def changed(part: str, place: int, **fields: object) -> Callable[[EventCase], EventCase]:
    def change(case: EventCase) -> EventCase:
        questions = list(getattr(case, part))
        questions[place] = questions[place].model_copy(update=fields)
        return case.model_copy(update={part: tuple(questions)})

    return change


@pytest.mark.parametrize(
    ("change", "level"),
    [
        (changed("facts", 0, text="Which firm runs it?"), "major"),
        (changed("facts", 0, background=True), "major"),
        (changed("facts", 0, background=True, background_questions=(ASKED,)), "major"),
        (changed("facts", 0, answer=CASE.facts[0].answer.model_copy(update={"aliases": ("AR",)})), "major"),
        (changed("tendencies", 0, answer="B"), "major"),
        (changed("tendencies", 0, options=("Up", "Down", "Level")), "major"),
        (changed("tendencies", 1, scope="in"), "major"),
        (lambda c: c.model_copy(update={"event": make_event(text="They split.")}), "major"),
        (lambda c: c.model_copy(update={"facts": c.facts[1:]}), "major"),
        (lambda c: c.model_copy(update={"event": make_event(source=Source(name="n", licence="CC0"))}), "patch"),
        (changed("tendencies", 0, about_event_subject=True), "patch"),
    ],
)
def test_what_a_run_or_a_person_sees_of_an_event_is_never_a_patch(
    change: Callable[[EventCase], EventCase], level: str
) -> None:
    old, new = make_split("s", [CASE]), make_split("s", [change(CASE)], version="1.0.1")
    assert diff(old, new).level == level


def test_another_question_is_a_minor_change() -> None:
    before, after = event_case(facts=CASE.facts[:2]), CASE
    assert visible_texts(before).items() < visible_texts(after).items()
    assert diff(make_split("s", [before]), make_split("s", [after])).level == "minor"


def test_of_a_documents_probe_each_change_has_its_name() -> None:
    case = grouped_case()
    hop = probe_of(case, "hop")

    def with_hop(**change: object) -> DocumentCase:
        probes = tuple(p.model_copy(update=change) if p is hop else p for p in case.probes)
        return case.model_copy(update={"probes": probes})

    before = visible_texts(case)
    for what, change in {"group": "aliases", "old answer": "Oslo", "premises": hop.premises[:1]}.items():
        after = visible_texts(with_hop(**{what.replace(" ", "_"): change}))
        assert {key for key in before if before[key] != after[key]} == {(what, hop.key)}
    gone = visible_texts(with_hop(group=None, old_answer=None, premises=()))
    assert before.keys() - gone.keys() == {(what, hop.key) for what in ("group", "old answer", "premises")}


def test_two_objects_for_one_fact_are_named_and_the_later_one_overwrites():
    cases = [make_case("Peru"), make_case("Kenya"), make_case("Peru", new="Rome"), make_case("Peru", new="Bern")]
    assert [(c.first, c.second) for c in contradictions(cases)] == [(1, 3), (3, 4)]
    assert overwritten(cases) == {1: 3, 3: 4}
    text = contradictions(cases)[0].text
    assert contradictions([make_case("Peru"), make_case("Peru"), make_case("Kenya", new="Rome")]) == []
    assert text.startswith("'case/peru' and 'case/peru' contradict each other: Peru, ") and "-> Oslo and Rome" in text


QUESTION = ScriptQuestion(key="q/1", fact="f/peru", text="How to go?")
SCRIPT = Script(key="s/1", question="q/1", steps=("Pack", "Fly to Lima", "Rest"))
PROMPT = ScriptPrompt(
    key="p/1", fact="f/peru", question="q/1", script="s/1", text="How to go?\nStep 1: Pack\nStep 2: Fly to", offset=39,
    targets=("Lima", "Oslo"),
)  # fmt: skip
FACT_CASE = Case(key="case/f/peru", fact=peru_fact(), questions=(QUESTION,), prompts=(PROMPT,))


def test_the_cut_and_what_follows() -> None:
    assert list(case_lines(FACT_CASE, {"s/1": SCRIPT})) == [
        "case/f/peru  (counterfactual)",
        "  The capital of Peru is Lima -> Oslo",
        "    How to go?",
        "    Step 1: Pack",
        "    Step 2: Fly to [CUT]Lima",
        "    Step 3: Rest",
    ]


def test_without_the_script_the_targets_follow() -> None:
    other = SCRIPT.model_copy(update={"steps": ("Another", "script")})
    for scripts in ({}, {"s/1": other}):
        assert list(case_lines(FACT_CASE, scripts))[-1] == "    Step 2: Fly to [CUT]Lima / Oslo"


def test_every_case_of_every_type() -> None:
    for case in (*small_split().cases, event_case("case/1"), document_case("case/2")):
        lines = list(case_lines(case, {}))
        assert lines[0].startswith(case.key) and len(lines) > 1
