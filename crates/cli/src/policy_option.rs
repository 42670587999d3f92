//! The action policy of a command that a person starts: the option, else a variable, else the project's file.
//!
//! `guard`, `hook`, `gate` and `mcp` do not use this module: they run beside an agent, in a folder that it can write to and with
//! variables that it can set. If they looked for a policy there, the agent would choose what it may do. Their option is required,
//! or without it they decide nothing.

use std::path::{Path, PathBuf};

use clap::Args;
use proofmark_verifier::CONFIG_FILE;

use crate::config::Config;
use crate::error::with_help;
use crate::out;
use crate::paint::printable;
use crate::project;

/// The variable that names the policy.
const VARIABLE: &str = "PROOFMARK_POLICY";

/// The action policy.
#[derive(Args)]
pub(crate) struct PolicyOption {
    /// The action policy [default: $PROOFMARK_POLICY, else `policy` in the proofmark.yaml of the current folder]
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
}

impl PolicyOption {
    /// The file of the policy. It is an error if there is none.
    pub(crate) fn file(&self, config: &Config) -> anyhow::Result<PathBuf> {
        required(self.policy.clone(), "--policy FILE", config)
    }
}

/// The file given, or else that of the environment or the project. `option` is how it is given.
pub(crate) fn required(given: Option<PathBuf>, option: &str, config: &Config) -> anyhow::Result<PathBuf> {
    named(given, config)?.ok_or_else(|| {
        with_help(
            "find the action policy: none is named",
            format!("name it with `{option}`, with {VARIABLE}, or as `policy` in {CONFIG_FILE}"),
        )
    })
}

/// As [`required`]. A policy that is named and cannot be found is an error of the command that reads it, never no policy.
pub(crate) fn named(given: Option<PathBuf>, config: &Config) -> anyhow::Result<Option<PathBuf>> {
    if given.is_some() {
        return Ok(given);
    }
    let (path, from) = match &config.policy {
        Some(path) => (path.clone(), VARIABLE),
        None => match project::settings_of(Path::new("."), "name the policy with an option")?
            .and_then(|settings| settings.policy)
        {
            Some(path) => (PathBuf::from(path), CONFIG_FILE),
            None => return Ok(None),
        },
    };
    // Who did not name the policy sees which one decides.
    out::announce(format_args!("action policy: {}, by {from}", printable(&path.display().to_string())));
    Ok(Some(path))
}
