const { test, beforeEach } = require('node:test');
const assert = require('node:assert');
const { later, fails } = require('./exercises');

let value;
beforeEach(() => { value = 3; });

test('later', async () => {
  assert.strictEqual(await later(value), 3);
});

test('promise', () => later(4).then((found) => {
  assert.strictEqual(found, 4);
}));

test('rejects', async () => {
  await assert.rejects(fails(), TypeError);
});

test('rejects, by its message', async () => {
  await assert.rejects(() => fails(), { message: 'no such thing' });
});

test('callback', (t, done) => {
  setImmediate(() => {
    assert.strictEqual(value, 3);
    done();
  });
});

test('subtests', async (t) => {
  await t.test('inner', () => {
    assert.strictEqual(value, 3);
  });
});
