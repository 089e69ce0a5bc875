"""What of a pack goes to a hub: the data, its manifest, and a card."""

from __future__ import annotations

import json
from pathlib import Path

from curation.export.hub import CARD, HubUpload
from evaluation.covariance.pack import Manifest, manifest_path, read_pack
from schemas.core.errors import UserError
from schemas.text.escaping import escape_line


def pack_files(path: Path) -> list[HubUpload]:
    """A pack, verified, with its manifest and a card.

    Args:
        path: The safetensors file, as ``scedit model covariance pack`` wrote it.

    Raises:
        DataError: as ``read_pack``: missing, damaged, or no pack.
        UserError: it is of a model in a folder of this machine.
    """
    manifest = read_pack(path).manifest
    if Path(manifest.model).is_absolute() or manifest.model.startswith((".", "~")):
        raise UserError(
            "the pack is of a model in a folder of this machine, which its manifest names",
            where=str(path),
            fix="load the model by its name on the hub and write the pack again",
        )
    beside = manifest_path(path)
    files = [HubUpload(CARD, pack_card(manifest, path.name).encode()), HubUpload(beside.name, beside)]
    return [*files, HubUpload(path.name, path)]


def pack_card(manifest: Manifest, name: str) -> str:
    """The card: of which model and corpus the second moments are, and how they are used.

    Args:
        manifest: The pack's.
        name: Of its file.
    """
    model, corpus = escape_line(manifest.model, longest=200), escape_line(manifest.corpus, longest=200)
    head = {"base_model": model, "tags": ["knowledge-editing", "covariance"]}
    rows = [
        ("model", f"{model}, revision {manifest.revision}, {manifest.dtype}"),
        ("layers", ", ".join(map(str, manifest.layers))),
        ("corpus", f"{corpus}, digest {manifest.corpus_digest}"),
        ("documents", "unknown" if manifest.documents is None else f"{manifest.documents:,}"),
        ("tokens", f"{manifest.tokens:,}, at most {manifest.cap:,} of a document"),
        ("SHA-256 of the data", manifest.sha256),
        *([("attention", manifest.attention)] if manifest.attention else []),
    ]
    signs = str.maketrans({"|": "/", "`": "'"})
    cells = [f"| {what} | `{value.translate(signs)}` |" for what, value in rows]
    table = "\n".join(["| | |", "| --- | --- |", *cells])
    parts = [
        "\n".join(["---", *(f"{key}: {json.dumps(value)}" for key, value in head.items()), "---"]),
        f"# Second moments of keys of {model}",
        "For locate-and-edit methods (ROME, MEMIT, AlphaEdit ...): the mean of k kᵀ over the keys of every layer, k "
        "being the input of the MLP's output projection. They are statistics of the corpus under the model and hold "
        "none of its texts.",
        f"`scedit model covariance load {name}` verifies the data and puts it where the methods look.",
        table,
    ]
    return "\n\n".join(parts) + "\n"
