// What both scripts need: a browser that reports everything a page must not do, and a client of the API.

import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const modules = process.env.PROOFMARK_NODE_MODULES;
const require = createRequire(`${modules}/`);
const { chromium } = require("playwright-core");
const axe = readFileSync(`${modules}/axe-core/axe.min.js`, "utf8");

/** How long anything may take, in milliseconds, on a machine with much to do. */
const PATIENCE = 120_000;

export const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"], timeout: PATIENCE });

export function check(holds, message) {
  if (!holds) throw new Error(message);
}

export function equal(found, expected, message = "") {
  const [one, other] = [found, expected].map(value => JSON.stringify(value));
  check(one === other, `${message}: ${one} is not ${other}`);
}

/** A page of a browser of its own, and what it did that no page may do. */
export async function open(address, options = {}) {
  const context = await browser.newContext({ reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const faults = [];
  page.on("console", message => faults.push(`console: ${message.text()}`));
  page.on("pageerror", error => faults.push(`error: ${error.message}`));
  page.on("request", request => {
    if (!request.url().startsWith(address) && !request.url().startsWith("data:")) faults.push(`asks ${request.url()}`);
  });
  return { context, page, faults };
}

/** What axe finds, by the rules of WCAG 2.2 AA and best practice. */
export async function findings(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(node => `${node.target} ${node.failureSummary}`).join("; ")}`);
}

/** Leaves a picture of the whole page for people, where PROOFMARK_PICTURES names a folder for them. */
export async function picture(page, name) {
  const folder = process.env.PROOFMARK_PICTURES;
  if (folder) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
}

export function client(address, key) {
  return async (method, path, body) => {
    const headers = { "content-type": "application/json", ...(key ? { authorization: `Bearer ${key}` } : {}) };
    const answer = await fetch(address + path, { method, headers, body: body && JSON.stringify(body) });
    const found = await answer.json();
    check(answer.ok, `${method} ${path}: ${JSON.stringify(found)}`);
    return found;
  };
}

export const refund = (order, amount, agent = "billing-bot") => ({
  action: { tool: "issue_refund", class: "payment", target: `order ${order}`,
    args: { order_id: order, amount, currency: "EUR", reason: "Item arrived broken; photo attached by the customer." } },
  agent: { id: agent, environment: "production", run: "run-4821", step: "resolve" },
  facts: [{ type: "order", payload: { order_id: order, paid: true } }],
});

export const SUBMISSION = "[3, 1, 2]";
export const verification = constraint => ({
  task: { task_id: "order-17", task_type: "code_generation", description: "Three numbers" },
  specification: "s", output: { content: SUBMISSION },
  verification: { kind: "schema_check", checks: [{ name: "short", constraint }, { name: "a list", constraint: "length <= 20" }] },
});
