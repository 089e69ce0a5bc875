"""Filtering questions: what is shown, and what the checks' objections suggest."""

from __future__ import annotations

from annotation_ui.tasks.script_questions import FilterQuestion
from curation.shipped import mini_split
from curation.store.store import Store
from schemas.core.records import Record
from schemas.verdicts import Label, Verdict

TASK = FilterQuestion()


def said(check: str, label: Label | None = "drop", *, person: str = "") -> Verdict:
    by = f"{person}{check}@1"
    value = 1.0 if label is None else None
    unit = "x" if label is None else None
    return Verdict(key=f"v/{by}", item_id="i", by=by, label=label, reason="because", value=value, unit=unit)


def test_an_item_ends_where_the_model_goes_on(store: Store) -> None:
    case = next(iter(mini_split().cases))
    views = {i.id: i for i in TASK.items(store)}
    for prompt in case.prompts:
        item = views[prompt.id]
        assert item.shown["cut"] == prompt.text and not item.shown["cut"].endswith(" ")
        assert case.fact.new is not None
        assert item.shown["edit"].endswith(f": {case.fact.old.text} → {case.fact.new.text}")
        assert (item.case, item.stratum) == (case.fact.key, "P36 counterfactual")


def test_a_separator_that_is_more_than_a_space_is_shown(store: Store) -> None:
    case = next(iter(mini_split().cases))
    odd = case.prompts[0].model_copy(update={"separator": "\n  ", "offset": len(case.prompts[0].text) + 3})
    store.put([odd])
    assert {i.id: i for i in TASK.items(store)}[odd.id].shown["cut"] == case.prompts[0].text + "\n"


def test_a_fact_without_an_edit_has_nothing_to_filter(store: Store) -> None:
    case = next(iter(mini_split().cases))
    before = len(list(TASK.items(store)))
    plain: list[Record] = [case.fact.model_copy(update={"new": None, "change": "none"})]
    store.put(plain)
    assert len(list(TASK.items(store))) == before - len(case.prompts)
