// The example agent's mail: denied with a note in the browser, changed by the agent, approved in the browser.

import { browser, check, equal, open, picture } from "./browser.mjs";

const [address, ann] = process.argv.slice(2);
const { page, faults } = await open(address);
await page.goto(`${address}/ui/waiting`);
await page.fill("#key", ann);
await page.click("text=Sign in >> nth=-1");
await page.waitForURL("**/ui/waiting");

/** Opens the one decision that waits, which may come while the list is open. */
async function opened() {
  const link = page.locator("[data-list] > li a").first();
  const fresh = page.locator("#new:not([hidden]) a");
  await link.or(fresh).first().waitFor({ timeout: 60_000 });
  if (await link.count() === 0) await fresh.click();
  await link.click();
  await page.waitForSelector("#note");
  return page.locator("main").innerText();
}

// ---- the first mail: a newcomer reads why it was stopped, what would be done, and what to do
const first = await opened();
for (const part of ["Nobody has read the mail.", "Waits for an approval as support-lead", "Your refund for T-8812 is on its way.", "What to do", "Approve it to let it happen once, or deny it"]) {
  check(first.includes(part), `${part}: ${first}`);
}
await picture(page, "mail-waits");
const denied = page.url();
await page.keyboard.press("d");
await page.keyboard.type("Say when: \"It takes 5 days.\"");
await page.keyboard.press("Control+Enter");
await page.waitForURL("**/ui/waiting?said=*");
check((await page.locator(".told").first().innerText()).includes("Denied send_email"), "what was said is shown");

// ---- the changed mail: what is different since the denial is marked
const second = await opened();
const marked = await page.locator(".args ins").innerText();
check(marked.includes("It takes 5 days."), marked);
check(second.includes("when ann denied it"), second);
await picture(page, "mail-changed");
const approved = page.url();
await page.keyboard.press("a");
await page.keyboard.type("It says when.");
await page.keyboard.press("Control+Enter");
await page.waitForURL("**/ui/waiting?said=*");

// ---- what became of both
await page.goto(denied);
const one = await page.locator("main").innerText();
check(one.includes("Denied by ann") && one.includes("ann denied it: “Say when: \"It takes 5 days.\"”"), one);
await picture(page, "mail-denied");
await page.goto(approved);
let two = await page.locator("main").innerText();
// The agent asks twice a second, on a machine with much to do less often.
for (let round = 0; round < 120 && !two.includes("Stopped, and allowed later"); round++) {
  await page.waitForTimeout(500);
  await page.reload();
  two = await page.locator("main").innerText();
}
check(two.includes("Stopped, and allowed later"), two);
await page.goto(`${address}/ui/findings`);
equal(await page.locator("[data-list] > li").count(), 0, "nothing was executed that was not allowed");
equal(faults, [], "faults");
await browser.close();
