// Actions that an agent would like to look the same: no two have the same words on the page, digests and ids left out.

import { writeFileSync } from "node:fs";
import { browser, check, client, equal, open } from "./browser.mjs";

const [address, file] = process.argv.slice(2);
const api = client(address);
const of = (args, more = {}) => ({ tool: "issue_refund", class: "payment", target: "order 1", args, ...more });
const text = value => of({ text: value });
const long = end => "x".repeat(130) + end;

const actions = [
  of({}), of(null), of([]), of(""), of("{}"), of({ args: {} }), of({ args: null }), of([{}]), of("args"),
  of({ a: 5 }), of({ a: "5" }), of({ a: 5.5 }), of({ a: null }), of({ a: "null" }), of({ a: "" }), of({ a: "\"\"" }),
  of({ a: true }), of({ a: "true" }), of({ a: [] }), of({ a: "[]" }), of({ a: {} }), of({ a: "{}" }),
  // An object beside a text that looks like it, as the page would indent it.
  of({ a: { b: 1 } }), of({ a: '{\n  "b": 1\n}' }), of({ a: '{↵\n  "b": 1↵\n}' }), of({ a: "{\"b\":1}" }),
  of({ a: ["1"] }), of({ a: "[", 1: "]" }), of({ a: "[\n  \"1\"\n]" }),
  // A line of one value beside another value.
  of({ a: "x\nb\ny" }), of({ a: "x", b: "y" }), of({ a: "x↵\nb↵\ny" }), of({ a: "x\\nb\\ny" }), of({ a: "x y" }), of({ "a x": "y" }), of({ x: "a\n", b: "y" }), of({ x: "a\nb", y: "z" }),
  of({ x: "a\n", b: "y", z: "w" }), of({ x: "a\n" }), of({ x: "a" }), of({ x: "a\n\n" }), of({ x: "\na" }),
  // Blanks, and what looks like nothing or is written by its number.
  text("pay bob"), text("pay  bob"), text("pay bob "), text(" pay bob"), text("pay\u00a0bob"), text("pay\u2800bob"), text("pay\u200bbob"), text("paybob"),
  text("pay\ufff0bob"), text("pay\ufff8bob"), text("pay\u3164bob"), text("payU+200Bbob"), text("pay⟨U+200B⟩bob"), text("pay\\u200bbob"), text("pay\tbob"),
  text("pay⇥\tbob"), text("pay⇥bob"), text("pay\u202ebob"), text("pay\r\nbob"), text("pay\nbob"), text("::add-mask::x"), text("\\u{3a}:add-mask::x"), text("##[x"), text("\\u{23}#[x"),
  of({ "text ": "v" }), of({ text: "v" }), of({ " text": "v" }), of({ "te\u2800xt": "v" }), of({ "text\n": "v" }), of({ "": "v" }),
  // Everything else that an action says.
  of({}, { method: "GET" }), of({}, { method: "POST" }), of({}, { surface: "s" }), of({}, { server: "s" }), of({}, { origin: "s" }), of({}, { via: "s" }), of({}, { cwd: "s" }),
  of({}, { crossing: true }), of({}, { crossing: false }), of({}, { boundary: "memory_write" }), of({}, { amount: 5 }), of({}, { recipient: "s" }),
  of({}, { recipient: null }), of({}, { outer_args: null }), of({}, { paths: ["a"] }), of({}, { paths: ["a", "b"] }), of({}, { paths: ["a, b"] }), of({}, { paths: [] }),
  of({}, { target: long("a") }), of({}, { target: long("b") }), of({}, { target: "" }), of({}, { target: "\u2800" }), of({}, { source: "s" }), of({}, { definition_state: "changed" }),
  // Long values, which are folded.
  text("l".repeat(3000)), text("l".repeat(2999) + "m"), of({ list: Array.from({ length: 60 }, (_, n) => n) }), of({ list: Array.from({ length: 60 }, (_, n) => n + 1) }),
];
// And some by chance, of pieces that are hard to tell apart; the numbers are those of xorshift32, from one seed.
let seed = 20261123;
const draw = below => { seed ^= seed << 13; seed ^= seed >>> 17; seed ^= seed << 5; return (seed >>> 0) % below; };
const PIECES = ["a", "1", " ", "\n", "\"", "\\", "↵", "{", "}", "\u200b", "⟨U+200B⟩", ":", ",", "\t"];
const word = () => Array.from({ length: 1 + draw(4) }, () => PIECES[draw(PIECES.length)]).join("");
for (let index = 0; index < 24; index++) actions.push(of(Object.fromEntries(Array.from({ length: 1 + draw(2) }, () => [word(), draw(3) ? word() : [word()]]))));

const { context, page, faults } = await open(address);
const WHAT = "section[aria-labelledby=what] .body";
const bare = await context.newPage();
const sheet = await (await fetch(`${address}${/href="([^"]*sheet\.css)"/.exec(await (await fetch(`${address}/ui`)).text())[1]}`)).text();
await bare.setContent(`<style>${sheet}</style><main></main>`);
/** The words of the page of a decision: the browser draws that part of it alone, which is quicker. */
async function words(id) {
  const html = await (await fetch(`${address}/ui/decisions/${id}`)).text();
  return bare.evaluate(([html, what]) => {
    const part = new DOMParser().parseFromString(html, "text/html").querySelector(what);
    for (const folded of part.querySelectorAll("details")) folded.open = false;
    document.querySelector("main").replaceChildren(part);
    return part.innerText;
  }, [html, WHAT]);
}
const seen = new Map(), ids = new Map();
for (const action of actions) {
  const asked = await api("POST", "/v1/decisions", { action, agent: { id: "bot", environment: "production" } });
  const hash = asked.binding.action_hash;
  if (ids.has(hash)) continue;
  ids.set(hash, asked.decision_id);
  const shown = await words(asked.decision_id);
  check(!seen.has(shown), `${JSON.stringify(action)} looks like ${JSON.stringify(seen.get(shown))}:\n${shown}`);
  seen.set(shown, action);
}
for (const id of [...ids.values()].filter((_, index) => index % 30 === 0)) {
  await page.goto(`${address}/ui/decisions/${id}`);
  equal(await page.locator(WHAT).innerText(), await words(id), "the whole page says the same");
}
writeFileSync(file, [...ids.values()].join("\n"));

// ---- what is folded is opened before it is approved, and no verdict is sent that nobody chose
const order = await api("POST", "/v1/decisions", { action: text("long".repeat(1000)), agent: { id: "bot", environment: "production" } });
await page.goto(`${address}/ui/decisions/${order.decision_id}`);
equal(await page.locator("details.long").getAttribute("open"), null, "a long value is folded");
check((await page.locator("details.long summary").innerText()).startsWith("4,000 characters in 1 lines, sha256:"), "its length and digest are in sight");
await page.fill("#note", "Read.");
await page.keyboard.press("Control+Enter");
equal(await page.locator("form.is-sent").count(), 0, "nothing was chosen");
await page.click("button[value=approve]");
await page.waitForSelector("#away .refused");
check(new URL(page.url()).pathname.endsWith(order.decision_id) && await page.locator("details.long").getAttribute("open") !== null, "it is open now");
await page.click("button[value=approve]");
// It was sent: a server without API keys vouches for nobody, and says so.
await page.waitForSelector("#refused");
check(faults.every(fault => fault.includes("422")), JSON.stringify(faults));
await context.close();
await browser.close();
