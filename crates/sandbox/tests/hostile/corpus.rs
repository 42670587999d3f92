//! The programs and what they declare about themselves in their first lines.
//!
//! A header line is a comment `key: value`: `expect` (one answer, or several
//! divided by ` | `), `then` (the answer of a second, later case), `expect C` and
//! `then C` (the answers where isolation is of level C), `mode` (`call`, the default, or
//! `stdio`), `timeout` (milliseconds, of a case that may be ended by it), `memory`, `disk` (MiB), `processes`,
//! `output` (bytes). `prelude.<language>` stands before every program of a language and declares what they do not.

use std::fs;
use std::path::Path;
use std::time::Duration;

use proofmark_checks::{Case, CaseOutcome, End, Job, Language, Limits, Program};
use proofmark_sandbox::Level;

/// What declares the answers of the first case, and of the second.
const CASES: [&str; 2] = ["expect", "then"];

/// One hostile program.
pub struct Hostile {
    pub name: String,
    pub job: Job,
    header: Vec<(String, String)>,
}

/// Every program of the folder, by name.
pub fn read_all(folder: &Path, fill: &dyn Fn(&str) -> String) -> Vec<Hostile> {
    let mut all = Vec::new();
    for language in Language::ALL {
        let prelude = fs::read_to_string(folder.join(format!("prelude.{language}"))).unwrap();
        for entry in fs::read_dir(folder.join(language.as_str())).unwrap().flatten() {
            let text = fs::read_to_string(entry.path()).unwrap();
            let name = format!("{language}/{}", entry.path().file_stem().unwrap().to_string_lossy());
            // What a program does not declare, the prelude of its language does.
            let header = [header(&text), header(&prelude)].concat();
            // An ES module cannot begin with a script, so it has what it needs of the prelude itself.
            let module = entry.path().extension().is_some_and(|extension| extension == "mjs");
            let source = if module { text } else { format!("{prelude}\n{text}") };
            all.push(hostile(name, language, header, fill(&source)));
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn hostile(name: String, language: Language, header: Vec<(String, String)>, source: String) -> Hostile {
    let of = |key: &str| header.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str());
    let number = |key: &str, other: u32| of(key).map_or(other, |value| value.parse().unwrap());
    let program = match of("mode") {
        Some("stdio") => Program::Stdio { source },
        _ => Program::Call { source, entrypoint: "f".to_owned() },
    };
    // What ends by itself does so on a slow machine, too; what may be ended by its deadline makes the test wait for it.
    let timeout = |key| if may_hang(&header, key) { number("timeout", 5_000) } else { 50_000 };
    let cases = CASES
        .into_iter()
        .zip(0..)
        .filter_map(|(key, number)| {
            let timeout = Duration::from_millis(timeout(key).into());
            of(key).map(|_| Case { input: format!("[{number}]"), timeout })
        })
        .collect();
    let limits = Limits {
        memory_mb: number("memory", 64),
        total_timeout: Duration::from_secs(120),
        output_bytes: number("output", 64 << 10) as usize,
        processes: number("processes", 16),
        disk_mb: number("disk", 0),
    };
    Hostile { name, job: Job { language, runtime: None, packages: vec![], program, cases, limits }, header }
}

/// Whether a case may be ended by its deadline.
fn may_hang(header: &[(String, String)], key: &str) -> bool {
    let ends = header.iter().filter(|(known, _)| known.split(' ').next() == Some(key));
    ends.flat_map(|(_, ends)| ends.split(" | ")).any(|end| ["own", "timeout"].contains(&end.trim()))
}

fn header(text: &str) -> Vec<(String, String)> {
    let pair = |line: String| line.split_once(": ").map(|(key, value)| (key.to_owned(), value.trim().to_owned()));
    text.lines()
        .map_while(|line| Some(line.strip_prefix("# ").or(line.strip_prefix("// "))?.to_owned()))
        .filter_map(pair)
        .collect()
}

impl Hostile {
    /// How long the cases may have taken, which ended like this. Where one may be ended by its deadline, the other may have taken
    /// what it took.
    pub fn patience(&self, ended: &[CaseOutcome]) -> Duration {
        let has_deadline = CASES.iter().any(|key| may_hang(&self.header, key));
        let cases = CASES.iter().zip(self.job.cases.iter().zip(ended));
        let patience = cases.map(|(key, (case, ended))| {
            if has_deadline && !may_hang(&self.header, key) { case.timeout.min(ended.elapsed) } else { case.timeout }
        });
        patience.sum()
    }

    /// The answers declared for one case at this level.
    pub fn expected(&self, case: usize, level: Level) -> &str {
        let key = CASES[case];
        let exact = format!("{key} {level}");
        let found = |wanted: &str| self.header.iter().find(|(key, _)| key == wanted).map(|(_, value)| value.as_str());
        found(&exact).or_else(|| found(key)).unwrap_or("nothing declared")
    }
}

/// Whether the end is one of those declared.
pub fn fits(end: &End, declared: &str) -> bool {
    declared.split(" | ").any(|one| fits_one(end, one.trim()))
}

fn fits_one(end: &End, declared: &str) -> bool {
    let (word, rest) = declared.split_once(' ').unwrap_or((declared, ""));
    match end {
        End::Value(wire) => word == "own" || (word == "value" && (rest.is_empty() || rest.as_bytes() == wire)),
        End::Ran { .. } => false,
        End::Text(text) => {
            word == "own" || (word == "text" && (rest.is_empty() || rest.as_bytes() == text.trim_ascii_end()))
        }
        End::Raised { kind, .. } => word == "own" || (word == "raised" && (rest.is_empty() || rest == kind)),
        End::Timeout => matches!(word, "own" | "timeout"),
        End::MemoryLimit => matches!(word, "own" | "memory_limit"),
        End::OutputLimit => matches!(word, "own" | "output_limit"),
        End::Signal(signal) => word == "own" || (word == "signal" && rest == signal.to_string()),
        End::Exit(code) => word == "own" || (word == "exit" && rest == code.to_string()),
        End::NoAnswer(_) => matches!(word, "own" | "no_answer"),
        // Never an answer a submission may bring about, but the limits asked for may.
        End::Unavailable(_) => word == "unavailable",
        End::TotalTimeout => false,
    }
}

/// The end as the headers write it.
pub fn show(end: &End) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes.get(..300).unwrap_or(bytes)).into_owned();
    match end {
        End::Value(wire) => format!("value {}", text(wire)),
        End::Text(bytes) => format!("text {}", text(bytes)),
        End::Raised { kind, text, .. } => format!("raised {kind} ({text})"),
        other => format!("{other:?}"),
    }
}
