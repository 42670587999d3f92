use std::collections::BTreeSet;

use proofmark_contract::lint::{DocumentKind, Severity, lint, lint_policy};

use super::{NOW_MS, SPEC_BLOCK, indented, one_step, policy, workflow};

const HEAD: &str =
    "name: w\nclass: readonly\ncontext: {ticket: string}\ntools: {mutating: [book_*], readonly: [get_*]}\n";
const GOOD: &str = "verification:
  retryPrompt: Say more.
  evidence: [{path: a, expect: 1}]
  toolCalls: [{name: get_order}]
onFailure: {action: abort, maxAttempts: 3}";

/// What is found beside `self-stated`, which most of these short steps are.
fn found(text: &str) -> Vec<(&'static str, String)> {
    let findings = lint(&workflow(text), None, NOW_MS).findings.into_iter();
    findings.filter(|finding| finding.code != "self-stated").map(|finding| (finding.code, finding.path)).collect()
}

/// A workflow of steps that all prove something, each with these lines besides.
fn steps(lines: &[(&str, &str)]) -> String {
    let steps = lines.iter().map(|(id, rest)| format!("  - id: {id}\n{}{}", indented(GOOD, 4), indented(rest, 4)));
    format!("{HEAD}steps:\n{}", steps.collect::<String>())
}

fn one(block: &str) -> Vec<(&'static str, String)> {
    let text = format!(
        "{HEAD}steps:\n  - id: s\n    onFailure: {{maxAttempts: 3}}\n    verification:\n      retryPrompt: more\n"
    );
    found(&format!("{text}{}", indented(block, 6)))
}

#[test]
fn good_workflows_are_clean() {
    let good = [
        steps(&[("a", "")]),
        steps(&[("a", ""), ("b", ""), ("c", "")]),
        steps(&[("a", "next: c"), ("b", "terminal: true"), ("c", "goto: b")]),
        steps(&[
            ("a", "next: [{when: payload.more == true, goto: b}, {goto: c}]"),
            ("b", "next: c"),
            ("c", "terminal: true"),
        ]),
        steps(&[("a", "outputs: [url]"), ("b", "prompt: 'open {{a.url}} and {{ a.a }} for {{context.ticket}}'")]),
    ];
    for text in good {
        assert_eq!(found(&text), [], "{text}");
    }
    let spec = one_step("readonly", &format!("{SPEC_BLOCK}onFailure: {{maxAttempts: 3}}"));
    assert_eq!(lint(&spec, None, NOW_MS).findings, []);
}

#[test]
fn graphs_that_do_not_end_are_found() {
    let table = [
        (steps(&[("a", "next: a")]), vec![("self-goto", "steps[0].next")]),
        // One mistake is one finding, whatever else follows from it.
        (steps(&[("a", "next: gone"), ("b", "")]), vec![("unknown-step", "steps[0].next")]),
        (
            steps(&[("a", ""), ("b", "next: gone"), ("c", "prompt: 'see {{a.a}}, {{b.a}}'"), ("d", "")]),
            vec![("unknown-step", "steps[1].next")],
        ),
        (steps(&[("a", "next: b"), ("b", "goto: a")]), vec![("cycle", "steps[1].goto")]),
        (steps(&[("a", ""), ("b", ""), ("c", "next: b")]), vec![("cycle", "steps[2].next")]),
        (
            steps(&[("a", "next: gone"), ("b", "next: b"), ("c", "next: b")]),
            vec![("unknown-step", "steps[0].next"), ("self-goto", "steps[1].next")],
        ),
        (steps(&[("a", ""), ("b", "next: abort")]), vec![("no-terminal", "steps[0]"), ("no-terminal", "steps[1]")]),
        (
            steps(&[("a", "next: d"), ("b", "next: c"), ("c", "next: b"), ("d", "")]),
            vec![("cycle", "steps[2].next"), ("unreachable-step", "steps[1]"), ("unreachable-step", "steps[2]")],
        ),
        (steps(&[("a", "next: c"), ("b", ""), ("c", "")]), vec![("unreachable-step", "steps[1]")]),
        (steps(&[("abort", "")]), vec![("reserved-step-id", "steps[0].id")]),
    ];
    for (text, expected) in table {
        let expected: Vec<_> = expected.into_iter().map(|(code, path)| (code, path.to_owned())).collect();
        assert_eq!(found(&text), expected, "{text}");
    }
}

