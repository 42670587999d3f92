// What makes the pages quicker to use. Without it they say and do the same.

const $ = id => document.getElementById(id);
const told = text => { const line = $("told"); if (line) line.textContent = text; };
const kept = place => (name, value) => {
  // A browser may refuse to keep anything.
  try { return value === undefined ? globalThis[place].getItem(name) : globalThis[place].setItem(name, value); } catch { return null; }
};
const stored = kept("localStorage"), draft = kept("sessionStorage");

// ---- colours
const themes = { system: "as the system", light: "light", dark: "dark" };
const theme = $("theme");
function showTheme(name) {
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  if (theme) { theme.dataset.now = name; theme.querySelector("span").textContent = themes[name]; }
}
showTheme(themes[stored("theme")] ? stored("theme") : "system");
theme?.addEventListener("click", () => {
  const names = Object.keys(themes), next = names[(names.indexOf(theme.dataset.now) + 1) % names.length];
  stored("theme", next);
  showTheme(next);
});

// ---- times: the reader's own beside UTC
for (const time of document.querySelectorAll("time[datetime]")) {
  const date = new Date(time.dateTime);
  if (Number.isNaN(date.getTime())) continue;
  const own = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" }).format(date);
  const utc = time.title || time.textContent;
  time.title = `${own} here, ${utc}`;
}

// ---- what is said of plain http is not so over https, also behind a proxy
if (location.protocol === "https:") $("without-tls")?.remove();

// ---- copying
async function copy(text, what) {
  try { await navigator.clipboard.writeText(text); told(`${what} copied`); return true; } catch { return false; }
}
function flash(button, done) {
  const before = button.dataset.label ?? (button.dataset.label = button.lastChild.textContent);
  button.classList.toggle("is-done", done);
  if (!done) told("This browser does not let pages copy here");
  setTimeout(() => button.classList.remove("is-done"), 1500);
  return before;
}
const linkOfPage = () => location.origin + location.pathname;
for (const button of document.querySelectorAll("[data-copy-link]")) {
  button.addEventListener("click", async () => flash(button, await copy(linkOfPage(), "Link")));
}
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => flash(button, await copy(button.dataset.copy, "Text")));
}

// ---- a list that says when there is more
const fresh = $("new"), counted = document.body.dataset.count;
if (fresh && counted) {
  const EVERY = 5000;
  const question = new URLSearchParams(location.search);
  question.delete("after");
  question.delete("said");
  const list = `${location.pathname}${question.size ? `?${question}` : ""}`;
  question.set("seen", document.body.dataset.seen ?? "");
  // Notifications come from this page alone, while it is open, and only where the reader asked for them here.
  const notify = $("notify"), able = "Notification" in globalThis;
  const notifies = () => able && Notification.permission === "granted" && stored("notify") === "yes";
  const showNotify = () => {
    notify.hidden = !able || Notification.permission === "denied";
    notify.textContent = notifies() ? "Stop notifying me" : "Notify me in this browser";
  };
  if (notify) {
    showNotify();
    notify.addEventListener("click", async () => {
      stored("notify", notifies() ? "no" : (await Notification.requestPermission()) === "granted" ? "yes" : "no");
      showNotify();
    });
  }
  let announced = 0;
  const ask = async () => {
    if (document.hidden && !notifies()) return;
    try {
      const answer = await fetch(`${counted}?${question}`, { headers: { accept: "application/json" } });
      if (!answer.ok || answer.redirected) return;
      const { waiting, new: more } = await answer.json();
      document.title = document.title.replace(/^(\(\d[\d,]*\) )?/, waiting ? `(${waiting}) ` : "");
      const link = fresh.querySelector("a");
      link.href = list;
      if (more > announced && document.hidden && notifies()) {
        // Without what it is about: a notification is seen by others, too.
        new Notification(`${more} new ${more === 1 ? "decision waits" : "decisions wait"}`, { tag: "proofmark-waiting" });
      }
      announced = more;
      if (more > 0 && fresh.hidden) told(`${more} new`);
      link.textContent = `${more} new: show ${more === 1 ? "it" : "them"}`;
      fresh.hidden = !(more > 0);
    } catch { /* The server is away; the next round asks again. */ }
  };
  setInterval(ask, EVERY);
  document.addEventListener("visibilitychange", ask);
}

