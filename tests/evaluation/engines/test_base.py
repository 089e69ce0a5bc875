"""Errors and notes as a result holds them."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from evaluation.engines.base import REWRITTEN, plain, prompt_as_read, rewritten, with_earlier
from schemas.probes import GenerateProbe, ScoreProbe


def test_notes_become_json_values() -> None:
    result = plain({"loss": torch.tensor(0.5), "path": Path("a"), "steps": 3, "inside": {"ok": True, "list": (1, 2)}})
    assert result == {"loss": 0.5, "path": "a", "steps": 3, "inside": {"ok": True, "list": [1, 2]}}
    assert json.loads(json.dumps(result)) == result


def asks(*prompts: str) -> list[GenerateProbe]:
    return [GenerateProbe(purpose="script_question", item=p, prompt=p) for p in prompts]


def test_what_stands_before_prompts_is_kept_once_and_read_back() -> None:
    probes = asks("How?", "Why?")
    score = ScoreProbe(purpose="fact", item="x", prompt="Lima is in", targets=("Peru",))
    note = rewritten([score, *probes], lambda p: f"It is so.\n{p}")
    assert [one["before"] for one in note[REWRITTEN]] == ["It is so.\n"]
    assert [prompt_as_read(p, note) for p in probes] == ["It is so.\nHow?", "It is so.\nWhy?"]
    assert json.loads(json.dumps(note)) == note


def test_any_other_change_is_kept_whole_and_no_change_leaves_no_note() -> None:
    probes = asks("How?", "Why?")
    note = rewritten(probes, lambda p: p.upper() if p == "How?" else p)
    assert [prompt_as_read(p, note) for p in probes] == ["HOW?", "Why?"]
    assert rewritten(probes, None) == rewritten(probes, lambda p: p) == {}
    assert prompt_as_read(probes[0], {}) == "How?"


def test_answers_that_are_added_later_lose_no_prompt_and_those_asked_anew_show_the_new_one() -> None:
    first, second = asks("How?", "Why?")
    old = rewritten([first, second], lambda p: f"Old. {p}")
    new = rewritten([second], lambda p: f"New. {p}")
    both = with_earlier({"loss": 1, **new}, {"loss": 2, **old}, {second.id})
    assert [prompt_as_read(p, both) for p in (first, second)] == ["Old. How?", "New. Why?"] and both["loss"] == 1
    assert with_earlier({"loss": 1}, {}, {first.id}) == {"loss": 1}
