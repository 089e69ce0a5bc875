from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from curation.rules.release import freeze
from curation.rules.rule import SplitRule
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
from curation.store.store import Store
from schemas.cases import Case, CaseNeighbour
from schemas.core.errors import DataError, UserError
from schemas.facts import Object
from tests.support.curation.rule_records import CHAINS, EDIT, P0
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
