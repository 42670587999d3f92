/** The page: takes files, keys and text, and shows what they are. Nothing leaves the browser. */

import { element, icon, outside, time } from "./elements.js";
import { documentsAbout, inspect } from "./inspect.js";
import { chainView, documentView } from "./view.js";
import { pieces } from "./visible.js";
import { answerOf, kindOf } from "./words.js";
import { hashFile } from "../src/file.js";
import { Signers, fingerprint, readSigners } from "../src/signer.js";

/** @typedef {import("./inspect.js").Inspected} Inspected */
/** @typedef {import("./inspect.js").HeadFile} HeadFile */
/** @typedef {{ name: string, blob: Blob, found: Inspected }} Entry */
/** @typedef {import("./inspect.js").Checked & { file: string, places: string[] }} About */
/** @typedef {import("../src/signer.js").TrustedSigner} TrustedSigner */
/** @typedef {{ signer: TrustedSigner, from: string, trusted: boolean }} Key */

/** The largest file that is hashed at once. */
const MAX_MINE = 1 << 30;
/** No one compares more at a time. */
const MAX_FILES = 200, MAX_KEYS = 100;

/** @type {Readonly<Record<string, string>>} */
const REFUSALS = {
  private_key: "This is a private key. It was not sent anywhere and is not kept here, but do not give it to web pages.",
  too_large: "This file is too large to check here. Use `proofmark receipt verify`.",
  empty: "This file is empty.",
};

/** @type {Entry[]} those of the last choice first */
let entries = [];
/** @type {Map<string, Key>} by the key and its end */
const keys = new Map();
/** @type {Map<string, string>} */
const fingerprints = new Map();
/** @type {{ name: string, digest: string | null, documents: About[] } | null} */
let mine = null;
/** @type {Promise<void>} */
let queue = Promise.resolve();

/** @template {HTMLElement} [Found=HTMLElement] @param {string} id @returns {Found} */
function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page lacks #${id}`);
  return /** @type {Found} */ (found);
}

/** Files one after another, in the order in which they came. @param {{ name: string, blob: Blob }[]} files */
function add(files) {
  queue = queue.then(async () => {
    /** @type {Entry[]} */
    const added = [];
    for (const { name, blob } of files.slice(0, MAX_FILES)) added.push(...await checked(name, blob));
    const others = entries.filter(entry => !added.some(one => one.name === entry.name));
    entries = [...added, ...others].slice(0, MAX_FILES);
    if (files.length > MAX_FILES) say(`Only the first ${MAX_FILES} files were checked.`);
    await compare();
    showAll();
  });
}

/** @param {string} name @param {Blob} blob @returns {Promise<Entry[]>} none for keys */
async function checked(name, blob) {
  say("Checking ", outside(name), " …");
  const found = await inspected(blob, name);
  if (found.kind === "keys") {
    await addKeys(found.signers, name, false);
    return [];
  }
  const signers = found.kind === "documents" ? [...found.shown.map(({ verification }) => verification.signer), ...(found.chain?.signers.keys() ?? [])]
    : found.kind === "head" ? [found.verification.signer] : [];
  for (const signer of signers) await remember(signer);
  say(announced(found), " ", outside(name));
  return [{ name, blob, found }];
}

/** @param {Blob} blob @param {string} name @returns {Promise<Inspected>} */
async function inspected(blob, name) {
  try {
    return await inspect(blob, (done, total) => say("Checking ", outside(name), `: ${done.toLocaleString("en")} of ${total.toLocaleString("en")} documents …`));
  } catch {
    // The browser could not read it: it was moved, or it is a folder.
    return { kind: "empty" };
  }
}

/** @param {Inspected} found */
function announced(found) {
  if (found.kind === "head") return `${answerOf(found.verification).sentence}.`;
  if (found.kind !== "documents") return REFUSALS[found.kind] ?? "";
  const [first] = found.shown;
  if (found.total === 1 && first) return `${answerOf(first.verification).sentence}.`;
  return `${found.counts.valid} of ${found.total} documents are valid.`;
}

