use proofmark_contract::lint::lint;
use proofmark_contract::{AttemptOutcome, Contract, ContractError, RuleOutcome, WorkflowPolicy};
use proofmark_evidence::EvidenceStatus;
use proofmark_evidence::trace::Trace;
use proofmark_receipt::document::Format;

use super::{NOW_MS, calls, judge, one_step, policy, rule, workflow};

const STEP: &str = "agent: billing
verification: {retryPrompt: more, evidence: [{path: a, expect: 1}], toolCalls: [{name: book_flight}]}
onFailure: {maxAttempts: 3, retryStrategy: exponential, initialDelayMs: 100, maxDelayMs: 1000}";

fn codes(class: &str, step: &str, policy_text: &str) -> Vec<&'static str> {
    let policy = (!policy_text.is_empty()).then(|| policy(policy_text));
    match Contract::of(&one_step(class, step), "s", policy.as_ref(), NOW_MS) {
        Ok(_) => Vec::new(),
        Err(ContractError::Findings(findings)) => findings.into_iter().map(|finding| finding.code).collect(),
        Err(ContractError::NoVerification(_)) => vec!["no-verification"],
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_mutating_step_has_to_keep_more_without_any_policy() {
    let table = [
        ("mutating", STEP.to_owned(), vec![]),
        ("mutating", STEP.replace("{retryPrompt: more", "{onMissingEvidence: warn"), vec!["warn-not-allowed"]),
        ("readonly", STEP.replace("{retryPrompt: more", "{onMissingEvidence: warn"), vec![]),
        ("mutating", STEP.replace(", toolCalls: [{name: book_flight}]", ""), vec!["weak-evidence"]),
        ("readonly", STEP.replace(", toolCalls: [{name: book_flight}]", ""), vec![]),
        ("mutating", STEP.replace("name: book_flight", "name: book_flight, max: 0"), vec!["weak-evidence"]),
        ("mutating", STEP.replace("{maxAttempts", "{action: continue, maxAttempts"), vec!["continue-not-allowed"]),
        ("mutating", String::new(), vec!["no-verification"]),
        ("readonly", "verification: {}".to_owned(), vec!["no-verification"]),
        (
            "readonly",
            STEP.replace("path: a", "path: '$['").replace("expect: 1", "expect: {predicate: 'value >'}"),
            vec!["invalid-condition"; 2],
        ),
    ];
    for (class, step, expected) in table {
        assert_eq!(codes(class, &step, ""), expected, "{class}: {step}");
    }
}

#[test]
fn a_policy_tightens_by_class_step_and_agent() {
    let table = [
        ("classes: {mutating: {maxAttempts: 2}}", vec!["too-many-attempts"]),
        ("classes: {readonly: {maxAttempts: 2}}", vec![]),
        ("classes: {mutating: {maxDelayMs: 150}}", vec!["delay-too-long"]),
        ("classes: {mutating: {maxDelayMs: 200}}", vec![]),
        ("classes: {mutating: {strategies: [fixed, linear]}}", vec!["strategy-not-allowed"]),
        ("classes: {mutating: {strategies: [exponential]}}", vec![]),
        ("requirements: [{scope: {agent: 'bill*'}, receipts: true}]", vec!["receipt-required"]),
        ("requirements: [{scope: {agent: 'ship*'}, receipts: true}]", vec![]),
        ("requirements: [{scope: {step: s, workflow: w}, toolCalls: [get_order]}]", vec!["tool-call-required"]),
        ("requirements: [{scope: {step: s, workflow: v}, toolCalls: [get_order]}]", vec![]),
        ("requirements: [{scope: {class: mutating}, minEvidence: verified}]", vec!["weak-evidence"]),
        ("requirements: [{scope: {class: readonly}, minEvidence: verified}]", vec![]),
        (
            "requirements: [{scope: {}, maxAttempts: 2}, {scope: {}, strategies: [fixed]}]",
            vec!["too-many-attempts", "strategy-not-allowed"],
        ),
    ];
    for (lines, expected) in table {
        assert_eq!(codes("mutating", STEP, &format!("name: p\n{lines}")), expected, "{lines}");
    }
}

#[test]
fn a_receipt_of_any_suite_is_not_the_receipt_a_policy_demands() {
    let policy = "name: p\nrequirements: [{scope: {}, receipts: true}]";
    let step = |accepts: &str| {
        let receipts = format!("receipts: [{{id: r, {accepts}, output: payload.digest}}], toolCalls: [");
        STEP.replacen("toolCalls: [", &receipts, 1)
    };
    assert_eq!(codes("mutating", &step("any_suite: true"), policy), ["receipt-required"]);
    let pinned = format!("specification: 'sha256:{}'", "0".repeat(64));
    assert_eq!(codes("mutating", &step(&pinned), policy), [""; 0]);
}

#[test]
fn a_policy_can_call_a_step_mutating_but_not_readonly() {
    let weak = STEP.replace(", toolCalls: [{name: book_flight}]", "");
    let stricter = "name: p\nrequirements: [{scope: {step: s}, class: mutating}]";
    let laxer = "name: p\nrequirements: [{scope: {step: s}, class: readonly}]";
    assert_eq!(codes("readonly", &weak, stricter), ["weak-evidence"]);
    assert_eq!(codes("mutating", &weak, laxer), ["weak-evidence"]);
}

#[test]
fn an_exemption_lifts_one_demand_in_its_scope_until_it_ends() {
    let warn = STEP.replace("{retryPrompt: more", "{onMissingEvidence: warn");
    let exemption = |demand: &str, step: &str, expires: &str| {
        format!(
            "name: p\nexemptions: [{{requirement: {demand}, scope: {{step: {step}}}, reason: old, approver: ann, expires: '{expires}'}}]"
        )
    };
    let table = [
        (exemption("allowWarn", "s", "2026-12-31"), vec![]),
        (exemption("allowWarn", "s", "2026-03-01"), vec![]),
        (exemption("allowWarn", "s", "2026-03-01T00:00:01Z"), vec![]),
        (exemption("allowWarn", "s", "2026-02-28"), vec!["warn-not-allowed", "exemption-expired"]),
        (exemption("allowWarn", "other", "2026-12-31"), vec!["warn-not-allowed"]),
        (exemption("allowWarn", "other", "2026-02-28"), vec!["warn-not-allowed"]),
        (exemption("minEvidence", "s", "2026-12-31"), vec!["warn-not-allowed"]),
    ];
    for (policy, expected) in table {
        assert_eq!(codes("mutating", &warn, &policy), expected, "{policy}");
    }
}

#[test]
fn an_exemption_from_evidence_is_in_the_contract() {
    let weak = STEP.replace(", toolCalls: [{name: book_flight}]", "");
    let workflow = one_step("mutating", &weak);
    let policy = policy(
        "name: p\nexemptions: [{requirement: minEvidence, scope: {step: s}, reason: old, approver: ann, expires: '2026-12-31'}]",
    );
    let contract = Contract::of(&workflow, "s", Some(&policy), NOW_MS).unwrap();
    assert_eq!(contract.min_evidence, EvidenceStatus::Absent);
    assert_eq!(contract.exemptions[0].approver, "ann");
    assert!(contract.to_json().to_text().contains(r#""approver":"ann""#));
    assert_eq!(judge(&contract, r#"{"a": 1}"#, Some(&calls(""))).outcome, AttemptOutcome::Accept);
}

#[test]
fn the_tools_of_workflow_and_policy_count_together() {
    let policy = policy("name: p\ntools: {mutating: [get_secret], readonly: [list_*]}");
    let contract = Contract::of(&one_step("mutating", STEP), "s", Some(&policy), NOW_MS).unwrap();
    let table = [("get_order", false), ("list_all", false), ("get_secret", true), ("deploy", true), ("other", true)];
    for (tool, mutating) in table {
        assert_eq!(contract.tools.class_of(tool, |_| None).as_str() == "mutating", mutating, "{tool}");
    }
}

/// Calls of a session that succeeded, each of a tool of a server.
fn session(calls_of: &[(&str, &str)]) -> Trace {
    let entry = |number: usize, kind: &str, rest: String| {
        format!(
            r#"{{"record_type":"proofmark_session_entry","entry_id":"00000000-0000-4000-8000-{number:012}","session":"s","kind":"{kind}","at":"2026-03-01T12:00:00.000Z",{rest},"metadata":{{}}}}"#
        ) + "\n"
    };
    let digest = r#"{"sha256":"cc","bytes":2}"#;
    let lines = calls_of.iter().enumerate().map(|(number, (server, tool))| {
        let named = format!(r#""tool":"{tool}","server":"{server}","decision":"d{number}""#);
        let decided = format!(
            r#""request":"{number}","method":"tools/call","from":"client","source":"guard","surface":"mcp",{named},"message":{digest},"arguments":"{{}}","allowed":true"#
        );
        let result = format!(r#""request":"{number}",{named},"status":"succeeded","signs":[],"result":{digest}"#);
        entry(2 * number, "decided", decided) + &entry(2 * number + 1, "result", result)
    });
    calls(&lines.collect::<String>())
}

#[test]
fn a_tool_of_another_server_is_another_tool() {
    let with = |tools: &str| {
        let text = format!(
            "name: w\nclass: mutating\ntools: {tools}\nsteps:\n  - id: s\n    verification:\n      noOtherMutations: true\n      toolCalls: [{{name: run_tests, server: ci}}]\n"
        );
        Contract::of(&workflow(&text), "s", None, NOW_MS).unwrap_or_else(|error| panic!("{error}\n{text}"))
    };
    let judged = |tools: &str, calls_of: &[(&str, &str)], id: &str| {
        rule(&judge(&with(tools), "{}", Some(&session(calls_of))), id).outcome
    };
    let (ci, toys, look) = (("ci", "run_tests"), ("toys", "run_tests"), ("toys", "look"));
    let none = "{}";
    assert_eq!(judged(none, &[ci], "toolCalls:run_tests"), RuleOutcome::Met);
    assert_eq!(judged(none, &[toys], "toolCalls:run_tests"), RuleOutcome::Unmet);
    for (tools, is_readonly) in [
        ("{readonly: [look]}", true),
        ("{readonly: [{name: look, server: toys}]}", true),
        ("{readonly: [{name: look, server: ci}]}", false),
        ("{readonly: [{name: 'l*', surface: mcp, source: guard}]}", true),
        ("{readonly: [{name: look, surface: host}]}", false),
        // Who reaches the server how is not recorded in this session.
        ("{readonly: [{name: look, origin: 'node *'}]}", false),
        ("{readonly: ['mcp:toys:*']}", true),
        ("{readonly: ['mcp:ci:*']}", false),
        ("{readonly: [look], mutating: [{name: look, server: toys}]}", false),
        ("{readonly: [look], mutating: [{name: look, server: ci}]}", true),
        ("{readonly: [look], mutating: [{name: look, origin: 'node *'}]}", false),
    ] {
        let met = judged(tools, &[ci, look], "noOtherMutations") == RuleOutcome::Met;
        assert_eq!(met, is_readonly, "{tools}");
    }
    // The digest of the contract has what is written.
    assert_ne!(with("{readonly: [look]}").digest(), with("{readonly: [{name: look, server: ci}]}").digest());
}

#[test]
fn a_readonly_tool_of_any_server_is_named_where_servers_are() {
    let text = |tools: &str| {
        format!(
            "name: w\nclass: mutating\ntools: {tools}\nsteps:\n  - id: s\n    agent: a\n    verification: {{toolCalls: [{{name: run_tests, server: ci}}]}}\n"
        )
    };
    let found = |tools: &str| {
        let report = lint(&workflow(&text(tools)), None, NOW_MS);
        report
            .findings
            .iter()
            .any(|finding| finding.code == "call-of-any-server" && finding.path == "tools.readonly[0]")
    };
    for (tools, is_named) in [
        ("{readonly: [look]}", true),
        ("{readonly: [{name: look, source: guard}]}", true),
        ("{readonly: [{name: look, server: ci}]}", false),
        ("{readonly: ['mcp:ci:*']}", false),
        ("{readonly: [read_file]}", false),
        ("{readonly: ['host:NotebookRead']}", false),
        ("{readonly: [{name: look, surface: host}]}", false),
        ("{mutating: [look]}", false),
    ] {
        assert_eq!(found(tools), is_named, "{tools}");
    }
}

#[test]
fn an_unknown_step_is_named_with_the_known_ones() {
    let error = Contract::of(&one_step("readonly", STEP), "t", None, NOW_MS).unwrap_err();
    assert_eq!(error, ContractError::UnknownStep { step: "t".to_owned(), known: vec!["s".to_owned()] });
    assert_eq!(error.help().as_deref(), Some("the steps are `s`"));
}

#[test]
fn what_is_wrong_in_a_policy_is_named_with_its_place() {
    let exemption = "requirement: allowWarn, scope: {step: s}, reason: r, approver: a, expires: '2026-12-31'";
    let broken = |from: &str, to: &str| format!("exemptions: [{{{}}}]", exemption.replace(from, to));
    let table = [
        ("class: {}".to_owned(), "`class`", "unknown_field"),
        ("classes: {writing: {}}".to_owned(), "`classes.writing`", "unknown_field"),
        ("classes: {mutating: {allowWarn: true}}".to_owned(), "`classes.mutating.allowWarn`", "invalid_value"),
        (
            "classes: {mutating: {requireVerification: false}}".to_owned(),
            "`classes.mutating.requireVerification`",
            "invalid_value",
        ),
        ("classes: {mutating: {minEvidence: absent}}".to_owned(), "`classes.mutating.minEvidence`", "invalid_value"),
        ("classes: {mutating: {strategies: []}}".to_owned(), "`classes.mutating.strategies`", "empty"),
        ("requirements: [{maxAttempts: 2}]".to_owned(), "`requirements[0].scope`", "missing_field"),
        (broken("scope: {step: s}, ", ""), "`exemptions[0].scope`", "missing_field"),
        (broken("{step: s}", "{}"), "`exemptions[0].scope`", "invalid_value"),
        (broken("reason: r, ", ""), "`exemptions[0].reason`", "missing_field"),
        (broken("approver: a", "approver: ''"), "`exemptions[0].approver`", "empty"),
        (broken("'2026-12-31'", "soon"), "`exemptions[0].expires`", "invalid_value"),
        (broken("'2026-12-31'", "'2026-13-31'"), "`exemptions[0].expires`", "invalid_value"),
        (broken("allowWarn", "everything"), "`exemptions[0].requirement`", "invalid_value"),
    ];
    for (lines, place, code) in table {
        let text = format!("name: p\n{lines}");
        let json = proofmark_receipt::document::parse(text.as_bytes(), Format::Yaml).unwrap();
        let error = WorkflowPolicy::read(&json).expect_err(&lines);
        assert_eq!((error.place().to_string().as_str(), error.code()), (place, code), "{lines}: {error}");
    }
}

#[test]
fn a_step_that_a_policy_makes_mutating_still_meets_the_demands_on_readonly_steps() {
    let raised = "requirements: [{scope: {step: s}, class: mutating}";
    let table = [
        (format!("classes: {{readonly: {{receipts: true}}}}\n{raised}]"), vec!["receipt-required"]),
        (format!("{raised}, {{scope: {{class: readonly}}, receipts: true}}]"), vec!["receipt-required"]),
        (format!("{raised}, {{scope: {{class: mutating}}, receipts: true}}]"), vec!["receipt-required"]),
        (format!("{raised}]"), vec![]),
    ];
    for (lines, expected) in table {
        assert_eq!(codes("readonly", STEP, &format!("name: p\n{lines}")), expected, "{lines}");
    }
    let mutating = "name: p\nclasses: {readonly: {receipts: true}}";
    assert_eq!(codes("mutating", STEP, mutating), [""; 0]);
}

#[test]
fn a_demanded_call_is_asked_for_whatever_the_facts() {
    let policy = "name: p\nrequirements: [{scope: {}, toolCalls: [book_flight]}]";
    let rule = |when: &str| STEP.replace("{name: book_flight}", &format!("{{name: book_flight{when}}}, {{name: pay}}"));
    assert_eq!(codes("mutating", &rule(""), policy), [""; 0]);
    for when in [", when: 'false'", ", when: payload.booked == true", ", min: 0"] {
        assert_eq!(codes("mutating", &rule(when), policy), ["tool-call-required"], "{when}");
    }
}

#[test]
fn a_demanded_receipt_is_a_pass_of_a_signer_that_is_named_or_trusted() {
    let policy = "name: p\nrequirements: [{scope: {}, receipts: true}]";
    let step = |more: &str| {
        let pinned = format!("specification: 'sha256:{}'", "0".repeat(64));
        STEP.replacen(
            "toolCalls: [",
            &format!("receipts: [{{{pinned}, output: payload.digest{more}}}], toolCalls: ["),
            1,
        )
    };
    assert_eq!(codes("mutating", &step(""), policy), [""; 0]);
    assert_eq!(codes("mutating", &step(", signer: trusted"), policy), [""; 0]);
    for weak in [", signer: any", ", verdict: fail"] {
        assert_eq!(codes("mutating", &step(weak), policy), ["receipt-required"], "{weak}");
    }
}

#[test]
fn a_requirement_on_every_agent_is_on_a_step_without_one() {
    let without = STEP.replace("agent: billing\n", "");
    assert_ne!(without, STEP);
    let on = |agent: &str| format!("name: p\nrequirements: [{{scope: {{agent: '{agent}'}}, receipts: true}}]");
    assert_eq!(codes("mutating", &without, &on("*")), ["receipt-required"]);
    assert_eq!(codes("mutating", &without, &on("bill*")), [""; 0]);
    // An exemption for all agents lifts nothing from a step whose agent is not known.
    let warn = |step: &str| step.replace("{retryPrompt: more", "{onMissingEvidence: warn");
    let exemption = "name: p\nexemptions: [{requirement: allowWarn, scope: {agent: '*'}, reason: old, approver: ann, expires: '2026-12-31'}]";
    assert_eq!(codes("mutating", &warn(STEP), exemption), [""; 0]);
    assert_eq!(codes("mutating", &warn(&without), exemption), ["warn-not-allowed"]);
}
