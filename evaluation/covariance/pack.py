"""Packs: second moments of several layers in one safetensors file, with a manifest beside it, verified on load.

A large model's takes long to measure and seconds to read, so it is worth handing on. The manifest
(``NAME.manifest.json``) says of which model, revision, dtype, layers, corpus, cap and how many tokens it is, and holds
the data's SHA-256.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict, ValidationError

from curation.export.hub import CARD, HubUpload
from curation.files.artifact_cache import Cache
from curation.files.atomic import write_bytes
from curation.files.json_files import read_json
from curation.files.templates import templates_in
from evaluation.covariance.corpus import TextSource
from evaluation.covariance.covariance import KIND, KeyCovariance, identity
from evaluation.models.language_model import LM
from schemas.core.config import explain
from schemas.core.errors import DataError, UserError
from schemas.text.escaping import escape_line, markdown_code

FORMAT = 1


class Manifest(BaseModel):
    """What a pack is of.

    Attributes:
        model: Name it was loaded by.
        revision: Of its weights.
        dtype: Of the weights.
        inner: Length of a key.
        layers: Counted from 0.
        corpus: Name of the corpus.
        corpus_digest: What tells it from others.
        cap: The most tokens of one document. ``documents``, ``tokens``: read in all.
        sha256: Of the safetensors file.
        attention: How attention was computed, where that is not the model's usual way; else empty, and not written.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = FORMAT
    model: str
    revision: str
    dtype: str
    inner: int
    layers: tuple[int, ...]
    corpus: str
    corpus_digest: str
    cap: int
    documents: int | None
    tokens: int
    sha256: str
    attention: str = ""


@dataclass(frozen=True, eq=False)
class Pack:
    """A verified pack: its manifest and the second moments by layer."""

    manifest: Manifest
    layers: dict[int, KeyCovariance]


def write_pack(
    path: Path,
    lm: LM,
    moments: Mapping[int, KeyCovariance],
    corpus: TextSource,
    *,
    cache: Cache,
    cap: int | None = None,
) -> Manifest:
    """Write a pack and its manifest.

    Raises:
        UserError: the file cannot be written.
    """
    from safetensors.torch import save

    layers = sorted(moments)
    data = save({f"layer.{n}": moments[n].second.contiguous() for n in layers})
    layer_identity = identity(lm, layers[0], corpus, cap)
    facts = (cache.manifest(KIND, layer_identity) or {}).get("facts", {})
    manifest = Manifest(
        model=lm.name,
        revision=lm.revision,
        dtype=str(lm.dtype).removeprefix("torch."),
        inner=lm.layout.inner,
        layers=tuple(layers),
        corpus=corpus.name,
        corpus_digest=corpus.digest,
        cap=layer_identity["cap"],
        documents=facts.get("documents", corpus.count),
        tokens=moments[layers[0]].tokens,
        sha256=hashlib.sha256(data).hexdigest(),
        **lm.other_numerics,
    )
    unset = None if manifest.attention else {"attention"}
    write_bytes(path, data, "the pack")
    write_bytes(manifest_path(path), manifest.model_dump_json(indent=1, exclude=unset).encode(), "the pack")
    return manifest


def manifest_path(path: Path) -> Path:
    """Where a pack's manifest stands: beside it."""
    return path.with_name(path.name.removesuffix(".safetensors") + ".manifest.json")


def read_manifest(path: Path) -> Manifest:
    """A pack's manifest alone.

    Raises:
        DataError: there is none, or it is not one.
    """
    beside, fix = manifest_path(path), "fetch it from where the pack is"
    if not beside.exists():
        raise DataError("the pack has no manifest", where=str(beside), fix=fix)
    try:
        manifest = Manifest.model_validate(read_json(beside, "manifest", fix=fix))
    except ValidationError as error:
        raise DataError(f"not a pack's manifest: {explain(error)}", where=str(beside)) from None
    if manifest.format != FORMAT:
        raise DataError(f"the pack has format {manifest.format}", where=str(beside), allowed=str(FORMAT))
    return manifest


