//! Invalid policies and requests are refused with a code and the place.

use proofmark_boundary::{ActionPolicy, Request};
use proofmark_receipt::document::{Format, parse};

use crate::support::yaml;

fn refused(text: &str) -> (String, String, String) {
    let error = ActionPolicy::read(&yaml(text)).expect_err(text);
    (error.code().to_owned(), error.at(), format!("{error}; {}", error.help().unwrap_or_default()))
}

const TWO_ANNS: &str = "version: 1
boundaries: []
reviewers:
  - {name: ann, key: 'ed25519:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a', roles: [r]}
  - {name: ann, key: 'ed25519:3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c', roles: [r]}
";

#[test]
fn policies_are_refused_by_code_and_place() {
    let with = |rule: &str| format!("version: 1\nboundaries: [{{id: b, match: {{}}, {rule}}}]\n");
    let table = [
        ("{}", "missing_field", "version"),
        ("version: 2\nboundaries: []", "unsupported", "version"),
        ("version: 1", "missing_field", "boundaries"),
        ("version: 1\nboundries: []", "unknown_field", "boundries"),
        ("version: 1\nboundaries: {}", "wrong_type", "boundaries"),
        ("version: 1\nboundaries: [{id: b}]", "missing_field", "boundaries[0].match"),
        (
            "version: 1\nboundaries: [{id: b, match: {action_class: record_mutaton}}]",
            "invalid_value",
            "boundaries[0].match.action_class",
        ),
        ("version: 1\nboundaries: [{id: b, match: {tol: x}}]", "unknown_field", "boundaries[0].match.tol"),
        ("version: 1\nboundaries: [{id: b, match: {tool: []}}]", "empty", "boundaries[0].match.tool"),
        ("version: 1\nboundaries: [{id: b, match: {}}, {id: b, match: {}}]", "duplicate_name", "boundaries[1]"),
        ("version: 1\nboundaries: []\nunmatched: allow", "missing_field", "exemptions"),
        ("version: 1\nboundaries: []\nunmatched: ignore", "invalid_value", "unmatched"),
        (
            "version: 1\nboundaries: []\nexemptions: [{reason: r, approver: a, expires: 2026-01-01T00:00:00Z}]",
            "conflicting_fields",
            "exemptions",
        ),
        (
            "version: 1\nboundaries: []\nunmatched: allow\nexemptions: [{reason: r, approver: a, expires: never}]",
            "invalid_value",
            "exemptions[0].expires",
        ),
        ("version: 1\nboundaries: []\nvalid_for: forever", "invalid_value", "valid_for"),
        ("version: 1\nboundaries: []\npresentation: [target]", "invalid_value", "presentation[0]"),
        ("version: 1\nboundaries: []\nroles: {r: [nokey]}", "invalid_value", "roles.r[0]"),
        ("version: 1\nboundaries: []\nroles: {r: trusted}", "invalid_value", "roles.r"),
        ("version: 1\nboundaries: []\nreviewers: []", "empty", "reviewers"),
        (
            "version: 1\nboundaries: []\nreviewers: [{name: ann, key: trusted, roles: [r]}]",
            "invalid_value",
            "reviewers[0].key",
        ),
        ("version: 1\nboundaries: []\nreviewers: [{name: ann, roles: [r]}]", "missing_field", "reviewers[0].key"),
        (TWO_ANNS, "duplicate_name", "reviewers[1]"),
        ("version: 1\nboundaries: []\nclasses: [upload]", "duplicate_name", "classes"),
        (
            "version: 1\nboundaries: []\nrepeat: {same_action_denied: 0, then: human_review}",
            "invalid_value",
            "repeat.same_action_denied",
        ),
    ];
    let mut words = String::new();
    for (text, code, at) in table {
        let (found, place, message) = refused(text);
        words.push_str(&format!("{message}\n"));
        assert_eq!((found.as_str(), place), (code, format!("`{at}`")), "{text}: {message}");
    }
    let rules = [
        ("require: [{}]", "missing_field", "require[0]"),
        ("require: [{fact: 'true', approval: {role: r}}]", "conflicting_fields", "require[0]"),
        ("require: [{receipt: {}}]", "missing_field", "require[0].receipt.output"),
        ("require: [{receipt: {output: 'size(facts)'}}]", "invalid_value", "require[0].receipt.output"),
        ("require: [{receipt: {output: 'action.target'}}]", "missing_field", "require[0].receipt.suite"),
        (
            "require: [{receipt: {output: 'action.target', suite: checks.yaml}}]",
            "invalid_value",
            "require[0].receipt.suite",
        ),
        (
            "require: [{receipt: {any_suite: true, output: 'action.target', signer: any}}]",
            "invalid_value",
            "require[0].receipt.signer",
        ),
        (
            "require: [{receipt: {any_suite: true, output: 'action.target', kind: approval}}]",
            "invalid_value",
            "require[0].receipt.kind",
        ),
        (
            "require: [{receipt: {any_suite: true, output: 'action.target', tier: 4}}]",
            "invalid_value",
            "require[0].receipt.tier",
        ),
        (
            "require: [{receipt: {any_suite: true, output: 'action.target', verdict: ok}}]",
            "invalid_value",
            "require[0].receipt.verdict",
        ),
        (
            "require: [{receipt: {any_suite: true, output: 'action.target', signer: anyone}}]",
            "invalid_value",
            "require[0].receipt.signer",
        ),
        ("require: [{approval: {role: r, count: 99}}]", "too_many", "require[0].approval.count"),
        ("require: [{tool_call: {name: t, status: ok}}]", "invalid_value", "require[0].tool_call.status"),
        ("require: [{fact: 'action.tool'}]", "invalid_value", "require[0].fact"),
        ("require: [{fact: 'true', otherwise: allow}]", "invalid_value", "require[0].otherwise"),
        ("deny: [{when: 'true'}]", "missing_field", "deny[0].reason"),
    ];
    for (rule, code, at) in rules {
        let (found, place, message) = refused(&with(rule));
        words.push_str(&format!("{message}\n"));
        assert_eq!((found.as_str(), place), (code, format!("`boundaries[0].{at}`")), "{rule}: {message}");
    }
    insta::assert_snapshot!(words);
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
    let policy = ActionPolicy::read(&yaml(text)).unwrap();
    // Its condition says which actions it allows.
    assert_eq!(policy.warnings(), []);
}

