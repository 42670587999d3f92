//! The pages that map external requirements: each command and each field that they name exists.
//!
//! A row of a table has the cells `command`, `field` and `limits`. A code span that begins with `proofmark ` is a command with its
//! options, anywhere on the page. A field cell is `KIND: spans; KIND: spans`, and each span is the path of a member in a document of that
//! kind, or the names of an action policy's members. A row that names neither says `not here`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use proofmark_receipt::Json;
use regex::Regex;

use crate::session::Session;

const TREE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// What makes documents of each kind, beside those of the vectors.
const MADE: &[&str] = &[
    "proofmark examples",
    "python3 examples/guard/agent.py proofmark guard --policy examples/guard/policy.yaml --session try -- python3 examples/guard/server.py",
    "proofmark verify examples/sort.json",
    "proofmark decide examples/decide/request.json --policy examples/decide/policy.yaml",
    "proofmark receipt list --json",
    "proofmark decision list --json",
    "proofmark session export try",
];

/// The pages, with their names.
fn pages() -> Vec<(String, String)> {
    let folder = Path::new(TREE).join("docs/mappings");
    let mut pages: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    assert_eq!(pages.len(), 5, "{pages:?}");
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    pages.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

/// The text of a page without its blocks.
fn outside_blocks(text: &str) -> String {
    text.split("\n```").step_by(2).collect()
}

/// A row of a mapping, as its cells by their headings.
type Row<'t> = BTreeMap<&'t str, &'t str>;

fn rows(text: &str) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let mut heads: Option<Vec<&str>> = None;
    for line in text.lines() {
        let Some(line) = line.strip_prefix('|') else {
            heads = None;
            continue;
        };
        let cells: Vec<&str> = line.trim_end().trim_end_matches('|').split('|').map(str::trim).collect();
        match &heads {
            None => heads = Some(cells),
            Some(_) if cells.iter().all(|cell| cell.starts_with("---")) => {}
            Some(heads) => {
                assert_eq!(heads.len(), cells.len(), "{line}");
                rows.push(heads.iter().copied().zip(cells).collect());
            }
        }
    }
    rows
}