def read_pack(path: Path, *, lm: LM | None = None, layers: Sequence[int] | None = None) -> Pack:
    """Read a pack and verify it: the data against the manifest's SHA-256, every matrix against what it must be.

    Args:
        path: The safetensors file.
        lm: The model it is to serve; another revision is refused.
        layers: Which of its layers; None: all.

    Raises:
        DataError: the file or its manifest is missing, damaged, of another model, or lacks a layer.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    manifest = read_manifest(path)
    if lm is not None:
        fits(manifest, lm, where=str(path))
    wanted = list(manifest.layers) if layers is None else list(layers)
    if lacking := sorted({*wanted} - {*manifest.layers}):
        held = ", ".join(map(str, manifest.layers))
        raise DataError(f"the pack lacks layers {lacking}", where=str(path), allowed=held)
    try:
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != manifest.sha256:
            raise DataError("the pack does not agree with its manifest", where=str(path), fix="fetch it again")
        tensors = load(data)
        layers_read = {n: KeyCovariance(tensors[f"layer.{n}"].float(), manifest.tokens) for n in wanted}
    except (OSError, SafetensorError, KeyError) as error:
        raise DataError(f"the pack cannot be read: {error}", where=str(path)) from None
    for layer, moments in layers_read.items():
        _check(moments.second, manifest, where=f"{path}, layer {layer}")
    return Pack(manifest, layers_read)


def fits(manifest: Manifest, lm: LM, *, where: str) -> None:
    """Refuse a pack of another model; its dtype may differ, since second moments are float32 in any case.

    Raises:
        DataError: revision or size differ.
    """
    if manifest.revision != lm.revision or manifest.inner != lm.layout.inner:
        raise DataError(
            f"the pack is of '{manifest.model}' (revision {manifest.revision[:12]}), not of '{lm.name}' "
            f"(revision {lm.revision[:12]})",
            where=where,
            fix="measure this model's: scedit model covariance compute",
        )


def keep_pack(pack: Pack, cache: Cache) -> None:
    """Put a pack's layers into the cache, where methods that name the same corpus, cap and dtype find them."""
    m = pack.manifest
    facts: dict[str, Any] = {"tokens": m.tokens, "documents": m.documents, "model": m.model, "corpus": m.corpus}
    for layer, moments in pack.layers.items():
        layer_identity = {
            "model": m.revision,
            "dtype": f"torch.{m.dtype}",
            "layer": layer,
            "corpus": m.corpus_digest,
            "cap": m.cap,
            **({"attention": m.attention} if m.attention else {}),
        }
        tensors = {"second": moments.second, "tokens": torch.tensor(moments.tokens)}
        cache.save_tensors(KIND, layer_identity, tensors, facts=facts)


def _check(second: torch.Tensor, manifest: Manifest, *, where: str) -> None:
    size = manifest.inner
    if second.shape != (size, size):
        raise DataError(f"the second moment has shape {tuple(second.shape)}", where=where, allowed=f"({size}, {size})")
    if not second.isfinite().all() or (second.diagonal() < 0).any():
        raise DataError("the second moment holds values that no mean of k kᵀ can have", where=where)
    if (second - second.T).abs().max() > 1e-4 * second.diagonal().max():
        raise DataError("the second moment is not symmetric", where=where)


def pack_files(path: Path) -> list[HubUpload]:
    """A pack, verified, with its manifest and a card.

    Args:
        path: The safetensors file, as ``scedit model covariance compute --out`` wrote it.

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
    """The card, by the template ``card.md.jinja``: of which model and corpus the second moments are, and their use.

    Args:
        manifest: The pack's.
        name: Of its file.
    """
    place = templates_in(Path(__file__).parent, filters={"quote": json.dumps, "code": markdown_code})
    model = escape_line(manifest.model, longest=200)
    return place.get_template("card.md.jinja").render(manifest=manifest, name=name, model=model)
