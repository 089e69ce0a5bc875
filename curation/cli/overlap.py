"""Commands of near-duplicates, partitions and overlap: dedup, partition, overlap."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import click

from curation.cli.options import json_option, json_options, shared_option, store_option, writes
from curation.overlap.contamination import LEVELS, Overlap, has_property_id, open_collection
from curation.overlap.contamination import overlap as compare
from curation.overlap.near_duplicates import METHODS, Duplicates, default_threshold, near_duplicates, store_items
from curation.shipped import named_split
from curation.splits.partition import separate as divide
from curation.splits.split_file import check_name, file_name, part_of, write_split
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.core.registry import check_choice
from schemas.text.counting import counted


@click.command()
@store_option()
@click.option("--kind", default="question", show_default=True, help="Kind of items: question, fact, prompt or script.")
@click.option("--within", default="all", show_default=True, help="Compare all, or inside a fact, or inside a relation.")
@click.option(
    "--similarity", "method", default="rouge1", show_default=True, help="Measure: rouge1, exact or embedding."
)
@click.option(
    "--threshold", type=float, help="From which similarity on; ROUGE-1 0.7 (scripts, prompts: 0.4), embeddings 0.9."
)
@click.option("--prefer", default="key", show_default=True, help="Who represents: key, longest, shortest or judged.")
@click.option("--split", "split_name", help="Only items of this split's cases.")
@shared_option("--device", default="cpu", show_default=True, also="Embeddings only.")
@shared_option("--dry-run", is_flag=True, also="Shows the clusters.")
@click.option("--show", "limit", type=click.IntRange(min=0), default=10, show_default=True, help="Clusters to show.")
@json_options
def dedup(
    store_path: Path,
    kind: str,
    within: str,
    method: str,
    threshold: float | None,
    prefer: str,
    split_name: str | None,
    device: str,
    dry_run: bool,
    limit: int,
    as_json: bool,
) -> None:
    """Measure near-duplicates in a store, write a verdict on each item, show the clusters.

    A verdict carries the greatest similarity to an item that is preferred; it drops nothing, a split's rule does.
    rouge1 compares words, exact the folded text, embedding the meaning.

    Example: scedit store dedup --store my.duckdb --kind question --within fact
    """
    check_choice(method, METHODS, "method")
    threshold = default_threshold(method, kind) if threshold is None else threshold
    embedder = None
    if method == "embedding":
        from curation.similarity.embeddings import Embedder

        embedder = Embedder(device=device)
    with Store.open(store_path, write=not dry_run) as store:
        duplicates = near_duplicates(
            store_items(store, kind, within=within, split=split_name),  # type: ignore[arg-type]
            method=method,  # type: ignore[arg-type]
            threshold=threshold,
            prefer=prefer,  # type: ignore[arg-type]
            keeps=store.keeps() if prefer == "judged" else None,
            within=within,  # type: ignore[arg-type]
            embedder=embedder,
        )
        if not dry_run:
            store.put(duplicates.verdicts())
    _tell_clusters(duplicates, limit=limit, as_json=as_json, written=not dry_run)


@click.command()
@click.argument("source")
@click.option(
    "--by",
    multiple=True,
    default=("subject",),
    show_default=True,
    help="What parts may not share: subject, relation, fact or object, or of events their type; repeatable.",
)
@click.option("--part", "parts", multiple=True, help="A part and its share, such as train=0.8 (give several).")
@shared_option("--seed", default="0", show_default=True, also="Any text; another one draws another division.")
@click.option(
    "--strategy",
    default="balanced",
    show_default=True,
    help="Either balanced, or hash (later cases move nobody).",
)
@click.option("--neighbours", is_flag=True, help="Also share no neighbour facts.")
@click.option("--out", type=click.Path(path_type=Path), help="Write each part as a split file into this folder.")
@writes(folders=("out",))
@json_options
def partition(
    source: str,
    by: tuple[str, ...],
    parts: tuple[str, ...],
    seed: str,
    strategy: str,
    neighbours: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Divide the frozen split SOURCE (a file, mini, open) into parts that share no subject, relation or edited fact.

    \b
    Examples:
      scedit split partition mini --by subject --part train=0.8 --part test=0.2 --out parts
      scedit split partition events --by type --by subject --part train=0.5 --part test=0.5 --out parts
    """  # noqa: D301 - click needs the real backspace
    split = named_split(source)
    shares = _shares(parts or ("train=0.8", "dev=0.1", "test=0.1"))
    division = divide(split.all_cases, by=by, parts=shares, seed=seed, strategy=strategy, neighbours=neighbours)  # type: ignore[arg-type]
    details = {"by": list(by), "seed": seed, "how": strategy, "neighbours": neighbours, "of": split.digest}
    if division.wordings:
        details["relations"] = {"wordings": division.wordings, "joined_to": division.joined, "known": False}
    for name in shares if out else ():
        keys = {key for key, part in division.part.items() if part == name}
        part = part_of(split, f"{split.name}-{name}", keys, details={"separated": details})
        write_split(part, Path(str(out)) / f"{file_name(part.name)}.jsonl")
    if as_json:
        for key, name in division.part.items():
            click.echo(json.dumps({"case": key, "part": name, "group": division.group[key]}, ensure_ascii=False))
        return
    for name, n in division.counts.items():
        click.echo(f"{n:>7}  {name}  ({n / len(division.part):.1%}, asked for {shares[name]:.1%})")
    unknown = ", as far as their wording tells" if division.wordings else ""
    click.echo(f"{len(set(division.group.values())):>7}  groups that share no {' or '.join(by)}{unknown}")
    if division.wordings:
        click.echo(
            f"{division.wordings:>7}  relations have no id but the wording of their prompt, joined to "
            f"{division.joined:,} by shared subjects and objects; that no two parts share a relation cannot be promised"
        )


