import assert from "node:assert/strict";
import { test } from "node:test";

import { canonical, parse } from "../src/index.js";
import { allVectors, conformance, signatureData } from "./data.js";
import { signatures, vectors } from "./suites.js";

for (const [file, data] of allVectors()) {
  test(`vectors: ${file}`, async () => {
    assert.deepEqual(await vectors(file, data), []);
  });
}

test("signatures of other projects are judged strictly", async context => {
  const data = signatureData();
  if (!data) return context.skip("no conformance data");
  assert.deepEqual(await signatures(data), { count: 1077, wrong: [] });
});

test("JSON of other projects is read strictly", context => {
  const files = conformance("json-parsing");
  if (!files) return context.skip("no conformance data");
  const accepted = ([, bytes]) => {
    try {
      return parse(bytes) !== undefined;
    } catch {
      return false;
    }
  };
  const wrong = files.filter(([name, bytes]) => {
    // Duplicate keys are JSON, and refused all the same.
    const due = name.startsWith("y_") && !name.includes("duplicated_key");
    return !name.startsWith("i_") && accepted([name, bytes]) !== due;
  });
  assert.deepEqual(wrong.map(([name]) => name), []);
  assert.equal(files.length, 318);
});

test("RFC 8785's examples have their canonical form", context => {
  const [input, output] = [conformance("jcs", "input"), conformance("jcs", "output")];
  if (!input) return context.skip("no conformance data");
  for (const [name, bytes] of input) {
    const [, due] = output.find(([other]) => other === name);
    assert.equal(canonical(parse(bytes), "jcs"), due.toString(), name);
  }
});
