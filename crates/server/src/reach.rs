//! Which files accounts other than the server's can reach, by their modes and those of the folders above them.
//!
//! Lists of access beyond the modes count as far as the mode of the group shows them; capabilities do not count.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The account that may do everything.
pub(crate) const ROOT: u32 = 0;
/// The account that the system names for one that it cannot name here, as one of another user namespace.
const OVERFLOW: u32 = 65_534;
/// What the group and others may not have of a file that they cannot change.
const WRITE: u32 = 0o022;
/// What they may not have of one that they cannot read.
const READ: u32 = 0o044;
/// What they may not have of a folder that they cannot enter.
const ENTER: u32 = 0o011;
/// Only owners remove and rename what is in such a folder.
const STICKY: u32 = 0o1000;

/// The files that make a server's decisions its own.
#[derive(Clone, Debug, Default)]
pub struct OwnFiles {
    /// Policies, API keys and programs: nobody else may change them.
    pub ruling: Vec<PathBuf>,
    /// Keys and the store: nobody else may read them either.
    pub secret: Vec<PathBuf>,
}

impl OwnFiles {
    /// Whether an account can neither change any of them nor read the secret ones. What cannot be looked at counts as within its
    /// reach.
    pub(crate) fn are_out_of_reach_of(&self, account: u32) -> bool {
        let own = rustix::process::geteuid().as_raw();
        let is_other = ![own, ROOT, OVERFLOW].contains(&account);
        is_other
            && self.ruling.iter().chain(&self.secret).all(|file| is_own(file, own))
            && self.secret.iter().all(|file| is_unreadable(file))
    }
}

/// Whether only this account and root can change what is at a path, also by replacing a folder above it or a link on the way.
#[must_use]
pub fn is_own(path: &Path, owner: u32) -> bool {
    // The way as it is written, and the way that it leads to.
    let (Ok(written), Ok(real)) = (std::path::absolute(path), fs::canonicalize(path)) else { return false };
    [written, real].iter().flat_map(|way| way.ancestors()).all(|part| {
        let is_own = |found: Metadata| {
            let is_closed = found.mode() & WRITE == 0 || (found.is_dir() && found.mode() & STICKY != 0);
            [owner, ROOT].contains(&found.uid()) && (is_closed || found.is_symlink())
        };
        fs::symlink_metadata(part).is_ok_and(is_own)
    })
}

/// Whether only its owner can read what is at a path, by its own mode or by that of a folder above it.
fn is_unreadable(path: &Path) -> bool {
    let Ok(real) = fs::canonicalize(path) else { return false };
    let mode = |path: &Path| fs::metadata(path).map_or(u32::MAX, |found| found.mode());
    (mode(&real) & READ == 0 && !real.is_dir()) || real.ancestors().any(|part| part.is_dir() && mode(part) & ENTER == 0)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_another_account_can_change_or_read_is_in_its_reach() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let set = |path: &Path, mode: u32| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        fs::create_dir(at("home")).unwrap();
        for name in ["policy", "home/key"] {
            fs::write(at(name), "").unwrap();
        }
        let files = OwnFiles { ruling: vec![at("policy")], secret: vec![at("home/key")] };
        let is_out = || files.are_out_of_reach_of(4_711);
        let closed =
            [(folder.path().to_owned(), 0o755), (at("policy"), 0o644), (at("home"), 0o700), (at("home/key"), 0o644)];
        let close = || closed.iter().for_each(|(path, mode)| set(path, *mode));
        close();
        assert!(is_out());
        assert!(!files.are_out_of_reach_of(rustix::process::geteuid().as_raw()) && !files.are_out_of_reach_of(ROOT));
        assert!(!files.are_out_of_reach_of(OVERFLOW));
        for (name, mode) in [("", 0o775), ("policy", 0o646), ("policy", 0o664), ("home", 0o711), ("home", 0o720)] {
            set(&at(name), mode);
            assert!(!is_out(), "{name} {mode:o}");
            close();
        }
        // The mode of the file alone is enough, and so is that of the folder.
        set(&at("home"), 0o755);
        set(&at("home/key"), 0o600);
        assert!(is_out());
        // A link that another account could replace.
        fs::create_dir(at("open")).unwrap();
        set(&at("open"), 0o777);
        std::os::unix::fs::symlink(at("policy"), at("open/policy")).unwrap();
        let linked = OwnFiles { ruling: vec![at("open/policy")], ..OwnFiles::default() };
        assert!(!linked.are_out_of_reach_of(4_711));
        assert!(!OwnFiles { ruling: vec![at("missing")], ..OwnFiles::default() }.are_out_of_reach_of(4_711));
    }
}
