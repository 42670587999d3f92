//! A log as a folder of files, in the layout of C2SP tlog-tiles: any web server can serve it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use proofmark_receipt::Sha256Digest;
use proofmark_tlog::{CHECKPOINT_PATH, LogFiles, MAX_NOTE_BYTES, TileContent, TileId, TilePath, Tiles};

use crate::copy::{CopiedFile, CopyPlace};

/// Where files are until the log is known to be the one that was signed.
const STAGED: &str = ".new";

/// The largest tile or bundle, in bytes.
pub(crate) const MAX_FILE: u64 = 256 * 34;

/// A folder that holds a log, or becomes one.
#[derive(Clone, Debug)]
pub struct LogFolder {
    folder: PathBuf,
}

impl LogFolder {
    /// The log in this folder.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// The signed checkpoint; none in a folder without one.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn checkpoint(&self) -> io::Result<Option<Vec<u8>>> {
        read(&self.folder.join(CHECKPOINT_PATH), MAX_NOTE_BYTES as u64)
    }

    /// Writes a tile or a bundle beside its place, so that it is on disk afterwards. Nobody reads it there.
    pub(crate) fn stage(&self, path: &TilePath, bytes: &[u8]) -> io::Result<()> {
        self.put(&format!("{STAGED}/{path}"), bytes)
    }

    /// Moves what was staged to its place.
    pub(crate) fn unstage(&self, path: &TilePath) -> io::Result<()> {
        let to = self.folder.join(path.to_string());
        let parent = to.parent().unwrap_or(&self.folder);
        DirBuilder::new().recursive(true).mode(0o755).create(parent)?;
        fs::rename(self.folder.join(STAGED).join(path.to_string()), &to)?;
        File::open(parent)?.sync_all()
    }

    /// Takes away what was staged and is not moved.
    pub(crate) fn clear_stage(&self) -> io::Result<()> {
        match fs::remove_dir_all(self.folder.join(STAGED)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Excludes other mirrors of this folder, until the result is dropped.
    pub(crate) fn lock(&self) -> io::Result<File> {
        DirBuilder::new().recursive(true).mode(0o755).create(&self.folder)?;
        let lock = File::open(&self.folder)?;
        lock.try_lock().map_err(|_| io::Error::other("another mirror writes to this folder"))?;
        Ok(lock)
    }

    /// Writes the checkpoint, once all that it covers is on disk.
    pub(crate) fn publish(&self, note: &[u8]) -> io::Result<()> {
        self.put(CHECKPOINT_PATH, note)
    }

    /// Keeps a checkpoint that does not continue the one that is here, as evidence; where it is kept.
    pub(crate) fn keep_other(&self, note: &str) -> io::Result<PathBuf> {
        let name = other_name(note);
        self.put(&name, note.as_bytes())?;
        Ok(self.folder.join(name))
    }

    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.folder.join(name);
        let parent = path.parent().unwrap_or(&self.folder);
        DirBuilder::new().recursive(true).mode(0o755).create(parent)?;
        let draft = path.with_extension(format!("{}.new", std::process::id()));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, &path)?;
        File::open(parent)?.sync_all()
    }

    /// The widest file of a tile or a bundle that is at least this wide: a narrower one is its beginning.
    fn widest(&self, content: TileContent, width: usize) -> io::Result<Option<Vec<u8>>> {
        for width in width..=256 {
            let Ok(width) = u16::try_from(width) else { break };
            let path = self.folder.join(TilePath { content, width }.to_string());
            if let Some(bytes) = read(&path, MAX_FILE)? {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }
}

/// The name of the file that keeps a checkpoint as evidence, beside the one that it does not continue. It has the digest of what was signed, so one
/// that is shown again, with whatever signature lines, takes no more room.
#[must_use]
pub fn other_name(note: &str) -> String {
    let (text, _) = note.split_once("\n\n").unwrap_or((note, ""));
    format!("other-{}", Sha256Digest::of(text.as_bytes()).bare_hex())
}

impl Tiles for LogFolder {
    type Error = io::Error;

    fn tile(&self, id: TileId, width: usize) -> io::Result<Option<Vec<u8>>> {
        self.widest(TileContent::Tile(id), width)
    }
}

impl LogFiles for LogFolder {
    fn bundle(&self, index: u64, width: usize) -> io::Result<Option<Vec<u8>>> {
        self.widest(TileContent::Entries(index), width)
    }
}

impl CopyPlace for LogFolder {
    fn name(&self) -> String {
        self.folder.display().to_string()
    }

    fn read_checkpoint(&self) -> Result<Option<Vec<u8>>, String> {
        self.checkpoint().map_err(|error| error.to_string())
    }

    fn add(&self, files: &[CopiedFile]) -> Result<(), String> {
        let add = |CopiedFile { path, bytes }: &CopiedFile| match read(&self.folder.join(path.to_string()), MAX_FILE)? {
            Some(held) if held == *bytes => Ok(()),
            Some(_) => Err(io::Error::other("another file of this name is there")),
            None => self.stage(path, bytes).and_then(|()| self.unstage(path)),
        };
        let _locked = self.lock().map_err(|error| error.to_string())?;
        // What a process left that was killed.
        self.clear_stage().map_err(|error| error.to_string())?;
        files.iter().try_for_each(|file| add(file).map_err(|error| format!("{}: {error}", file.path)))
    }

    fn replace_checkpoint(&self, before: Option<&[u8]>, note: &[u8]) -> Result<bool, String> {
        let replace = || {
            let _locked = self.lock()?;
            if self.checkpoint()?.as_deref() != before {
                return Ok(false);
            }
            self.publish(note).map(|()| true)
        };
        replace().map_err(|error: io::Error| error.to_string())
    }
}

fn read(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    // To open a pipe waits for somebody who writes to it.
    match fs::metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(io::Error::other(format!("`{}` is not a file", path.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    let file = File::open(path)?;
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::other(format!("it is larger than {limit} bytes")));
    }
    Ok(Some(bytes))
}
