/** What the page shows of a file. */

import { element, icon, outside, tag, time } from "./elements.js";
import { answerOf, kindOf, summaryOf } from "./words.js";
import { toText } from "../src/canonical.js";
import { dateOf } from "../src/verify.js";

/** @typedef {import("./elements.js").Child} Child */
/** @typedef {import("./inspect.js").Documents} Documents */
/** @typedef {import("./inspect.js").HeadFile} HeadFile */
/** @typedef {import("./words.js").Fact} Fact */
/** @typedef {import("../src/verify.js").Verification} Verification */

/**
 * What is known beside a document.
 *
 * @typedef {object} Known
 * @property {import("../src/signer.js").Signers} trusted the signers whom the reader trusts
 * @property {ReadonlyMap<string, string>} fingerprints of signers
 * @property {readonly HeadFile[]} heads
 */

/** Of a long list of checks or facts only so many. */
const MAX_ITEMS = 100;

/**
 * A document as a section: the answer, what it says, and the text itself.
 *
 * @param {Verification} verification @param {Known} known
 */
export function documentView(verification, known) {
  const { document, answer, kind } = verification;
  const summary = document instanceof Map ? summaryOf(verification) : null;
  return element("div", {},
    proof(verification, known),
    summary && element("section", { class: "says" },
      answer !== "valid" && element("p", { class: "hint" }, "What it says. Nothing of it is proven:"),
      element("p", { class: "line" }, tag(summary.tone, summary.word), element("strong", {}, outside(summary.title))),
      table(summary.facts),
      items(summary.heading, summary.items)),
    document === undefined
      ? element("p", { class: "hint" }, "Is a receipt about this file? Drop it under “Is it about my file?”.")
      : raw(kindOf(kind), toText(document)));
}

/** Whether it is genuine, point by point. @param {Verification} verification @param {Known} known */
function proof(verification, known) {
  const { kind, document, answer, cause, message, help, wouldVerifyUnder } = verification;
  const { tone, sentence } = answerOf(verification);
  if (answer === "valid") {
    return element("ul", { class: "proof" },
      point("ok", sentence, "format, SHA-256 and Ed25519 hold"),
      signerPoint(verification.signer ?? "", dateOf(kind, document), known));
  }
  const form = wouldVerifyUnder && `Its issuer hashes another canonical form: \`proofmark receipt verify --profile ${wouldVerifyUnder}\` accepts it.`;
  return element("ul", { class: "proof" },
    point(tone === "fail" ? "bad" : "not", sentence,
      element("span", {}, element("code", {}, cause ?? ""), ": ", outside(message ?? "")),
      help && element("span", {}, "What to do: ", outside(help)),
      form));
}

/** @param {string} id @param {number} dated @param {Known} known */
function signerPoint(id, dated, { trusted, fingerprints }) {
  const key = element("span", { class: "code" }, fingerprints.get(id) ?? id), trust = trusted.trust(id, dated);
  if (trust === "trusted") return point("ok", "Signed by a key that you trust", key);
  if (trusted.has(id)) return point("bad", "Dated when the key that you trust had ended", key);
  if (trust === "untrusted") return point("bad", "Signed by a key that you do not trust", key);
  return point("open", "Signed, but by the right key? Compare it with the issuer's", key);
}

/** @param {"ok" | "bad" | "not" | "open"} state @param {string} sentence @param {Child[]} more */
function point(state, sentence, ...more) {
  const icons = { ok: "ok", bad: "no", not: "warn", open: "ring" };
  return element("li", { class: state }, icon(icons[state]), element("span", {}, sentence),
    ...more.filter(Boolean).map(one => element("small", {}, one)));
}

/** @param {readonly Fact[]} facts */
function table(facts) {
  if (facts.length === 0) return null;
  return element("dl", { class: "said" },
    ...facts.slice(0, MAX_ITEMS).flatMap(({ name, value, form }) => [
      element("dt", {}, outside(name)),
      element("dd", {}, form === "time" ? time(value) : outside(value, form ?? "")),
    ]));
}