@click.command()
@click.argument("a")
@click.argument("b")
@click.option("--threshold", type=float, default=0.8, show_default=True, help="ROUGE-1 F of near-duplicate texts.")
@click.option("--examples", type=click.IntRange(min=0), default=3, show_default=True, help="Examples per level.")
@click.option("--fail-on", "fail_on", multiple=True, help="Exit with an error when this level shares anything.")
@json_option
def overlap(a: str, b: str, threshold: float, examples: int, fail_on: tuple[str, ...], as_json: bool) -> None:
    """Check what A (evaluation cases) shares with B (what a method was trained on).

    \b
    Each is 'mini', 'open' (or a part), 'shipped', a frozen split, a store (.duckdb), a text file (one text a line)
    or a file of facts.
    Levels: same_edit, same_fact, same_subject_relation, same_subject, same_text, near_text.

    Example: scedit split overlap mini shipped --fail-on same_edit
    """  # noqa: D301 - click wants the character
    one, two = open_collection(a), open_collection(b)
    report = compare(one, two, threshold=threshold, examples=examples)
    unnamed = [sum(not has_property_id(fact) for _, fact in side.facts) for side in (one, two)]
    levels = [report.level(name) for name in fail_on]
    if as_json:
        click.echo(json.dumps({**report.payload(), "id": report.id}, ensure_ascii=False))
    else:
        _tell_overlap(report)
        if any(unnamed):
            click.echo(
                f"\nWithout a property id: {counted(unnamed[0], 'relation')} of A, {unnamed[1]:,} of B. "
                "They are compared by\nwording, and are the same where subject and old object are equal; "
                "in other words and with another\nold object, one relation is missed in same_subject_relation."
            )
    if shared := [level for level in levels if level.pairs]:
        names = ", ".join(f"{level.name} ({level.a} of {report.owners_a})" for level in shared)
        raise UserError(f"'{report.a}' and '{report.b}' share what they must not: {names}")


def _shares(parts: tuple[str, ...]) -> dict[str, float]:
    shares = {}
    for part in parts:
        name, _, share = part.partition("=")
        try:
            shares[check_name(name.strip(), "part", where="--part")] = float(share)
        except ValueError:
            raise UserError(f"--part takes NAME=SHARE, got '{part}'", fix="for example --part train=0.8") from None
    return shares


def _tell_clusters(duplicates: Duplicates, *, limit: int, as_json: bool, written: bool) -> None:
    clusters = duplicates.clusters()
    counts: dict[str, Any] = {"by": duplicates.by, "items": len(duplicates.items), "duplicates": duplicates.duplicates}
    counts |= {"clusters": duplicates.clustered, "threshold": duplicates.threshold}
    counts |= {"unit": duplicates.unit, "method": duplicates.method}
    counts |= {"verdicts_written": len(duplicates.items) if written else 0}
    if as_json:
        click.echo(json.dumps(counts))
        for cluster in clusters:
            keys = [m.key for m in cluster.members]
            click.echo(json.dumps({"keep": keys[0], "like": keys[1:], "greatest": round(cluster.greatest, 6)}))
        return
    click.echo(
        f"{counted(len(duplicates.items), 'item')}, {duplicates.duplicates:,} with a preferred one at "
        f"{duplicates.unit} {duplicates.threshold:g} or above, {counted(duplicates.clustered, 'cluster')} "
        f"({duplicates.method}); " + (f"verdicts written as {duplicates.by}" if written else "nothing written")
    )
    for cluster in islice(clusters, limit):
        click.echo(f"\n{counted(len(cluster.members), 'item')}, greatest {cluster.greatest:.3f}")
        for n, member in enumerate(cluster.members[:6]):
            click.echo(f"  {'stays' if n == 0 else 'like '}  {member.key}  {' '.join(member.text.split())[:90]}")
        if len(cluster.members) > 6:
            click.echo(f"         ... and {len(cluster.members) - 6} more")
    if duplicates.clustered > limit:
        click.echo(f"\n... and {counted(duplicates.clustered - limit, 'more cluster')}: --show, or --json for all")


def _tell_overlap(report: Overlap) -> None:
    click.echo(f"A  {report.a}: {counted(report.owners_a, 'item')}, {counted(report.texts_a, 'text')}")
    click.echo(f"B  {report.b}: {counted(report.owners_b, 'item')}, {counted(report.texts_b, 'text')}\n")
    for level in report.levels:
        share = level.a / report.owners_a if report.owners_a else 0.0
        click.echo(f"{level.a:>7} of A ({share:.1%}), {level.b} of B  {level.name}: {LEVELS[level.name]}")
        for e in level.examples:
            value = "" if e.value is None else f" ({e.value:g})"
            click.echo(f"          {e.a} | {e.b}{value}: {' '.join(e.what.split())[:100]}")
