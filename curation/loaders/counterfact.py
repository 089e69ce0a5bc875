"""CounterFact (Meng et al., 2022; MIT) in its three shapes: original, grouped from the flat files, flat."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from curation.loaders.base import Loaded, Row, collect, json_rows, read_text, strings, template
from schemas.facts import Entity, Fact, Object, Relation, Source
from schemas.ids import slug

_SOURCE = {"name": "CounterFact", "licence": "MIT", "url": "https://rome.baulab.info"}


def load_original(path: Path) -> Loaded:
    """``requested_rewrite`` records, as released with ROME; the grouped shape differs only in what is empty."""
    rows, bad = json_rows(read_text(path), path)
    return collect(rows, _original, bad=bad, format="counterfact")


def load_flat(path: Path) -> Loaded:
    """One prompt, one paraphrase, one neighbour prompt a record; no relation id, so the template names the relation."""
    rows, bad = json_rows(read_text(path), path)
    return collect(rows, _flat, bad=bad, format="counterfact-flat")


def _original(row: Row) -> Fact:
    data, edit = row.data, row.data["requested_rewrite"]
    return Fact(
        key=f"counterfact/{data['case_id']}",
        subject=Entity(text=edit["subject"].strip()),
        relation=Relation(id=str(edit["relation_id"])),
        prompt=edit["prompt"].strip(),
        old=_object(edit["target_true"]),
        new=_object(edit["target_new"]),
        paraphrases=tuple(strings(data.get("paraphrase_prompts"))),
        neighbour_prompts=tuple(strings(data.get("neighborhood_prompts"))),
        source=Source(**_SOURCE, item=str(data["case_id"])),
    )


def _flat(row: Row) -> Fact:
    data = row.data
    prompt = template(data["prompt"].strip(), data["subject"].strip())
    return Fact(
        key=f"counterfact/{data['case_id']}",
        subject=Entity(text=data["subject"].strip()),
        relation=Relation(id=f"template:{slug(prompt.replace('{}', ' x '), length=80)}", label=prompt),
        prompt=prompt,
        old=Object(text=data["ground_truth"].strip()),
        new=Object(text=data["target_new"].strip()),
        paraphrases=tuple(strings([data.get("rephrase_prompt")])),
        neighbour_prompts=tuple(strings([data.get("locality_prompt")])),
        source=Source(**_SOURCE, item=str(data["case_id"])),
    )


def _object(value: dict[str, Any]) -> Object:
    item = value.get("id")
    return Object(text=value["str"].strip(), wikidata=item if isinstance(item, str) and item[:1] == "Q" else None)
