"use strict";
// Rows are [part, case, place, asked, method, edited, text, ended, tokens, first, disagreement, ratings,
// [thought, last, unfinished]]; see page.py.
const SHOWN = 25;
const ENDS = { eos: "ended by the model", stop: "ended at a stop text", length: "cut off at the limit" };
const NAMES = { new: "new object first", old: "old object first", neither: "neither object" };
const NAMES_LAST = { new: "new object", old: "old object", neither: "neither object" };
const by = (id) => document.getElementById(id);
let data, groups, limit = SHOWN;

function element(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

async function unpack() {
  const bytes = Uint8Array.from(atob(by("data").textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function group(rows) {
  const found = new Map();
  for (const row of rows) {
    const key = row.slice(0, 4).join(" ");
    if (!found.has(key)) found.set(key, { at: row, before: [], after: [] });
    found.get(key)[row[5] ? "after" : "before"].push(row);
  }
  return [...found.values()].sort((a, b) => a.at[1] - b.at[1] || a.at[2] - b.at[2] || a.at[3] - b.at[3] || a.at[0] - b.at[0]);
}

function options(id, names, all) {
  by(id).append(new Option(all, ""), ...names.map((name, n) => new Option(name, n)));
}

function thinks(row, wanted) {
  const [, last, unfinished] = row[12];
  if (wanted === "unfinished") return unfinished === 1;
  if (wanted === "apart") return !unfinished && [last, row[9]].sort().join() === "new,old";
  return last === wanted;
}

function passes(row, wanted) {
  if (wanted.first && row[9] !== wanted.first) return false;
  if (wanted.thought && !thinks(row, wanted.thought)) return false;
  if (wanted.gap !== "" && (row[10] === null || row[10] < Number(wanted.gap))) return false;
  return !wanted.words || data.texts[row[6]].toLowerCase().includes(wanted.words) ||
    (row[12].length && data.texts[row[12][0]].toLowerCase().includes(wanted.words));
}

function chosen() {
  const wanted = Object.fromEntries(["case", "method", "place", "first", "gap", "thought"].map((id) => [id, by(id).value]));
  wanted.words = by("words").value.trim().toLowerCase();
  const matches = [];
  for (const one of groups) {
    if (wanted.case !== "" && one.at[1] !== Number(wanted.case)) continue;
    if (wanted.place !== "" && one.at[2] !== Number(wanted.place)) continue;
    const rows = one.after.length ? one.after : one.before;
    const after = rows.filter((row) => (wanted.method === "" || row[4] === Number(wanted.method)) && passes(row, wanted));
    if (after.length) matches.push({ at: one.at, before: one.after.length ? one.before : [], after });
  }
  return matches;
}

function thoughtOf(row) {
  const [text, last, unfinished] = row[12];
  const made = element("details", undefined, "thought");
  const head = element("summary", "Thought" + (unfinished ? ", without an end " : " "));
  if (last) head.append(element("span", "last: " + NAMES_LAST[last], "tag " + last));
  made.append(head, element("pre", data.texts[text] || "(nothing)"));
  return made;
}

function card(row, kind) {
  const made = element("section", undefined, "answer " + kind);
  const head = element("p");
  head.style.margin = "0";
  head.append(element("strong", data.methods[row[4]]), " ", element("span", NAMES[row[9]], "tag " + row[9]));
  if (row[10] !== null) head.append(" ", element("span", "judge and person " + row[10].toFixed(1) + " apart", "tag apart"));
  head.append(element("br"), element("small", `${row[5] ? "after" : "before"} the edit; ${row[8]} tokens, ${ENDS[row[7]]}`));
  made.append(head);
  if (row[12].length) made.append(thoughtOf(row));
  made.append(element("pre", data.texts[row[6]] || (row[12][2] ? "(no answer: the thought has no end)" : "(nothing)")));
  if (row[11].length) {
    const list = element("ul");
    for (const [rater, value] of row[11]) list.append(element("li", `${data.raters[rater]}: ${value === null ? "unscored" : value}`));
    made.append(list);
  }
  return made;
}

function show() {
  const matches = chosen();
  const answers = matches.reduce((sum, one) => sum + one.after.length, 0);
  by("count").textContent = `${answers.toLocaleString("en")} answers to ${matches.length.toLocaleString("en")} prompts` +
    (matches.length > limit ? `; the first ${limit} are shown` : "");
  by("list").replaceChildren(...matches.slice(0, limit).map((one) => {
    const made = element("article");
    const title = element("h2", data.cases[one.at[1]][1]);
    title.append(" ", element("small", data.places[one.at[2]] + (data.parts.length > 1 ? ", " + data.parts[one.at[0]] : "")));
    const pair = element("div", undefined, "pair");
    const [left, right] = [element("div"), element("div")];
    left.append(...(one.before.length ? one.before.map((row) => card(row, "before")) : [element("p", "no text before the edit", "soft")]));
    right.append(...one.after.map((row) => card(row, "after")));
    pair.append(left, right);
    made.append(title, element("div", data.asked[one.at[3]], "asked"), pair);
    return made;
  }));
  by("more").hidden = matches.length <= limit;
}

async function start() {
  try {
    data = await unpack();
  } catch (problem) {
    by("about").textContent = "This browser cannot unpack the answers (it has no DecompressionStream): " + problem;
    return;
  }
  groups = group(data.rows);
  by("about").textContent = `${data.rows.length.toLocaleString("en")} texts, ${data.split}: ${data.parts.join("; ")}`;
  options("case", data.cases.map((one) => one[1]), "all");
  options("method", data.methods, "all");
  options("place", data.places, "all");
  by("thoughts").hidden = !data.rows.some((row) => row[12].length);
  const again = () => { limit = SHOWN; show(); };
  for (const id of ["case", "method", "place", "first", "gap", "thought"]) by(id).addEventListener("change", again);
  by("words").addEventListener("input", again);
  by("filters").addEventListener("submit", (event) => event.preventDefault());
  by("more").addEventListener("click", () => { limit += SHOWN; show(); });
  show();
}

start();
