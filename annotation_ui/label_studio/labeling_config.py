"""A form as a Label Studio labelling configuration, an item as a task, an annotation's result as answers."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.forms import Field, Form, ShownText
from annotation_ui.tasks.spans import mark, markable
from schemas.core.ids import content_id

_POINT = re.compile(r"0|-?[1-9][0-9]{0,8}")
"""A point of a scale as a choice is written; other texts ("--5", thousands of digits) are for the form to refuse."""
_STYLE = """
    .se-wrap { display: flex; gap: 18px; align-items: flex-start; flex-wrap: wrap; }
    .se-left { flex: 1 1 52%; min-width: 280px; }
    .se-right { flex: 1 1 40%; min-width: 280px; }
    .se-card { border: 1px solid #98a2b3; border-radius: 6px; padding: 8px 12px; margin-bottom: 10px; }
    .se-script { white-space: pre-wrap; line-height: 1.5; }
    .se-hint { font-size: 13px; opacity: .85; }
    .se-card [class*="choice"] sup { display: none; }
"""


def label_config(form: Form) -> str:
    """The labelling configuration of a form.

    Scales are single choices with their numbers (stars have none and begin at 0), nothing has hot keys (automatic ones
    run across groups and mislead), and every judgement is required in the browser, which the import does not trust.
    """
    to = f"shown_{form.shows[-1].name}"
    shown = [_object_tag(s.name, s.title, script=s.style == "script") for s in form.shows]
    controls = [_field(f, to) for f in form.fields if f.kind != "spans"]
    shown += [_labels(f, s) for f in form.fields if f.kind == "spans" for s in markable(form)]
    parts = [
        "<View>",
        f"  <Style>{_STYLE}  </Style>",
        f'  <Header value={quoteattr(form.title)} size="4"/>',
        _choice_value("intro", form.intro),
        '  <View className="se-wrap">',
        '  <View className="se-left">',
        *shown,
        "  </View>",
        '  <View className="se-right">',
        *controls,
        "  </View>",
        "  </View>",
        "</View>",
    ]
    return "\n".join(parts)


def _object_tag(name: str, title: str, *, script: bool) -> str:
    style = ' className="se-script"' if script else ""
    body = f'<View{style}><Text name="shown_{name}" value="${name}" granularity="word"/></View>'
    return f'    <View className="se-card"><Header value={quoteattr(title)} size="5"/>{body}</View>'


def _labels(field: Field, text: ShownText) -> str:
    """Labels for the words of one text: a control of Label Studio's belongs to one object."""
    known = "".join(
        f'<Label value="{o.value}" alias="{o.value}" html={quoteattr(escape(o.text))}/>' for o in field.choices
    )
    head = f'<Header value={quoteattr(f"{field.asks}: {text.title}")} size="5"/>'
    labels = f'<Labels name="{field.name}_in_{text.name}" toName="shown_{text.name}">{known}</Labels>'
    return f'    <View className="se-card">{head}{labels}</View>'


def _choice_value(name: str, text: str) -> str:
    return f'  <View className="se-hint"><Text name="{name}_text" value={quoteattr(text)}/></View>'


def _field(field: Field, to: str) -> str:
    head = f'<Header value={quoteattr(field.asks)} size="5"/>'
    if field.kind == "scale":
        ends = f"1 = {field.low_text}; {field.high} = {field.high_text}" if field.low_text else ""
        hint = " ".join(x for x in (field.hint, ends) if x)
    else:
        hint = field.hint
    hint_text = _choice_value(f"hint_{field.name}", hint) if hint else ""
    return f'    <View className="se-card">{head}{hint_text}{_control(field, to)}</View>'


def _control(field: Field, to: str) -> str:
    if field.kind == "text":
        return f'<TextArea name="{field.name}" toName="{to}" rows="2" editable="true" maxSubmissions="1"/>'
    choices = "".join(
        f'<Choice value="{c.value}" alias="{c.value}" html={quoteattr(escape(c.text))}/>' for c in field.choices
    )
    if field.kind == "many":
        return f'<Choices name="{field.name}" toName="{to}" choice="multiple">{choices}</Choices>'
    choices = choices or "".join(f'<Choice value="{v}"/>' for v in field.allowed)
    needed = f'required="true" requiredMessage={quoteattr("Please answer: " + field.asks)}' if field.required else ""
    return (
        f'<Choices name="{field.name}" toName="{to}" choice="single-radio" showInline="true" {needed}>{choices}'
        "</Choices>"
    )


def config_digest(config: object) -> str:
    """Of a labelling configuration: what it says, not how its tags are written.

    Example:
        >>> config_digest('<View><A b="1" c="2"/></View>') == config_digest('<View> <A c="2" b="1"></A></View>')
        True
    """
    try:
        canonical = ET.canonicalize(str(config), strip_text=True)
    except ET.ParseError:
        return "unreadable"
    return content_id("label studio configuration", " ".join(canonical.split()))


def task_data(item: TaskItem, form: Form) -> dict[str, str]:
    """What an item's task holds: its texts and its content id, and nothing that would bias (no stratum, no method)."""
    texts = {s.name: item.shown.get(s.name, "") for s in form.shows}
    return {**texts, "scedit_item": item.id, "scedit_form": form.label}


def parse_result(
    result: object, form: Form, shown: Mapping[str, str] | None = None
) -> tuple[dict[str, Any], list[str]]:
    """The answers in an annotation's ``result``, and what in it cannot be read.

    A scale's choice becomes an integer. Nothing is dropped silently: unknown controls, twice answered ones and values
    of another shape are faults.

    Args:
        result: As Label Studio gives it.
        form: What was asked.
        shown: The texts of the item, in which words were marked.
    """
    known = {f.name: f for f in form.fields if f.kind != "spans"}
    places = {f"{f.name}_in_{s.name}": (f, s.name) for f in form.fields if f.kind == "spans" for s in markable(form)}
    answers: dict[str, Any] = {}
    if not isinstance(result, list):
        return {}, ["the annotation has no list of results"]
    faults = []
    for region in result:
        name = region.get("from_name") if isinstance(region, Mapping) else None
        if isinstance(name, str) and name in places:
            field, text = places[name]
            mark_or_fault = _mark(region.get("value"), text, (shown or {}).get(text, ""))
            if region.get("to_name") not in (None, f"shown_{text}"):
                faults.append(f"'{field.name}' in '{text}' was set in another text")
            elif isinstance(mark_or_fault, str):
                faults.append(f"'{field.name}' {mark_or_fault}")
            else:
                answers.setdefault(field.name, []).append(mark_or_fault)
        elif not isinstance(name, str) or name not in known:
            faults.append(f"unknown control {name!r}")
        elif name in answers:
            faults.append(f"'{name}' is answered twice")
        else:
            answers[name] = _answer(known[name], region.get("value"))
    return answers, faults


def _mark(value: object, name: str, shown: str) -> dict[str, Any] | str:
    """A labelled region as a mark in a text, or what is wrong with it.

    Label Studio counts as JavaScript does, where one sign beyond the first 65,536 is two; what stands there decides.
    """
    value = value if isinstance(value, Mapping) else {}
    start, end, labels, quote = (value.get(k) for k in ("start", "end", "labels", "text"))
    if type(start) is not int or type(end) is not int or not 0 <= start < end:
        return f"in '{name}' does not say from where to where"
    if not isinstance(labels, list) or len(labels) != 1 or not isinstance(labels[0], str):
        return f"in '{name}' has not one label"
    begin, stop = (_code_points(shown, n) for n in (start, end))
    words = quote.replace("\\n", "\n") if isinstance(quote, str) else None
    for place in ((begin, stop), (start, end)):
        if place[0] < place[1] <= len(shown) and words in (None, shown[slice(*place)]):
            return mark({name: shown}, name, *place, labels[0])
    return f"in '{name}' says other words than those at its place"


def _code_points(text: str, units: int) -> int:
    """How many characters a number of UTF-16 units is, from the beginning of a text; -1 where it divides one."""
    seen = 0
    for n, character in enumerate(text):
        if seen >= units:
            return n if seen == units else -1
        seen += 2 if character > "\uffff" else 1
    return len(text) + max(0, units - seen) if seen <= units else -1


def _answer(field: Field, value: object) -> Any:
    """One control's value as the form takes it; what has another shape is handed on for the form to refuse."""
    if not isinstance(value, Mapping):
        return value
    if field.kind == "text":
        text = value.get("text")
        return "\n".join(text) if isinstance(text, list) and all(isinstance(t, str) for t in text) else text
    chosen = value.get("choices")
    if field.kind == "many" or not isinstance(chosen, list) or len(chosen) != 1:
        return chosen if field.kind == "many" else (chosen or value.get("rating"))
    (one,) = chosen
    if field.kind == "scale" and isinstance(one, str) and _POINT.fullmatch(one):
        return int(one)
    return one
