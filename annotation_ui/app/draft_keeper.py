"""Drafts as one types: every change of a form goes to the server at once, without a run of the page."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from annotation_ui.app.keyboard import class_of
from annotation_ui.interface.texts import ENGLISH, interface_text
from annotation_ui.tasks.forms import Field, Form

_DRAFT = """
export default function (component) {
  const {parentElement} = component;
  const data = JSON.parse(component.data);
  const boxOf = (field) => document.querySelector("." + field.place);
  const valueOf = (field, box) => {
    if (field.kind === "text") { const area = box.querySelector("textarea"); return area ? area.value : ""; }
    if (field.kind === "spans") {
      const area = box.querySelector("textarea");
      try { return area ? JSON.parse(area.value || "[]") : undefined; } catch (error) { return undefined; }
    }
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
      say(reply.ok ? data.words.kept : data.words.lost + await reply.text());
    } catch (error) {
      window.__sceditSent = null;
      say(data.words.unreachable);
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


def keep_drafts(
    form: Form, keys: dict[str, str], *, campaign: str, item: str, person: str, language: str = ENGLISH
) -> None:
    """Send what is typed into a form to the server as it is typed (see ``annotation_ui.app.server``).

    Args:
        form: The form that is shown.
        keys: Keys of its widgets by field.
        campaign: Where it belongs, with ``item`` and ``person``.
        item: Content id.
        person: Pseudonym.
        language: Of what is said about the draft.
    """
    fields = [
        {"name": f.name, "kind": f.kind, "place": class_of(keys[f.name]), "values": _values(f)} for f in form.fields
    ]
    words = {k: interface_text(language, f"draft_{k}") for k in ("kept", "lost", "unreachable")}
    data = {"fields": fields, "campaign": campaign, "item": item, "person": person, "words": words}
    st.components.v2.component("scedit_draft", js=_DRAFT)(data=json.dumps(data), key="draft")


def _values(field: Field) -> dict[str, Any]:
    """Values by what stands on the screen."""
    if field.kind in ("one", "many"):
        return {c.text: c.value for c in field.choices}
    return {str(v): v for v in field.allowed}