#[test]
fn a_boundary_whose_only_requirement_is_true_allows_everything() {
    let codes = |rules: &str| {
        let text = format!("version: 1\nboundaries: [{{id: b, match: {{}}, {rules}}}]\n");
        ActionPolicy::read(&yaml(&text)).unwrap().warnings().iter().map(|warning| warning.code).collect::<Vec<_>>()
    };
    for rules in ["require: [{fact: 'true'}]", "require: [{fact: ' true '}, {fact: 'true'}]"] {
        assert_eq!(codes(rules), ["allows-everything"], "{rules}");
    }
    let deny = "deny: [{when: 'action.crossing', reason: {code: c, message: m}}]";
    for rules in ["require: [{fact: 'false'}]", "require: [{fact: 'action.crossing'}, {fact: 'true'}]"] {
        assert!(!codes(rules).contains(&"allows-everything"), "{rules}");
    }
    assert!(codes(&format!("require: [{{fact: 'true'}}], {deny}")).is_empty());
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
    let codes: Vec<_> =
        ActionPolicy::read(&yaml(text)).unwrap().warnings().into_iter().map(|warning| warning.code).collect();
    assert_eq!(
        codes,
        [
            "any-suite",
            "receipt-without-end",
            "specification-of-agent",
            "role-of-nobody",
            "call-of-any-status",
            "call-about-anything",
            "call-of-any-server",
            "call-about-anything",
            "call-of-any-server",
            "exempts-everything"
        ]
    );
}

#[test]
fn requests_are_refused_by_code_and_place() {
    let table = [
        ("[]", "wrong_type", "the document"),
        ("{}", "missing_field", "`action`"),
        ("action: {class: upload}", "missing_field", "`action.tool`"),
        ("action: {tool: t}", "missing_field", "`action.class`"),
        ("action: {tool: t, class: upload, arg: {}}", "unknown_field", "`action.arg`"),
        ("action: {tool: t, class: upload, crossing: 1}", "wrong_type", "`action.crossing`"),
        ("action: {tool: t, class: upload}\ntaint: {}", "wrong_type", "`taint`"),
        ("action: {tool: t, class: upload}\ncalls: [{tool: t, status: ok}]", "invalid_value", "`calls[0].status`"),
        ("action: {tool: t, class: upload}\ncontext_fill_pct: '1'", "wrong_type", "`context_fill_pct`"),
    ];
    let mut words = String::new();
    for (text, code, at) in table {
        let error = Request::read(&yaml(text)).expect_err(text);
        assert_eq!((error.code(), error.place().to_string().as_str()), (code, at), "{text}: {error}");
        words.push_str(&format!("{error}; {}\n", error.help().unwrap_or_default()));
    }
    insta::assert_snapshot!(words);
    let long = format!("action: {{tool: {}, class: upload}}", "t".repeat(5000));
    assert_eq!(Request::read(&yaml(&long)).unwrap_err().code(), "too_large");
}

#[test]
fn deep_nesting_is_refused_before_anything_is_read() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let text = format!(r#"{{"action": {{"tool": "t", "class": "upload", "args": {deep}}}}}"#);
    assert!(parse(text.as_bytes(), Format::Json).is_err());
}
