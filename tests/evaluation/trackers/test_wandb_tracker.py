"""What Weights & Biases is told, over a library that writes it down."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from evaluation.trackers.wandb_tracker import WandbTracker


@pytest.mark.parametrize("project", [None, "mine"])
def test_settings_history_summary_and_exit_code(monkeypatch: pytest.MonkeyPatch, project: str | None) -> None:
    summary: dict[str, Any] = {}
    run = MagicMock(summary=summary)
    init = MagicMock(return_value=run)
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=init))
    monkeypatch.delenv("WANDB_PROJECT", raising=False)
    if project:
        monkeypatch.setenv("WANDB_PROJECT", project)
    tracker = WandbTracker()
    tracker.begin("mini", {"editors": {"rome": {}}})
    tracker.log({"rome/done": 1.0}, step=3)
    tracker.finish({"rome/es/mean": 0.5}, failed=True)
    init.assert_called_once_with(project=project or "scedit", name="mini", config={"editors": {"rome": {}}})
    run.log.assert_called_once_with({"rome/done": 1.0}, step=3)
    run.finish.assert_called_once_with(exit_code=1)
    assert summary == {"rome/es/mean": 0.5}
