"""Versions of splits: what a change asks for, errata, and what of a case anybody sees."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.splits.contradictions import contradictions, overwritten
from curation.splits.split_file import Split, make_split
from curation.splits.versions import (
    Errata,
    Erratum,
    add_erratum,
    changelog,
    check_version,
    diff,
    merge_errata,
    read_errata,
    withdraw_errata,
)
from curation.splits.visible_texts import case_lines, case_records, record_keys, visible_texts
from curation.store.store import Store
from schemas.cases import Case, CaseNeighbour, DocumentCase, EventCase
from schemas.core.errors import DataError, UserError
from schemas.events.questions import BackgroundQuestion
from schemas.facts import Object, Source
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from tests.support.arithmetic import make_case
from tests.support.curation.rule_records import CHAINS, EDIT, P0
from tests.support.documents.grouped import grouped_case, probe_of
from tests.support.documents.records import document_case
from tests.support.events import event_case, make_event
from tests.support.facts import peru_fact
from tests.support.small import small_split

MINI = make_split("mini", small_split().cases[:4])
FIRST = MINI.cases[0]


def with_first(change: Callable[[Case], Case]) -> Split:
    return make_split("mini", [change(FIRST), *MINI.cases[1:]], version="1.0.1")


def on_fact(**fields: object) -> Callable[[Case], Case]:
    return lambda c: c.model_copy(update={"fact": c.fact.model_copy(update=fields)})


def other_prompt(case: Case) -> Case:
    first, *rest = case.prompts
    variant = first.model_copy(update={"text": "X" + first.text, "offset": first.offset + 1})
    return case.model_copy(update={"prompts": (variant, *rest)})


def other_span(case: Case) -> Case:
    """The same filled-in prompt, of which another part is the subject."""
    fact, fact_prompt = case.fact, case.fact.fact_prompt
    span = f"{fact.subject.text}{fact.prompt.partition('{}')[2]}"
    subject = fact.subject.model_copy(update={"text": span})
    variant = fact.model_copy(update={"subject": subject, "prompt": fact.prompt.partition("{}")[0] + "{}"})
    assert variant.fact_prompt == fact_prompt
    return case.model_copy(update={"fact": variant})


def first_of(case: Case, field: str, **changes: object) -> Case:
    first, *rest = getattr(case, field)
    return case.model_copy(update={field: (first.model_copy(update=changes), *rest)})


def on_neighbour(changes: Callable[[CaseNeighbour], dict[str, object]]) -> Callable[[Case], Case]:
    def changed(case: Case) -> Case:
        first, *rest = case.neighbours
        return case.model_copy(update={"neighbours": (first.model_copy(update=changes(first)), *rest)})

    return changed


def on_beside(field: str, **changes: object) -> Callable[[Case], Case]:
    """The first neighbour's fact with something inside one of its fields changed."""
    return on_neighbour(
        lambda n: {"fact": n.fact.model_copy(update={field: getattr(n.fact, field).model_copy(update=changes)})}
    )


