const test = require('node:test');
const assert = require('node:assert');
const { Stock, total } = require('./stock.js');

test('total', () => {
  assert.strictEqual(total([1, 2, 3]), 6);
});

test('empty', () => {
  assert.strictEqual(total([]), 0);
});

test('name', () => {
  assert.strictEqual(new Stock('ab').name(), 'ab');
});

test('missing', () => {
  assert.throws(() => new Stock('ab').take('c'), RangeError);
});

test('count', () => {
  assert.strictEqual(new Stock('ab').count(), 2);
});
