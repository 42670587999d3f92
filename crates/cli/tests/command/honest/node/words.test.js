const test = require('node:test');
const assert = require('node:assert');
const { words, find } = require('./exercises');

test('counts', () => {
  assert.deepStrictEqual(words('one fish two fish'), { one: 1, fish: 2, two: 1 });
});

test('none', () => {
  assert.deepEqual(words(''), {});
});

test('keys', () => {
  const found = Object.keys(words('b a b'));
  assert.deepEqual(found, ['b', 'a']);
  assert.equal(found.length, 2);
});

test('undefined', () => {
  assert.strictEqual(find([1], 2), undefined);
  assert.equal(find([null], null), null);
});

test('not equal', () => {
  assert.notStrictEqual(find([1], 1), '1');
  assert.notDeepEqual(words('a'), { a: 2 });
});

test('match', () => {
  assert.match(Object.keys(words('abc'))[0], /^a/);
});

test('skipped', { skip: true }, () => {
  assert.equal(1, 2);
});
