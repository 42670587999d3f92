//! The pages, as a browser without script asks for them: who may see and send what, and what they say.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which may fail by panicking")]

mod again;
#[expect(dead_code, reason = "several packages of tests use it, each in part")]
#[path = "../../../server/tests/support/client.rs"]
mod client;
mod entry;
#[expect(dead_code, reason = "several packages of tests use it, each in part")]
#[path = "../../../server/tests/it/place.rs"]
mod place;
mod reviewing;
mod revoked;
#[expect(dead_code, reason = "several packages of tests use it, each in part")]
#[path = "../../../server/tests/it/server.rs"]
mod server;
mod steps;
mod words;

use std::collections::BTreeSet;
use std::io::{Read, Write};

use proofmark_pages::pages;
use proofmark_receipt::Json;
use proofmark_testing::Home;

use crate::client::{Client, text};
use crate::server::{Server, keys, new_key, new_reviewer};

/// A policy's mail, from an agent with a name.
pub(crate) const MAIL: &str = r#"{"action": {"tool": "send_email", "class": "external_message_send", "target": "a@example.org",
    "args": {"to": "a", "body": "Dear A,\nyours"}}, "agent": {"id": "support-bot", "environment": "production"}}"#;

/// The answer to a browser.
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    /// The value of a header; empty where there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).next().unwrap_or_default()
    }

    /// What the page says: its text without markup, on one line.
    pub(crate) fn words(&self) -> String {
        let content = self.body.split_once("<main").map_or(self.body.as_str(), |(_, content)| content);
        let content = content.split("</main>").next().unwrap_or_default();
        let mut words = String::new();
        let mut inside = true;
        for c in content.chars() {
            match (inside, c) {
                (_, '<') => (inside, words) = (true, words + " "),
                (true, '>') => inside = false,
                (true, _) => {}
                (false, c) => words.push(c),
            }
        }
        let words = words.replace("&lt;", "<").replace("&gt;", ">").replace("&#34;", "\"").replace("&#39;", "'");
        words.replace("&amp;", "&").split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// A browser that is signed in, or not.
pub(crate) struct Browser<'a> {
    pub(crate) server: &'a Client,
    pub(crate) cookie: String,
}

impl<'a> Browser<'a> {
    pub(crate) fn stranger(server: &'a Client) -> Self {
        Self { server, cookie: String::new() }
    }

    pub(crate) fn signed_in(server: &'a Client, key: &str) -> Self {
        let answer = Self::stranger(server).post("/ui/sign-in", &[("key", key), ("to", "/ui/waiting")]);
        assert_eq!((answer.status, answer.header("location")), (303, "/ui/waiting"), "{}", answer.body);
        let cookie = answer.header("set-cookie").split(';').next().unwrap().to_owned();
        Self { server, cookie }
    }

    /// Sends these lines of a head, and a body.
    pub(crate) fn send(&self, request: &str, lines: &str, body: &str) -> Answer {
        let mut stream = self.server.connect();
        let cookie = if self.cookie.is_empty() { String::new() } else { format!("cookie: {}\r\n", self.cookie) };
        let length = body.len();
        write!(
            stream,
            "{request} HTTP/1.1\r\nconnection: close\r\ncontent-length: {length}\r\n{cookie}{lines}\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send(&format!("GET {path}"), "host: localhost\r\naccept: text/html\r\nsec-fetch-site: same-origin\r\n", "")
    }

    /// Sends a form, as a page of the server does.
    pub(crate) fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let own = "origin: http://localhost\r\nsec-fetch-site: same-origin\r\n";
        self.send(&format!("POST {path}"), &format!("host: localhost\r\n{own}{FORM}"), &form(fields))
    }
}

pub(crate) const FORM: &str = "content-type: application/x-www-form-urlencoded\r\n";

pub(crate) fn form(fields: &[(&str, &str)]) -> String {
    let encoded = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    fields.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect::<Vec<_>>().join("&")
}

/// A server with an agent, two reviewers and an administrator of one tenant, and an administrator of another.
pub(crate) struct Office {
    pub(crate) server: Server,
    pub(crate) agent: String,
    pub(crate) ann: String,
    pub(crate) bob: String,
    pub(crate) eve: String,
    pub(crate) stranger: String,
    home: Home,
}

impl Office {
    pub(crate) fn open() -> Self {
        let home = Home::new();
        let (agent, one) = new_key("bot", "agent", "acme.shop");
        let (ann, two) = new_reviewer("ann", "acme.shop", &["reviewer", "finance"]);
        let (bob, three) = new_key("bob", "reviewer", "acme.shop");
        let (eve, four) = new_key("eve", "admin", "acme.shop");
        let (stranger, five) = new_key("mallory", "admin", "other.shop");
        let server = Server::with_keys(&home, &keys(&[&one, &two, &three, &four, &five]));
        Self { server, agent, ann, bob, eve, stranger, home }
    }

    /// Asks for a decision; its id.
    pub(crate) fn ask(&self, request: &str) -> String {
        let (status, decision) = self.server.post("/v1/decisions", &self.agent, request);
        assert_eq!(status, 200, "{decision:?}");
        text(&decision, "decision_id")
    }

    pub(crate) fn outcome(&self, request: &str) -> String {
        text(&self.server.post("/v1/decisions", &self.agent, request).1, "outcome")
    }

    pub(crate) fn browser(&self, key: &str) -> Browser<'_> {
        Browser::signed_in(&self.server, key)
    }

    /// The reviews of a decision: who, and what they wrote.
    pub(crate) fn reviews(&self, id: &str) -> Vec<(String, String)> {
        let (_, decision) = self.server.get(&format!("/v1/decisions/{id}"), &self.ann);
        let reviews = decision.as_object().unwrap().get("reviews").and_then(Json::as_array).unwrap().to_vec();
        reviews.iter().map(|review| (text(review, "reviewer"), text(review, "note"))).collect()
    }
}

/// The addresses of this server that a page leads to.
pub(crate) fn links(page: &str) -> BTreeSet<String> {
    let parts = page.split(" href=\"").skip(1).chain(page.split(" src=\"").skip(1));
    let links = parts.filter_map(|part| part.split('"').next()).filter(|link| link.starts_with('/'));
    links.map(|link| link.replace("&#38;", "&").replace("&amp;", "&")).collect()
}
