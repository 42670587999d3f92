//! Contracts, from the text of a workflow to the receipt of a judgment.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which may fail by panicking")]

mod acceptance;
mod budget;
mod following;
mod given;
mod judgments;
mod linting;
mod markdown;
mod policies;
mod reading;
mod responses;
mod reviewed;
mod rules;
mod schemas;
mod states;

use proofmark_contract::response::{self, Payload, ResponseError};
use proofmark_contract::{AttemptEvidence, Contract, Judgment, RuleResult, Workflow, WorkflowPolicy, evaluate};
use proofmark_evidence::ReceiptFact;
use proofmark_evidence::trace::{self, Trace};
use proofmark_receipt::document::{self, DocumentError, Format};
use proofmark_receipt::{Json, Timestamp};

/// 2026-03-01T00:00:00Z.
const NOW_MS: i64 = 1_772_323_200_000;

/// The spec's own block, word for word.
const SPEC_BLOCK: &str = r#"verification:
  onMissingEvidence: reject-and-retry
  retryPrompt: "Return missing screenshots and validation details."
  evidence:
    - path: visualVerification.performed
      expect: true
      rejectMessage: "Visual verification was not executed."
    - path: storybookInstance.url
      expect: present
      rejectMessage: "Storybook URL is missing."
  toolCalls:
    - name: open_simple_browser
"#;

fn yaml(text: &str) -> Json {
    document::parse(text.as_bytes(), Format::Yaml).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn read(text: &str) -> Result<Workflow, DocumentError> {
    Workflow::read(&yaml(text))
}

fn workflow(text: &str) -> Workflow {
    read(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn policy(text: &str) -> WorkflowPolicy {
    WorkflowPolicy::read(&yaml(text)).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn indented(text: &str, spaces: usize) -> String {
    text.lines().map(|line| format!("{}{line}\n", " ".repeat(spaces))).collect()
}

/// A workflow of one step `s` of this class, with these lines besides its id.
fn one_step(class: &str, rest: &str) -> Workflow {
    let tools = "tools: {mutating: [book_*, deploy], readonly: [get_*, open_simple_browser]}";
    workflow(&format!("name: w\nclass: {class}\n{tools}\nsteps:\n  - id: s\n{}", indented(rest, 4)))
}

fn contract(class: &str, rest: &str) -> Contract {
    Contract::of(&one_step(class, rest), "s", None, NOW_MS).unwrap_or_else(|error| panic!("{error}\n{rest}"))
}

fn calls(lines: &str) -> Trace {
    let text = if lines.is_empty() { "[]" } else { lines };
    trace::read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{lines}"))
}

fn judge(contract: &Contract, response: &str, trace: Option<&Trace>) -> Judgment {
    judge_with(contract, &response::extract(response.as_bytes()), trace, &[])
}

fn judge_with(
    contract: &Contract,
    payload: &Result<Payload, ResponseError>,
    trace: Option<&Trace>,
    receipts: &[ReceiptFact],
) -> Judgment {
    let receipts = proofmark_evidence::Evidence::new(receipts.to_vec());
    let now = Timestamp::from_unix_millis(NOW_MS);
    evaluate(contract, &AttemptEvidence { payload, trace, receipts: &receipts, now: &now, context: None })
}

fn rule<'j>(judgment: &'j Judgment, id: &str) -> &'j RuleResult {
    let found = judgment.rules.iter().find(|rule| rule.id == id);
    found.unwrap_or_else(|| panic!("no rule `{id}` in {:#?}", judgment.rules))
}
