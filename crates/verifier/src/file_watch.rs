//! Whether a file has changed since it was read.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a file that was written to has to stay the same before it is read. Nobody can tell from outside whether a program that
/// writes has come to its end.
pub const SETTLING: Duration = Duration::from_secs(2);
/// The longest file that is compared with what it was, in bytes.
const MAX_COMPARED: u64 = 8 << 20;

/// Says in rounds when a file is to be read, so that one that is being written is not read half: once another file has taken its
/// place by a rename, or once it has stayed the same for [`SETTLING`]. A file that was cut off where it stands is never read.
#[derive(Debug, Default)]
pub struct FileWatch {
    /// What the file was when it was last read. None before: it may have changed since it was read at the start.
    read: Option<Option<Stamp>>,
    /// What the file said then. None where it is not known.
    text: Option<Vec<u8>>,
    /// What it was in the round before, and when it was first seen like this.
    seen: Option<(Option<Stamp>, Instant)>,
    /// Whether it was said of what was seen that it is not read.
    is_told: bool,
}

/// What is to be done about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Nothing: it is the file that was read.
    Unchanged,
    /// Nothing yet: it has changed, and may be in the middle of being written.
    Unsettled,
    /// Nothing: it was cut off, so it is what a program leaves that was interrupted while it wrote.
    CutOff,
    /// It is to be read now.
    Read,
}

/// What tells two versions of a file apart without reading them: its device, its number, its length and its times. The time of
/// its last change cannot be set back by the program that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    is_folder: bool,
}

impl Stamp {
    /// None where there is no file.
    fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        Some(Self {
            file: (found.dev(), found.ino()),
            length: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
            is_folder: found.is_dir(),
        })
    }

    /// Whether the last thing that happened to the file was not that it was written to. A rename changes its second time alone,
    /// and a write both.
    fn was_renamed(&self) -> bool {
        self.changed > self.modified
    }
}

impl FileWatch {
    /// Looks at the file. Whether it is to be read now; also where nothing shows that it changed, if `asked`. What has changed and is
    /// not read is told with a second value of true, once.
    pub fn round(&mut self, path: &Path, asked: bool) -> (Look, bool) {
        self.round_at(path, asked, Instant::now())
    }

    fn round_at(&mut self, path: &Path, asked: bool, now: Instant) -> (Look, bool) {
        let stamp = Stamp::of(path);
        let (is_same, since) = match self.seen {
            Some((seen, since)) if seen == stamp => (true, since),
            _ => (false, now),
        };
        self.seen = Some((stamp, since));
        if !is_same {
            self.is_told = false;
        }
        let is_changed = self.read != Some(stamp);
        if !asked && !is_changed {
            return (Look::Unchanged, false);
        }
        let is_whole = is_same && self.is_settled(stamp.as_ref(), now.duration_since(since));
        if !asked && !is_whole {
            // Before the first time, what was read at the start is in force.
            if self.read.is_none() {
                return (Look::Unchanged, false);
            }
            return (Look::Unsettled, !std::mem::replace(&mut self.is_told, true));
        }
        // Taken before the file is read: what is written meanwhile is read in a later round.
        let text = stamp.filter(|stamp| !stamp.is_folder && stamp.length <= MAX_COMPARED).and_then(|_| text_of(path));
        if is_changed && self.is_cut_off(stamp.as_ref(), text.as_deref()) {
            return (Look::CutOff, asked || !std::mem::replace(&mut self.is_told, true));
        }
        self.read = Some(stamp);
        self.text = text;
        (Look::Read, false)
    }

    /// Whether a file that was seen in two rounds is whole.
    fn is_settled(&self, stamp: Option<&Stamp>, unchanged_for: Duration) -> bool {
        // What is read first was read at the start already. A file that is gone is not being written, and the names in a folder
        // change at once.
        let (Some(before), Some(stamp)) = (self.read.as_ref(), stamp) else { return true };
        let is_another = before.is_none_or(|before| before.file != stamp.file);
        stamp.is_folder || (is_another && stamp.was_renamed()) || unchanged_for >= SETTLING
    }

