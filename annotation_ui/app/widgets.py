"""Pieces that several pages share: the page's context, text shown as text, an item, fields, the session's cookie."""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from annotation_ui.campaigns.campaign import task_of
from annotation_ui.interface.texts import ENGLISH, interface_text, languages
from annotation_ui.ratings import raters
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.raters import RaterAccount, keep_preference
from annotation_ui.tasks.base import RatingTask
from annotation_ui.tasks.forms import COMMENT, Field, Form, read_spans
from schemas.core.errors import StoreError
from schemas.facts import Object
from schemas.text.mentions import find


def cookie_name(ratings: Path) -> str:
    """The name of the session's cookie: one a ratings file, since cookies know a machine and not its ports."""
    return f"scedit_{hashlib.sha256(str(ratings.absolute()).encode()).hexdigest()[:12]}"


class PageContext(NamedTuple):
    """One person's context.

    Attributes:
        db: The ratings file.
        person: Who looks, as the server found out.
        token: Their session.
        store: A snapshot of the store, never the store itself, which one process may hold; None where none is given.
        language: Of the words around the forms.
    """

    db: RatingsDB
    person: RaterAccount
    token: str
    store: Path | None
    language: str = ENGLISH

    def say(self, key: str, **values: object) -> str:
        """A text of the interface in the person's language."""
        return interface_text(self.language, key, **values)


_ARROW = " → "
_SHORT = 24  # characters of a text that shares its line with others


def edited_objects(shown: Mapping[str, str]) -> dict[str, str]:
    """The objects that an item's texts name: fields of their own, or the end of its edit (``... is: Lima → Oslo``).

    Example:
        >>> edited_objects({"edit": "The capital of Peru is: Lima → Oslo"})
        {'old': 'Lima', 'new': 'Oslo'}
        >>> edited_objects({"script": "Step 1: Go"})
        {}
    """
    if shown.get("old") or shown.get("new"):
        return {kind: shown.get(kind, "") for kind in ("old", "new")}
    left, arrow, new = shown.get("edit", "").rpartition(_ARROW)
    return {"old": left.rpartition(": ")[2], "new": new} if arrow else {}


def marked_html(body: str, objects: Mapping[str, str]) -> str:
    """A text with its mentions of both objects marked, everything else escaped.

    Example:
        >>> marked_html("Fly <to> Lima", {"old": "Lima", "new": "Oslo"})
        'Fly &lt;to&gt; <mark class="se-old">Lima</mark>'
    """
    entities = {kind: Object(text=name) for kind, name in objects.items() if name.strip()}
    places = sorted(
        (m.start, -m.end, kind) for kind, e in entities.items() for m in find(body, e, beside=entities.values())
    )
    out, at = [], 0
    for start, minus_end, kind in places:
        if start < at:
            continue  # one name within the other
        word = html.escape(body[start:-minus_end])
        out += [html.escape(body[at:start]), f'<mark class="se-{kind}">{word}</mark>']
        at = -minus_end
    return "".join([*out, html.escape(body[at:])])


def item_html(form: Form, texts: Mapping[str, str], *, highlight: bool) -> str:
    """All texts of an item: rows of one line first, then scripts and other long texts; each in the form's order."""
    objects = edited_objects(texts)
    rows: list[str] = []
    blocks: list[str] = []
    for shown in form.shows:
        body = texts.get(shown.name)
        if not body:
            continue
        plain = not highlight or shown.name == "edit"
        text = html.escape(body) if plain else marked_html(body, objects)
        block = shown.style == "script" or "\n" in body
        kind = "se-block" if block else "se-row se-short" if len(body) <= _SHORT else "se-row"
        (blocks if block else rows).append(
            f'<div class="{kind}"><span class="se-title">{html.escape(shown.title)}</span> '
            f'<span class="se-text" dir="auto" data-text="{shown.name}">{text}</span></div>'
        )
    pair = {"first", "second"} <= {s.name for s in form.shows}  # two scripts to compare stand side by side
    body = f'<div class="se-pair">{"".join(blocks)}</div>' if pair else "".join(blocks)
    return f'<div class="se-item" tabindex="0">{"".join(rows)}{body}</div>'


_SET_COOKIE = """
export default function (component) {
  const {token} = component.data;
  try {
    const drafts = token ? [] : Object.keys(sessionStorage).filter((k) => k.startsWith("scedit/"));
    for (const draft of drafts) sessionStorage.removeItem(draft);
  } catch (error) { /* a browser that keeps nothing */ }
  fetch("/scedit/session", {
    method: token ? "POST" : "DELETE", credentials: "same-origin",
    headers: {"x-scedit": "1", "content-type": "application/json"},
    body: token ? JSON.stringify({token, secure: location.protocol === "https:"}) : undefined,
  }).catch(() => {});
}
"""

