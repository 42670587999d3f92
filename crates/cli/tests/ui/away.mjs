// A review when the server restarts, when its answer is lost, and when the sign-in ends: no word is lost, none is stored twice.

import { spawn } from "node:child_process";
import { browser, check, client, equal, open, refund } from "./browser.mjs";

const [binary, home, address, agent, ann, ...rest] = process.argv.slice(2);
const api = client(address, agent);

/** The server on the same address and with the same store. */
async function started() {
  const server = spawn(binary, rest, { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, PROOFMARK_HOME: home } });
  const listening = new Promise((found, failed) => {
    let said = "";
    server.stderr.on("data", data => { said += data; if (said.includes("serving on ")) found(); });
    server.on("exit", code => failed(new Error(`the server ended with ${code}: ${said}`)));
  });
  await listening;
  return { server, stop: () => new Promise(ended => { server.on("exit", ended); server.kill("SIGKILL"); }) };
}

let running = await started();
try {
  const first = await api("POST", "/v1/decisions", refund("O-1", 1240));
  const place = `${address}/ui/decisions/${first.decision_id}`;
  const { page } = await open(address);
  const reviews = async id => (await api("GET", `/v1/decisions/${id}`)).reviews;
  const signIn = async () => {
    await page.fill("#key", ann);
    await page.click("text=Sign in >> nth=-1");
  };
  await page.goto(place);
  await signIn();
  await page.waitForSelector("#note");

  // ---- the server is away: nothing is sent, the reviewer is told what to do
  await page.fill("#note", "Checked with ann's \"invoice\" 7731.");
  await running.stop();
  await page.click("button[value=deny]");
  await page.waitForSelector("#away .refused");
  const told = await page.locator("#away").innerText();
  check(told.includes("Nothing was sent") && told.includes("Send it again when the server is back"), told);
  equal(await page.inputValue("#note"), "Checked with ann's \"invoice\" 7731.");

  // ---- it is back, and knows nobody: the word goes along through the sign-in
  running = await started();
  equal(await reviews(first.decision_id), []);
  await page.click("button[value=deny]");
  await page.waitForSelector("#key");
  check((await page.locator("main").innerText()).includes("What you typed is kept"), await page.locator("main").innerText());
  await signIn();
  await page.waitForSelector("#note");
  equal(await page.inputValue("#note"), "Checked with ann's \"invoice\" 7731.", "after the sign-in");
  equal(await reviews(first.decision_id), [], "nothing is stored without a click after the sign-in");

  // ---- even a page that was closed by an error has the word
  await page.fill("#note", "Typed later.");
  await page.goto("about:blank");
  await page.goto(place);
  // The draft of the sign-in is older than what was typed since.
  equal(await page.inputValue("#note"), "Typed later.", "after a page of the browser");

  // ---- the answer is lost: the review is stored once, and sending it again says so
  await page.route(place, async route => {
    if (route.request().method() !== "POST") return route.continue();
    await route.fetch({ maxRedirects: 0 });
    await route.abort();
  });
  await page.click("button[value=approve]");
  await page.waitForURL("chrome-error://**").catch(() => {});
  await page.unroute(place);
  await running.stop();
  running = await started();
  equal((await reviews(first.decision_id)).map(({ reviewer, verdict }) => [reviewer, verdict]), [["ann", "approved"]]);
  await page.goto(place);
  await signIn();
  await page.waitForURL(place);
  check((await page.locator("main").innerText()).includes("Approved by ann"), "the page knows");

  // ---- the same from a page that was open all the time
  const second = await api("POST", "/v1/decisions", refund("O-2", 1300));
  await page.goto(`${address}/ui/decisions/${second.decision_id}`);
  await page.fill("#note", "Twice.");
  const fields = await page.evaluate(() => Object.fromEntries(new FormData(document.querySelector("#decide"))));
  const send = () => page.evaluate(async fields => {
    const answer = await fetch(location.pathname, { method: "POST", body: new URLSearchParams({ ...fields, verdict: "approve" }) });
    return [answer.status, new URL(answer.url).searchParams.get("said")];
  }, fields);
  equal([await send(), await send()], [[200, second.decision_id], [200, second.decision_id]], "sent twice");
  equal((await reviews(second.decision_id)).length, 1, "stored once");
  // Another word about the same decision is not taken for the first one.
  const other = await page.evaluate(async fields => {
    const answer = await fetch(location.pathname, { method: "POST", body: new URLSearchParams({ ...fields, note: "No.", verdict: "deny" }) });
    return [answer.status, await answer.text()];
  }, fields);
  check(other[0] === 409 && other[1].includes("You approved it already"), `${other[0]}`);
  equal((await reviews(second.decision_id)).length, 1, "still one");

  // ---- signing out forgets what was typed
  const third = await api("POST", "/v1/decisions", refund("O-3", 1300));
  await page.goto(`${address}/ui/decisions/${third.decision_id}`);
  await page.fill("#note", "Mine.");
  await page.click("text=Sign out");
  await page.waitForSelector("#key");
  equal(await page.evaluate(() => sessionStorage.length), 0, "what was typed is forgotten");
} finally {
  await running.stop();
  await browser.close();
}
