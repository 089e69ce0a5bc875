"""Pieces that several pages share: the opening, text shown as text, fields, the session's cookie."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from annotation_ui.app.page_context import PageContext
from annotation_ui.campaigns.campaign import task_of
from annotation_ui.ratings import raters
from annotation_ui.tasks.base import RatingTask
from annotation_ui.tasks.forms import Field, Form

if TYPE_CHECKING:
    from curation.store.store import Store

_T = TypeVar("_T")

_CSS = """
<style>
.se-cards {display: flex; flex-wrap: wrap; gap: .5rem;}
.se-card {flex: 1 1 100%; border: 1px solid rgba(128,128,128,.45); border-radius: .5rem; padding: .35rem .75rem;}
.se-short {flex: 1 1 40%;}
.se-title {font-size: .8rem; opacity: .8; margin-bottom: .1rem;}
.se-text {white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext; line-height: 1.5;}
.se-script {font-size: 1.02rem;}
.se-ends {font-size: .8rem; opacity: .85; margin-top: -.6rem;}
[data-testid="stForm"] [role="toolbar"] {counter-reset: reason;}
[data-testid="stForm"] [role="toolbar"] button {counter-increment: reason; white-space: normal; text-align: start;}
[data-testid="stForm"] [role="toolbar"] button::before {content: counter(reason, lower-alpha); opacity: .7;
  margin-inline-end: .4rem; font-size: .8rem;}
.block-container {padding-top: 3.2rem; padding-bottom: 2rem;}
[data-testid="stRadio"] [role="radiogroup"] {gap: .35rem .9rem;}
@media (max-width: 640px) {.block-container {padding-top: 4.2rem; padding-left: .8rem; padding-right: .8rem;}}
</style>
"""

_SET_COOKIE = """
export default function (component) {
  const {token} = component.data;
  fetch("/scedit/session", {
    method: token ? "POST" : "DELETE", credentials: "same-origin",
    headers: {"x-scedit": "1", "content-type": "application/json"},
    body: token ? JSON.stringify({token, secure: location.protocol === "https:"}) : undefined,
  }).catch(() => {});
}
"""

_SHORT = 24  # characters that fit half the width of a column
_MARKS = re.compile(
    r"[\\`*_\[\]$<~|&]"  # inline marks, wherever they stand
    r"|[:.](?=\S)|(?<=\w)@(?=\w)"  # :emoji:, :red[...], addresses that would become links
)
_LINE_MARKS = re.compile(r"^([ \t]*\d*)([#>+=.)-])", re.MULTILINE)  # headings, quotes, lists


def apply_style() -> None:
    """The few rules that all pages share; colours come from the theme, light or dark."""
    st.html(_CSS)


def set_session_cookie(token: str) -> None:
    """Have the server put a session into the browser's cookie (an empty one: take it out), for after a reload.

    The cookie is the server's own (HttpOnly): no script of a page can read it.
    """
    run = st.components.v2.component("scedit_cookie", js=_SET_COOKIE)
    run(data={"token": token}, key="cookie-in" if token else "cookie-out")


def show_text(title: str, body: str) -> None:
    """A titled text, shown as text whatever is in it: no mark-up is read."""
    st.html(_card(title, body))


def show_texts(form: Form, texts: Mapping[str, str]) -> None:
    """The texts of an item in the form's order; short ones stand side by side."""
    cards = [_card(s.title, texts[s.name], script=s.style == "script") for s in form.shows if texts.get(s.name)]
    st.html(f'<div class="se-cards">{"".join(cards)}</div>')


def _card(title: str, body: str, *, script: bool = False) -> str:
    short = "" if script or len(body) > _SHORT or "\n" in body else " se-short"
    kind = "se-text se-script" if script else "se-text"
    return (
        f'<div class="se-card{short}"><div class="se-title">{html.escape(title)}</div>'
        f'<div class="{kind}" dir="auto">{html.escape(body)}</div></div>'
    )


def escape_markdown(body: str) -> str:
    r"""A text as Streamlit's labels show it literally: what would be read as mark-up is escaped, and nothing else.

    Screen readers read a label as it is written, so plain words keep their colons, brackets and full stops.

    Example:
        >>> escape_markdown("Comment (optional): why?"), escape_markdown("*a* :red[b]")
        ('Comment (optional): why?', '\\*a\\* \\:red\\[b\\]')
    """
    return _LINE_MARKS.sub(r"\1\\\2", _MARKS.sub(r"\\\g<0>", body))


