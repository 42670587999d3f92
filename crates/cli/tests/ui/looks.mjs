// Every page in light and dark, wide and narrow, with forced colours, and without script.

import { browser, check, client, findings, open, picture, refund, verification } from "./browser.mjs";

const [address] = process.argv.slice(2);
const api = client(address);
const note = number => ({ action: { tool: "add_note", class: "record_mutation", target: `ticket T-${number}`, args: { text: `note ${number}` } },
  agent: { id: "support-bot", environment: "production" } });
const HOSTILE = "<script>alert(1)</script>\"'onload=\u202Etxt.exe\u200B " + "long".repeat(60);

const denied = await api("POST", "/v1/decisions", refund("O-20931", 1420));
await api("POST", `/v1/reviews/${denied.decision_id}`, { verdict: "deny", note: "The invoice says 1,240." });
const waiting = await api("POST", "/v1/decisions", refund("O-20931", 1240));
const hostile = await api("POST", "/v1/decisions", { action: { tool: "issue_refund", class: "payment", target: HOSTILE, args: { amount: 1, [HOSTILE]: HOSTILE, deep: [[[{ a: HOSTILE }]]] } },
  agent: { id: HOSTILE, environment: HOSTILE, run: HOSTILE }, facts: [{ type: "order", payload: { paid: true } }] });
for (let number = 0; number < 5; number++) await api("POST", "/v1/decisions", note(number));
await api("POST", "/v1/decisions", { action: { tool: "delete_customer", class: "record_mutation", args: {} } });
const receipt = await api("POST", "/v1/verifications", verification("length <= 1"));
const approval = await api("POST", "/v1/decisions", refund("O-7", 700))
  .then(decision => api("POST", `/v1/reviews/${decision.decision_id}`, { verdict: "approve", note: "Checked." }));
await api("POST", "/v4/runtime/boundaries/executions/report", { observed_execution: { decision_id: waiting.decision_id, side_effect_executed: true } });
await api("POST", "/v4/runtime/boundaries/executions/report", { observed_execution: { decision_id: HOSTILE, side_effect_executed: true } });

const PAGES = {
  overview: "/ui", month: "/ui?days=30", waiting: "/ui/waiting", empty: "/ui/waiting?find=nothing", decisions: "/ui/decisions",
  decision: `/ui/decisions/${waiting.decision_id}`, denied: `/ui/decisions/${denied.decision_id}`,
  hostile: `/ui/decisions/${hostile.decision_id}`, receipts: "/ui/receipts", receipt: `/ui/receipts/${receipt.receipt_id}`,
  approval: `/ui/receipts/${approval.approval.receipt_id}`, chains: "/ui/chains", chain: "/ui/chains/verifications",
  sessions: "/ui/sessions", session: "/ui/sessions/nightly", runs: "/ui/runs", run: "/ui/runs/demo", findings: "/ui/findings", policy: "/ui/policy", passkey: "/ui/passkey",
};
// What makes a page hard to use depends on its colours and on whether it is narrow, so two of the looks are searched for it.
const LOOKS = [
  { name: "light-1280", viewport: { width: 1280, height: 900 }, colorScheme: "light", isSearched: true },
  { name: "dark-1280", viewport: { width: 1280, height: 900 }, colorScheme: "dark" },
  { name: "light-390", viewport: { width: 390, height: 844 }, colorScheme: "light" },
  { name: "dark-320", viewport: { width: 320, height: 700 }, colorScheme: "dark", isSearched: true },
  { name: "light-3840", viewport: { width: 3840, height: 2160 }, colorScheme: "light" },
  { name: "forced-1280", viewport: { width: 1280, height: 900 }, forcedColors: "active" },
];
const faulty = [];
/** More characters than anybody reads on one line with ease; those of code and tables aside. */
const MAX_LINE = 130;

/** Texts that run over several lines, of which each could have more characters than this. */
function tooLong(most) {
  const texts = [...document.querySelectorAll("main p, main li, main dd, main small, main label")].filter(one => !one.querySelector("p, li, dd, ul, ol, dl"));
  return texts.flatMap(text => {
    const { fontSize, lineHeight } = getComputedStyle(text);
    const lines = Math.round(text.getBoundingClientRect().height / (parseFloat(lineHeight) || parseFloat(fontSize) * 1.5));
    const each = text.innerText.length / lines;
    return lines > 1 && each > most ? [`${Math.round(each)} characters: ${text.innerText.slice(0, 60)}`] : [];
  });
}

for (const { name: look, isSearched, ...options } of LOOKS) {
  const { context, page, faults } = await open(address, options);
  await page.addInitScript(() => {
    globalThis.shifted = 0;
    new PerformanceObserver(list => list.getEntries().forEach(entry => { globalThis.shifted += entry.value; })).observe({ type: "layout-shift", buffered: true });
  });
  for (const [name, path] of Object.entries(PAGES)) {
    const say = what => faulty.push(`${name} ${look}: ${what}`);
    const answer = await page.goto(address + path);
    if (answer.status() !== 200) say(`status ${answer.status()}`);
    const shifted = await page.evaluate(() => globalThis.shifted);
    if (shifted > 0.02) say(`moves by ${shifted}`);
    // Folded parts as well: what is in them must not be wider either.
    await page.evaluate(() => document.querySelectorAll("details").forEach(details => { details.open = true; }));
    const sideways = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (sideways > 0) say(`${sideways} px too wide`);
    (await page.evaluate(tooLong, MAX_LINE)).forEach(line => say(`a line of ${line}`));
    if (isSearched) (await findings(page)).forEach(say);
    faults.splice(0).forEach(say);
    await picture(page, `${name}-${look}`);
  }
  await context.close();
}

const { context, page } = await open(address, { javaScriptEnabled: false });
for (const [name, path] of Object.entries(PAGES)) {
  await page.goto(address + path);
  if (await page.locator("h1").count() !== 1) faulty.push(`${name} without script has no heading`);
}
await page.goto(`${address}${PAGES.decision}`);
await page.fill("#note", "Without script.");
await page.click("button[value=deny]");
if (!(await page.locator(".told").first().innerText()).includes("Denied issue_refund")) faulty.push("a review without script");
await context.close();
await browser.close();
check(faulty.length === 0, faulty.join("\n"));
