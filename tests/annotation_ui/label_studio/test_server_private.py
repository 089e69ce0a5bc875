"""The server's log and its owner's password are the owner's alone, also where they were not."""

from __future__ import annotations

import logging
import stat
from pathlib import Path

import pytest

from annotation_ui.label_studio import server
from schemas.core.errors import DataError


class Silent:
    """A process that ended at once."""

    pid = 2**22 + 1

    def __init__(self, *words: object, **more: object) -> None:
        pass

    def poll(self) -> int:
        return 1


def test_log_and_access_are_tightened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    program = tmp_path / "label-studio"
    program.touch()
    monkeypatch.setenv(server.PROGRAM, str(program))
    monkeypatch.setattr(server.subprocess, "Popen", Silent)
    folder = tmp_path / "ls"
    folder.mkdir()
    (folder / "server.log").write_text("before\n")
    (folder / "server.log").chmod(0o644)
    with caplog.at_level(logging.WARNING), pytest.raises(server.UserError, match="does not answer"):
        server.start_server(folder)
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir()}
    assert {"server.log", "access.json"} <= set(modes) and set(modes.values()) == {0o600}
    assert (folder / "server.log").read_text().startswith("before"), "nothing of the log is lost"
    assert ["server.log" in r.getMessage() for r in caplog.records] == [True]


@pytest.mark.parametrize(
    "text",
    [
        b'{"url": ',
        b"\xff",
        b"",
        b"[]",
        b'{"url": "http://127.0.0.1:1"}',
        b'{"url": 1, "email": "", "password": "", "token": ""}',
        b'{"url": "", "email": "", "password": "", "x": ""}',
    ],
)
def test_a_broken_access_file_is_one_sentence_with_its_place(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "access.json"
    path.write_bytes(text)
    for enter in (server.read_access, server.start_server):
        with pytest.raises(DataError) as error:
            enter(tmp_path)
        assert str(error.value.where).removesuffix(", line 1") == str(path) and "\n" not in str(error.value)
    assert path.read_bytes() == text, "a start leaves it as it is"


def test_without_an_access_file_nothing_was_started(tmp_path: Path) -> None:
    with pytest.raises(server.UserError, match="no Label Studio was started here") as error:
        server.read_access(tmp_path)
    assert error.value.where == str(tmp_path) and "annotate label-studio up" in (error.value.fix or "")
