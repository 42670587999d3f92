const { describe, test } = require('node:test');
const { strictEqual, deepStrictEqual, ok } = require('node:assert');
const { Clock, area, primes } = require('./exercises');

describe('Clock', () => {
  test('on the hour', () => {
    strictEqual(new Clock(8).toString(), '08:00');
  });

  test('past the hour', () => {
    strictEqual(new Clock(11, 9).toString(), '11:09');
  });

  test('equal', () => {
    ok(new Clock(1).equals(new Clock(25)));
    strictEqual(new Clock(1).equals(new Clock(2)), false);
  });
});

describe('numbers', () => {
  test('area', () => {
    ok(Math.abs(area(1) - 3.14159) < 1e-4);
  });
  test('primes', () => {
    deepStrictEqual(primes(10), [2, 3, 5, 7]);
    deepStrictEqual(primes(1), []);
    strictEqual(primes(100).length, 25);
  });
  test('negative', () => { strictEqual(-primes(2)[0], -2); });
  test('big', () => { strictEqual(BigInt(primes(2)[0]) ** 64n, 18446744073709551616n); });
});
