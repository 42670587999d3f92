//! What cannot be read is refused by name, with the place and the mend.

use proofmark_boundary::{Policy, Request};
use proofmark_receipt::document::{Format, parse};

use crate::support::yaml;

fn refused(text: &str) -> (String, String, String) {
    let error = Policy::read(&yaml(text)).expect_err(text);
    (error.code().to_owned(), error.at(), format!("{error}; {}", error.help().unwrap_or_default()))
}

#[test]
fn policies_are_refused_with_the_place_and_the_mend() {
    let with = |rule: &str| format!("version: 1\nboundaries: [{{id: b, match: {{}}, {rule}}}]\n");
    let table = [
        ("{}", "missing_field", "version", "write `version: 1`"),
        ("version: 2\nboundaries: []", "unsupported", "version", "write 1"),
        ("version: 1", "missing_field", "boundaries", "at least one"),
        ("version: 1\nboundries: []", "unknown_field", "boundries", "did you mean `boundaries`?"),
        ("version: 1\nboundaries: {}", "wrong_type", "boundaries", "an array"),
        ("version: 1\nboundaries: [{id: b}]", "missing_field", "boundaries[0].match", "every one"),
        (
            "version: 1\nboundaries: [{id: b, match: {action_class: record_mutaton}}]",
            "invalid_value",
            "boundaries[0].match.action_class",
            "did you mean `record_mutation`?",
        ),
        ("version: 1\nboundaries: [{id: b, match: {tol: x}}]", "unknown_field", "boundaries[0].match.tol", "`tool`"),
        ("version: 1\nboundaries: [{id: b, match: {tool: []}}]", "empty", "boundaries[0].match.tool", "globs"),
        (
            "version: 1\nboundaries: [{id: b, match: {}}, {id: b, match: {}}]",
            "duplicate_name",
            "boundaries[1]",
            "another boundary `b`",
        ),
        ("version: 1\nboundaries: []\nunmatched: allow", "missing_field", "exemptions", "needs one"),
        ("version: 1\nboundaries: []\nunmatched: ignore", "invalid_value", "unmatched", "replan_required"),
        (
            "version: 1\nboundaries: []\nexemptions: [{reason: r, approver: a, expires: 2026-01-01T00:00:00Z}]",
            "conflicting_fields",
            "exemptions",
            "unmatched: allow",
        ),
        (
            "version: 1\nboundaries: []\nunmatched: allow\nexemptions: [{reason: r, approver: a, expires: never}]",
            "invalid_value",
            "exemptions[0].expires",
            "2030-12-31",
        ),
        ("version: 1\nboundaries: []\nvalid_for: forever", "invalid_value", "valid_for", "90s"),
        ("version: 1\nboundaries: []\npresentation: [target]", "invalid_value", "presentation[0]", "args.note"),
        ("version: 1\nboundaries: []\nroles: {r: [nokey]}", "invalid_value", "roles.r[0]", "public key"),
        ("version: 1\nboundaries: []\nclasses: [upload]", "duplicate_name", "classes", "known already"),
        (
            "version: 1\nboundaries: []\nrepeat: {same_action_denied: 0, then: human_review}",
            "invalid_value",
            "repeat.same_action_denied",
            "above 0",
        ),
    ];
    for (text, code, at, says) in table {
        let (found, place, message) = refused(text);
        assert_eq!((found.as_str(), place), (code, format!("`{at}`")), "{text}: {message}");
        assert!(message.contains(says), "{text}: {message}");
    }
    let rules = [
        ("require: [{}]", "missing_field", "require[0]", "`fact`, `receipt`"),
        ("require: [{fact: 'true', approval: {role: r}}]", "conflicting_fields", "require[0]", "make two rules"),
        ("require: [{receipt: {}}]", "missing_field", "require[0].receipt.output", "sha256"),
        ("require: [{receipt: {output: 'size(facts)'}}]", "invalid_value", "require[0].receipt.output", "digest"),
        (
            "require: [{receipt: {output: 'action.target'}}]",
            "missing_field",
            "require[0].receipt.suite",
            "--suite-digest",
        ),
        (
            "require: [{receipt: {output: 'action.target', suite: checks.yaml}}]",
            "invalid_value",
            "require[0].receipt.suite",
            "no file is read here",
        ),
        (
            "require: [{receipt: {any_suite: true, output: 'action.target', signer: any}}]",
            "invalid_value",
            "require[0].receipt.signer",
            "anyone can sign",
        ),
        (
            "require: [{receipt: {any_suite: true, output: 'action.target', kind: approval}}]",
            "invalid_value",
            "require[0].receipt.kind",
            "step_acceptance",
        ),
        (
            "require: [{receipt: {any_suite: true, output: 'action.target', tier: 4}}]",
            "invalid_value",
            "require[0].receipt.tier",
            "0, 1, 2 or 3",
        ),
        (
            "require: [{receipt: {any_suite: true, output: 'action.target', verdict: ok}}]",
            "invalid_value",
            "require[0].receipt.verdict",
            "`pass`",
        ),
        (
            "require: [{receipt: {any_suite: true, output: 'action.target', signer: anyone}}]",
            "invalid_value",
            "require[0].receipt.signer",
            "trusted",
        ),
        ("require: [{approval: {role: r, count: 99}}]", "too_many", "require[0].approval.count", "1 to 16"),
        ("require: [{tool_call: {name: t, status: ok}}]", "invalid_value", "require[0].tool_call.status", "succeeded"),
        ("require: [{fact: 'action.tool'}]", "invalid_value", "require[0].fact", "compare it"),
        ("require: [{fact: 'true', otherwise: allow}]", "invalid_value", "require[0].otherwise", "human_review"),
        ("deny: [{when: 'true'}]", "missing_field", "deny[0].reason", "say why"),
    ];
    for (rule, code, at, says) in rules {
        let (found, place, message) = refused(&with(rule));
        assert_eq!((found.as_str(), place), (code, format!("`boundaries[0].{at}`")), "{rule}: {message}");
        assert!(message.contains(says), "{rule}: {message}");
    }
}

