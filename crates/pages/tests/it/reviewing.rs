//! Reviews by form: what is stored, what is refused, and that no word is lost and none is stored twice.

use super::{Browser, MAIL, Office};
use crate::client::text;
use crate::server::Server;

const OTHER: &str = r#"{"action": {"tool": "send_email", "class": "external_message_send", "target": "b@example.org", "args": {"to": "b"}}}"#;
const PAY: &str = r#"{"action": {"tool": "pay", "class": "system_change", "args": {"n": 1}}}"#;

fn approve(note: &str) -> [(&str, &str); 3] {
    [("verdict", "approve"), ("note", note), ("expires_in", "900")]
}

#[test]
fn an_approval_leads_to_the_next_and_counts_once() {
    let office = Office::open();
    let (first, second) = (office.ask(MAIL), office.ask(OTHER));
    let ann = office.browser(&office.ann);
    let waiting = ann.get("/ui/waiting");
    let order = [&first, &second].map(|id| waiting.body.find(id.as_str()).unwrap());
    assert!(order[0] < order[1] && waiting.words().contains("Two decisions wait for you"), "{}", waiting.words());
    let path = format!("/ui/decisions/{first}");
    assert!(ann.get(&path).words().contains("1 of 2"));
    let said = ann.post(&path, &approve("read it"));
    assert_eq!((said.status, said.header("location")), (303, format!("/ui/decisions/{second}?said={first}").as_str()));
    let next = ann.get(said.header("location"));
    assert!(next.words().contains("Approved send_email to a@example.org"), "{}", next.words());
    assert_eq!((office.outcome(MAIL).as_str(), office.outcome(MAIL).as_str()), ("allow", "replan_required"));
    let denied =
        ann.post(&format!("/ui/decisions/{second}"), &[("verdict", "deny"), ("note", "Not on a Friday.\r\nReally.")]);
    // The first one was asked for again meanwhile, so it waits again.
    assert!(denied.header("location").contains(&format!("said={second}")), "{}", denied.header("location"));
    assert_eq!(office.reviews(&second), [("ann".to_owned(), "Not on a Friday.\nReally.".to_owned())]);
    assert_eq!(office.outcome(OTHER), "goal_fail_terminal");
}

