export default function (component) {
  const {fields, save: savePlace, auto, explains} = JSON.parse(component.data);  // as text: Streamlit looks for tables in a list with pandas
  const boxes = (...kinds) =>
    fields.filter((f) => kinds.includes(f.kind)).map((f) => document.querySelector("." + f.place)).filter(Boolean);
  const groups = () => boxes("yes_no", "scale", "one").map((b) => b.querySelector('[role="radiogroup"]')).filter(Boolean);
  const numbered = (g) => fields.some((f) => f.kind === "one" && g.closest("." + f.place));  // its choices have no digits
  const groupOf = (e) => (e.closest ? e.closest('[role="radiogroup"]') : null);
  const control = {yes_no: '[role="radiogroup"]', scale: '[role="radiogroup"]', one: '[role="radiogroup"]',
    many: "button", text: "textarea", spans: "textarea"};
  const whole = () => [...fields.map((f) => `.${f.place} ${control[f.kind]}`), `.${savePlace} button`]
    .every((selector) => document.querySelector(selector));
  const typing = (e) => e.isContentEditable || e.tagName === "TEXTAREA" || e.tagName === "SELECT" ||
    (e.tagName === "INPUT" && e.type !== "radio" && e.type !== "checkbox");
  const leaveField = () => { if (document.activeElement) document.activeElement.blur(); };
  let last = null;  // the question that was answered or entered last: another digit corrects it
  let fresh = new Map();  // answered by a key just now: the page may not show it yet when the next key comes
  let sent = 0;  // when the form was sent: until the next one is there, keys answer nothing
  const open = (g) => !g.querySelector("input:checked") && !(Date.now() - fresh.get(g) < 500);
  const mark = (value) => { document.documentElement.dataset.sceditForm = value; };

  const save = (event) => {
    const button = document.querySelector("." + savePlace + " button");
    if (!button) return;
    if (event) { event.preventDefault(); event.stopImmediatePropagation(); }
    if (Date.now() - sent < 10000) return;
    sent = Date.now();
    mark("");
    leaveField();  // so that what was typed is sent along
    setTimeout(() => button.click(), 60);
  };
  const choose = (key) => {  // the reasons of a form: a is the first, b the second
    const reasons = boxes("many").flatMap((box) => [...box.querySelectorAll("button")]);
    const reason = /^[a-l]$/.test(key) && reasons[key.charCodeAt(0) - 97];
    if (!reason || reason.offsetParent === null) return false;  // shown once a question is answered no
    reason.click();
    return true;
  };
  const answer = (event) => {
    const key = event.key.toLowerCase();
    if (choose(key)) return event.preventDefault();
    if (!/^[1-9yn]$/.test(key)) return;
    const word = {y: "yes", n: "no"}[key] || key;
    const all = groups();
    const group = all.find(open) || (all.includes(last) ? last : all[0]);
    if (!group) return;
    const wasOpen = open(group);
    for (const [n, input] of [...group.querySelectorAll('input[type="radio"]')].entries()) {
      const label = input.closest("label");
      const text = label ? label.innerText.trim() : "";
      if (text === word || (numbered(group) && String(n + 1) === word)) {
        fresh.set(group, Date.now());
        last = group;
        input.click();
        event.preventDefault();
        const refused = explains && (word === "no" || all.some((g) => g.querySelector('input[value="1"]:checked')));
        if (auto && wasOpen && !refused && !all.some(open)) setTimeout(save, 120);
        break;
      }
    }
  };
  const highlight = () => {
    const toggle = document.querySelector(".st-key-highlight input");
    if (toggle) toggle.click();
  };
  const onKey = (event) => {
    if (!event.isTrusted || event.defaultPrevented || !whole()) return;
    if (document.documentElement.dataset.sceditMarking && !event.ctrlKey && /^(Arrow|Home|End|Tab|Enter|Esc|Back|Del|m$)/i.test(event.key)) return;  // see marking.js
    const target = event.target.closest ? event.target : document.body;
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") return save(event);
    if (event.ctrlKey || event.metaKey || event.altKey || typing(target)) return;
    if (event.key === "Enter" && !event.repeat && !target.closest("button, a, summary, [role=dialog]")) return save(event);
    if (Date.now() - sent < 10000) return;
    if (event.key === "h" && !target.closest("[role=dialog]")) return highlight();
    answer(event);
  };
  const onTouch = (event) => { last = groupOf(event.target) || last; };
  const onClick = (event) => {  // a stepped number or a reason keeps no focus: the next key answers or saves
    const done = '[data-testid^="stNumberInputStep"], [data-testid="stButtonGroup"] button, [data-testid="stToggle"]';
    if (event.detail > 0 && event.target.closest && event.target.closest(done)) setTimeout(leaveField, 60);
  };
  if (window.__sceditKeys) window.__sceditKeys.abort();
  const listening = window.__sceditKeys = new AbortController();
  const options = {capture: true, signal: listening.signal};
  window.addEventListener("keydown", onKey, options);
  window.addEventListener("change", onTouch, options);
  window.addEventListener("focusin", onTouch, options);
  window.addEventListener("click", onClick, options);
  const begin = () => {  // once the form is on the screen: from the top, and listening
    if (listening.signal.aborted) return;
    if (!whole()) return setTimeout(begin, 30);
    if (window.__sceditShown !== savePlace) {
      window.__sceditShown = savePlace;
      for (const pane of document.querySelectorAll('[data-testid="stMain"], .se-item')) pane.scrollTop = 0;
      window.scrollTo(0, 0);
    }
    mark(savePlace);
  };
  begin();
}
