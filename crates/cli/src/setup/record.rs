//! What a set-up has made, so that it can be taken back: a file that root keeps.

use std::fs;
use std::os::unix::fs::MetadataExt;

use anyhow::Context;
use proofmark_receipt::{Json, Object, object};
use proofmark_server::{is_own, replace_file};

use super::layout::{RECORD, Root, metadata};
use crate::error::with_help;
use crate::input;

/// The longest record, in bytes.
const MAX_RECORD: u64 = 1 << 20;
/// The form of the record.
const VERSION: u64 = 1;
/// Root writes it, and everybody may read what is there to see.
const MODE: u32 = 0o644;

/// Something that a set-up has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Made {
    Account { name: String, is_agent: bool },
    Folder(String),
    File { path: String, digest: String },
    Key,
    Service,
}

impl Made {
    /// Whether it is the folder or the file at this path.
    pub(super) fn is_path(&self, wanted: &str) -> bool {
        matches!(self, Self::Folder(path) | Self::File { path, .. } if path == wanted)
    }

    /// The digest of the file at this path, when it was made.
    pub(super) fn digest_of(&self, wanted: &str) -> Option<&str> {
        match self {
            Self::File { path, digest } if path == wanted => Some(digest),
            _ => None,
        }
    }

    /// Whether both are about the same part.
    fn is_about_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Account { name, .. }, Self::Account { name: other, .. }) => name == other,
            (Self::Folder(path), Self::Folder(other)) => path == other,
            (Self::File { path, .. }, Self::File { path: other, .. }) => path == other,
            (Self::Key, Self::Key) | (Self::Service, Self::Service) => true,
            _ => false,
        }
    }

    fn to_object(&self) -> Object {
        match self {
            Self::Account { name, is_agent } => object! { "account": name.as_str(), "is_agent": *is_agent },
            Self::Folder(path) => object! { "folder": path.as_str() },
            Self::File { path, digest } => object! { "file": path.as_str(), "digest": digest.as_str() },
            Self::Key => object! { "key": true },
            Self::Service => object! { "service": true },
        }
    }

    fn read(object: &Object) -> Option<Self> {
        let text = |name: &str| Some(object.get(name)?.as_str()?.to_owned());
        let is = |name: &str| object.get(name).and_then(Json::as_bool) == Some(true);
        if let Some(name) = text("account") {
            return Some(Self::Account { name, is_agent: is("is_agent") });
        }
        if let Some(path) = text("folder") {
            return Some(Self::Folder(path));
        }
        if let Some(path) = text("file") {
            return Some(Self::File { path, digest: text("digest")? });
        }
        is("key").then_some(Self::Key).or_else(|| is("service").then_some(Self::Service))
    }
}

/// What was made and is recorded, in the order in which it was made.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    pub(super) made: Vec<Made>,
}

impl Record {
    /// The record of a host; none where nothing was set up.
    ///
    /// # Errors
    /// When it cannot be read, or an account other than root could have written it: what it names is removed by root.
    pub(super) fn read(root: &Root) -> anyhow::Result<Option<Self>> {
        let path = root.at(RECORD);
        let Some(about) = metadata(&path)? else { return Ok(None) };
        let is_roots = about.is_file() && about.uid() == 0 && about.mode() & 0o022 == 0;
        // The folders above an image are its builder's.
        if !is_roots || (root.is_this_host() && !is_own(&path, 0)) {
            return Err(with_help(
                format!("use the record `{}`: another account than root could have written it", path.display()),
                "look at what it names, and remove what was set up by hand",
            ));
        }
        let bytes = input::read_limited(&path, MAX_RECORD)?;
        let unreadable = || format!("read the record `{}`: it is not one that this version wrote", path.display());
        let document = Json::parse(&bytes).with_context(unreadable)?;
        let made = document.as_object().filter(|record| {
            record.get("version").and_then(Json::as_number).and_then(|number| number.as_u64()) == Some(VERSION)
        });
        let made = made.and_then(|record| record.get("made")?.as_array());
        let made =
            made.and_then(|made| made.iter().map(|one| Made::read(one.as_object()?)).collect::<Option<Vec<_>>>());
        made.map(|made| Some(Self { made })).with_context(unreadable)
    }

    /// Adds what was made. What was made anew takes the place of what was there.
    pub(super) fn add(&mut self, made: Made) {
        match self.made.iter_mut().find(|known| known.is_about_same(&made)) {
            Some(known) => *known = made,
            None => self.made.push(made),
        }
    }

    /// Writes the record; the folder is there.
    pub(super) fn write(&self, root: &Root) -> anyhow::Result<()> {
        let path = root.to_write(RECORD)?;
        let made: Vec<Json> = self.made.iter().map(|made| Json::from(made.to_object())).collect();
        let text = format!("{}\n", Json::from(object! { "version": VERSION, "made": made }).to_text());
        replace_file(&path, &text, MODE).with_context(|| format!("write the record `{}`", path.display()))
    }

    /// Removes the record.
    pub(super) fn remove(root: &Root) -> anyhow::Result<()> {
        let path = root.to_write(RECORD)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("remove the record `{}`", path.display()))
            }
            _ => Ok(()),
        }
    }
}
