//! A step of a workflow asks for a person: an attempt that holds without them waits, and what they sign counts for it alone.

use proofmark_receipt::{Json, Receipt};

use crate::reviews::member;
use crate::run::{Done, Place};

const WORKFLOW: &str = "name: change
class: readonly
steps:
  - id: plan
    agent: planner
    verification:
      evidence: [{path: risk, expect: present, rejectMessage: The risk is missing.}]
      approvals: [{role: owner}]
    onFailure: {maxAttempts: 3}
";
const PLAN: &str = r#"{"risk": "low", "steps": ["stop", "copy", "start"]}"#;

/// A place where Ann owns what is planned, and Mallory has a key.
struct Owned(Place);

impl Owned {
    fn new() -> Self {
        let place = Place::new();
        for name in ["default", "ann", "bob", "mallory"] {
            place.run(&["key", "new", name]);
        }
        let owned = Self(place);
        owned.write(WORKFLOW, "workflow.yaml");
        owned
    }

    fn write(&self, workflow: &str, name: &str) {
        let key = |name: &str| self.0.run(&["key", "show", name, "--as", "signer-id"]).stdout.trim().to_owned();
        let listed = format!(
            "{{name: Ann, key: {}, roles: [owner]}}, {{name: Bob, key: {}, roles: [legal]}}",
            key("ann"),
            key("bob")
        );
        self.0.file(name, format!("{workflow}reviewers: [{listed}]\n"));
    }

    fn accept(&self, run: &str, result: &str, more: &[&str]) -> Done {
        self.accept_by("workflow.yaml", run, result, more)
    }

    fn accept_by(&self, workflow: &str, run: &str, result: &str, more: &[&str]) -> Done {
        let response = self.0.file("response.json", result);
        let command = ["workflow", "accept", workflow, "--step", "plan", "--run", run, "--response", &response];
        self.0.run(&[&command[..], more].concat())
    }

    /// The decision that an attempt waits for.
    fn waits(&self, run: &str, result: &str) -> String {
        self.waits_by("workflow.yaml", run, result, &[])
    }

    fn waits_by(&self, workflow: &str, run: &str, result: &str, more: &[&str]) -> String {
        let done = self.accept_by(workflow, run, result, &[&["--format", "json"], more].concat());
        assert_eq!(done.code, 1, "{done:?}");
        let accepted = Json::parse(done.stdout.as_bytes()).unwrap();
        assert_eq!(member(&accepted, "state").as_str(), Some("awaiting_approval"), "{done:?}");
        member(&member(&accepted, "awaits"), "decision").as_str().unwrap().to_owned()
    }

    fn review(&self, verb: &str, decision: &str, key: &str) -> Done {
        self.0.run(&["decision", verb, decision, "--key", key, "--note", "not on a Friday", "--yes"])
    }
}

#[test]
fn an_attempt_waits_for_a_person_and_is_accepted_once_they_approve() {
    let owned = Owned::new();
    let early = owned.accept("r", "{}", &[]);
    assert!(early.code == 1 && early.stdout.contains("once every other rule is met"), "{early:?}");
    let decision = owned.waits("r", PLAN);
    // Waiting uses up no attempt, and asking again changes nothing.
    assert_eq!(owned.waits("r", PLAN), decision);
    let chatter = owned.accept("r", "I am waiting for Ann.", &[]);
    assert!(chatter.code == 2 && chatter.stderr.contains(&decision), "{chatter:?}");
    let next = owned.0.run(&["run", "next", "r", "--workflow", "workflow.yaml"]);
    let said = format!("waits for an approval by owner: proofmark decision approve {decision}");
    assert!(next.code == 0 && next.stdout.contains(&said) && next.stdout.contains("attempt 2 of 3"), "{next:?}");
    // The agent has answered, and the prompt before is in no receipt that could be checked.
    assert!(!next.stdout.contains("prompt") && !next.stdout.contains("The risk is missing"), "{next:?}");
    assert!(owned.0.run(&["run", "show", "r"]).stdout.contains(&said));
    assert!(owned.0.run(&["run", "list"]).stdout.contains("awaiting_approval"));
    let dry = owned.accept("other", PLAN, &["--dry-run"]);
    assert!(dry.code == 1 && dry.stdout.contains("waits for an approval by owner"), "{dry:?}");
    assert!(!dry.stdout.contains("decision approve"), "{dry:?}");

    let approved = owned.review("approve", &decision, "ann");
    assert_eq!(approved.code, 0, "{approved:?}");
    for shown in ["planner asked to run workflow:accept on r/plan", "\"copy\",", "Ann"] {
        assert!(approved.stderr.contains(shown), "{shown}: {approved:?}");
    }
    let accepted = owned.accept("r", PLAN, &[]);
    assert!(accepted.code == 0 && accepted.stdout.contains("approved by Ann"), "{accepted:?}");

    // The receipt names the decision that found the approval, and both verify.
    let chain = owned.0.run(&["receipt", "export", "--chain", "run/r/plan"]).stdout;
    let last = Receipt::parse(chain.trim_end().lines().last().unwrap().as_bytes()).unwrap();
    let allowed = last.metadata().get("decision").and_then(Json::as_str).unwrap().to_owned();
    assert_ne!(allowed, decision);
    assert_eq!(chain.lines().count(), 3, "{chain}");
    let shown = owned.0.run(&["decision", "show", &allowed]);
    assert!(shown.code == 0 && shown.stdout.contains("allow"), "{shown:?}");
    assert_eq!(owned.0.run_with(&["receipt", "verify", "-", "--as-chain"], &[], chain.as_bytes()).code, 0);
    assert_eq!(owned.0.run(&["store", "check"]).code, 0);
    assert_eq!(owned.0.run(&["run", "next", "r", "--workflow", "workflow.yaml"]).code, 1);
}

