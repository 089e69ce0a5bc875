"""Runs on a scripted endpoint: a configuration, and an endpoint that answers questions about events."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from curation.splits.split_file import make_split, write_split
from evaluation.runs.config import RunConfig
from tests.support.events import MOVE, event_case, make_event, make_fact_question


def event_split(folder: Path) -> Path:
    """Two events: a merger, and a move."""
    move = make_event(MOVE, "Corvo Foods moved to Turin.", type="headquarters")
    question = make_fact_question("Where is Corvo Foods?", "Turin", event=MOVE)
    other_case = event_case(f"case/{MOVE}", event=move, facts=(question,), tendencies=())
    write_split(make_split("two", [event_case(), other_case]), folder / "two.jsonl")
    return folder / "two.jsonl"


def endpoint_config(folder: Path, url: str, **changes: Any) -> RunConfig:
    """A run of methods in context on the endpoint."""
    data = {
        "split": {"file": str(event_split(folder))},
        "model": "endpoint:gpt-x",
        "endpoint": {"base_url": url, "api_key_env": "SCEDIT_NO_KEY"},
        "editors": {"ice": {"name": "ice"}},
        "metrics": ["ev_fact", "ev_fact_local"],
        "out": str(folder / "run"),
    }
    return RunConfig.model_validate(data | changes)


def reader(payload: dict[str, Any]) -> str:
    """Reads the event where one is given: companies and places in it are the answers; else it knows of Genoa only."""
    text = payload["messages"][0]["content"]
    event = re.search(r"Event: (.*)", text)
    question = re.search(r"Question: (.*)", text)
    question_text = question.group(1) if question else ""
    if "founded" in question_text:
        return "Genoa."
    if event is None:
        return "I do not know"
    return (
        "\n Turin.\nIt moved." if "Where" in question_text else "Alba Rail" if "company" in question_text else "unknown"
    )
