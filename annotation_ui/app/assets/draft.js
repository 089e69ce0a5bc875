// What is filled in goes to the server at once. Until it has arrived, this tab keeps a copy of its own, so that a session
// that has ended, a full disk or a page that was lost takes nothing: it comes back with the item's form.
export default function (component) {
  const {parentElement} = component;
  const data = JSON.parse(component.data);
  const {campaign, item, person, saves} = data;
  const place = ["scedit", person, campaign, item].join("/");
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
  const told = () => parentElement.querySelector('[role="status"]');
  const say = (text) => {
    if (window.__sceditCopied !== place) return;  // the reply came when another item was shown
    let line = told();
    if (!line) {
      line = document.createElement("div");
      line.setAttribute("role", "status");
      line.style.cssText = "font-size:.8rem;opacity:.85";
      parentElement.appendChild(line);
    }
    line.textContent = text;
  };

  // ---- this tab's copy: of an item that has been saved as often as when it was typed
  const copied = () => { try { return JSON.parse(sessionStorage.getItem(place)); } catch (error) { return null; } };
  const forget = () => { try { sessionStorage.removeItem(place); } catch (error) { return; } };
  const copy = (body) => { try { sessionStorage.setItem(place, JSON.stringify({saves, body})); } catch (error) { return; } };
  const written = () => {
    const answers = {};
    for (const field of data.fields) {
      const box = boxOf(field);
      if (!box) return null;  // another item is shown by now
      const value = valueOf(field, box);
      if (value !== undefined) answers[field.name] = value;
    }
    return JSON.stringify({campaign, item, person, answers, secure: location.protocol === "https:"});
  };

  const filled = (body) => Object.values(JSON.parse(body).answers).some((value) => value.length !== 0);
  const post = async (body) => {
    try {
      const reply = await fetch("/scedit/draft", {
        method: "POST", credentials: "same-origin", keepalive: true,
        headers: {"x-scedit": "1", "content-type": "application/json"}, body,
      });
      if (reply.ok && (copied() || {}).body === body) forget();
      const kept = filled(body) ? data.words.kept : "\u00a0";  // of an empty form there is no draft
      say(reply.ok ? kept : reply.status === 401 ? data.words.ended : data.words.lost);
      return reply.ok;
    } catch (error) {
      say(data.words.unreachable);
      return false;
    }
  };
  const send = async () => {
    const body = written();
    if (body === null || body === window.__sceditSent) return;
    window.__sceditSent = body;
    if (!await post(body)) window.__sceditSent = null;
  };
  let timer = 0;
  const keepHere = () => {  // what was said of the draft is no longer true
    const body = written();
    if (body === null || body === window.__sceditSent) return;
    copy(body);
    if (told()) say("\u00a0");
  };
  const soon = () => {
    keepHere();
    setTimeout(keepHere, 0);  // a click is seen before the box has changed
    clearTimeout(timer);
    timer = setTimeout(send, 250);
  };
  const bringBack = async (wait) => {  // once: the server shows it again
    if (listening.signal.aborted) return;
    const held = copied(), now = written();
    if (held && held.saves !== saves) forget();
    if (!held || held.saves !== saves) {  // as it is shown, it is nothing new
      if (now !== null) window.__sceditSent = now;
      return;
    }
    if (now === null) return setTimeout(bringBack, 60, wait);
    if (now === held.body) return soon();
    if (await post(held.body)) {
      stop();  // what stands in the form by now is not sent
      return location.reload();
    }
    if (wait < 9000) setTimeout(bringBack, wait, 2 * wait);  // a login may be on its way
  };
  if (window.__sceditDraft) window.__sceditDraft.abort();
  const listening = window.__sceditDraft = new AbortController();
  const stop = () => { listening.abort(); clearTimeout(timer); };
  const options = {capture: true, signal: listening.signal};
  for (const kind of ["input", "change", "click", "keyup"]) document.addEventListener(kind, soon, options);
  window.addEventListener("pagehide", send, options);
  if (window.__sceditCopied !== place) {  // a form that was not on the screen before
    window.__sceditCopied = place;
    if (told()) say("\u00a0");  // of the item before
    bringBack(500);
  }
  return () => {  // the form has gone: a login, another page
    stop();
    window.__sceditCopied = "";
  };
}
