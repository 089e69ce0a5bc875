"""The lead's pages: progress, agreement, decisions by keys, and items with all that was said of them."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st

from annotation_ui.agreement.overview import Overview, answers_digest, compute_apart
from annotation_ui.agreement.report import ItemDisagreement, disagreements, live_judgements
from annotation_ui.app import widgets
from annotation_ui.app.browser_parts import keyboard_shortcuts
from annotation_ui.app.form import readable_error, show_keys
from annotation_ui.app.widgets import PageContext, escape_markdown, item_html
from annotation_ui.campaigns.campaign import RaterProgress, rater_progress, task_of
from annotation_ui.ratings.database import Campaign, CampaignItem, RatingsDB, Revision
from annotation_ui.tasks.base import RatingTask
from annotation_ui.tasks.forms import Field, Form
from schemas.core.errors import StoreError, UserError
from schemas.text.counting import counted


def lead_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, flagged: Sequence[str] = ()) -> str:
    """A table; a column that is empty in every row is left out.

    Args:
        head: Titles of the columns.
        rows: Texts, a row each.
        flagged: Columns whose texts are to be noticed.

    Example:
        >>> lead_table(["who", "note"], [["ann", ""]]).count("<th>")
        1
    """
    there = [n for n in range(len(head)) if any(row[n] for row in rows)]
    top = "".join(f"<th>{html.escape(head[n])}</th>" for n in there)
    lines = "".join(
        "<tr>" + "".join(_cell(head[n], row[n], flagged=head[n] in flagged) for n in there) + "</tr>" for row in rows
    )
    return f'<div class="se-lead"><table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div>'


def _cell(title: str, text: str, *, flagged: bool) -> str:
    body = html.escape(text)
    if flagged and text:
        body = f'<div class="se-flag">{body}</div>'
    return f'<td data-label="{html.escape(title)}">{body}</td>'


_KEPT = 16  # states of campaigns whose figures are cached
_BY_PATH: dict[str | type[Any], Callable[[Any], Any]] = {RatingsDB: lambda db: str(db.path.absolute())}


class QuickFigures(NamedTuple):
    """What takes a fraction of a second: progress, answers, and items on which people differ, widest first."""

    progress: list[RaterProgress]
    answers: list[Revision]
    apart: list[ItemDisagreement]


@st.cache_data(max_entries=_KEPT, show_spinner=False, hash_funcs=_BY_PATH)
def quick_figures(db: RatingsDB, name: str, digest: str) -> QuickFigures:
    """The quick figures of a campaign in the state that the digest names."""
    apart = disagreements(live_judgements(db, name), task_of(db, name))
    return QuickFigures(rater_progress(db, name), db.current_answers(name), apart)


@st.cache_data(max_entries=_KEPT, show_spinner="Agreement is being computed ...", hash_funcs=_BY_PATH)
def slow_figures(db: RatingsDB, name: str, store: Path | None, digest: str) -> Overview:
    """Agreement with its intervals and all that rests on it; a process of its own computes it, the page waits.

    Raises:
        UserError: the process failed.
    """
    return compute_apart(db.path, name, store)


_EVERY = 30.0  # seconds between two looks at the answers
_SHOWN = 5  # items to discuss


def show_progress(context: PageContext) -> None:
    """Every campaign; brought up to date every few seconds, the figures computed once for every change."""
    st.title("Progress")
    if not context.db.campaigns():
        st.info("There is no campaign yet. Create one with: scedit annotate new")
    _campaigns(context)


@st.fragment(run_every=_EVERY)
def _campaigns(context: PageContext) -> None:
    with RatingsDB(context.db.path) as db:
        for campaign in db.campaigns():
            _show_campaign(context, db, campaign)


def _show_campaign(context: PageContext, db: RatingsDB, campaign: Campaign) -> None:
    name = campaign.name
    quick = quick_figures(db, name, answers_digest(db, name))
    st.subheader(f"{escape_markdown(name)} ({campaign.form})", anchor=False)
    if not quick.progress:
        st.progress(0.0, text="0 of 0 answers")
        st.info(f"Nothing is assigned yet. Run: scedit annotate assign {escape_markdown(name)}")
        return
    done, all_ = sum(s.done for s in quick.progress), sum(s.assigned for s in quick.progress)
    words = [f"{done:,} of {counted(all_, 'answer')}", *_outlook(quick.progress)]
    st.progress(min(1.0, done / all_) if all_ else 0.0, text=" · ".join(words))
    overview = None
    if quick.answers:
        try:
            overview = slow_figures(db, name, context.store, answers_digest(db, name, context.store))
        except UserError as error:
            st.error(escape_markdown(str(error)))
    notes = overview.notes if overview else {}
    rows = [_person_row(s, notes.get(s.person, ()), overview) for s in quick.progress]
    st.html(lead_table(_HEAD, rows, flagged=("look at",)))
    if overview:
        _show_agreement(overview)
    if quick.answers:
        _show_discussion(db, name, quick)


def _outlook(progress: Sequence[RaterProgress]) -> list[str]:
    """How much work is left, at everybody's median time an item."""
    work = [_work_left(s) for s in progress if _open_items(s)]
    return [f"{span(sum(w or 0.0 for w in work))} of work left"] if work and None not in work else []