#[test]
fn a_denial_is_the_next_prompt() {
    let owned = Owned::new();
    let decision = owned.waits("r", PLAN);
    assert_eq!(owned.review("deny", &decision, "ann").code, 0);
    let denied = owned.accept("r", PLAN, &[]);
    assert!(denied.code == 1 && denied.stdout.contains("Ann denied it: not on a Friday"), "{denied:?}");
    let next = owned.0.run(&["run", "next", "r", "--workflow", "workflow.yaml"]).stdout;
    assert!(next.contains("attempt 2 of 3") && next.contains("Ann denied it: not on a Friday"), "{next}");
    // The second attempt is another action, which nobody has denied.
    let second = owned.waits("r", PLAN);
    assert_ne!(second, decision);
    assert_eq!(owned.review("approve", &second, "ann").code, 0);
    assert_eq!(owned.accept("r", PLAN, &[]).code, 0);
}

#[test]
fn an_approval_counts_for_nothing_else() {
    let owned = Owned::new();
    let decision = owned.waits("r", PLAN);
    // Neither the key that accepts nor anybody who is not listed, nor in a role that they do not hold.
    for key in ["default", "mallory", "bob"] {
        owned.review("approve", &decision, key);
        owned.waits("r", PLAN);
    }
    let refused = owned.accept("r", PLAN, &[]);
    assert!(refused.stdout.contains("0 of 1"), "{refused:?}");
    let decision = owned.waits("r", PLAN);
    assert_eq!(owned.review("approve", &decision, "ann").code, 0);
    // Another result, another run, another attempt, another contract.
    owned.waits("r", r#"{"risk": "low", "steps": ["delete"]}"#);
    owned.waits("r2", PLAN);
    assert_eq!(owned.accept("r3", "{}", &[]).code, 1);
    owned.waits("r3", PLAN);
    owned.write(&WORKFLOW.replace("name: change", "name: changes"), "other.yaml");
    owned.waits_by("other.yaml", "r4", PLAN, &[]);
    let changed = owned.accept_by("other.yaml", "r", PLAN, &[]);
    assert!(changed.code == 2 && changed.stderr.contains("the contract changed"), "{changed:?}");
    // Other evidence: the calls that were made.
    let calls = owned.0.file("calls.json", r#"[{"name": "read", "result": "ok"}]"#);
    owned.waits_by("workflow.yaml", "r", PLAN, &["--trace", &calls]);
    // What it was given for is accepted once.
    assert_eq!(owned.accept("r", PLAN, &[]).code, 0);
    let again = owned.accept("r", PLAN, &[]);
    assert!(again.code == 2 && again.stderr.contains("was accepted"), "{again:?}");
    // What is stored about the state is compared with what was signed.
    let waiting = owned.waits("r5", PLAN);
    owned.0.home.sql("UPDATE runs SET state = replace(state, 'awaiting_approval', 'accepted') WHERE run = 'r5'");
    let forged = owned.0.run(&["run", "next", "r5", "--workflow", "workflow.yaml"]);
    assert!(forged.code == 2 && !forged.stdout.contains(&waiting), "{forged:?}");
    // A program that can write to the store starts the step again: the approval is spent.
    owned.0.home.sql("DELETE FROM runs WHERE run = 'r'");
    owned.waits("r", PLAN);
}

#[test]
fn lint_says_who_cannot_approve_and_who_approves_themselves() {
    let owned = Owned::new();
    owned.0.file("nobody.yaml", WORKFLOW);
    let found = owned.0.run(&["lint", "nobody.yaml"]).stdout;
    assert!(found.contains("role-of-nobody"), "{found}");
    owned.write(&WORKFLOW.replace("{role: owner}", "{role: owner, count: 2}"), "two.yaml");
    assert!(owned.0.run(&["lint", "two.yaml"]).stdout.contains("too-few-keys"));
    let own = owned.0.run(&["key", "show", "default", "--as", "signer-id"]).stdout.trim().to_owned();
    owned.0.file("own.yaml", format!("{WORKFLOW}reviewers: [{{name: me, key: {own}, roles: [owner]}}]\n"));
    let found = owned.0.run(&["lint", "own.yaml"]).stdout;
    assert!(found.contains("approval-by-accepting-key"), "{found}");
    assert!(!owned.0.run(&["lint", "workflow.yaml"]).stdout.contains("approval"), "Ann has a key of her own");
    let warn = WORKFLOW.replace("    verification:\n", "    verification:\n      onMissingEvidence: warn\n");
    owned.write(&warn, "warn.yaml");
    let found = owned.0.run(&["lint", "warn.yaml"]);
    assert!(found.code == 1 && found.stdout.contains("conflicting-fields"), "{found:?}");
}
