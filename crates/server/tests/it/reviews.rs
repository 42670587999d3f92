//! What reviewers say over HTTP, and what becomes of it.

use proofmark_receipt::Json;
use proofmark_testing::Home;

use crate::client::{MAIL, code, listed, text};
use crate::server::{Server, keys, new_key, new_reviewer};

const APPROVE: &str = r#"{"verdict": "approve", "note": "read it"}"#;

/// A server with an agent and three reviewers: ann, bob, and cid, who holds `dba`, `lead` and `owner`.
struct Office {
    server: Server,
    agent: String,
    reviewers: [String; 3],
    home: Home,
    file: String,
}

impl Office {
    fn open() -> Self {
        let home = Home::new();
        let (agent, first) = new_key("bot", "agent", "acme.shop");
        let (ann, second) = new_key("ann", "reviewer", "acme.shop");
        let (bob, third) = new_key("bob", "reviewer", "acme.shop");
        let (cid, fourth) = new_reviewer("cid", "acme.shop", &["dba", "lead", "owner"]);
        let file = keys(&[&first, &second, &third, &fourth]);
        let server = Server::with_keys(&home, &file);
        Self { server, agent, reviewers: [ann, bob, cid], home, file }
    }

    fn ask(&self, request: &str) -> Json {
        let (status, decision) = self.server.post("/v1/decisions", &self.agent, request);
        assert_eq!(status, 200, "{decision:?}");
        decision
    }

    fn outcome(&self, request: &str) -> String {
        text(&self.ask(request), "outcome")
    }

    fn review(&self, decision: &Json, reviewer: usize, word: &str) -> (u16, Json) {
        let path = format!("/v1/reviews/{}", text(decision, "decision_id"));
        self.server.post(&path, self.reviewers.get(reviewer).unwrap(), word)
    }

    fn waiting(&self) -> Vec<Json> {
        let (status, page) = self.server.get("/v1/reviews", &self.reviewers[0]);
        assert_eq!(status, 200, "{page:?}");
        listed(&page, "decisions")
    }
}

fn action(tool: &str) -> String {
    format!(r#"{{"action": {{"tool": "{tool}", "class": "system_change", "args": {{"n": 1}}}}}}"#)
}

fn member<'a>(json: &'a Json, path: &[&str]) -> &'a Json {
    path.iter().fold(json, |json, name| json.as_object().unwrap().get(name).unwrap())
}

#[test]
fn two_approvals_are_of_two_callers() {
    let office = Office::open();
    let asked = office.ask(&action("pay"));
    let (status, approved) = office.review(&asked, 0, APPROVE);
    assert_eq!(status, 200, "{approved:?}");
    let reviewer = member(&approved, &["approval", "metadata", "approval", "reviewer", "id"]);
    assert_eq!(reviewer.as_str(), Some("ann"));
    assert_eq!(office.waiting().len(), 1, "a second approval is wanted");
    let (status, again) = office.review(&asked, 0, APPROVE);
    assert_eq!((status, code(&again).as_str()), (409, "already_reviewed"), "{again:?}");
    assert_eq!(office.outcome(&action("pay")), "replan_required");
    let newer = office.ask(&action("pay"));
    let (status, same) = office.review(&newer, 0, APPROVE);
    assert_eq!((status, code(&same).as_str()), (422, "cannot_count"), "{same:?}");
    assert!(text(&same, "help").contains("let another person approve"), "{same:?}");
    assert_eq!(office.review(&asked, 1, APPROVE).0, 200);
    assert!(office.waiting().is_empty(), "what approvals settled waits no more");
    let (status, enough) = office.review(&newer, 2, APPROVE);
    assert_eq!((status, code(&enough).as_str()), (409, "enough_approvals"), "{enough:?}");
    assert_eq!(office.outcome(&action("pay")), "allow");
    assert_eq!(office.outcome(&action("pay")), "replan_required");
    let (status, late) = office.review(&asked, 2, APPROVE);
    assert_eq!((status, code(&late).as_str()), (409, "nothing_to_review"), "{late:?}");
}

