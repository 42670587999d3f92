// Notifications of the waiting page: none before they are asked for, one for what came while nobody looked, none once they are
// switched off.

import { browser, check, client, equal, open, refund } from "./browser.mjs";

const [address, agent, ann] = process.argv.slice(2);
const api = client(address, agent);

const { context, page, faults } = await open(address);
await context.grantPermissions(["notifications"], { origin: address });
// A browser without a window shows nothing and hides nothing: what the page gives it is kept, and the script says whether anybody looks.
await page.addInitScript(() => {
  const told = [];
  const construct = (_, [title, options]) => (told.push([title, options]), {});
  globalThis.Notification = new Proxy(Notification, { construct });
  Object.defineProperty(document, "hidden", { get: () => globalThis.isAway === true });
  globalThis.told = told;
});
await page.goto(`${address}/ui/sign-in`);
await page.fill("#key", ann);
await page.click("text=Sign in >> nth=-1");
await page.waitForURL(`${address}/ui`);
await api("POST", "/v1/decisions", refund("A-1", 900));

/** What the reader was told of a decision that came while the page was in the background. */
const toldOf = async order => {
  const look = isAway => page.evaluate(away => {
    globalThis.isAway = away;
    document.dispatchEvent(new Event("visibilitychange"));
  }, isAway);
  await api("POST", "/v1/decisions", refund(order, 900));
  await look(true);
  // The page that asked for notifications asks the server in the background, too; any other one when somebody looks again.
  if (await button() === "Stop notifying me") await page.waitForFunction(() => !document.getElementById("new").hidden);
  await look(false);
  await page.waitForFunction(() => !document.getElementById("new").hidden);
  return page.evaluate(() => globalThis.told);
};
const button = () => page.textContent("#notify");

// ---- permission alone is not enough: the reader has not asked
await page.goto(`${address}/ui/waiting`);
equal(await page.evaluate(() => Notification.permission), "granted", "permission");
equal(await button(), "Notify me in this browser", "nobody has asked");
equal(await toldOf("A-2"), [], "not asked for");

// ---- asked for here: how many, and not what
await page.goto(`${address}/ui/waiting`);
await page.click("#notify");
await page.waitForFunction(() => document.getElementById("notify").textContent === "Stop notifying me");
equal(await toldOf("A-3"), [["1 new decision waits", { tag: "proofmark-waiting" }]], "told once");

// ---- it lasts, and is switched off again
await page.goto(`${address}/ui/waiting`);
equal(await button(), "Stop notifying me", "it lasts");
await page.click("#notify");
await page.waitForFunction(() => document.getElementById("notify").textContent === "Notify me in this browser");
equal(await toldOf("A-4"), [], "switched off");

// ---- a browser that denies it offers nothing
await context.clearPermissions();
await page.goto(`${address}/ui/waiting`);
const permission = await page.evaluate(() => Notification.permission);
check(permission !== "granted" && await page.isHidden("#notify") === (permission === "denied"), permission);
equal(faults, [], "faults");
await browser.close();
