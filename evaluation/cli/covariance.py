"""The commands ``model covariance compute``, ``load`` and ``show``: covariances of keys."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from curation.cli.options import json_options, shared_option, writes
from schemas.core.errors import DataError, UserError
from schemas.text.counting import counted
from schemas.text.status_line import StatusLine, duration

if TYPE_CHECKING:
    from evaluation.covariance.covariance import PassProgress
    from evaluation.covariance.pack import Manifest

_FILE = click.Path(path_type=Path)
_ANEW = "remove it: what it is of is measured anew when it is needed"


@click.command(epilog="Example: scedit model covariance compute --model embedded --layers 4-8 --corpus my.txt")
@click.option("--model", default="embedded", show_default=True, help="Model: embedded, a folder or a hub name.")
@click.option("--layers", default="all", show_default=True, metavar="4-8,12", help="Layers, counted from 0.")
@click.option(
    "--corpus",
    multiple=True,
    metavar="TEXT",
    help="A text or .jsonl file (repeatable), or hub:NAME[:CONFIG[:SPLIT[:COLUMN]]][@REVISION][#DOCUMENTS]; the "
    "shipped corpus otherwise.",
)
@click.option("--cap", type=click.IntRange(min=1), help="Use at most this many tokens of each document.")
@shared_option("--device", default="auto", show_default=True)
@shared_option("--dtype", default="float32", show_default=True)
@click.option(
    "--batch-tokens", type=click.IntRange(min=16), default=2048, show_default=True, help="Tokens of a forward pass."
)
@click.option("--out", type=_FILE, help="Also write a pack: NAME.safetensors and NAME.manifest.json.")
@writes("out")
def compute(
    model: str,
    layers: str,
    corpus: tuple[str, ...],
    cap: int | None,
    device: str,
    dtype: str,
    batch_tokens: int,
    out: Path | None,
) -> None:
    """Measure all layers in one pass over the corpus.

    What was measured here before is not measured again; with --out it goes into a pack to share.
    """
    from curation.files.artifact_cache import Cache
    from curation.files.model_packages import cache_dir
    from evaluation.covariance.covariance import ENOUGH, key_covariances, open_corpus
    from evaluation.covariance.pack import write_pack
    from evaluation.models.language_model import LM
    from evaluation.models.loading import model_depth

    text = open_corpus(corpus or None)
    parse_layers(layers, depth=model_depth(model))  # refused before a model is loaded
    lm, cache = LM.load(model, device=device, dtype=dtype), Cache(cache_dir())
    wanted = parse_layers(layers, lm.layout.depth)
    line = StatusLine(at_once=False)
    told = partial(_print_progress, line)
    moments = key_covariances(lm, wanted, text, cache=cache, cap=cap, batch_tokens=batch_tokens, on_progress=told)
    line.end()
    tokens = next(iter(moments.values())).tokens
    click.echo(
        f"Second moments of {counted(len(moments), 'layer')} over {counted(tokens, 'token')} of {text.name} "
        f"are in {cache.folder}"
    )
    if tokens < ENOUGH * lm.layout.inner:
        click.echo(f"That is little for keys of {lm.layout.inner} entries: methods will warn of noisy statistics.")
    if out is not None:
        write_pack(out, lm, moments, text, cache=cache, cap=cap)
        click.echo(f"Wrote {out}")


@click.command(epilog="Example: scedit model covariance load smollm2.safetensors --model embedded")
@click.argument("pack", type=_FILE)
@click.option("--model", help="Refuse a pack of another model than this one (which is loaded to compare).")
def load(pack: Path, model: str | None) -> None:
    """Verify PACK and put its layers into the cache, as if they had been measured here.

    Methods with the same corpus and cap then use them. A method can also read the file itself: params.moments = "PACK".
    """
    from curation.files.artifact_cache import Cache
    from curation.files.model_packages import cache_dir
    from evaluation.covariance.pack import keep_pack, read_pack
    from evaluation.models.language_model import LM

    measured = read_pack(pack, lm=None if model is None else LM.load(model, device="cpu"))
    keep_pack(measured, Cache(cache_dir()))
    click.echo(_describe_pack(measured.manifest))


@click.command(epilog="Example: scedit model covariance show smollm2.safetensors")
@click.argument("pack", type=_FILE, required=False)
@json_options
def show(pack: Path | None, as_json: bool) -> None:
    """Show what PACK holds (verified), or what this machine's cache holds."""
    if pack is not None:
        from evaluation.covariance.pack import read_pack

        manifest = read_pack(pack).manifest
        click.echo(manifest.model_dump_json() if as_json else _describe_pack(manifest))
        return
    from curation.files.model_packages import cache_dir
    from evaluation.covariance.covariance import KIND

    rows = [row for path in sorted(cache_dir().glob(f"{KIND}-*.manifest.json")) if (row := _row(path))]
    for data, line in sorted(rows, key=lambda row: (row[0]["model"], row[0]["corpus"], row[0]["layer"])):
        click.echo(json.dumps(data) if as_json else line)
    if not rows and not as_json:
        click.echo(f"No second moments in {cache_dir()}. Measure some: scedit model covariance compute")


