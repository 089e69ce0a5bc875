"""Drafts as one types: every change of a form goes to the server at once, without a run of the page."""

from __future__ import annotations

from typing import Any

import streamlit as st

from annotation_ui.tasks.forms import Field, Form

_DRAFT = """
export default function (component) {
  const {data, parentElement} = component;
  const boxOf = (field) => document.querySelector("." + field.place);
  const valueOf = (field, box) => {
    if (field.kind === "text") { const area = box.querySelector("textarea"); return area ? area.value : ""; }
    if (field.kind === "many") {
      const words = [...box.querySelectorAll('button[aria-pressed="true"]')].map((e) => e.innerText.trim());
      return words.map((word) => field.values[word]).filter((value) => value !== undefined);
    }
    const label = box.querySelector("input:checked") ? box.querySelector("label:has(input:checked)") : null;
    return label ? field.values[label.innerText.trim()] : undefined;
  };
  const say = (text) => {
    let line = parentElement.querySelector("div");
    if (!line) {
      line = document.createElement("div");
      line.setAttribute("role", "status");
      line.style.cssText = "font-size:.8rem;opacity:.85";
      parentElement.appendChild(line);
    }
    line.textContent = text;
  };
  const send = async () => {
    const answers = {};
    for (const field of data.fields) {
      const box = boxOf(field);
      if (!box) return;  // another item is shown by now
      const value = valueOf(field, box);
      if (value !== undefined) answers[field.name] = value;
    }
    const {campaign, item, person} = data;
    const body = JSON.stringify({campaign, item, person, answers, secure: location.protocol === "https:"});
    if (body === window.__sceditSent) return;
    window.__sceditSent = body;
    try {
      const reply = await fetch("/scedit/draft", {
        method: "POST", credentials: "same-origin", keepalive: true,
        headers: {"x-scedit": "1", "content-type": "application/json"}, body,
      });
      if (!reply.ok) window.__sceditSent = null;
      say(reply.ok ? "Draft kept." : "The draft is not kept: " + await reply.text());
    } catch (error) {
      window.__sceditSent = null;
      say("The draft is not kept: the server does not answer.");
    }
  };
  let timer = 0;
  const soon = () => { clearTimeout(timer); timer = setTimeout(send, 250); };
  if (window.__sceditDraft) window.__sceditDraft.abort();
  window.__sceditDraft = new AbortController();
  const options = {capture: true, signal: window.__sceditDraft.signal};
  for (const kind of ["input", "change", "click", "keyup"]) document.addEventListener(kind, soon, options);
  window.addEventListener("pagehide", send, options);
}
"""


def keep_drafts(form: Form, keys: dict[str, str], *, campaign: str, item: str, person: str) -> None:
    """Send what is typed into a form to the server as it is typed (see ``annotation_ui.app.server``).

    Args:
        form: The form that is shown.
        keys: Keys of its widgets by field.
        campaign: Where it belongs, with ``item`` and ``person``.
        item: Content id.
        person: Pseudonym.
    """
    fields = [
        {"name": f.name, "kind": f.kind, "place": class_of(keys[f.name]), "values": _values(f)} for f in form.fields
    ]
    st.components.v2.component("scedit_draft", js=_DRAFT)(
        data={"fields": fields, "campaign": campaign, "item": item, "person": person}, key="draft"
    )


def class_of(key: str) -> str:
    """The class that Streamlit gives the element of a key.

    Example:
        >>> class_of("pilot/3f/comment")
        'st-key-pilot-3f-comment'
    """
    return "st-key-" + "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "-" for c in key.strip())


def _values(field: Field) -> dict[str, Any]:
    """Values by what stands on the screen."""
    if field.kind == "many":
        return {c.text: c.value for c in field.choices}
    return {str(v): v for v in field.allowed}
