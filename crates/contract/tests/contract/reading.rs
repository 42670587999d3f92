use proofmark_contract::lint::{lint, lint_policy};
use proofmark_contract::workflow::{Action, Jitter, OnMissing, Strategy};
use proofmark_contract::{Class, Contract, Expect};

use super::{NOW_MS, SPEC_BLOCK, indented, one_step, policy, read, workflow};

#[test]
fn the_block_of_the_spec_is_read_word_for_word() {
    let workflow = one_step("readonly", SPEC_BLOCK);
    let verification = workflow.steps[0].verification.as_ref().unwrap();
    assert_eq!(verification.on_missing, OnMissing::RejectAndRetry);
    assert_eq!(verification.retry_prompt.as_deref(), Some("Return missing screenshots and validation details."));
    let paths: Vec<_> = verification.evidence.iter().map(|rule| rule.path.text()).collect();
    assert_eq!(paths, ["visualVerification.performed", "storybookInstance.url"]);
    assert_eq!(verification.evidence[0].expect, Expect::Equals(true.into()));
    assert_eq!(verification.evidence[1].expect, Expect::Present);
    assert_eq!(verification.evidence[1].reject_message.as_deref(), Some("Storybook URL is missing."));
    assert_eq!(verification.tool_calls[0].name, "open_simple_browser");
    assert_eq!(verification.tool_calls[0].count.min, 1);
}

#[test]
fn every_extension_is_read() {
    let text = r#"
name: deploy
description: what it is for
class: mutating
context: {ticket: string, budget: number}
tools: {mutating: [book_*], readonly: [get_*]}
onFailure: {maxAttempts: 2}
steps:
  - id: build
    agent: builder
    class: readonly
    prompt: "build {{context.ticket}}"
    outputs: [image]
    verification:
      onMissingEvidence: reject-and-abort
      evidence:
        - {id: size, path: $.items, expect: {predicate: "value.size() > 2 && context.budget > 1"}}
        - {path: "a.b[0].c", expect: absent}
        - {path: word, expect: {equals: present}}
      toolCalls:
        - id: read
          name: get_order
          when: payload.ui == true
          min: 1
          max: 3
          before: write
          args: {url: {expect: present}, "$.count": {expect: 3}}
          result: {ok: {expect: true}}
          status: any
        - {id: write, name: book_flight, exactArgs: {count: 1}, after: read, rejectMessage: "no"}
      receipts:
        - {verdict: pass, tier: [0, 1], suite: 'sha256:0000000000000000000000000000000000000000000000000000000000000000', output: payload.artifact_sha256, signer: trusted, max_age: 24h, single_use: true}
      noOtherMutations: true
    onFailure: {action: "goto:fix", maxAttempts: 3, retryStrategy: exponential, initialDelayMs: 500, maxDelayMs: 8000, jitter: full}
    next:
      - {when: payload.more == true, goto: fix}
      - {when: retriesExhausted, goto: abort}
      - {goto: end}
  - {id: fix, goto: end}
  - {id: end, terminal: true}
"#;
    let workflow = workflow(text);
    let step = &workflow.steps[0];
    assert_eq!(workflow.class_of(step), Class::Readonly);
    assert_eq!(workflow.class_of(&workflow.steps[1]), Class::Mutating);
    let on_failure = step.on_failure.as_ref().unwrap();
    assert_eq!(on_failure.action, Action::Goto("fix".into()));
    assert_eq!((on_failure.strategy, on_failure.jitter), (Strategy::Exponential, Jitter::Full));
    assert_eq!(workflow.next_steps(0), ["fix", "abort", "end"]);
    assert_eq!(workflow.on_failure_of(&workflow.steps[1]).unwrap().max_attempts, 2);
    let verification = step.verification.as_ref().unwrap();
    assert_eq!(verification.rules(), 6);
    assert_eq!(verification.receipts[0].demand.max_age_millis, Some(86_400_000));
    assert!(Contract::of(&workflow, "build", None, NOW_MS).is_ok());
}

#[test]
fn the_action_retry_is_abort_from_the_other_end() {
    let workflow = one_step("readonly", "onFailure: {action: retry}");
    assert_eq!(workflow.steps[0].on_failure.as_ref().unwrap().action, Action::Abort);
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let table = [
        ("class: mutating\nsteps: [{id: s}]", "`name`", "missing_field"),
        ("name: w\nclass: writing\nsteps: [{id: s}]", "`class`", "invalid_value"),
        ("name: w\nclass: readonly\nsteps: []", "`steps`", "empty"),
        ("name: w\nclass: readonly\nsteps: {}", "`steps`", "wrong_type"),
        ("name: w\nclass: readonly\nsteps: [{id: s}, {id: s}]", "`steps[1]`", "duplicate_name"),
        ("name: w\nclass: readonly\nstep: [{id: s}]", "`step`", "unknown_field"),
        (
            "name: w\nclass: readonly\nsteps: [{id: s, terminal: true, next: t}]",
            "`steps[0].next`",
            "conflicting_fields",
        ),
        ("name: w\nclass: readonly\nsteps: [{id: s, goto: t, next: t}]", "`steps[0].next`", "conflicting_fields"),
        ("name: w\nclass: readonly\nsteps: [{id: s, next: []}]", "`steps[0].next`", "empty"),
        ("name: w\nclass: readonly\ncontext: {a: text}\nsteps: [{id: s}]", "`context.a`", "invalid_value"),
    ];
    for (text, place, code) in table {
        let error = read(text).expect_err(text);
        assert_eq!((error.place().to_string().as_str(), error.code()), (place, code), "{text}: {error}");
    }
}

