export default function (component) {
  const {fields, save: savePlace, auto, explains, faults} = JSON.parse(component.data);  // as text: Streamlit looks for tables in a list with pandas
  const boxes = (...kinds) =>
    fields.filter((f) => kinds.includes(f.kind)).map((f) => document.querySelector("." + f.place)).filter(Boolean);
  const groups = () => boxes("yes_no", "scale", "one").map((b) => b.querySelector('[role="radiogroup"]')).filter(Boolean);
  const numbered = (g) => fields.some((f) => f.kind === "one" && g.closest("." + f.place));  // its choices have no digits
  const explained = (g, n) => fields.some((f) => f.explained && f.explained.includes(n) && g.closest("." + f.place));
  const groupOf = (e) => (e.closest ? e.closest('[role="radiogroup"]') : null);
  const control = {yes_no: '[role="radiogroup"]', scale: '[role="radiogroup"]', one: '[role="radiogroup"]',
    many: "button", set: "button", text: "textarea", spans: "textarea"};
  const whole = () => [...fields.map((f) => `.${f.place} ${control[f.kind]}`), `.${savePlace} button`]
    .every((selector) => document.querySelector(selector));
  const typing = (e) => e.isContentEditable || e.tagName === "TEXTAREA" || e.tagName === "SELECT" ||
    (e.tagName === "INPUT" && e.type !== "radio" && e.type !== "checkbox");
  const leaveField = () => { if (document.activeElement) document.activeElement.blur(); };
  const known = window.__sceditForm && window.__sceditForm.save === savePlace;  // another run of the page, the same form
  const form = window.__sceditForm = known ? window.__sceditForm : {save: savePlace, last: "", walk: -1, ready: Infinity};
  const placeOf = (g) => (fields.find((f) => g.closest("." + f.place)) || {place: ""}).place;
  const keysWait = () => Date.now() < form.ready;  // nobody has read a new item yet
  const last = () => groups().find((g) => placeOf(g) === form.last);  // answered or entered last: another digit corrects it
  let byKey = false;
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
    const dialog = event.target.closest && event.target.closest("[role=dialog]");
    if (key === "h" && !dialog) return highlight();  // unless it is the letter of a reason that is shown
    if (!/^[1-9yn]$/.test(key)) return;
    const word = {y: "yes", n: "no"}[key] || key;
    const all = groups();
    const walked = form.walk >= 0 && form.walk < all.length ? all[form.walk] : null;  // shown filled in: from the first on
    const group = all.find(open) || walked || last() || all[0];
    if (!group) return;
    const wasOpen = open(group);
    for (const [n, input] of [...group.querySelectorAll('input[type="radio"]')].entries()) {
      const label = input.closest("label");
      const text = label ? label.innerText.trim() : "";
      if (text === word || (numbered(group) && String(n + 1) === word)) {
        fresh.set(group, Date.now());
        form.last = placeOf(group);
        if (group === walked) form.walk += 1;
        byKey = true;
        input.click();
        byKey = false;
        event.preventDefault();
        if (document.activeElement && document.activeElement.tagName === "BUTTON") leaveField();  // Enter saves now
        const no = (g) => (numbered(g) ? [...g.querySelectorAll("input")].some((i, at) => i.checked && explained(g, at))
          : g.querySelector('input[value="1"]:checked'));
        const refused = explains && (word === "no" || explained(group, n) || all.some(no));
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
    const box = event.target.closest ? event.target : document.body;
    const beside = typing(box) && !box.closest('[data-testid="stForm"], [role=dialog]');
    if (event.key === "Enter" && beside) setTimeout(leaveField, 60);  // a number was typed: the next key answers again
    if (!event.isTrusted || event.defaultPrevented || !whole() || keysWait()) return;
    if (document.documentElement.dataset.sceditMarking && !event.ctrlKey && /^(Arrow|Home|End|Tab|Enter|Esc|Back|Del|m$)/i.test(event.key)) return;  // see marks.js
    const target = event.target.closest ? event.target : document.body;
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") return save(event);
    if (event.ctrlKey || event.metaKey || event.altKey || typing(target)) return;
    if (event.key === "Enter" && !event.repeat && !target.closest("button, a, summary, [role=dialog]")) return save(event);
    if (event.repeat || Date.now() - sent < 10000) return;  // a key held down answers one question, of one item
    answer(event);
  };
  const onTouch = (event) => {
    const group = groupOf(event.target);
    if (!group) return;
    if (!byKey) form.walk = Infinity;
    form.last = placeOf(group) || form.last;
    if (event.type === "change") setTimeout(showReasons, 100);
  };
  const showReasons = () => {  // once all is answered and a reason is asked for
    const reasons = boxes("many").some((box) => box.offsetParent !== null);
    const button = document.querySelector("." + savePlace + " button");
    if (reasons && button && !groups().some(open)) button.scrollIntoView({block: "nearest"});
  };
  const inUse = (e) => e.closest("[role=dialog]") || e.type === "radio" || e.getAttribute("aria-expanded") === "true" ||
    (typing(e) && e.getAttribute("role") !== "combobox");
  const leaveClicked = () => { if (document.activeElement && !inUse(document.activeElement)) leaveField(); };
  const onClick = (event) => {  // what was clicked keeps no focus: the next key answers or saves
    if (event.detail > 0) setTimeout(leaveClicked, 60);
  };
  const showKeys = () => {  // the page shows when keys go into another field
    const e = document.activeElement;
    document.documentElement.dataset.sceditKeys = e && typing(e) && !e.closest('[data-testid="stForm"]') ? "off" : "on";
  };
  const showMore = () => {  // whether the item's texts go on below what is in view
    for (const pane of document.querySelectorAll(".se-item"))
      pane.classList.toggle("se-cut", pane.scrollHeight - pane.scrollTop - pane.clientHeight > 4);
  };
  if (window.__sceditKeys) window.__sceditKeys.abort();
  const listening = window.__sceditKeys = new AbortController();
  const options = {capture: true, signal: listening.signal};
  window.addEventListener("keydown", onKey, options);
  window.addEventListener("change", onTouch, options);
  window.addEventListener("focusin", onTouch, options);
  window.addEventListener("click", onClick, options);
  window.addEventListener("focusin", showKeys, options);
  window.addEventListener("focusout", () => setTimeout(showKeys, 0), options);
  window.addEventListener("scroll", showMore, options);
  window.addEventListener("resize", showMore, options);
  const showFaults = (end) => {  // what is wrong comes into view, once for each run of the page, however late it is drawn
    if (listening.signal.aborted || !faults) return;
    const alert = document.querySelector('[data-testid="stForm"] [data-testid="stAlert"]');
    if (alert) setTimeout(() => alert.scrollIntoView({block: "nearest"}), 100);
    else if (Date.now() < end) setTimeout(showFaults, 50, end);
  };
  const begin = () => {  // once the form is on the screen: from the top, and listening
    if (listening.signal.aborted) return;
    if (!whole()) return setTimeout(begin, 30);
    if (form.ready === Infinity) {
      const read = document.querySelector(".se-item");
      form.ready = Date.now() + Math.min(1500, 300 + (read ? read.textContent.length : 0));  // ms: a glance at the text
      const focused = document.activeElement;
      if (focused && !focused.closest('[data-testid="stForm"]')) leaveField();  // a link, or a box of the page before
      form.walk = groups().every((g) => g.querySelector("input:checked")) ? 0 : -1;
      for (const pane of document.querySelectorAll('[data-testid="stMain"], .se-item')) pane.scrollTop = 0;
      window.scrollTo(0, 0);
    }
    showMore();
    showKeys();
    showFaults(Date.now() + 2000);
    setTimeout(() => { if (!listening.signal.aborted) mark(savePlace); }, Math.max(0, form.ready - Date.now()));
  };
  begin();
}