CASES = [
    ("target", on_fact(new=Object(text="Atlantis")), "major", "2.0.0"),
    ("prompt text", other_prompt, "major", "2.0.0"),
    ("prompt dropped", lambda c: c.model_copy(update={"prompts": c.prompts[1:]}), "major", "2.0.0"),
    ("neighbours dropped", lambda c: c.model_copy(update={"neighbours": ()}), "major", "2.0.0"),
    ("paraphrase added", on_fact(paraphrases=(*FIRST.fact.paraphrases, "It is said that")), "minor", "1.1.0"),
    ("source", on_fact(source=FIRST.fact.source.model_copy(update={"date": "2026"})), "patch", "1.0.1"),
    ("alias", on_fact(old=FIRST.fact.old.model_copy(update={"aliases": ("Old one",)})), "major", "2.0.0"),
    ("subject's alias", on_fact(subject=FIRST.fact.subject.model_copy(update={"aliases": ("X",)})), "major", "2.0.0"),
    ("subject span", other_span, "major", "2.0.0"),
    ("relation id", on_fact(relation=FIRST.fact.relation.model_copy(update={"id": "P9999"})), "major", "2.0.0"),
    ("kind of change", on_fact(change="temporal"), "major", "2.0.0"),
    ("date of change", on_fact(changed_on="2020"), "major", "2.0.0"),
    ("question text", lambda c: first_of(c, "questions", text="How else?"), "major", "2.0.0"),
    ("question dropped", lambda c: c.model_copy(update={"questions": c.questions[1:]}), "major", "2.0.0"),
    ("step of the cut", lambda c: first_of(c, "prompts", step=9), "major", "2.0.0"),
    ("paraphrase twice", on_fact(paraphrases=FIRST.fact.paraphrases * 2 or ("A", "A")), "minor", "1.1.0"),
    ("kind of neighbour", on_neighbour(lambda n: {"link": n.link.model_copy(update={"how": "near_subject"})}), "major",
     "2.0.0"),
    ("neighbour's alias", on_beside("subject", aliases=("X",)), "major", "2.0.0"),
    ("neighbour's relation", on_beside("relation", id="P9999"), "major", "2.0.0"),
    ("neighbour's question", on_neighbour(lambda n: {"questions": ()}), "major", "2.0.0"),
    ("neighbour's source", on_beside("source", date="2026"), "patch", "1.0.1"),
    ("label", on_fact(relation=FIRST.fact.relation.model_copy(update={"label": "other"})), "patch", "1.0.1"),
    ("Wikidata id", on_fact(old=FIRST.fact.old.model_copy(update={"wikidata": "Q9999999"})), "patch", "1.0.1"),
    ("nothing", lambda c: c, "none", "1.0.0"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "level", "version"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_what_a_change_asks_for(change: Callable[[Case], Case], level: str, version: str) -> None:
    comparison = diff(MINI, with_first(change))
    assert (comparison.level, comparison.suggested) == (level, version)
    assert [c.key for c in comparison.changes] == ([FIRST.key] if level != "none" else [])


def test_equal_details_and_reasons_are_said_once() -> None:
    shorter = with_first(lambda c: c.model_copy(update={"prompts": c.prompts[2:]}))
    (change,) = diff(MINI, shorter, why=lambda key, what: f"{what} by a check").changes
    keys = ", ".join(p.key for p in FIRST.prompts[:2])
    assert change.text.startswith("2 x script prompt dropped") and change.text.endswith(f"{keys}: dropped by a check")


@pytest.mark.parametrize("version", ["1.0.0", "1.0.1", "1.9.0", "1.9.0-candidate", "2.0.0-candidate"])
def test_a_version_that_hides_a_change(version: str) -> None:
    comparison = diff(MINI, with_first(other_prompt))
    with pytest.raises(UserError, match=r"hides a major change \(0 added, 0 dropped, 1 changed\); allowed: 2.0.0"):
        check_version(comparison, version)
    check_version(comparison, "2.0.0")
    check_version(comparison, "3.1.0")


def test_errata_are_the_reason_and_stand_in_the_changelog() -> None:
    erratum = Erratum(item=FIRST.prompts[0].key, what="cut in a word", date="2026-11-21")
    after = make_split("mini", MINI.cases[1:], version="2.0.0", details={"errata": [erratum.model_dump(mode="json")]})
    text = changelog(diff(MINI, after), date="2026-11-21")
    assert "## mini 2.0.0 (2026-11-21)" in text and "### Dropped (1)" in text
    assert f"- `{FIRST.key}`: erratum on {FIRST.prompts[0].key}: cut in a word" in text
    assert "and 1 more" in changelog(diff(MINI, make_split("mini", MINI.cases[2:])), date="2026-11-21", limit=1)


ENTRY = Erratum(item=P0.key, what="cut in a word", date="2026-11-21")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: not JSON"),
        ('{"item": "a", "what": "b", "date": "yesterday"}', "line 2: date: 'yesterday' is no ISO date"),
        ('{"item": "a", "wat": "b", "date": "2026-01-01"}', "line 2: .*"),
        ('{"item": "a", "what": "b", "action": "burn", "date": "2026-01-01"}', "line 2: action"),
    ],
)
def test_lines_that_are_no_errata(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "e.jsonl"
    path.write_text(ENTRY.model_dump_json() + "\n" + line + "\n")
    with pytest.raises(DataError, match=message):
        read_errata(path)


def test_errata_carry_over_until_corrected(tmp_path: Path) -> None:
    """An erratum given once holds for the next versions, and ends with the correction of its item."""
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([EDIT, *CHAINS[0], *CHAINS[1]])
        first = freeze(store, "mine", SplitRule(), errata=(ENTRY.model_copy(update={"id": P0.id}),))
        assert first.header["counts"]["prompt: dropped by erratum"] == 1
        second = freeze(store, "mine", SplitRule(min_neighbours=0), version="1.1.0")
        assert second.digest == first.digest and second.header["errata"] == first.header["errata"]
        store.put([P0.model_copy(update={"text": P0.text + " big", "offset": P0.offset + 4})])
        third = freeze(store, "mine", SplitRule(), version="1.2.0")
        assert len(third.cases[0].prompts) == 2 and third.header["errata"], "history is kept"


def test_what_was_withdrawn_applies_to_nothing_and_stays_on_record() -> None:
    hold = ENTRY.model_copy(update={"action": "hold", "what": "look at it"})
    back = ENTRY.model_copy(update={"action": "withdraw", "what": "it is whole"})
    again = ENTRY.model_copy(update={"what": "cut in another word"})
    known = Errata([ENTRY, hold, back])
    assert known.of(P0.key, P0.id) is None and known.standing(P0.key) == ()
    assert known.entries == (ENTRY, hold, back)
    assert Errata([back, ENTRY]).of(P0.key, P0.id) == ENTRY, "only what stands before it"
    assert Errata([ENTRY, back, again]).standing(P0.key) == (again,)
    other = ENTRY.model_copy(update={"item": EDIT.key})
    assert Errata([ENTRY, other, back]).of(EDIT.key, EDIT.id) == other
    assert merge_errata({"errata": [e.model_dump() for e in known.entries]}, [ENTRY]).of(P0.key, P0.id) is None


def test_what_was_said_once_is_withdrawn_once_and_said_again_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "errata.jsonl"
    with pytest.raises(UserError, match="no erratum on '.*' stands"):
        withdraw_errata(path, P0.key, "x", date="2026-12-01")
    assert add_erratum(path, ENTRY)
    assert withdraw_errata(path, P0.key, "y", date="2026-12-01") == (ENTRY,)
    with pytest.raises(UserError, match="stands there already.*say it otherwise"):
        add_erratum(path, ENTRY)
    assert add_erratum(path, again := ENTRY.model_copy(update={"what": "another fault"}))
    with pytest.raises(UserError, match="say it otherwise"):
        withdraw_errata(path, P0.key, "y", date="2026-12-01")
    assert read_errata(path).standing(P0.key) == (again,)


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
