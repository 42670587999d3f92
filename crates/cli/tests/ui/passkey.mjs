// A reviewer makes a passkey, is listed, and approves with it; whatever else a passkey or somebody else sends is refused.

import { spawnSync } from "node:child_process";
import { createServer } from "node:http";
import { browser, check, client, equal, open, refund } from "./browser.mjs";

const [address, binary, policy] = process.argv.slice(2);
const api = client(address);
const ask = async order => (await api("POST", "/v1/decisions", refund(order, 700))).decision_id;
const outcome = async order => (await api("POST", "/v1/decisions", refund(order, 700))).outcome;

const { context, page, faults } = await open(address);
const devtools = await context.newCDPSession(page);
await devtools.send("WebAuthn.enable");
const { authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", { options: {
  protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true,
} });

/** Makes a passkey; the command that lists it. */
async function made(name) {
  await page.goto(`${address}/ui/passkey`);
  await page.fill("#name", name);
  await page.click("#make-passkey");
  return page.locator("#made pre").innerText();
}

function listed(command, role) {
  const words = command.replace("ROLE", role).split(" ").slice(1, -1);
  const { status, stderr } = spawnSync(binary, [...words, policy], { encoding: "utf8" });
  equal(status, 0, stderr);
}

/** Opens a decision, once the server has read a policy that lists passkeys. */
async function opened(id) {
  for (;;) {
    await page.goto(`${address}/ui/decisions/${id}`);
    if (await page.locator("#approve-with-passkey").count()) return;
  }
}

/** What the server answers to an assertion, of which some parts are other than the page would ask for. */
async function sent(id, { verification = "required", challenge = null, elsewhere = null, as = null } = {}) {
  await opened(id);
  const statement = await page.evaluate(async () => {
    const fields = new URLSearchParams(new FormData(document.querySelector("#decide")));
    fields.set("note", "by hand");
    return (await fetch(`${location.pathname}/statement`, { method: "POST", body: fields })).text();
  });
  const signed = await (elsewhere ?? page).evaluate(async ({ signed, verification }) => {
    const hex = bytes => [...new Uint8Array(bytes)].map(byte => byte.toString(16).padStart(2, "0")).join("");
    const integer = (bytes, at) => hex(bytes.slice(at + 2, at + 2 + bytes[at + 1])).replace(/^(00)+/, "").padStart(64, "0");
    const raw = bytes => integer(bytes, 2) + integer(bytes, 4 + bytes[3]);
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(signed));
    const { id, response } = await navigator.credentials.get({ publicKey: { challenge: digest, rpId: "localhost", userVerification: verification } });
    return { credential: id, authenticator_data: hex(response.authenticatorData), client_data: new TextDecoder().decode(response.clientDataJSON),
      signature: raw(new Uint8Array(response.signature)) };
  }, { signed: challenge ?? statement, verification });
  const { receipt_id, verified_at } = JSON.parse(statement);
  return posted(as ?? id, { receipt_id, verified_at, ...signed });
}

/** Sends the form of a decision with what a passkey signed. */
function posted(id, passkey, note = "by hand") {
  return page.evaluate(async ({ id, passkey, note }) => {
    const fields = new URLSearchParams({ verdict: "approve", note, expires_in: "3600", passkey: JSON.stringify(passkey) });
    const answer = await fetch(`/ui/decisions/${id}`, { method: "POST", body: fields, redirect: "manual" });
    const text = await answer.text();
    return { status: answer.status, why: /role="alert"[^>]*id="refused">.*?<p>(.*?)<\/p>/s.exec(text)?.[1] ?? text.slice(0, 300) };
  }, { id, passkey, note });
}

async function refused(found, status, words) {
  const { status: answered, why } = await found;
  check(answered === status && why.replaceAll(/<[^>]*>/g, "").includes(words), `${answered}: ${why}`);
}

// ---- a passkey by itself makes nobody a reviewer
const first = await ask("O-1");
const command = await made("ann");
check(/^proofmark reviewer add ann --passkey es256:[0-9a-f]{128}@http:\/\/localhost:\d+ --role ROLE --policy FILE$/.test(command), command);
await page.goto(`${address}/ui/decisions/${first}`);
equal(await page.locator("#approve-with-passkey").count(), 0, "nobody is listed");
equal((await posted(first, { receipt_id: "x" })).status, 400, "it is no assertion");