/** @param {readonly TrustedSigner[]} signers @param {string} from @param {boolean} trusted */
async function addKeys(signers, from, trusted) {
  for (const signer of signers) {
    const name = JSON.stringify(signer);
    if (keys.size === MAX_KEYS && !keys.has(name)) break;
    await remember(idOf(signer));
    keys.set(name, { signer, from, trusted: trusted || (keys.get(name)?.trusted ?? false) });
  }
  if (trusted) say("The key is trusted.");
  else say(outside(from), " has a key. Say whether you trust it.");
}

/** @param {TrustedSigner} signer */
function idOf(signer) {
  return typeof signer === "string" ? signer : signer.id;
}

/** @param {string | null} signer */
async function remember(signer) {
  if (signer === null || fingerprints.has(signer)) return;
  // Without digests the id itself is shown.
  fingerprints.set(signer, await fingerprint(signer).catch(() => signer));
}

/** @param {(string | Node)[]} words */
function say(...words) {
  byId("status").replaceChildren(...words);
}

function showAll() {
  const heads = entries.map(entry => entry.found).filter(found => found.kind === "head");
  const trusted = new Signers([...keys.values()].filter(key => key.trusted).map(key => key.signer));
  const known = { trusted, fingerprints, heads };
  byId("results").replaceChildren(...entries.map(entry => entryView(entry, known)));
  byId("clear").hidden = entries.length === 0;
  byId("empty").hidden = entries.length > 0;
  showKeys();
  showMine();
}

/** @param {Entry} entry @param {import("./view.js").Known} known */
function entryView({ name, found }, known) {
  const [first] = found.kind === "documents" ? found.shown : [];
  const kind = found.kind === "head" ? "Head of a chain"
    : found.kind !== "documents" || (first && first.verification.document === undefined && found.total === 1) ? "File"
    : found.total > 1 ? `Chain of ${found.total.toLocaleString("en")}` : kindOf(first?.verification.kind ?? "");
  const body = found.kind === "head" ? documentView(found.verification, known)
    : found.kind !== "documents" ? element("p", {}, REFUSALS[found.kind] ?? "")
    : chainView(found, known) ?? (first && documentView(first.verification, known));
  const remove = () => {
    entries = entries.filter(entry => entry.name !== name);
    showAll();
    byId("found").focus();
  };
  return element("article", { class: "card" },
    element("header", {}, element("h3", {}, kind, " ", element("small", {}, outside(name))),
      element("button", { class: "bare", type: "button", "aria-label": `Remove ${pieces(name, 60).map(piece => piece.text).join("")}`, click: remove }, icon("no"))),
    element("div", { class: "body" }, body));
}

function showKeys() {
  const rows = [...keys.values()].map((key, index) => {
    const id = `key-${index}`, { signer } = key, ends = typeof signer === "object" && time(new Date(signer.until).toISOString());
    const box = element("input", {
      type: "checkbox", id, change: event => {
        if (event.target instanceof HTMLInputElement) key.trusted = event.target.checked;
        showAll();
        byId(id).focus();
      },
    });
    if (box instanceof HTMLInputElement) box.checked = key.trusted;
    return element("li", {}, box, element("label", { for: id },
      "I trust this key: I have it from its owner", element("small", {}, outside(key.from), " ", outside(fingerprints.get(idOf(signer)) ?? idOf(signer), "code")),
      ends && element("small", {}, "ends ", ends)));
  });
  byId("keys").replaceChildren(...rows);
}

/** @param {File} file */
function addMine(file) {
  queue = queue.then(async () => {
    say("Hashing ", outside(file.name), " …");
    const digest = file.size > MAX_MINE ? null : await hashFile(file).catch(() => null);
    mine = { name: file.name, digest, documents: [] };
    await compare();
    showAll();
    const valid = mine.documents.filter(({ verification }) => verification.answer === "valid").length;
    say(outside(file.name), ` is named by ${mine.documents.length} documents here, of which ${valid} valid.`);
  });
}

