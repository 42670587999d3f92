//! Another account in place of the one that this process runs as.

use std::io;

use crate::sys::check;

/// Makes this process one of an account, with these groups, for as long as it runs. Other programs of the account can read neither
/// its memory nor what it has open, because the kernel protects a process that has changed its account.
///
/// # Errors
/// When the system refuses, as it does to every account but root; then the process may have lost some of its rights and should end.
pub fn become_account(user: u32, group: u32, groups: &[u32]) -> io::Result<()> {
    // SAFETY: the list is as long as is said, and none of these calls keeps it.
    unsafe {
        check(libc::setgroups(groups.len(), groups.as_ptr()))?;
        check(libc::setresgid(group, group, group))?;
        check(libc::setresuid(user, user, user))?;
    }
    Ok(())
}
