//! Approvals that reach beyond one action: where they count, and what they never reach.

use proofmark_boundary::{
    ActionPolicy, Admission, Asker, DecisionReceipt, Disposition, Recomputed, Request, Separation, admits, replay,
};
use proofmark_evidence::{Bound, Evidence, Free, ReceiptFact, Scope, WantedScope};
use proofmark_receipt::{ReceiptId, SigningKey};

use crate::support::{approval, causes, codes, decided, moment, policy, request, yaml};

fn paying(scopes: &str) -> ActionPolicy {
    policy(&format!(
        "version: 1\nboundaries:\n  - id: b\n    match: {{}}\n    require:\n      - approval: {{role: lead{scopes}}}\n"
    ))
}

const ALL: &str = ", scopes: [once, session, pattern]";

fn asked(args: &str, agent: &str) -> Request {
    request(&format!("action: {{tool: move, server: files, class: system_change, args: {args}}}\nagent: {{{agent}}}"))
}

fn move_to(path: &str) -> Request {
    asked(&format!("{{from: a, to: {path}}}"), "id: bot, environment: prod, run: r1")
}

/// The approval of a lead, who also grants this.
fn granted(number: u8, of: &Request, wanted: &WantedScope) -> ReceiptFact {
    let mut fact = approval(number, "lead", of);
    let scope = Scope::of(wanted, &of.occasion()).unwrap();
    fact.output = of.occasion().key().unwrap();
    fact.approval.as_mut().unwrap().scope = Some(scope);
    fact
}

fn below(prefix: &str) -> WantedScope {
    WantedScope::Pattern(vec![Free::at("args.to", Bound::Prefix(prefix.to_owned()))])
}

#[test]
fn a_grant_for_a_session_allows_further_calls_of_it_and_is_not_spent() {
    let first = move_to("/srv/a");
    let grant = || vec![granted(1, &first, &WantedScope::Session)];
    for path in ["/srv/a", "/etc/b"] {
        let decision = decided(&paying(ALL), &move_to(path), grant());
        assert_eq!(decision.disposition(), Disposition::Allow);
        assert!(decision.spends().is_empty(), "a grant is not used up");
    }
    let cause = |request: &Request| causes(&decided(&paying(ALL), request, grant()))[0];
    let to = "{from: a, to: /srv/a}";
    for (agent, refused) in [
        ("id: bot, environment: prod, run: r2", "other_session"),
        ("id: bot, environment: prod", "other_session"),
        ("id: other, environment: prod, run: r1", "out_of_scope"),
        ("id: bot, environment: staging, run: r1", "out_of_scope"),
        ("environment: prod, run: r1", "out_of_scope"),
        ("id: bot, environment: prod, run: r1, project: p", "out_of_scope"),
    ] {
        assert_eq!(cause(&asked(to, agent)), refused, "{agent}");
    }
    let agent = "agent: {id: bot, environment: prod, run: r1}";
    for action in [
        "{tool: move, server: evil, class: system_change}",
        "{tool: move, class: system_change}",
        "{tool: remove, server: files, class: system_change}",
        "{tool: move, server: files, class: upload}",
        "{tool: move, server: files, class: system_change, definition: x}",
        "{tool: move, server: files, class: system_change, via: shell}",
    ] {
        assert_eq!(cause(&request(&format!("action: {action}\n{agent}"))), "out_of_scope", "{action}");
    }
    let account = Asker { separation: Separation::Account, account: Some("else".to_owned()), ..Asker::default() };
    assert_eq!(cause(&move_to("/srv/a").asked_by(&account)), "out_of_scope");
}

#[test]
fn a_pattern_allows_what_fits_in_any_session() {
    let first = move_to("/srv/a");
    let grant = || vec![granted(1, &first, &below("/srv/"))];
    let allows = |request: &Request| decided(&paying(ALL), request, grant()).allows();
    assert!(allows(&first) && allows(&move_to("/srv/b/c")));
    assert!(allows(&asked("{from: a, to: /srv/b}", "id: bot, environment: prod, run: r2")));
    for args in ["{from: a, to: /etc/b}", "{from: b, to: /srv/b}", "{from: a, to: /srv/../etc}", "{from: a}"] {
        assert!(!allows(&asked(args, "id: bot, environment: prod, run: r1")), "{args}");
    }
    assert!(!allows(&asked("{from: a, to: /srv/b, force: true}", "id: bot, environment: prod, run: r1")));
}

#[test]
fn a_grant_counts_only_where_the_rule_offers_it_and_no_longer() {
    let first = move_to("/srv/a");
    let grant = || vec![granted(1, &first, &WantedScope::Session)];
    for scopes in ["", ", scopes: [once]", ", scopes: [once, pattern]"] {
        assert_eq!(causes(&decided(&paying(scopes), &first, grant())), ["scope_not_offered"], "{scopes}");
    }
    // It is given at 11:30 and counts until 12:30.
    let longest = |span: &str| paying(&format!(", scopes: [once, session], longest: {span}"));
    assert_eq!(causes(&decided(&longest("59m"), &first, grant())), ["grant_too_long"]);
    assert!(decided(&longest("1h"), &first, grant()).allows());
    // A rule that takes any agent takes no grant of another one.
    let any_agent = paying(", binds: [action], scopes: [once, session]");
    let other = asked("{from: a, to: /srv/a}", "id: other, environment: prod, run: r1");
    assert!(decided(&any_agent, &first, grant()).allows() && !decided(&any_agent, &other, grant()).allows());
    // One rule that does not offer it is enough to stop the action.
    let two = "version: 1\nboundaries:\n  - id: b\n    match: {}\n    require:\n      - approval: {role: lead, scopes: [once, \
               session]}\n      - approval: {role: lead, count: 1}\n";
    assert_eq!(causes(&decided(&policy(two), &first, grant())), ["scope_not_offered"]);
}