def _open_items(s: RaterProgress) -> int:
    return max(0, s.assigned - s.done - s.skipped)


def _work_left(s: RaterProgress) -> float | None:
    """Seconds of work, not days between them; None before the first timed answer."""
    return None if s.seconds is None else _open_items(s) * s.seconds


def span(seconds: float) -> str:
    """A time in words.

    Example:
        >>> span(40), span(600), span(9000)
        ('1 min', '10 min', '2.5 h')
    """
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 100 else f"{minutes / 60:.1f} h"


_HEAD = (
    "rater", "program", "done", "skipped", "training items done", "attention items right", "median time per item",
    "work left", "severity", "last answer (UTC)", "look at",
)  # fmt: skip


def _person_row(s: RaterProgress, notes: Sequence[str], overview: Overview | None) -> list[str]:
    """A rater's line; a text that says nothing is empty, and a column of empty ones is left out."""
    severity = overview.severity.get(s.person) if overview else None
    work = _work_left(s)
    return [
        s.person,
        "yes" if s.synthetic else "",
        f"{s.done} of {s.assigned}",
        str(s.skipped) if s.skipped else "",
        f"{s.training[0]} of {s.training[1]}" if s.training[1] else "",
        f"{s.attention[0]} of {s.attention[1]}" if s.attention[1] else "",
        "" if s.seconds is None else f"{s.seconds:.0f} s",
        span(work) if work else "",
        "" if severity is None else severity.text(2),
        (s.last or "")[:16].replace("T", " "),
        "; ".join(notes),
    ]


def _show_agreement(overview: Overview) -> None:
    """Agreement by aspect."""
    rows = [[aspect, e.text(2), str(e.n) if e.defined else ""] for aspect, e in overview.alphas.items()]
    if rows:
        name = next((e.name for e in overview.alphas.values()), "alpha")
        st.html(lead_table(["agreement so far", name, "items"], rows))
    for line in overview.stop:
        st.caption(escape_markdown(line))


def _show_discussion(db: RatingsDB, name: str, quick: QuickFigures) -> None:
    """The widest disagreements that nobody has decided."""
    decided = db.adjudications(name)
    open_ = [d for d in quick.apart if d.item not in decided]
    if not quick.apart:
        return
    rows = [
        [
            d.case,
            f"{d.spread:.2f}",
            "; ".join(f"{p}: {', '.join(map(str, a.values()))}" for p, a in sorted(d.said.items())),
        ]
        for d in open_[:_SHOWN]
    ]
    line = f"{counted(len(quick.apart), 'item')} with a disagreement, {len(quick.apart) - len(open_)} decided"
    if rows:
        st.html(lead_table(["to discuss", "disagreement", "answers"], rows))
    st.caption(f"{line}. Decide them on the page Adjudicate.")


def show_agreement(context: PageContext) -> None:
    """Agreement by aspect of one campaign: computed again where answers changed."""
    opened = widgets.campaign_page(context, "Agreement")
    if opened is None:
        return
    name, _ = opened
    if not context.db.current_answers(name):
        st.info("Nobody has answered yet.")
        return
    _agreement_figures(context, name)


@st.fragment(run_every=_EVERY)
def _agreement_figures(context: PageContext, name: str) -> None:
    try:
        with RatingsDB(context.db.path) as db:
            overview = slow_figures(db, name, context.store, answers_digest(db, name, context.store))
    except UserError as error:
        st.error(widgets.escape_markdown(str(error)))
        return
    if overview.warning:
        st.warning(widgets.escape_markdown(overview.warning))
    if overview.body:
        st.html(overview.body)
    else:
        st.info("Nobody has answered yet.")