#[test]
fn predicates_are_refused_with_position_caret_and_nearest_name() {
    let table = [
        ("action.arg.status == \"x\"", "unknown_name", "did you mean `args`?", "action.arg.status"),
        ("fact.size() > 0", "unknown_name", "did you mean `facts`?", "fact"),
        ("action.class == \"recrod_mutation\"", "unknown_name", "did you mean `record_mutation`?", "action.class"),
        ("context_fill_pct == \"full\"", "type", "", "context_fill_pct"),
        ("action.crossing > 1", "type", "", "action.crossing"),
        ("calls.exists(c, c.status == \"ok\")", "unknown_name", "", "c.status"),
        ("taint.exists(t, t.signl == \"x\")", "unknown_name", "did you mean `signal`?", "t.signl"),
        ("action.tool ==", "syntax", "expected", "action.tool =="),
    ];
    for (predicate, code, says, shows) in table {
        let text = format!("version: 1\nboundaries:\n  - id: b\n    match: {{}}\n    when: '{predicate}'\n");
        let (found, at, message) = refused(&text);
        assert_eq!((found.as_str(), at.as_str()), (code, "`boundaries[0].when`"), "{message}");
        assert!(message.contains(says) && message.contains(shows) && message.contains('^'), "{message}");
        assert!(message.contains("line 1, column"), "{message}");
    }
}

#[test]
fn a_policy_may_declare_classes_of_its_own() {
    let text = "version: 1\nclasses: [deploy]\nboundaries: [{id: b, match: {action_class: deploy}, when: 'action.class == \"deploy\"'}]\n";
    let policy = Policy::read(&yaml(text)).unwrap();
    assert_eq!(policy.warnings().iter().map(|warning| warning.code).collect::<Vec<_>>(), ["allows_everything"]);
}

#[test]
fn warnings_name_what_is_probably_not_meant() {
    let text = "version: 1
boundaries:
  - id: b
    match: {}
    require:
      - receipt: {any_suite: true, output: 'sha256(action.args.patch)'}
      - receipt: {specification: 'action.args.suite', output: 'sha256(action.args.patch)', single_use: true}
      - receipt: {specification: 'upstream.suite', output: 'sha256(action.args.patch)', single_use: true}
      - approval: {role: r}
      - tool_call: {name: run_tests}
      - tool_call: {name: run_tests, status: succeeded}
unmatched: allow
exemptions: [{reason: r, approver: a, expires: 2026-01-01T00:00:00Z}]
";
    let codes: Vec<_> = Policy::read(&yaml(text)).unwrap().warnings().into_iter().map(|warning| warning.code).collect();
    assert_eq!(
        codes,
        [
            "any_suite",
            "receipt_without_end",
            "specification_of_agent",
            "role_without_keys",
            "call_of_any_status",
            "exempts_everything"
        ]
    );
}

#[test]
fn requests_are_refused_with_the_place_and_the_mend() {
    let table = [
        ("[]", "wrong_type", "the document", "an object"),
        ("{}", "missing_field", "`action`", "about to happen"),
        ("action: {class: upload}", "missing_field", "`action.tool`", "name the tool"),
        ("action: {tool: t}", "missing_field", "`action.class`", "record_mutation"),
        ("action: {tool: t, class: upload, arg: {}}", "unknown_field", "`action.arg`", "did you mean `args`?"),
        ("action: {tool: t, class: upload, crossing: 1}", "wrong_type", "`action.crossing`", "`true` or `false`"),
        ("action: {tool: t, class: upload}\ntaint: {}", "wrong_type", "`taint`", "an array"),
        (
            "action: {tool: t, class: upload}\ncalls: [{tool: t, status: ok}]",
            "invalid_value",
            "`calls[0].status`",
            "succeeded",
        ),
        ("action: {tool: t, class: upload}\ncontext_fill_pct: '1'", "wrong_type", "`context_fill_pct`", "a number"),
    ];
    for (text, code, at, says) in table {
        let error = Request::read(&yaml(text)).expect_err(text);
        assert_eq!((error.code(), error.place().to_string().as_str()), (code, at), "{text}: {error}");
        assert!(error.to_string().contains(says), "{error}");
    }
    let long = format!("action: {{tool: {}, class: upload}}", "t".repeat(5000));
    assert_eq!(Request::read(&yaml(&long)).unwrap_err().code(), "too_large");
}

#[test]
fn deep_nesting_is_refused_before_anything_is_read() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let text = format!(r#"{{"action": {{"tool": "t", "class": "upload", "args": {deep}}}}}"#);
    assert!(parse(text.as_bytes(), Format::Json).is_err());
}
