"""Routers at work: the null router on ELKEN as measured, the shipped head on the shipped events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from curation.case_sources.support import Support
from curation.files.artifact_cache import Cache
from curation.loaders import load
from curation.shipped import shipped_split
from curation.splits.split_file import make_split
from evaluation.analysis.events import KINDS, ROUTING, Sent, routing_value, routing_values
from evaluation.analysis.tables import rates
from evaluation.editors.routed.serac import Serac
from evaluation.editors.routed.wording import ScopeByWording, WordingRouter
from evaluation.runs.results import load_run
from schemas.cases import EventCase
from schemas.core.errors import ModelError
from tests.support.arithmetic import make_config
from tests.support.evaluation.routed_events import TOWNS, HashedVectors, town_cases
from tests.support.evaluation.tiny_runs import run_tiny
from tests.support.tiny import make


def routings_by(cases: Sequence[EventCase], route: Callable[[str, str], int | None]) -> dict[str, dict[str, Any]]:
    """The figures of a router over all events of some cases, by kind of question, under the heads of the report.

    Args:
        cases: Events with questions; their events, in this order, are the memory.
        route: Of a question and its kind, the number of the event that it is sent to, or None.
    """
    values = []
    for kind in KINDS:
        for number, case in enumerate(cases):
            for question in getattr(case, kind):
                to = route(question.text, kind)
                sent: Sent = "none" if to is None else "own" if to == number else "other"
                values.append(routing_value("", kind, case.key, question.scope, sent))
    rows = rates(values, ["kind"], ROUTING, pooled=True)
    heads = ("questions", *(column.head for column in ROUTING))
    return {str(kind): dict(zip(heads, figures, strict=True)) for kind, *figures in rows}


HEAD = "shipped:serac-fact-events.safetensors"


def elken_cases(path: Path) -> list[EventCase]:
    """The events of a file that have a question."""
    import_result = load(str(path))
    requests: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for record in import_result.records:
        if record.kind in ("fact_question", "tendency_question"):
            requests[record.event][record.kind].append(record)  # type: ignore[attr-defined]
    return [
        EventCase(
            key=f"case/{event.key}",
            event=event,
            facts=tuple(requests[event.key]["fact_question"]),
            tendencies=tuple(requests[event.key]["tendency_question"]),
        )
        for event in import_result.events
        if event.key in requests
    ]


@pytest.mark.slow
def test_the_null_router_reaches_what_was_measured(shared: Path) -> None:
    """.79 of facts and .50 of tendencies, without ever comparing a question with an event; SERAC: .69, .54."""
    train, test = (elken_cases(shared / f"data/elken/{part}.json") for part in ("train", "test"))
    router = WordingRouter([case.event.text for case in test], ScopeByWording(train), 0.5)

    def route(question: str, kind: str) -> int | None:
        return router.route(f"Question: {question}{' (A) a (B) b (C) c' if kind == 'tendencies' else ''}\nAnswer:").item

    found = routings_by(test, route)
    assert found["facts"]["Accuracy"].mean == pytest.approx(0.79, abs=0.01)
    assert found["tendencies"]["Accuracy"].mean == pytest.approx(0.50, abs=0.01)
    assert found["facts"]["Out of scope: none"].mean > 0.97


def test_the_shipped_head_says_what_it_learnt_from_and_shares_nothing_with_the_shipped_events() -> None:
    data = Serac.training_data({"checkpoint": HEAD})
    assert data is not None and data.name == "events_from_facts" and len(data.texts) > 60
    assert [shared for case in shipped_split("events").all_cases if (shared := data.shares(case))] == []


def test_a_run_with_both_routers_and_its_routing_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Learnt on the run's support, with all events of the split in memory though the run takes four of them."""
    monkeypatch.setattr("evaluation.editors.routed.serac.Vectors", lambda encoder, device: HashedVectors())
    split, support = make_split("towns", town_cases(TOWNS[8:20])), tuple(town_cases(TOWNS[:8]))
    lm = make("llama", max_position_embeddings=512)
    editors = ["wording", {"name": "serac", "params": {"epochs": 1, "threshold": 0.0}}]
    config = make_config(tmp_path / "out", editors=editors, metrics=["ev_fact"], limit=4, events={"answer_tokens": 2})
    outcomes = run_tiny(config, split, lm, support=Support(support, "digest", "towns"))
    assert not any(outcome.failed for outcome in outcomes)
    run = load_run(tmp_path / "out")
    sent = routing_values(run)
    serac = [v["lost"] for v in sent if v["method"] == "serac" and v["lost"] is not None]
    assert serac == [False] * 4, "all pass a threshold of 0"
    assert {v["method"] for v in sent} <= {"wording", "serac"}
    notes = [r.notes for e in run.editors if e.label == "serac" for r in e.results.values()]
    assert all(note["memory"] == 12 and note["edited"] == 1 for note in notes)
    assert {e.label: "support" in e.manifest.components for e in run.editors} == {
        "none": False,
        "wording": True,
        "serac": True,
    }


@pytest.mark.slow
def test_the_shipped_head_routes_shipped_events_better_than_chance(tmp_path: Path) -> None:
    from curation.files.model_packages import minilm_folder

    try:
        minilm_folder()
    except ModelError as error:
        pytest.skip(str(error))
    editor = Serac(Serac.Params(checkpoint=HEAD), None, Cache(tmp_path))  # type: ignore[arg-type] - no model is needed
    editor.prepare([])
    cases: list[Any] = list(shipped_split("events").all_cases)
    router = editor.router([case.event.text for case in cases])
    found = routings_by(cases, lambda question, kind: router.route(question).item)
    for figures in found.values():
        right, another = figures["In scope: right event"].mean, figures["another"].mean
        assert right > another, "an event that passes is mostly the right one"
        assert right > 1 - figures["Out of scope: none"].mean