_NUMBER = "adjudicate-number"


def show_adjudication(context: PageContext) -> None:
    """One disagreement after another, widest first."""
    opened = widgets.campaign_page(context, "Adjudicate", compact=True)
    if opened is None:
        return
    name, task = opened
    figures = quick_figures(context.db, name, answers_digest(context.db, name))
    decided = context.db.adjudications(name)
    if not figures.apart:
        st.info("There are no disagreements so far: nobody has answered, or nobody differs.")
        return
    with st.container(horizontal=True, key="adjudicate-bar", vertical_alignment="center"):
        only_open = st.toggle("Undecided only", value=True)
        listed = [d for d in figures.apart if not (only_open and d.item in decided)]
        place = _choose_place(len(listed))
    count = counted(len(figures.apart), "item")
    line = f"{count} with a disagreement, {sum(d.item in decided for d in figures.apart)} decided."
    if not listed:
        st.caption(line)
        st.success("All disagreements are decided.")
        return
    d = listed[place]
    answers = {r.person: r for r in figures.answers if r.item == d.item and r.person in d.said}
    left, right = st.columns([11, 9], gap="medium")
    with left, st.container(key="adjudicate-item"):
        header = f"Item {d.item} of {d.case}; disagreement {d.spread:.2f} (0: none, 1: the whole scale)"
        st.html(
            f'<div class="se-count">{html.escape(line)}<span class="se-wide" data-item="{html.escape(d.item)}"> '
            f"{html.escape(header)}</span></div>"
        )
        st.html(_item_with_remarks(task.form, context.db.item(name, d.item).item.shown, answers))
    with right, st.container(key="decision"):
        if _decide(context, name, task, d, decided[d.item].answers if d.item in decided else {}):
            st.rerun()


def _choose_place(count: int) -> int:
    """Which of the listed items is shown; Alt and an arrow key go on and back."""
    if not count:
        return 0
    st.session_state[_NUMBER] = min(max(1, int(st.session_state.get(_NUMBER, 1))), count)

    def step(by: int) -> None:
        st.session_state[_NUMBER] = min(max(1, st.session_state[_NUMBER] + by), count)

    st.button("Previous", shortcut="Alt+ArrowLeft", on_click=step, args=(-1,), disabled=st.session_state[_NUMBER] <= 1)
    st.button("Next", shortcut="Alt+ArrowRight", on_click=step, args=(1,), disabled=st.session_state[_NUMBER] >= count)
    number = st.number_input(
        f"Item (1 to {count}, widest disagreement first)",
        1,
        count,
        key=_NUMBER,
        label_visibility="collapsed",
        width=130,
    )
    st.caption(f"{int(number)} of {count}")
    return int(number) - 1


def _item_with_remarks(form: Form, texts: Mapping[str, str], answers: Mapping[str, Revision]) -> str:
    """The item, and below it every reason and comment: a long item scrolls by itself, so that they stay in sight."""
    remarks = "".join(_remark(person, form, r.answers or {}) for person, r in sorted(answers.items()))
    pane = item_html(form, texts, highlight=True)
    below = f'<div class="se-remarks" tabindex="0">{remarks}</div>' if remarks else ""
    return f'<div class="se-judged">{pane}{below}</div>'


def _remark(person: str, form: Form, answers: Mapping[str, Any]) -> str:
    """A person's reasons and comments; empty where there are none."""
    out = []
    for f in form.fields:
        value = answers.get(f.name)
        if f.kind == "many" and isinstance(value, list):
            words = {c.value: c.text for c in f.choices}
            out += [words.get(str(v), str(v)) for v in value]
        elif f.kind == "text" and value:
            out.append(str(value))
    if not out:
        return ""
    body = " · ".join(html.escape(words) for words in out)
    return (
        f'<div class="se-remark"><span class="se-title">Comment by {html.escape(person)}</span> '
        f'<span class="se-text" dir="auto">{body}</span></div>'
    )


def _answers_html(field: Field, answers_by_person: Mapping[str, Mapping[str, Any]]) -> str:
    """What everybody answered to one question, on a line."""
    words = {c.value: c.text for c in field.choices}
    each = "".join(
        f"<span>{html.escape(person)} <b>{html.escape(words.get(a := answers.get(field.name, '-'), str(a)))}</b></span>"
        for person, answers in sorted(answers_by_person.items())
    )
    return f'<div class="se-answers" data-answers="{html.escape(field.name)}">{each}</div>'


