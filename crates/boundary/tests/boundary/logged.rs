//! Rules that ask for a receipt in a log, under the keys that the policy pins.

use proofmark_boundary::{
    ActionPolicy, Admission, DecisionReceipt, Disposition, Recomputed, admits, decide, decide_as_recorded,
    explain_policy, replay,
};
use proofmark_evidence::{Evidence, ReceiptFact};
use proofmark_receipt::{ReceiptId, SigningKey};

use crate::support::{causes, decided, moment, policy, receipt, request, run_case, yaml};

const LOG: &str = "log.example.org/proofmark+37fa6d46+Ae1JKMYo0cLG6ukDOJBZlWEpWSc6XGP5NjbBRhSshzfR";
const ONE: &str = "witness.example.net/w1+7a571b28+BMqTrBcFGHBx1nuDx/8O/oEI6OxFMFdddyaHkzPb2r58";
const TWO: &str = "witness.example.com/w2+880d174a+BG56HN0psLeP0Tr0xVmP7/TvKpcWbjym8uT7/M2AUFvx";

fn text(rule: &str, log_policy: &[&str]) -> String {
    let lines: String = log_policy.iter().map(|line| format!("  {line}\n")).collect();
    let pinned = if lines.is_empty() { String::new() } else { format!("log_policy: |\n{lines}") };
    format!(
        "version: 1\n{pinned}boundaries:\n  - id: b\n    match: {{}}\n    require:\n      - receipt: {{any_suite: true, output: 'sha256(action.args.patch)', max_age: 1h, {rule}}}\n"
    )
}

fn lines(quorum: &str) -> Vec<String> {
    let group = "group both all one two".to_owned();
    vec![
        format!("log {LOG}"),
        format!("witness one {ONE}"),
        format!("witness two {TWO}"),
        group,
        format!("quorum {quorum}"),
    ]
}

fn pinning(rule: &str, quorum: &str) -> ActionPolicy {
    policy(&text(rule, &lines(quorum).iter().map(String::as_str).collect::<Vec<_>>()))
}

fn patching() -> proofmark_boundary::Request {
    request("action: {tool: apply, class: system_change, args: {patch: diff}}")
}

/// A receipt in the log, cosigned by these.
fn logged(by: &ActionPolicy, witnesses: &[&str]) -> ReceiptFact {
    let logged = by.log_policy().unwrap().supposed(|name| witnesses.contains(&name));
    ReceiptFact { logged, ..receipt("r", "diff") }
}

fn id(number: u8) -> ReceiptId {
    ReceiptId::from_random_bytes([number; 16])
}

#[test]
fn a_receipt_in_no_log_is_refused_by_name_and_what_would_change_it_is_said() {
    let by = pinning("witnesses: 2", "none");
    for (fact, cause, step) in [
        (receipt("r", "diff"), "not_logged", "`proofmark log prove ID`"),
        (logged(&by, &["one"]), "not_witnessed", "after more witnesses have cosigned"),
    ] {
        let blocked = decided(&by, &patching(), vec![fact]);
        assert_eq!((blocked.disposition(), causes(&blocked)), (Disposition::LocalReplan, vec![cause]));
        let change = &blocked.changes()[0];
        assert!(change.words().contains("in a log of the policy, cosigned by 2 witnesses"), "{}", change.words());
        assert!(change.predicate().contains("r.logged && r.witnesses >= 2"), "{}", change.predicate());
        let receipt =
            DecisionReceipt::draft(&blocked, &patching(), id(1), None).sign(&SigningKey::from_seed([1; 32])).unwrap();
        assert!(
            receipt.to_text().contains("prove_logged") && receipt.to_text().contains(step),
            "{}",
            receipt.to_text()
        );

        let evidence = |witnesses: &[&str]| Evidence::new(vec![logged(&by, witnesses)]);
        let admitted = |witnesses: &[&str]| admits(&receipt, &by, &patching(), &evidence(witnesses), &moment(1));
        assert_eq!(admitted(&["one", "two"]), Admission::Admitted);
        assert!(matches!(admitted(&["two"]), Admission::ConditionsUnmet(_)));
    }
    assert_eq!(decided(&by, &patching(), vec![logged(&by, &["one", "two"])]).disposition(), Disposition::Allow);
    let blocked = decided(&by, &patching(), Vec::new());
    assert_eq!(causes(&blocked), ["absent"]);
}