_CLOSE_SIDE_BAR = """
export default function () {  // on a phone the side bar lies over the page: what was chosen in it is to be seen
  if (window.__sceditSide) return;
  window.__sceditSide = true;
  document.addEventListener("click", (event) => {
    const menu = '[data-testid="stSidebarNavLink"], [class*="st-key-open-"] button';
    const chosen = event.target.closest && event.target.closest(menu);
    const close = document.querySelector('[data-testid="stSidebarCollapseButton"] button');
    if (chosen && close && innerWidth <= 640) setTimeout(() => close.click(), 50);
  }, true);
}
"""
_MARKS = re.compile(
    r"[\\`*_\[\]$<~|&]"  # inline marks, wherever they stand
    r"|[:.](?=\S)|(?<=\w)@(?=\w)"  # :emoji:, :red[...], addresses that would become links
)
_LINE_MARKS = re.compile(r"^([ \t]*\d*)([#>+=.)-])", re.MULTILINE)  # headings, quotes, lists


def apply_style() -> None:
    """The rules of all pages; colours come from the theme."""
    st.html(f"<style>{Path(__file__).with_name('assets').joinpath('style.css').read_text(encoding='utf-8')}</style>")


def set_session_cookie(token: str) -> None:
    """Have the server put a session into the browser's cookie (an empty one: take it out), for after a reload.

    The cookie is the server's own (HttpOnly): no script of a page can read it.
    """
    run = st.components.v2.component("scedit_cookie", js=_SET_COOKIE)
    run(data={"token": token}, key="cookie-in" if token else "cookie-out")


def show_text(title: str, body: str) -> None:
    """A titled text, shown as text whatever is in it: no mark-up is read."""
    st.html(
        f'<div class="se-card"><div class="se-title">{html.escape(title)}</div>'
        f'<div class="se-text" dir="auto">{html.escape(body)}</div></div>'
    )


def show_texts(form: Form, texts: Mapping[str, str], *, highlight: bool = True, more: str = "") -> None:
    """The texts of an item in the form's order, both objects highlighted where they are named.

    ``more`` is shown below them while a part of them is out of view.
    """
    st.html(item_html(form, texts, highlight=highlight) + f'<div class="se-more">{html.escape(more)}</div>')


def show_guideline(form: Form) -> None:
    """What is asked, what the answers mean, and the reasons that there are."""
    for f in form.asked_fields():
        ends = f"\n{f.low} = {f.low_text}\n{f.high} = {f.high_text}" if f.low_text else ""
        show_text(f.asks, (f.hint + ends).strip())
    for f in form.fields:
        if f.kind == "many":
            show_text(f.asks, "\n".join(c.text for c in f.choices))


def escape_markdown(body: str) -> str:
    r"""A text as Streamlit's labels show it literally: what would be read as mark-up is escaped, and nothing else.

    Screen readers read a label as it is written, so plain words keep their colons, brackets and full stops.

    Example:
        >>> escape_markdown("Comment (optional): why?"), escape_markdown("*a* :red[b]")
        ('Comment (optional): why?', '\\*a\\* \\:red\\[b\\]')
    """
    return _LINE_MARKS.sub(r"\1\\\2", _MARKS.sub(r"\\\g<0>", body))


def show_field(f: Field, *, key: str, value: Any, language: str = ENGLISH) -> Any:
    """One field of a form, as it was answered before or open; returns the answer or None."""
    label = escape_markdown(f.asks)
    if f.kind in ("yes_no", "scale", "one"):
        options, shown = list(f.allowed), {o.value: escape_markdown(o.text) for o in f.choices}
        at = None if f.fault(value) else options.index(value)
        beside = f.hint and f.kind == "yes_no"  # two short choices need no line of their own
        words_at, choices_at = st.columns([5, 3], gap="small", vertical_alignment="center") if beside else (st, st)
        hint = f'<div class="se-hint">{html.escape(f.hint)}</div>' if f.hint else ""
        words_at.html(f'<div class="se-asks">{html.escape(f.asks)}</div>{hint}')  # read before the choices
        chosen = choices_at.radio(
            label,
            options,
            index=at,
            horizontal=True,
            key=key,
            label_visibility="collapsed",
            format_func=lambda v: shown.get(v, str(v)),
        )
        if f.kind == "scale" and f.low_text:
            low, high = html.escape(f"{f.low} = {f.low_text}"), html.escape(f"{f.high} = {f.high_text}")
            st.html(f'<div class="se-ends"><span>{low}</span> <span>{high}</span></div>')
        return chosen
    if f.kind == "many":
        known = {c.value: escape_markdown(c.text) for c in f.choices}
        when = (
            "" if f.asks.endswith(")") else f" {interface_text(language, 'if_no')}"
        )  # it says itself when it is asked
        chosen = st.pills(  # all in sight: a list that opens loses clicks on a busy machine
            f"{label}{when}",
            list(known),
            selection_mode="multi",
            default=[v for v in value if v in known] if isinstance(value, list) else [],
            format_func=known.__getitem__,
            key=key,
        )
        return list(chosen or [])
    if f.kind == "spans":  # filled in by the page; see annotation_ui.app.browser_parts
        initial = "" if f.fault(value) or not value else json.dumps(value, ensure_ascii=False)
        with st.container(key="marked-words"):
            return read_spans(st.text_area(label, value=initial, key=key) or "")
    asks = interface_text(language, "comment") if f == COMMENT else f.asks
    return st.text_area(escape_markdown(asks), value=value if isinstance(value, str) else "", key=key, height=68)


