"""Errors and notes as a result holds them."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from evaluation.engines.base import explained, plain


def test_an_error_is_its_class_and_text() -> None:
    assert explained(RuntimeError("no room")) == "RuntimeError: no room"


def test_notes_become_json_values() -> None:
    got = plain({"loss": torch.tensor(0.5), "path": Path("a"), "steps": 3, "inside": {"ok": True, "list": (1, 2)}})
    assert got == {"loss": 0.5, "path": "a", "steps": 3, "inside": {"ok": True, "list": [1, 2]}}
    assert json.loads(json.dumps(got)) == got