def _row(path: Path) -> tuple[dict[str, Any], str] | None:
    """What a manifest of the cache says, as data and as a line; None where it is of something else.

    Raises:
        DataError: broken, or a field is missing or of another kind.
    """
    from curation.files.json_files import read_json
    from evaluation.covariance.covariance import KIND

    manifest = read_json(path, "manifest", fix=_ANEW)
    try:
        if manifest["kind"] != KIND:
            return None
        row = {**manifest["facts"], **manifest["identity"], "model": str(manifest["facts"].get("model", ""))}
        row |= {"layer": int(row["layer"]), "corpus": str(row["corpus"])}
        line = f"{row['model']}  layer {row['layer']}  {row['tokens']:,} tokens  {row['dtype']}  cap {row['cap']}"
        return row, f"{line}  corpus {row['corpus'][:12]}"
    except (KeyError, TypeError, ValueError, AttributeError):
        raise DataError("not a manifest of second moments", where=str(path), fix=_ANEW) from None


def parse_layers(text: str, depth: int | None) -> list[int]:
    """Layers from ``4-8,12`` or ``all``; without the model's depth only the form is checked.

    Raises:
        UserError: not of that form, or the model has no such layer.

    Example:
        >>> parse_layers("4-6,9", 30)
        [4, 5, 6, 9]
    """
    if text == "all":
        return list(range(depth or 0))
    numbers: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        try:
            numbers |= set(range(int(first), int(last if dash else first) + 1))
        except ValueError:
            raise UserError(f"'{text}' names no layers", allowed="such as 5, 4-8 or 4-8,12, or all") from None
    if not numbers or (depth is not None and max(numbers) >= depth):
        raise UserError(
            f"the model has no layers '{text}'", allowed="such as 4-8" if depth is None else f"0 to {depth - 1}"
        )
    return sorted(numbers)


def _describe_pack(manifest: Manifest) -> str:
    layers = ", ".join(map(str, manifest.layers))
    return (
        f"{manifest.model} (revision {manifest.revision[:12]}, {manifest.dtype}): layers {layers}, keys of "
        f"{manifest.inner}, {counted(manifest.tokens, 'token')} of {manifest.corpus} ({manifest.corpus_digest[:12]}), "
        f"cap {manifest.cap}; verified"
    )


def _print_progress(line: StatusLine, done: PassProgress) -> None:
    share = "" if done.share is None else f", {100 * done.share:.0f} %"
    left = "" if done.seconds_left is None else f", {duration(done.seconds_left)} left"
    line.show(f"keys: {counted(done.tokens, 'token')} of {done.documents:,} documents{share}{left}")