#[test]
fn a_replay_needs_no_proof_and_another_policy_takes_its_own_keys_alone() {
    let by = pinning("logged: true", "one");
    let (key, request) = (SigningKey::from_seed([1; 32]), patching());
    let decision = decide(&by, &request, &Evidence::new(vec![logged(&by, &["one", "two"])]), &moment(0));
    assert_eq!(decision.disposition(), Disposition::Allow);
    let receipt = DecisionReceipt::draft(&decision, &request, id(1), None).sign(&key).unwrap();
    let recorded = receipt.document().get("evidence").unwrap().to_text();
    for part in [LOG, ONE, TWO, r#""index":0,"size":1"#] {
        assert!(recorded.contains(part), "{recorded}");
    }
    // A replay without the proof, or with a proof of a tree that other witnesses cosigned, finds the same.
    for fact in [self::receipt("r", "diff"), logged(&by, &["one"])] {
        assert_eq!(replay(&receipt, &request, &by, &[fact], &[key.signer()]).recomputed, Recomputed::Same);
    }
    let again = |policy: &ActionPolicy| causes(&decide_as_recorded(&receipt, &request, policy).unwrap());
    assert_eq!(again(&pinning("witnesses: 2", "both")), Vec::<&str>::new());
    let one_alone = format!("log {LOG}\n  witness w {ONE}\n  quorum w");
    let two_alone = format!("log {LOG}\n  witness w {TWO}\n  quorum w");
    for pins in [&one_alone, &two_alone] {
        assert_eq!(again(&policy(&text("logged: true", &[pins]))), Vec::<&str>::new());
    }
    // A witness that had not cosigned.
    let third = "witness w witness.example/3+aee589a8+BO1JKMYo0cLG6ukDOJBZlWEpWSc6XGP5NjbBRhSshzfR";
    assert_eq!(again(&policy(&text("logged: true", &[&format!("log {LOG}"), third, "quorum w"]))), ["not_witnessed"]);
    // Another log with the same witnesses.
    let other = "log log.example.com/proofmark+dc95b8d8+Ae1JKMYo0cLG6ukDOJBZlWEpWSc6XGP5NjbBRhSshzfR";
    assert_eq!(
        again(&policy(&text("logged: true", &[other, &format!("witness one {ONE}"), "quorum one"]))),
        ["not_logged"]
    );
}

