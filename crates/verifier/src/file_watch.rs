//! Whether a file has changed since it was read.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Says in rounds when a file is to be read: when it has changed and then stayed the same for one round, so that a file that is
/// being written is not read half.
#[derive(Debug, Default)]
pub struct FileWatch {
    /// What the file was when it was last read. None before: it may have changed since it was read at the start.
    read: Option<Option<Stamp>>,
    /// What it was in the round before.
    seen: Option<Stamp>,
}

/// What tells two versions of a file apart without reading them: its device, its number, its length and its times. The time of
/// its last change cannot be set back by the program that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64, u64),
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// None where there is no file.
    fn of(path: &Path) -> Option<Self> {
        let found = std::fs::metadata(path).ok()?;
        Some(Self {
            file: (found.dev(), found.ino(), found.size()),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

impl FileWatch {
    /// Looks at the file. Whether it is to be read now; also where nothing shows that it changed, if `asked`.
    pub fn round(&mut self, path: &Path, asked: bool) -> bool {
        let now = Stamp::of(path);
        let is_settled = self.seen == now;
        self.seen = now;
        let is_due = asked || (is_settled && self.read != Some(now));
        if is_due {
            // Taken before the file is read: what is written meanwhile is read in a later round.
            self.read = Some(now);
        }
        is_due
    }
}