#[test]
fn a_goto_on_failure_is_a_way_too() {
    let text = steps(&[("a", ""), ("b", "")]).replacen("{action: abort", "{action: 'goto:b'", 1);
    assert_eq!(found(&text), []);
    let back = steps(&[("a", ""), ("b", "")]);
    let at = back.rfind("{action: abort").unwrap();
    let back = format!("{}{{action: 'goto:a'{}", &back[..at], &back[at + "{action: abort".len()..]);
    assert_eq!(found(&back)[0], ("cycle", "steps[1].onFailure.action".to_owned()));
}

#[test]
fn a_conditional_goto_has_a_guard_and_an_otherwise() {
    let unguarded = |next: &str| steps(&[("a", next), ("b", "")]).replace("{action: abort, ", "{");
    // `onFailure` without an action aborts too.
    assert_eq!(found(&unguarded("next: [{when: payload.x == 1, goto: b}, {goto: b}]")), []);
    let bare = |next: &str| {
        let text = steps(&[("a", next), ("b", "")]);
        format!(
            "{}onFailure: {{maxAttempts: 3}}\n",
            text.replace("    onFailure: {action: abort, maxAttempts: 3}\n", "")
        )
    };
    let table = [
        ("next: [{when: payload.x == 1, goto: b}, {goto: b}]", vec!["unguarded-goto"]),
        ("next: [{when: payload.x == 1, goto: b}, {when: retriesExhausted, goto: abort}, {goto: b}]", vec![]),
        ("next: [{when: payload.x == 1, goto: b}, {when: retriesExhausted, goto: abort}]", vec!["no-otherwise"]),
        (
            "next: [{goto: b}, {when: payload.x == 1, goto: b}, {when: retriesExhausted, goto: abort}]",
            vec!["dead-branch"],
        ),
    ];
    for (next, expected) in table {
        let codes: Vec<_> = found(&bare(next)).into_iter().map(|(code, _)| code).collect();
        assert_eq!(codes, expected, "{next}");
    }
}

#[test]
fn references_that_resolve_to_nothing_are_found() {
    let table = [
        ("{{context.gone}}", "unresolved-reference"),
        ("{{ticket}}", "unresolved-reference"),
        ("{{nobody.a}}", "unresolved-reference"),
        ("{{a.gone}}", "unresolved-reference"),
        ("{{c.a}}", "unresolved-reference"),
        ("{{a.a", "malformed-reference"),
    ];
    for (reference, code) in table {
        let text = steps(&[("a", ""), ("b", &format!("prompt: \"see {reference}\"")), ("c", "")]);
        assert_eq!(found(&text), [(code, "steps[1].prompt".to_owned())], "{reference}");
    }
}

#[test]
fn a_reference_is_compared_with_the_whole_path_of_the_evidence() {
    let evidence = "evidence: [{path: cause.file, expect: present}, {path: '$.list[*].name', expect: present}]";
    let text = |reference: &str| {
        steps(&[("a", "outputs: [note]"), ("b", &format!("prompt: \"see {reference}\""))]).replacen(
            "evidence: [{path: a, expect: 1}]",
            evidence,
            1,
        )
    };
    for known in ["{{a.cause}}", "{{a.cause.file}}", "{{a.cause.file.name}}", "{{a.list[0].name}}", "{{a.note.x}}"] {
        assert_eq!(found(&text(known)), [], "{known}");
    }
    for (doubtful, severity) in [("{{a.cause.line}}", Severity::Warning), ("{{a.causes}}", Severity::Error)] {
        let findings = lint(&workflow(&text(doubtful)), None, NOW_MS).findings;
        let [finding] = findings.as_slice() else { panic!("{doubtful}: {findings:?}") };
        assert_eq!((finding.code, finding.severity), ("unresolved-reference", severity), "{doubtful}");
        assert!(finding.message.contains(doubtful), "{finding:?}");
    }
}

