"""The dataset card: a README for people, with the header that Hugging Face's hub and ``datasets`` read."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from curation.export.events.event_card import TAGS, USE, count_lines, count_rows, limit_lines, opening_text
from curation.export.events.event_summary import EventSummary
from curation.export.judged_summary import HumanJudgements, JudgedSummary
from curation.export.parquet import tables_of
from curation.export.summary import SplitSummary
from curation.splits.split_file import Split
from schemas.cases import FACT
from schemas.text.counting import counted
from schemas.text.escaping import escape_line

_HUB = {  # the hub's names of licences
    "CC0-1.0": "cc0-1.0",
    "CC0": "cc0-1.0",
    "MIT": "mit",
    "Apache-2.0": "apache-2.0",
    "CC BY 4.0": "cc-by-4.0",
    "CC BY-SA 4.0": "cc-by-sa-4.0",
    "CC BY-NC-SA 4.0": "cc-by-nc-sa-4.0",
}
_TAGS = ("knowledge-editing", "model-editing", "scripts", "cloze")
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_MOST = 20  # values of a list in the header that the card spells out
_KNOWN = {
    "format",
    "split",
    "version",
    "cases",
    "digest",
    "rule",
    "counts",
    "written_by",
    "judged_by",
}  # parts of the header with a place here


class ReleasePart(NamedTuple):
    """A file or folder of the release: its name, what it is, what it cannot carry, cases in it."""

    name: str
    about: str
    losses: tuple[str, ...]
    cases: int


def card(
    split: Split, summary: SplitSummary | EventSummary, parts: Sequence[ReleasePart], *, tables: bool = True
) -> str:
    """The card as Markdown.

    Args:
        split: The frozen split.
        summary: What ``survey`` counted.
        parts: The files that go with it.
        tables: Whether ``data/*.parquet`` are among them (then the header says how to load them).
    """
    sections = [
        _header(split, summary, tables=tables),
        f"# {split.name} {split.version}\n\n{_opening_text(split)}",
        _section("Counts", _counts(summary) if isinstance(summary, SplitSummary) else _event_counts(summary)),
        _section("Load", _load(split, parts, tables=tables)),
        _section("Files", _files(parts)),
        _section("Construction", _construction(split, summary)),
        _section("Checks", _checks(split, summary)),
        _section("People", _people(split, summary)),
        _section("Licences and sources", _licences(summary)),
        _section("Intended use", _USE if isinstance(summary, SplitSummary) else USE),
        _section(
            "Limits", _limits(split, summary) if isinstance(summary, SplitSummary) else limit_lines(split, summary)
        ),
    ]
    if tables:
        sections.append(_section("Columns", _columns(split)))
    return "\n\n".join(sections) + "\n"


def hub_licence(licences: Sequence[str]) -> str:
    """The hub's word for the licences: a known one, or ``other`` for several and for unknown ones.

    Example:
        >>> hub_licence(["MIT"]), hub_licence(["MIT", "CC BY-SA 4.0"])
        ('mit', 'other')
    """
    return _HUB.get(licences[0], "other") if len(licences) == 1 else "other"


def _header(split: Split, summary: JudgedSummary, *, tables: bool) -> str:
    size = next((name for limit, name in _SIZES if len(split.all_cases) < limit), "n>1M")
    licence = hub_licence(summary.licences)
    lines = [f"pretty_name: {_quote(f'{split.name} {split.version}')}", f"license: {licence}"]
    if licence == "other":
        lines.append(f"license_name: {_quote(' and '.join(summary.licences))}")
    lines += ["tags:", *(f"- {tag}" for tag in (_TAGS if split.type == FACT else TAGS))]
    lines += ["size_categories:", f"- {size}"]
    if tables:
        lines.append("configs:")
        for n, name in enumerate(tables_of(split)):
            lines += [f"- config_name: {name}"] + (["  default: true"] if n == 0 else [])
            lines += ["  data_files:", "  - split: test", f"    path: data/{name}.parquet"]
    return "\n".join(["---", *lines, "---"])


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _section(title: str, lines: Iterable[str]) -> str:
    return "\n".join([f"## {title}", "", *lines])


def _opening_text(split: Split) -> str:
    if split.type != FACT:
        return opening_text(split)
    return (
        f"{counted(len(split.cases), 'case')} for evaluating knowledge editing with scripts: each is one edit of a "
        f"fact with script prompts (a how-to question, and a script cut before the object) and with neighbours that "
        f"the edit must leave alone. Digest of the cases: `{split.digest}`."
    )


def _counts(summary: SplitSummary) -> Iterator[str]:
    rows = [(f"cases, {change}", n) for change, n in summary.changes.items()]
    rows += [("relations", len(summary.relations)), ("script questions", summary.questions)]
    rows += [("script prompts", summary.prompts)]
    rows += [(f"neighbours, {link.replace('_', ' ')}", n) for link, n in summary.neighbours.items()]
    rows += [("neighbour script prompts", summary.neighbour_prompts)]
    yield from _table(("what", "number"), ((what, f"{n:,}") for what, n in rows))
    relation_counts = ", ".join(f"{_cell(name)} {n:,}" for name, n in list(summary.relations.items())[:8])
    yield from ("", f"Most frequent relations: {relation_counts}.")
    steps = ", ".join(f"{'not known' if step is None else step}: {n:,}" for step, n in summary.steps.items())
    if steps:
        yield f"Script prompts by the step that was cut: {steps}."


def _event_counts(summary: EventSummary) -> Iterator[str]:
    yield from _table(("what", "number"), ((what, f"{n:,}") for what, n in count_rows(summary)))
    yield ""
    yield from count_lines(summary)


def _load(split: Split, parts: Sequence[ReleasePart], *, tables: bool) -> Iterator[str]:
    yield "```python"
    if tables:
        yield "from datasets import load_dataset"
        first, *others = tables_of(split)
        yield f'{first} = load_dataset(FOLDER, "{first}", split="test")  # or {", ".join(others)}'
    file_name = split.name.replace("/", "-") + ".jsonl"
    if any(part.name == file_name for part in parts):
        yield from (
            "from curation.splits.split_file import load_split",
            f'split = load_split("{file_name}")  # verifies the digest',
        )
    yield "```"
    yield from ("", "`sha256sum -c checksums.sha256` verifies the files.")


def _files(parts: Sequence[ReleasePart]) -> Iterator[str]:
    rows = ((f"`{p.name}`", p.about, f"{p.cases:,}", "; ".join(p.losses) or "nothing") for p in parts)
    yield from _table(("file", "what", "cases", "not in it"), rows)


def _construction(split: Split, summary: JudgedSummary) -> Iterator[str]:
    if writers := split.header.get("written_by"):
        yield from (f"Written by {writers}.", "")
    if rule := split.header.get("rule"):
        yield "A rule over verdicts chose the cases: " + _plain_text(rule) + "."
    else:
        yield "The split's header states no rule: how its cases were chosen is not recorded."
    counts = {k: n for k, n in split.header.get("counts", {}).items() if k not in ("cases", "facts")}
    if counts:
        yield from ("", "What was left out, and why:", "", *_table(("reason", "items"), _numbers(counts)))
    if summary.made:
        yield from ("", "How the items came to be, as the store's lineage has it:", "")
        rows = (
            (m.stage, m.model or "-", m.prompt or "-", f"{m.items:,}", _period(m.first, m.last)) for m in summary.made
        )
        yield from _table(("stage", "model", "prompt", "items", "when"), rows)
    for name, value in split.header.items():
        if name not in _KNOWN and value not in (None, "", [], {}):
            yield from ("", f"**{name}**: {_plain_text(value)}")


def _period(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"


def _checks(split: Split, summary: JudgedSummary) -> Iterator[str]:
    if not summary.from_store:
        yield "The card was made from the frozen split alone; the verdicts of its checks are in the store it came from."
    elif not summary.checks:
        yield "The store holds no check's verdict on these items."
    else:
        yield "Verdicts on the items that are in the split:"
        yield ""
        labels = ("keep", "unsure", "drop", "unscored", "measured")
        rows = ((f"`{by}`", *(f"{n.get(label, 0):,}" for label in labels)) for by, n in summary.checks.items())
        yield from _table(("check", *labels), rows)
        dropped = sum(n.get("drop", 0) for n in summary.checks.values())
        if dropped:
            yield from ("", f"Verdicts that say drop: {dropped:,}; a person outranked them, or the rule ignores them.")
    if summary.judge_models:
        models = ", ".join(f"{model} ({counted(n, 'rating')})" for model, n in summary.judge_models.items())
        yield from ("", f"Rated by judge models: {models}.")


def _people(split: Split, summary: JudgedSummary) -> Iterator[str]:
    if judges := split.header.get("judged_by"):
        yield f"Judged by {judges}."
    elif not summary.from_store:
        yield "The frozen split does not say whether people judged it; the store was not given."
    elif not summary.people:
        yield "No people have judged it."
    for n, task in enumerate(summary.people):
        yield from ([""] if n else [])
        yield from _task(task)


def _task(task: HumanJudgements) -> Iterator[str]:
    ordinal = task.level == "ordinal"
    items, raters = counted(task.items, "item"), counted(task.raters, "rater")
    yield f"**{task.task}**: {counted(task.judgements, 'judgement')} of {items} by {raters}."
    yield ""
    yield f"- judgements: {', '.join(f'{label} {n:,}' for label, n in task.labels.items())}"
    if task.acceptance:
        yield f"- share that keeps, with its exact 95 % interval: {task.acceptance}"
    yield f"- Krippendorff's alpha ({task.level}): {task.alpha}"
    yield f"- Gwet's {'AC2 (quadratic weights)' if ordinal else 'AC1'}: {task.ac1}"
    yield f"- exact agreement: {task.exact}"


def _licences(summary: JudgedSummary) -> Iterator[str]:
    rows = ((name, licence, url or "-", f"{n:,}") for (name, licence, url), n in summary.sources.items())
    what = "facts (edited and neighbour)" if isinstance(summary, SplitSummary) else "events"
    yield from _table(("source", "licence", "address", what), rows)
    if len(summary.licences) > 1:
        yield ""
        one = "fact" if isinstance(summary, SplitSummary) else "event"
        yield (
            f"Several licences meet here; each {one}'s own stands in the column `licence`. Who passes the whole on "
            "has to meet all of them."
        )


_USE = (
    "For measuring whether an edited language model uses a changed fact in procedures and leaves its neighbours alone.",
    "Not for training models or methods that are then measured with it, and not as a source of true facts: new objects",
    "of counterfactual cases are false on purpose, and old objects are what the source says.",
)


def _limits(split: Split, summary: SplitSummary) -> Iterator[str]:
    cases = len(split.cases)
    half = 100 * 1.96 * math.sqrt(0.25 / cases)
    near = f"a success rate near one half has a 95 % interval of ±{half:.1f} points over cases."
    yield f"- With {counted(cases, 'case')}, {near}"
    top, largest_count = next(iter(summary.relations.items()))
    yield f"- The most frequent relation ({top}) makes up {100 * largest_count / cases:.0f} % of the cases."
    if summary.lonely:
        yield f"- Cases without a neighbour's script prompt (locality is not measured on them): {summary.lonely:,}."
    if summary.repeated:
        yield f"- Script prompts that repeat the text of another one: {summary.repeated:,}."
    if summary.from_store and not summary.people:
        yield "- No person has judged the items."
    yield "- Truth and dates of the facts are the sources'; languages of the texts are not recorded."


def _columns(split: Split) -> Iterator[str]:
    for n, (name, columns) in enumerate(tables_of(split).items()):
        yield from ([""] if n else [])
        yield from (f"### {name}", "")
        yield from _table(("column", "type", "what"), ((f"`{c.name}`", c.type, c.about) for c in columns))


def _numbers(counts: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    return ((name, f"{n:,}" if isinstance(n, int) else str(n)) for name, n in counts.items())


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "| " + " | ".join("---" for _ in head) + " |"
    for row in rows:
        yield "| " + " | ".join(map(_cell, row)) + " |"


def _cell(text: str) -> str:
    r"""Text of others in a Markdown line: no tag, no link, no end of the cell.

    Example:
        >>> _cell("<b>[x](javascript:y)|")
        '&lt;b>[x]\\(javascript:y)\\|'
    """
    return escape_line(text).replace("<", "&lt;").replace("](", "]\\(").replace("|", "\\|")


def _plain_text(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{k} = {_plain_text(v)}" for k, v in value.items())
    if isinstance(value, list):
        return f"{len(value):,} of them" if len(value) > _MOST else ", ".join(_plain_text(v) for v in value) or "none"
    return str(value)