def readable_fault(form: Form, fault: str, language: str = ENGLISH) -> str:
    """A fault of the form as people read it: what to do, with the question in place of the field's name."""

    def say(key: str, **values: str) -> str:
        return interface_text(language, key, **{k: escape_markdown(v) for k, v in values.items()})

    for f in form.fields:
        name = f"'{f.name}'"
        if fault == f"{name} has no answer":
            return say("please_answer", question=f.asks)
        if fault.startswith(f"{name} is no without a comment"):
            return say("please_comment", question=f.asks)
        if fault.startswith(f"{name} is no without a reason") and form.reasons:
            return say("please_reason", question=f.asks, reasons=form.field(form.reasons).asks)
        for choice in f.choices:
            if fault.startswith(f"{name} is {choice.value} without a reason") and form.reasons:
                return say("please_reason_for", choice=choice.text, reasons=form.field(form.reasons).asks)
            if fault == f"the reason '{choice.value}' needs a comment":
                return say("please_explain", choice=choice.text)
        fault = fault.replace(name, f"“{escape_markdown(f.asks)}”")
    return fault


def show_faults(place: DeltaGenerator, faults: Sequence[str], language: str = ENGLISH) -> None:
    """The first fault, and how many more there are: so a phone shows the message whole."""
    if faults:
        more = [interface_text(language, "more_faults", count=len(faults) - 1)] if len(faults) > 1 else []
        place.error("  \n".join([faults[0], *more]))


def campaign_page(context: PageContext, title: str, *, compact: bool = False) -> tuple[str, RatingTask] | None:
    """The opening of a lead's page: its title and the campaign; None, with a line that says so, where there is none.

    The campaign chosen on one page is the first on the next. A compact opening leaves the screen to what follows: no
    title, and a choice only where there is one.
    """
    if not compact:
        st.title(title)
    names = [c.name for c in context.db.campaigns()]
    if not names:
        st.info("There is no campaign yet. Create one with: scedit annotate new")
        return None
    before = st.session_state.get("lead-campaign")
    at = names.index(before) if before in names else 0
    if compact and len(names) == 1:
        name = names[0]
    else:
        with st.container(key="campaign-choice-compact" if compact else "campaign-choice"):
            name = st.selectbox("Campaign", names, index=at, label_visibility="collapsed" if compact else "visible")
    st.session_state["lead-campaign"] = name
    return name, task_of(context.db, name)


def account_box(context: PageContext) -> None:
    """The person's name, the language and the way out."""
    st.components.v2.component("scedit_side", js=_CLOSE_SIDE_BAR)(key="side")
    role = context.say(f"role_{context.person.role}")
    line = context.say("logged_in", name=escape_markdown(context.person.name), role=role)
    st.caption(f"{line}. {context.say('synthetic')}" if context.person.synthetic else line)

    def speak(code: str) -> None:
        st.session_state["language"] = code
        with suppress(StoreError), RatingsDB(context.db.path) as db:  # of this visit only, then
            keep_preference(db, context.person.name, "language", code)

    for code, name in languages().items():
        if code != context.language and context.person.role != "lead":  # the lead's pages are English
            st.button(name, key=f"language-{code}", on_click=speak, args=(code,))
    if st.button(context.say("log_out"), key="log-out"):
        raters.log_out(context.db, context.token)
        st.session_state.clear()
        st.session_state["logged-out"] = True
        st.rerun()


def answers_in_words(form: Form, answers: Mapping[str, Any]) -> str:
    """Answers as raters saw them: each question with the words that were chosen; of marked words their label.

    Example:
        >>> from annotation_ui.campaigns.campaign import make_task
        >>> answers_in_words(make_task("quality").form, {"comment": "no verb"})
        'Comment (optional): no verb'
    """

    def as_text(field: Field, value: Any) -> str:
        words = {o.value: o.text for o in field.choices}
        if isinstance(value, Mapping):
            return f"{words.get(str(value.get('label')), '')} “{value.get('words')}”"
        return " + ".join(as_text(field, v) for v in value) if isinstance(value, list) else words.get(value, str(value))

    given = [(f, answers[f.name]) for f in form.fields if f.name in answers]
    return " · ".join(f"{f.asks}{' ' if f.asks.endswith('?') else ': '}{as_text(f, value)}" for f, value in given)
