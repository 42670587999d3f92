const test = require('node:test');
const assert = require('node:assert');
const { roman } = require('./exercises');

const CASES = { 1: 'I', 4: 'IV', 1994: 'MCMXCIV' };

test('cases', () => {
  for (const number of Object.keys(CASES)) {
    assert.strictEqual(roman(Number(number)), CASES[number]);
  }
});

test('cases with forEach', () => {
  Object.entries(CASES).forEach(([number, text]) => {
    assert.strictEqual(roman(Number(number)), text);
  });
});

test('zero', () => {
  assert.throws(() => roman(0), RangeError);
});

test('zero, by its message', () => {
  assert.throws(() => roman(0), { name: 'RangeError', message: 'only positive numbers' });
});

test('zero, by a pattern', () => {
  assert.throws(() => roman(-1), /positive/);
});

test('zero, by any error', () => {
  assert.throws(() => roman(-1));
});

test('one is not refused', () => {
  assert.doesNotThrow(() => roman(1));
});
