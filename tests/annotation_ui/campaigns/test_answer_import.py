"""From live answers to the store: the form looks again; what is settled, and by whom."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotation_ui.agreement.report import agreement_report, live_judgements
from annotation_ui.campaigns.answer_import import (
    RaterAnswer,
    SettledItem,
    import_answers,
    import_campaign,
    settled_answers,
)
from annotation_ui.campaigns.campaign import CampaignOptions, assign_items, create_campaign, make_task
from annotation_ui.ratings import raters
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks.generated_scripts import import_scripts
from annotation_ui.tasks.probes import CurateProbe
from curation.rules.explain import explain
from curation.rules.rule import SplitRule
from curation.store.store import Store
from schemas.core.errors import DataError, UserError
from schemas.generated_scripts import GeneratedScript
from schemas.ratings import Rating
from schemas.verdicts import Verdict
from tests.annotation_ui.conftest import TASK, answer, begin, fill, scripts, work
from tests.support.documents.records import document_store

YES = {"meaningful": "yes", "depends": "yes", "changes": "yes", "guides": "yes"}
NO = {**YES, "guides": "no", "reasons": ["target_not_forced"]}


def test_the_gate_refuses_and_reports(ready: RatingsDB, store: Store) -> None:
    task = make_task(TASK)
    item = next(iter(task.items(store)))

    def given(answers: dict[str, Any], **more: Any) -> RaterAnswer:
        base = {"item": item, "person": "ann", "form": "rate_script@4", "saved_at": "t", "seconds": None, "origin": "x"}
        return RaterAnswer(answers=answers, **{**base, **more})  # type: ignore[arg-type]

    good = answer(1)
    bad = [
        given({**good, "coherence": 9}),
        given({"coherence": 3}),
        given(good, form="rate_script@9"),
        given(good, item=item.model_copy(update={"id": "f" * 20})),
    ]
    import_result = import_answers(store, task, [*bad, given(good)])
    assert (import_result.answers, import_result.new) == (1, 3)
    assert [r.why for r in import_result.rejected] == [
        "'coherence' is 9; allowed: 1 to 7",
        "'consistency' has no answer (and 1 more faults)",
        "given to the form rate_script@9, this campaign has rate_script@4, which asks or shows something else: "
        "import it with a campaign made with rate_script@9 (in its own ratings file), or have the item answered again "
        "under rate_script@4",
        "the store has no such item",
    ]


def test_a_changed_answer_replaces_the_earlier_one_in_the_store(ready: RatingsDB, store: Store) -> None:
    work(ready, "pilot", "ann", 1)
    import_campaign(ready, store, "pilot")
    (before,) = ready.current_answers("pilot")
    ready.save("pilot", "ann", before.item, {**(before.answers or {}), "coherence": 7}, form=before.form)
    import_result = import_campaign(ready, store, "pilot")
    assert import_result.superseded == 1
    values = {r.aspect: r.value for r in store.all(Rating)}
    assert values["coherence"] == 7 and len(values) == 3


def test_synthetic_people_are_told_apart_everywhere(ready: RatingsDB, store: Store) -> None:
    people.invite(ready, "synthetic-robot", synthetic=True)
    assign_items(ready, "pilot")
    assert work(ready, "pilot", "synthetic-robot") > 0
    import_campaign(ready, store, "pilot")
    ratings = list(store.all(Rating))
    assert all(r.rater == "person:synthetic-robot" for r in ratings)
    assert all(store.lineage(r.id)[0].detail["synthetic"] is True for r in ratings)
    assert agreement_report(live_judgements(ready, "pilot"), make_task(TASK)).synthetic == ("synthetic-robot",)


def test_lineage_names_what_else_was_shown_and_who_saved_when(store: Store) -> None:
    task = make_task("quality")
    item = next(i for i in task.items(store) if i.related)
    yes = {"question": "yes", "change": "yes", "cut": "yes"}
    answer = RaterAnswer(item, "ann", yes, "quality@3", "2026-01-02T03:04:05", 7.5, "label studio", 0.25)
    assert import_answers(store, task, [answer]).new == 4
    for verdict in store.all(Verdict):
        (line,) = store.lineage(verdict.id)
        assert line.parents == (item.id, *item.related) and len(line.parents) == 3
        assert line.made_at == "2026-01-02T03:04:05"
        assert line.detail == {
            "form": "quality@3", "seconds": 7.5, "origin": "label studio", "case": item.case, "probability": 0.25,
        }  # fmt: skip


def _decided(db: RatingsDB, store: Store, task: str, lead: str, good: dict[str, Any]) -> str:
    """A campaign of one task with one answer of ann's and a decision of the lead's; returns the item."""
    people.invite(db, lead, role="lead")
    begin(db, store, "c", task, "ann")
    item = db.assignments("c", "ann")[0].item
    db.save("c", "ann", item, good, form=make_task(task).form.label)
    db.adjudicate("c", item, lead, good)
    import_campaign(db, store, "c")
    return item


@pytest.mark.parametrize("lead", ["lea", "filter_question", "verdict", "filter_question@3", "person:filter_question"])
def test_a_decision_on_a_filter_is_told_apart_whatever_the_lead_is_called(
    db: RatingsDB, store: Store, lead: str
) -> None:
    item = _decided(db, store, "filter_question", lead, YES)
    decisions = [v for v in store.all(Verdict) if "_adjudicated" in v.by]
    tails = ("", "_meaningful", "_depends", "_changes", "_guides")
    assert {v.by for v in decisions} == {f"person:{lead}/filter_question_adjudicated{t}@3" for t in tails}
    keys = {f"verdict/filter_question_adjudicated{t}/{item}" for t in tails}
    assert {v.key for v in decisions} == keys, "the newest decision on an item replaces that of another lead"
    assert all(v.judged_by is not None and v.judged_by.kind == "adjudicated" for v in decisions)
    assert all(v.judged_by is not None and v.judged_by.name == lead for v in decisions)
    assert {m.name for m in live_judgements(db, "c")} == {"ann"}, "a decision enters no agreement"


@pytest.mark.parametrize("lead", ["lea", "rate_script", "rate_script@4", "rating"])
def test_a_decision_on_ratings_is_told_apart_whatever_the_lead_is_called(
    db: RatingsDB, store: Store, lead: str
) -> None:
    item = _decided(db, store, TASK, lead, answer(1))
    adjudications = [r for r in store.all(Rating) if r.rated_by.kind == "adjudicated"]
    assert {r.rater for r in adjudications} == {f"person:{lead}"}
    assert {r.key for r in adjudications} == {f"rating/rate_script_adjudicated/{aspect}/{item}" for aspect in answer(1)}


def test_the_newest_decision_decides_in_rules_and_explanations(db: RatingsDB, store: Store) -> None:
    item = _decided(db, store, "filter_question", "lea", NO)
    people.invite(db, "kim", role="lead")
    assert explain(store, SplitRule(), item).status == "out"
    db.adjudicate("c", item, "kim", YES)
    import_campaign(db, store, "c")
    explanation = explain(store, SplitRule(), item)
    assert explanation.steps[0].judged.outcome == "keep"
    assert "keep by filter_question_adjudicated: decided by kim" in explanation.text()
    labelled = [v for v in store.verdicts([item]) if v.label is not None and "_adjudicated" in v.by]
    assert [v.by for v in labelled] == ["person:kim/filter_question_adjudicated@3"], "one decision is current"


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A store with facts and questions of six cases, and their twelve scripts."""
    path = tmp_path / "bare.duckdb"
    with Store.open(path, create=True) as store:
        fill(store)
    return path