#[test]
fn a_decision_with_a_log_that_cannot_be_read_is_not_replayed_without_it() {
    let by = pinning("logged: true", "one");
    let (key, request) = (SigningKey::from_seed([1; 32]), patching());
    let decision = decide(&by, &request, &Evidence::new(vec![logged(&by, &["one"])]), &moment(0));
    let receipt = DecisionReceipt::draft(&decision, &request, id(1), None).sign(&key).unwrap();
    let changed = receipt.to_text().replace(r#""index":0,"size":1"#, r#""index":1,"size":1"#);
    let changed = DecisionReceipt::parse(changed.as_bytes()).unwrap();
    assert_eq!(replay(&changed, &request, &by, &[], &[]).recomputed, Recomputed::Unreadable("evidence"));
    // One of a build that knew no logs has no such member.
    let plain = pinning("single_use: true", "one");
    let decision = decide(&plain, &request, &Evidence::new(vec![self::receipt("r", "diff")]), &moment(0));
    let before = DecisionReceipt::draft(&decision, &request, id(2), None).sign(&key).unwrap();
    assert!(!before.to_text().contains("logged"));
    assert_eq!(causes(&decide_as_recorded(&before, &request, &by).unwrap()), ["not_logged"]);
}

#[test]
fn the_pinned_keys_belong_to_the_policy() {
    let of = |quorum: &str| pinning("logged: true", quorum).hash();
    assert_ne!(of("one"), of("two"), "a policy with other keys is another policy");
    for (rule, log_policy, message) in [
        ("logged: true", vec![], "`boundaries[0].require[0].receipt.logged`: the policy does not say which logs count"),
        (
            "witnesses: 1",
            vec![],
            "`boundaries[0].require[0].receipt.witnesses`: the policy does not say which logs count",
        ),
        ("logged: false", lines("none"), "`boundaries[0].require[0].receipt.logged`: `logged` is `false`"),
        ("witnesses: 3", lines("none"), "`boundaries[0].require[0].receipt.witnesses`: `log_policy` lists 2 witnesses"),
        ("logged: true", vec!["quorum none".to_owned()], "`log_policy`: it names no log"),
        ("logged: true", vec![format!("log {LOG}")], "`log_policy`: the policy has no `quorum` line"),
        ("logged: true", vec![format!("log {ONE}"), "quorum none".to_owned()], "`log_policy`: line 1 of the policy: "),
    ] {
        let text = text(rule, &log_policy.iter().map(String::as_str).collect::<Vec<_>>());
        let error = ActionPolicy::read(&yaml(&text)).unwrap_err();
        assert!(error.to_string().starts_with(message), "{error}\n{text}");
        assert!(error.help().is_some(), "{error}");
    }
}

#[test]
fn lint_names_a_log_that_nobody_watches_and_keys_that_nothing_reads() {
    let codes = |rule: &str, quorum: &str| {
        let found = pinning(rule, quorum).warnings();
        let of_logs = found.iter().map(|warning| warning.code).filter(|code| code.contains("log"));
        of_logs.collect::<Vec<_>>()
    };
    assert_eq!(codes("logged: true", "none"), ["log-without-witness"]);
    assert_eq!(codes("logged: true", "one"), Vec::<&str>::new());
    assert_eq!(codes("witnesses: 1", "none"), Vec::<&str>::new());
    assert_eq!(codes("single_use: true", "one"), ["unused-log-policy"]);
}

#[test]
fn a_case_supposes_who_has_cosigned() {
    let run = run_case;
    let two = pinning("witnesses: 2", "one");
    let none = || Ok(Vec::new());
    assert_eq!(run(&two, "", "replan_required"), none());
    assert_eq!(run(&two, ", logged: true", "replan_required"), none());
    assert_eq!(run(&two, ", witnesses: [one]", "replan_required"), none());
    assert_eq!(run(&two, ", witnesses: [one, one]", "replan_required"), none());
    assert_eq!(run(&two, ", witnesses: [one, two]", "allow"), none());
    assert_eq!(run(&two, ", logged: false", "replan_required"), none());
    let unknown = run(&two, ", witnesses: [one, three]", "replan_required").unwrap();
    assert_eq!(unknown, ["`witnesses` names `three`, which `log_policy` does not list"]);
    let plain = policy(&text("single_use: true", &[]));
    assert_eq!(
        run(&plain, ", logged: true", "allow").unwrap(),
        ["a receipt is `logged`, and the policy has no `log_policy`"]
    );
    assert!(run(&two, ", logged: false, witnesses: [one]", "allow").unwrap_err().contains("nothing to cosign"));
}

#[test]
fn explain_says_which_log() {
    let shown = |rule: &str, quorum: &str| explain_policy(&pinning(rule, quorum));
    assert!(shown("logged: true", "none").contains(", in a log of the policy, and counts"));
    assert!(shown("logged: true", "one").contains("in a log of the policy, cosigned by its quorum"));
    assert!(shown("witnesses: 1", "one").contains("in a log of the policy, cosigned by a witness"));
}