fn spans(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_row_names_evidence_or_says_that_there_is_none() {
    let mut count = 0;
    let date = Regex::new(r"read on 20\d\d-\d\d-\d\d").unwrap();
    for (name, text) in pages() {
        for row in rows(&text) {
            count += 1;
            let command = spans(row["command"]).iter().any(|span| span.starts_with("proofmark "));
            let named = command || !spans(row["field"]).is_empty();
            assert!(named || row["limits"].to_lowercase().contains("not here"), "{name}: {row:?}");
        }
        let said = outside_blocks(&text);
        assert!(said.contains("does not claim conformance"), "{name}");
        assert!(date.is_match(&said), "{name} says when its source was read");
    }
    assert!(count > 70, "{count} rows");
}

#[test]
fn every_command_exists_with_its_options() {
    let mut commands: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (_, text) in pages() {
        let said = outside_blocks(&text);
        for span in spans(&said).into_iter().filter_map(|span| span.strip_prefix("proofmark ")) {
            let words: Vec<&str> = span.split(' ').collect();
            let options = words.iter().position(|word| word.starts_with('-')).unwrap_or(words.len());
            let (path, options) = words.split_at(options);
            commands.entry(path.join(" ")).or_default().insert(options.join(" "));
        }
    }
    assert!(commands.len() > 30, "{commands:?}");
    let asked: Vec<String> = commands.keys().map(|path| format!("proofmark {path} --help")).collect();
    let done = Session::new().run(&asked.iter().map(String::as_str).collect::<Vec<_>>());
    for ((path, options), done) in commands.iter().zip(done) {
        // A word that is not a command is taken as an argument of the command before it.
        let usage = format!("Usage: proofmark {path}");
        let known = done.output.lines().any(|line| line == usage || line.starts_with(&format!("{usage} ")));
        assert!(done.code == Some(0) && known, "`proofmark {path}` is not a command\n{}", done.output);
        for options in options {
            options_exist(&format!("proofmark {path} {options}"), options, &done.output);
        }
    }
}

/// Each option is in the help, and `--as` and `--keep` with values that they take.
fn options_exist(command: &str, options: &str, help: &str) {
    let words: Vec<&str> = options.split_whitespace().collect();
    for (at, option) in words.iter().enumerate().filter(|(_, word)| word.starts_with("--")) {
        let listed = Regex::new(&format!(r"(?m)^ +(-\w, )?{option}(\[| |$)")).unwrap();
        assert!(listed.is_match(help), "`{command}`: no `{option}`");
        if let Some(value) = words.get(at + 1).filter(|_| ["--as", "--keep"].contains(option)) {
            let value = regex::escape(value);
            let taken = Regex::new(&format!(r"(?m)^ +- {value}:|possible values: [^\]]*\b{value}\b")).unwrap();
            assert!(taken.is_match(help), "`{command}`: `{option}` takes no `{value}`");
        }
    }
}

#[test]
fn every_field_is_in_a_document_of_its_kind() {
    let (documents, policy) = (documents(), policy_members());
    let mut count = 0;
    for (name, text) in pages() {
        for row in rows(&text) {
            for part in row["field"].split("; ").filter(|part| !part.is_empty()) {
                let (kind, fields) = part.split_once(": ").unwrap_or_else(|| panic!("{name}: no kind in {part}"));
                assert_eq!(fields, format!("`{}`", spans(fields).join("`, `")), "{name}");
                for field in spans(fields) {
                    count += 1;
                    let known = match kind {
                        "policy" => field.split('.').all(|member| policy.contains(member)),
                        "approval" => documents["receipt"].contains(field),
                        kind => documents.get(kind).is_some_and(|paths| paths.contains(field)),
                    };
                    assert!(known, "{name}: no `{field}` in a document of the kind `{kind}`");
                }
            }
        }
    }
    assert!(count > 150, "{count} fields");
}

/// The paths of members by the kind of document: in valid vectors, in entries as they are stored, and in what commands make.
fn documents() -> BTreeMap<&'static str, BTreeSet<String>> {
    let mut texts = Vec::new();
    for (file, member) in [("receipt.json", "receipt"), ("passkey.json", "document"), ("decision.json", "document")] {
        let vectors = fs::read(Path::new(TREE).join("vectors").join(file)).unwrap();
        let vectors = Json::parse(&vectors).unwrap();
        for case in vectors.as_object().unwrap().get("cases").unwrap().as_array().unwrap() {
            let text = |name: &str| case.as_object()?.get(name)?.as_str().map(str::to_owned);
            texts.extend(text(member).filter(|_| text("expect").as_deref() == Some("valid")));
        }
    }
    let entries = fs::read_to_string(Path::new(TREE).join("crates/session/tests/entries.jsonl")).unwrap();
    texts.extend(entries.lines().map(str::to_owned));
    for done in Session::new().run(MADE) {
        assert!(matches!(done.code, Some(0 | 1)), "{}", done.output);
        texts.extend(done.output.lines().map(str::to_owned));
    }
    let mut paths: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    for document in texts.iter().filter_map(|text| Json::parse(text.as_bytes()).ok()) {
        let Some(object) = document.as_object() else { continue };
        let kinds = [("receipt", "vrf_version"), ("decision", "decision_id"), ("entry", "entry_id")];
        if let Some((kind, _)) = kinds.iter().find(|(_, mark)| object.contains(mark)) {
            add_paths(&document, "", paths.entry(*kind).or_default());
        }
    }
    paths
}

fn add_paths(json: &Json, before: &str, paths: &mut BTreeSet<String>) {
    if let Some(object) = json.as_object() {
        for (name, value) in object.iter() {
            let path = if before.is_empty() { name.to_string() } else { format!("{before}.{name}") };
            add_paths(value, &path, paths);
            paths.insert(path);
        }
    }
    json.as_array().into_iter().flatten().for_each(|item| add_paths(item, &format!("{before}[]"), paths));
}

/// The names of members that an action policy may have.
fn policy_members() -> BTreeSet<String> {
    let schema = fs::read(Path::new(TREE).join("schemas/action-policy.schema.json")).unwrap();
    let mut paths = BTreeSet::new();
    add_paths(&Json::parse(&schema).unwrap(), "", &mut paths);
    let of_properties = |path: &String| path.rsplit_once("properties.").map(|(_, name)| name.to_owned());
    paths.iter().filter_map(of_properties).filter(|name| !name.contains(['.', '['])).collect()
}
