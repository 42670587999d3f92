//! What the pages and the terminal say of one document is the same.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use proofmark_testing::Home;

use crate::client::{GOOD, MAIL, NOTE, POLICY, WRONG, suite, text};
use crate::server::{PROOFMARK, Server, serve_by};

/// The statements, each as the terminal writes it.
type Said = BTreeSet<String>;

/// A policy that lists the key of this home's server: what is approved without API keys is signed by it and named after nobody.
pub(crate) fn policy_of_own_key(home: &Home) -> PathBuf {
    let policy = home.path().join("policy.yaml");
    std::fs::copy(POLICY, &policy).unwrap();
    let add = ["reviewer", "add", "server", "--key", "default", "--role", "reviewer", "--policy"];
    for (arguments, file) in [(&["key", "new", "default"][..], None), (&add, Some(&policy))] {
        let done = Command::new(PROOFMARK).args(arguments).args(file).envs(home.variables()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    policy
}

#[test]
fn pages_and_terminal_state_the_same() {
    let home = Home::new();
    let server = Server::begin(serve_by(&policy_of_own_key(&home), &home, &[]));
    let verified = |source: &str| {
        let (status, receipt) = server.post("/v1/verifications?chain=work", "", &suite(source));
        assert_eq!(status, 200, "{}", receipt.to_text());
        text(&receipt, "receipt_id")
    };
    let (good, wrong) = (verified(GOOD), verified(WRONG));
    let (status, rechecked) = server.post(&format!("/v1/receipts/{good}/recheck"), "", "");
    assert_eq!(status, 200, "{}", rechecked.to_text());
    let again = text(rechecked.as_object().unwrap().get("receipt").unwrap(), "receipt_id");
    let (allowed, stopped) = (decided(&server, NOTE), decided(&server, MAIL));
    let (_, review) =
        server.post(&format!("/v1/reviews/{stopped}"), "", r#"{"verdict": "approve", "note": "read <it>"}"#);
    let approval = text(review.as_object().unwrap().get("approval").unwrap(), "receipt_id");
    for (id, names) in [
        (&good, &["task", "tier", "request", "chain"][..]),
        (&wrong, &["output", "tests"]),
        (&again, &["supersedes"]),
        (&approval, &["note", "reviewer", "action hash", "decision id"]),
    ] {
        let on_page = page(&server, &format!("/ui/receipts/{id}"));
        assert_eq!(on_page, terminal(&home, &["receipt", "show", id]), "{id}");
        for name in names {
            assert!(on_page.iter().any(|said| said.starts_with(&format!("{name:<16}"))), "{name}: {on_page:?}");
        }
    }
    for id in [&allowed, &stopped] {
        let mut on_page = page(&server, &format!("/ui/decisions/{id}"));
        // What the page says of the action is not in the receipt.
        let of_action = ["tool", "class", "target"].map(|name| format!("{name:<16} "));
        on_page.retain(|line| !of_action.iter().any(|name| line.starts_with(name)));
        assert_eq!(on_page, terminal(&home, &["receipt", "show", id]), "{id}");
        assert!(on_page.len() > 5, "{on_page:?}");
    }
    let head = home.path().join("head.json");
    let exported = proofmark(&home, &["receipt", "head", "--chain", "work"]);
    std::fs::write(&head, exported).unwrap();
    // Each head is signed at the moment it is asked for.
    let but_when = |said: Said| said.into_iter().filter(|line| !line.starts_with("when ")).collect::<Said>();
    let on_page = but_when(page(&server, "/ui/chains/work"));
    assert_eq!(on_page, but_when(terminal(&home, &["receipt", "show", head.to_str().unwrap()])));
    assert!(!on_page.is_empty());
}

fn decided(server: &Server, action: &str) -> String {
    text(&server.post("/v1/decisions", "", action).1, "decision_id")
}

fn proofmark(home: &Home, arguments: &[&str]) -> String {
    let done = Command::new(PROOFMARK).args(arguments).envs(home.variables()).output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// What the terminal says of a document: the lines behind those about its signature.
fn terminal(home: &Home, arguments: &[&str]) -> Said {
    let shown = proofmark(home, arguments);
    let (_, behind) = shown.split_once("\n  signed by ").unwrap();
    let stated = behind.split("\nchecks that did not pass").next().unwrap();
    let lines = stated.lines().skip(1).filter_map(|line| line.strip_prefix("  "));
    lines.filter(|line| !line.starts_with("signer id ")).map(str::to_owned).collect()
}

/// What a page says of a document.
fn page(server: &Server, path: &str) -> Said {
    let (status, body) = server.send(&format!("GET {path} HTTP/1.1\r\nsec-fetch-site: same-origin"), "");
    assert_eq!(status, 200, "{body}");
    let mut said = Said::new();
    for list in body.split("<dl class=\"said\">").skip(1) {
        let list = list.split("</dl>").next().unwrap();
        for statement in list.split("<dt>").skip(1) {
            let (name, value) = statement.split_once("</dt><dd>").unwrap();
            said.insert(format!("{:<16} {}", plain(name), plain(value.split("</dd>").next().unwrap())));
        }
    }
    for list in body.split("<h3>next steps</h3>").skip(1) {
        let list = list.split("</ul>").next().unwrap();
        said.extend(list.split("<li>").skip(1).map(plain));
    }
    said
}

/// The text of some HTML; where a value is shown shortened, the whole one.
fn plain(html: &str) -> String {
    let whole = html.split_once(" title=\"").map(|(_, title)| title.split('"').next().unwrap());
    let mut text = String::new();
    for (index, part) in whole.unwrap_or(html).split('<').enumerate() {
        text.push_str(if index == 0 { part } else { part.split_once('>').unwrap().1 });
    }
    [("&lt;", "<"), ("&gt;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&amp;", "&")]
        .iter()
        .fold(text, |text, (escaped, letter)| text.replace(escaped, letter))
}