#[test]
fn an_approval_of_one_action_stays_one_whatever_the_rule_offers() {
    let first = move_to("/srv/a");
    let once = approval(1, "lead", &first);
    let decision = decided(&paying(ALL), &first, vec![once.clone()]);
    assert_eq!((decision.allows(), decision.spends().len()), (true, 1));
    assert!(!decided(&paying(ALL), &move_to("/srv/b"), vec![once.clone()]).allows());
    // The scope alone makes no grant of it: the receipt is over the action.
    let mut forged = once;
    forged.approval.as_mut().unwrap().scope = Some(Scope::of(&WantedScope::Session, &first.occasion()).unwrap());
    assert_eq!(causes(&decided(&paying(ALL), &first, vec![forged])), ["other_output"]);
    // Nor does the key of a grant alone.
    let mut forged = granted(1, &first, &WantedScope::Session);
    forged.approval.as_mut().unwrap().scope = None;
    assert_eq!(causes(&decided(&paying(ALL), &first, vec![forged])), ["other_output"]);
}

#[test]
fn the_receipt_names_the_grant_and_is_replayed() {
    let first = move_to("/srv/a");
    let grant = granted(1, &first, &below("/srv/"));
    let (policy, later) = (paying(ALL), move_to("/srv/b"));
    let decision = decided(&policy, &later, vec![grant.clone()]);
    let (id, key) = (ReceiptId::from_random_bytes([1; 16]), SigningKey::from_seed([3; 32]));
    let receipt = DecisionReceipt::draft(&decision, &later, id, None);
    let text = receipt.to_text();
    assert!(text.contains(&grant.receipt_id) && text.contains(r#""kind":"pattern""#), "{text}");
    let signed = receipt.sign(&key).unwrap();
    let again = replay(&signed, &later, &policy, std::slice::from_ref(&grant), &[key.signer()]);
    assert_eq!(again.recomputed, Recomputed::Same);
}

#[test]
fn a_retry_that_a_grant_allows_is_admitted() {
    let first = move_to("/srv/a");
    let policy = paying(ALL);
    let blocked = decided(&policy, &first, Vec::new());
    let receipt = DecisionReceipt::draft(&blocked, &first, ReceiptId::from_random_bytes([1; 16]), None);
    let grant = |policy: &ActionPolicy, wanted| {
        let evidence = Evidence::new(vec![granted(1, &first, wanted)]);
        admits(&receipt, policy, &first, &evidence, &moment(1))
    };
    assert_eq!(grant(&policy, &WantedScope::Session), Admission::Admitted);
    assert_ne!(grant(&paying(""), &WantedScope::Session), Admission::Admitted);
}

#[test]
fn what_a_policy_offers_is_read_strictly_and_spending_is_warned_of() {
    let refused = |rule: &str| {
        let text = format!(
            "version: 1\nboundaries:\n  - id: b\n    match: {{}}\n    require:\n      - approval: {{role: lead, {rule}}}\n"
        );
        ActionPolicy::read(&yaml(&text)).unwrap_err().to_string()
    };
    assert!(refused("scopes: [session]").contains("once"));
    assert!(refused("scopes: [once, forever]").contains("forever"));
    assert!(refused("longest: 1h").contains("one action"));
    assert!(refused("scopes: [once, session], longest: 31d").contains("30 days"));
    let unless = "version: 1\nboundaries:\n  - id: b\n    match: {}\n    deny:\n      - when: 'true'\n        reason: {code: a, \
                  message: b}\n        unless: {approval: {role: lead, scopes: [once, session]}}\n";
    assert!(ActionPolicy::read(&yaml(unless)).unwrap_err().to_string().contains("one action"));
    let warned = |id: &str, matched: &str, more: &str, scopes: &str| {
        let text = format!(
            "version: 1\nboundaries:\n  - id: {id}\n    match: {matched}\n    require:\n      - approval: {{role: \
             lead{scopes}}}\n{more}roles: {{lead: ['{}']}}\n",
            crate::support::reviewer(1)
        );
        policy(&text).warnings().iter().any(|warning| warning.code == "scopes-of-spending")
    };
    let receipt = "      - receipt: {any_suite: true, output: action.args.a, single_use: true}\n";
    let amount = "      - fact: 'action.amount < 100'\n";
    assert!(warned("b", "{tool: issue_refund}", "", ALL));
    assert!(warned("b", "{}", receipt, ALL) && warned("b", "{}", amount, ALL) && warned("payments", "{}", "", ALL));
    assert!(!warned("b", "{tool: move}", "", ALL) && !warned("payments", "{}", receipt, ""));
    assert_eq!(codes(&decided(&paying(ALL), &move_to("a"), Vec::new())), ["missing_approval"]);
}
