//! The alert rules of `docs/operating.md`: Prometheus can read them, and they are about figures that a server has.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use proofmark_testing::{Home, has_program};

use crate::client::{DECISIONS, MAIL};
use crate::server::Server;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operating.md");
/// What the block of the page begins with.
const RULES: &str = "```yaml\ngroups:\n";

fn rules() -> String {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (_, block) = page.split_once(RULES).unwrap();
    let (rules, _) = block.split_once("\n```").unwrap();
    format!("groups:\n{rules}\n")
}

fn figures() -> String {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    server.send(DECISIONS, MAIL);
    server.send("GET /metrics HTTP/1.1", "").1
}

/// The names of figures in a text.
fn names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("proofmark_")).collect()
}

fn promtool(words: &[&str], input: &str) -> Output {
    let mut promtool = Command::new("promtool");
    promtool.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut promtool = promtool.spawn().unwrap();
    promtool.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    promtool.wait_with_output().unwrap()
}

#[test]
fn every_figure_of_the_alert_rules_is_one_of_a_server() {
    let (rules, figures) = (rules(), figures());
    let (wanted, known) = (names(&rules), names(&figures));
    assert!(wanted.len() > 3, "{wanted:?}");
    let unknown: Vec<_> = wanted.difference(&known).collect();
    assert!(unknown.is_empty(), "{unknown:?} of {known:?}");
}

#[test]
fn prometheus_reads_the_alert_rules_and_the_figures() {
    if !has_program("promtool", "prometheus") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.yaml");
    for (rules, is_right) in [(rules(), true), (rules().replace("> 7200", "> > 7200"), false)] {
        std::fs::write(&file, &rules).unwrap();
        let checked = promtool(&["check", "rules", &file.display().to_string()], "");
        assert_eq!(checked.status.success(), is_right, "{rules} {checked:?}");
    }
    // 1 where it cannot be read. 3 says that names or texts of help could be better.
    let read = promtool(&["check", "metrics"], &figures());
    assert!(matches!(read.status.code(), Some(0 | 3)), "{read:?}");
}
