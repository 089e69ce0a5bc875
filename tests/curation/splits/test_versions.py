from __future__ import annotations

from collections.abc import Callable

import pytest

from curation.shipped import mini_split
from curation.splits.split_file import Split, make_split
from curation.splits.versions import Erratum, Version, changelog, check_version, diff, next_version
from schemas.cases import Case, CaseNeighbour
from schemas.core.errors import UserError
from schemas.facts import Object

MINI = make_split("mini", mini_split().cases[:4])
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


def test_added_and_dropped_cases() -> None:
    bigger = make_split("mini", mini_split().cases[:5], version="1.1.0")
    assert [c.what for c in diff(MINI, bigger).changes] == ["added"] and diff(MINI, bigger).level == "minor"
    assert [c.what for c in diff(bigger, MINI).changes] == ["dropped"] and diff(bigger, MINI).level == "major"


@pytest.mark.parametrize(
    ("old", "level", "new"),
    [("0.3.1", "major", "0.4.0"), ("0.3.1", "minor", "0.4.0"), ("2.3.1", "patch", "2.3.2"), ("2.3.1", "none", "2.3.1")],
)
def test_bumped(old: str, level: str, new: str) -> None:
    assert next_version(old, level) == new  # type: ignore[arg-type]


def test_versions_in_order() -> None:
    texts = ["1.0.0-candidate", "1.0.0", "1.2.0", "1.10.0", "2.0.0"]
    assert sorted(reversed(texts), key=lambda t: Version.parse(t).order) == texts
    for wrong in ("1.0", "v1.0.0", "1.0.0.0", "1.0.0-"):
        with pytest.raises(UserError, match="is no version"):
            Version.parse(wrong)


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
