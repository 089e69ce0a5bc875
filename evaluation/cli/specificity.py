"""The command ``data specificity``: questions that models answer before any edit and must answer after it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from curation.cli.options import json_option, seed_option, shared_option, store_option, writes

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluation.inference.answering import ModelScorer
    from evaluation.runs.specificity_building import BuiltSet, Candidates, Pool
    from schemas.documents.specificity import SpecificitySet

_MODEL = "Model whose answers count, as in a run; given again: a core that all of them answer."
_OUT = "File of the set (JSON); of several models a folder, a file for each."
_POOL = "The shipped questions (shipped), or a file of questions with answers (JSON lines or array)."


@click.command(epilog="Example: scedit data specificity --pool shipped --model embedded --size 200 --out known.json")
@click.option("--pool", default="shipped", show_default=True, help=_POOL)
@click.option("--model", "models", multiple=True, default=("embedded",), show_default=True, help=_MODEL)
@click.option("--size", type=click.IntRange(1), default=400, show_default=True, help="Questions to draw.")
@seed_option()
@click.option("--licence", default="not stated", show_default=True, help="Licence of a file's questions.")
@shared_option("--device", default="auto", show_default=True)
@shared_option("--dtype", default="float32", show_default=True)
@store_option("store", required=False, also="The sets are kept there, too.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help=_OUT)
@json_option
@writes(folders=("out",))
def specificity(
    pool: str,
    models: tuple[str, ...],
    size: int,
    seed: int,
    licence: str,
    device: str,
    dtype: str,
    store: Path | None,
    out: Path,
    as_json: bool,
) -> None:
    """Draw questions that a model answers, for em_spec and ppl_spec.

    A question is a candidate where the model's greedy answer begins with an accepted one under three prompts. The sets
    are drawn from the candidates by seed; a fourth prompt, which took no part in choosing, says how many answers hold.
    What was measured is kept, so another --size or --seed asks nothing again.
    """
    from evaluation.inference.answering import ModelScorer
    from evaluation.models.language_model import LM
    from evaluation.runs.specificity_building import open_pool

    asked = open_pool(pool, licence=licence)
    names = tuple(dict.fromkeys(models))

    def scorer_of(name: str) -> ModelScorer:
        return ModelScorer(LM.load(name, device=device, dtype=dtype))

    candidates, built = _built(asked, names, scorer_of, size=size, seed=seed, quiet=as_json)
    paths = [out] if len(names) == 1 else [out / f"{_file_of(name)}.json" for name in names]
    _write([one.set for one in built], paths)
    if store is not None:
        from curation.store.store import Store

        with Store.open(store, write=True, create=True) as opened:
            opened.put([one.set for one in built])
    rows = [_row(*one, asked) for one in zip(candidates, built, paths, strict=True)]
    if as_json:
        click.echo(json.dumps(rows))
    else:
        _tell(rows, candidates)


def _built(
    pool: Pool,
    names: tuple[str, ...],
    scorer_of: Callable[[str], ModelScorer],
    *,
    size: int,
    seed: int,
    quiet: bool,
) -> tuple[list[Candidates], list[BuiltSet]]:
    """Candidates of every model, then their sets; one model is held at a time."""
    from curation.files.artifact_cache import Cache
    from curation.files.model_packages import cache_dir
    from evaluation.runs.specificity_building import build_set, draw_items, find_candidates

    def tell(done: int, of: int) -> None:
        if not quiet:
            click.echo(f"  {done:,} of {of:,} questions asked", err=True)

    cache, found = Cache(cache_dir()), []
    for name in names:
        scorer = scorer_of(name)
        found.append(find_candidates(scorer, pool.questions, cache, on_progress=tell))
    items = draw_items(found, size=size, seed=seed)
    built = []
    for name, candidates in zip(names, found, strict=True):
        scorer = scorer if len(names) == 1 else scorer_of(name)
        built.append(build_set(scorer, candidates, pool, items, seed=seed))
    return found, built


def _file_of(name: str) -> str:
    from curation.loaders.formats.mulfe import file_name

    return file_name(Path(name).name if Path(name).exists() else name).removesuffix(".json").replace("/", "_")


def _write(sets: list[SpecificitySet], paths: list[Path]) -> None:
    from curation.loaders.formats.native import write_records
    from schemas.core.errors import UserError

    if len(set(paths)) != len(paths):
        raise UserError("two models have one file name", where="--model", fix="build their sets one by one")
    for one, path in zip(sets, paths, strict=True):
        write_records([one], path)


def _row(found: Candidates, built: BuiltSet, path: Path, pool: Pool) -> dict[str, Any]:
    held = built.held_out
    return {
        "model": found.model,
        "revision": found.revision,
        "pool": len(pool.questions),
        "left_after_each_prompt": list(found.left),
        "candidates": len(found.known),
        "drawn": len(built.set.questions),
        "held_out": {"share": held.value, "low": held.low, "high": held.high},
        "key": built.set.key,
        "out": str(path),
    }


def _tell(rows: list[dict[str, Any]], found: list[Candidates]) -> None:
    from evaluation.runs.specificity_building import HELD_OUT, common_items

    for row in rows:
        left = ", ".join(f"{n:,}" for n in row["left_after_each_prompt"])
        held = row["held_out"]
        ends = f"{100 * held['low']:.1f}, {100 * held['high']:.1f}"
        click.echo(
            f"{row['model']}: {row['candidates']:,} of {row['pool']:,} questions are answered under all three prompts "
            f"(left after each: {left}).\n  {row['drawn']} drawn, written to {row['out']}. Under the fourth prompt "
            f"{100 * held['share']:.1f} % are answered [{ends}]."
        )
    if len(found) > 1:
        common = len(common_items(found))
        click.echo(f"All {len(found)} models answer {common:,} questions, from which the same were drawn for each.")
    click.echo(
        f'Use it: specificity = {{ file = "{rows[0]["out"]}" }}; with the fourth prompt also '
        f'instruction = "{HELD_OUT.instruction}"'
    )
