//! Approvals for a session or a pattern, from the command line: what they allow, and how they end.

use proofmark_receipt::Json;

use crate::reviews::{Finance, member};
use crate::run::Done;

const POLICY: &str = "version: 1
boundaries:
  - id: move
    match: {}
    require:
      - approval: {role: finance, scopes: [once, session, pattern]}
";

/// A request to move something there, in this session.
fn request(to: &str, run: &str) -> String {
    format!(
        r#"{{"action": {{"tool": "move", "class": "system_change", "args": {{"from": "a", "to": "{to}"}}}},
            "agent": {{"id": "bot", "environment": "staging", "run": "{run}"}}}}"#
    )
}

struct Moves(Finance);

impl Moves {
    fn new() -> Self {
        Self(Finance::new())
    }

    fn decide(&self, to: &str, run: &str) -> Done {
        self.0.decide(POLICY, &request(to, run))
    }

    fn allows(&self, to: &str, run: &str) -> bool {
        let decided = self.decide(to, run);
        assert!(decided.code < 2, "{decided:?}");
        decided.code == 0
    }

    /// What Ann grants when she is asked to approve moving something to `/srv/a` in session `r1`.
    fn grant(&self, scope: &[&str]) -> Done {
        let blocked = self.decide("/srv/a", "r1");
        let id = text(&blocked, "decision_id");
        self.0
            .place
            .run(&[&["decision", "approve", &id, "--key", "ann", "--note", "ok", "--json", "--yes"], scope].concat())
    }
}

fn text(done: &Done, name: &str) -> String {
    member(&Json::parse(done.stdout.as_bytes()).unwrap(), name).as_str().unwrap().to_owned()
}

#[test]
fn a_session_is_granted_until_it_is_revoked() {
    let moves = Moves::new();
    let grant = moves.grant(&["--scope", "session", "--until", "2h"]);
    assert_eq!(grant.code, 0, "{grant:?}");
    assert!(grant.stderr.contains("every call of move in session r1, with any arguments"), "{grant:?}");
    assert!(moves.allows("/srv/a", "r1") && moves.allows("/srv/a", "r1") && moves.allows("/etc/b", "r1"));
    assert!(!moves.allows("/srv/a", "r2"));
    let approval = text(&grant, "receipt_id");
    assert!(moves.decide("/srv/c", "r1").stdout.contains(&approval), "the decision names the grant");
    let place = &moves.0.place;
    let revoke = || place.run(&["decision", "revoke", &approval, "--key", "bob", "--note", "over", "--json"]);
    let revoked = revoke();
    assert_eq!(revoked.code, 0, "{revoked:?}");
    assert_eq!(place.run(&["receipt", "verify", &place.file("revoked.json", &revoked.stdout)]).code, 0);
    let blocked = moves.decide("/srv/a", "r1");
    assert!(blocked.code == 1 && blocked.stdout.contains("\"refused\":\"spent\""), "{blocked:?}");
    assert!(revoke().code == 2 && revoke().stderr.contains("revoked before"));
    let once = moves.grant(&[]);
    let refused = place.run(&["decision", "revoke", &text(&once, "receipt_id"), "--key", "bob", "--note", "over"]);
    assert!(refused.code == 2 && refused.stderr.contains("not an approval for more than one action"), "{refused:?}");
    assert!(moves.allows("/srv/a", "r1") && !moves.allows("/srv/a", "r1"), "an approval of one action is used up");
}

#[test]
fn a_pattern_is_granted_for_what_fits_it() {
    let moves = Moves::new();
    let unfit = moves.grant(&["--scope", "pattern", "--below", "args.to=/etc/"]);
    assert!(unfit.code == 2 && unfit.stderr.contains("of this action is not below /etc/"), "{unfit:?}");
    let loose = moves.grant(&["--any", "args.to"]);
    assert!(loose.code == 2 && loose.stderr.contains("--scope pattern"), "{loose:?}");
    let grant = moves.grant(&["--scope", "pattern", "--below", "args.to=/srv/", "--until", "1h"]);
    assert!(grant.code == 0 && grant.stderr.contains("args.to: below /srv/"), "{grant:?}");
    assert!(moves.allows("/srv/b", "r1") && moves.allows("/srv/c/d", "r2"));
    assert!(!moves.allows("/etc/b", "r1") && !moves.allows("/srv/../etc/b", "r1") && !moves.allows("/srvx", "r1"));
}

