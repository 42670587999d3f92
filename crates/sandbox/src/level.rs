//! How strong the isolation of a host is.

use std::fmt;
use std::str::FromStr;

/// The isolation a host can give, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Root prepares the file tree; submissions run under an unprivileged uid in
    /// namespaces of their own.
    A,
    /// Unprivileged user namespaces: the same isolation, made without any privilege.
    B,
    /// No namespaces: Landlock, system-call filter, resource limits and an init that
    /// adopts and kills every descendant.
    C,
}

impl Level {
    /// Every level, strongest first.
    pub const ALL: [Level; 3] = [Level::A, Level::B, Level::C];

    /// The letter by which users name the level.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::A => "A",
            Level::B => "B",
            Level::C => "C",
        }
    }

    pub(crate) fn has_namespaces(self) -> bool {
        match self {
            Level::A | Level::B => true,
            Level::C => false,
        }
    }

    /// What ends a cell: its first process dies and the kernel ends the rest, or
    /// the init is signalled to.
    pub(crate) fn kill_signal(self) -> i32 {
        if self.has_namespaces() { libc::SIGKILL } else { libc::SIGTERM }
    }

    /// The mechanisms in force at this level, as written to `metadata.isolation`.
    pub(crate) fn mechanisms(self, landlock: bool) -> Vec<String> {
        let mut mechanisms = vec![format!("level:{self}")];
        if self.has_namespaces() {
            mechanisms.extend(["user", "mount", "pid", "ipc", "uts", "net"].map(|ns| format!("{ns}-namespace")));
        } else {
            mechanisms.push("keeper".to_owned());
        }
        mechanisms.extend(["seccomp", "rlimits", "no-new-privileges", "no-capabilities"].map(str::to_owned));
        if landlock {
            mechanisms.push("landlock".to_owned());
        }
        mechanisms
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text named no level.
#[derive(Debug, thiserror::Error)]
#[error("read the isolation level `{0}`: it is one of A, B, C")]
pub struct ParseLevelError(String);

impl FromStr for Level {
    type Err = ParseLevelError;

    fn from_str(text: &str) -> Result<Self, ParseLevelError> {
        match text {
            "A" | "a" => Ok(Level::A),
            "B" | "b" => Ok(Level::B),
            "C" | "c" => Ok(Level::C),
            _ => Err(ParseLevelError(text.to_owned())),
        }
    }
}
