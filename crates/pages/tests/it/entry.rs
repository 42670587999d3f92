//! Who comes in.

use proofmark_testing::Home;

use super::{Browser, FORM, MAIL, Office, form, links};
use crate::client::text;
use crate::server::{Options, Server, keys, new_key};

#[test]
fn a_key_is_exchanged_for_a_cookie_that_opens_the_pages_alone() {
    let office = Office::open();
    let stranger = Browser::stranger(&office.server);
    let sent_away = stranger.get("/ui/waiting?role=finance");
    assert_eq!(
        (sent_away.status, sent_away.header("location")),
        (303, "/ui/sign-in?to=%2Fui%2Fwaiting%3Frole%3Dfinance")
    );
    let refused = stranger.post("/ui/sign-in", &[("key", "pmk_0"), ("to", "/ui/waiting")]);
    assert_eq!((refused.status, refused.header("set-cookie")), (401, ""));
    assert!(refused.words().contains("This key is not known"), "{}", refused.words());
    let answer = stranger.post("/ui/sign-in", &[("key", &office.ann), ("to", "//evil.example")]);
    assert_eq!((answer.status, answer.header("location")), (303, "/ui"));
    let cookie = answer.header("set-cookie");
    assert!(cookie.starts_with("proofmark-") && !cookie.contains("Secure"), "{cookie}");
    assert!(cookie.ends_with("; Path=/ui; Max-Age=43200; HttpOnly; SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains(&office.ann), "the key itself is in no cookie");
    let over_tls = stranger.send(
        "POST /ui/sign-in",
        &format!("host: localhost\r\norigin: https://localhost\r\n{FORM}"),
        &form(&[("key", &office.ann)]),
    );
    let cookie = over_tls.header("set-cookie");
    assert!(cookie.starts_with("__Host-proofmark=") && cookie.contains("; Path=/; "), "{cookie}");
    assert!(cookie.ends_with("; Secure"), "{cookie}");
    assert!(stranger.get("/ui/sign-in").words().contains("another port of this host"));
    let ann = office.browser(&office.ann);
    let page = ann.get("/ui/waiting");
    assert!(page.status == 200 && page.body.contains("ann · reviewer · acme.shop"), "{}", page.body);
    assert_eq!(ann.get("/v1/reviews").status, 401, "the cookie opens no endpoint of the API");
    assert_eq!(ann.post("/ui/sign-out", &[]).status, 303);
    assert_eq!(ann.get("/ui/waiting").status, 303, "a cookie that was kept opens nothing any more");
}

#[test]
fn an_address_signs_in_no_more_often_than_a_caller_asks() {
    let home = Home::new();
    let (key, entry) = new_key("ann", "reviewer", "acme.shop");
    let server = Server::with(&home, Options { keys: Some(keys(&[&entry])), rate: 2, ..Options::default() });
    let stranger = Browser::stranger(&server);
    let refused = |fields: &[(&str, &str)]| (0..200).any(|_| stranger.post("/ui/sign-in", fields).status == 429);
    assert!(refused(&[("key", "pmk_0")]), "keys can be guessed as fast as they are sent");
    assert!(refused(&[("key", &key)]));
    // A form whose sign-in has ended is a stranger's, too.
    assert!((0..200).any(|_| stranger.post("/ui/decisions/x", &[("note", "n")]).status == 429));
}

#[test]
fn a_form_of_another_page_does_nothing() {
    let office = Office::open();
    let id = office.ask(MAIL);
    let own = "origin: http://localhost:8700\r\nsec-fetch-site: same-origin\r\n";
    let stranger = Browser::stranger(&office.server);
    let key = form(&[("key", &office.ann)]);
    let signed_in = stranger.send("POST /ui/sign-in", &format!("host: localhost:8700\r\n{own}{FORM}"), &key);
    let cookie = signed_in.header("set-cookie").split(';').next().unwrap().to_owned();
    let ann = Browser { server: &office.server, cookie };
    let body = form(&[("verdict", "approve"), ("note", "yes")]);
    let post =
        |lines: &str| ann.send(&format!("POST /ui/decisions/{id}"), &format!("host: localhost:8700\r\n{lines}"), &body);
    for foreign in [
        FORM.to_owned(),
        format!("{FORM}origin: null\r\n"),
        format!("{FORM}origin: http://localhost:3000\r\n"),
        format!("{FORM}origin: http://localhost\r\n"),
        format!("{FORM}origin: http://evil.example\r\n"),
        format!("{FORM}origin: http://localhost:8700\r\nsec-fetch-site: cross-site\r\n"),
        format!("{FORM}origin: http://localhost:8700\r\nsec-fetch-site: same-site\r\n"),
    ] {
        assert_eq!(post(&foreign).status, 403, "{foreign}");
    }
    for media_type in ["application/json", "text/plain", "multipart/form-data"] {
        assert_eq!(post(&format!("{own}content-type: {media_type}\r\n")).status, 415, "{media_type}");
    }
    assert!(office.reviews(&id).is_empty());
    assert_eq!(post(&format!("{own}{FORM}")).status, 303);
    assert_eq!(office.reviews(&id), [("ann".to_owned(), "yes".to_owned())]);
}

#[test]
fn a_link_from_elsewhere_leads_through_a_page_that_says_nothing() {
    let office = Office::open();
    let id = office.ask(MAIL);
    let ann = office.browser(&office.ann);
    let path = format!("/ui/decisions/{id}?find=\"><script>");
    let followed = "host: localhost\r\nsec-fetch-site: cross-site\r\nsec-fetch-mode: navigate\r\n";
    let passage = ann.send(
        &format!("GET {}", path.replace(['"', '<', '>'], "%22")),
        &format!("{followed}sec-fetch-dest: document\r\n"),
        "",
    );
    assert_eq!(passage.status, 200);
    assert!(
        passage.body.contains("http-equiv=\"refresh\"") && !passage.body.contains("support-bot"),
        "{}",
        passage.body
    );
    for embedded in ["sec-fetch-dest: iframe", "sec-fetch-dest: image", "sec-fetch-dest: empty", "x: y"] {
        assert_eq!(ann.send("GET /ui/waiting", &format!("{followed}{embedded}\r\n"), "").status, 403, "{embedded}");
    }
}

#[test]
fn without_keys_this_host_alone_comes_in() {
    let home = Home::new();
    let server = Server::start(&home);
    let id = text(&server.post("/v1/decisions", "", MAIL).1, "decision_id");
    let browser = Browser::stranger(&server);
    assert_eq!(browser.get("/ui/waiting").status, 200);
    assert_eq!(browser.get("/ui/sign-in").header("location"), "/ui");
    let at = |lines: &str| browser.send("GET /ui/waiting", lines, "").status;
    assert_eq!((at("host: evil.example\r\n"), at("host: localhost\r\norigin: http://evil.example\r\n")), (403, 403));
    let body = form(&[("verdict", "approve"), ("note", "yes")]);
    for lines in [
        "host: evil.example\r\norigin: http://evil.example\r\n",
        "host: localhost\r\n",
        "host: localhost\r\norigin: http://localhost:1\r\n",
    ] {
        assert_eq!(
            browser.send(&format!("POST /ui/decisions/{id}"), &format!("{lines}{FORM}"), &body).status,
            403,
            "{lines}"
        );
    }
    assert_eq!(browser.post(&format!("/ui/decisions/{id}"), &[("verdict", "approve"), ("note", "yes")]).status, 303);
    let allowed = server.post("/v1/decisions", "", MAIL).1;
    assert_eq!(text(&allowed, "outcome"), "allow");
}

#[test]
fn a_reviewer_records_what_the_user_asked_for_in_a_session_of_the_own_tenant() {
    let office = Office::open();
    let [ann, agent, stranger] = [&office.ann, &office.agent, &office.stranger].map(|key| office.browser(key));
    let request = |text: &str| format!(r#"{{"session": "laptop/night 1", "request": "{text}"}}"#);
    assert_eq!(office.server.post("/v1/sessions/requests", &office.ann, &request("Pay the rent.")).0, 200);
    let path = "/ui/sessions/laptop%2Fnight%201";
    let told = [("request", "Pay the\r\n<b>gas</b>, too.")];
    assert_eq!(agent.post(path, &told).status, 403);
    assert_eq!(stranger.post(path, &told).status, 404);
    assert_eq!(ann.post(path, &[("request", " \u{200b}")]).status, 422);
    assert_eq!(ann.post(path, &told).status, 303);
    let words = ann.get(path).words();
    assert!(words.contains("Pay the rent.") && words.contains("<b>gas</b>, too."), "{words}");
    assert_eq!(words.matches("request of the user").count(), 2, "{words}");
}

#[test]
fn roles_and_tenants_hold() {
    let office = Office::open();
    let id = office.ask(MAIL);
    let path = format!("/ui/decisions/{id}");
    let (agent, stranger) = (office.browser(&office.agent), office.browser(&office.stranger));
    let page = agent.get(&path);
    assert!(page.status == 200 && page.words().contains("it may look, and not review"), "{}", page.words());
    assert!(!page.body.contains("What the agent stated"), "agents do not see the facts of others");
    assert_eq!(agent.post(&path, &[("verdict", "approve"), ("note", "yes")]).status, 403);
    assert_eq!(agent.get("/ui/sessions").status, 403);
    let (statement, asked) = (format!("{path}/statement"), [("note", "yes")]);
    assert_eq!((agent.get("/ui/passkey").status, agent.post(&statement, &asked).status), (403, 403));
    assert_eq!(stranger.post(&statement, &asked).status, 404);
    let ann = office.browser(&office.ann);
    assert!(ann.get("/ui/passkey").words().contains("Make a passkey"));
    let signed = ann.post(&statement, &asked);
    assert!(signed.status == 200 && signed.body.contains("\"decision_id\""), "{}", signed.body);
    assert_eq!(
        (stranger.get(&path).status, stranger.post(&path, &[("verdict", "deny"), ("note", "no")]).status),
        (404, 404)
    );
    for page in ["/ui", "/ui/waiting", "/ui/decisions", "/ui/receipts", "/ui/findings", "/ui/chains", "/ui/runs"] {
        let shown = stranger.get(page);
        assert!(shown.status == 200 && !shown.body.contains("support-bot"), "{page}: {}", shown.body);
    }
    for page in ["/ui/waiting", "/ui/sessions"] {
        let words = stranger.get(page).words();
        assert!(words.contains("Guards and hooks that decide for themselves record for the command line"), "{words}");
    }
    assert!(office.reviews(&id).is_empty());
}

#[test]
fn every_answer_has_the_headers_and_every_link_leads_somewhere() {
    let office = Office::open();
    office.ask(MAIL);
    office.ask(r#"{"action": {"tool": "wipe", "class": "system_change", "args": {}}}"#);
    let check = r#"{"task_id": "t", "specification": "s", "output": {"content": "12"}, "verification": {"kind": "schema_check",
        "checks": [{"name": "short", "constraint": "length <= 1"}]}}"#;
    assert_eq!(office.server.post("/v1/verifications", &office.agent, check).0, 200);
    let eve = office.browser(&office.eve);
    let (mut open, mut seen) = (vec!["/ui".to_owned()], std::collections::BTreeSet::new());
    while let Some(path) = open.pop() {
        if !path.starts_with("/ui") || !seen.insert(path.clone()) {
            continue;
        }
        let answer = eve.get(&path);
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("cross-origin-opener-policy"), "same-origin", "{path}");
        let policy = answer.header("content-security-policy");
        match path.as_str() {
            "/ui/check" => assert_eq!(policy, "frame-ancestors 'none'"),
            _ => assert!(
                policy.contains("script-src 'self'; style-src 'self'") && policy.contains("trusted-types 'none'"),
                "{path}"
            ),
        }
        match path.starts_with("/ui/assets/") {
            true => assert!(answer.header("cache-control").ends_with("immutable"), "{path}"),
            false => assert_eq!(answer.header("cache-control"), "no-store", "{path}"),
        }
        if answer.header("content-type").starts_with("text/html") && path != "/ui/check" {
            let inline = ["<style", " style=", "<script>", " onclick=", "javascript:"];
            assert!(inline.iter().all(|one| !answer.body.contains(one)), "{path}");
            assert!(answer.body.len() < 100_000, "{path}: {}", answer.body.len());
            open.extend(links(&answer.body));
        }
    }
    assert!(seen.len() > 20, "{seen:?}");
}
