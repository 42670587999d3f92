//! Files that a server reads again while it runs: the policies and the API keys.
//!
//! A file is read once another one has taken its place by a rename, or once it has stayed the same for a time after it was
//! written to, so that it is not read half; and at once on SIGHUP. What it says is put in force as a whole. A file that cannot be
//! read, or that is not read yet, changes nothing: what was in force stays, and the log, `/readyz` and `/metrics` say so until the
//! file is read. One that was cut off where it stands is never read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use proofmark_boundary::ActionPolicy;
use proofmark_contract::WorkflowPolicy;
use proofmark_receipt::Sha256Digest;
use proofmark_verifier::{FileWatch, Look, SETTLING};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{debug, error, info, warn};

use crate::keys::ApiKeys;
use crate::services::Services;

/// How often files are looked at.
const ROUND: Duration = Duration::from_millis(500);
/// The most warnings about one file that are logged.
const MAX_WARNINGS: usize = 20;

/// A file, and how it is read.
#[derive(Debug)]
pub struct Source<T> {
    pub path: PathBuf,
    pub read: fn(&Path) -> Result<Loaded<T>, UnreadableError>,
}

/// What a file says.
#[derive(Debug)]
pub struct Loaded<T> {
    pub value: T,
    /// What is suspicious about it, and does not prevent its use.
    pub warnings: Vec<String>,
}

/// Why a file cannot be used, completing "failed to …".
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct UnreadableError {
    pub message: String,
    pub help: Option<String>,
}

/// The files that a server reads again.
#[derive(Debug, Default)]
pub struct Files {
    pub action_policy: Option<Source<ActionPolicy>>,
    pub workflow_policy: Option<Source<WorkflowPolicy>>,
    pub api_keys: Option<Source<ApiKeys>>,
}

/// The files whose last version is not in force: it could not be read, or is not read yet.
#[derive(Debug, Default)]
pub struct Stale {
    names: Mutex<BTreeSet<&'static str>>,
}

impl Stale {
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }

    fn set(&self, name: &'static str, stale: bool) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if stale {
            names.insert(name);
        } else {
            names.remove(name);
        }
        metrics::gauge!("proofmark_stale_files", "file" => name).set(if stale { 1.0 } else { 0.0 });
    }
}

/// What was put in force, in place of what.
pub(crate) struct Change {
    old: Option<Sha256Digest>,
    new: Sha256Digest,
    warnings: Vec<String>,
}

/// One file, and what is done with what it says.
pub struct Watched {
    name: &'static str,
    path: PathBuf,
    replace: Box<dyn FnMut() -> Result<Change, UnreadableError> + Send>,
    watch: FileWatch,
}

impl Watched {
    pub(crate) fn new(
        name: &'static str,
        path: PathBuf,
        replace: impl FnMut() -> Result<Change, UnreadableError> + Send + 'static,
    ) -> Self {
        metrics::gauge!("proofmark_stale_files", "file" => name).set(0.0);
        Self { name, path, replace: Box::new(replace), watch: FileWatch::default() }
    }

    fn round(&mut self, asked: bool, stale: &Stale) {
        match self.watch.round(&self.path, asked) {
            (Look::Read, _) => self.reload(asked, stale),
            (Look::Unchanged, _) => {}
            (look @ (Look::Unsettled | Look::CutOff), is_new) => {
                stale.set(self.name, true);
                if is_new {
                    self.log_waiting(look);
                }
            }
        }
    }

    /// Says that the file has changed and is not in force.
    fn log_waiting(&self, look: Look) {
        let (file, path) = (self.name, &*self.path.to_string_lossy());
        if look == Look::CutOff {
            let help = "write the whole file beside it, and rename it";
            error!(
                file,
                path, help, "the file has lost its end where it stands; what was in force before stays in force"
            );
        } else {
            let seconds = SETTLING.as_secs();
            warn!(
                file,
                path,
                seconds,
                "the file is being written; until it has stayed the same for a time, what was in force before stays in force"
            );
        }
    }

    fn reload(&mut self, asked: bool, stale: &Stale) {
        let (file, path) = (self.name, &*self.path.to_string_lossy());
        let replaced = match std::fs::metadata(&self.path) {
            // To open a pipe waits for somebody who writes to it, and all files and SIGHUP would wait with it.
            Ok(found) if !found.is_file() => {
                Err(UnreadableError { message: format!("read `{path}`: it is not a regular file"), help: None })
            }
            Ok(_) | Err(_) => (self.replace)(),
        };
        stale.set(file, replaced.is_err());
        let result = if replaced.is_ok() { "ok" } else { "failed" };
        metrics::counter!("proofmark_reloads_total", "file" => file, "result" => result).increment(1);
        match replaced {
            Ok(Change { old, new, .. }) if old == Some(new) => {
                if asked {
                    info!(file, path, fingerprint = &*new.to_string(), "the file has not changed")
                } else {
                    debug!(file, path, fingerprint = &*new.to_string(), "the file has not changed")
                }
            }
            Ok(Change { old, new, warnings }) => {
                let (old, new) = (old.map(|old| old.to_string()), new.to_string());
                info!(file, path, old, new = &*new, "read the file again; what it says is in force");
                log_warnings(file, &warnings);
            }
            Err(UnreadableError { message, help }) => {
                let cause = format!("failed to {message}");
                error!(
                    file,
                    path,
                    cause = &*cause,
                    help,
                    "cannot use the file; what was in force before stays in force"
                );
            }
        }
    }
}

