//! The server does what its description says: asked by schemathesis, with answers held against the schemas.

use std::path::Path;
use std::process::Command;

use proofmark_receipt::Json;
use proofmark_testing::Home;
use proofmark_testing::python_with_schemathesis;

use crate::client::{MAIL, listed, text, verified};
use crate::server::{Server, keys, new_key};

const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
                      response_schema_conformance";

#[test]
fn the_description_is_of_version_3_1() {
    let home = Home::new();
    let server = Server::start(&home);
    let (status, document) = server.get("/openapi.json", "");
    assert_eq!((status, text(&document, "openapi").as_str()), (200, "3.1.0"));
}

#[test]
fn schemathesis_finds_nothing_without_keys() {
    let Some(python) = python_with_schemathesis() else { return };
    let home = Home::new();
    let server = Server::start(&home);
    // The cases of the schemas are asked with keys, and random ones here: what is behind the keys is the same.
    conforms(&python, &server, home.path(), &["--phases", "fuzzing"]);
    let (_, page) = server.get("/v1/decisions", "");
    assert!(!listed(&page, "decisions").is_empty(), "nothing it asked was decided on");
}

#[test]
fn schemathesis_finds_nothing_with_keys() {
    let Some(python) = python_with_schemathesis() else { return };
    let home = Home::new();
    let (admin, key) = new_key("eve", "admin", "acme.shop");
    let server = Server::with_keys(&home, &keys(&[&key]));
    let admin = format!("Authorization: Bearer {admin}");
    conforms(&python, &server, home.path(), &["-H", &admin, "--phases", "coverage"]);
}

#[test]
fn schemathesis_is_refused_the_same_way_whatever_it_asks() {
    let Some(python) = python_with_schemathesis() else { return };
    let home = Home::new();
    let (agent, key) = new_key("bot", "agent", "acme.shop");
    let server = Server::with_keys(&home, &keys(&[&key]));
    // What a role may not do, and a stranger.
    let refused = ["--phases", "coverage", "--mode", "positive"];
    let agent = format!("Authorization: Bearer {agent}");
    conforms(&python, &server, home.path(), &[&["-H", agent.as_str()], &refused[..]].concat());
    conforms(&python, &server, home.path(), &refused);
}

fn conforms(python: &Path, server: &Server, home: &Path, more: &[&str]) {
    let asked = Command::new(python)
        .args(["-m", "schemathesis.cli", "run", &format!("{}/openapi.json", server.base())])
        .args(["--checks", CHECKS, "--max-examples", "5", "--seed", "1", "--no-color", "--no-shrink"])
        .args(more)
        // It keeps examples below the folder it is run in.
        .current_dir(home)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&asked.stdout);
    assert!(asked.status.success(), "{said}{}", String::from_utf8_lossy(&asked.stderr));
}

#[test]
fn the_page_of_the_description_asks_nobody_else() {
    let home = Home::new();
    let server = Server::start(&home);
    let page = |path: &str| server.send(&format!("GET {path} HTTP/1.1"), "");
    let (status, begin) = page("/docs/swagger-initializer.js");
    assert_eq!(status, 200);
    assert!(begin.contains("/openapi.json") && begin.contains(r#""validatorUrl": "none""#), "{begin}");
    let (status, html) = page("/docs/");
    assert!(status == 200 && !html.contains("//"), "{html}");
    let mut stream = server.connect();
    std::io::Write::write_all(&mut stream, b"GET /docs/ HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut whole = String::new();
    std::io::Read::read_to_string(&mut stream, &mut whole).unwrap();
    assert!(whole.contains("script-src 'self';") && whole.contains("frame-ancestors 'none'"), "{whole}");
}

#[test]
fn every_example_works() {
    let home = Home::new();
    let server = Server::start(&home);
    let (_, document) = server.get("/openapi.json", "");
    let at = |json: &Json, path: &[&str]| {
        path.iter().try_fold(json.clone(), |json, name| json.as_object()?.get(name).cloned())
    };
    // What the examples of paths stand for: a receipt to redeem, and a decision that waits for a review.
    let receipt = text(&verified(&server, ""), "receipt_id");
    let decision = text(&server.post("/v1/decisions", "", MAIL).1, "decision_id");
    let paths = at(&document, &["paths"]).unwrap();
    let mut posted = 0;
    for (path, methods) in paths.as_object().unwrap().iter() {
        let Some(example) = at(methods, &["post", "requestBody", "content", "application/json", "example"]) else {
            continue;
        };
        let step = |name: &str| text(&at(&document, &["components", "parameters", name]).unwrap(), "example");
        let id = if path.starts_with("/v1/reviews") { &decision } else { &receipt };
        let place = path.replace("{id}", id).replace("{run}", &step("Run")).replace("{step}", &step("Step"));
        let (status, answer) = server.post(&place, "", &example.to_text());
        // No policy of this test offers an approval that could be revoked, and the reviews of the example are not stored.
        let is_refused_in_its_form = (path.ends_with("/revoke") || path == "/v1/quorums") && status == 422;
        assert!(matches!(status, 200 | 202) || is_refused_in_its_form, "{place}: {status} {}", answer.to_text());
        posted += 1;
        if let Some(verdict) = at(&answer, &["verdict"]).filter(|_| path.contains("verif")) {
            assert_eq!(verdict.as_str(), Some("pass"), "{place}: {}", answer.to_text());
        }
        if let Some(valid) = at(&answer, &["answer"]) {
            assert_eq!(valid.as_str(), Some("valid"), "{place}: {}", answer.to_text());
        }
    }
    assert_eq!(posted, 19);
}

#[test]
fn the_root_and_the_page_say_whose_they_are() {
    let home = Home::new();
    let server = Server::start(&home);
    let (status, index) = server.get("/", "");
    assert_eq!((status, text(&index, "name").as_str()), (200, "proofmark"));
    for path in ["docs", "openapi", "ready"] {
        assert_eq!(server.send(&format!("GET {} HTTP/1.1", text(&index, path)), "").0, 200, "{path}");
    }
    assert!(server.send("GET /docs/ HTTP/1.1", "").1.contains("<title>Proofmark API</title>"));
}
