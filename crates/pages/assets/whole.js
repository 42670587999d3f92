// Checks a whole chain in this browser: every signature, every link and the signed end. The server is asked for the documents
// alone.

import { Chain, splitDocuments } from "./chain.js";
import { readHead } from "./head.js";
import { verify, verifyHead } from "./verify.js";

/** How often a server that is asked too often is asked again. */
const MAX_TRIES = 20;

const card = document.getElementById("whole");
const { chain: name, length: announced, own } = card.dataset;
const trusted = card.dataset.trust.split(" ").filter(Boolean);
const progress = document.getElementById("whole-progress"), by = document.getElementById("whole-by");
const show = number => number.toLocaleString("en");
const receipts = number => `${show(number)} ${number === 1 ? "receipt" : "receipts"}`;

/** What was found so far; a check that was interrupted goes on with it. */
const state = { head: null, verifiedHead: null, links: new Chain(), at: 0, valid: 0, own: 0, trusted: 0, bad: null, brokenAt: null };

/** The server gave no answer that can be used. */
class Interrupted extends Error {}

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children.filter(Boolean));
  return made;
}

function icon(symbol) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `#${symbol}`);
  svg.append(use);
  return svg;
}

const PICTURES = { ok: "ok", bad: "no", open: "ring" };
function point(className, words, ...more) {
  return element("li", { className }, icon(PICTURES[className]), element("span", {}, words), more.length > 0 && element("small", {}, ...more));
}

async function get(path) {
  for (let tries = 0; ; tries++) {
    let answer;
    try {
      answer = await fetch(path);
      if (answer.status === 429 && tries < MAX_TRIES) {
        const seconds = Number(answer.headers.get("retry-after")) || 1;
        await new Promise(waited => setTimeout(waited, seconds * 1000));
        continue;
      }
      if (answer.ok && !answer.redirected) return new Uint8Array(await answer.arrayBuffer());
    } catch {
      throw new Interrupted("the server does not answer");
    }
    throw new Interrupted(answer.redirected ? "your sign-in has ended: load this page again" : `the server answered with ${answer.status}`);
  }
}

async function readEnd() {
  const verified = await verifyHead(await get(`/ui/chain-head/${name}`), { trusted });
  state.verifiedHead = verified;
  if (verified.answer === "valid") state.head = readHead(verified.document);
}

/** The next documents, all at once: the browser checks signatures beside each other. */
async function readNext(length) {
  const documents = splitDocuments(await get(`/ui/chain-links/${name}?from=${state.at}`)).slice(0, length - state.at);
  const verifications = await Promise.all(documents.map(({ bytes }) => verify(bytes, { trusted })));
  for (const verification of verifications) {
    const { document: receipt, answer, signer, trust } = verification;
    if (receipt !== undefined) await state.links.add(receipt);
    if (state.links.isBroken) state.brokenAt ??= state.at;
    if (answer === "valid") state.valid++;
    else state.bad ??= { at: state.at, ...verification };
    if (signer === own) state.own++;
    if (trust === "trusted" || signer === own) state.trusted++;
    state.at++;
  }
  return documents.length;
}

async function check() {
  document.documentElement.dataset.checked = "running";
  const bar = element("progress", { max: Number(announced), value: state.at });
  const line = element("p", { className: "hint" });
  bar.setAttribute("aria-label", "Receipts checked");
  progress.replaceChildren(bar, line);
  try {
    if (!state.verifiedHead) await readEnd();
    // Where the head does not verify, what the server says of the length is as good as any.
    const length = state.head ? Number(state.head.length) : Number(announced);
    bar.max = length;
    while (state.at < length && state.bad?.cause !== "cannot_check_here") {
      line.textContent = `${show(state.at)} of ${receipts(length)} checked in this browser.`;
      if (await readNext(length) === 0) break;
      bar.value = state.at;
    }
    progress.replaceChildren();
    finish(length);
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    offer("Go on", `${show(state.at)} of ${receipts(Number(bar.max))} were checked in this browser, then ${error.message}. The rest was not checked.`);
    document.documentElement.dataset.checked = "interrupted";
  }
}

function placed(at) {
  return element("a", { href: `/ui/chains/${name}?from=${at}` }, `Show link ${show(at)}`);
}

function finish(length) {
  if (state.bad?.cause === "cannot_check_here" || state.verifiedHead.cause === "cannot_check_here") {
    by.textContent = "the server says so: this browser checks only over https";
    document.documentElement.dataset.checked = "unchecked";
    return;
  }
  const links = state.links.finish(null, []), end = state.links.finish(state.head, [own, ...trusted]);
  const whole = state.bad === null && state.verifiedHead.answer === "valid" && end.answer === "valid";
  by.textContent = "checked in this browser";
  document.getElementById("whole-found").replaceChildren(
    signatures(), signers(),
    links.answer === "valid" ? point("ok", "Every receipt follows the one before it", "None is missing, put in or replaced.")
      : point("bad", "The links do not hold", `${links.message}. `, state.brokenAt !== null && placed(state.brokenAt)),
    ending(links, end, length),
    point("open", "Not checked: the verdicts", "A signature says who judged, and not that the judgment is right. And a server may show another chain to others."),
  );
  const tag = document.getElementById("chain-tag");
  tag.className = `tag ${whole ? "pass" : "fail"}`;
  tag.replaceChildren(icon(whole ? "ok" : "no"), whole ? " whole" : " broken");
  document.getElementById("chain-heading").textContent = `${receipts(state.at)}: ${whole ? "every link holds" : "the chain does not hold"}`;
  document.documentElement.dataset.checked = whole ? "valid" : "invalid";
}

function signatures() {
  if (state.bad === null) return point("ok", state.at === 1 ? "The receipt is what was signed" : `All ${receipts(state.at)} are what was signed`, "Format, SHA-256 and Ed25519 hold.");
  const { at, answer, message } = state.bad, bad = state.at - state.valid;
  const words = bad === 1 ? `Receipt ${show(at)} ${answer === "invalid" ? "was changed after signing" : "cannot be checked"}` : `${receipts(bad)} of ${show(state.at)} are not valid, the first is ${show(at)}`;
  return point("bad", words, `${message}. `, placed(at));
}

function signers() {
  const others = state.valid - state.trusted;
  if (state.valid === 0) return null;
  if (others > 0) return point("bad", `${receipts(others)}: the signer is not trusted here`);
  return state.own === state.valid ? point("ok", "Signed by this server") : point("ok", "Signed by this server, or by signers who are trusted here");
}

function ending(links, end, length) {
  if (state.verifiedHead.answer !== "valid") return point("bad", "The signature of the end does not hold", `${state.verifiedHead.message}.`);
  if (links.answer !== "valid") return point("open", `The server signed an end with ${receipts(length)}`, "It says nothing while links do not hold.");
  if (end.answer !== "valid") return point("bad", "The end does not hold", `${end.message}.`);
  return point("ok", `It ends with ${receipts(length)}, as the server signed`);
}

/** A button, and why it is there. */
function offer(words, why) {
  const button = element("button", { type: "button", className: "small" }, words);
  button.addEventListener("click", check);
  progress.replaceChildren(element("p", { className: "hint" }, why), button);
}

if (card.dataset.unasked !== undefined) await check();
else offer("Check the whole chain", `This browser can check all ${receipts(Number(announced))}: it gets every one of them from the server.`);
