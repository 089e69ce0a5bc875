"""Figures that were published: which tables there are, what they print, what a reproduction needs, and their data."""

from __future__ import annotations

import csv
import os
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from curation.files.artifact_cache import sha256
from curation.loaders import load
from schemas.cases import AnyCase, DocumentCase, EventCase
from schemas.core.errors import UserError
from schemas.core.ids import canonical_json, digest
from schemas.core.registry import suggest
from schemas.documents.document import Document, DocumentProbe
from schemas.events.event import Event
from schemas.events.questions import FactQuestion, TendencyQuestion
from schemas.facts import Fact, Neighbour
from schemas.scripts import ScriptPrompt
from schemas.text.counting import counted

SOURCE = "Li et al., ScEdit, Findings of ACL 2025, arXiv 2505.23291"
CASES = {"ScEdit-CF": 1830, "ScEdit-T": 1762}
"""Cases of the published data."""


PublishedTable = Mapping[str, Any]
"""One published table, as its paper's file has it: ``name``, ``title``, ``where``, ``kind``, ``models`` ..."""


class PrintedFigure(NamedTuple):
    """One printed figure: model and method as printed, data, metric or pair, value and half width (None: not printed).

    Values in the unit of the table: percent, points of 7, or a coefficient. ``note`` is an erratum.
    """

    model: str
    method: str
    split: str
    metric: str
    value: float
    half: float | None
    note: str = ""


@cache
def _tables() -> dict[str, Any]:
    """The tables of all papers; what a file says of all of its tables stands in ``all``."""
    tables: dict[str, Any] = {}
    for name in ("scedit.toml", "elken.toml", "mulfe.toml"):
        data = tomllib.loads((files("evaluation.reproduction") / name).read_text(encoding="utf-8"))
        shared = data.pop("all", {"source": SOURCE})
        tables |= {table: {"name": table} | shared | fields for table, fields in data.items()}
    return tables


def published_tables() -> tuple[str, ...]:
    """Names of what can be reproduced.

    Example:
        >>> published_tables()[-4:]
        ('elken-table15', 'mulfe-table2', 'mulfe-table3', 'mulfe-table7')
    """
    return tuple(_tables())


def published_table(name: str) -> PublishedTable:
    """A published table by name.

    Raises:
        UserError: unknown.
    """
    if name not in _tables():
        near = suggest(name, list(published_tables()))
        raise UserError(
            f"nothing published is known as '{name}'",
            allowed=", ".join(published_tables()),
            fix=f"did you mean '{near}'?" if near else None,
        )
    return dict(_tables()[name])


def printed_figures(what: PublishedTable) -> tuple[PrintedFigure, ...]:
    """The printed figures.

    Example:
        >>> printed_figures(published_table("scedit-table5"))[2]
        PrintedFigure(model='', method='', split='ScEdit-CF', metric='consistency', value=-0.09, half=None, note='')
    """
    text = (files("evaluation.reproduction") / "published.csv").read_text(encoding="utf-8")
    rows = [row for row in csv.reader(text.splitlines()) if row[0] == what["name"]]
    return tuple(
        PrintedFigure(model, method, split, metric, float(value), float(half) if half else None, note)
        for _, model, method, split, metric, value, half, note in rows
    )


def unit(what: PublishedTable) -> str:
    """What the figures of a table are."""
    units = {"text": "points of 7", "agreement": "alpha", "correlation": "rho"}
    if any(figure.metric.startswith("ppl") for figure in printed_figures(what)):
        return "percent, perplexities as they are"
    return units.get(what["kind"], "percent")


_BYTES = {
    "GPT2-XL": 6.2,
    "GPT-J": 24.2,
    "GPT-Neo": 10.6,
    "Llama-2 7B": 27.0,
    "Llama-3": 32.1,
    "Mistral-7B": 29.0,
    "Llama-3-8B": 32.1,
}  # GB of the weights in float32


def requirements(what: PublishedTable, *, data: Path | None = None) -> list[dict[str, Any]]:
    """What a full reproduction needs: ``need``, whether it is ``here`` on this machine, and the ``fix`` if not.

    Args:
        what: The table.
        data: Folder with the published files; the working folder where it is not given.
    """
    from evaluation.editors import EDITORS

    key = bool(os.environ.get("OPENAI_API_KEY"))
    needs: list[tuple[str, bool, str]] = []
    for name in what["data"]:
        fix = (
            f"get {name} from the authors' repository (it is not redistributed here), then name its folder with --data"
        )
        needs.append((f"data: {name}", ((data or Path()) / name).is_file(), fix))
    for name, hub in what["models"].items():
        if what.get("endpoint") or name not in _BYTES:  # closed models
            continue
        needs.append((f"model: {hub}", _cached(hub), f"huggingface-cli download {hub}, or --set model=FOLDER"))
        memory_need = f"memory for {name}: about {_BYTES[name]:.0f} GB of weights in float32, or half of it"
        fix = "a GPU or machine of that size, or dtype=bfloat16"
        needs.append((memory_need, _memory() >= _BYTES[name] * 1.2, fix))
    for name in what["methods"].values():
        needs.append((f"method: {name}", name in EDITORS.names(), "it comes with a later version"))
    if what.get("endpoint"):
        needs.append(("a key for the closed models", key, "export OPENAI_API_KEY"))
    if judge := what.get("judge"):
        fix = f"export OPENAI_API_KEY and judge with --model {judge}, or another judge (then the table is another)"
        needs.append((f"judge: {judge}", key, fix))
    if people := what.get("people"):
        needs.append((f"{people} people who rate the same scripts", False, "scedit annotate new NAME --overlap 3"))
    return [dict(zip(("need", "here", "fix"), one, strict=True)) for one in needs]


