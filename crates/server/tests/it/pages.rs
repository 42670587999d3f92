//! Pages in a browser on this host, which may ask less than the programs of this host.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use proofmark_testing::Home;

use crate::client::{MAIL, NOTE, answer, text};
use crate::server::Server;

/// How long the browser may take, as `timeout` reads it.
const BROWSER_TIME: &str = "180";

/// Status of the answer to a head with nothing but these lines, and this body.
fn ask(server: &Server, request: &str, headers: &str, body: &str) -> u16 {
    let mut stream = server.connect();
    let length = if body.is_empty() { String::new() } else { format!("content-length: {}\r\n", body.len()) };
    write!(stream, "{request} HTTP/1.1\r\nconnection: close\r\n{length}{headers}\r\n\r\n{body}").unwrap();
    answer(&mut stream).unwrap().0
}

#[test]
fn without_keys_only_this_host_and_its_own_pages_may_ask() {
    let home = Home::new();
    let server = Server::start(&home);
    let port = server.address.rsplit(':').next().unwrap();
    for request in ["GET /v1/reviews", "GET /metrics", "GET /v1/stats"] {
        let ask = |headers: &str| ask(&server, request, headers, "");
        assert_eq!(ask("host: 127.0.0.1:8700"), 200);
        assert_eq!(ask(&format!("host: localhost:{port}\r\norigin: http://localhost:{port}")), 200);
        assert_eq!(ask("host: [::1]:8700\r\norigin: http://[::1]:8700\r\nsec-fetch-site: same-origin"), 200);
        assert_eq!(ask("host: localhost\r\nsec-fetch-site: none"), 200);
        for refused in [
            "host: evil.example",
            "host: localhost\r\norigin: http://evil.example",
            "host: localhost\r\norigin: null",
            "host: localhost:8700\r\norigin: http://localhost:3000",
            "host: localhost:8700\r\norigin: https://localhost:8700",
            "host: localhost:8700\r\norigin: http://127.0.0.1:8700",
            "host: localhost\r\nsec-fetch-site: cross-site",
            "host: localhost\r\nsec-fetch-site: same-site",
        ] {
            assert_eq!(ask(refused), 403, "{request} {refused}");
        }
        for refused in ["host: localhost:evil.com", "host: localhost\r\nhost: localhost", "x: y", "host: localhost:"] {
            assert_eq!(ask(refused), 400, "{request} {refused}");
        }
    }
    assert_eq!(ask(&server, "GET http://localhost/v1/stats", "host: localhost", ""), 200);
    assert_eq!(ask(&server, "GET http://evil.example/v1/stats", "host: localhost", ""), 400);
}

#[test]
fn a_body_says_that_it_is_json() {
    let home = Home::new();
    let server = Server::start(&home);
    let greeting = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",
        "capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let accept = "accept: application/json, text/event-stream";
    for (path, body) in [("/v1/decisions", NOTE), ("/mcp", greeting)] {
        let ask = |media_type: &str| {
            ask(&server, &format!("POST {path}"), &format!("host: localhost\r\n{accept}{media_type}"), body)
        };
        for refused in [
            "",
            "\r\ncontent-type: text/plain",
            "\r\ncontent-type: text/plain;charset=UTF-8",
            "\r\ncontent-type: application/x-www-form-urlencoded",
            "\r\ncontent-type: multipart/form-data; boundary=x",
            "\r\ncontent-type: application/json\r\ncontent-type: text/plain",
        ] {
            assert_eq!(ask(refused), 415, "{path} {refused}");
        }
        assert_eq!(ask("\r\ncontent-type: application/json; charset=utf-8"), 200, "{path}");
    }
}

#[test]
fn a_page_from_another_port_approves_nothing() {
    if !proofmark_testing::has_program("chromium", "chromium") {
        return;
    }
    let home = Home::new();
    let server = Server::start(&home);
    let id = text(&server.post("/v1/decisions", "", MAIL).1, "decision_id");
    let review = format!("{}/v1/reviews/{id}", server.base());
    let page = format!(
        r#"<script>
        const word = JSON.stringify({{verdict: "approve", note: "a page says so"}});
        const send = (body, type) => fetch("{review}", {{method: "POST", mode: type ? "cors" : "no-cors", body,
            headers: type ? {{"content-type": type}} : {{}}}}).catch(() => {{}});
        (async () => {{
            await send(word);
            await send(new Blob([word]));
            await send(new URLSearchParams({{[word]: ""}}));
            await send(word, "application/json");
            navigator.sendBeacon("{review}", word);
            await fetch("/done");
        }})();
        </script>"#
    );
    let pages = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = pages.local_addr().unwrap();
    let (page, done, over) = (&page, &AtomicBool::new(false), &AtomicBool::new(false));
    // Browsers open connections on which they send nothing.
    let idle = TcpStream::connect(address).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for stream in pages.incoming() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let mut stream = stream.unwrap();
                scope.spawn(move || {
                    let mut first = String::new();
                    drop(BufReader::new(&stream).read_line(&mut first));
                    done.fetch_or(first.contains("/done"), Ordering::Relaxed);
                    let (length, kind) = (page.len(), "content-type: text/html\r\nconnection: close");
                    drop(write!(stream, "HTTP/1.1 200 OK\r\n{kind}\r\ncontent-length: {length}\r\n\r\n{page}"));
                });
            }
        });
        let shown = Command::new("timeout")
            .args([
                BROWSER_TIME,
                "chromium",
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--virtual-time-budget=20000",
            ])
            .arg(format!("--user-data-dir={}", home.path().join("browser").display()))
            .args(["--dump-dom", &format!("http://{address}/")])
            .output()
            .unwrap();
        over.store(true, Ordering::Relaxed);
        drop((TcpStream::connect(address).unwrap(), idle));
        assert!(done.load(Ordering::Relaxed), "the page did not run: {}", String::from_utf8_lossy(&shown.stderr));
    });
    let (_, decision) = server.get(&format!("/v1/decisions/{id}"), "");
    assert_eq!(decision.as_object().unwrap().get("reviews").unwrap().to_text(), "[]");
}
