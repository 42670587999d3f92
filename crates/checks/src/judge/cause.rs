//! Why a check has no answer, in words.

use std::time::Duration;

use proofmark_receipt::document::shown;

use crate::job::{CaseOutcome, End, Limits};
use crate::language::Language;
use crate::suite::{Suite, Test};

/// What a case was allowed.
#[derive(Clone, Copy, Default)]
pub(super) struct Allowed {
    limits: Limits,
    timeout: Duration,
    /// Whether `timeout` is the test's own.
    own_timeout: bool,
    /// The language of a suite; nothing for the command of a project.
    language: Option<Language>,
}

impl Allowed {
    pub(super) fn of(limits: Limits, case: &CaseOutcome) -> Allowed {
        Allowed { limits, timeout: case.timeout, own_timeout: false, language: None }
    }

    /// The same for a test of a suite.
    pub(super) fn in_suite(self, suite: &Suite, test: &Test) -> Allowed {
        Allowed { own_timeout: test.timeout == Some(self.timeout), language: Some(suite.language), ..self }
    }
}

/// The signal that a program sends to itself.
const ABORT: i32 = 6;

/// The signal of an access to memory that is not there.
const FAULT: i32 = 11;

/// Why the case was not answered.
pub(super) fn unanswered(end: &End, allowed: Allowed) -> String {
    let Allowed { limits, timeout, own_timeout, .. } = allowed;
    match end {
        End::Raised { kind, text, .. } => with_advice(told(kind, text), allowed),
        End::Timeout => {
            let limit = if own_timeout { "`timeout_ms` of this test" } else { "`limits.timeout_ms`" };
            format!("timeout: no answer within {} ms ({limit})", timeout.as_millis())
        }
        End::TotalTimeout => {
            let total = limits.total_timeout.as_millis();
            format!("timeout: all checks together took {total} ms (`limits.total_timeout_ms`)")
        }
        End::MemoryLimit => format!("memory limit: it needs more than {} MiB (`limits.memory_mb`)", limits.memory_mb),
        End::OutputLimit => {
            format!("output limit: it wrote more than {} bytes (`limits.output_bytes`)", limits.output_bytes)
        }
        End::Signal(ABORT) => format!("it ended its own process by {}, as `abort` does", signal(ABORT)),
        // The first process of a cell ignores its own SIGABRT, and `abort` then ends it by this.
        End::Signal(FAULT) => {
            format!("killed by {}: it called `abort`, or used memory that is not its own", signal(FAULT))
        }
        End::Signal(number) => format!("killed by {}", signal(*number)),
        End::Exit(status) => format!("ended with exit status {status}"),
        End::NoAnswer(why) => why.clone(),
        End::Value(_) | End::Text(_) | End::Ran { .. } | End::Unavailable(_) => "no answer".to_owned(),
    }
}

/// An exception as messages show it.
pub(super) fn told(kind: &str, text: &str) -> String {
    if text.is_empty() { kind.to_owned() } else { format!("{kind}: {text}") }
}

/// Whether two checks that ended like this, with the same message, have the same cause. A limit is each check's own.
pub(super) fn is_shared(end: &End) -> bool {
    !matches!(end, End::Timeout | End::MemoryLimit | End::OutputLimit)
}

/// What exceptions say where a program looks for a network.
const NO_NETWORK: [&str; 12] = [
    "[Errno -2]",
    "[Errno -3]",
    "fetch failed",
    "Temporary failure in name resolution",
    "Name or service not known",
    "NameResolutionError",
    "getaddrinfo",
    "EAI_AGAIN",
    "ENOTFOUND",
    "ENETUNREACH",
    "Network is unreachable",
    "SocketError",
];

/// What they say where a system call is refused; sockets are among those.
const NO_SYSTEM_CALL: [&str; 3] = ["[Errno 38]", "ENOSYS", "Function not implemented"];

/// What they say where there are too many processes.
const NO_PROCESS: [&str; 4] =
    ["can't start new thread", "can't create Thread", "Resource temporarily unavailable", "EAGAIN"];

/// What stands before the name of a package that is not there.
const NO_PACKAGE: [&str; 4] =
    ["No module named '", "Cannot find package '", "Cannot find module '", "cannot load such file -- "];

/// What they say where a file system cannot be written.
const NO_WRITING: [&str; 2] = ["Read-only file system", "EROFS"];

/// The message with what the sandbox has to do with it.
pub(super) fn with_advice(said: String, allowed: Allowed) -> String {
    let Some(advice) = advice(&said, allowed) else { return said };
    // Behind several lines it stands on its own.
    let between = if said.contains('\n') { "\n" } else { "; " };
    format!("{said}{between}{advice}")
}

/// Advice on an exception that a limit of the sandbox may have caused.
pub(super) fn advice(said: &str, Allowed { limits, language, .. }: Allowed) -> Option<String> {
    let has = |parts: &[&str]| parts.iter().any(|part| said.contains(part));
    // The module that a project cannot load may be a file of its own.
    if let Some((name, language)) = missing_package(said).zip(language) {
        return Some(match language.no_packages() {
            Some(why) => why.to_owned(),
            None => format!("the package `{}` is not installed here; name it in `packages`", shown(name)),
        });
    }
    let advice = if has(&NO_NETWORK) {
        match language {
            None => "the sandbox has no network but `localhost`",
            Some(_) => "the sandbox has no network",
        }
    } else if has(&NO_SYSTEM_CALL) {
        match language {
            None => "the sandbox does not allow this system call",
            Some(_) => "the sandbox has no network, and does not allow this system call",
        }
    } else if has(&NO_PROCESS) {
        return Some(format!("a check may have {} processes and threads (`limits.processes`)", limits.processes));
    } else if has(&NO_WRITING) {
        match (language, limits.disk_mb) {
            (None, _) => "only the project and `/tmp` can be written",
            (Some(_), 0) => "the sandbox has no writable files; `limits.disk_mb` gives a private /tmp",
            (Some(_), _) => "only `/tmp` can be written",
        }
    } else {
        return missing_program(said, language);
    };
    Some(advice.to_owned())
}

