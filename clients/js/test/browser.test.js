/** The suites and the page in Chromium. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { extname, join, normalize } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { splitDocuments } from "../src/chain.js";
import { BINARY, verified, written } from "./binary.js";
import { allVectors, conformance, PACKAGE, signatureData } from "./data.js";
import { checkpointText, LOG_FILES, newKey, proofFile } from "./logs.js";
import { mutant, sign, testKeys, unsignedDocument } from "./mutants.js";
import { toText } from "../src/canonical.js";

const MODULES = process.env.PROOFMARK_NODE_MODULES;
const CHROMIUM = process.env.PROOFMARK_CHROMIUM ?? "/usr/bin/chromium";
/** Where pictures are kept, if anywhere. */
const PICTURES = process.env.PROOFMARK_PICTURES;
const SEED = Number(process.env.PROOFMARK_SEED ?? Date.now() % 1_000_000_000);
/** Node.js is given more of them: the code is the same, and a browser has an engine of its own for signatures. */
const MUTANTS = 500;
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8" };
/** A name that is not this host's: pages of it are no secure context. */
const ELSEWHERE = "elsewhere.test";
const CHECK = pathToFileURL(join(PACKAGE, "check.html")).href;
const options = { skip: MODULES ? false : "PROOFMARK_NODE_MODULES names no folder with playwright-core" };

let browser, server, port, axe;

before(async () => {
  if (options.skip) return;
  const require = createRequire(join(MODULES, "x"));
  axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
  const args = ["--no-sandbox", "--disable-dev-shm-usage", `--host-resolver-rules=MAP ${ELSEWHERE} 127.0.0.1`];
  browser = await require("playwright-core").chromium.launch({ executablePath: CHROMIUM, args });
  server = createServer(serve).listen(0, "127.0.0.1");
  await new Promise(resolve => server.once("listening", resolve));
  port = server.address().port;
});

after(async () => {
  await browser?.close();
  server?.close();
});

/** The files of this package, and a page that is empty. */
function serve(request, response) {
  const path = normalize(new URL(request.url, "http://x").pathname);
  try {
    const body = path === "/" ? "<!doctype html><title>x</title>" : readFileSync(join(PACKAGE, path));
    response.writeHead(200, { "content-type": TYPES[path === "/" ? ".html" : extname(path)] ?? "text/plain" }).end(body);
  } catch {
    response.writeHead(404).end();
  }
}

/** An empty page of this host, or of another. */
async function emptyPage(host = "127.0.0.1", script) {
  const page = await browser.newPage();
  if (script) await page.addInitScript(script);
  await page.goto(`http://${host}:${port}/`);
  return page;
}

test("every vector is judged in Chromium as it should be", options, async () => {
  const page = await emptyPage();
  for (const [file, data] of allVectors()) {
    const wrong = await page.evaluate(async ([file, data]) => (await import("/test/suites.js")).vectors(file, data), [file, data]);
    assert.deepEqual(wrong, []);
  }
  await page.close();
});

test("signatures of other projects are judged strictly in Chromium", options, async context => {
  const data = signatureData();
  if (!data) return context.skip("no conformance data");
  const page = await emptyPage();
  const found = await page.evaluate(async data => (await import("/test/suites.js")).signatures(data), data);
  assert.deepEqual(found, { count: 1077, wrong: [] });
  await page.close();
});

test("logs of other projects are judged in Chromium as they should be", options, async context => {
  const page = await emptyPage();
  for (const [file, count] of Object.entries(LOG_FILES)) {
    const data = conformance("tlog", file);
    if (!data) return context.skip("no conformance data");
    const found = await page.evaluate(async ([file, data]) => (await import("/test/logs.js")).logCases(file, data), [file, data]);
    assert.deepEqual(found, { count, wrong: [] });
  }
  await page.close();
});

test(`mutants are judged in Chromium as the binary judges them (PROOFMARK_SEED=${SEED})`, options, async context => {
  if (!BINARY) return context.skip("PROOFMARK_BINARY names no binary");
  const keys = await testKeys(), trusted = keys[0].id;
  const mutants = await Promise.all(Array.from({ length: MUTANTS }, (_, number) => mutant(SEED, number, keys)));
  const { folder, remove } = written(mutants);
  const said = verified(folder, MUTANTS, { trusted });
  remove();
  const cases = mutants.flatMap((bytes, number) =>
    splitDocuments(bytes).map(({ line, bytes: one }) => {
      const name = line === null ? `./${number}` : `./${number}:${line}`;
      return { name, base64: Buffer.from(one).toString("base64"), profile: "vrf", trusted: [trusted], said: said.get(name) };
    }));
  assert.ok(cases.length >= MUTANTS);
  const page = await emptyPage();
  for (let from = 0; from < cases.length; from += 250) {
    const part = cases.slice(from, from + 250);
    const wrong = await page.evaluate(async part => (await import("/test/suites.js")).againstBinary(part), part);
    assert.deepEqual(wrong, []);
  }
  await page.close();
});