// ---- long values are folded, and opened before the first approval
const folded = [...document.querySelectorAll("details.long")];
const others = [...document.querySelectorAll(".like details")];
for (const one of [...folded, ...others]) {
  one.open = false;
  one.addEventListener("toggle", () => { if (one.open) one.dataset.opened = "yes"; });
}
function opensFirst() {
  const signed = [...folded, ...others.filter(one => one.querySelector("input")?.checked)];
  const unread = signed.filter(one => !one.open && !one.dataset.opened);
  if (unread.length === 0) return false;
  for (const one of unread) one.open = true;
  const line = document.createElement("p");
  line.className = "refused";
  line.textContent = "Nothing was sent: part of what you approve was folded. It is open now. Read it, and approve again.";
  $("away").replaceChildren(line);
  unread[0].scrollIntoView({ block: "center" });
  return true;
}
// Before the passkey's own script asks for it.
document.addEventListener("click", event => {
  if (!(event.target instanceof Element) || !event.target.closest("#approve-with-passkey") || !opensFirst()) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}, true);

// ---- a review: one at a time, with a reason
const form = $("decide"), note = $("note");
function want(verdict) {
  form.dataset.want = verdict;
  for (const button of form.querySelectorAll("[name=verdict]")) button.classList.toggle("do", button.value === verdict);
  note.focus();
}
// What is typed is kept in this tab until it is stored: a server that restarts, or a browser that shows an error, loses no word.
const draftOf = path => `review of ${path} by ${document.querySelector(".who .long")?.textContent ?? ""}`;
const reviewed = new URLSearchParams(location.search).get("said");
if (reviewed) draft(draftOf(`/ui/decisions/${encodeURIComponent(reviewed)}`), "");
if (form) {
  const PATIENCE = 10_000;
  const name = draftOf(location.pathname), away = $("away");
  note.value = draft(name) || note.value;
  note.addEventListener("input", () => draft(name, note.value));
  const unsent = () => { delete form.dataset.sent; form.classList.remove("is-sent"); };
  form.addEventListener("submit", async event => {
    event.preventDefault();
    if (form.dataset.sent) return;
    const verdict = event.submitter?.value ?? form.dataset.want;
    if (!verdict || (verdict === "approve" && opensFirst())) return;
    form.dataset.sent = verdict;
    form.classList.add("is-sent");
    away.replaceChildren();
    try {
      // The browser would leave the page for an error of its own if the server did not answer.
      await fetch("/ui/waiting/count", { redirect: "manual", signal: AbortSignal.timeout(PATIENCE) });
    } catch {
      unsent();
      const line = document.createElement("p");
      line.className = "refused";
      line.textContent = "Nothing was sent: the server does not answer. What you typed is kept in this tab. Send it again when the server is back.";
      return away.replaceChildren(line);
    }
    const chosen = Object.assign(document.createElement("input"), { type: "hidden", name: "verdict", value: verdict });
    form.append(chosen);
    form.submit();
    chosen.remove();
  });
  // A page that comes back from the browser's memory can be sent again: the server knows what was stored.
  addEventListener("pageshow", event => { if (event.persisted) unsent(); });
  for (const link of document.querySelectorAll(".act a")) {
    link.addEventListener("click", event => { event.preventDefault(); want(link.classList.contains("no") ? "deny" : "approve"); });
  }
  $("refused")?.focus();
}

// ---- forms that are sent once: a second click must not begin a second run
for (const once of document.querySelectorAll("form[data-once]")) {
  once.addEventListener("submit", event => {
    if (once.classList.contains("is-sent")) return event.preventDefault();
    once.classList.add("is-sent");
  });
  addEventListener("pageshow", event => { if (event.persisted) once.classList.remove("is-sent"); });
}
for (const leave of document.querySelectorAll("form[action='/ui/sign-out']")) {
  // Who uses this tab next must not read what was typed.
  leave.addEventListener("submit", () => { try { sessionStorage.clear(); } catch { /* Nothing was kept. */ } });
}