def show_field(f: Field, *, key: str, value: Any) -> Any:
    """One field of a form, as it was answered before or open; returns the answer or None."""
    label = escape_markdown(f.asks) + ("" if f.required or f.kind == "text" else " (if you answered no)")
    if f.kind in ("yes_no", "scale"):
        options = list(f.allowed)
        at = None if f.fault(value) else options.index(value)
        chosen = st.radio(label, options, index=at, horizontal=True, key=key, help=escape_markdown(f.hint) or None)
        if f.kind == "scale" and f.low_text:
            ends = f"{f.low} = {f.low_text} · {f.high} = {f.high_text}"
            st.html(f'<div class="se-ends">{html.escape(ends)}</div>')
        return chosen
    if f.kind == "many":
        known = {c.value: escape_markdown(c.text) for c in f.choices}
        chosen = st.pills(  # all in sight: a list that opens loses clicks on a busy machine
            label,
            list(known),
            selection_mode="multi",
            default=[v for v in value if v in known] if isinstance(value, list) else [],
            format_func=known.__getitem__,
            key=key,
        )
        return list(chosen or [])
    return st.text_area(label, value=value if isinstance(value, str) else "", key=key, height=68)


def readable_fault(form: Form, fault: str) -> str:
    """A fault of the form as people read it: what to do, with the question in place of the field's name."""
    for f in form.fields:
        name, asks = f"'{f.name}'", f"“{escape_markdown(f.asks)}”"
        if fault == f"{name} has no answer":
            return f"Please answer: {escape_markdown(f.asks)}"
        if fault.startswith(f"{name} is no without a comment"):
            return f"You answered no to {asks}. Please say why in the comment."
        if fault.startswith(f"{name} is no without a reason") and form.reasons:
            reasons = escape_markdown(form.field(form.reasons).asks)
            return f"You answered no to {asks}. Please choose a reason under “{reasons}”"
        for choice in f.choices:
            if fault == f"the reason '{choice.value}' needs a comment":
                return f"You chose “{escape_markdown(choice.text)}”. Please explain it in the comment."
        fault = fault.replace(name, asks)
    return fault


def show_faults(place: DeltaGenerator, form: Form, faults: Sequence[str]) -> None:
    """All faults of the answers in one box, a line each."""
    if faults:
        place.error("  \n".join(readable_fault(form, fault) for fault in faults))


def campaign_page(context: PageContext, title: str) -> tuple[str, RatingTask] | None:
    """The opening of a lead's page: its title and the campaign; None, with a line that says so, where there is none.

    The campaign chosen on one page is the first on the next.
    """
    st.title(title)
    names = [c.name for c in context.db.campaigns()]
    if not names:
        st.info("There is no campaign yet. Create one with: scedit annotate new")
        return None
    before = st.session_state.get("lead-campaign")
    name = st.selectbox("Campaign", names, index=names.index(before) if before in names else 0)
    st.session_state["lead-campaign"] = name
    return name, task_of(context.db, name)


def from_snapshot(context: PageContext, read: Callable[[Store], _T], *, without: str = "") -> _T | None:
    """What is read from the lead's snapshot of the store; None, with a line that says why, where it cannot be read.

    Args:
        context: With the snapshot's place, or None.
        read: What to read.
        without: The line to show where no snapshot was given.
    """
    from curation.store.store import Store
    from schemas.core.errors import UserError

    if context.store is None:
        if without:
            st.info(without)
        return None
    try:
        with Store.open(context.store) as store:
            return read(store)
    except UserError as error:
        st.warning(escape_markdown(str(error)))
        return None


def counted(number: int, thing: str, things: str = "") -> str:
    """A number with its noun.

    Example:
        >>> counted(1, "item"), counted(2, "item")
        ('1 item', '2 items')
    """
    return f"{number} {thing if number == 1 else things or thing + 's'}"


def account_box(context: PageContext) -> None:
    """The person's name and the way out."""
    tag = ". This is a program: its answers are labelled synthetic." if context.person.synthetic else ""
    st.caption(f"Logged in as {escape_markdown(context.person.name)} ({context.person.role}){tag}")
    if st.button("Log out", key="log-out"):
        raters.log_out(context.db, context.token)
        st.session_state.clear()
        st.session_state["logged-out"] = True
        st.rerun()


def answers_line(answers: Mapping[str, Any]) -> str:
    """Answers on one line."""
    return ", ".join(f"{k} {' + '.join(map(str, v)) if isinstance(v, list) else v}" for k, v in answers.items())


def as_json(value: Any) -> str:
    """A value as readable JSON."""
    return json.dumps(value, ensure_ascii=False, indent=1, default=str)
