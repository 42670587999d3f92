//! Files that a server reads again while it runs: the policies, the API keys, the rules on tokens, and the keys of signers.
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
use proofmark_decider::PolicyPlace;
use proofmark_evidence::DatedKey;
use proofmark_receipt::Sha256Digest;
use proofmark_verifier::{FileWatch, Look, SETTLING};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{debug, error, info, warn};

use crate::keys::ApiKeys;
use crate::oidc::ClaimMap;
use crate::services::{Services, Signers};

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

/// What says whom a server trusts.
pub struct SignersSource {
    /// What has changed when it says something else: files, and folders of files.
    pub paths: Vec<PathBuf>,
    pub read: Box<dyn Fn() -> Result<Signers, UnreadableError> + Send>,
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
#[derive(Default)]
pub struct Files {
    pub action_policies: Vec<(PolicyPlace, Source<ActionPolicy>)>,
    pub workflow_policy: Option<Source<WorkflowPolicy>>,
    pub api_keys: Option<Source<ApiKeys>>,
    pub claim_map: Option<Source<ClaimMap>>,
    pub signers: Option<SignersSource>,
}

/// The files whose last version is not in force: it could not be read, or is not read yet.
#[derive(Debug, Default)]
pub struct Stale {
    names: Mutex<BTreeSet<String>>,
}

impl Stale {
    pub(crate) fn names(&self) -> Vec<String> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn set(&self, name: &str, stale: bool) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if stale {
            names.insert(name.to_owned());
        } else {
            names.remove(name);
        }
        metrics::gauge!("proofmark_stale_files", "file" => name.to_owned()).set(if stale { 1.0 } else { 0.0 });
    }
}

/// What was put in force, in place of what.
pub(crate) struct Change {
    old: Option<Sha256Digest>,
    new: Sha256Digest,
    warnings: Vec<String>,
}

/// One file, or several that say one thing; and what is done with what they say.
pub struct Watched {
    name: String,
    files: Vec<(PathBuf, FileWatch)>,
    /// Whether one of them has changed since they were read.
    is_due: bool,
    replace: Box<dyn FnMut() -> Result<Change, UnreadableError> + Send>,
}

impl Watched {
    pub(crate) fn new(
        name: impl Into<String>,
        paths: impl IntoIterator<Item = PathBuf>,
        replace: impl FnMut() -> Result<Change, UnreadableError> + Send + 'static,
    ) -> Self {
        let (name, files) = (name.into(), paths.into_iter().map(|path| (path, FileWatch::default())).collect());
        metrics::gauge!("proofmark_stale_files", "file" => name.clone()).set(0.0);
        Self { name, files, is_due: false, replace: Box::new(replace) }
    }

    fn round(&mut self, asked: bool, stale: &Stale) {
        let mut waits = false;
        for (path, watch) in &mut self.files {
            match watch.round(path, asked) {
                (Look::Read, _) => self.is_due = true,
                (Look::Unchanged, _) => {}
                (look @ (Look::Unsettled | Look::CutOff), is_new) => {
                    waits = true;
                    if is_new {
                        log_waiting(&self.name, path, look);
                    }
                }
            }
        }
        if waits {
            // The files are read together, so the others wait for one that may be half written.
            stale.set(&self.name, true);
        } else if std::mem::take(&mut self.is_due) {
            self.reload(asked, stale);
        }
    }