#[test]
fn what_cannot_be_stored_is_shown_with_what_was_typed() {
    let office = Office::open();
    let id = office.ask(MAIL);
    let (path, ann) = (format!("/ui/decisions/{id}"), office.browser(&office.ann));
    let empty = ann.post(&path, &approve("  "));
    assert_eq!(empty.status, 422);
    assert!(empty.words().contains("Nothing was stored: the note is empty"), "{}", empty.words());
    let typed = "<b>mine</b>";
    let long = ann.post(&path, &approve(&format!("{typed}{}", "x".repeat(5_000))));
    assert!(long.status == 422 && !long.body.contains(typed) && long.words().contains("mine"), "{}", long.body);
    let wrong = ann.post(&path, &[("verdict", "perhaps"), ("note", "x")]);
    assert_eq!(wrong.status, 400);
    let drop = office.ask(r#"{"action": {"tool": "drop", "class": "system_change", "args": {"n": 1}}}"#);
    let refused = ann.post(&format!("/ui/decisions/{drop}"), &approve("yes"));
    assert_eq!(refused.status, 422);
    assert!(
        refused.words().contains("so it cannot count") && refused.body.contains(">\nyes</textarea>"),
        "{}",
        refused.body
    );
    assert!(office.reviews(&id).is_empty() && office.reviews(&drop).is_empty());
}

#[test]
fn somebody_else_who_was_faster_is_named() {
    let office = Office::open();
    let id = office.ask(PAY);
    let path = format!("/ui/decisions/{id}");
    let (ann, bob) = (office.browser(&office.ann), office.browser(&office.bob));
    assert!(bob.get(&path).body.contains("name=\"seen\" value=\"0\""));
    assert_eq!(ann.post(&path, &[("verdict", "deny"), ("note", "too much"), ("seen", "0")]).status, 303);
    let late = bob.post(&path, &[("verdict", "approve"), ("note", "looks right"), ("seen", "0")]);
    assert_eq!(late.status, 409);
    let words = late.words();
    assert!(words.contains("Somebody else was faster: ann denied it") && words.contains("too much"), "{words}");
    assert!(late.body.contains(">\nlooks right</textarea>") && late.body.contains("name=\"seen\" value=\"1\""));
    assert_eq!(office.reviews(&id).len(), 1);
    let again = bob.post(&path, &[("verdict", "approve"), ("note", "looks right"), ("seen", "1"), ("again", "1")]);
    assert!(again.status == 409 && again.words().contains("ann denied the action"), "{}", again.words());
    // The API and the page at the same moment: one of two reviews of one person is stored.
    let other = office.ask(OTHER);
    let word = r#"{"verdict": "approve", "note": "by the API"}"#;
    assert_eq!(office.server.post(&format!("/v1/reviews/{other}"), &office.ann, word).0, 200);
    let twice = ann.post(&format!("/ui/decisions/{other}"), &approve("by the page"));
    assert_eq!(twice.status, 409);
    assert_eq!(office.reviews(&other), [("ann".to_owned(), "by the API".to_owned())]);
}

#[test]
fn an_action_that_was_asked_for_again_is_shown_first() {
    let office = Office::open();
    let (old, ann) = (office.ask(MAIL), office.browser(&office.ann));
    let new = office.ask(MAIL);
    let page = ann.get(&format!("/ui/decisions/{old}"));
    assert!(
        page.words().contains("The action was asked for again") && page.body.contains(&format!("/ui/decisions/{new}"))
    );
    let fields = [("verdict", "approve"), ("note", "yes"), ("seen", "0")];
    let sent = ann.post(&format!("/ui/decisions/{old}"), &fields);
    assert!(sent.status == 409 && sent.words().contains("asked again while you were reading"), "{}", sent.words());
    assert_eq!(ann.post(&format!("/ui/decisions/{new}"), &fields).status, 303);
    assert_eq!(office.outcome(MAIL), "allow");
}

#[test]
fn a_sign_in_that_ends_in_the_middle_loses_no_word() {
    let office = Office::open();
    let id = office.ask(MAIL);
    let path = format!("/ui/decisions/{id}");
    let ended = Browser { server: &office.server, cookie: "proofmark=ended".to_owned() };
    let page = ended.post(&path, &approve("a long \"reason\""));
    assert_eq!(page.status, 200);
    assert!(page.words().contains("What you typed is kept"), "{}", page.words());
    assert!(page.body.contains("value=\"a long &#34;reason&#34;\""), "{}", page.body);
    let answer = ended.post("/ui/sign-in", &[("key", &office.ann), ("to", &path), ("note", "a long \"reason\"")]);
    assert_eq!((answer.status, answer.header("location")), (303, path.as_str()));
    let cookie = answer.header("set-cookie").split(';').next().unwrap().to_owned();
    let ann = Browser { server: &office.server, cookie };
    let shown = ann.get(&path);
    assert!(shown.body.contains(">\na long &#34;reason&#34;</textarea>"), "{}", shown.body);
    assert!(office.reviews(&id).is_empty(), "nothing is stored without a word after the sign-in");
    assert_eq!(ann.post(&path, &approve("a long \"reason\"")).status, 303);
    assert!(!ann.get(&format!("/ui/decisions/{}", office.ask(MAIL))).body.contains(">\na long"));
}

#[test]
fn a_list_of_ten_thousand_has_pages_and_filters() {
    let home = proofmark_testing::Home::new();
    let request = |number: u32| MAIL.replace("\"a\"", &format!("\"{number}\""));
    let id = {
        let server = Server::start(&home);
        text(&server.post("/v1/decisions", "", &request(0)).1, "decision_id")
    };
    let many = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
        INSERT INTO decisions (sequence, decision_id, decided_at, outcome, fingerprint, position, document, tenant, agent, class, mode,
            expires_at, candidate, action, review, allowed, hash, subject, wanted, nth, tool)
        SELECT sequence + i, '00000000-0000-4000-8000-' || substr(CAST(1000000000000 + i AS TEXT), 2), decided_at + i, outcome, 'f' || i, position + i, document, tenant,
            CASE WHEN i = 7000 THEN 'rare-bot' ELSE agent END, class, mode, expires_at, candidate, action, review, allowed, hash,
            's' || i, wanted, 1, tool FROM decisions, n WHERE position = 0";
    home.sql(many);
    home.sql(
        "INSERT INTO waiting (tenant, sequence, subject, first, asked, roles)
            SELECT tenant, sequence, subject, sequence, 1, '[\"reviewer\"]' FROM decisions WHERE position > 0",
    );
    let server = Server::start(&home);
    let browser = Browser::stranger(&server);
    let begun = proofmark_testing::cpu_time_of_process();
    let page = browser.get("/ui/waiting");
    assert!(page.words().contains("10,000 decisions wait for you") && page.body.len() < 100_000, "{}", page.body.len());
    let next =
        page.body.split("rel=\"next\" href=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap().to_owned();
    assert!(browser.get(&next).body.contains("rel=\"next\""));
    let found = browser.get("/ui/waiting?agent=rare-bot");
    assert!(found.words().contains("One decision waits for you"), "{}", found.words());
    assert!(browser.get("/ui/waiting?find=RARE-bot").words().contains("One decision waits"));
    assert!(browser.get("/ui/waiting?find=nothing-has-this").words().contains("No decision that waits matches"));
    assert!(browser.get("/ui/waiting?role=reviewer").words().contains("10,000 decisions wait"));
    let place = browser.get(&format!("/ui/decisions/{id}?agent=support-bot"));
    assert!(place.words().contains("1 of 9,999"), "{}", place.words());
    // Nobody has signed the others.
    assert_eq!(browser.get("/ui/decisions/00000000-0000-4000-8000-000000005000").status, 500);
    assert!(browser.get("/ui/decisions").words().contains("changed in the store"));
    // Generous: other tests may run in this process, in a build without optimizations.
    let used = proofmark_testing::cpu_time_of_process() - begun;
    assert!(used.as_secs() < 20, "{used:?}");
}

#[test]
fn requests_that_are_alike_get_one_review_each_signed_for_itself() {
    let office = Office::open();
    let [second_mail, third_mail] = ["b@", "c@"].map(|to| MAIL.replace("a@", to));
    let (first, second, pay) = (office.ask(MAIL), office.ask(&second_mail), office.ask(PAY));
    // Of another agent.
    let other_agent = office.ask(OTHER);
    let third = office.ask(&third_mail);
    let ann = office.browser(&office.ann);
    let page = ann.get(&format!("/ui/decisions/{first}"));
    let is_offered = |id: &str| page.body.contains(&format!("also {id}"));
    assert!(
        is_offered(&second)
            && is_offered(&third)
            && !is_offered(&pay)
            && !is_offered(&other_agent)
            && !is_offered(&first),
        "{}",
        page.words()
    );
    let (also, not_alike) = (format!("also {second}"), format!("also {pay}"));
    let shown = |id: &str| {
        let field = format!("name=\"also {id}\" value=\"");
        page.body.split(&field).nth(1).unwrap().split('"').next().unwrap().to_owned()
    };
    let (of_second, of_third) = (shown(&second), shown(&third));
    let other = format!("also {third}");
    // What was shown of one is not of another.
    let form = [
        ("verdict", "approve"),
        ("note", "all read"),
        (also.as_str(), of_second.as_str()),
        (other.as_str(), of_second.as_str()),
        (not_alike.as_str(), of_third.as_str()),
    ];
    assert_eq!(ann.post(&format!("/ui/decisions/{first}"), &form).status, 303);
    let said = || ("ann".to_owned(), "all read".to_owned());
    assert_eq!((office.reviews(&first), office.reviews(&second)), (vec![said()], vec![said()]));
    assert!(office.reviews(&third).is_empty() && office.reviews(&pay).is_empty());
    let outcomes = || [office.outcome(MAIL), office.outcome(&second_mail)];
    assert_eq!([outcomes(), outcomes()], [["allow", "allow"], ["replan_required", "replan_required"]]);
}

#[test]
fn the_list_shows_what_the_visitor_can_approve_and_all_on_request() {
    let office = Office::open();
    let mail = office.ask(MAIL);
    // Nobody here holds the role `dba`.
    let drop = office.ask(r#"{"action": {"tool": "drop", "class": "system_change", "args": {"n": 1}}}"#);
    let ann = office.browser(&office.ann);
    let shown = |path: &str| {
        let page = ann.get(path);
        assert_eq!(page.status, 200, "{}", page.body);
        [&mail, &drop].map(|id| page.body.contains(&format!("/ui/decisions/{id}")))
    };
    assert_eq!(shown("/ui/waiting"), [true, false]);
    assert!(ann.get("/ui/waiting").words().contains("1 more for others"));
    assert_eq!(shown("/ui/waiting?whose=all"), [true, true]);
    assert!(ann.get("/ui/waiting?whose=all").words().contains("Show only what I can approve"));
}

#[test]
fn filters_of_the_list_know_environments_and_amounts() {
    let office = Office::open();
    let asked = |to: &str, amount: u32, environment: &str| {
        office.ask(&format!(
            r#"{{"action": {{"tool": "send_email", "class": "external_message_send", "target": "{to}@example.org",
                "args": {{"to": "{to}", "amount": {amount}, "reason": "The customer <b>waits</b>."}}}},
                "agent": {{"id": "bot", "environment": "{environment}"}},
                "calls": [{{"tool": "look_up", "status": "failed"}}]}}"#
        ))
    };
    let (small, large) = (asked("a", 20, "staging"), asked("b", 900, "production"));
    let ann = office.browser(&office.ann);
    let shown = |path: &str| {
        let page = ann.get(path);
        [&small, &large].map(|id| page.body.contains(&format!("/ui/decisions/{id}")))
    };
    assert_eq!(shown("/ui/waiting"), [true, true]);
    assert_eq!(shown("/ui/waiting?environment=production"), [false, true]);
    assert_eq!(shown("/ui/waiting?amount=900"), [false, true]);
    assert_eq!(shown("/ui/waiting?amount=900.5"), [false, false]);
    assert_eq!(shown("/ui/waiting?amount=20&environment=staging"), [true, false]);
    assert_eq!(shown("/ui/waiting?amount=much"), [true, true]);
    // What led to it: the agent's own words, marked as such, and the calls before.
    let page = ann.get(&format!("/ui/decisions/{small}"));
    let words = page.words();
    assert!(words.contains("The agent says (reason): “The customer <b>waits</b>.”"), "{words}");
    assert!(
        words.contains("nobody has checked it") && words.contains("look_up") && words.contains("failed"),
        "{words}"
    );
    assert!(!page.body.contains("<b>waits"), "what an agent wrote is text");
    assert!(!words.contains("in the last two minutes"), "{words}");
    let bob = office.browser(&office.bob);
    let words = bob.get(&format!("/ui/decisions/{small}")).words();
    assert!(words.contains("ann has opened it in the last two minutes"), "{words}");
}

