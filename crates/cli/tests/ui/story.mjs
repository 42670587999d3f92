// A reviewer finds, approves and denies with keys alone; another is told who was faster; a reader checks receipts.

import { createServer } from "node:http";
import { SUBMISSION, browser, check, client, equal, open, refund, verification } from "./browser.mjs";

const [address, bot, ann, bob] = process.argv.slice(2);
const api = client(address, bot);
const heading = page => page.locator("h1").innerText();

async function signedIn(key, to = "/ui/waiting") {
  const opened = await open(address);
  await opened.page.goto(`${address}${to}`);
  await opened.page.fill("#key", key);
  await opened.page.click("text=Sign in >> nth=-1");
  await opened.page.waitForURL(`**${to}`);
  return opened;
}

const first = await api("POST", "/v1/decisions", refund("O-1", 1240));
const second = await api("POST", "/v1/decisions", refund("O-2", 1300));
const third = await api("POST", "/v1/decisions", refund("O-3", 1400, "other-bot"));

// ---- sign in, find, open
const { page, faults } = await signedIn(ann);
equal(await heading(page), "Three decisions wait for you");
await page.keyboard.press("/");
await page.keyboard.type("o-3");
await page.keyboard.press("Enter");
await page.waitForURL("**/ui/waiting?find=o-3*");
equal(await heading(page), "One decision waits for you");
await page.goBack();

// ---- more comes while the list is open
await api("POST", "/v1/decisions", refund("O-4", 900));
await page.waitForSelector("#new:not([hidden])", { timeout: 60_000 });
equal(await page.locator("#new").innerText(), "1 new: show it");
check((await page.title()).startsWith("(4) "), await page.title());
await page.click("#new a");
equal(await heading(page), "Four decisions wait for you");

// ---- approve with keys alone
await page.keyboard.press("j");
await page.keyboard.press("o");
await page.waitForURL(`**/ui/decisions/${first.decision_id}`);
await page.keyboard.press("a");
equal(await page.evaluate(() => document.activeElement.id), "note");
await page.keyboard.press("Control+Enter");
equal(await page.evaluate(() => document.querySelector("#note").validity.valueMissing), true, "a reason is asked for");
await page.waitForSelector("form:not(.is-sent)");
await page.keyboard.type("Checked against invoice 7731. jkad?");
const bobs = await signedIn(bob, `/ui/decisions/${second.decision_id}`);
await page.keyboard.press("Control+Enter");
await page.waitForURL(`**/ui/decisions/${second.decision_id}?said=*`);
check((await page.locator(".told[role=status]").innerText()).includes("Approved issue_refund on order O-1"), "what was said is shown");
equal((await api("POST", "/v1/decisions", refund("O-1", 1240))).outcome, "allow_with_warning");

// ---- deny; somebody else was faster; the word is kept
await page.keyboard.press("d");
await page.keyboard.type("The invoice says less.");
await page.keyboard.press("Control+Enter");
await page.waitForURL(`**/ui/decisions/${third.decision_id}?said=*`);
await bobs.page.fill("#note", "Looks right to me.");
await bobs.page.click("button[value=approve]");
const refused = bobs.page.locator("#refused");
check((await refused.innerText()).includes("Somebody else was faster: ann denied it"), await refused.innerText());
equal(await bobs.page.inputValue("#note"), "Looks right to me.");
equal((await api("POST", "/v1/decisions", refund("O-2", 1300))).outcome, "goal_fail_terminal");

// ---- a value that is different from when it was denied
const cheaper = await api("POST", "/v1/decisions", refund("O-2", 1100));
await page.goto(`${address}/ui/decisions/${cheaper.decision_id}`);
equal(await page.locator(".args del").evaluate(del => del.textContent), "was 1300");
check((await page.locator(".args .since").innerText()).includes("when ann denied it"), "when it was different is said");

// ---- single keys can be switched off
await page.keyboard.press("?");
await page.uncheck("#single-keys");
await page.keyboard.press("Escape");
await page.keyboard.press("a");
check(await page.evaluate(() => document.activeElement.id !== "note"), "single keys are off");
await page.evaluate(() => localStorage.clear());

// ---- a receipt checks itself, without the server
const receipt = await api("POST", "/v1/verifications", verification("length <= 1"));
const place = `${address}/ui/receipts/${receipt.receipt_id}`;
await page.goto(place);
await page.waitForSelector("html[data-checked]");
equal(await page.evaluate(() => document.documentElement.dataset.checked), "valid");
check((await page.locator("[data-verified]").innerText()).startsWith("checked in this browser"), "it says where");
await page.context().setOffline(true);
await page.setInputFiles("#file", { name: "work.json", mimeType: "application/json", buffer: Buffer.from(SUBMISSION) });
await page.waitForSelector(".drop.is-ok");
check((await page.locator("#drop-answer").innerText()).includes("is exactly what was verified"), "the file is recognised");
await page.setInputFiles("#file", { name: "other.json", mimeType: "application/json", buffer: Buffer.from("[]") });
await page.waitForSelector(".drop.is-no");
await page.context().setOffline(false);
await page.route(place, async route => {
  const answer = await route.fetch();
  const body = (await answer.text()).replaceAll("code_generation", "code_generatiom");
  await route.fulfill({ response: answer, body });
});
await page.reload();
await page.waitForSelector("html[data-checked=invalid]");
check((await page.locator(".proof li").first().innerText()).startsWith("Invalid: it was changed after signing"), "a changed byte is seen");
await page.unroute(place);

// ---- and that it is in the log, once a checkpoint covers it
const logged = page.locator("[data-log-proof]");
do await page.reload(); while (await logged.count() === 0);
await page.waitForSelector("html[data-checked=valid]");
check((await logged.innerText()).startsWith("In the log log.example.org/ui: entry "), await logged.innerText());
await page.route(place, async route => {
  const answer = await route.fetch();
  const body = (await answer.text()).replace(/(data-log-proof="[^"]*index )\d+/, "$199");
  await route.fulfill({ response: answer, body });
});
await page.reload();
await page.waitForSelector("html[data-checked]:not([data-checked=valid])");
check((await logged.innerText()).startsWith("The log does not prove"), await logged.innerText());
await page.unroute(place);

// ---- chains, and the rest of the way by keys
await page.goto(`${address}/ui/chains/verifications`);
check((await heading(page)).endsWith("every link holds"), await heading(page));
await page.keyboard.press("g");
await page.keyboard.press("w");
await page.waitForURL("**/ui/waiting");
equal(faults, [], "faults");

// ---- other sites: a link leads here signed in, a form does nothing
const evil = createServer((_, answer) => answer.setHeader("content-type", "text/html").end(`
  <a href="${address}/ui/decisions/${third.decision_id}">there</a>
  <form method="post" action="${address}/ui/decisions/${third.decision_id}"><input name="verdict" value="approve"><input name="note" value="x">
  <button>send</button></form>`));
await new Promise(listening => evil.listen(0, "127.0.0.1", listening));
const elsewhere = `http://127.0.0.1:${evil.address().port}/`;
await page.goto(elsewhere);
await page.click("a");
await page.waitForURL(`**/ui/decisions/${third.decision_id}`);
await page.waitForSelector("#decide");
await page.goto(elsewhere);
const [posted] = await Promise.all([page.waitForNavigation(), page.click("button")]);
equal(posted.status(), 403, "a form of another page");
const { reviews } = await api("GET", `/v1/decisions/${third.decision_id}`);
equal(reviews, []);
evil.close();
await browser.close();
