"""The checks over a store find what they look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from construction.events.checks import EVENT_CHECKS, judge_event
from construction.events.checks.base import EventInputs
from curation.checks.store_checks import CheckContext, make_checks, run_check
from curation.store.store import Store
from schemas.events.event import TEMPLATE_TEXT, EventRole
from schemas.facts import Entity
from schemas.lineage import Lineage
from tests.support.events import make_event, make_fact_question, make_tendency

EVENT = make_event(roles=(EventRole(role="A", entity=Entity(text="Alba Rail")),))
LINE = Lineage(
    item_id=EVENT.id, stage="template", made_at="now", detail={TEMPLATE_TEXT: "Alba Rail merged with Corvo."}
)
OUTSIDE = make_tendency("How may fares of Alba Rail change?", scope="out")
LIKE = make_tendency("How may fares of Alba Rail fall?")


@pytest.fixture
def around(tmp_path: Path) -> CheckContext:
    stranger = make_tendency("How may this deal end?", event="e/away", key="e/away/tendency/1")
    store = Store.open(tmp_path / "s.duckdb", create=True)
    store.put([EVENT, make_fact_question(), OUTSIDE, LIKE, stranger], [LINE])
    return CheckContext(store)


def test_a_store_is_judged_as_construction_judges(around: CheckContext) -> None:
    labels = {}
    for name in EVENT_CHECKS.names():
        (check,) = make_checks([name])
        outcome = run_check(around.store, check, around=around)
        labels[name] = (outcome.labels, outcome.left)
    assert labels == {
        "information_kept": ({"drop": 1}, 0),  # Corvo is lost
        "options_differ": ({"keep": 2}, 1),  # the question whose event is away stays due
        "stands_alone": ({"keep": 2}, 1),
        "repeats_sibling": ({"keep": 2}, 1),
        "subject_named": ({"drop": 1, "keep": 1}, 1),
    }
    records = {v.key: v for v in around.store.verdicts([OUTSIDE.id])}
    verdicts = judge_event("tendency_question", EventInputs(event=EVENT, question=OUTSIDE))
    assert {v.by: v.label for v in verdicts} == {v.by: v.label for v in records.values()}
    values = [v.value for v in around.store.verdicts([OUTSIDE.id, LIKE.id]) if v.check == "repeats_sibling"]
    assert sorted(values) == [0.0, pytest.approx(12 / 14)]


def test_an_event_without_its_templates_words_is_kept_as_not_applicable(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([make_event()])
        (check,) = make_checks(["information_kept"])
        run_check(store, check)
        assert [(v.label, v.reason) for v in store.verdicts()] == [("keep", "no paraphrase of a template")]