def _cached(hub: str) -> bool:
    """Whether a model's configuration is in the hub cache; asks nothing of the network."""
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(hub, "config.json"), str)


def _memory() -> float:
    """GB of the largest device: a GPU where there is one, else this machine's memory."""
    import psutil
    import torch

    if torch.cuda.is_available():
        return max(torch.cuda.get_device_properties(n).total_memory for n in range(torch.cuda.device_count())) / 1e9
    return float(psutil.virtual_memory().total) / 1e9


FORMATS = {"ScEdit-CF": "scedit-cf", "ScEdit-T": "scedit-t", "elken-test": "elken", "mulfe_test": "mulfe"}
"""Format of the published file (``NAME.json``) of each data set. The authors publish no digests; those of ELKEN publish
the test part as two files, of facts and of tendencies, which are to be joined by the event's text."""


class PublishedData(NamedTuple):
    """A published file as it lies here.

    Attributes:
        path: Where.
        sha256: Of the file's bytes.
        contents: Digest of what each case edits and asks -> how often the file has it.
    """

    path: Path
    sha256: str
    contents: Counter[str]


def published_data(names: Iterable[str], folder: Path) -> dict[str, PublishedData]:
    """The published files of these data sets that lie in a folder, by data set.

    Args:
        names: ``ScEdit-CF``, ``ScEdit-T``.
        folder: Where to look.

    Raises:
        UserError: there is no such folder.
        DataError: a file has no usable case.
    """
    if not folder.is_dir():
        raise UserError(
            "there is no such folder of published data", where=str(folder), fix="name the folder that holds the files"
        )
    out = {}
    for name in dict.fromkeys(names):
        path = folder / f"{name}.json"
        if path.is_file():
            out[name] = PublishedData(path, sha256(path), Counter(_contents_of_file(path, FORMATS[name])))
    return out


def _contents_of_file(path: Path, format: str) -> list[str]:
    loaded = load(path, format)
    owners = {FactQuestion: "event", TendencyQuestion: "event", DocumentProbe: "document", ScriptPrompt: "fact"}
    parts: dict[str, list[Any]] = defaultdict(list)
    near: dict[str, list[str]] = defaultdict(list)
    for record in loaded.records:
        if isinstance(record, Neighbour):
            near[record.edit].append(record.fact)
        elif owner := owners.get(type(record)):
            parts[getattr(record, owner)].append(record)
    if loaded.events:
        return [_content_of_event(e, parts[e.key]) for e in loaded.events if parts[e.key]]
    if loaded.documents:
        return [_content_of_document(d, parts[d.key]) for d in loaded.documents]
    return [_content(f, parts[f.key], [p for n in near[f.key] for p in parts[n]]) for f in loaded.require()]


def content_of(case: AnyCase) -> str:
    """Digest of what a case edits and asks: the edit, its script prompts and its neighbours', keys and order aside.

    Of an event: its text, and the texts, options and right answers of its questions; of a document likewise.
    """
    if isinstance(case, DocumentCase):
        return _content_of_document(case.document, case.probes)
    if isinstance(case, EventCase):
        return _content_of_event(case.event, [*case.facts, *case.tendencies])
    return _content(case.fact, case.prompts, [p for n in case.neighbours for p in n.prompts])


def _content(fact: Fact, prompts: Iterable[ScriptPrompt], near: Iterable[ScriptPrompt]) -> str:
    edit = [fact.change, fact.subject.text, fact.fact_prompt, fact.old.text, "" if fact.new is None else fact.new.text]
    side_prompts = [sorted([p.text, p.separator, p.targets[0]] for p in side) for side in (prompts, near)]
    return digest([canonical_json([edit, *side_prompts])])


def _content_of_event(event: Event, questions: Iterable[FactQuestion | TendencyQuestion]) -> str:
    question_texts = sorted(canonical_json([q.scope, q.text, *_right(q)]) for q in questions)
    return digest([canonical_json([event.text, question_texts])])


def _content_of_document(document: Document, probes: Iterable[DocumentProbe]) -> str:
    questions = sorted(canonical_json([p.level, p.query, p.answer]) for p in probes)
    return digest([canonical_json([document.text, questions])])


def _right(question: FactQuestion | TendencyQuestion) -> list[str]:
    if isinstance(question, TendencyQuestion):
        return [*question.options, question.answer]
    return [question.answer.text, *sorted(question.answer.aliases)]


def data_difference(
    name: str, cases: Iterable[AnyCase], files: Mapping[str, PublishedData], *, part: bool = False
) -> str:
    """In what cases differ from the published ones; empty where they are the same.

    Args:
        name: Data set, such as ``ScEdit-CF``.
        cases: Ours.
        files: Published files that are here.
        part: Ours may be some of the published cases (Table 8 has 100 of them).
    """
    if name not in files:
        return f"data not checked: name the folder of {name}.json with --data"
    ours, theirs = Counter(map(content_of, cases)), files[name].contents
    strange, lacking = (ours - theirs).total(), (theirs - ours).total()
    differences = []
    if strange:
        differences.append(
            f"{counted(strange, 'case')} of {ours.total():,} {'is' if strange == 1 else 'are'} not in the file"
        )
    if lacking and not part:
        differences.append(f"{counted(lacking, 'case')} of the file {'is' if lacking == 1 else 'are'} not here")
    return f"other data than {name}.json: {', '.join(differences)}" if differences else ""
