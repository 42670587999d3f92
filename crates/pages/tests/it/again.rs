//! Chains as the browser gets them, jobs as it follows them, and verifications that are run again.

use super::{FORM, Office};
use crate::client::text;

const CHECK: &str = r#"{"task_id": "t", "specification": "s", "output": {"content": "12"}, "verification": {"kind": "schema_check",
    "checks": [{"name": "short", "constraint": "length <= 1"}]}}"#;

impl Office {
    /// Verifies work; the id of its receipt.
    fn verify(&self) -> String {
        let (status, receipt) = self.server.post("/v1/verifications", &self.agent, CHECK);
        assert_eq!(status, 200, "{receipt:?}");
        text(&receipt, "receipt_id")
    }
}

#[test]
fn a_chain_is_given_document_by_document_to_its_tenant_alone() {
    let office = Office::open();
    let ids: Vec<_> = (0..3).map(|_| office.verify()).collect();
    let (ann, stranger) = (office.browser(&office.ann), office.browser(&office.stranger));
    let all = ann.get("/ui/chain-links/verifications");
    assert_eq!((all.status, all.header("content-type")), (200, "application/jsonl"));
    assert!(all.header("content-disposition").starts_with("attachment"), "no page shows what others wrote");
    let lines: Vec<_> = all.body.lines().collect();
    assert_eq!(lines.len(), 3);
    for (line, id) in lines.iter().zip(&ids) {
        let stored = ann.get(&format!("/ui/receipts/{id}/json"));
        assert_eq!(*line, stored.body, "byte for byte");
    }
    assert_eq!(ann.get("/ui/chain-links/verifications?from=2").body.lines().collect::<Vec<_>>(), lines[2..]);
    assert_eq!(ann.get("/ui/chain-links/verifications?from=3").body, "");
    assert_eq!(ann.get("/ui/chain-links/verifications?from=-1").status, 400);
    let head = ann.get("/ui/chain-head/verifications");
    assert!(head.status == 200 && head.body.contains("\"length\":3"), "{}", head.body);
    assert_eq!(stranger.get("/ui/chain-links/verifications").status, 404);
    assert_eq!(stranger.get("/ui/chain-head/verifications").status, 404);
    let page = ann.get("/ui/chains/verifications").words();
    assert!(page.contains("3 receipts: every link holds") && page.contains("the server says so"), "{page}");
}

#[test]
fn a_verification_is_run_again_by_a_form_of_its_page_alone() {
    let office = Office::open();
    let id = office.verify();
    let (agent, ann, eve) = (office.browser(&office.agent), office.browser(&office.ann), office.browser(&office.eve));
    let (page, form) = (format!("/ui/receipts/{id}"), format!("/ui/receipts/{id}/recheck"));
    assert!(agent.get(&page).body.contains(&format!("action=\"{form}\"")));
    // Reviewers do nothing that agents do, and another tenant has no such receipt.
    assert!(!ann.get(&page).body.contains(&form));
    assert_eq!((ann.post(&form, &[]).status, office.browser(&office.stranger).post(&form, &[]).status), (403, 404));
    for foreign in ["", "origin: null\r\n", "origin: http://localhost:3000\r\n", "origin: http://evil.example\r\n"] {
        let sent = agent.send(&format!("POST {form}"), &format!("host: localhost\r\n{FORM}{foreign}"), "");
        assert_eq!(sent.status, 403, "{foreign}");
    }
    assert_eq!(agent.get(&form).status, 405);
    // The request has the expected outputs: an admin alone reads it.
    let request = format!("/ui/receipts/{id}/request");
    assert_eq!((agent.get(&request).status, ann.get(&request).status), (403, 403));
    let saved = eve.get(&request);
    assert_eq!((saved.status, saved.body.as_str()), (200, CHECK));
    assert!(eve.get(&page).body.contains(&request) && !agent.get(&page).body.contains(&request));
    // The job leads to the new receipt, which leads to the old one.
    let sent = agent.post(&form, &[]);
    assert_eq!(sent.status, 303, "{}", sent.words());
    let job = sent.header("location").to_owned();
    let events = agent.get(&format!("{job}/events"));
    assert!(events.header("content-type").starts_with("text/event-stream"), "{}", events.body);
    assert!(events.body.contains("\"over\":true") && !events.body.contains("event:"), "{}", events.body);
    let done = agent.get(&job);
    let again = done.header("location").to_owned();
    let shown = agent.get(&again);
    assert!(shown.words().contains("A second run of the same request, with the same result."), "{}", shown.words());
    assert!(shown.body.contains(&format!("href=\"{page}\"")));
    let old = agent.get(&page);
    assert!(old.words().contains("It was run again here already.") && !old.body.contains(&form), "{}", old.words());
    assert_eq!(agent.post(&form, &[]).status, 409);
}

#[test]
fn a_job_is_followed_by_those_who_may_see_it() {
    let office = Office::open();
    let (agent, stranger) = (office.browser(&office.agent), office.browser(&office.stranger));
    let sent = agent.post(&format!("/ui/receipts/{}/recheck", office.verify()), &[]);
    let events = format!("{}/events", sent.header("location"));
    assert_eq!(stranger.get(&events).status, 404);
    assert_eq!(super::Browser::stranger(&office.server).get(&events).status, 303);
    let embedded =
        "host: localhost\r\nsec-fetch-site: cross-site\r\nsec-fetch-mode: no-cors\r\nsec-fetch-dest: empty\r\n";
    assert_eq!(agent.send(&format!("GET {events}"), embedded, "").status, 403);
    assert_eq!(agent.get(&events).status, 200);
}

#[test]
fn a_review_that_is_sent_again_is_stored_once() {
    let office = Office::open();
    let id = office.ask(super::MAIL);
    let (path, ann, bob) = (format!("/ui/decisions/{id}"), office.browser(&office.ann), office.browser(&office.bob));
    let fields = [("verdict", "deny"), ("note", "No.\r\nReally."), ("seen", "0")];
    let first = ann.post(&path, &fields);
    let second = ann.post(&path, &fields);
    assert_eq!((first.status, second.status), (303, 303));
    assert_eq!(first.header("location"), second.header("location"));
    assert_eq!(office.reviews(&id), [("ann".to_owned(), "No.\nReally.".to_owned())]);
    let other = ann.post(&path, &[("verdict", "deny"), ("note", "Never."), ("seen", "0")]);
    assert!(
        other.status == 409 && other.words().contains("You denied it already, on another page"),
        "{}",
        other.words()
    );
    let bobs = bob.post(&path, &fields);
    assert!(bobs.status == 409 && bobs.words().contains("Somebody else was faster: ann denied it"), "{}", bobs.words());
    assert_eq!(office.reviews(&id).len(), 1);
}
