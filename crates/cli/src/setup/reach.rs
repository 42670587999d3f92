//! What an account can do with a file or a folder: tried by a process of this account, or told from the modes.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{Access, OFlags, access};

use super::accounts::Account;

/// Whether an account can do something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Yes,
    No,
    /// There is nothing to do it with.
    Missing,
    Unknown(String),
}

/// How it is found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// This process is one of the account, and tries.
    Tried,
    /// This process is one of another account, and looks at the modes.
    ByModes,
}

/// Only owners remove and rename what is in such a folder.
const STICKY: u32 = 0o1000;
/// The rights of a mode.
const READ: u32 = 0o4;
const WRITE: u32 = 0o2;
const ENTER: u32 = 0o1;

impl Way {
    /// Whether the account can read what is at a path: the text of a file, the names in a folder.
    pub(super) fn reads(self, account: &Account, path: &Path) -> Answer {
        match self {
            Self::Tried => {
                let is_folder = fs::metadata(path).is_ok_and(|about| about.is_dir());
                let tried =
                    if is_folder { fs::read_dir(path).map(drop) } else { open(OpenOptions::new().read(true), path) };
                answer(tried)
            }
            Self::ByModes => by_modes(account, path, READ),
        }
    }

    /// Whether the account can change what is at a path: by writing to it, by taking its mode for its own, or by putting something
    /// else in its place or in that of a folder above it.
    pub(super) fn changes(self, account: &Account, path: &Path) -> Answer {
        let writes = |path: &Path| match self {
            Self::Tried => match fs::metadata(path) {
                Ok(about) if about.uid() == account.user => Answer::Yes,
                // A program that runs refuses writers for another reason than its mode.
                Ok(about) if about.is_file() => match open(OpenOptions::new().write(true), path) {
                    Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => Answer::Yes,
                    tried => answer(tried),
                },
                Ok(_) => answer(access(path, Access::WRITE_OK).map_err(io::Error::from)),
                Err(error) => answer(Err(error)),
            },
            Self::ByModes => by_modes(account, path, WRITE),
        };
        let own = writes(path);
        // What is missing could be put there.
        if matches!(own, Answer::Yes | Answer::Unknown(_)) {
            return own;
        }
        let above =
            std::path::absolute(path).map(|way| way.ancestors().skip(1).map(Path::to_owned).collect::<Vec<_>>());
        let answers = above.unwrap_or_default().into_iter().filter(|folder| !is_kept_by_owners(folder, account));
        answers
            .map(|folder| writes(&folder))
            .find(|answer| matches!(answer, Answer::Yes | Answer::Unknown(_)))
            .unwrap_or(own)
    }
}

/// Whether others than the owner cannot replace what is in a folder, although they can write to it.
fn is_kept_by_owners(folder: &Path, account: &Account) -> bool {
    fs::metadata(folder).is_ok_and(|about| about.mode() & STICKY != 0 && about.uid() != account.user)
}

fn open(options: &mut OpenOptions, path: &Path) -> io::Result<()> {
    // To open a pipe waits for its other side.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    options.custom_flags(flags).open(path).map(drop)
}

fn answer(tried: io::Result<()>) -> Answer {
    match tried {
        Ok(()) => Answer::Yes,
        Err(error) => match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Answer::No,
            ErrorKind::NotFound | ErrorKind::NotADirectory => Answer::Missing,
            _ => Answer::Unknown(error.to_string()),
        },
    }
}

/// Whether an account has a right to what is at a path, by its mode and those of the folders above it.
fn by_modes(account: &Account, path: &Path, right: u32) -> Answer {
    let Ok(path) = std::path::absolute(path) else { return Answer::Unknown("its path is not known".to_owned()) };
    let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
    above.reverse();
    for folder in above {
        match fs::metadata(folder) {
            Ok(about) if has_right(account, &about, ENTER) => {}
            // Whatever is below: the account does not get there.
            Ok(_) => return Answer::No,
            Err(error) => return not_seen(&error),
        }
    }
    match fs::metadata(&path) {
        Ok(about) if right == WRITE && about.uid() == account.user => Answer::Yes,
        Ok(about) if has_right(account, &about, right) => Answer::Yes,
        Ok(_) => Answer::No,
        Err(error) => not_seen(&error),
    }
}

fn not_seen(error: &io::Error) -> Answer {
    if error.kind() == ErrorKind::NotFound {
        Answer::Missing
    } else {
        Answer::Unknown(format!("its mode cannot be seen from this account: {error}"))
    }
}

fn has_right(account: &Account, about: &Metadata, right: u32) -> bool {
    let mode = if account.user == 0 {
        0o7
    } else if about.uid() == account.user {
        about.mode() >> 6
    } else if account.groups.contains(&about.gid()) {
        about.mode() >> 3
    } else {
        about.mode()
    };
    mode & right != 0
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn modes_say_what_an_account_reaches() {
        let folder = tempfile::tempdir().unwrap();
        let about = fs::metadata(folder.path()).unwrap();
        let account = |user: u32, groups: &[u32]| Account {
            name: user.to_string(),
            user,
            group: user,
            groups: groups.to_vec(),
            group_names: Vec::new(),
            home: String::new(),
        };
        let (stranger, member) = (account(4_711, &[4_711]), account(4_711, &[about.gid()]));
        let set = |path: &Path, mode: u32| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        for (above, mode, who, reads, changes) in [
            (0o755, 0o644, &stranger, Answer::Yes, Answer::No),
            (0o755, 0o600, &stranger, Answer::No, Answer::No),
            (0o755, 0o660, &stranger, Answer::No, Answer::No),
            (0o755, 0o660, &member, Answer::Yes, Answer::Yes),
            (0o700, 0o666, &stranger, Answer::No, Answer::No),
            // Another file can be put in its place.
            (0o757, 0o600, &stranger, Answer::No, Answer::Yes),
            (0o1757, 0o600, &stranger, Answer::No, Answer::No),
        ] {
            set(folder.path(), above);
            set(&file, mode);
            assert_eq!(Way::ByModes.reads(who, &file), reads, "{above:o} {mode:o}");
            assert_eq!(Way::ByModes.changes(who, &file), changes, "{above:o} {mode:o}");
        }
        set(folder.path(), 0o755);
        assert_eq!(Way::ByModes.reads(&stranger, &folder.path().join("none")), Answer::Missing);
    }
}
