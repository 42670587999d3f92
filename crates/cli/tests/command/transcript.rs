//! Commands and their whole output for snapshots. Values that change from run to run, or with the host, are replaced by
//! names.

use proofmark_receipt::Json;
use regex::{Captures, Regex};

use crate::run::{Done, Place, project_file};

/// Patterns of values that change, and their names.
const CHANGING: &[(&str, &str)] = &[
    // With stores in PostgreSQL, what is said of a file otherwise.
    (r"`postgres:[^`]*`: the database has no store", "`[place]/home/proofmark.db`: there is no such file"),
    (r"(?m)^  database +postgres:.*\n", ""),
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "[id]"),
    (r"\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z", "[time]"),
    (r"\bMCowBQYDK2VwAyEA[A-Za-z0-9+/]{43}=", "[signer]"),
    (r"\bdid:key:z[A-Za-z0-9]+", "[did]"),
    (r"\b[0-9a-f]{128}\b", "[signature]"),
    (r"\b[0-9a-f]{64}\b", "[digest]"),
    (r"\b\d+ ms\b", "[ms] ms"),
    (r"\bapprove [0-9a-f]{8}\b", "approve [id]"),
    (r"\b\d+\.\d s\b", "[s] s"),
    (r#""(x|kid)":"[^"]*""#, "\"$1\":\"[changes]\""),
    (r#"\b(uuid|timestamp|time)="[^"]*""#, "$1=\"[changes]\""),
    (r"--after \S+", "--after [cursor]"),
    (r"(?m)^(  (?:isolation|runtime|execution_ms) +)\S.*$", "${1}[changes]"),
];

/// Members of JSON documents whose values change.
const CHANGING_MEMBERS: [&str; 9] =
    ["elapsed_ms", "execution_ms", "feedback", "isolation", "kid", "not_before_ms", "reason_bytes32", "runtime", "x"];

/// Longer lines are cut.
const MAX_LINE_CHARS: usize = 240;

/// The commands that ran, with what they printed.
pub(crate) struct Transcript<'a> {
    place: &'a Place,
    pub(crate) text: String,
}

impl<'a> Transcript<'a> {
    pub(crate) fn new(place: &'a Place) -> Transcript<'a> {
        Transcript { place, text: String::new() }
    }

    pub(crate) fn run(&mut self, arguments: &[&str]) -> Done {
        let done = self.place.run(arguments);
        self.add(&format!("$ proofmark {}", arguments.join(" ")), &done);
        done
    }

    /// Adds the output of a command under a heading.
    pub(crate) fn add(&mut self, heading: &str, done: &Done) {
        self.text.push_str(&format!("{}\n{}\n", self.place.redacted(heading), self.place.snapshot(done)));
    }
}

impl Place {
    /// The exit code and both outputs; lines of JSON are spread over several lines.
    pub(crate) fn snapshot(&self, done: &Done) -> String {
        let (stdout, stderr) = (self.redacted(&done.stdout), self.redacted(&done.stderr));
        let mut text = format!("exit code: {}\n", done.code);
        for (name, output) in [("stdout", stdout), ("stderr", stderr)] {
            if !output.is_empty() {
                text.push_str(&format!("--- {name}\n{output}\n"));
            }
        }
        text
    }

    /// The output with changing values replaced by their names.
    pub(crate) fn redacted(&self, output: &str) -> String {
        let mut text = output.lines().map(spread).collect::<Vec<_>>().join("\n");
        text = text.replace(self.path("").to_str().unwrap(), "[place]/");
        text = text.replace(&project_file(""), "");
        for (pattern, name) in CHANGING {
            text = Regex::new(pattern).unwrap().replace_all(&text, *name).into_owned();
        }
        text.lines().map(cut).collect::<Vec<_>>().join("\n")
    }
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// A line that is a JSON document, over several lines.
fn spread(line: &str) -> String {
    match Json::parse(line.as_bytes()) {
        Ok(json @ (Json::Object(_) | Json::Array(_))) => {
            let mut text = String::new();
            write(&mut text, &json, 0);
            text
        }
        _ => line.to_owned(),
    }
}

fn write(text: &mut String, json: &Json, depth: usize) {
    let indent = "  ".repeat(depth + 1);
    let close = "  ".repeat(depth);
    match json {
        Json::Object(object) if !object.is_empty() => {
            text.push_str("{\n");
            for (name, value) in object.iter() {
                text.push_str(&format!("{indent}{}: ", Json::from(name).to_text()));
                if CHANGING_MEMBERS.contains(&name) {
                    text.push_str("[changes]")
                } else {
                    write(text, value, depth + 1)
                }
                text.push('\n');
            }
            text.push_str(&format!("{close}}}"));
        }
        Json::Array(items) if !items.is_empty() => {
            text.push_str("[\n");
            for item in items {
                text.push_str(&indent);
                write(text, item, depth + 1);
                text.push('\n');
            }
            text.push_str(&format!("{close}]"));
        }
        _ => text.push_str(&json.to_text()),
    }
}

/// The report of `proofmark doctor` with what depends on the host replaced.
pub(crate) fn doctor(text: &str) -> String {
    let rules = [
        (r"(?m)^(  level [ABC]  )(?:available|unavailable: .*)$", "${1}[available, or unavailable and why]"),
        (r"(?m)^  help: run as root(?s:.*?)\)$\n", ""),
        (r"(?m)^(  memory   )(?:limited by the kernel|summed up).*$(?:\n {11}\S.*$)*", "${1}[how it is limited]"),
        (r"(?m)^  (?:python|javascript|typescript|bash|ruby) .*$\n", ""),
    ];
    let apply = |text: String, (pattern, to): (&str, &str)| {
        Regex::new(pattern)
            .unwrap()
            .replace_all(&text, |captures: &Captures<'_>| {
                let mut replaced = String::new();
                captures.expand(to, &mut replaced);
                replaced
            })
            .into_owned()
    };
    rules.into_iter().fold(text.to_owned(), apply)
}
