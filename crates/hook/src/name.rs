//! The names of hosts.

use std::fmt;
use std::str::FromStr;

use proofmark_receipt::document::shown;
use thiserror::Error;

/// A program that runs agents and asks hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    Claude,
    Codex,
    Gemini,
    Copilot,
    VsCode,
    Cursor,
    OpenCode,
}

/// The text names no host.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("use the host `{}`: it is not known", shown(.0))]
pub struct ParseHostError(String);

impl Host {
    /// All hosts.
    pub const ALL: [Self; 7] =
        [Self::Claude, Self::Codex, Self::Gemini, Self::Copilot, Self::VsCode, Self::Cursor, Self::OpenCode];

    /// `claude`, `codex`, `gemini`, `copilot`, `vscode`, `cursor` or `opencode`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Copilot => "copilot",
            Self::VsCode => "vscode",
            Self::Cursor => "cursor",
            Self::OpenCode => "opencode",
        }
    }

    /// Whether it asks before an agent stops, so that the agent can be held.
    #[must_use]
    pub const fn asks_before_stop(self) -> bool {
        !matches!(self, Self::OpenCode)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Host {
    type Err = ParseHostError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|host| host.as_str() == text).ok_or_else(|| ParseHostError(text.to_owned()))
    }
}
