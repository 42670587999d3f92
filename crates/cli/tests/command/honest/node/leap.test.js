const { describe, it } = require('node:test');
const assert = require('node:assert');
const { leap } = require('./exercises');

describe('leap', () => {
  it('is a leap year', () => {
    assert.strictEqual(leap(2000), true);
  });

  it('is none', function () {
    assert.ok(!leap(1900));
  });

  describe('of a century', () => {
    for (const [year, expected] of [[2400, true], [2100, false]]) {
      it(`is right for ${year}`, () => {
        assert.equal(leap(year), expected);
      });
    }
  });
  it('is truthy', () => { assert(leap(4)); });
});