/** What `verify` says of a document in a page. */
function verifiedIn(page, text) {
  return page.evaluate(async text => {
    const { document: _, ...found } = await (await import("/src/index.js")).verify(text);
    return found;
  }, text);
}

/** What `verifyProof` says in a page of a proof of a log of this test. */
async function provenIn(page) {
  const log = await newKey("log.example/a", 1), entry = new Uint8Array(32);
  const file = await proofFile({ index: 0, entries: [entry], note: await log.signed(await checkpointText("log.example/a", [entry])) });
  return page.evaluate(async ([file, entry, logKeys]) => {
    const { answer, code, log } = await (await import("/src/index.js")).verifyProof(file, entry, { logKeys });
    return [answer, code, log];
  }, [file, "00".repeat(32), [log.vkey]]);
}

test("a browser that cannot check says so, and never that something is valid", options, async () => {
  const [, { cases }] = allVectors().find(([file]) => file === "receipt.json");
  const { receipt } = cases.find(({ name }) => name === "issued");
  const broken = {
    "another host, without https": [ELSEWHERE, undefined],
    "no Ed25519": ["127.0.0.1", "crypto.subtle.importKey = () => Promise.reject(new DOMException('x', 'NotSupportedError'))"],
    "an engine that fails": ["127.0.0.1", "crypto.subtle.verify = () => Promise.reject(new DOMException('x', 'OperationError'))"],
    "an engine that believes everything": ["127.0.0.1", "crypto.subtle.verify = () => Promise.resolve(true)"],
    "an engine that believes nothing": ["127.0.0.1", "crypto.subtle.verify = () => Promise.resolve(false)"],
  };
  for (const [name, [host, script]] of Object.entries(broken)) {
    const page = await emptyPage(host, script);
    const found = await verifiedIn(page, receipt);
    assert.deepEqual([found.answer, found.cause, found.trust, found.signer], ["undecidable", "cannot_check_here", "unknown", null], name);
    assert.ok(found.message && found.help);
    assert.deepEqual(await provenIn(page), ["undecidable", "cannot_check_here", "unknown"], name);
    // What needs no signature is still told.
    assert.equal((await verifiedIn(page, "{")).cause, "unexpected_end");
    await page.close();
  }
  const page = await emptyPage();
  assert.equal((await verifiedIn(page, receipt)).answer, "valid");
  assert.deepEqual(await provenIn(page), ["valid", null, "trusted"]);
  await page.close();
});

/** The page from disk or from elsewhere, with what it says to the console, asks for and blocks. */
async function checkPage(more = {}, address = CHECK) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...more });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const noise = [];
  page.on("console", message => noise.push(message.text()));
  page.on("pageerror", error => noise.push(String(error)));
  page.on("dialog", dialog => noise.push(dialog.message()));
  page.on("request", request => request.url() === address || request.url().startsWith("data:") || noise.push(request.url()));
  await page.goto(address);
  return { page, noise, close: () => context.close() };
}

function file(name, text) {
  return { name, mimeType: "application/octet-stream", buffer: Buffer.from(text) };
}

async function drop(page, ...files) {
  await page.setInputFiles("#files", files);
  await page.waitForFunction(count => document.querySelectorAll("#results > article").length >= count, files.filter(({ name }) => !name.startsWith("key")).length);
}

/** Opens everything that is folded, and what is folded in that. */
async function openAll(page) {
  for (let depth = 0; depth < 3; depth++) {
    await page.evaluate(() => document.querySelectorAll("details").forEach(one => { one.open = true; }));
    // The content is made when the event comes.
    await page.waitForTimeout(50);
  }
}

const HOSTILE = '<script>alert(1)</script>" onload="alert(1)\u202e\u2066\u200b\u0000\u001b[31m' + "x".repeat(500);