#[test]
fn of_two_approvals_at_two_servers_at_once_one_is_stored() {
    let office = Office::open();
    let other = Server::with_keys(&office.home, &office.file);
    let path = format!("/v1/reviews/{}", text(&office.ask(MAIL), "decision_id"));
    // Both are judged before either is stored.
    let hold = office.home.hold();
    let mut answers: Vec<(u16, Json)> = std::thread::scope(|scope| {
        let reviewed = [(&office.server, 0), (&other, 1)].map(|(server, who): (&Server, usize)| {
            let (path, key) = (&path, &office.reviewers[who]);
            scope.spawn(move || server.post(path, key, APPROVE))
        });
        std::thread::sleep(std::time::Duration::from_secs(1));
        drop(hold);
        reviewed.into_iter().map(|one| one.join().unwrap()).collect()
    });
    answers.sort_by_key(|(status, _)| *status);
    let (status, enough) = &answers[1];
    assert_eq!((answers[0].0, *status, code(enough).as_str()), (200, 409, "enough_approvals"), "{answers:?}");
    assert_eq!([office.outcome(MAIL), office.outcome(MAIL)], ["allow", "replan_required"]);
}

#[test]
fn a_review_that_cannot_count_is_refused_with_the_way_out() {
    let office = Office::open();
    let asked = office.ask(&action("drop"));
    let (status, refused) = office.review(&asked, 0, APPROVE);
    assert_eq!((status, code(&refused).as_str()), (422, "cannot_count"), "{refused:?}");
    assert!(text(&refused, "help").contains("`proofmark decision approve` and a key of the role"), "{refused:?}");
    assert_eq!(office.waiting().len(), 1, "nothing is kept of it");
    // The entry of the third key holds the role.
    assert_eq!(office.review(&asked, 2, APPROVE).0, 200);
    assert_eq!(office.outcome(&action("drop")), "allow");
    let asked = office.ask(&action("pay"));
    let word = r#"{"verdict": "approve", "note": "yes", "role": "chief"}"#;
    assert_eq!(code(&office.review(&asked, 0, word).1), "cannot_count");
    let wiped = office.ask(&action("wipe"));
    let (status, refused) = office.review(&wiped, 0, APPROVE);
    assert_eq!((status, code(&refused).as_str()), (422, "cannot_count"), "{refused:?}");
}

#[test]
fn a_reviewer_approves_in_the_roles_that_they_hold() {
    let office = Office::open();
    let lead = r#"{"verdict": "approve", "note": "yes", "role": "lead"}"#;
    let owner = r#"{"verdict": "approve", "note": "yes", "role": "owner"}"#;
    let asked = office.ask(&action("launch"));
    assert_eq!(office.review(&asked, 0, lead).0, 200);
    let (status, refused) = office.review(&asked, 0, owner);
    assert_eq!((status, code(&refused).as_str()), (422, "cannot_count"), "{refused:?}");
    assert_eq!(office.review(&asked, 2, owner).0, 200);
    assert_eq!(office.outcome(&action("launch")), "allow");
    let asked = office.ask(&action("launch"));
    assert_eq!((office.review(&asked, 2, lead).0, office.review(&asked, 2, owner).0), (200, 200));
    assert_eq!(office.outcome(&action("launch")), "allow");
    let path = format!("/v1/decisions/{}", text(&asked, "decision_id"));
    let shown = office.server.get(&path, &office.reviewers[0]).1;
    let reviews = listed(&shown, "reviews");
    let said: Vec<_> = reviews.iter().map(|review| (text(review, "reviewer"), text(review, "role"))).collect();
    assert_eq!(said, [("cid".to_owned(), "lead".to_owned()), ("cid".to_owned(), "owner".to_owned())]);
}