// ---- the policy's owner lists it, and it approves once
listed(command, "finance-lead");
await opened(first);
await page.fill("#note", "Checked against invoice 7731.");
await page.click("button[value=approve]");
check((await page.locator("#refused").innerText()).includes("Nothing was stored"), "without it nobody approves");
let body;
page.on("request", request => { if (request.method() === "POST" && request.postData()?.includes("passkey=%7B")) body = new URLSearchParams(request.postData()); });
await page.click("#approve-with-passkey");
await page.waitForURL("**said=*");
equal((await api("GET", `/v1/decisions/${first}`)).reviews.map(review => [review.reviewer, review.role]), [["ann", "finance-lead"]]);
equal(await outcome("O-1"), "allow");
equal(await outcome("O-1"), "replan_required", "it counts once");

// ---- what it signed counts for nothing else
const used = JSON.parse(body.get("passkey")), note = body.get("note");
const second = await ask("O-2");
await refused(posted(second, used, note), 422, "over something else than this approval");
await refused(posted(first, used, note), 409, "allowed");

// ---- what a passkey signs otherwise
await refused(sent(second, { challenge: "something else" }), 422, "over something else than this approval");
await refused(sent(await ask("O-3"), { as: second }), 422, "over something else than this approval");
const other = createServer((_, answer) => answer.setHeader("content-type", "text/html").end("<p>another page of this host</p>"));
await new Promise(listening => other.listen(0, "127.0.0.1", listening));
const elsewhere = await context.newPage();
await elsewhere.goto(`http://localhost:${other.address().port}/`);
const theirs = await context.newCDPSession(elsewhere);
await theirs.send("WebAuthn.enable");
const { credentials: [credential] } = await devtools.send("WebAuthn.getCredentials", { authenticatorId });
const copy = await theirs.send("WebAuthn.addVirtualAuthenticator", { options: {
  protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true,
} });
await theirs.send("WebAuthn.addCredential", { authenticatorId: copy.authenticatorId, credential: { ...credential, signCount: credential.signCount + 50 } });
await refused(sent(second, { elsewhere }), 422, "made on a page of another origin");
await elsewhere.close();
other.close();
await devtools.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: false });
await refused(sent(second, { verification: "discouraged" }), 422, "has not verified the user");
await devtools.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: true });

// ---- a copy of the authenticator that counts from an earlier number
const again = async signCount => {
  await devtools.send("WebAuthn.clearCredentials", { authenticatorId });
  await devtools.send("WebAuthn.addCredential", { authenticatorId, credential: { ...credential, signCount } });
};
await again(0);
await refused(sent(second), 422, "counts backwards");
await again(90);
equal((await sent(second)).status, 0, "a redirection: it was stored");
equal(await outcome("O-2"), "allow");

// ---- what it signed may reach further, where its holder chose so, until somebody ends it
const third = await ask("O-5");
await opened(third);
await page.fill("#note", "Parts of this order come back.");
await page.check("input[name=scope][value=pattern]");
await page.selectOption("select[name='bound args.amount']", "at_most");
await page.fill("input[name='limit args.amount']", "900");
await page.click("#approve-with-passkey");
await page.waitForURL("**said=*");
check((await page.request.get(`${address}/ui/decisions/${third}`)).ok(), "its page");
const part = amount => api("POST", "/v1/decisions", refund("O-5", amount));
const parts = [await part(800), await part(900), await part(901)];
equal(parts.map(decision => decision.outcome), ["allow", "allow", "replan_required"]);
const grant = parts[0].evidence.find(item => item.kind === "approval").document;
equal(grant.approval.scope.free, [{ path: ["args", "amount"], at_most: "900" }]);
await page.goto(`${address}/ui/receipts/${grant.receipt_id}`);
check((await page.locator("section[aria-labelledby=granted]").innerText()).includes("args.amount: a number from 0 to 900"), "the words of the grant");
await page.fill("#note", "The last part came back.");
await page.click("button:has-text('End it now')");
await page.waitForSelector("text=Ended by a reviewer");
equal((await part(800)).outcome, "replan_required", "it has ended");

// ---- a passkey that the policy does not list
await devtools.send("WebAuthn.clearCredentials", { authenticatorId });
await made("mallory");
await refused(sent(await ask("O-4")), 422, "to no passkey");
// The browser notes each refusal, and that RSA is not among the algorithms.
const NOTED = ["the server responded with a status of", "pubKeyCredParams"];
equal(faults.filter(fault => !NOTED.some(noted => fault.includes(noted))), [], "faults");
await browser.close();
