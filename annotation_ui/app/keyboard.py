"""The keys of a form: digits, y and n answer, letters choose reasons, Ctrl+Enter saves, wherever the focus is."""

from __future__ import annotations

import streamlit as st

_KEYS = """
export default function () {
  const groups = () => [...document.querySelectorAll('[role="radiogroup"]')];
  const groupOf = (e) => (e.closest ? e.closest('[role="radiogroup"]') : null);
  const typing = (e) => e.isContentEditable || e.tagName === "TEXTAREA" ||
    (e.tagName === "INPUT" && e.type !== "radio" && e.type !== "checkbox");
  const leaveField = () => { if (document.activeElement) document.activeElement.blur(); };
  let last = null;  // the question that was answered or entered last: another digit corrects it
  let fresh = new Map();  // answered by a key just now: the page may not show it yet when the next key comes
  const open = (g) => !g.querySelector("input:checked") && !(Date.now() - fresh.get(g) < 500);

  const save = (event) => {
    const button = document.querySelector('[data-testid="stBaseButton-primaryFormSubmit"]');
    if (!button) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    fresh = new Map();
    leaveField();  // so that what was typed is sent along
    setTimeout(() => button.click(), 60);
  };
  const choose = (key) => {  // the reasons of a form: a is the first, b the second
    const reasons = document.querySelectorAll('[data-testid="stForm"] [data-testid="stButtonGroup"] button');
    const reason = /^[a-m]$/.test(key) && reasons[key.charCodeAt(0) - 97];
    if (reason) reason.click();
    return Boolean(reason);
  };
  const answer = (event) => {
    const key = event.key.toLowerCase();
    if (choose(key)) return event.preventDefault();
    if (!/^[1-9yn]$/.test(key)) return;
    const word = {y: "yes", n: "no"}[key] || key;
    const all = groups();
    const group = all.find(open) || (all.includes(last) ? last : all[0]);
    if (!group) return;
    for (const input of group.querySelectorAll('input[type="radio"]')) {
      const label = input.closest("label");
      if (label && label.innerText.trim() === word) {
        fresh.set(group, Date.now());
        last = group;
        input.click();
        event.preventDefault();
        break;
      }
    }
  };
  const onKey = (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") return save(event);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!typing(event.target)) answer(event);
  };
  const onTouch = (event) => { last = groupOf(event.target) || last; };
  const onClick = (event) => {  // a stepped number keeps no focus: the next key answers
    if (event.target.closest && event.target.closest('[data-testid^="stNumberInputStep"]')) setTimeout(leaveField, 60);
  };
  if (window.__sceditKeys) window.__sceditKeys.abort();
  window.__sceditKeys = new AbortController();
  const options = {capture: true, signal: window.__sceditKeys.signal};
  window.addEventListener("keydown", onKey, options);
  window.addEventListener("change", onTouch, options);
  window.addEventListener("focusin", onTouch, options);
  window.addEventListener("click", onClick, options);
}
"""


def keyboard_shortcuts() -> None:
    """Digits, y and n answer the first open question or correct the last, letters choose reasons, Ctrl+Enter saves."""
    st.components.v2.component("scedit_keys", js=_KEYS)(key="keys")
