"""Card, metadata and release of a split of events."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from curation.export.dataset_card import card
from curation.export.publish import DEFAULT_OF_EVENTS, publish
from curation.export.summary import survey
from curation.loaders.importer import import_split
from curation.shipped import events_split
from curation.splits.split_file import load_split, make_split
from curation.store.store import Store
from schemas.events.questions import TendencyQuestion
from tests.support.curation.verdicts import make_verdict
from tests.support.events import event_case, make_tendency


def test_a_release_of_the_shipped_events(tmp_path: Path) -> None:
    import_split(events_split(), tmp_path / "s.duckdb", origin="events")
    with Store.open(tmp_path / "s.duckdb", write=True) as store:
        questions = list(store.all(TendencyQuestion))[:30]
        store.put(make_verdict(q.id, "keep" if n % 5 else "drop", f"person:{person}/judge_tendency@1")
                  for n, q in enumerate(questions) for person in ("ann", "bo"))  # fmt: skip
    with Store.open(tmp_path / "s.duckdb") as store:
        release = publish(store.split("events"), tmp_path / "r", store=store)
    assert set(release.cases) == set(DEFAULT_OF_EVENTS) and not release.skipped and set(release.cases.values()) == {24}
    assert load_split(tmp_path / "r/events.jsonl").digest == events_split().digest
    text = (tmp_path / "r/README.md").read_text(encoding="utf-8")
    for words in ("license: cc0-1.0", "| factual questions in scope | 64 |", "becomes unknown | 16 |",
                  "event-level-editing",
                  "| tendency questions out of scope | 48 |", "Right letters out of scope: A 16, B 16, C 16.",
                  "**judge_tendency@1**: 60 judgements of 30 items by 2 raters.", "exact agreement: 1.000",
                  'events = load_dataset(FOLDER, "events", split="test")  # or fact_questions, tendency_questions',
                  "### tendency_questions", "| source | licence | address | events |"):  # fmt: skip
        assert words in text, words
    assert "script" not in text.replace("scripts, cloze", "").split("## Files")[0]
    data = json.loads((tmp_path / "r/croissant.json").read_text(encoding="utf-8"))
    assert [s["name"] for s in data["recordSet"]] == ["events", "fact_questions", "tendency_questions"]
    assert "128 factual questions, 144 tendency questions" in data["description"]


@pytest.mark.parametrize(("answers", "message"), [("CCC", True), ("CCA", False), ("CC", False)])
def test_a_letter_that_tells_the_scope_is_a_limit(answers: str, message: bool) -> None:
    questions = [make_tendency(f"How may rain {n} change?", letter, scope="out") for n, letter in enumerate(answers)]
    case = event_case(tendencies=tuple(questions))
    split = make_split("s", [case])
    assert ("the letter tells the scope" in card(split, survey(split), ())) is message