// ---- keys
const dialog = $("keys"), single = $("single-keys");
if (single) {
  single.checked = stored("single-keys") !== "off";
  single.addEventListener("change", () => stored("single-keys", single.checked ? "on" : "off"));
}
$("show-keys")?.addEventListener("click", () => dialog.showModal());
const typing = target => target instanceof Element && target.closest("input, textarea, select, [contenteditable]");
const follow = name => document.querySelector(`[data-key="${name}"]`)?.click();
const items = [...document.querySelectorAll("[data-list] > li")];
function move(step) {
  const now = items.findIndex(item => item.classList.contains("here"));
  const next = items[Math.min(Math.max(now + step, 0), items.length - 1)];
  if (!next) return false;
  items.forEach(item => item.classList.toggle("here", item === next));
  next.querySelector("a")?.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
  return true;
}
const forward = () => move(1) || follow("j"), back = () => move(-1) || follow("k");
const KEYS = {
  j: forward, ArrowDown: () => items.length > 0 && move(1), ArrowRight: () => follow("j"),
  k: back, ArrowUp: () => items.length > 0 && move(-1), ArrowLeft: () => follow("k"),
  o: () => items.find(item => item.classList.contains("here"))?.querySelector("a")?.click(),
  u: () => follow("u"),
  a: () => form && want("approve"), d: () => form && want("deny"),
  "/": () => $("find")?.focus(),
  c: () => copy(linkOfPage(), "Link"),
  "?": () => dialog.showModal(),
};
const PLACES = { w: "/ui/waiting", d: "/ui/decisions", r: "/ui/receipts", f: "/ui/findings", p: "/ui/policy" };
let going = false;
addEventListener("keydown", event => {
  // A key held down, or pressed while an answer is on its way, must not decide about the next item.
  if (event.defaultPrevented || event.repeat || event.isComposing || form?.dataset.sent || dialog?.open) return;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && form) {
    event.preventDefault();
    // What was chosen last; nothing as long as nothing was.
    return form.dataset.want ? form.requestSubmit(form.querySelector(`[value=${form.dataset.want}]`)) : undefined;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || (single && !single.checked)) return;
  if (going) {
    going = false;
    const place = Object.hasOwn(PLACES, event.key) && document.querySelector(`.top a[href="${PLACES[event.key]}"]`);
    if (place) { event.preventDefault(); place.click(); }
    return;
  }
  if (event.key === "g") { going = true; setTimeout(() => { going = false; }, 1500); return; }
  const act = Object.hasOwn(KEYS, event.key) && KEYS[event.key];
  if (act && act() !== false && !event.key.startsWith("Arrow")) event.preventDefault();
});

// ---- whether a file is what a receipt is about: hashed here
const drop = $("drop");
if (drop) {
  const answer = $("drop-answer");
  const compare = async file => {
    if (!file) return;
    if (!globalThis.crypto?.subtle) { answer.textContent = "This browser hashes only over https, or on this host."; return; }
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
    const found = "sha256:" + Array.from(digest, byte => byte.toString(16).padStart(2, "0")).join("");
    const place = [1, 2, 3].find(number => drop.getAttribute(`data-about-${number}`) === found);
    drop.classList.remove("over");
    drop.classList.toggle("is-ok", place !== undefined);
    drop.classList.toggle("is-no", place === undefined);
    answer.textContent = place === undefined
      ? `${file.name} is another file: ${found.slice(0, 15)}…`
      : `${file.name} is exactly ${drop.getAttribute(`data-name-${place}`)}.`;
  };
  $("file").addEventListener("change", event => compare(event.target.files[0]));
  drop.addEventListener("dragover", event => { event.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", event => { event.preventDefault(); compare(event.dataTransfer.files[0]); });
}

// ---- a job that runs: followed by events while the page is seen; asked for each second where they do not come
const job = $("job");
if (job?.dataset.job) {
  const EVERY = 1000, { job: place } = job.dataset;
  let events = null, asking = null;
  const close = () => { events?.close(); events = null; };
  const show = ({ heading, width, over, receipt }) => {
    $("job-heading").textContent = heading;
    $("job-bar").setAttribute("width", width);
    if (!over) return;
    close();
    clearInterval(asking);
    if (receipt) location.replace(receipt);
    else location.reload();
  };
  const ask = async () => {
    if (document.hidden) return;
    try {
      const answer = await fetch(`${place}/progress`, { headers: { accept: "application/json" } });
      // The sign-in has ended: the page itself leads to it, and back.
      if (answer.redirected) location.reload();
      else if (answer.ok) show(await answer.json());
    } catch { /* The server is away; the next round asks again. */ }
  };
  const follow = () => {
    // A stream takes one of the few connections that a browser has to a server, so only a page that is seen has one.
    if (document.hidden || asking) return close();
    if (events) return;
    events = new EventSource(`${place}/events`);
    events.addEventListener("message", event => show(JSON.parse(event.data)));
    events.addEventListener("error", () => {
      close();
      asking ??= setInterval(ask, EVERY);
    });
  };
  follow();
  document.addEventListener("visibilitychange", follow);
}