/** One of each thing that the page takes. */
async function everything() {
  const keys = await testKeys(), [{ id }] = keys;
  const [, { cases }] = allVectors().find(([name]) => name === "linked.json");
  const { documents, head } = cases.find(({ name }) => name === "decisions_and_their_head");
  const uuid = "00000000-0000-4000-8000-000000000000";
  const issued = toText(await sign(unsignedDocument(0, uuid, { verifier: HOSTILE }, id), keys[0]));
  const hostile = unsignedDocument(0, uuid, {}, id);
  hostile.get("task").set("description", HOSTILE);
  hostile.get("results").get("details")[1].set("name", HOSTILE).set("actual", HOSTILE.repeat(30));
  const entry = toText(await sign(unsignedDocument(2, uuid, {}, id), keys[0]));
  return {
    id,
    files: [
      file("issued.json", issued), file("forged.json", issued.replace('"partial"', '"pass"')), file("entry.json", entry),
      file("hostile\u202e<b>.json", toText(await sign(hostile, keys[0]))), file("chain.jsonl", documents.join("\n")),
      file("gap.jsonl", documents.filter((_, at) => at !== 1).join("\n")), file("head.json", head), file("note.txt", "not a receipt"),
    ],
    keys: file("key.pem", `-----BEGIN PUBLIC KEY-----\n${id}\n-----END PUBLIC KEY-----\n`),
    mine: "action_hash",
  };
}

test("the page works from disk: it sends nothing and runs nothing of what it is given", options, async () => {
  const { files, keys, mine } = await everything(), { page, noise, close } = await checkPage();
  await drop(page, ...files, keys);
  const cards = await page.locator("#results > article").allInnerTexts();
  const card = name => cards.find(text => text.includes(name)) ?? "";
  assert.match(card("issued.json"), /Valid: it is what was signed/);
  assert.match(card("forged.json"), /Invalid: it was changed after signing[\s\S]*content_hash_mismatch[\s\S]*Nothing of it is proven/);
  assert.match(card("entry.json"), /Entry of a session/);
  assert.match(card("chain.jsonl"), /Valid: every document and every link[\s\S]*whole: the signed head ends here/);
  assert.match(card("gap.jsonl"), /The chain is broken[\s\S]*gap: position 1 is missing/);
  assert.match(card("note.txt"), /Cannot be read as a receipt/);
  assert.match(card("hostileU+202E<b>.json"), /U\+202E U\+2066 U\+200B U\+0000 U\+001B/);
  assert.ok(!cards.join("").match(/[\u202e\u2066\u200b]/));
  assert.equal(await page.locator("#results script, #results b, #results [onload]").count(), 0);
  assert.ok(!card("issued.json").includes("key that you trust"), "a key that was dropped is not trusted yet");
  await page.getByLabel("I trust this key").check();
  assert.match(await page.locator("#results > article").first().innerText(), /Signed by a key that you trust/);
  await page.setInputFiles("#mine", file("action.bin", mine));
  await page.waitForFunction(() => document.querySelector("#mine-found")?.textContent?.includes("about this file"));
  assert.match(await page.locator("#mine-found").innerText(), /in chain\.jsonl, line 1, as binding\.action_hash/);
  await openAll(page);
  // Whatever ran in the page: it reaches nobody, and markup stays text.
  const blocked = await page.evaluate(async () => [
    await fetch("https://example.test/").then(() => "sent", () => "blocked"),
    (() => { try { document.body.innerHTML = "<b>x</b>"; return "parsed"; } catch { return "blocked"; } })(),
  ]);
  assert.deepEqual(blocked, ["blocked", "blocked"]);
  assert.deepEqual(noise.filter(line => !/Content Security Policy|TrustedHTML|Fetch API cannot load/.test(line)), []);
  await close();
  const quiet = await checkPage();
  await drop(quiet.page, ...files, keys);
  assert.deepEqual(quiet.noise, []);
  await quiet.close();
});

test("text can be pasted, keys written and everything removed by keyboard alone", options, async () => {
  const { id, files } = await everything(), { page, noise, close } = await checkPage();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "To the content");
  await page.locator("summary", { hasText: "Paste text" }).press("Enter");
  await page.getByLabel("The text of a receipt").fill(files[0].buffer.toString());
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#results > article");
  assert.match(await page.locator("#status").innerText(), /^Valid: it is what was signed\. pasted text 1/);
  await page.getByLabel("A public key that you trust").fill("no key");
  await page.keyboard.press("Enter");
  assert.match(await page.locator("#status").innerText(), /not an Ed25519 public key/);
  await page.getByLabel("A public key that you trust").fill(id);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("#results")?.textContent?.includes("Signed by a key that you trust"));
  await page.locator("#keys input").press("Space");
  assert.match(await page.locator("#results").innerText(), /Compare it with the issuer/);
  await page.getByRole("button", { name: "Remove pasted text 1" }).press("Enter");
  assert.equal(await page.locator("#results > article").count(), 0);
  assert.equal(await page.evaluate(() => document.activeElement?.id), "found");
  assert.deepEqual(noise, []);
  await close();
});