/// Logs what is suspicious about a file.
pub fn log_warnings(file: &'static str, warnings: &[String]) {
    // A long policy may have very many, and the log is read by people.
    for warning in warnings.iter().take(MAX_WARNINGS) {
        warn!(file, warning = warning.as_str(), "the file has a finding; `proofmark lint` shows it");
    }
}

/// The policies among these files, whose content is put in force in `services`.
pub(crate) fn policies(files: Files, services: &Arc<Services>) -> Vec<Watched> {
    let action = files.action_policy.map(|source| {
        let services = Arc::clone(services);
        Watched::new("action_policy", source.path.clone(), move || {
            let Loaded { value, warnings } = (source.read)(&source.path)?;
            let old = services.decider.policy().map(|policy| policy.hash());
            let new = value.hash();
            services.decider.set_policy(value);
            Ok(Change { old, new, warnings })
        })
    });
    let workflow = files.workflow_policy.map(|source| {
        let services = Arc::clone(services);
        Watched::new("workflow_policy", source.path.clone(), move || {
            let Loaded { value, warnings } = (source.read)(&source.path)?;
            let digest = |policy: &WorkflowPolicy| Sha256Digest::of(policy.document.to_text().as_bytes());
            let new = digest(&value);
            let old = services.set_workflow_policy(value).as_deref().map(digest);
            Ok(Change { old, new, warnings })
        })
    });
    action.into_iter().chain(workflow).collect()
}

/// The file of API keys. `replace` puts keys in force and returns those before.
pub fn watched_keys(source: Source<ApiKeys>, replace: impl Fn(ApiKeys) -> Arc<ApiKeys> + Send + 'static) -> Watched {
    Watched::new("api_keys", source.path.clone(), move || {
        let Loaded { value, warnings } = (source.read)(&source.path)?;
        let new = value.fingerprint();
        let old = replace(value.clone());
        let ids = |these: &ApiKeys, others: &ApiKeys| these.ids_not_in(others).join(", ");
        let (added, revoked) = (ids(&value, &old), ids(&old, &value));
        if !added.is_empty() || !revoked.is_empty() {
            info!(added, revoked, "the API keys changed");
        }
        Ok(Change { old: Some(old.fingerprint()), new, warnings })
    })
}

/// Looks at the files in rounds, and at once at each SIGHUP where `hangups` is true, for as long as this is polled.
pub async fn watch_files(mut files: Vec<Watched>, stale: Arc<Stale>, hangups: bool) {
    let mut hangup = hangups.then(|| signal(SignalKind::hangup()).ok()).flatten();
    let mut rounds = tokio::time::interval(ROUND);
    loop {
        let asked = tokio::select! {
            _ = rounds.tick() => false,
            () = next(&mut hangup) => true,
        };
        if asked && files.is_empty() {
            info!("SIGHUP: there are no files to read again");
        }
        let stale = Arc::clone(&stale);
        let round = tokio::task::spawn_blocking(move || {
            files.iter_mut().for_each(|file| file.round(asked, &stale));
            files
        });
        match round.await {
            Ok(back) => files = back,
            Err(panicked) => {
                let cause = panicked.to_string();
                error!(cause, "reading a file again panicked; files are not read again until the server is restarted");
                return;
            }
        }
    }
}

async fn next(hangup: &mut Option<Signal>) {
    let received = match hangup {
        Some(signal) => signal.recv().await,
        None => None,
    };
    // Without signals nobody asks, and the rounds go on.
    if received.is_none() {
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_file_is_read_once_it_has_settled_and_a_bad_one_is_named_until_it_is_read() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("policy");
        std::fs::write(&path, "1").unwrap();
        let (reads, stale) = (Arc::new(AtomicUsize::new(0)), Stale::default());
        let (counted, read) = (Arc::clone(&reads), path.clone());
        let mut file = Watched::new("policy", path.clone(), move || {
            counted.fetch_add(1, Ordering::Relaxed);
            let text = std::fs::read_to_string(&read).unwrap_or_default();
            match text.parse::<u64>() {
                Ok(_) => Ok(Change { old: None, new: Sha256Digest::of(text.as_bytes()), warnings: Vec::new() }),
                Err(error) => Err(UnreadableError { message: error.to_string(), help: None }),
            }
        });
        let mut rounds = |number: usize, asked: bool| {
            (0..number).for_each(|_| file.round(asked, &stale));
            (reads.load(Ordering::Relaxed), stale.names())
        };
        let replace = |text: &str| {
            let beside = folder.path().join("beside");
            std::fs::write(&beside, text).unwrap();
            // The clock of a file system has steps, and the rename has to come after the write.
            std::fs::File::open(&beside).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
            std::fs::rename(beside, &path).unwrap();
        };
        assert_eq!(rounds(1, false), (0, vec![]), "it may be in the middle of being written");
        assert_eq!(rounds(3, false), (1, vec![]), "it may have changed since the start");
        std::fs::write(&path, "half").unwrap();
        assert_eq!(rounds(3, false), (1, vec!["policy"]), "it may be in the middle of being written");
        replace("none");
        assert_eq!(rounds(1, false), (1, vec!["policy"]));
        assert_eq!(rounds(3, false), (2, vec!["policy"]), "a bad file is read once");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(rounds(3, false), (3, vec!["policy"]));
        replace("2");
        assert_eq!(rounds(3, false), (4, vec![]));
        assert_eq!(rounds(1, true), (5, vec![]), "it is read when somebody asks");
        std::fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert_eq!(rounds(3, true), (5, vec!["policy"]), "a pipe is not waited for");
    }
}
