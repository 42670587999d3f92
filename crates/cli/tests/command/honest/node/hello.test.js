const { test } = require('node:test');
const assert = require('node:assert/strict');
const { hello } = require('./exercises');

test('default', () => {
  assert.equal(hello(), 'Hello, World!');
});

test("a name isn't left out", () => assert.strictEqual(hello('Ada'), 'Hello, Ada!'));

test('template', () => {
  const name = 'x';
  assert.equal(hello(name), `Hello, ${name}!`);
});

test('plain template', () => {
  assert.equal(hello('y'), `Hello, y!`)
})