    /// Whether the file is the one that was read, and has lost its end.
    fn is_cut_off(&self, stamp: Option<&Stamp>, text: Option<&[u8]>) -> bool {
        let (Some(Some(before)), Some(stamp)) = (self.read, stamp) else { return false };
        let (Some(was), Some(now)) = (self.text.as_deref(), text) else { return false };
        before.file == stamp.file && now.len() < was.len() && was.starts_with(now)
    }
}

/// What a regular file has.
fn text_of(path: &Path) -> Option<Vec<u8>> {
    // To open a pipe waits for somebody who writes to it.
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut text = Vec::new();
    File::open(path).ok()?.take(MAX_COMPARED + 1).read_to_end(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file, and looks at it at times that the test chooses.
    struct Watched {
        folder: tempfile::TempDir,
        watch: FileWatch,
        now: Instant,
    }

    impl Watched {
        /// One that says this, and that was read.
        fn new(text: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let mut watched = Self { folder, watch: FileWatch::default(), now: Instant::now() };
            fs::write(watched.path(), text).unwrap();
            watched.look();
            assert_eq!(watched.look(), Look::Read, "it may have changed since the start");
            watched
        }

        fn path(&self) -> std::path::PathBuf {
            self.folder.path().join("file")
        }

        fn look(&mut self) -> Look {
            self.watch.round_at(&self.path(), false, self.now).0
        }

        fn look_after(&mut self, time: Duration) -> Look {
            self.now += time;
            self.look()
        }

        fn replace(&self, text: &str) {
            let beside = self.folder.path().join("beside");
            fs::write(&beside, text).unwrap();
            // The clock of a file system has steps, and a rename has to come after the write.
            File::open(&beside).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
            fs::rename(beside, self.path()).unwrap();
        }
    }

    #[test]
    fn a_file_that_is_written_counts_once_it_has_stayed_the_same() {
        let mut file = Watched::new("first");
        fs::write(file.path(), "second, and mo").unwrap();
        for _ in 0..10 {
            assert_eq!(file.look(), Look::Unsettled, "however often it is looked at");
        }
        assert_eq!(file.look_after(SETTLING / 2), Look::Unsettled);
        fs::write(file.path(), "second, and more").unwrap();
        assert_eq!(file.look_after(SETTLING / 2), Look::Unsettled, "the time begins anew");
        assert_eq!(file.look_after(SETTLING / 2), Look::Unsettled);
        assert_eq!(file.look_after(SETTLING / 2), Look::Read);
        assert_eq!(file.look_after(SETTLING), Look::Unchanged);
    }

    #[test]
    fn a_file_that_takes_its_place_by_a_rename_counts_at_once() {
        let mut file = Watched::new("first");
        file.replace("fir");
        assert_eq!((file.look(), file.look()), (Look::Unsettled, Look::Read));
        // A new file that is written slowly is not one.
        fs::remove_file(file.path()).unwrap();
        fs::write(file.path(), "second").unwrap();
        assert_eq!((file.look(), file.look()), (Look::Unsettled, Look::Unsettled));
        assert_eq!(file.look_after(SETTLING), Look::Read);
    }

    #[test]
    fn a_file_that_was_cut_off_never_counts() {
        let mut file = Watched::new("deny: a\ndeny: b\n");
        for cut in ["deny: a\n", ""] {
            fs::write(file.path(), cut).unwrap();
            assert_eq!(file.look(), Look::Unsettled);
            assert_eq!(file.look_after(SETTLING * 100), Look::CutOff, "{cut}");
            assert_eq!(
                file.watch.round_at(&file.path(), true, file.now),
                (Look::CutOff, true),
                "also if somebody asks"
            );
        }
        fs::write(file.path(), "deny: a\ndeny: c\n").unwrap();
        file.look();
        assert_eq!(file.look_after(SETTLING), Look::Read);
        fs::remove_file(file.path()).unwrap();
        assert_eq!((file.look(), file.look()), (Look::Unsettled, Look::Read), "a file that is gone is not half");
    }

    #[test]
    fn what_is_not_read_is_told_once() {
        let mut file = Watched::new("first");
        fs::write(file.path(), "second").unwrap();
        let (path, now) = (file.path(), file.now);
        let mut told = || file.watch.round_at(&path, false, now).1;
        assert_eq!([told(), told(), told()], [true, false, false]);
    }
}