def _decide(context: PageContext, name: str, task: RatingTask, d: ItemDisagreement, before: Mapping[str, Any]) -> bool:
    """The lead's form; whether a decision was sent and is saved. What cannot be saved stays in the form."""
    keys = {f.name: f"decide/{name}/{d.item}/{f.name}" for f in task.form.fields}
    save = f"decide/{name}/{d.item}"
    field_names = {f.name for f in task.form.asked_fields()}
    values: dict[str, Any] = {}
    with st.form(f"decide-{name}-{d.item}", border=False):
        for f in task.form.fields:
            values[f.name] = widgets.show_field(
                f, key=keys[f.name], value=before.get(f.name), language=context.language
            )
            if f.name in field_names:
                st.html(_answers_html(f, d.said))
        messages = st.container()
        saved = st.form_submit_button(
            "Save decision", type="primary", shortcut="Ctrl+Enter", width="stretch", key=save
        )  # fmt: skip
    keyboard_shortcuts(task.form, keys, save, faults=saved)
    show_keys(context, task.form)
    if not saved:
        return False
    answers = {k: v for k, v in values.items() if v not in (None, "", [])}
    faults = task.faults(context.db.item(name, d.item).item, answers)
    widgets.show_faults(messages, [widgets.readable_fault(task.form, fault) for fault in faults])
    if faults:
        return False
    try:
        context.db.adjudicate(name, d.item, context.person.name, task.form.clean(answers))
    except StoreError as error:
        messages.error(readable_error(error))
        return False
    return True


def show_items(context: PageContext) -> None:
    """An item of a campaign: what is shown, what everybody said, and where it comes from."""
    opened = widgets.campaign_page(context, "Items")
    if opened is None:
        return
    name, task = opened
    items = context.db.items(name)
    wanted = st.text_input("Search the texts and ids").casefold()
    matches = [
        i for i, p in items.items() if not wanted or any(wanted in t.casefold() for t in (*p.item.shown.values(), i))
    ]
    st.caption(f"{len(matches)} of {counted(len(items), 'item')}")
    if not matches:
        return
    item = matches[int(st.number_input(f"Item (1 to {len(matches)})", 1, len(matches), 1)) - 1]
    placed = items[item]
    left, right = st.columns(2, gap="medium")
    with left:
        widgets.show_texts(task.form, placed.item.shown)
    with right:
        widgets.show_text("About this item", _describe_item(item, placed))
    rows = [
        {
            "rater": r.person,
            "answers": "withdrawn" if r.answers is None else widgets.answers_in_words(task.form, r.answers),
            "saved (UTC)": r.saved_at[:19].replace("T", " "),
        }
        for r in context.db.history(name, item=item)
    ]
    _table("Answers", rows, "Nobody has answered yet.")
    _from_store(context, item)


def _describe_item(item: str, placed: CampaignItem) -> str:
    lines = [f"id: {item}", f"purpose: {placed.purpose}", f"case: {placed.item.case}"]
    lines += [f"stratum: {placed.item.stratum}"] if placed.item.stratum else []
    lines += [] if placed.probability is None else [f"inclusion probability: {placed.probability:.3g}"]
    return "\n".join(lines)


def _table(title: str, rows: list[dict[str, Any]], empty: str) -> None:
    st.write(f"**{title}**")
    if rows:
        st.html(lead_table(list(rows[0]), [["" if v is None else str(v) for v in row.values()] for row in rows]))
    else:
        st.caption(empty)


def _from_store(context: PageContext, item: str) -> None:
    """Verdicts and lineage from the lead's snapshot of the store, or a line that says why there are none."""
    from curation.store.store import Store

    if context.store is None:
        st.info("To see verdicts and lineage here, start the app with --store SNAPSHOT.")
        return
    try:
        with Store.open(context.store) as store:
            verdicts = [
                {"by": v.by, "label": v.label, "value": v.value, "reason": v.reason} for v in store.verdicts([item])
            ]
            lineage = [
                {"stage": x.stage, "made (UTC)": x.made_at[:19], "model": x.model, "prompt": x.prompt}
                for x in store.lineage(item)
            ]
    except UserError as error:
        st.warning(widgets.escape_markdown(str(error)))
        return
    _table("Verdicts", verdicts, "None in this snapshot.")
    _table("Lineage", lineage, "None in this snapshot.")