#[test]
fn a_form_approves_the_action_that_its_page_shows() {
    let office = Office::open();
    let (first, second) = (office.ask(MAIL), office.ask(OTHER));
    let ann = office.browser(&office.ann);
    let shown = |id: &str| {
        let page = ann.get(&format!("/ui/decisions/{id}")).body;
        page.split("name=\"shown\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
    };
    let (of_first, of_second) = (shown(&first), shown(&second));
    let path = format!("/ui/decisions/{first}");
    let words = ann.get(&path).words();
    for said in ["tool send_email", "agent support-bot", "environment production", "separation none"] {
        assert!(words.contains(said), "{said}: {words}");
    }
    let refused = ann.post(&path, &[("verdict", "approve"), ("note", "read it"), ("shown", &of_second)]);
    assert_eq!(refused.status, 409);
    assert!(refused.words().contains("what was shown is not the action that was decided on"), "{}", refused.words());
    assert_eq!(office.outcome(MAIL), "replan_required");
    let approved = ann.post(&path, &[("verdict", "approve"), ("note", "read it"), ("shown", &of_first)]);
    assert_eq!(approved.status, 303, "{}", approved.words());
    assert_eq!(office.outcome(MAIL), "allow");
}

/// Programs that can write to the database can change the action beside the signed decision.
#[test]
fn an_action_that_was_changed_in_the_store_is_not_shown() {
    let office = Office::open();
    let id = office.ask(MAIL);
    office.home.sql("UPDATE decisions SET action = replace(action, 'send_email', 'harmless')");
    let ann = office.browser(&office.ann);
    let page = ann.get(&format!("/ui/decisions/{id}"));
    assert!(page.words().contains("nobody can know what an approval would allow"), "{}", page.words());
    assert!(!page.words().contains("harmless") && !page.body.contains("id=\"decide\""), "{}", page.words());
    assert!(!ann.get("/ui/waiting").words().contains("harmless"));
    let refused = ann.post(&format!("/ui/decisions/{id}"), &approve("read it"));
    assert_eq!(refused.status, 409, "{}", refused.words());
}
