// Tells which tests of `node --test` run. What they answered is in another reporter's report.
const path = require('path');
const { tell } = require('./.proofmark-running.cjs');

const SIGNS = { 'test:dequeue': '+', 'test:complete': '-', 'test:pass': '-', 'test:fail': '-' };

module.exports = async function* (events) {
  for await (const { type, data } of events) {
    if (!SIGNS[type]) continue;
    const file = data.file ? path.relative(__dirname, data.file) : '';
    // The runner takes each file for a test as well.
    const isFile = path.resolve(__dirname, data.name) === data.file;
    tell(SIGNS[type], file, isFile ? '' : data.name);
  }
};
