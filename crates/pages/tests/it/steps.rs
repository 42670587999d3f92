//! Attempts at workflow steps that wait for a person, on the page.

use proofmark_receipt::Json;

use crate::Office;
use crate::client::{code, text};

const WORKFLOW: &str = "name: change
class: readonly
steps:
  - id: plan
    verification: {evidence: [{path: risk, expect: present}], approvals: [{role: manager}]}
";

/// The answer to an attempt of the agent.
fn attempt(office: &Office, run: &str, result: &str) -> (u16, Json) {
    let (workflow, result) = (Json::from(WORKFLOW).to_text(), Json::from(result).to_text());
    let body = format!(r#"{{"workflow": {workflow}, "response": {result}}}"#);
    office.server.post(&format!("/v1/steps/{run}/plan/attempts"), &office.agent, &body)
}

fn waits(office: &Office, run: &str, result: &str) -> String {
    let (status, answer) = attempt(office, run, result);
    assert_eq!((status, text(&answer, "state").as_str()), (200, "awaiting_approval"), "{answer:?}");
    text(answer.as_object().unwrap().get("awaits").unwrap(), "decision")
}

#[test]
fn an_attempt_that_waits_is_approved_on_the_page_by_who_holds_the_role() {
    let office = Office::open();
    let (plan, other) = (r#"{"risk": "<b>low</b>"}"#, r#"{"risk": "high"}"#);
    let decision = waits(&office, "r1", plan);
    let path = format!("/ui/decisions/{decision}");
    let (ann, bob) = (office.browser(&office.ann), office.browser(&office.bob));
    assert!(bob.get("/ui/waiting").body.contains(&decision));
    let page = bob.get(&path).words();
    for said in ["workflow:accept on r1/plan", "<b>low</b>", "contract of the workflow step asks for this approval"] {
        assert!(page.contains(said), "{said}: {page}");
    }
    let run = ann.get("/ui/runs/r1").words();
    assert!(run.contains("waits for an approval"), "{run}");
    let approve = [("verdict", "approve"), ("note", "read it"), ("expires_in", "900")];
    // Ann reviews here, and does not hold the role.
    let refused = ann.post(&path, &approve);
    assert!(refused.status == 422 && refused.words().contains("cannot count"), "{}", refused.words());
    assert_eq!(bob.post(&path, &approve).status, 303);
    // Of this result alone, and of this run.
    waits(&office, "r2", plan);
    waits(&office, "r1", other);
    let (status, chatter) = attempt(&office, "r1", "I am waiting.");
    assert_eq!((status, code(&chatter).as_str()), (409, "awaits_approval"), "{chatter:?}");
    let (_, accepted) = attempt(&office, "r1", plan);
    assert_eq!(text(&accepted, "state"), "accepted", "{accepted:?}");
    assert!(ann.get(&path).words().contains("was allowed since"), "{}", ann.get(&path).words());
}

#[test]
fn a_denial_on_the_page_is_the_prompt_of_the_next_attempt() {
    let office = Office::open();
    let decision = waits(&office, "r1", r#"{"risk": "low"}"#);
    let deny = [("verdict", "deny"), ("note", "say what you copy")];
    assert_eq!(office.browser(&office.ann).post(&format!("/ui/decisions/{decision}"), &deny).status, 303);
    let (_, denied) = attempt(&office, "r1", r#"{"risk": "low"}"#);
    assert_eq!(text(&denied, "state"), "retry");
    assert!(text(&denied, "prompt").contains("ann denied it: say what you copy"), "{denied:?}");
}
