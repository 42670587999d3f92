//! Takes back what a set-up has made, and nothing else.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context;
use proofmark_receipt::Sha256Digest;

use super::layout::{ACCOUNT, DATA, HOME, Root, SERVICE, SETTINGS, SOCKET, SOCKET_FOLDER, metadata};
use super::part::{remove_account, run, systemctl};
use super::record::{Made, Record};
use crate::error;
use crate::input;
use crate::shell_words;

/// The longest file that is compared, in bytes.
const MAX_FILE: u64 = 16 << 20;

/// What became of something that was made.
#[derive(Clone, Debug)]
pub(super) struct Undone {
    pub(super) what: String,
    /// [`REMOVED`], `kept`, `gone` or [`FAILED`]; with `--dry-run`, what would be done.
    pub(super) state: &'static str,
    /// Why it is kept, and what to do.
    pub(super) why: Option<String>,
    /// What stays recorded, because it is still there.
    pub(super) left: Option<Made>,
}

/// How much is taken back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// The key, the store and the accounts with them.
    pub(super) purge: bool,
    /// A set-up that has failed takes back what it has just made: nothing has been signed by the key.
    pub(super) is_fresh: bool,
    pub(super) dry_run: bool,
}

/// Takes back what was made, the last first. What cannot be taken back is told and stays recorded.
pub(super) fn undo(made: &[Made], root: &Root, extent: Extent) -> Vec<Undone> {
    let mut undone = Vec::new();
    for one in made.iter().rev() {
        let is_left = undone.iter().any(|done: &Undone| done.left.is_some());
        undone.push(match undo_one(one, made, is_left, root, extent) {
            Ok((state, why)) => {
                let left = (state == KEPT).then(|| one.clone());
                Undone { what: name(one), state, why, left }
            }
            Err(failed) => Undone {
                what: name(one),
                state: FAILED,
                why: Some(format!("failed to {}", error::message(&failed))),
                left: Some(one.clone()),
            },
        });
    }
    undone
}

fn name(made: &Made) -> String {
    match made {
        Made::Account { name, .. } => format!("account {name}"),
        Made::Folder(path) => format!("folder {path}"),
        Made::File { path, .. } => format!("file {path}"),
        Made::Key => format!("key and store in {DATA}"),
        Made::Service => format!("service {SERVICE}"),
    }
}

/// The state of what could not be taken back.
pub(super) const FAILED: &str = "failed";
/// The state of what was taken back; with `--dry-run`, of what would be.
pub(super) const REMOVED: &str = "removed";
const KEPT: &str = "kept";

type State = (&'static str, Option<String>);

const TAKEN_BACK: State = (REMOVED, None);
const GONE: State = ("gone", None);

fn undo_one(made: &Made, all: &[Made], is_left: bool, root: &Root, extent: Extent) -> anyhow::Result<State> {
    let takes_data = extent.purge || extent.is_fresh;
    match made {
        Made::Service => {
            if !extent.dry_run {
                run(&systemctl(&["disable", "--now", SERVICE]))?;
            }
            Ok(TAKEN_BACK)
        }
        Made::Key if !takes_data => Ok(kept(
            "receipts are checked by this key, and the store has the decisions: `--purge` removes both".to_owned(),
        )),
        Made::Key => {
            let home = root.to_write(HOME)?;
            if metadata(&home)?.is_none() {
                return Ok(GONE);
            }
            if !extent.dry_run {
                clear(&home)?;
            }
            Ok(TAKEN_BACK)
        }
        Made::File { path, digest } => {
            let whole = root.to_write(path)?;
            if metadata(&whole)?.is_none() {
                return Ok(GONE);
            }
            if Sha256Digest::of(&input::read_limited(&whole, MAX_FILE)?).to_string() != *digest {
                return Ok(kept("it was changed since".to_owned()));
            }
            if !extent.dry_run {
                fs::remove_file(&whole).with_context(|| format!("remove `{}`", whole.display()))?;
                if path.ends_with(".service") && root.has_systemd() {
                    run(&systemctl(&["daemon-reload"]))?;
                }
            }
            Ok(TAKEN_BACK)
        }
        Made::Folder(path) if path == SETTINGS && is_left => Ok(kept("it has the record of what is left".to_owned())),
        Made::Folder(path) => undo_folder(path, all, root, extent),
        Made::Account { name, is_agent } => {
            let owns_files = metadata(&root.at(HOME))?.is_some() && name == ACCOUNT;
            // The number of an account that is removed may be given to another one, which would own these files.
            if !takes_data && (*is_agent || owns_files) {
                let folder = if *is_agent { "its home folder" } else { HOME };
                return Ok(kept(format!(
                    "it owns {folder}: an account that is made later could get its number, and the files with it; `--purge` removes both"
                )));
            }
            if !extent.dry_run {
                run(&remove_account(name, *is_agent, root))?;
            }
            Ok(TAKEN_BACK)
        }
    }
}

fn undo_folder(path: &str, all: &[Made], root: &Root, extent: Extent) -> anyhow::Result<State> {
    let whole = root.to_write(path)?;
    if metadata(&whole)?.is_none() {
        return Ok(GONE);
    }
    let takes_data = extent.purge || extent.is_fresh;
    let has_data = path == HOME && all.contains(&Made::Key);
    if has_data && !takes_data {
        return Ok(kept("it has the key and the store".to_owned()));
    }
    if extent.dry_run {
        return Ok(TAKEN_BACK);
    }
    if path == SOCKET_FOLDER {
        // A server that was killed leaves its socket.
        drop(fs::remove_file(root.at(SOCKET)));
    }
    // The record is in this folder, and goes with it.
    let is_last = path == SETTINGS;
    if is_last {
        Record::remove(root)?;
    }
    match fs::remove_dir(&whole) {
        Ok(()) => Ok(TAKEN_BACK),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(GONE),
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(kept("it has other files".to_owned())),
        Err(error) => Err(error).with_context(|| format!("remove the folder `{}`", whole.display())),
    }
}

fn kept(why: String) -> State {
    (KEPT, Some(why))
}

/// Removes what is in a folder of the account. Links are removed, and not followed.
fn clear(folder: &Path) -> anyhow::Result<()> {
    let context = || format!("remove what is in `{}`", folder.display());
    for entry in fs::read_dir(folder).with_context(context)? {
        let entry = entry.with_context(context)?;
        let is_folder = entry.file_type().with_context(context)?.is_dir();
        let removed = if is_folder { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) };
        removed.with_context(|| format!("remove `{}`", shell_words::quoted(&entry.path().display().to_string())))?;
    }
    Ok(())
}
