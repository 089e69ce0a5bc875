"""Answers as an annotation of Label Studio holds them: what its interface would send."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation_ui.tasks.forms import Answers, Field, Form


def build_result(answers: Answers, form: Form) -> list[dict[str, Any]]:
    """An annotation's ``result`` that holds these answers: the inverse of ``parse_result``."""
    to = f"shown_{form.shows[-1].name}"
    out = []
    for field in form.fields:
        if field.name not in answers:
            continue
        if field.kind == "spans":
            out += [_region(field, m) for m in answers[field.name]]
            continue
        value, text = answers[field.name], field.kind == "text"
        many = list(value) if field.kind == "many" else [str(value)]
        out.append(
            {
                "from_name": field.name,
                "to_name": to,
                "type": "textarea" if text else "choices",
                "value": {"text" if text else "choices": many},
            }
        )
    return out


def _region(field: Field, m: Mapping[str, Any]) -> dict[str, Any]:
    value = {"start": m["start"], "end": m["end"], "text": m["words"], "labels": [m["label"]]}
    return {
        "from_name": f"{field.name}_in_{m['text']}", "to_name": f"shown_{m['text']}", "type": "labels", "value": value
    }  # fmt: skip