#[test]
fn a_denial_of_such_an_action_ends_the_grant() {
    let moves = Moves::new();
    assert_eq!(moves.grant(&["--scope", "pattern", "--below", "args.to=/srv/"]).code, 0);
    let other = moves.decide("/etc/b", "r1");
    assert!(moves.allows("/srv/b", "r1"));
    let id = text(&other, "decision_id");
    let denied = moves.0.place.run(&["decision", "deny", &id, "--yes", "--key", "bob", "--note", "stop moving things"]);
    assert_eq!(denied.code, 0, "{denied:?}");
    assert!(!moves.allows("/srv/b", "r1"));
    let checked = moves.0.place.run(&["store", "check"]);
    assert_eq!(checked.code, 0, "{checked:?}");
}

#[test]
fn a_grant_is_made_of_what_the_decision_signed() {
    let moves = Moves::new();
    let blocked = moves.decide("/srv/a", "r1");
    let id = text(&blocked, "decision_id");
    // The facts in the store say another session than the decision.
    moves
        .0
        .place
        .home
        .sql(&format!("UPDATE asked SET facts = replace(facts, '\"r1\"', '\"r2\"') WHERE decision_id = '{id}'"));
    let scope = ["decision", "approve", &id, "--key", "ann", "--note", "ok", "--scope", "session", "--yes"];
    let refused = moves.0.place.run(&scope);
    assert!(refused.code == 2 && refused.stderr.contains("facts it was made on are not stored"), "{refused:?}");
}

#[test]
fn a_rule_that_offers_nothing_takes_no_grant() {
    let moves = Moves::new();
    assert_eq!(moves.grant(&["--scope", "session"]).code, 0);
    let strict = POLICY.replace(", scopes: [once, session, pattern]", "");
    let blocked = moves.0.decide(&strict, &request("/srv/a", "r1"));
    assert_eq!(blocked.code, 1, "{blocked:?}");
    let short = POLICY.replace("pattern]", "pattern], longest: 30m");
    let blocked = moves.0.decide(&short, &request("/srv/a", "r1"));
    assert!(blocked.code == 1 && blocked.stdout.contains("grant_too_long"), "{blocked:?}");
}

#[test]
fn what_the_policy_does_not_offer_is_refused_before_anybody_is_asked() {
    let moves = Moves::new();
    let place = &moves.0.place;
    let narrow = POLICY.replace("scopes: [once, session, pattern]", "scopes: [once, session], longest: 1h");
    let id = text(&moves.0.decide(&narrow, &request("/srv/a", "r1")), "decision_id");
    // With the people, as it decided.
    let (narrow, wide) = ("policy.yaml", place.file("wide.yaml", POLICY));
    let approve = |policy: &str, more: &[&str]| {
        let words = ["decision", "approve", &id, "--key", "ann", "--note", "ok", "--json", "--policy", policy];
        place.run(&[&words[..], more].concat())
    };
    for (more, why) in [
        (&["--scope", "pattern", "--any", "args.to"][..], "the policy does not offer it"),
        (&["--scope", "session", "--until", "2h"], "the policy offers it for at most 1 hour"),
    ] {
        let refused = approve(narrow, more);
        assert!(refused.code == 2 && refused.stderr.contains(why), "{refused:?}");
        assert!(refused.stderr.contains("the policy offers: once, session; more than once for at most 1 hour"));
        assert!(!refused.stderr.contains("--yes"), "nobody was asked: {refused:?}");
    }
    let blind = approve(narrow, &["--scope", "session"]);
    assert!(
        blind.code == 2 && blind.stderr.contains("every call of move") && blind.stderr.contains("--yes"),
        "{blind:?}"
    );
    let other = approve(&wide, &["--scope", "session", "--yes"]);
    assert!(other.code == 0 && other.stderr.contains("is not the policy that decided"), "{other:?}");
}

#[test]
fn a_rule_that_was_not_asked_offers_nothing() {
    let moves = Moves::new();
    let narrow = POLICY.replace("match: {}", "match: {tool: move}").replace("session, pattern]", "session]");
    let policy = format!(
        "{narrow}  - id: look
    match: {{tool: look}}
    require:
      - approval: {{role: finance, scopes: [once, pattern]}}
"
    );
    let id = text(&moves.0.decide(&policy, &request("/srv/a", "r1")), "decision_id");
    let words =
        ["decision", "approve", &id, "--key", "ann", "--note", "ok", "--json", "--yes", "--policy", "policy.yaml"];
    let refused = moves.0.place.run(&[&words[..], &["--scope", "pattern", "--any", "args.to"]].concat());
    assert!(refused.code == 2 && refused.stderr.contains("the policy offers: once, session; "), "{refused:?}");
    let granted = moves.0.place.run(&[&words[..], &["--scope", "session"]].concat());
    assert_eq!(granted.code, 0, "{granted:?}");
}
