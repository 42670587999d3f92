//! The packages of a project whose settings say `packages: lock`.

use std::path::Path;

use proofmark_checks::{Checks, Locked, Packages, Request};
use proofmark_sandbox::Host;
use proofmark_verifier::{Issuer, LockFile, LockedEnvironments};

use crate::error::with_help;
use crate::lock_environment::build;

/// The packages that are installed for the lock file of this project, if it asks for that.
pub(super) fn locked(cache: &Path, host: &Host, issuer: &Issuer, request: &Request) -> anyhow::Result<Option<Locked>> {
    let Checks::Command(command) = &request.checks else { return Ok(None) };
    let Packages::Lock(named) = &command.packages else { return Ok(None) };
    if command.language.lock_files().is_empty() {
        let message = format!("install packages from a lock file: this is not done for {}", command.language);
        return Err(with_help(message, "leave `packages` out"));
    }
    let lock = LockFile::find(&command.files, named.as_deref(), Some(command.language))?;
    let environments = LockedEnvironments::of(cache, issuer);
    let (_, locked) = build(&environments, &lock, host, command.runtime.as_deref())?;
    Ok(Some(locked))
}
