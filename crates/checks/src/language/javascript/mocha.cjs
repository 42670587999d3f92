// Reports the tests of mocha as its `xunit` does, and tells which of them run.
const { reporters } = require('mocha');
const { tell } = require('./.proofmark-running.cjs');

module.exports = class extends reporters.XUnit {
  constructor(runner, options) {
    super(runner, options);
    for (const kind of ['test', 'hook']) {
      runner.on(kind, (one) => tell('+', one.fullTitle()));
      runner.on(`${kind} end`, (one) => tell('-', one.fullTitle()));
    }
  }
};