/** @param {string} heading @param {readonly import("./words.js").Item[]} all */
function items(heading, all) {
  if (all.length === 0) return null;
  const more = all.length - MAX_ITEMS;
  return element("section", {},
    element("h3", {}, heading),
    element("ul", { class: "checks" },
      ...all.slice(0, MAX_ITEMS).map(({ tone, word, name, rows }) =>
        element("li", {}, tag(tone, word), element("h4", {}, outside(name)), table(rows)))),
    more > 0 && element("p", { class: "hint" }, `${more.toLocaleString("en")} more are not shown.`));
}

/** @param {string} name @param {string} text */
function raw(name, text) {
  const details = element("details", {}, element("summary", {}, `${name} as it was read`));
  // Made when it is asked for: it may be a megabyte.
  details.addEventListener("toggle", () => details.append(element("pre", { tabindex: "0" }, outside(text))), { once: true });
  return details;
}

/**
 * A chain: whether every link holds, with each head that is there.
 *
 * @param {Documents} file @param {Known} known
 */
export function chainView({ total, counts, chain, shown }, known) {
  if (!chain) return null;
  const { answer, cause, message, losses } = chain.links.finish(null, []);
  const whole = answer === "valid", valid = counts.valid === total;
  const heads = known.heads.filter(({ head }) => head !== null);
  const points = [
    whole && valid && point("ok", "Valid: every document and every link", `${amount(total)} documents`),
    counts.invalid > 0 && point("bad", `${amount(counts.invalid)} of ${amount(total)} documents are invalid`),
    counts.undecidable > 0 && point("not", `${amount(counts.undecidable)} of ${amount(total)} documents cannot be checked`),
    !whole && point(answer === "invalid" ? "bad" : "not", answer === "invalid" ? "The chain is broken" : "Its links cannot be checked", code(cause, message)),
    ...(whole ? heads.map(head => headPoint(chain.links, head, known)) : []),
    ...losses.map(({ id, position, lost }) => point("bad", "Documents of it are lost", outside(
      `${id} at position ${position} states that the chain had an end at position ${lost.position}, ${lost.hash}`))),
    whole && heads.length === 0 && point("open", "Its end may be missing", "Drop the signed head of the chain to see."),
    ...[...chain.signers].map(([signer, latest]) => signerPoint(signer, latest, known)),
  ];
  const left = total - shown.length;
  return element("div", {},
    element("ul", { class: "proof" }, ...points),
    element("ol", { class: "course" }, ...shown.flatMap(({ line, verification }) => [
      line !== null && line === chain.brokenAt && element("li", { class: "break" }, element("code", {}, cause ?? "")),
      link(line, verification, known),
    ])),
    left > 0 && element("p", { class: "hint" }, `${amount(left)} more are not shown.`));
}

/** @param {NonNullable<Documents["chain"]>["links"]} links @param {HeadFile} file @param {Known} known */
function headPoint(links, { verification, head }, { trusted }) {
  if (verification.answer !== "valid") return point("bad", "The head is not valid", code(verification.cause, verification.message));
  const { answer, cause, message } = links.finish(head, trusted.ids(dateOf("chain_head", verification.document)));
  if (answer === "valid") return point("ok", "It is whole: the signed head ends here");
  return point("bad", "The signed head does not end here", code(cause, message));
}

/** @param {string | null} cause @param {string | null} message */
function code(cause, message) {
  return element("span", {}, element("code", {}, cause ?? ""), ": ", outside(message ?? ""));
}

/** @param {number | null} line @param {Verification} verification @param {Known} known */
function link(line, verification, known) {
  const { tone, word } = answerOf(verification), { document, answer } = verification;
  const summary = document instanceof Map ? summaryOf(verification) : null;
  // Of a document that is not valid, its own words come after the answer.
  const state = answer === "valid" && summary ? tag(summary.tone, summary.word) : tag(tone, word);
  const details = element("details", {},
    element("summary", {},
      element("span", { class: "soft" }, `line ${line ?? 1} `), state, " ", outside(summary?.title ?? "not a document")));
  details.addEventListener("toggle", () => details.append(documentView(verification, known)), { once: true });
  return element("li", { class: `is-${tone}` }, details);
}

/** @param {number} count */
function amount(count) {
  return count.toLocaleString("en");
}
