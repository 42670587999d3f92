// A chain and the page that checks documents from elsewhere: what is whole is said to be, and what was changed is found.

import { browser, check, client, equal, open, verification } from "./browser.mjs";

const [address, many] = process.argv.slice(2);
const api = client(address);
const LINKS = Number(many);

const receipts = [];
while (receipts.length < LINKS) {
  const some = Array.from({ length: Math.min(32, LINKS - receipts.length) }, (_, at) => api("POST", "/v1/verifications", verification(`length <= ${at}`)));
  receipts.push(...await Promise.all(some));
}
const place = `${address}/ui/chains/verifications`;
const { page, context, faults } = await open(address);
const said = async () => (await page.locator("#whole-found").innerText()).replaceAll("\n", " ");
const answer = async expected => {
  await page.waitForSelector(`html[data-checked=${expected}]`, { timeout: 120_000 });
  return said();
};

// ---- the whole chain, of which the page shows the first hundred
let asked = [];
page.on("request", request => asked.push(request.url()));
await page.goto(place);
const whole = await answer("valid");
for (const part of [`All ${LINKS.toLocaleString("en")} receipts are what was signed`, "Signed by this server", "Every receipt follows the one before it", `It ends with ${LINKS.toLocaleString("en")} receipts, as the server signed`, "Not checked: the verdicts"]) {
  check(whole.includes(part), `${part}: ${whole}`);
}
equal(await page.locator("#chain-heading").innerText(), `${LINKS.toLocaleString("en")} receipts: every link holds`);
equal(await page.locator("#whole-by").innerText(), "checked in this browser");
equal(asked.filter(url => url.includes("/ui/chain-links/")).length, Math.ceil(LINKS / 500), "pages of documents");

// ---- documents that a server, or somebody on the way, has changed
/** Loads the page with the documents changed by a function of the lines and the place of the first of them. */
async function changed(change, expected = "invalid") {
  await page.route("**/ui/chain-links/**", async route => {
    const from = Number(new URL(route.request().url()).searchParams.get("from"));
    const found = await route.fetch();
    const lines = (await found.text()).split("\n").filter(Boolean);
    await route.fulfill({ response: found, body: change(lines, from).map(line => `${line}\n`).join("") });
  });
  await page.reload();
  const words = await answer(expected);
  await page.unroute("**/ui/chain-links/**");
  return words;
}
const FAR = 550;
const at = change => (lines, from) => (FAR >= from && FAR < from + lines.length ? change(lines, FAR - from) : lines);
const edited = await changed(at((lines, nth) => lines.with(nth, lines[nth].replace("order-17", "order-18"))));
check(edited.includes(`Receipt ${FAR} was changed after signing`), edited);
const found = page.locator("#whole-found a").first();
equal(await found.getAttribute("href"), `/ui/chains/verifications?from=${FAR}`);
const missing = await changed(at((lines, nth) => lines.toSpliced(nth, 1)));
check(missing.includes("The links do not hold") && missing.includes(`position ${FAR} is missing`), missing);
const swapped = await changed(at((lines, nth) => lines.with(nth, lines[nth + 1]).with(nth + 1, lines[nth])));
check(swapped.includes("The links do not hold"), swapped);
const cut = await changed((lines, from) => (from === 0 ? lines : []));
check(cut.includes("the end of the chain is missing"), cut);
equal(await page.locator("#chain-tag").innerText(), "broken");
await page.route("**/ui/chain-head/**", async route => {
  const found = await route.fetch();
  await route.fulfill({ response: found, body: (await found.text()).replace(`"length":${LINKS}`, '"length":500') });
});
await page.reload();
check((await answer("invalid")).includes("The signature of the end does not hold"), "a changed head");
await page.unroute("**/ui/chain-head/**");

// ---- a server that goes away in the middle: it is said what was not checked, and the check goes on
await page.route("**/ui/chain-links/**", route => (route.request().url().endsWith("from=0") ? route.continue() : route.abort()));
await page.reload();
await page.waitForSelector("html[data-checked=interrupted]");
const interrupted = await page.locator("#whole-progress").innerText();
check(interrupted.includes(`500 of ${LINKS.toLocaleString("en")} receipts were checked`) && interrupted.includes("the server does not answer"), interrupted);
check((await said()).includes("It did not check the signatures"), "the server's word stands");
await page.unroute("**/ui/chain-links/**");
asked = [];
await page.click("#whole-progress button");
await answer("valid");
check(!asked.some(url => url.endsWith("from=0")), "what was checked is not asked for again");

// ---- a page in the middle is not checked by itself
await page.goto(`${place}?from=100`);
equal(await page.locator("#whole-progress button").innerText(), "Check the whole chain");
check((await page.locator("#chain-heading").innerText()) === `${LINKS.toLocaleString("en")} receipts`, "nothing is said of links that were not looked at");
await page.click("#whole-progress button");
await answer("valid");

// ---- without script: what the server says, labelled as such
const plain = await open(address, { javaScriptEnabled: false });
await plain.page.goto(place);
equal(await plain.page.locator("#whole-by").innerText(), "the server says so");
await plain.context.close();
equal(faults.filter(fault => !fault.includes("net::ERR_FAILED")), [], "faults");

// ---- documents from elsewhere, offline
const file = (name, text) => ({ name, mimeType: "application/octet-stream", buffer: Buffer.from(text) });
const get = async path => (await fetch(address + path)).text();
const [first, links, head] = await Promise.all([`/ui/receipts/${receipts[0].receipt_id}/json`, "/ui/chain-links/verifications", "/ui/chain-head/verifications"].map(get));
const elsewhere = await open(address);
await elsewhere.page.goto(`${address}/ui/check`);
await elsewhere.context.setOffline(true);
const drop = async (name, text) => {
  await elsewhere.page.setInputFiles("#files", [file(name, text)]);
  const card = elsewhere.page.locator("#results > article", { hasText: name });
  await card.waitFor({ timeout: 60_000 });
  return card.innerText();
};
const one = await drop("receipt.json", first);
check(one.includes("Valid: it is what was signed"), one);
const tampered = await drop("tampered.json", first.replace("Three numbers", "Four numbers"));
check(tampered.includes("Invalid: it was changed after signing"), tampered);
const chain = await drop("chain.jsonl", links);
check(/chain of 500/i.test(chain) && chain.includes("Valid: every document and every link"), chain);
const gap = await drop("gap.jsonl", links.split("\n").toSpliced(7, 1).join("\n"));
check(gap.includes("position 7 is missing"), gap);
check((await drop("head.json", head)).includes("Valid"), "a head");
equal(elsewhere.faults, [], "faults offline");
await context.close();
await browser.close();
