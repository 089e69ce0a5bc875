"""Pieces that several pages share: text shown as text, fields, the session's cookie, keys."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from typing import Any

import streamlit as st

from annotation_ui.app.page_context import COOKIE, PageContext
from annotation_ui.ratings import raters
from annotation_ui.tasks.forms import Field, Form

_CSS = """
<style>
.se-card {border: 1px solid rgba(128,128,128,.45); border-radius: .5rem; padding: .45rem .75rem; margin-bottom: .5rem;}
.se-title {font-size: .8rem; opacity: .8; margin-bottom: .1rem;}
.se-text {white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext; line-height: 1.5;}
.se-script {font-size: 1.02rem;}
.se-ends {font-size: .8rem; opacity: .85; margin-top: -.6rem;}
.block-container {padding-top: 3.2rem; padding-bottom: 2rem;}
[data-testid="stRadio"] [role="radiogroup"] {gap: .35rem .9rem;}
@media (max-width: 640px) {.block-container {padding-top: 4.2rem; padding-left: .8rem; padding-right: .8rem;}}
</style>
"""

_SET_COOKIE = """
export default function (component) {
  const {name, value, seconds} = component.data;
  const safe = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `${name}=${value}; path=/; max-age=${seconds}; SameSite=Strict${safe}`;
}
"""

_KEYS = """
export default function () {
  const typing = (e) => ["TEXTAREA", "INPUT"].includes(e.tagName) && e.type !== "radio" && e.type !== "checkbox";
  const onKey = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    const key = event.key.toLowerCase();
    if (!/^[1-9yn]$/.test(key)) return;
    const word = {y: "yes", n: "no"}[key] || key;
    const groups = [...document.querySelectorAll('[role="radiogroup"]')];
    const own = event.target.closest ? event.target.closest('[role="radiogroup"]') : null;
    const open = groups.find((g) => !g.querySelector("input:checked"));
    const group = open || own;
    if (!group) return;
    for (const input of group.querySelectorAll('input[type="radio"]')) {
      const label = input.closest("label");
      if (label && label.innerText.trim() === word) { input.click(); event.preventDefault(); break; }
    }
  };
  if (window.__sceditKeys) document.removeEventListener("keydown", window.__sceditKeys);
  window.__sceditKeys = onKey;
  document.addEventListener("keydown", onKey);
}
"""


_MARKS = frozenset("\\`*_{}[]()#+-.!|~$:<>")


def apply_style() -> None:
    """The few rules that all pages share; colours come from the theme, light or dark."""
    st.html(_CSS)


def set_session_cookie(token: str, *, seconds: int) -> None:
    """Put a session into the browser's cookie (0 seconds: take it out), so that a reload does not ask again."""
    run = st.components.v2.component("scedit_cookie", js=_SET_COOKIE)
    run(data={"name": COOKIE, "value": token, "seconds": seconds}, key=f"cookie-{seconds}")


def keyboard_shortcuts() -> None:
    """Digits, y and n answer the first open question of the form."""
    st.components.v2.component("scedit_keys", js=_KEYS)(key="keys")


def show_text(title: str, body: str, *, script: bool = False) -> None:
    """A titled text, shown as text whatever is in it: no mark-up is read."""
    kind = "se-text se-script" if script else "se-text"
    st.html(
        f'<div class="se-card"><div class="se-title">{html.escape(title)}</div>'
        f'<div class="{kind}" dir="auto">{html.escape(body)}</div></div>'
    )


def show_texts(form: Form, texts: Mapping[str, str]) -> None:
    """The texts of an item in the form's order."""
    for s in form.shows:
        if texts.get(s.name):
            show_text(s.title, texts[s.name], script=s.style == "script")


def escape_markdown(body: str) -> str:
    """A text as Streamlit's labels show it literally: its mark-up is escaped."""
    return "".join(f"\\{c}" if c in _MARKS else c for c in body)


def show_field(f: Field, *, key: str, value: Any) -> Any:
    """One field of a form, as it was answered before or open; returns the answer or None."""
    label = escape_markdown(f.asks) + ("" if f.required or f.kind == "text" else " (when you said no)")
    if f.kind in ("yes_no", "scale"):
        options = list(f.allowed)
        at = options.index(value) if value in options else None
        chosen = st.radio(label, options, index=at, horizontal=True, key=key, help=escape_markdown(f.hint) or None)
        if f.kind == "scale" and f.low_text:
            ends = f"{f.low} = {f.low_text} · {f.high} = {f.high_text}"
            st.html(f'<div class="se-ends">{html.escape(ends)}</div>')
        return chosen
    if f.kind == "many":
        known = {c.value: c.text for c in f.choices}
        return st.multiselect(label, list(known), default=value or [], format_func=known.__getitem__, key=key)
    return st.text_area(label, value=value or "", key=key, height=68)


def account_box(context: PageContext) -> None:
    """The person's name and the way out."""
    tag = " (a program: answers are labelled synthetic)" if context.person.synthetic else ""
    st.caption(f"You are {escape_markdown(context.person.name)}, {context.person.role}{tag}")
    if st.button("Leave", key="leave"):
        raters.log_out(context.db, context.token)
        st.session_state.clear()
        st.session_state["left"] = True
        st.rerun()


def answers_line(answers: Mapping[str, Any]) -> str:
    """Answers on one line."""
    return ", ".join(f"{k} {v if not isinstance(v, list) else ' + '.join(v)}" for k, v in answers.items())


def as_json(value: Any) -> str:
    """A value as readable JSON."""
    return json.dumps(value, ensure_ascii=False, indent=1, default=str)