    fn reload(&mut self, asked: bool, stale: &Stale) {
        let file = self.name.as_str();
        let paths: Vec<_> = self.files.iter().map(|(path, _)| path.to_string_lossy()).collect();
        let path = &*paths.join(", ");
        // To open a pipe waits for somebody who writes to it, and all files and SIGHUP would wait with it.
        let is_pipe = |path: &Path| std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
        let replaced = match self.files.iter().find(|(path, _)| is_pipe(path)) {
            Some((path, _)) => Err(UnreadableError {
                message: format!("read `{}`: it is not a regular file", path.display()),
                help: None,
            }),
            None => (self.replace)(),
        };
        stale.set(file, replaced.is_err());
        let result = if replaced.is_ok() { "ok" } else { "failed" };
        metrics::counter!("proofmark_reloads_total", "file" => file.to_owned(), "result" => result).increment(1);
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

/// Says that a file has changed and is not in force.
fn log_waiting(file: &str, path: &Path, look: Look) {
    let path = &*path.to_string_lossy();
    if look == Look::CutOff {
        let help = "write the whole file beside it, and rename it";
        error!(file, path, help, "the file has lost its end where it stands; what was in force before stays in force");
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

/// Logs what is suspicious about a file.
pub fn log_warnings(file: &str, warnings: &[String]) {
    // A long policy may have very many, and the log is read by people.
    for warning in warnings.iter().take(MAX_WARNINGS) {
        warn!(file, warning = warning.as_str(), "the file has a finding; `proofmark lint` shows it");
    }
}

/// What the log and the figures call the file of the policy in this place.
#[must_use]
pub fn policy_file_name(place: &PolicyPlace) -> String {
    if *place == PolicyPlace::default_of_all() { "action_policy".to_owned() } else { format!("action_policy {place}") }
}

/// The policies and signers of these files, whose content is put in force in `services`.
pub(crate) fn of_services(files: Files, services: &Arc<Services>) -> Vec<Watched> {
    let action = files.action_policies.into_iter().map(|(place, source)| {
        let services = Arc::clone(services);
        Watched::new(policy_file_name(&place), [source.path.clone()], move || {
            let Loaded { value, warnings } = (source.read)(&source.path)?;
            let new = value.hash();
            let old = services.decider.put_policy(place.clone(), value).map(|policy| policy.hash());
            Ok(Change { old, new, warnings })
        })
    });
    let signers = files.signers.map(|SignersSource { paths, read }| {
        let services = Arc::clone(services);
        Watched::new("signers", paths, move || {
            let (signers, old) = (read()?, signers_fingerprint(&services));
            services.set_signers(signers);
            Ok(Change { old: Some(old), new: signers_fingerprint(&services), warnings: Vec::new() })
        })
    });
    let workflow = files.workflow_policy.map(|source| {
        let services = Arc::clone(services);
        Watched::new("workflow_policy", [source.path.clone()], move || {
            let Loaded { value, warnings } = (source.read)(&source.path)?;
            let digest = |policy: &WorkflowPolicy| Sha256Digest::of(policy.document.to_text().as_bytes());
            let new = digest(&value);
            let old = services.set_workflow_policy(value).as_deref().map(digest);
            Ok(Change { old, new, warnings })
        })
    });
    action.chain(workflow).chain(signers).collect()
}

/// Tells apart whom a server trusts.
fn signers_fingerprint(services: &Services) -> Sha256Digest {
    let (trusted, workers) = (services.decider.trusted(), services.worker_keys());
    let dated = |key: &DatedKey| format!("{} {:?}\n", key.signer, key.until);
    let servers = trusted.servers().iter().map(|key| format!("server {}", dated(key)));
    let workers = workers.iter().map(|key| format!("worker {}", dated(key)));
    let trusted = trusted.signers().keys().iter().map(|trusted| format!("{} {}", trusted.may, dated(&trusted.key)));
    let all: BTreeSet<String> = trusted.chain(servers).chain(workers).collect();
    Sha256Digest::of(all.into_iter().collect::<String>().as_bytes())
}

/// The file of API keys. `replace` puts keys in force and returns those before.
pub fn watched_keys(source: Source<ApiKeys>, replace: impl Fn(ApiKeys) -> Arc<ApiKeys> + Send + 'static) -> Watched {
    Watched::new("api_keys", [source.path.clone()], move || {
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

/// The file of rules on tokens. `replace` puts rules in force and returns those before.
pub(crate) fn watched_claim_map(
    source: Source<ClaimMap>,
    replace: impl Fn(ClaimMap) -> Arc<ClaimMap> + Send + 'static,
) -> Watched {
    Watched::new("oidc_map", [source.path.clone()], move || {
        let Loaded { value, warnings } = (source.read)(&source.path)?;
        let new = value.fingerprint();
        Ok(Change { old: Some(replace(value).fingerprint()), new, warnings })
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
        let mut file = Watched::new("policy", [path.clone()], move || {
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
        assert_eq!(rounds(1, false), (0, Vec::<String>::new()), "it may be in the middle of being written");
        assert_eq!(rounds(3, false), (1, vec![]), "it may have changed since the start");
        std::fs::write(&path, "half").unwrap();
        assert_eq!(rounds(3, false), (1, vec!["policy".to_owned()]), "it may be in the middle of being written");
        replace("none");
        assert_eq!(rounds(1, false), (1, vec!["policy".to_owned()]));
        assert_eq!(rounds(3, false), (2, vec!["policy".to_owned()]), "a bad file is read once");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(rounds(3, false), (3, vec!["policy".to_owned()]));
        replace("2");
        assert_eq!(rounds(3, false), (4, vec![]));
        assert_eq!(rounds(1, true), (5, vec![]), "it is read when somebody asks");
        std::fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert_eq!(rounds(3, true), (5, vec!["policy".to_owned()]), "a pipe is not waited for");
    }
}
