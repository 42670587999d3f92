// Tells which tests of vitest run. What they answered is in another reporter's report.
import running from './.proofmark-running.cjs';

const { tell } = running;
const SIGNS = { run: '+', pass: '-', fail: '-', skip: '-' };

export default class {
  onInit(vitest) {
    this.vitest = vitest;
  }

  onTestModuleStart(module) {
    tell('+', module.relativeModuleId);
  }

  onTestModuleEnd(module) {
    tell('-', module.relativeModuleId);
  }

  onTestCaseReady(test) {
    this.hasCases = true;
    tell('+', test.module.relativeModuleId, test.fullName);
  }

  onTestCaseResult(test) {
    tell('-', test.module.relativeModuleId, test.fullName);
  }

  // All that versions before 3 say.
  onTaskUpdate(packs) {
    for (const [id, result] of this.hasCases ? [] : packs) {
      const task = this.vitest.state.idMap.get(id);
      const sign = SIGNS[result?.state];
      if (sign && task?.type !== 'suite') tell(sign, task?.file?.name, task === task?.file ? '' : task?.name);
    }
  }
}