test("a key that has ended is not trusted for what is dated later", options, async () => {
  const { id, files } = await everything(), { page, noise, close } = await checkPage();
  const x = Buffer.from(id, "base64").subarray(12).toString("base64url");
  const jwk = end => file(`key-${end}.jwk`, `{"kty":"OKP","crv":"Ed25519","x":"${x}","exp":${end}}`);
  const named = name => page.locator("#results > article").filter({ hasText: name });
  await drop(page, ...files.filter(({ name }) => ["issued.json", "chain.jsonl", "head.json"].includes(name)), jwk(1));
  await page.getByLabel("I trust this key").check();
  assert.match(await page.locator("#keys").innerText(), /ends .*1970-01-01T00:00:01\.000Z/);
  for (const name of ["issued.json", "chain.jsonl", "head.json"]) {
    assert.match(await named(name).innerText(), /Dated when the key that you trust had ended/, name);
  }
  await page.setInputFiles("#files", [jwk(4000000000)]);
  await page.getByLabel("I trust this key").nth(1).check();
  for (const name of ["issued.json", "chain.jsonl", "head.json"]) {
    assert.match(await named(name).innerText(), /Signed by a key that you trust/, name);
  }
  assert.deepEqual(noise, []);
  await close();
});

test("files can be dropped anywhere on the page", options, async () => {
  const { files } = await everything(), { page, close } = await checkPage();
  const text = files[0].buffer.toString();
  const dropOn = (selector, text, name) => page.evaluate(([selector, text, name]) => {
    const data = new DataTransfer();
    data.items.add(new File([text], name));
    document.querySelector(selector).dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
  }, [selector, text, name]);
  await dropOn("h1", text, "dropped.json");
  await page.waitForSelector("#results > article");
  await dropOn("#mine-drop", "x", "mine.txt");
  await page.waitForFunction(() => document.querySelector("#mine-found")?.textContent?.includes("mine.txt"));
  assert.equal(await page.locator("#results > article").count(), 1);
  await close();
});

test("without a script the page says so", options, async () => {
  const { page, close } = await checkPage({ javaScriptEnabled: false });
  assert.match(await page.locator("main").innerText(), /script, which is switched off/);
  await close();
});

test("where a browser cannot check, the page says so", options, async () => {
  const { files, keys } = await everything(), { page, noise, close } = await checkPage({}, `http://${ELSEWHERE}:${port}/check.html`);
  await drop(page, ...files.filter(({ name }) => name !== "note.txt"), keys);
  const cards = await page.locator("#results > article").allInnerTexts();
  assert.ok(cards.every(card => /cannot check|cannot be checked/.test(card)), cards.join("\n\n"));
  assert.ok(!/Valid:|is what was signed|key that you trust/.test(cards.join("\n")));
  await page.setInputFiles("#mine", file("mine.bin", "action_hash"));
  await page.waitForFunction(() => document.querySelector("#mine-found")?.textContent?.includes("cannot be hashed here"));
  assert.deepEqual(noise, []);
  await close();
});

for (const colours of ["light", "dark", "forced"]) {
  test(`axe finds nothing, and nothing scrolls sideways (${colours})`, options, async () => {
    const { files, keys } = await everything();
    const { page, close } = await checkPage(colours === "forced" ? { forcedColors: "active" } : { colorScheme: colours });
    const audit = async state => {
      for (const width of [1280, 390, 320]) {
        await page.setViewportSize({ width, height: 900 });
        // What makes a page hard to use depends on its colours and on its width, and not on both together.
        if (width === 1280 || colours === "light") assert.deepEqual(await findings(page), [], `${state}, ${width} px`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= width, `${state} is ${wide} px wide at ${width} px`);
        if (PICTURES) await picture(page, `check-${state}-${colours}-${width}`);
      }
    };
    await page.evaluate(axe);
    await audit("empty");
    await drop(page, ...files, keys);
    await page.setInputFiles("#mine", file("mine.bin", "action_hash"));
    await page.waitForFunction(() => document.querySelector("#mine-found")?.textContent?.includes("about this file"));
    await openAll(page);
    await audit("full");
    await close();
  });
}

async function findings(page) {
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(node => node.html.slice(0, 200)).join(" | ")}`);
}

async function picture(page, name) {
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
}
