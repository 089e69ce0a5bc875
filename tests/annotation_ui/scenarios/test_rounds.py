"""Programs in place of people, end to end: events judged by three, probes curated and reviewed; then the split."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from annotation_ui.agreement.report import TaskReport, agreement_report, disagreements, live_judgements
from annotation_ui.campaigns.answer_import import import_campaign
from annotation_ui.campaigns.campaign import (
    closed_items,
    make_task,
    waiting_for,
)
from annotation_ui.ratings import raters
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.probes import level_of
from curation.loaders.importer import import_split
from curation.rules.release import freeze
from curation.rules.rule import DocumentRule, EventRule
from curation.shipped import shipped_split
from curation.stats.bootstrap import Resampling
from curation.store.store import Store
from schemas.cases import DocumentCase, EventCase
from schemas.core.errors import UserError
from schemas.core.ids import seed
from schemas.documents.document import DocumentProbe
from schemas.verdicts import Verdict
from tests.annotation_ui.conftest import begin

PEOPLE = ("synthetic-ann", "synthetic-bo", "synthetic-cem")
TWO_KEEP = EventRule(min_people=2)


@pytest.fixture
def files(tmp_path: Path) -> Iterator[tuple[RatingsDB, Store]]:
    import_split(shipped_split("events"), tmp_path / "s.duckdb", origin="events")
    with RatingsDB(tmp_path / "r.sqlite", create=True) as db, Store.open(tmp_path / "s.duckdb", write=True) as store:
        for person in PEOPLE:
            raters.invite(db, person, synthetic=True)
        yield db, store


def label_of(person: str, item: str) -> str:
    """A synthetic annotator mostly says right; who differs, and on what, hangs on both names."""
    remainder = seed("synthetic annotator", person, item) % 100
    return "right" if remainder < 88 else "wrong" if remainder < 95 else "unsure"


def answer_all(db: RatingsDB, name: str, answer: Any) -> dict[tuple[str, str], dict[str, Any]]:
    value: dict[tuple[str, str], dict[str, Any]] = {}
    for a in db.assignments(name):
        answers = value[a.person, a.item] = answer(a.person, a.item)
        db.save(name, a.person, a.item, answers, form=db.campaign(name).form, seconds=9.0)
    return value


def judged(person: str, item: str) -> dict[str, Any]:
    label = label_of(person, item)
    return {"label": label, **({"reasons": ["ambiguous"]} if label == "unsure" else {})}


def test_answers_verdicts_split(files: tuple[RatingsDB, Store]) -> None:
    db, store = files
    begin(db, store, "tendencies", "judge_tendency", overlap=2, number=64)
    begin(db, store, "scope", "review_scope", overlap=3, number=20)
    answer_list = answer_all(db, "tendencies", judged)
    assert len(answer_list) == 2 * 64
    answer_all(db, "scope", lambda _, item: {"right": "yes", "change": _proposed(db, item)})
    assert not import_campaign(db, store, "tendencies").rejected
    assert not import_campaign(db, store, "scope").rejected

    split = freeze(store, "judged", TWO_KEEP)
    question_ids = {q.id for case in split.all_cases if isinstance(case, EventCase) for q in case.tendencies}
    statements = defaultdict(list)
    for (_, item), answers in answer_list.items():
        statements[item].append(answers["label"])
    assert question_ids == {item for item, labels in statements.items() if labels == ["right", "right"]}
    assert 32 < len(question_ids) < 64, "the annotators drop some and keep most"
    facts = {q.id for case in split.all_cases if isinstance(case, EventCase) for q in case.facts}
    assert facts == {q for campaign_items in db.items("scope").values() for q in campaign_items.item.related}

    _agreement_apart(agreement_report(live_judgements(db, "tendencies"), make_task("judge_tendency"),
                                      resampling=Resampling(20)), statements)  # fmt: skip
    disagreement_rows = disagreements(live_judgements(db, "tendencies"), make_task("judge_tendency"))
    assert {d.item for d in disagreement_rows} == {item for item, labels in statements.items() if len(set(labels)) > 1}


def _proposed(db: RatingsDB, item: str) -> str:
    return "certain" if db.item("scope", item).item.stratum.startswith("in ") else "none"


def _agreement_apart(task_report: TaskReport, message: dict[str, list[str]]) -> None:
    """Exact agreement as counted here, for all and for each scope; nominal alpha and AC1 beside it."""
    questions_by_id = {
        q.id: q for case in shipped_split("events").all_cases if isinstance(case, EventCase) for q in case.tendencies
    }
    assert set(task_report.parts) == {"in scope", "out of scope"}
    for scope, report in (
        ("", task_report),
        ("in", task_report.parts["in scope"]),
        ("out", task_report.parts["out of scope"]),
    ):
        items = [item for item in message if scope in ("", questions_by_id[item].scope)]
        pairs = [message[item] for item in items]
        (aspect,) = report.aspects
        exact = aspect.agreement.exact
        assert exact.value == pytest.approx(sum(a == b for a, b in pairs) / len(pairs))
        assert exact.low is not None and exact.low < exact.value
        assert "nominal" in aspect.agreement.alpha.name and aspect.agreement.ac1.value is not None
        assert report.items == len(pairs) and report.cases == len({questions_by_id[item].event for item in items})


def test_one_person_is_too_few_and_a_drop_is_enough(files: tuple[RatingsDB, Store]) -> None:
    db, store = files
    begin(db, store, "alone", "judge_tendency", overlap=1, number=32)
    answer_all(db, "alone", lambda *_: {"label": "right"})
    import_campaign(db, store, "alone")
    with pytest.raises(UserError, match="tendency question: held by people: 144"):
        freeze(store, "judged", TWO_KEEP)
    one = freeze(store, "one", EventRule(min_people=1))
    assert one.header["counts"]["tendency question: held by people"] == 144 - 32


def test_the_own_answer_comes_first_and_from_the_same_people(files: tuple[RatingsDB, Store]) -> None:
    db, store = files
    begin(db, store, "own", "answer_tendency", group="g", overlap=2, number=32)
    begin(db, store, "judge", "judge_tendency", overlap=2, group="g")
    pairs = {name: {(a.person, a.item) for a in db.assignments(name)} for name in ("own", "judge")}
    assert pairs["own"] == pairs["judge"] and len(pairs["own"]) == 64
    assert waiting_for(db, db.campaign("judge"), PEOPLE[0]) == "own"
    answer_all(db, "own", lambda person, item: {"own": "abc"[seed(person, item) % 3]})
    assert waiting_for(db, db.campaign("judge"), PEOPLE[0]) is None
    first = next(a.item for a in db.assignments("judge", PEOPLE[0]))
    db.save("judge", PEOPLE[0], first, {"label": "right"}, form="judge_tendency@2", seconds=3.0)
    assert first in closed_items(db, db.campaign("own"), PEOPLE[0]), "once the proposal is seen, the own answer stays"
    assert import_campaign(db, store, "own").new == 64
    with pytest.raises(UserError, match="would have no case"):
        freeze(store, "judged", TWO_KEEP)


CURATORS = ("synthetic-ann", "synthetic-bo")
REVIEWER = "synthetic-cem"
CASES = [case for case in shipped_split("documents").all_cases if isinstance(case, DocumentCase)]
PROBES = {p.key: p for case in CASES for p in case.probes}
Answer = Callable[[str, TaskItem], dict[str, Any]]


@pytest.fixture
def document_files(tmp_path: Path) -> Iterator[tuple[RatingsDB, Store]]:
    import_split(shipped_split("documents"), tmp_path / "s.duckdb", origin="documents")
    with RatingsDB(tmp_path / "r.sqlite", create=True) as db, Store.open(tmp_path / "s.duckdb", write=True) as store:
        for person in CURATORS:
            raters.invite(db, person, synthetic=True)
        yield db, store


def curate_all(db: RatingsDB, name: str, answer: Answer) -> None:
    for a in db.assignments(name):
        answers = answer(a.person, db.item(name, a.item).item)
        db.save(name, a.person, a.item, answers, form=db.campaign(name).form, seconds=9.0)


def curated(person: str, item: TaskItem) -> dict[str, Any]:
    """Drops a fifth, lowers a third of the other levels above 1, keeps the rest: every curator alike."""
    level, draw = level_of(item), seed("curator", item.id) % 15
    if draw < 3:
        return {"usable": "no", "right": "yes", "level": level, "reasons": ["needs_context"]}
    tags = item.shown.get("tags", "").split(", ") if level == 3 else []
    if level in (2, 3) and draw < 8:
        return {"usable": "yes", "right": "yes", "level": level - 1}
    return {"usable": "yes", "right": "yes", "level": level, **({"tags": tags} if tags else {})}


def reviewed(person: str, item: TaskItem) -> dict[str, Any]:
    level = level_of(item)
    if level == 2 and seed("reviewer", item.id) % 4 == 0:
        return {"approved": "no", "level": 1, "comment": "word for word"}
    return {"approved": "yes"}


def test_sequential_rounds_as_published(document_files: tuple[RatingsDB, Store], tmp_path: Path) -> None:
    db, store = document_files
    begin(db, store, "first", "curate_probe", overlap=1)
    written = {key: item.item for key, item in db.items("first").items()}
    assert len(written) == len(PROBES) == 192
    curate_all(db, "first", curated)
    assert not import_campaign(db, store, "first").rejected
    said = {store.get(key).key: curated("", item) for key, item in written.items()}
    dropped = {key for key, answers in said.items() if answers["usable"] == "no"}
    lowered = {key for key, answers in said.items() if key not in dropped and answers["level"] != PROBES[key].level}
    assert 20 < len(dropped) < 60 and len(lowered) > 20
    current = {p.key: p for p in store.all(DocumentProbe)}
    assert {key for key, p in current.items() if p.level != PROBES[key].level} == lowered
    assert all(not p.tags for p in current.values() if p.key in lowered and p.level != 3)
    new_ids = {current[key].id for key in lowered}
    kept = {v.item_id for v in store.all(Verdict) if v.label == "keep" and v.check == "curate_probe"}
    assert new_ids <= kept and not {PROBES[key].id for key in lowered} & kept, "old verdicts do not hold for it"

    before = list(store.all(DocumentProbe))
    assert import_campaign(db, store, "first").new == 0 and list(store.all(DocumentProbe)) == before

    with RatingsDB(tmp_path / "second.sqlite", create=True) as other:  # other people in a file of their own
        raters.invite(other, REVIEWER, synthetic=True)
        begin(other, store, "second", "review_level", overlap=1)
        curate_all(other, "second", reviewed)
        assert not import_campaign(other, store, "second").rejected
        refused = {i.item.id for i in other.items("second").values() if reviewed("", i.item)["approved"] == "no"}
        assert len(other.items("second")) == 192 - len(dropped) and refused
    again = {p.key: p for p in store.all(DocumentProbe)}
    assert {current[key].id for key in current if again[key] != current[key]} == refused

    split = freeze(store, "curated", DocumentRule(min_people=1))
    probes = [p for case in split.all_cases if isinstance(case, DocumentCase) for p in case.probes]
    assert {p.key for p in probes} == set(PROBES) - dropped and set(probes) <= set(again.values())


def test_an_overlap_says_how_far_people_agree_and_waits_where_they_do_not(
    document_files: tuple[RatingsDB, Store],
) -> None:
    db, store = document_files
    begin(db, store, "both", "curate_probe", overlap=2, number=48)

    def answer(person: str, item: TaskItem) -> dict[str, Any]:
        one = curated(person, item)
        if person == CURATORS[1] and seed("differs", item.id) % 6 == 0 and one["usable"] == "yes":
            return {"usable": "yes", "right": "yes", "level": 1}
        if person == CURATORS[1] and one.get("tags") and seed("tags", item.id) % 3 == 0:
            return {**one, "tags": ["degree"]}
        return one

    curate_all(db, "both", answer)
    said = {key: [answer(who, i.item) for who in CURATORS] for key, i in db.items("both").items()}
    report = agreement_report(live_judgements(db, "both"), make_task("curate_probe"), resampling=Resampling(50))
    aspects = {a.aspect: a.agreement for a in report.aspects}
    assert set(aspects) == {"usable", "right", "level"}
    assert "ordinal" in aspects["level"].alpha.name and "nominal" in aspects["usable"].alpha.name
    assert aspects["usable"].ac1.value is not None and report.pooled is None
    exact = sum(a["level"] == b["level"] for a, b in said.values()) / 48
    assert aspects["level"].exact.value == pytest.approx(exact) and exact < 1
    by_document: dict[str, list[float]] = {}
    for key, item in db.items("both").items():
        one, two = (set(answers.get("tags", [])) for answers in said[key])
        if one | two:
            by_document.setdefault(item.item.case, []).append(len(one & two) / len(one | two))
    means = [sum(shares) / len(shares) for shares in by_document.values()]
    assert report.sets["tags"].value == pytest.approx(sum(means) / len(means)) and 0 < sum(means) < len(means)

    apart = {key for key, (a, b) in said.items() if a != b}
    assert {d.item for d in disagreements(live_judgements(db, "both"), make_task("curate_probe"))} == apart and apart
    import_campaign(db, store, "both")
    current = {p.id for p in store.all(DocumentProbe)}
    assert apart <= current, "where people differ the probe stays as it is"

    raters.invite(db, "lea", role="lead")
    first = min(apart)
    db.adjudicate("both", first, "lea", {"usable": "yes", "right": "yes", "level": 3, "tags": ["summary"]})
    import_campaign(db, store, "both")
    decided = store.get(store.get(first).key)
    assert isinstance(decided, DocumentProbe) and decided.tags == ("summary",) and decided.id != first
    (verdict,) = [v for v in store.all(Verdict) if v.item_id == decided.id]
    assert verdict.judged_by is not None and verdict.judged_by.kind == "adjudicated" and verdict.label == "keep"
