"""Synthetic curators end to end: answers become verdicts and new versions, a second person reviews, then the split."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from annotation_ui.agreement.report import agreement_report, disagreements, live_judgements
from annotation_ui.campaigns.answer_import import import_campaign
from annotation_ui.campaigns.campaign import make_task
from annotation_ui.ratings import raters
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.probes import level_of
from curation.loaders.importer import import_split
from curation.rules.release import freeze
from curation.rules.rule import DocumentRule
from curation.shipped import shipped_split
from curation.stats.bootstrap import Resampling
from curation.store.store import Store
from schemas.cases import DocumentCase
from schemas.core.ids import seed
from schemas.documents.document import DocumentProbe
from schemas.verdicts import Verdict
from tests.annotation_ui.conftest import begin

CURATORS = ("synthetic-ann", "synthetic-bo")
REVIEWER = "synthetic-cem"
CASES = [case for case in shipped_split("documents").all_cases if isinstance(case, DocumentCase)]
PROBES = {p.key: p for case in CASES for p in case.probes}
Answer = Callable[[str, TaskItem], dict[str, Any]]


@pytest.fixture
def files(tmp_path: Path) -> Iterator[tuple[RatingsDB, Store]]:
    import_split(shipped_split("documents"), tmp_path / "s.duckdb", origin="documents")
    with RatingsDB(tmp_path / "r.sqlite", create=True) as db, Store.open(tmp_path / "s.duckdb", write=True) as store:
        for person in CURATORS:
            raters.invite(db, person, synthetic=True)
        yield db, store


def answer_all(db: RatingsDB, name: str, answer: Answer) -> None:
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


def test_sequential_rounds_as_published(files: tuple[RatingsDB, Store], tmp_path: Path) -> None:
    db, store = files
    begin(db, store, "first", "curate_probe", overlap=1)
    written = {key: item.item for key, item in db.items("first").items()}
    assert len(written) == len(PROBES) == 192
    answer_all(db, "first", curated)
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
        answer_all(other, "second", reviewed)
        assert not import_campaign(other, store, "second").rejected
        refused = {i.item.id for i in other.items("second").values() if reviewed("", i.item)["approved"] == "no"}
        assert len(other.items("second")) == 192 - len(dropped) and refused
    again = {p.key: p for p in store.all(DocumentProbe)}
    assert {current[key].id for key in current if again[key] != current[key]} == refused

    split = freeze(store, "curated", DocumentRule(min_people=1))
    probes = [p for case in split.all_cases if isinstance(case, DocumentCase) for p in case.probes]
    assert {p.key for p in probes} == set(PROBES) - dropped and set(probes) <= set(again.values())


def test_an_overlap_says_how_far_people_agree_and_waits_where_they_do_not(files: tuple[RatingsDB, Store]) -> None:
    db, store = files
    begin(db, store, "both", "curate_probe", overlap=2, number=48)

    def answer(person: str, item: TaskItem) -> dict[str, Any]:
        one = curated(person, item)
        if person == CURATORS[1] and seed("differs", item.id) % 6 == 0 and one["usable"] == "yes":
            return {"usable": "yes", "right": "yes", "level": 1}
        if person == CURATORS[1] and one.get("tags") and seed("tags", item.id) % 3 == 0:
            return {**one, "tags": ["degree"]}
        return one

    answer_all(db, "both", answer)
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