/** Finds the documents here that are about the reader's file. */
async function compare() {
  if (!mine || mine.digest === null) return;
  const { digest } = mine;
  /** @type {About[]} */
  const documents = [];
  for (const { name, blob, found } of entries) {
    if (found.kind !== "documents") continue;
    for (const about of await documentsAbout(blob, digest)) documents.push({ file: name, ...about });
  }
  mine = { ...mine, documents };
}

function showMine() {
  const place = byId("mine-found");
  if (!mine) return place.replaceChildren();
  const { name, digest } = mine;
  if (digest === null) return place.replaceChildren(element("p", {}, outside(name), " cannot be hashed here."));
  const rows = mine.documents.filter(({ file }) => entries.some(entry => entry.name === file)).map(aboutView);
  const none = element("li", { class: "open" }, icon("ring"), element("span", {}, "None of the documents here names this file."));
  place.replaceChildren(
    element("p", {}, outside(name), " ", outside(digest, "code soft")),
    element("ul", { class: "proof" }, ...(rows.length > 0 ? rows : [none])));
}

/** @param {About} about */
function aboutView({ file, line, verification, places }) {
  const good = verification.answer === "valid", { sentence } = answerOf(verification);
  const from = element("small", {}, "in ", outside(file), line === null ? "" : `, line ${line}`, ", as ", outside(places.slice(0, 5).join(", "), "code"));
  return element("li", { class: good ? "ok" : "bad" }, icon(good ? "ok" : "no"),
    element("span", {}, `${kindOf(verification.kind)} about this file`), from,
    !good && element("small", {}, `${sentence}. So this proves nothing.`));
}

/** @param {FileList | null | undefined} list */
function named(list) {
  return [...(list ?? [])].map(file => ({ name: file.name, blob: file }));
}

/** @param {string} id @param {(input: HTMLInputElement) => void} use */
function chosen(id, use) {
  const input = byId(id);
  input.addEventListener("change", () => {
    if (!(input instanceof HTMLInputElement)) return;
    use(input);
    // The same file may be chosen again after it was changed.
    input.value = "";
  });
}

/** @param {string} id @param {(files: FileList) => void} use */
function dropped(id, use) {
  const target = byId(id);
  for (const name of ["dragenter", "dragover"]) {
    target.addEventListener(name, event => {
      event.preventDefault();
      target.classList.add("over");
    });
  }
  target.addEventListener("dragleave", () => target.classList.remove("over"));
  target.addEventListener("drop", event => {
    event.preventDefault();
    event.stopPropagation();
    target.classList.remove("over");
    if (event instanceof DragEvent && event.dataTransfer?.files.length) use(event.dataTransfer.files);
  });
}

let pasted = 0;

function start() {
  chosen("files", input => add(named(input.files)));
  chosen("mine", input => input.files?.[0] && addMine(input.files[0]));
  dropped("page", files => add(named(files)));
  dropped("mine-drop", files => files[0] && addMine(files[0]));
  byId("paste-form").addEventListener("submit", event => {
    event.preventDefault();
    const area = byId("paste");
    if (!(area instanceof HTMLTextAreaElement) || area.value.trim() === "") return;
    add([{ name: `pasted text ${++pasted}`, blob: new Blob([area.value]) }]);
    area.value = "";
  });
  byId("key-form").addEventListener("submit", event => {
    event.preventDefault();
    const input = byId("key");
    if (!(input instanceof HTMLInputElement)) return;
    const signers = readSigners(input.value);
    if (signers.length === 0) return say("This is not an Ed25519 public key. Write what `proofmark key show` prints.");
    input.value = "";
    queue = queue.then(() => addKeys(signers, "written here", true)).then(showAll);
  });
  byId("clear").addEventListener("click", () => {
    entries = [];
    showAll();
    say("Removed.");
    byId("found").focus();
  });
  byId("page").classList.add("ready");
}

start();
