//! What is known of a command from its program and its words.

use std::collections::BTreeSet;

use crate::Cause;
use crate::values::Arg;

/// Something that a command starts.
#[derive(Debug)]
pub(crate) enum Start {
    Command {
        args: Vec<Arg>,
        assignments: Vec<(String, Option<String>)>,
    },
    /// In a folder that is not known.
    Elsewhere {
        args: Vec<Arg>,
    },
    /// A text for a shell.
    Text(String),
}

/// What is known of a command from its program and its words.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) starts: Vec<Start>,
    /// How many of the words are its own, where the rest is a command that it starts.
    pub(crate) own: Option<usize>,
    pub(crate) subcommand: Option<String>,
    pub(crate) script: Option<Arg>,
    pub(crate) opaque: BTreeSet<Cause>,
    /// Files that it makes, which its words name in a way of its own.
    pub(crate) made: Vec<Arg>,
    /// The words that are a text, and no file.
    pub(crate) texts: BTreeSet<usize>,
}

impl Told {
    pub(crate) fn opaque(cause: Cause) -> Self {
        Self { opaque: BTreeSet::from([cause]), ..Self::default() }
    }

    pub(crate) fn script(at: &Arg) -> Self {
        Self { script: Some(at.clone()), ..Self::default() }
    }
}

/// Whether a name is one that leads to what a process reads.
pub(crate) fn is_device(name: &str) -> bool {
    name.contains("/dev/") || name.contains("/proc/")
}