#[test]
fn the_help_for_a_wrong_name_of_a_step_is_the_nearest_name() {
    let text = steps(&[("analyse", "next: relase"), ("release", "prompt: 'see {{analise.a}}'")]);
    let helps: Vec<_> = lint(&workflow(&text), None, NOW_MS).findings.into_iter().map(|finding| finding.help).collect();
    assert_eq!(helps, ["did you mean `release`?", "did you mean `analyse`?"]);
}

#[test]
fn conditions_that_cannot_be_read_are_found_all_at_once() {
    let found = one("evidence: [{path: '$[', expect: present}, {path: a, expect: {predicate: value >}}]
toolCalls:
  - {name: get_a, when: payload.x = 1}
  - {name: get_b, when: \"context.gone == 'a'\"}
  - {name: get_c, when: \"calls[0].name == 1\"}
  - {name: get_d, args: {x: {expect: {predicate: nothing}}}}");
    let expected = [
        "evidence[0].path",
        "evidence[1].expect.predicate",
        "toolCalls[0].when",
        "toolCalls[1].when",
        "toolCalls[2].when",
        "toolCalls[3].args.x.expect.predicate",
    ];
    let expected = expected.map(|path| ("invalid-condition", format!("steps[0].verification.{path}")));
    assert_eq!(found, expected);
}

#[test]
fn rules_that_do_nothing_or_contradict_are_found() {
    let table = [
        ("evidence: [{path: a, expect: 1}, {path: a, expect: 1}]", vec![("duplicate-rule", "evidence[1]")]),
        ("evidence: [{path: a, expect: 1}, {path: a, expect: 2}]", vec![("contradictory-rules", "evidence[1]")]),
        ("evidence: [{path: a, expect: 1}, {path: a, expect: 1.0}]", vec![]),
        (
            "evidence: [{path: a, expect: present}, {path: a, expect: absent}]",
            vec![("contradictory-rules", "evidence[1]")],
        ),
        ("evidence: [{path: a, expect: absent}, {path: a.b, expect: 1}]", vec![("contradictory-rules", "evidence[1]")]),
        ("evidence: [{path: a, expect: present}, {path: a, expect: 1}]", vec![("shadowed-rule", "evidence[0]")]),
        ("evidence: [{path: a.b, expect: 1}, {path: a, expect: present}]", vec![("shadowed-rule", "evidence[1]")]),
        ("toolCalls: [{name: get_a}, {name: get_a}]", vec![("duplicate-rule", "toolCalls[1]")]),
        ("toolCalls: [{name: get_a, min: 3, max: 2}]", vec![("contradictory-rules", "toolCalls[0].max")]),
        ("toolCalls: [{name: get_a, min: 0}]", vec![("dead-rule", "toolCalls[0].min")]),
        ("toolCalls: [{name: get_a, when: 'false'}]", vec![("dead-rule", "toolCalls[0].when")]),
        ("toolCalls: [{name: get_a}, {name: get_a, max: 0}]", vec![("contradictory-rules", "toolCalls[1]")]),
        (
            "toolCalls: [{name: 'get_*', max: 0}, {name: get_a, exactArgs: {x: 1}}]",
            vec![("contradictory-rules", "toolCalls[1]")],
        ),
        ("toolCalls: [{name: get_a}, {name: get_a, exactArgs: {x: 1}}]", vec![("shadowed-rule", "toolCalls[1]")]),
        ("toolCalls: [{name: get_a, before: get_b}, {name: get_b}]", vec![]),
        ("toolCalls: [{name: get_a, before: get_z}]", vec![("unknown-rule", "toolCalls[0].before")]),
        ("toolCalls: [{name: get_a, after: get_a}]", vec![("contradictory-rules", "toolCalls[0].after")]),
        (
            "toolCalls: [{name: get_a, after: get_b}, {name: get_b, after: get_a}]",
            vec![("contradictory-rules", "toolCalls[0]")],
        ),
        ("toolCalls: [{name: book_flight}]", vec![("readonly-step-mutates", "toolCalls[0].name")]),
        (
            "receipts: [{specification: 'sha256:0000000000000000000000000000000000000000000000000000000000000000'}, {specification: 'sha256:0000000000000000000000000000000000000000000000000000000000000000'}]",
            vec![
                ("duplicate-rule", "receipts[1]"),
                ("unbound-receipt", "receipts[0]"),
                ("unbound-receipt", "receipts[1]"),
            ],
        ),
        (
            "receipts: [{suite: 'sha256:0000000000000000000000000000000000000000000000000000000000000000', single_use: true}, {suite: 'sha256:0000000000000000000000000000000000000000000000000000000000000000', single_use: true}]",
            vec![("unbound-receipt", "receipts[0]"), ("unbound-receipt", "receipts[1]")],
        ),
        ("receipts: [{any_suite: true, output: payload.a}]", vec![("any-suite", "receipts[0].any_suite")]),
        (
            "receipts: [{any_suite: true, output: payload.a, strength: '>= 0.8'}]",
            vec![("any-suite", "receipts[0].any_suite"), ("strength-of-any-suite", "receipts[0].strength")],
        ),
        (
            "receipts: [{anySuite: true}]",
            vec![("any-suite", "receipts[0].anySuite"), ("unbound-receipt", "receipts[0]")],
        ),
        ("noOtherMutations: true", vec![("no-rules", "")]),
    ];
    for (block, expected) in table {
        let place = |path: &str| match path {
            "" => "steps[0].verification".to_owned(),
            path => format!("steps[0].verification.{path}"),
        };
        let expected: Vec<_> = expected.into_iter().map(|(code, path)| (code, place(path))).collect();
        assert_eq!(one(block), expected, "{block}");
    }
}

#[test]
fn missing_and_needless_retry_metadata_is_found() {
    let rules = "evidence: [{path: a, expect: 1}]";
    let table = [
        (format!("verification: {{{rules}}}\nonFailure: {{maxAttempts: 2}}"), vec!["missing-retry-metadata"]),
        // There are three attempts where the number is not written.
        (format!("verification: {{retryPrompt: more, {rules}}}"), vec![]),
        (format!("verification: {{retryPrompt: more, {rules}}}\nonFailure: {{action: abort}}"), vec![]),
        (format!("verification: {{retryPrompt: more, {rules}}}\nonFailure: {{maxAttempts: 1}}"), vec!["no-retry-left"]),
        (
            format!(
                "verification: {{retryPrompt: more, {rules}}}\nonFailure: {{maxAttempts: 2, retryStrategy: linear}}"
            ),
            vec!["missing-retry-metadata"],
        ),
        (
            format!("verification: {{onMissingEvidence: warn, retryPrompt: more, {rules}}}"),
            vec!["never-rejects", "dead-retry-prompt"],
        ),
        (
            format!("verification: {{onMissingEvidence: reject-and-abort, {rules}}}\nonFailure: {{maxAttempts: 2}}"),
            vec!["dead-on-failure"],
        ),
    ];
    for (rest, expected) in table {
        let findings = lint(&one_step("readonly", &rest), None, NOW_MS).findings;
        let codes: Vec<_> = findings.iter().map(|finding| finding.code).filter(|code| *code != "self-stated").collect();
        assert_eq!(codes.iter().collect::<BTreeSet<_>>(), expected.iter().collect(), "{rest}");
    }
}

#[test]
fn the_policy_is_kept_and_its_exemptions_are_listed() {
    let weak = one_step(
        "mutating",
        "onFailure: {maxAttempts: 3}\nverification: {retryPrompt: more, evidence: [{path: a, expect: 1}]}",
    );
    let codes = |policy: Option<&proofmark_contract::WorkflowPolicy>| -> Vec<_> {
        lint(&weak, policy, NOW_MS).findings.iter().map(|finding| finding.code).collect()
    };
    assert_eq!(codes(None), ["weak-evidence"]);
    let exempting = |end: &str| {
        policy(&format!(
            "name: p\nexemptions: [{{requirement: minEvidence, scope: {{step: s}}, reason: old, approver: ann, expires: '{end}'}}]"
        ))
    };
    let (in_force, ended) = (exempting("2026-12-31"), exempting("2026-01-01"));
    assert_eq!(codes(Some(&in_force)), Vec::<&str>::new());
    let listed = lint(&weak, Some(&in_force), NOW_MS).exemptions;
    assert_eq!((listed[0].step.as_str(), listed[0].exemption.reason.as_str()), ("s", "old"));
    assert_eq!(codes(Some(&ended)), ["weak-evidence"]);
    assert_eq!(lint(&weak, Some(&ended), NOW_MS).exemptions, []);

    let findings = lint_policy(&ended, std::slice::from_ref(&weak), NOW_MS);
    assert_eq!((findings[0].code, findings[0].path.as_str()), ("exemption-expired", "exemptions[0].expires"));
    assert_eq!((findings[0].severity, findings[0].document), (Severity::Error, DocumentKind::Policy));
    assert_eq!(lint_policy(&in_force, std::slice::from_ref(&weak), NOW_MS), []);
    let other = workflow("name: other\nclass: readonly\nsteps: [{id: t}]");
    assert_eq!(lint_policy(&in_force, &[other], NOW_MS)[0].code, "exemption-unused");
    let conflicting = policy("name: p\ntools: {mutating: ['*'], readonly: [get_a]}");
    assert_eq!(lint_policy(&conflicting, &[], NOW_MS)[0].code, "tool-class-conflict");
}

#[test]
fn receipts_in_mutating_steps_are_bound_to_bytes() {
    let findings = |rule: &str| {
        let rest = format!("onFailure: {{maxAttempts: 2}}\nverification: {{retryPrompt: more, receipts: [{rule}]}}");
        lint(&one_step("mutating", &rest), None, NOW_MS).findings
    };
    assert_eq!(
        findings(
            "{suite: 'sha256:0000000000000000000000000000000000000000000000000000000000000000', single_use: true}"
        )[0]
        .code,
        "unbound-receipt"
    );
    assert_eq!(
        findings(
            "{suite: 'sha256:0000000000000000000000000000000000000000000000000000000000000000', output: payload.sha}"
        ),
        []
    );
}

#[test]
fn a_large_graph_is_linted_at_once() {
    let ids: Vec<_> = (0..1_000).map(|number| format!("s{number}")).collect();
    let lines: Vec<_> = ids.iter().map(|id| (id.as_str(), "prompt: 'for {{context.ticket}}'")).collect();
    assert_eq!(found(&steps(&lines)), []);
}

#[test]
fn a_warning_that_is_meant_is_named_in_the_document() {
    let with = |of_workflow: &str, of_step: &str| {
        let text = format!(
            "name: w\nclass: readonly\n{of_workflow}steps:\n  - id: s\n{of_step}    verification: {{retryPrompt: more, evidence: [{{path: a, expect: 1}}]}}\n"
        );
        let findings = lint(&workflow(&text), None, NOW_MS).findings;
        findings.iter().map(|finding| (finding.code, finding.path.clone())).collect::<Vec<_>>()
    };
    let evidence = "steps[0].verification.evidence".to_owned();
    assert_eq!(with("", ""), [("self-stated", evidence)]);
    let accept = "lint: {allow: [self-stated]}\n";
    assert_eq!((with(accept, ""), with("", &format!("    {accept}"))), (vec![], vec![]));
    let other = with("lint: {allow: [self-stated, any-suite]}\n", "");
    assert_eq!(other, [("needless-allow", "lint.allow[1]".to_owned())]);
    let wrong = "name: w\nclass: readonly\nlint: {allow: [self-statd]}\nsteps: [{id: s}]\n";
    let error = proofmark_contract::Workflow::read(&super::yaml(wrong)).unwrap_err();
    assert!(error.help().unwrap().contains("`self-stated`"), "{error}");
}
