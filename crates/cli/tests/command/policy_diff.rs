//! What a new policy changes about old decisions.

use insta::assert_snapshot;

use crate::run::{Place, project_file};
use crate::transcript::Transcript;

const OLD: &str = "version: 1
boundaries:
  - id: refund
    match: {tool: refund}
    require:
      - fact: action.args.amount <= 100
        reason: {code: too_much, message: The amount is above the limit.}
    warn:
      - when: 'has(context_fill_pct) && context_fill_pct > 0.9'
        reason: {code: full, message: The context is nearly full.}
";

fn decide(place: &Place, amount: u32, facts: &str, more: &[&str]) {
    let request = format!(
        r#"{{"action": {{"tool": "refund", "class": "system_change", "args": {{"amount": {amount}}}}}, "agent": {{"id": "bot"}}{facts}}}"#
    );
    let arguments = ["decide", "-", "--policy", "old.yaml"];
    place.run_with(&[&arguments[..], more].concat(), &[], request.as_bytes());
}

#[test]
fn decisions_that_change_are_listed_with_why() {
    let place = Place::new();
    let (old, same) = (place.file("old.yaml", OLD), place.file("same.yaml", format!("{OLD}# A comment.\n")));
    let new = place.file("new.yaml", OLD.replace("<= 100", "<= 50"));
    place.run(&["key", "new"]);
    let mut transcript = Transcript::new(&place);
    transcript.run(&["policy", "diff", &old, &new]);
    decide(&place, 10, "", &[]);
    decide(&place, 80, "", &[]);
    // What else was known is not stored, and could change the decision.
    decide(&place, 90, ", \"context_fill_pct\": 0.1", &[]);
    decide(&place, 95, ", \"context_fill_pct\": 0.1", &["--record-facts"]);
    transcript.run(&["policy", "diff", &old, &new]);
    transcript.run(&["policy", "diff", &old, &new, "--json"]);
    let back = transcript.run(&["policy", "diff", &new, &old]);
    assert_eq!(back.code, 1);
    let none = transcript.run(&["policy", "diff", &old, &same]);
    assert_eq!(none.code, 0, "{none:?}");
    let before = place.run(&["decision", "list", "--json"]).stdout.lines().count();
    assert_eq!(before, 4, "nothing is stored");
    let (policy, cases) = (project_file("examples/decide/policy.yaml"), project_file("examples/decide/cases.yaml"));
    let text = std::fs::read_to_string(&policy).unwrap().replace("../sort.json", &project_file("examples/sort.json"));
    let strict = place.file("strict.yaml", text.replace("count: 1", "count: 2"));
    transcript.run(&["policy", "diff", &policy, &strict, "--cases", &cases]);
    transcript.run(&["policy", "diff", &policy, &policy, "--cases", &cases]);
    assert_snapshot!(transcript.text);
}
