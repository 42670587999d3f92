//! What a decision costs grows with its request, and not faster.

use std::fs;

use proofmark_boundary::{ActionPolicy, MAX_REQUEST_VALUES, Request};
use proofmark_receipt::Json;

use crate::support::{decided, policy};

/// The search for changes tries many requests that differ in one argument.
const POLICY: &str = "version: 1
boundaries:
  - id: b
    match: {}
    when: 'action.args.a0 != 7'
    require:
      - {fact: 'action.args.a1 == 2'}
      - {fact: 'action.args.a2 == 3 || action.args.a3 == 4'}
      - {tool_call: {name: test}}
      - {approval: {role: lead}}
";

fn with_arguments(count: usize) -> Json {
    let arguments: Vec<String> = (0..count).map(|number| format!("\"a{number}\":0")).collect();
    let text =
        format!(r#"{{"action":{{"tool":"t","class":"generic","args":{{{}}}}},"calls":[]}}"#, arguments.join(","));
    let limits = proofmark_receipt::json::Limits { max_bytes: text.len(), ..Default::default() };
    Json::parse_with(text.as_bytes(), limits).unwrap()
}

/// The nanoseconds that this thread has had a processor for (proc(5), `schedstat`): other processes do not count.
fn processor_time() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}

fn cost(policy: &ActionPolicy, arguments: usize) -> u64 {
    let document = with_arguments(arguments);
    let begun = processor_time();
    let decision = decided(policy, &Request::read(&document).unwrap(), Vec::new());
    let cost = processor_time() - begun;
    assert!(!decision.allows() && !decision.changes().is_empty());
    cost
}

#[test]
fn a_decision_costs_as_much_as_its_arguments_are_many() {
    let policy = policy(POLICY);
    cost(&policy, 1_000);
    let (some, many) = (cost(&policy, 1_000), cost(&policy, 16_000));
    // Sixteen times the arguments. Where each was compared with each it was two hundred times the work.
    assert!(many < 64 * some, "{many} {some}");
}

#[test]
fn a_request_has_a_limit_of_values() {
    let few = with_arguments(MAX_REQUEST_VALUES - 6);
    assert!(Request::read(&few).is_ok());
    let error = Request::read(&with_arguments(MAX_REQUEST_VALUES)).unwrap_err();
    assert_eq!(error.code(), "too_many");
    assert!(error.to_string().contains("more than 200000 values"), "{error}");
}