#[test]
fn what_is_wrong_in_a_verification_is_named_with_its_place() {
    let table = [
        ("onMissingEvidence: retry", "onMissingEvidence", "invalid_value"),
        ("onmissingEvidence: warn", "onmissingEvidence", "unknown_field"),
        ("evidence: [{path: a}]", "evidence[0].expect", "missing_field"),
        ("evidence: [{expect: present}]", "evidence[0].path", "missing_field"),
        ("evidence: [{path: a..b, expect: 1}]", "evidence[0].path", "invalid_value"),
        ("evidence: [{path: 'a[x]', expect: 1}]", "evidence[0].path", "invalid_value"),
        ("evidence: [{path: a, expect: {a: 1}}]", "evidence[0].expect.a", "unknown_field"),
        ("evidence: [{path: a, expect: {}}]", "evidence[0].expect.predicate", "missing_field"),
        ("evidence: [{path: a, expect: {predicate: a, equals: 1}}]", "evidence[0].expect", "conflicting_fields"),
        ("evidence: [{id: r, path: a, expect: 1}, {id: r, path: b, expect: 1}]", "evidence[1].id", "duplicate_name"),
        ("toolCalls: [{}]", "toolCalls[0].name", "missing_field"),
        ("toolCalls: [{name: ''}]", "toolCalls[0].name", "empty"),
        ("toolCalls: [{name: a, min: -1}]", "toolCalls[0].min", "invalid_value"),
        ("toolCalls: [{name: a, min: one}]", "toolCalls[0].min", "wrong_type"),
        ("toolCalls: [{name: a, args: {x: 1}}]", "toolCalls[0].args.x", "wrong_type"),
        ("toolCalls: [{name: a, args: {x: {expect: 1}}, exactArgs: {}}]", "toolCalls[0].args", "conflicting_fields"),
        ("toolCalls: [{name: a, exactArgs: []}]", "toolCalls[0].exactArgs", "wrong_type"),
        ("toolCalls: [{name: a, status: failed}]", "toolCalls[0].status", "invalid_value"),
        ("receipts: [{output: payload.sha}]", "receipts[0].suite", "missing_field"),
        ("receipts: [{kind: step_acceptance}]", "receipts[0].suite", "missing_field"),
        ("receipts: [{suite: checks.yaml}]", "receipts[0].suite", "invalid_value"),
        ("receipts: [{specification: payload.spec}]", "receipts[0].specification", "invalid_value"),
        ("receipts: [{any_suite: false}]", "receipts[0].any_suite", "invalid_value"),
        ("receipts: [{any_suite: true, specification: x}]", "receipts[0].specification", "conflicting_fields"),
        ("receipts: [{any_suite: true, kind: approval}]", "receipts[0].kind", "invalid_value"),
        ("receipts: [{any_suite: true, tests: x}]", "receipts[0].tests", "invalid_value"),
        ("receipts: [{any_suite: true, comparison: inside}]", "receipts[0].comparison", "invalid_value"),
        ("receipts: [{any_suite: true, verdict: good}]", "receipts[0].verdict", "invalid_value"),
        ("receipts: [{any_suite: true, tier: 4}]", "receipts[0].tier", "invalid_value"),
        ("receipts: [{any_suite: true, output: artifact}]", "receipts[0].output", "invalid_value"),
        ("receipts: [{any_suite: true, signer: me}]", "receipts[0].signer", "invalid_value"),
        ("receipts: [{any_suite: true, max_age: 1y}]", "receipts[0].max_age", "invalid_value"),
        ("receipts: [{any_suite: true, single_use: 1}]", "receipts[0].single_use", "wrong_type"),
        ("receipts: [{anySuite: true, singleUse: 1}]", "receipts[0].singleUse", "wrong_type"),
        ("receipts: [{anySuite: true, maxAge: 1h, max_age: 1h}]", "receipts[0].max_age", "conflicting_fields"),
        ("noOtherMutations: 1", "noOtherMutations", "wrong_type"),
        ("retryPrompt: [a]", "retryPrompt", "wrong_type"),
    ];
    for (line, place, code) in table {
        let text = format!("name: w\nclass: readonly\nsteps:\n  - id: s\n    verification:\n{}", indented(line, 6));
        let error = read(&text).expect_err(line);
        let place = format!("`steps[0].verification.{place}`");
        assert_eq!((error.place().to_string(), error.code()), (place, code), "{line}: {error}");
    }
}

#[test]
fn what_is_wrong_in_on_failure_is_named_with_its_place() {
    let table = [
        ("{action: stop}", ".action", "invalid_value"),
        ("{action: 'goto:'}", ".action", "invalid_value"),
        ("{maxAttempts: 0}", ".maxAttempts", "invalid_value"),
        ("{maxAttempts: 101}", ".maxAttempts", "invalid_value"),
        ("{retryStrategy: random}", ".retryStrategy", "invalid_value"),
        ("{jitter: half}", ".jitter", "invalid_value"),
        ("{initialDelayMs: 9, maxDelayMs: 8}", "", "conflicting_fields"),
        ("{attempts: 3}", ".attempts", "unknown_field"),
    ];
    for (block, place, code) in table {
        let error =
            read(&format!("name: w\nclass: readonly\nonFailure: {block}\nsteps: [{{id: s}}]")).expect_err(block);
        assert_eq!((error.place().to_string(), error.code()), (format!("`onFailure{place}`"), code), "{block}");
    }
}

#[test]
fn the_examples_of_the_reference_are_read_and_clean() {
    let reference = include_str!("../../../../docs/contracts.md");
    let blocks: Vec<_> = reference.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let [storybook, house] = blocks[..] else { panic!("{} blocks", blocks.len()) };
    let (storybook, house) = (workflow(storybook), policy(house));
    assert_eq!(lint(&storybook, Some(&house), NOW_MS).findings, []);
    assert_eq!(lint_policy(&house, &[], NOW_MS), []);
}
