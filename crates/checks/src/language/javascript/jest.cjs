// Reports the tests of jest in TAP.
const fs = require('fs');
const path = require('path');
const { tell } = require('./.proofmark-running.cjs');

const REPORT = path.join(__dirname, '.proofmark-report.tap');
const MAX_TEXT = 8000;

const line = (text) => String(text).split(/\s+/).join(' ').replace(/[\\#]/g, '\\$&');
const block = (key, text) =>
  text ? `  ${key}: |-\n${text.slice(0, MAX_TEXT).split(/\r?\n/).map((part) => `    ${part}`).join('\n')}\n` : '';
const plain = (text) => String(text).replace(/\u001b\[[0-9;]*m/g, '');

module.exports = class {
  constructor() {
    this.tests = [];
  }

  onTestFileStart(test) {
    tell('+', path.relative(__dirname, test.path));
  }

  onTestCaseStart(test, info) {
    tell('+', path.relative(__dirname, test.path), ...info.ancestorTitles, info.title);
  }

  onTestCaseResult(test, result) {
    tell('-', path.relative(__dirname, test.path), ...result.ancestorTitles, result.title);
  }

  onTestFileResult(test) {
    tell('-', path.relative(__dirname, test.path));
  }

  add(ok, name, directive, error, milliseconds) {
    const [message, stack] = [[], []];
    // The heading that jest puts above the error of a file that does not load.
    const text = plain(error || '').replace(/^\s*● .*\n\s*/, '');
    for (const part of text.split('\n')) (/^\s+at /.test(part) ? stack : message).push(part);
    const why = error ? block('message', message.join('\n')) + block('stack', stack.join('\n')) : '';
    const time = Number.isFinite(milliseconds) ? `  duration_ms: ${milliseconds}\n` : '';
    const notes = why || time ? `  ---\n${time}${why}  ...\n` : '';
    this.tests.push(`${ok ? 'ok' : 'not ok'} ${this.tests.length + 1} - ${name}${directive}\n${notes}`);
  }

  onRunComplete(contexts, results) {
    for (const file of results.testResults) {
      const name = path.relative(__dirname, file.testFilePath);
      if (file.testExecError) this.add(false, line(name), '', file.failureMessage || file.testExecError.message);
      else if (file.testResults.length === 0) this.add(true, line(name), ' # SKIP it ran no tests');
      for (const test of file.testResults) {
        const whole = line([name, ...test.ancestorTitles, test.title].join(' > '));
        if (test.status === 'passed' || test.status === 'failed') {
          this.add(test.status === 'passed', whole, '', test.failureMessages.join('\n'), test.duration);
        } else this.add(true, whole, test.status === 'todo' ? ' # TODO' : ' # SKIP');
      }
    }
    fs.writeFileSync(REPORT, `TAP version 14\n1..${this.tests.length}\n${this.tests.join('')}`);
  }
};
