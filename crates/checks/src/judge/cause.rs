//! Why a check has no answer, in words.

use std::time::Duration;

use proofmark_receipt::document::shown;

use crate::job::{CaseOutcome, End, Limits, Outcome};
use crate::language::Language;

/// What a case was allowed.
#[derive(Clone, Copy, Default)]
pub(super) struct Allowed {
    limits: Limits,
    timeout: Duration,
    /// Whether the suite can name packages.
    packages: bool,
}

impl Allowed {
    pub(super) fn of(outcome: &Outcome, case: &CaseOutcome) -> Allowed {
        Allowed { limits: outcome.limits, timeout: case.timeout, packages: false }
    }

    /// The same for a suite in the language.
    pub(super) fn by_language(self, language: Language) -> Allowed {
        Allowed { packages: language.has_packages(), ..self }
    }
}

/// Why there is no answer.
pub(super) fn unanswered(end: &End, allowed: Allowed) -> String {
    let Allowed { limits, timeout, .. } = allowed;
    match end {
        End::Raised { kind, text, .. } => with_advice(told(kind, text), allowed),
        End::Timeout => format!("timeout: no answer within {} ms (`limits.timeout_ms`)", timeout.as_millis()),
        End::TotalTimeout => {
            let total = limits.total_timeout.as_millis();
            format!("timeout: all checks together took {total} ms (`limits.total_timeout_ms`)")
        }
        End::MemoryLimit => format!("memory limit: it needs more than {} MiB (`limits.memory_mb`)", limits.memory_mb),
        End::OutputLimit => {
            format!("output limit: it wrote more than {} bytes (`limits.output_bytes`)", limits.output_bytes)
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
const NO_NETWORK: [&str; 9] = [
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

/// The message with what the sandbox has to do with it.
fn with_advice(said: String, Allowed { limits, packages, .. }: Allowed) -> String {
    let has = |parts: &[&str]| parts.iter().any(|part| said.contains(part));
    let advice = if let Some(name) = missing_package(&said) {
        let remedy = if packages { "; name it in `packages`" } else { "" };
        format!("the package `{}` is not installed here{remedy}", shown(name))
    } else if has(&NO_NETWORK) {
        "the sandbox has no network".to_owned()
    } else if has(&NO_SYSTEM_CALL) {
        "the sandbox does not allow this system call; it has no network".to_owned()
    } else if has(&NO_PROCESS) {
        format!("a check may have {} processes and threads (`limits.processes`)", limits.processes)
    } else {
        return said;
    };
    // Behind several lines it stands on its own.
    let between = if said.contains('\n') { "\n" } else { "; " };
    format!("{said}{between}{advice}")
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
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
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
        let allowed = Allowed { limits, packages: true, ..Allowed::default() };
        let table = [
            ("ModuleNotFoundError: No module named 'numpy.linalg'", "package `numpy`"),
            ("Error: Cannot find module 'left-pad'\nRequire stack:", "package `left-pad`"),
            ("Error [ERR_MODULE_NOT_FOUND]: Cannot find package '@a/b' imported from x", "package `@a/b`"),
            ("LoadError: cannot load such file -- nokogiri", "package `nokogiri`"),
            ("gaierror: [Errno -3] Temporary failure in name resolution", "no network"),
            ("TypeError: fetch failed\ncaused by Error: getaddrinfo EAI_AGAIN example.com", "no network"),
            ("OSError: [Errno 38] Function not implemented", "system call"),
            ("RuntimeError: can't start new thread", "64 processes"),
        ];
        for (said, advice) in table {
            let message = with_advice(said.to_owned(), allowed);
            assert!(message.starts_with(said) && message.contains(advice), "{message}");
        }
        for said in ["ValueError: no", "Error: Cannot find module './dep'", "LoadError: cannot load such file -- ./x"] {
            assert_eq!(with_advice(said.to_owned(), allowed), said);
        }
        let message = with_advice("No module named 'a'".to_owned(), Allowed { packages: false, ..allowed });
        assert!(message.ends_with("the package `a` is not installed here"), "{message}");
    }
}
