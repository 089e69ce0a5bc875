"""Splits in other people's shapes, and what each shape cannot carry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from curation.export.fact_formats import (
    write_cf,
    write_counterfact,
    write_csv,
    write_easyedit,
    write_facts,
    write_knowedit,
    write_t,
)
from curation.export.parquet import write_parquet
from curation.splits.split_file import Split, write_split
from schemas.core.errors import UserError
from schemas.core.registry import Registry, check_choice

if TYPE_CHECKING:
    from curation.store.store import Store


@dataclass(frozen=True)
class Exporter:
    """A format: how it is written, and what gets lost.

    Attributes:
        write: Writes a split to a place; returns the number of cases written (0: the format holds none of them).
        file: Usual name of the file or folder; ``{name}`` stands for the split's.
        about: What it is, for the dataset card.
        losses: What the format cannot carry, one clause each; empty where nothing is lost.
        only: The one kind of case that it can hold, or None for all.
        gaps: What readers of the format look for and our cases may not say, a sentence each.
        edits: Types of splits that it can hold.
        write_with_store: As ``write``, where the format says what the split's store knows.
    """

    write: Callable[[Split, Path], int]
    file: str
    about: str
    losses: tuple[str, ...] = ()
    only: Literal["counterfactual", "temporal"] | None = None
    gaps: tuple[str, ...] = ()
    edits: tuple[str, ...] = ("fact",)
    write_with_store: Callable[[Split, Path, Store | None], int] | None = None

    def holds(self, split: Split) -> bool:
        """Whether the format can hold any case of the split."""
        if split.type not in self.edits:
            return False
        return self.only is None or any(c.fact.change == self.only for c in split.cases)


_LONG_TEXTS = (
    "the later CounterFactDataset of EasyEdit needs requested_rewrite with prompt_full and fact_new_uns, a long text "
    "about the new fact, which our cases do not hold"
)
_BATCHES = (
    "EasyEdit's CounterFactDataset needs rephrase_prompt, locality_prompt and locality_ground_truth in every record: "
    "a case without a paraphrase or a neighbour lacks them"
)
_SHARED_LOSSES = (
    "extras of the sources",
    "keys of facts, questions, scripts and prompts",
    "aliases and Wikidata ids of subject and objects",
    "a separator other than one space stands at the end of the prompt",
)

OWN = Exporter(
    write_split,
    "{name}.jsonl",
    "the frozen split: a header (rule, counts, digest), then a case a line, then extras",
    edits=("fact", "event", "document"),
)
CF = Exporter(
    write_cf,
    "{name}.scedit-cf.json",
    "counterfactual cases in the published ScEdit-CF shape",
    (
        "temporal cases",
        *_SHARED_LOSSES,
        "paraphrases and plain neighbour prompts",
        "subjects of neighbours, and neighbours whose object is not the old object",
        "the relation's id where it has a label",
    ),
    "counterfactual",
    (
        "EasyEdit's CounterFactDataset trains on rephrase_prompt, locality_prompt and locality_ground_truth, "
        "which this shape does not have: export as easyedit for it",
    ),
)
T = Exporter(
    write_t,
    "{name}.scedit-t.json",
    "temporal cases in the published ScEdit-T shape",
    (
        "counterfactual cases",
        *_SHARED_LOSSES,
        "paraphrases and plain neighbour prompts",
        "the date of the change, the step that was cut, neighbours without a script prompt",
        "the relation's id where it has a label",
    ),
    "temporal",
)
COUNTERFACT = Exporter(
    write_counterfact,
    "{name}.counterfact.json",
    "counterfactual facts in CounterFact's original shape; generation_prompts are the script questions",
    (
        "temporal cases",
        "all script prompts",
        "keys other than CounterFact's, aliases, labels of relations",
        "neighbours whose object is not the old object; extras other than CounterFact's own fields",
        "repetitions among the generation prompts",
    ),
    "counterfactual",
    ("EasyEdit's CounterFactDataset does not read this shape: export as easyedit for its flat records", _LONG_TEXTS),
)
FACTS = Exporter(
    write_facts,
    "{name}.facts.jsonl",
    "whole facts, a line each: the edited ones, then those of the neighbours; then extras of the sources",
    ("questions, prompts, and which neighbour belongs to which edit",),
)
EASYEDIT = Exporter(
    write_easyedit,
    "{name}.easyedit.json",
    "EasyEdit-style records; script prompts stand under portability/Script and locality/Script_Neighbour",
    (*_SHARED_LOSSES, "the relation, the date and kind of the change, the questions, the step that was cut"),
    gaps=(
        "EasyEdit's KnowEditDataset sees no portability and locality under our names, and its batches fail: "
        "add --knowedit-lists for it",
        _BATCHES,
        _LONG_TEXTS,
    ),
)
KNOWEDIT = replace(
    EASYEDIT,
    write=write_knowedit,
    gaps=(
        "EasyEdit's KnowEditDataset also looks for portability/Logical_Generalization and locality/Forgetfulness, "
        "which our cases do not have; its batches fail with a case without a neighbour",
        _BATCHES,
        _LONG_TEXTS,
    ),
)
PARQUET = Exporter(
    write_parquet,
    "data",
    "flat tables in Parquet, as listed under Columns; extras of the sources where there are any",
    edits=("fact", "event"),
)

EXPORTERS = Registry(
    "exporter",
    shipped=(
        "split",
        "scedit-cf",
        "scedit-t",
        "counterfact",
        "facts",
        "easyedit",
        "parquet",
        "datasets",
        "elken",
        "mulfe",
        "mulfe-dev",
    ),
)


CSV = Exporter(
    write_csv,
    "{name}.csv",
    "the edited facts as a table that scedit data import reads",
    ("questions, prompts, neighbours, Wikidata ids, extras", "names that contain a vertical bar"),
)


def chosen_exporter(format: str, knowedit_lists: bool = False) -> Exporter:
    """The exporter of a format (``csv`` or one of ``EXPORTERS``); with the lists that EasyEdit's reader looks for.

    Raises:
        UserError: unknown format, or one that knows no such lists.
    """
    check_choice(format, ("csv", *EXPORTERS.names()), "format")
    exporter: Exporter = CSV if format == "csv" else EXPORTERS.get(format)
    if not knowedit_lists:
        return exporter
    if exporter is not EASYEDIT:
        raise UserError(f"{format} has no lists of KnowEdit", allowed="easyedit", fix="leave --knowedit-lists out")
    return KNOWEDIT


def export(split: Split, path: Path, format: str, knowedit_lists: bool = False, *, store: Store | None = None) -> int:
    """Write a split in a format (``csv`` or one of ``EXPORTERS``); returns the number of cases written.

    A file is replaced when the new one is whole; a folder must be new or empty. A card says what the ``store`` knows.

    Raises:
        UserError: unknown format, no case of its kind, or the place cannot be written.
    """
    exporter = chosen_exporter(format, knowedit_lists)
    if not exporter.holds(split):
        raise UserError(f"the split '{split.name}' has no case that {format} can hold", fix="choose another format")
    if exporter.write_with_store is not None:
        return exporter.write_with_store(split, path, store)
    return exporter.write(split, path)