#[test]
fn an_approval_counts_in_its_environment_and_for_its_agent() {
    let office = Office::open();
    let at = |environment: &str, agent: &str| {
        let agent = format!(r#""agent": {{"environment": "{environment}", "id": "{agent}"}}, "action""#);
        MAIL.replace("\"action\"", &agent)
    };
    let asked = office.ask(&at("staging", "a"));
    assert_eq!(office.review(&asked, 0, APPROVE).0, 200);
    for other in [at("production", "a"), at("staging", "b"), MAIL.to_owned()] {
        assert_eq!(office.outcome(&other), "replan_required", "{other}");
    }
    assert_eq!(office.outcome(&at("staging", "a")), "allow");
}

#[test]
fn a_denial_answers_the_next_requests_until_it_ends() {
    let office = Office::open();
    let asked = office.ask(MAIL);
    let word = r#"{"verdict": "deny", "note": "Not on a Friday.", "expires_in": 1800}"#;
    assert_eq!(office.review(&asked, 0, word).0, 200);
    assert!(office.waiting().is_empty());
    let (status, refused) = office.review(&asked, 1, APPROVE);
    assert_eq!((status, code(&refused).as_str()), (409, "denied"), "{refused:?}");
    let denied = office.ask(MAIL);
    assert_eq!(text(&denied, "outcome"), "goal_fail_terminal");
    let reason = &listed(&denied, "reasons")[0];
    assert_eq!((text(reason, "code"), text(reason, "message")), ("human_denied".into(), "Not on a Friday.".into()));
    assert!(text(reason, "detail").contains("ann denied"), "{reason:?}");
    assert!(office.waiting().is_empty(), "what is denied waits for nobody");
    // An hour passes.
    office.home.sql("UPDATE clock SET latest = latest + 3600000");
    let after = office.ask(MAIL);
    assert_eq!(text(&after, "outcome"), "replan_required");
    assert_eq!(office.waiting().len(), 1);
    assert_eq!(office.review(&after, 0, APPROVE).0, 200);
    assert_eq!(office.outcome(MAIL), "allow");
}

#[test]
fn a_denied_action_stays_denied_under_every_name_that_asks() {
    let office = Office::open();
    let named = |agent: &str| MAIL.replace("\"action\"", &format!("\"agent\": {agent}, \"action\""));
    let names = [r#"{"id": "b"}"#, r#"{"environment": "e"}"#, r#"{"id": "b", "environment": "e", "run": "r"}"#];
    let asked = office.ask(&named(r#"{"id": "a"}"#));
    let beside = office.ask(&named(names[0]));
    assert_eq!(office.waiting().len(), 2);
    assert_eq!(office.review(&asked, 0, r#"{"verdict": "deny", "note": "no"}"#).0, 200);
    assert!(office.waiting().is_empty(), "what waits under another name is denied with it");
    let (status, refused) = office.review(&beside, 1, APPROVE);
    assert_eq!((status, code(&refused).as_str()), (409, "denied"), "{refused:?}");
    for name in names {
        let denied = office.ask(&named(name));
        assert_eq!(text(&listed(&denied, "reasons")[0], "code"), "human_denied", "{name}: {denied:?}");
    }
    // Another action, and the same of another tenant, are another matter.
    let other = action("drop");
    assert_eq!(office.outcome(&other), "replan_required");
    assert_eq!(office.waiting().len(), 1);
}

#[test]
fn asking_thrice_waits_once_with_what_a_reviewer_has_to_see() {
    let office = Office::open();
    let told = MAIL
        .replace("\"action\"", "\"task\": {\"first\": \"Answer T-1\"}, \"calls\": [{\"tool\": \"look\"}], \"action\"");
    let asked = [office.ask(&told), office.ask(&told), office.ask(&told)];
    let waiting = office.waiting();
    let ids: Vec<_> = waiting.iter().map(|decision| text(decision, "decision_id")).collect();
    assert_eq!(ids, [text(&asked[2], "decision_id")]);
    assert_eq!(member(&waiting[0], &["facts", "task", "first"]).as_str(), Some("Answer T-1"));
    assert_eq!(member(&waiting[0], &["facts", "calls"]).as_array().map(<[Json]>::len), Some(1));
    let path = format!("/v1/decisions/{}", ids[0]);
    let (by_reviewer, by_agent) =
        (office.server.get(&path, &office.reviewers[0]).1, office.server.get(&path, &office.agent).1);
    assert_eq!(member(&by_reviewer, &["facts"]), member(&waiting[0], &["facts"]));
    assert!(member(&by_agent, &["facts"]).is_null(), "{by_agent:?}");
    // A reviewer who still looks at the first one settles all three.
    assert_eq!(office.review(&asked[0], 0, APPROVE).0, 200);
    assert!(office.waiting().is_empty());
    let (status, enough) = office.review(&asked[2], 1, APPROVE);
    assert_eq!((status, code(&enough).as_str()), (409, "enough_approvals"), "{enough:?}");
    assert_eq!(office.outcome(&told), "allow");
    assert!(office.waiting().is_empty());
}

#[test]
fn more_than_one_action_is_approved_only_where_a_rule_offers_it() {
    let office = Office::open();
    let asked = office.ask(MAIL);
    let with = |scope: &str| format!(r#"{{"verdict": "approve", "note": "read it", "scope": {scope}}}"#);
    let any = with(r#"{"kind": "pattern", "free": []}"#);
    let (status, refused) = office.review(&asked, 0, &any);
    assert_eq!(status, 422, "{refused:?}");
    for scope in [
        r#"{"kind": "all"}"#,
        r#"{"kind": "session", "free": []}"#,
        r#"{"kind": "pattern", "free": [{"path": ["tool"], "any": true}]}"#,
    ] {
        assert_eq!(office.review(&asked, 0, &with(scope)).0, 400, "{scope}");
    }
    let revoke = |id: &str| {
        office.server.post(&format!("/v1/approvals/{id}/revoke"), &office.reviewers[0], r#"{"note": "over"}"#)
    };
    let (status, approved) = office.review(&asked, 0, &with(r#"{"kind": "once"}"#));
    assert_eq!(status, 200, "{approved:?}");
    let id = member(&approved, &["approval", "receipt_id"]).as_str().unwrap().to_owned();
    let (status, refused) = revoke(&id);
    assert_eq!((status, code(&refused).as_str()), (422, "not_a_grant"), "{refused:?}");
    assert_eq!(revoke("nothing").0, 404);
}

#[test]
fn a_review_of_another_action_than_was_shown_is_refused() {
    let office = Office::open();
    let (asked, other) = (office.ask(MAIL), office.ask(&action("pay")));
    let shown = |decision: &Json| proofmark_evidence::shown_of(member(decision, &["binding"]).as_object().unwrap());
    for verdict in ["approve", "deny"] {
        let word = format!(r#"{{"verdict": "{verdict}", "note": "x", "shown": "{}"}}"#, shown(&other));
        let (status, refused) = office.review(&asked, 0, &word);
        assert_eq!((status, code(&refused).as_str()), (409, "other_action"), "{refused:?}");
    }
    let (status, refused) = office.review(&asked, 0, r#"{"verdict": "approve", "note": "x", "shown": "sha256:0"}"#);
    assert_eq!((status, code(&refused).as_str()), (400, "invalid_value"), "{refused:?}");
    let word = format!(r#"{{"verdict": "approve", "note": "x", "shown": "{}"}}"#, shown(&asked));
    let (status, reviewed) = office.review(&asked, 0, &word);
    assert_eq!(status, 200, "{reviewed:?}");
    let said = member(&reviewed, &["approval", "metadata", "approval", "shown"]).as_str().map(str::to_owned);
    assert_eq!(said, Some(shown(&asked).to_string()));
    assert_eq!(office.outcome(MAIL), "allow");
}

/// Programs that can write to the database can change the action beside the signed decision.
#[test]
fn an_action_that_was_changed_in_the_store_is_not_approved() {
    let office = Office::open();
    let asked = office.ask(MAIL);
    office.home.sql("UPDATE decisions SET action = replace(action, 'send_email', 'harmless')");
    let (status, refused) = office.review(&asked, 0, APPROVE);
    assert_eq!((status, code(&refused).as_str()), (409, "other_action"), "{refused:?}");
    assert_eq!(office.outcome(MAIL), "replan_required");
}

#[test]
fn the_queue_is_narrowed_as_on_the_page() {
    let office = Office::open();
    let ask = |tool: &str, amount: u64, environment: &str| {
        office.ask(&format!(
            r#"{{"action": {{"tool": "{tool}", "class": "system_change", "args": {{"amount": {amount}}}}}, "agent": {{"environment": "{environment}"}}}}"#
        ))
    };
    ask("pay", 900, "production");
    ask("pay", 20, "staging");
    let listed = |query: &str, reviewer: usize| {
        let (status, page) = office.server.get(&format!("/v1/reviews?{query}"), &office.reviewers[reviewer]);
        assert_eq!(status, 200, "{page:?}");
        (listed(&page, "decisions").len(), !matches!(member(&page, &["next"]), Json::Null))
    };
    assert_eq!(listed("whose=all", 0), (2, false));
    assert_eq!(listed("environment=production", 0), (1, false));
    assert_eq!(
        (listed("amount=20", 0), listed("amount=20.5", 0), listed("amount=901", 0)),
        ((2, false), (1, false), (0, false))
    );
    assert_eq!(listed("environment=staging&limit=1", 0), (1, false));
    assert_eq!(listed("amount=1&limit=1", 0), (1, true));
    // The third has other roles.
    let mine: Vec<_> = (0..3).map(|reviewer| listed("whose=mine", reviewer).0).collect();
    assert_eq!(mine, [2, 2, 0]);
    for wrong in ["whose=ours", "amount=much", "amount=inf", "role=x"] {
        let (status, problem) = office.server.get(&format!("/v1/reviews?{wrong}"), &office.reviewers[0]);
        assert_eq!(status, 400, "{wrong}: {problem:?}");
    }
}
