//! Forms of a visitor whose API key is revoked.

use std::io::{Read, Write};
use std::time::Duration;

use super::{Browser, FORM, MAIL, form};
use crate::client::{listed, text};
use crate::place::{Place, until};

#[test]
fn a_form_that_is_on_its_way_when_its_key_is_revoked_does_nothing() {
    let place = Place::open();
    let (_, asked) = place.server.post("/v1/decisions", &place.agent, MAIL);
    let path = format!("/ui/decisions/{}", text(&asked, "decision_id"));
    let cookie = Browser::signed_in(&place.server, &place.admin).cookie;
    let body = form(&[("verdict", "approve"), ("note", "still me")]);
    let (first, rest) = body.split_at(body.len() / 2);
    let mut stream = place.server.connect();
    let own = format!("host: localhost\r\norigin: http://localhost\r\ncookie: {cookie}\r\nconnection: close\r\n{FORM}");
    write!(stream, "POST {path} HTTP/1.1\r\n{own}content-length: {}\r\n\r\n{first}", body.len()).unwrap();
    // Until the head has come, nobody is admitted by it.
    std::thread::sleep(Duration::from_millis(500));
    place.keys().revoke("eve", None).unwrap();
    until("the revoked key", || place.status(&place.admin) == 401);
    // The server may have closed the connection by then.
    drop(stream.write_all(rest.as_bytes()));
    drop(stream.read_to_string(&mut String::new()));
    let (_, decision) = place.server.get(&path.replace("/ui/", "/v1/"), &place.agent);
    assert!(listed(&decision, "reviews").is_empty(), "{}", decision.to_text());
}
