//! What a guard reads again while it runs: its policy, and whom it trusts.
//!
//! A file that cannot be used changes nothing: what was in force stays, so no mistake in it can open what it closed.

use std::path::{Path, PathBuf};

use proofmark_boundary::ActionPolicy;
use proofmark_decider::{Decider, Guard};
use proofmark_keys::{Keyring, KnownSigners, TrustStore, TrustedSigners};
use proofmark_verifier::{FileWatch, Look, SETTLING};

use crate::config::Config;
use crate::document;
use crate::error;
use crate::options::Trusting;
use crate::out;
use crate::paint::printable;

/// What is told of what has changed.
pub(super) trait Renewed {
    /// Decides by this policy from here on; whether it is another one than before.
    fn set_policy(&self, policy: ActionPolicy) -> bool;
    /// Trusts these signers from here on, and nobody else.
    fn set_trusted(&self, trusted: TrustedSigners);
}

/// Why a policy that has changed is not in force.
fn not_in_force(look: Look) -> String {
    let seconds = SETTLING.as_secs();
    let why = match look {
        Look::CutOff => "the policy has lost its end, as if it was interrupted while it was written".to_owned(),
        _ => format!("the policy is being written, and counts once it has stayed the same for {seconds} s"),
    };
    format!("{why}; the policy before it stays in force")
}

impl Renewed for Guard {
    fn set_policy(&self, policy: ActionPolicy) -> bool {
        self.set_policy(policy)
    }

    fn set_trusted(&self, trusted: TrustedSigners) {
        self.set_trusted(trusted);
    }
}

impl Renewed for Decider {
    fn set_policy(&self, policy: ActionPolicy) -> bool {
        let is_new = self.policy().is_none_or(|before| before.hash() != policy.hash());
        self.set_policy(policy);
        is_new
    }

    fn set_trusted(&self, trusted: TrustedSigners) {
        self.set_trusted(trusted);
    }
}

/// The files of a guard that may change.
pub(super) struct Reload {
    policy: (PathBuf, FileWatch),
    keys: (PathBuf, FileWatch),
    trusted: (PathBuf, FileWatch),
    home: PathBuf,
    trusting: Trusting,
}

impl Reload {
    pub(super) fn new(policy: PathBuf, trusting: Trusting, config: &Config) -> Self {
        Self {
            policy: (policy, FileWatch::default()),
            // A new key changes the folder.
            keys: (Keyring::new(&config.home).folder().to_owned(), FileWatch::default()),
            trusted: (TrustStore::new(&config.home).path(), FileWatch::default()),
            home: config.home.clone(),
            trusting,
        }
    }

    /// Looks at the files, and takes over what has changed.
    pub(super) fn round(&mut self, guard: &impl Renewed) {
        let (path, watch) = &mut self.policy;
        // Standard input is the client's.
        if path.as_path() != Path::new("-") {
            match watch.round(path, false) {
                (Look::Read, _) => self.reload_policy(guard),
                (look, true) => out::note(format_args!("proofmark guard: {}", not_in_force(look))),
                (_, false) => {}
            }
        }
        let looks = [&mut self.keys, &mut self.trusted].map(|(path, watch)| watch.round(path, false).0);
        if looks.contains(&Look::Read) {
            self.reload_trusted(guard);
        }
    }

    fn reload_policy(&self, guard: &impl Renewed) {
        let path = &self.policy.0;
        // To open a pipe waits for somebody who writes to it.
        let policy = match std::fs::metadata(path) {
            Ok(found) if !found.is_file() => {
                Err(anyhow::anyhow!("read `{}`: it is not a regular file", path.display()))
            }
            Ok(_) | Err(_) => document::action_policy(path),
        };
        match policy {
            Ok(policy) => {
                if guard.set_policy(policy) {
                    out::note("proofmark guard: the policy has changed; it is in force from here on");
                }
            }
            Err(error) => out::note(format_args!(
                "proofmark guard: failed to {}; the policy before it stays in force",
                printable(&error::message(&error))
            )),
        }
    }

    fn reload_trusted(&self, guard: &impl Renewed) {
        let known = KnownSigners::load(&self.home).map_err(anyhow::Error::from);
        match known.and_then(|known| self.trusting.among(&known)) {
            Ok(trusted) => guard.set_trusted(trusted),
            Err(error) => out::note(format_args!(
                "proofmark guard: failed to {}; the signers trusted before stay trusted",
                printable(&error::message(&error))
            )),
        }
    }
}
