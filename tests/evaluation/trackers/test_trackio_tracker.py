"""What trackio is told, over a library that writes it down."""

from __future__ import annotations

import sys
from unittest.mock import MagicMock, call

import pytest

from evaluation.trackers.trackio_tracker import TrackioTracker


def test_settings_curve_and_figures_after_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    library = MagicMock()
    monkeypatch.setitem(sys.modules, "trackio", library)
    tracker = TrackioTracker()
    tracker.begin("mini", {"editors": {"rome": {"layer": 5}}, "_own": 1})
    tracker.log({"rome/done": 1.0}, step=1)
    tracker.log({"rome/done": 2.0}, step=2)
    tracker.finish({"rome/es/mean": 0.5}, failed=False)
    library.init.assert_called_once_with(project="scedit", name="mini", config={"editors.rome.layer": 5})
    assert library.log.call_args_list[-1] == call({"rome/es/mean": 0.5, "failed": 0.0}, step=3)
    assert [c.kwargs["step"] for c in library.log.call_args_list] == [1, 2, 3]
    library.finish.assert_called_once_with()