/// What there is to say of a program that could not be started.
fn missing_program(said: &str, language: Option<Language>) -> Option<String> {
    let none = match language {
        None => "the sandbox has the programs of `/usr` and no others of the host",
        Some(_) => "the sandbox has no other programs",
    };
    let between = |before: &str, after: &str| {
        let mut found = said.split(before).skip(1).filter_map(|rest| rest.split(after).next());
        found.find(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_+".contains(c)))
    };
    // Node, and Ruby, which says `@ rb_sysopen` of a file.
    let started = between("spawn ", " ENOENT").or_else(|| between("spawnSync ", " ENOENT"));
    if started
        .or_else(|| between("No such file or directory - ", "\n").filter(|_| !said.contains("rb_sysopen")))
        .is_some()
    {
        return Some(none.to_owned());
    }
    // Python says the same of a file.
    between("No such file or directory: '", "'").map(|name| format!("if `{name}` is a program: {none}"))
}

/// The package that a program could not load.
fn missing_package(said: &str) -> Option<&str> {
    let rest = NO_PACKAGE.iter().find_map(|before| said.split_once(before)).map(|(_, rest)| rest)?;
    let name = rest.split(['\'', '\n', ' ']).next()?;
    // A path is a file of the submission's own. Of `numpy.linalg` the package is `numpy`.
    let is_path = name.starts_with(['.', '/']) || name.is_empty();
    (!is_path).then(|| name.split('.').next().unwrap_or(name))
}

fn signal(number: i32) -> String {
    let name = match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        ABORT => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        FAULT => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return format!("signal {number}"),
    };
    format!("signal {number} ({name})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_sandbox_has_to_do_with_it_is_said() {
        let limits = Limits { processes: 64, ..Limits::default() };
        let allowed = Allowed { limits, language: Some(Language::Python), ..Allowed::default() };
        let table = [
            ("ModuleNotFoundError: No module named 'numpy.linalg'", "package `numpy`"),
            ("Error: Cannot find module 'left-pad'\nRequire stack:", "package `left-pad`"),
            ("Error [ERR_MODULE_NOT_FOUND]: Cannot find package '@a/b' imported from x", "package `@a/b`"),
            ("LoadError: cannot load such file -- nokogiri", "package `nokogiri`"),
            ("gaierror: [Errno -3] Temporary failure in name resolution", "no network"),
            ("TypeError: fetch failed\ncaused by Error: getaddrinfo EAI_AGAIN example.com", "no network"),
            ("OSError: [Errno 38] Function not implemented", "system call"),
            ("gaierror: [Errno -2] Name or service not known", "no network"),
            ("TypeError: fetch failed", "no network"),
            ("RuntimeError: can't start new thread", "64 processes"),
            ("OSError: [Errno 30] Read-only file system: 'x'", "`limits.disk_mb` gives"),
            ("Error: EROFS: read-only file system, open 'x'", "`limits.disk_mb` gives"),
            ("FileNotFoundError: [Errno 2] No such file or directory: 'git'", "if `git` is a program"),
            ("Error: spawn git ENOENT", "no other programs"),
            ("Error: spawnSync git ENOENT", "no other programs"),
            ("Errno::ENOENT: No such file or directory - git", "no other programs"),
        ];
        for (said, advice) in table {
            let message = with_advice(said.to_owned(), allowed);
            assert!(message.starts_with(said) && message.contains(advice), "{message}");
        }
        let plain = [
            "ValueError: no",
            "Error: Cannot find module './dep'",
            "LoadError: cannot load such file -- ./x",
            "FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'",
            "Errno::ENOENT: No such file or directory @ rb_sysopen - data",
        ];
        for said in plain {
            assert_eq!(with_advice(said.to_owned(), allowed), said);
        }
    }

    #[test]
    fn what_can_be_done_depends_on_the_language_and_the_limits() {
        let said = |said: &str, allowed| with_advice(said.to_owned(), allowed);
        for language in Language::ALL.into_iter().filter(|language| !language.has_packages()) {
            let allowed = Allowed { language: Some(language), ..Allowed::default() };
            let message = said("Cannot find module 'a'", allowed);
            assert!(message.contains("submissions can") && !message.contains("in `packages`"), "{message}");
        }
        let project = Allowed::default();
        assert_eq!(said("No module named 'a'", project), "No module named 'a'");
        assert!(said("Read-only file system", project).contains("the project and `/tmp`"));
        let limits = Limits { disk_mb: 1, ..Limits::default() };
        let disk = Allowed { limits, language: Some(Language::Python), ..project };
        assert!(said("Read-only file system", disk).ends_with("only `/tmp` can be written"));
        let own = Allowed { own_timeout: true, timeout: Duration::from_millis(700), ..project };
        let message = unanswered(&End::Timeout, own);
        assert!(message.ends_with("700 ms (`timeout_ms` of this test)"), "{message}");
    }
}
