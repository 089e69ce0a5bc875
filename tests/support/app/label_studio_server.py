"""A Label Studio server for tests: on loopback, in its own environment, started and stopped without a person."""

from __future__ import annotations

import json
import logging
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import IO, Any, NamedTuple

import httpx

from annotation_ui.child_environment import child_environment
from annotation_ui.ratings.database import make_private
from curation.files.json_files import read_json
from schemas.core.errors import DataError, UserError

HOST = "127.0.0.1"
PROGRAM = "SCEDIT_LABEL_STUDIO"
"""Environment variable with the path of the ``label-studio`` program (it lives in an environment of its own)."""
_ACCESS, _PID, _LOG = "access.json", "server.pid", "server.log"
_RESTORE = "bring it back from a copy, or name another folder"
_report = logging.getLogger(__name__)
_LOCAL = Path(".venv-label-studio/bin/label-studio")


class ServerAccess(NamedTuple):
    """Where a server is and how its owner enters. The file that holds it is readable by its owner only."""

    url: str
    email: str
    password: str
    token: str


def find_program() -> Path:
    """The ``label-studio`` program.

    Raises:
        UserError: none is installed.
    """
    named = os.environ.get(PROGRAM)
    program = named or (str(_LOCAL) if _LOCAL.exists() else shutil.which("label-studio"))
    if not program or not Path(program).exists():
        raise UserError(
            f"Label Studio is not installed{f' at {named}' if named else ''}",
            fix=f"run: make label-studio (it needs an environment of its own), or set {PROGRAM} to its program",
        )
    return Path(program).absolute()


def read_access(folder: Path) -> ServerAccess:
    """How to enter the server that keeps its data in a folder.

    Raises:
        UserError: no server was ever started there.
        DataError: the file that says how to enter is damaged.
    """
    path = folder / _ACCESS
    if not path.exists():
        raise UserError(
            "no Label Studio was started here", where=str(folder), fix="start one: scedit annotate label-studio up"
        )
    saved = read_json(path, fix=_RESTORE)
    fields = ServerAccess._fields
    if not isinstance(saved, dict) or set(saved) != {*fields} or not all(isinstance(v, str) for v in saved.values()):
        raise DataError(
            "not the access to a server", where=str(path), allowed=f"texts: {', '.join(fields)}", fix=_RESTORE
        )
    return ServerAccess(**saved)


def token_of(url: str, account: Any) -> str:
    """The API token of an annotator, as they see it on their account page after they logged in."""
    with httpx.Client(base_url=url, follow_redirects=True, timeout=60, trust_env=False) as client:
        client.get("/user/login/")
        form = {"email": account.email, "password": account.password,
                "csrfmiddlewaretoken": client.cookies.get("csrftoken", "")}  # fmt: skip
        client.post("/user/login/", data=form, headers={"Referer": f"{url}/user/login/"})
        return str(client.get("/api/current-user/token").json()["token"])


def start_server(folder: Path, *, port: int | None = None, patience: float = 300.0) -> ServerAccess:
    """Start a server, or find the one that runs; returns when it answers.

    The first start makes its database (about two minutes); later ones take seconds. Analytics, version checks, error
    reports and sign-up without an invitation are off.

    Args:
        folder: Keeps its database, its log, and its owner's password and token.
        port: On 127.0.0.1; a free one where it is None, the earlier one where there was one.
        patience: Seconds to wait for an answer.

    Raises:
        UserError: not installed, the port is taken, or it does not answer in time.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    known = read_access(folder) if (folder / _ACCESS).exists() else None
    if known and is_answering(known.url) and is_running(folder):
        return known
    if port is None:
        before = int(known.url.rsplit(":", 1)[1]) if known else None
        port = before if before and not _is_taken(before) else _free_port()
    if _is_taken(port):
        raise UserError(f"port {port} is taken by another program", fix="name another with --port")
    keep = known or ServerAccess("", "owner@scedit.invalid", secrets.token_urlsafe(18), secrets.token_hex(20))
    now = keep._replace(url=f"http://{HOST}:{port}")
    _write_private(folder / _ACCESS, json.dumps(now._asdict()))
    command = [str(find_program()), "start", "--no-browser", "--internal-host", HOST, "-p", str(port)]
    with _open_private(folder / _LOG, os.O_APPEND, "ab") as log:
        process = subprocess.Popen(
            [*command, "--data-dir", str(folder / "data")],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            env=server_environment(now),
            start_new_session=True,
        )
    _write_private(folder / _PID, str(process.pid))
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        if is_answering(now.url):
            return now
        time.sleep(0.5)
    stop_server(folder)
    raise UserError("Label Studio does not answer", where=str(folder / _LOG), fix="see the end of this log")


def server_environment(now: ServerAccess) -> dict[str, str]:
    """What the server needs to start by itself and to keep to itself; nothing else of ours, least of all keys."""
    return child_environment("LABEL_STUDIO_", "DJANGO_") | {
        "LABEL_STUDIO_USERNAME": now.email,
        "LABEL_STUDIO_PASSWORD": now.password,
        "LABEL_STUDIO_USER_TOKEN": now.token,
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "LABEL_STUDIO_DISABLE_SIGNUP_WITHOUT_LINK": "true",
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
    }


def stop_server(folder: Path) -> bool:
    """Stop the server of a folder; false when none ran."""
    pid = _pid(folder)
    if pid is None:
        return False
    try:
        os.killpg(pid, signal.SIGTERM)
        for _ in range(100):
            if not _alive(pid):
                break
            time.sleep(0.1)
        else:
            os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    finally:
        (folder / _PID).unlink(missing_ok=True)
    return True


def is_running(folder: Path) -> bool:
    """Whether the process that was started for a folder is alive."""
    return _pid(folder) is not None


def is_answering(url: str) -> bool:
    """Whether a Label Studio answers at an address."""
    try:
        return bool(httpx.get(f"{url}/health", timeout=2.0, trust_env=False).json().get("status") == "UP")
    except (httpx.HTTPError, ValueError):
        return False


def _pid(folder: Path) -> int | None:
    try:
        pid = int((folder / _PID).read_text())
    except (FileNotFoundError, ValueError):
        return None
    return pid if _alive(pid) else None


def _alive(pid: int) -> bool:
    try:
        if os.waitpid(pid, os.WNOHANG)[0] == pid:
            return False
    except ChildProcessError:
        pass
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # no such process; or no /proc, and then the signal tells
        try:
            os.kill(pid, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return not Path("/proc").exists()
    return b"label-studio" in line or b"label_studio" in line


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return True
    return False


def _write_private(path: Path, text: str) -> None:
    with _open_private(path, os.O_TRUNC, "wb") as file:
        file.write(text.encode("utf-8"))


def _open_private(path: Path, flag: int, mode: str) -> IO[bytes]:
    """A file that its owner alone can read, whatever it was before."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | flag, 0o600)
    if make_private([path]):
        _report.warning("%s could be read by others on this machine: it is its owner's alone now", path)
    return os.fdopen(handle, mode)
