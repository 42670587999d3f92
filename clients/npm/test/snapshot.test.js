/** Arguments that are not JSON are refused before the decider is asked; JSON is decided on unchanged. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { runInNewContext } from "node:vm";

import { Guard, NoDecision, guarded } from "proofmark";

import { recorded } from "./support.js";

/** What a decider is asked with these arguments; it never allows. */
async function asked(input) {
  const requests = [];
  const decider = { decideText: async request => requests.push(request) && "{}", reviewed: async () => 0, pageOf: () => undefined, report: async () => ({}) };
  const { inputs, run } = recorded();
  const error = await guarded(run, { guard: new Guard(decider), tool: "note" })(input).catch(error => error);
  assert.ok(error instanceof NoDecision, `${error}`);
  assert.deepEqual(inputs, []);
  return { text: requests[0] && /"args":(.*)\},"agent":/s.exec(requests[0])[1], message: error.message };
}

const cyclic = { a: [] };
cyclic.a.push(cyclic);
const hidden = Object.defineProperty({}, "a", { value: 1, enumerable: false });
let deep = 1;
for (let level = 0; level < 61; level++) deep = [deep];

const REFUSED = {
  "a function": [{ run: () => 1 }, /`input\.run` is a function/],
  "a symbol": [{ a: Symbol("x") }, /`input\.a` is a symbol/],
  "a member named by a symbol": [{ [Symbol("x")]: 1 }, /Symbol\(x\)/],
  "a BigInt": [{ a: 1n }, /is a bigint/],
  "undefined in an array": [{ a: [1, undefined] }, /`input\.a\[1\]` is undefined/],
  "a hole in an array": [{ a: [1, , 2] }, /holes/],
  "an array with a member": [{ a: Object.assign([1], { b: 2 }) }, /members beside its items/],
  "NaN": [{ a: NaN }, /is NaN/],
  "Infinity": [{ a: -Infinity }, /is -Infinity/],
  "-0": [{ a: -0 }, /is -0/],
  "a cycle": [cyclic, /`input\.a\[0\]` is inside itself/],
  "a getter": [{ get a() { throw new Error("it ran"); } }, /computes its member `a`/],
  "a hidden member": [hidden, /hides its member/],
  "toJSON": [{ a: 1, toJSON: () => ({ a: 2 }) }, /`input\.toJSON` is a function/],
  "a date": [{ at: new Date(0) }, /`input\.at` is of a class/],
  "a map": [new Map([["a", 1]]), /is of a class/],
  "a class": [new (class A { a = 1; })(), /is of a class/],
  "an array of a class": [new (class A extends Array {})(), /is of a class/],
  "what inherits": [Object.create({ amount: 1 }), /is of a class/],
  "a boxed number": [{ a: Object(1) }, /is of a class/],
  "half of a pair": [{ a: "\ud800" }, /surrogate/],
  "half of a pair in a name": [{ "\udc00": 1 }, /surrogate/],
  "depth": [deep, /levels deep/],
  "many values": [{ a: Array(100_001).fill(0) }, /100000 values/],
  "many bytes": [{ a: "x".repeat(1_000_001) }, /1000000 bytes/],
  "many bytes in parts": [{ a: Array(50).fill("x".repeat(30_000)) }, /1000000 bytes/],
  "many bytes in names": [Object.fromEntries(Array.from({ length: 50 }, (_, index) => [index + "x".repeat(30_000), 1])), /1000000 bytes/],
};

for (const [name, [input, message]] of Object.entries(REFUSED)) {
  test(`${name} is refused before the decider is asked`, async () => {
    const found = await asked(input);
    assert.equal(found.text, undefined);
    assert.match(found.message, message);
  });
}

test("what is JSON is asked about as it is", async () => {
  const values = [
    {}, [], null, true, "a \"\\ \u0000 \u2028 é 😀", 0, 1e21, 5e-324, 1.5, 2 ** 53, { b: 1, a: [{ c: null }] }, JSON.parse('{"__proto__": {"a": 1}, "a": 2}'),
    { toJSON: 1 }, Object.assign(Object.create(null), { a: 1 }), { 10: 1, 9: 2 }, runInNewContext("({a: [1, {b: 2}]})"),
  ];
  for (const value of values) assert.equal((await asked(value)).text, JSON.stringify(value));
  const same = { a: 1 };
  assert.equal((await asked({ one: same, other: same, left: undefined })).text, '{"one":{"a":1},"other":{"a":1}}');
});

test("what others added to the prototypes of all objects changes nothing", async () => {
  Object.prototype.toJSON = () => ({ amount: 1 });
  try {
    assert.equal((await asked({ amount: 1_000 })).text, '{"amount":1000}');
  } finally {
    delete Object.prototype.toJSON;
  }
});

test("an object that answers differently each time is read once", async () => {
  let reads = 0;
  const input = new Proxy({ amount: 1 }, {
    getOwnPropertyDescriptor: () => ({ value: ++reads, writable: true, enumerable: true, configurable: true }),
  });
  assert.equal((await asked(input)).text, '{"amount":1}');
  assert.equal(reads, 1);
});
