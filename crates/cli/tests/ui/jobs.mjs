// The page of a job follows it by events, and asks instead where they do not come; a receipt is run again.

import { browser, check, client, equal, open } from "./browser.mjs";

const [address, agent, ann] = process.argv.slice(2);
const api = client(address, agent);

/** A verification that takes a while. */
const slow = name => ({
  task: { task_id: name, task_type: "code_generation", description: name },
  specification: "s", output: { content: "import time\ndef nap(n):\n    time.sleep(0.2)\n    return n\n" },
  verification: {
    kind: "test_suite", language: "python", mode: "call", entrypoint: "nap",
    tests: Array.from({ length: 20 }, (_, at) => ({ name: `nap ${at}`, input: [at], expected: at })),
  },
});

async function signedIn(key) {
  const opened = await open(address);
  await opened.page.goto(`${address}/ui/sign-in`);
  await opened.page.fill("#key", key);
  await opened.page.click("text=Sign in >> nth=-1");
  await opened.page.waitForURL(`${address}/ui`);
  return opened;
}

async function begun(name) {
  const headers = { "content-type": "application/json", authorization: `Bearer ${agent}`, prefer: "respond-async" };
  const answer = await fetch(`${address}/v1/verifications`, { method: "POST", headers, body: JSON.stringify(slow(name)) });
  check(answer.status === 202, await answer.clone().text());
  return (await answer.json()).job_id;
}

const { page, faults } = await signedIn(agent);
const asked = [];
page.on("request", request => asked.push(new URL(request.url()).pathname));

// ---- events alone, until there is a receipt
const job = await begun("followed");
const headings = new Set();
await page.exposeFunction("sawHeading", text => headings.add(text));
await page.addInitScript(() => addEventListener("DOMContentLoaded", () => {
  const heading = document.getElementById("job-heading");
  if (heading) new MutationObserver(() => globalThis.sawHeading(heading.textContent)).observe(heading, { childList: true });
}));
await page.goto(`${address}/ui/jobs/${job}`);
await page.waitForURL(`**/ui/receipts/${job}`, { timeout: 60_000 });
check([...headings].some(text => /^\d+ of 20 checks done$/.test(text)), `progress is shown: ${[...headings]}`);
check(asked.includes(`/ui/jobs/${job}/events`) && !asked.includes(`/ui/jobs/${job}/progress`), `${asked}`);
equal(faults.splice(0), [], "faults");

// ---- the stream breaks: the page asks
await page.route("**/events", route => route.abort());
const other = await begun("asked");
await page.goto(`${address}/ui/jobs/${other}`);
await page.waitForURL(`**/ui/receipts/${other}`, { timeout: 60_000 });
check(asked.includes(`/ui/jobs/${other}/progress`), "the page asks where the stream breaks");
await page.unroute("**/events");
faults.splice(0);

// ---- nobody else follows it
const stream = path => page.evaluate(path => fetch(path).then(answer => [answer.status, answer.redirected]), path);
equal((await stream(`/ui/jobs/${job.replace(/^.{8}/, "00000000")}/events`))[0], 404, "another job");
const stranger = await open(address);
await stranger.page.goto(`${address}/ui/jobs/${job}/events`);
check(stranger.page.url().includes("/ui/sign-in"), "a stranger follows nothing");
faults.splice(0);

// ---- run it again: the new receipt leads to the old one, and takes its place
await page.goto(`${address}/ui/receipts/${other}`);
check((await page.locator("section:has(#again)").innerText()).includes("only an admin's key may read it"), "who has the request");
await page.click("text=Run it again on this server");
await page.waitForURL("**/ui/jobs/*");
await page.waitForURL("**/ui/receipts/*", { timeout: 60_000 });
check((await page.locator(".told").first().innerText()).includes("A second run of the same request, with the same result"), "what it repeats");
const again = page.url().split("/").pop();
check(again !== other, "it is another receipt");
await page.click("text=Show the first");
await page.waitForURL(`**/ui/receipts/${other}`);
check((await page.locator("section:has(#again)").innerText()).includes("It was run again here already"), "only once");
const reader = await signedIn(ann);
await reader.page.goto(`${address}/ui/receipts/${again}`);
check((await reader.page.locator("section:has(#again)").innerText()).includes("The key of an agent or an admin"), "a reviewer is told who may");
equal(await reader.page.locator("text=Run it again on this server").count(), 0, "no form for a reviewer");
await browser.close();
