"""The command ``annotate serve``: the rating app, on this machine only unless told."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import click

from annotation_ui.child_environment import child_environment
from annotation_ui.cli.campaigns import DB
from annotation_ui.interface.texts import language_faults
from annotation_ui.ratings.database import RatingsDB
from curation.cli.options import store_option
from schemas.core.errors import MissingPackage, UserError

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@click.command()
@DB
@store_option("store", required=False, also="A snapshot, for the lead's views.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(1, 65535), default=8501, show_default=True, help="Port to listen on.")
@click.option("--allow-network", is_flag=True, help="Allow an address that other machines can reach.")
def serve(db_path: Path, store: Path | None, host: str, port: int, allow_network: bool) -> None:
    """Serve the rating app: raters and leads log in with their personal secrets.

    It listens on this machine only and sends nothing anywhere. For raters elsewhere put a TLS server in front of it.

    Example: scedit annotate serve --ratings r.sqlite --port 8501
    """
    if host not in LOOPBACK and not allow_network:
        raise UserError(
            f"'{host}' can be reached by other machines", where="--host", fix="add --allow-network if that is meant"
        )
    if importlib.util.find_spec("streamlit") is None:
        raise MissingPackage("streamlit", extra="annotate")
    RatingsDB(db_path).close()  # a wrong path is told here, not in the browser
    if store is not None:
        from curation.store.store import Store

        Store.open(store).close()
    for fault in language_faults():
        click.echo(fault, err=True)
    click.echo(f"The rating app: http://{host}:{port}   Stop with Ctrl-C.", err=True)
    raise SystemExit(
        subprocess.call(command(db_path, store, host=host, port=port), env=child_environment("STREAMLIT_"))
    )


def command(db_path: Path, store: Path | None, *, host: str, port: int) -> list[str]:
    """The command of the app's server: no telemetry, no file watching, no developer's menu.

    Nor does it collect garbage after every run of a page: that went through all modules (about 100 ms a save, in which
    nobody else was served); Python collects by itself when enough has changed.
    """
    options = {
        "server.address": host,
        "server.port": port,
        "server.headless": True,
        "server.fileWatcherType": "none",
        "server.enableXsrfProtection": True,
        "browser.gatherUsageStats": False,
        "client.toolbarMode": "minimal",
        "client.showErrorDetails": "none",
        "logger.level": "warning",
        "runner.postScriptGC": False,
    }
    files = [str(file.absolute()) for file in (db_path, store) if file]
    return [sys.executable, "-m", "annotation_ui.app.server", json.dumps(options), *files]
