// Marking words of the shown texts: by mouse, by finger, by keys. The marks stand, as JSON, in a text field of the form,
// so that they are saved, kept as a draft and shown again as every other answer is.
export default function (component) {
  const {place, texts, labels, words, meanings} = JSON.parse(component.data);
  const host = component.parentElement;
  const touch = matchMedia("(pointer: coarse)").matches;  // no keys are named where there are none
  const area = () => document.querySelector("." + place + " textarea");
  const box = (name) => document.querySelector(`.se-text[data-text="${name}"]`);
  const raw = Object.fromEntries(texts.map((t) => [t.name, t.raw]));
  const units = (text, points) => [...text].slice(0, points).join("").length;  // JavaScript counts UTF-16 units
  const points = (text, at) => [...text.slice(0, at)].length;
  const say = (key, values) => Object.entries(values).reduce((t, [k, v]) => t.replace(`{${k}}`, v), words[key]);
  const read = () => { try { const found = JSON.parse(area().value || "[]"); return Array.isArray(found) ? found : []; } catch { return []; } };
  const whole = (name) => box(name) && box(name).textContent === raw[name];

  const write = (marks) => {
    const field = area();
    const sorted = [...marks].sort((a, b) => a.text.localeCompare(b.text) || a.start - b.start);
    Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(field, sorted.length ? JSON.stringify(sorted) : "");
    field.dispatchEvent(new Event("input", {bubbles: true}));
    draw();
  };
  const add = (name, from, to, label) => {  // in UTF-16 units of the text
    const text = raw[name];
    while (from < to && /\s/.test(text[from])) from += 1;
    while (to > from && /\s/.test(text[to - 1])) to -= 1;
    if (from >= to || !whole(name)) return;
    let [start, end] = [points(text, from), points(text, to)];
    const touching = (m) => m.text === name && m.label === label && m.start <= end && start <= m.end;
    const marks = read();
    for (const m of marks.filter(touching)) [start, end] = [Math.min(start, m.start), Math.max(end, m.end)];
    const said = [...text].slice(start, end).join("");
    const digest = texts.find((t) => t.name === name).digest;
    write([...marks.filter((m) => !touching(m)), {text: name, start, end, words: said, label, digest}]);
  };
  const remove = (mark) => write(read().filter((m) => !(m.text === mark.text && m.start === mark.start && m.label === mark.label)));

  // ---- drawn over the texts, which stay as they are
  const rangeOf = (name, from, to) => {
    const walker = document.createTreeWalker(box(name), NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    let seen = 0;
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const next = seen + node.length;
      if (seen <= from && from < next) range.setStart(node, from - seen);
      if (seen < to && to <= next) { range.setEnd(node, to - seen); return range; }
      seen = next;
    }
    return null;
  };
  const paint = (kind, ranges) => {
    if (window.CSS && CSS.highlights) CSS.highlights.set(kind, new Highlight(...ranges.filter(Boolean)));
  };
  const draw = () => {
    const marks = read();
    labels.forEach(({value}, n) => {
      const mine = marks.filter((m) => m.label === value && whole(m.text));
      paint(`se-mark-${n}`, mine.map((m) => rangeOf(m.text, units(raw[m.text], m.start), units(raw[m.text], m.end))));
    });
    const list = document.createElement("div");
    list.className = "marks";
    for (const m of marks) {
      const chip = document.createElement("button");
      const label = (labels.find((l) => l.value === m.label) || {text: m.label}).text;
      const short = m.words.length > 40 ? m.words.slice(0, 38) + "…" : m.words;
      chip.type = "button";
      chip.textContent = `${label}: “${short}” ×`;
      chip.setAttribute("aria-label", say("remove", {words: m.words}));
      chip.onclick = () => remove(m);
      list.appendChild(chip);
    }
    const help = document.createElement("span");
    help.className = "help";
    help.textContent = texts.every((t) => whole(t.name)) ? `${touch ? words.touch : words.help} ${meanings}` : words.changed;
    list.appendChild(help);
    const live = document.createElement("span");
    live.className = "live";
    live.setAttribute("role", "status");
    list.appendChild(live);
    const former = host.querySelector(".marks");  // beside the style, which stays
    if (former) former.replaceWith(list); else host.appendChild(list);
  };
  const tell = (text) => { const live = host.querySelector(".live"); if (live) live.textContent = text; };

  // ---- what is selected by mouse or finger
  const selected = () => {
    const selection = window.getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return null;
    const range = selection.getRangeAt(0);
    const name = texts.map((t) => t.name).find((n) => box(n) && range.intersectsNode(box(n)));
    if (!name) return null;
    const text = box(name), before = document.createRange();
    before.selectNodeContents(text);
    const inside = (node, at, otherwise) => {
      if (!text.contains(node)) return otherwise;
      before.setEnd(node, at);
      return before.toString().length;
    };
    const from = inside(range.startContainer, range.startOffset, 0);
    const to = inside(range.endContainer, range.endOffset, raw[name].length);
    return to > from ? {name, from, to} : null;
  };
  const markSelected = (label) => {
    const found = selected();
    if (found) { add(found.name, found.from, found.to, label); window.getSelection().removeAllRanges(); }
    offer();
    return Boolean(found);
  };
  let bar = document.getElementById("se-marking");
  if (bar) bar.remove();
  bar = document.createElement("div");
  bar.id = "se-marking";
  labels.forEach(({value, text}, n) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = say("mark", {label: text}) + (n < 2 && !touch ? (n ? " (Shift+M)" : " (m)") : "");
    button.addEventListener("pointerdown", (e) => e.preventDefault());  // keeps the selection
    button.addEventListener("click", () => markSelected(value));
    bar.appendChild(button);
  });
  bar.hidden = true;
  document.body.appendChild(bar);
  const offer = () => { bar.hidden = !selected(); };

  // ---- by keys: m begins, arrows move from word to word, Shift extends, Enter or m marks
  let cursor = null;  // {name, list: words of that text, first, last}
  const wordsOf = (name) => [...raw[name].matchAll(/\S+/gu)].map((m) => [m.index, m.index + m[0].length]);
  const show = () => {
    const marking = document.documentElement.dataset;
    if (!cursor) { delete marking.sceditMarking; paint("se-cursor", []); tell(""); return; }
    marking.sceditMarking = cursor.name;
    const [first, last] = [Math.min(cursor.first, cursor.last), Math.max(cursor.first, cursor.last)];
    const range = rangeOf(cursor.name, cursor.list[first][0], cursor.list[last][1]);
    paint("se-cursor", [range]);
    tell(raw[cursor.name].slice(cursor.list[first][0], cursor.list[last][1]));
    const pane = box(cursor.name).closest(".se-item"), at = rangeOf(cursor.name, ...cursor.list[cursor.last]).getBoundingClientRect();
    const view = pane.getBoundingClientRect();
    if (at.bottom > view.bottom || at.top < view.top) pane.scrollTop += at.top - view.top - view.height / 2;
  };
  const begin = (n) => {
    const there = texts.map((t) => t.name).filter((name) => whole(name) && wordsOf(name).length);
    if (!there.length) return;
    const name = there[(n + there.length) % there.length];
    cursor = {name, list: wordsOf(name), first: 0, last: 0, place: (n + there.length) % there.length};
    show();
  };
  const line = (step) => {  // the nearest word of the line above or below
    const where = (n) => rangeOf(cursor.name, ...cursor.list[n]).getBoundingClientRect();
    const here = where(cursor.last);
    let best = null;
    for (let n = cursor.last + step; n >= 0 && n < cursor.list.length; n += step) {
      const r = where(n);
      if (Math.abs(r.top - here.top) < 4) continue;
      if (best !== null && Math.abs(r.top - where(best).top) >= 4) break;
      if (best === null || Math.abs(r.left - here.left) < Math.abs(where(best).left - here.left)) best = n;
    }
    return best === null ? cursor.last : best;
  };
  const move = (event) => {
    const end = cursor.list.length - 1;
    const to = {ArrowLeft: cursor.last - 1, ArrowRight: cursor.last + 1, Home: 0, End: end}[event.key] ??
      line(event.key === "ArrowUp" ? -1 : 1);
    cursor.last = Math.max(0, Math.min(end, to));
    if (!event.shiftKey) cursor.first = cursor.last;
    show();
  };
  const byKey = (label) => {
    const [first, last] = [Math.min(cursor.first, cursor.last), Math.max(cursor.first, cursor.last)];
    add(cursor.name, cursor.list[first][0], cursor.list[last][1], label);
    show();
  };
  const unmark = () => {
    const at = cursor.list[cursor.last][0], text = raw[cursor.name];
    const found = read().find((m) => m.text === cursor.name && units(text, m.start) <= at && at < units(text, m.end));
    if (found) { remove(found); show(); }
  };
  const onKey = (event) => {
    if (/^(Shift|Control|Alt|Meta|AltGraph|CapsLock)$/.test(event.key)) return;
    if (!event.isTrusted || event.ctrlKey || event.metaKey || event.altKey || !area()) return;
    const target = event.target.closest ? event.target : document.body;
    if (target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName) || target.closest("[role=dialog]")) return;
    if (target.tagName === "INPUT" && !/^(radio|checkbox)$/.test(target.type)) return;
    const label = {m: labels[0], M: labels[1] || labels[0]}[event.key];
    let done = true;
    if (label && (cursor ? true : selected())) cursor ? byKey(label.value) : markSelected(label.value);
    else if (event.key === "m" && !event.repeat) { if (document.activeElement) document.activeElement.blur(); begin(texts.length - 1); }
    else if (!cursor) done = false;
    else if (event.key === "Enter") byKey(labels[0].value);
    else if (event.key === "Escape") { cursor = null; show(); }
    else if (event.key === "Tab") begin(cursor.place + (event.shiftKey ? -1 : 1));
    else if (/^(Arrow|Home|End)/.test(event.key)) move(event);
    else if (/^(Backspace|Delete)$/.test(event.key)) unmark();
    else { cursor = null; show(); done = false; }  // another key goes on with the form
    if (done) { event.preventDefault(); event.stopImmediatePropagation(); }
  };

  if (window.__sceditMarks) window.__sceditMarks.abort();
  const listening = window.__sceditMarks = new AbortController();
  const signal = {signal: listening.signal};
  window.addEventListener("keydown", onKey, {capture: true, ...signal});
  document.addEventListener("selectionchange", () => setTimeout(offer, 80), signal);
  listening.signal.addEventListener("abort", () => bar.remove());
  const start = () => {  // once the texts and the field are on the screen
    if (listening.signal.aborted) return;
    if (!area() || !texts.some((t) => box(t.name))) return setTimeout(start, 30);
    show();
    draw();
  };
  start();
}
