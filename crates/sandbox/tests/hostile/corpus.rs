//! The programs and what they declare about themselves in their first lines.
//!
//! A header line is a comment `key: value`: `expect` (one answer, or several
//! divided by ` | `), `then` (the answer of a second, later case), `expect C` and
//! `then C` (the answers where isolation is of level C), `mode` (`call`, the default, or
//! `stdio`, or `command`, a project whose command runs the program and prints the answer of `f`), `timeout` (milliseconds, of a case that may be ended by it; [`TIMEOUT`] without), `memory`, `disk` (MiB), `processes`,
//! `output` (bytes). `prelude.<language>` stands before every program of a language and declares what they do not.

use std::cmp::Reverse;
use std::fs;
use std::path::Path;
use std::time::Duration;

use proofmark_checks::{Case, CaseOutcome, End, Job, Language, Limits, Program, Project, ProjectFile};
use proofmark_sandbox::Level;

/// What declares the answers of the first case, and of the second.
const CASES: [&str; 2] = ["expect", "then"];

/// After so long a case is ended that may be ended by its deadline.
const TIMEOUT: Duration = Duration::from_secs(1);
/// What ends by itself does so on a busy machine, too.
const PATIENCE: Duration = Duration::from_secs(100);

/// One hostile program, as it runs at one level.
pub struct Hostile {
    pub name: String,
    pub job: Job,
    header: Header,
}

/// Every program of the folder, those first that wait longest for a deadline.
pub fn read_all(folder: &Path, level: Level, fill: &dyn Fn(&str) -> String) -> Vec<Hostile> {
    let mut all = Vec::new();
    for language in Language::ALL {
        let prelude = fs::read_to_string(folder.join(format!("prelude.{language}"))).unwrap();
        for entry in fs::read_dir(folder.join(language.as_str())).unwrap().flatten() {
            let text = fs::read_to_string(entry.path()).unwrap();
            let name = format!("{language}/{}", entry.path().file_stem().unwrap().to_string_lossy());
            // What a program does not declare, the prelude of its language does.
            let header = Header { lines: [header(&text), header(&prelude)].concat(), level };
            // An ES module cannot begin with a script, so it has what it needs of the prelude itself.
            let module = entry.path().extension().is_some_and(|extension| extension == "mjs");
            let source = if module { text } else { format!("{prelude}\n{text}") };
            all.push(hostile(name, language, header, fill(&source)));
        }
    }
    all.sort_by_key(|program| (Reverse(program.longest_wait()), program.name.clone()));
    all
}

fn hostile(name: String, language: Language, header: Header, source: String) -> Hostile {
    let number = |key: &str, other: u32| header.get(key).map_or(other, |value| value.parse().unwrap());
    // A command needs a place to write, and room for the programs that it starts.
    let [memory_mb, disk_mb] = if header.get("mode") == Some("command") { [256, 16] } else { [64, 0] };
    let program = match header.get("mode") {
        Some("stdio") => Program::Stdio { source },
        Some("command") => Program::Command(Box::new(project(&source))),
        _ => Program::Call { source, entrypoint: "f".to_owned() },
    };
    let declared = CASES.into_iter().zip(0..).filter(|(key, _)| header.get(key).is_some());
    let cases = declared.map(|(key, number)| Case { input: format!("[{number}]"), timeout: header.timeout(key) });
    let job = Job {
        language,
        runtime: None,
        packages: vec![],
        program,
        cases: cases.collect(),
        limits: Limits {
            memory_mb: number("memory", memory_mb),
            total_timeout: PATIENCE * CASES.len() as u32,
            output_bytes: number("output", 64 << 10) as usize,
            processes: number("processes", 16),
            disk_mb: number("disk", disk_mb),
        },
    };
    Hostile { name, job, header }
}

/// A project of one file, in the one language whose hostile programs run as commands.
fn project(source: &str) -> Project {
    let content = format!("{source}\nprint(f(0))\n").into_bytes();
    Project {
        files: vec![ProjectFile { path: "attack.py".to_owned(), content: content.into() }],
        arguments: vec!["attack.py".to_owned()],
        ..Project::default()
    }
}

/// What a program declares, read for one level.
struct Header {
    lines: Vec<(String, String)>,
    level: Level,
}

impl Header {
    fn get(&self, key: &str) -> Option<&str> {
        self.lines.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// The answers declared for a case: those of the level, where it has its own.
    fn answers(&self, case: &str) -> Option<&str> {
        self.get(&format!("{case} {}", self.level)).or_else(|| self.get(case))
    }

    /// Whether a case may be ended by its deadline.
    fn may_hang(&self, case: &str) -> bool {
        let mut answers = self.answers(case).unwrap_or_default().split(" | ");
        answers.any(|answer| ["own", "timeout"].contains(&answer.trim()))
    }

    fn timeout(&self, case: &str) -> Duration {
        if !self.may_hang(case) {
            return PATIENCE;
        }
        self.get("timeout").map_or(TIMEOUT, |milliseconds| Duration::from_millis(milliseconds.parse().unwrap()))
    }
}

fn header(text: &str) -> Vec<(String, String)> {
    let pair = |line: String| line.split_once(": ").map(|(key, value)| (key.to_owned(), value.trim().to_owned()));
    text.lines()
        .map_while(|line| Some(line.strip_prefix("# ").or(line.strip_prefix("// "))?.to_owned()))
        .filter_map(pair)
        .collect()
}

impl Hostile {
    /// How long its cases may wait for their deadlines.
    fn longest_wait(&self) -> Duration {
        let cases = CASES.iter().zip(&self.job.cases).filter(|(key, _)| self.header.may_hang(key));
        cases.map(|(_, case)| case.timeout).sum()
    }

    /// How long the cases may have taken, which ended like this. Where one may be ended by its deadline, the other may have taken
    /// what it took.
    pub fn patience(&self, ended: &[CaseOutcome]) -> Duration {
        let has_deadline = CASES.iter().any(|key| self.header.may_hang(key));
        let cases = CASES.iter().zip(self.job.cases.iter().zip(ended));
        let patience = cases.map(|(key, (case, ended))| {
            if has_deadline && !self.header.may_hang(key) { case.timeout.min(ended.elapsed) } else { case.timeout }
        });
        patience.sum()
    }

    /// The answers declared for one case.
    pub fn expected(&self, case: usize) -> &str {
        self.header.answers(CASES[case]).unwrap_or("nothing declared")
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
        End::Ran { status, output, .. } => *status == 0 && word == "ran" && rest.as_bytes() == output.trim_ascii_end(),
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
        End::Ran { status, output, errors, .. } => format!("ran {status} {} {}", text(output), text(errors)),
        other => format!("{other:?}"),
    }
}