def written(path: Path, rows: list[GeneratedScript]) -> Path:
    path.write_text("".join(r.model_dump_json() + "\n" for r in rows), encoding="utf-8")
    return path


def other(script: GeneratedScript, **change: object) -> GeneratedScript:
    return script.model_copy(update={"key": f"{script.key}/other", "editor": "ft", **change})


def count(path: Path) -> int:
    with Store.open(path) as store:
        return sum(1 for _ in store.all(GeneratedScript))


@pytest.mark.parametrize("change", [{"fact": "mini/none"}, {"question": "mini/cf-001/q99"}])
def test_a_script_of_an_unknown_fact_or_question_keeps_all_out(
    bare: Path, tmp_path: Path, change: dict[str, object]
) -> None:
    first = scripts(6)[0]
    path = written(tmp_path / "f", [other(first), other(first, key="generated/odd", **change)])
    with pytest.raises(UserError):
        import_scripts(path, bare)
    assert count(bare) == 12


@pytest.mark.parametrize(("field", "key"), [("fact", "mini/cf-001/q1"), ("question", "mini/cf-001")])
def test_a_key_of_something_else_is_refused_here_and_not_when_a_campaign_is_made(
    bare: Path, tmp_path: Path, field: str, key: str
) -> None:
    odd = other(scripts(6)[0], **{field: key})
    with pytest.raises(DataError, match=f"'{key}' is no {field}") as error:
        import_scripts(written(tmp_path / "f", [odd]), bare)
    assert odd.key in str(error.value)
    assert count(bare) == 12


def test_a_file_or_store_that_is_not_there_is_told(bare: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        import_scripts(tmp_path / "none", bare)
    path = written(tmp_path / "f", scripts(1))
    with pytest.raises(UserError):
        import_scripts(path, tmp_path / "none.duckdb")
    assert not (tmp_path / "none.duckdb").exists()


CURATE = CurateProbe()
KEEP: dict[str, Any] = {"usable": "yes", "right": "yes", "level": 1}


@pytest.fixture
def curated(tmp_path: Path) -> Iterator[RatingsDB]:
    (store,) = [*_opened(tmp_path)]
    with RatingsDB(tmp_path / "r.sqlite", create=True) as ratings:
        for person in ("ann", "bo"):
            raters.invite(ratings, person)
        raters.invite(ratings, "lea", role="lead")
        with Store.open(store) as opened:
            create_campaign(ratings, opened, "c", CURATE, CampaignOptions(overlap=2))
        assign_items(ratings, "c")
        yield ratings


def _opened(folder: Path) -> Iterator[Path]:
    for store in document_store(folder):
        store.close()
        yield folder / "s.duckdb"


def settled(curated: RatingsDB) -> list[SettledItem]:
    current, assigned = curated.current_answers("c"), curated.assignments("c")
    return settled_answers(
        CURATE, curated.items("c"), current=current, assigned=assigned, decisions=curated.adjudications("c")
    )


def save(curated: RatingsDB, person: str, item: str, answers: dict[str, Any]) -> None:
    curated.save("c", person, item, answers, form=CURATE.form.label, seconds=5.0)


def test_all_have_to_answer_or_the_lead_decides(curated: RatingsDB) -> None:
    first, second, third, *_ = curated.items("c")
    for item in (first, second, third):
        save(curated, "ann", item, KEEP)
    assert settled(curated) == []
    save(curated, "bo", first, KEEP)
    save(curated, "bo", second, {"usable": "yes"})
    (one,) = settled(curated)
    assert one.item.id == first and set(one.answers) == {"ann", "bo"} and not one.lead
    curated.adjudicate("c", second, "lea", {**KEEP, "level": 2})
    by_item = {s.item.id: s for s in settled(curated)}
    assert set(by_item) == {first, second} and by_item[second].lead
    assert by_item[second].answers == {"lea": {**KEEP, "level": 2}}
