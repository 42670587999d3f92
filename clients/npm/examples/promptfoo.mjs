// An evaluation of promptfoo whose outputs are verified by running them. Its providers are scripted: one sorts, one does not.
// Run it where `proofmark` and `promptfoo` are installed: node promptfoo.mjs

import promptfoo from "promptfoo";

const request = {
  verification: {
    kind: "test_suite", language: "python", entrypoint: "sort_list",
    tests: [{ name: "basic", input: [[3, 1, 2]], expected: [1, 2, 3] }, { name: "empty", input: [[]], expected: [] }],
  },
};
const answers = ["def sort_list(xs):\n    return sorted(xs)\n", "def sort_list(xs):\n    return xs\n"];

const evaluation = await promptfoo.evaluate({
  writeLatestResults: false,
  prompts: ["Write `sort_list` in Python."],
  providers: answers.map(output => async () => ({ output })),
  tests: [{ assert: [{ type: "javascript", value: "package:proofmark/promptfoo:verified", config: { request } }] }],
}, { cache: false, maxConcurrency: 1, showProgressBar: false });
const { results } = await evaluation.toEvaluateSummary();
for (const { gradingResult } of results) {
  const [verified] = gradingResult.componentResults;
  console.log([verified, ...verified.componentResults].map(({ reason }) => reason.split("\n")[0]).join("; "));
}
