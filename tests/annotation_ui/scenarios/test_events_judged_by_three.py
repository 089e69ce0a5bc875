"""Three synthetic annotators judge the shipped split of events: answers become verdicts, verdicts a split."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
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
from curation.loaders.importer import import_split
from curation.rules.release import freeze
from curation.rules.rule import EventRule
from curation.shipped import shipped_split
from curation.stats.bootstrap import Resampling
from curation.store.store import Store
from schemas.cases import EventCase
from schemas.core.errors import UserError
from schemas.core.ids import seed
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
