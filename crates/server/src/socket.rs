//! A socket in the file system, by which agents of other accounts of this host ask. The system says which account each
//! connection is of.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream as BlockingStream;
use std::path::{Path, PathBuf};

use proofmark_boundary::Separation;
use proofmark_store::Tenant;
use tokio::net::{UnixListener, UnixStream};

use crate::connections::Who;
use crate::keys::Caller;
use crate::peer::Peer;
use crate::reach::{OwnFiles, is_own};

/// Every account may connect: which one it is, the system says. Who is to be kept out is kept out of the folder.
const MODE: u32 = 0o666;
/// The names of accounts, one on each line (passwd(5)).
const ACCOUNTS: &str = "/etc/passwd";

/// Where agents of other accounts ask.
#[derive(Clone, Debug)]
pub struct SocketSettings {
    pub path: PathBuf,
    /// What they must not reach, so that the server decides and not they. `None` where that is not only files.
    pub own: Option<OwnFiles>,
    /// The tenant that what they do belongs to.
    pub tenant: Tenant,
    /// The one policy that they ask. Without it, they may name any of their tenant's.
    pub policy: Option<String>,
}

/// A socket that is listened on. Its file goes when this is dropped.
pub(crate) struct Socket {
    listener: UnixListener,
    path: PathBuf,
    own: Option<OwnFiles>,
    tenant: Tenant,
    policy: Option<String>,
}

impl Socket {
    /// Listens, in place of a server that has ended.
    ///
    /// # Errors
    /// When another server listens there, when another account could put its own socket there, and for anything else in that
    /// place.
    pub(crate) fn bind(settings: SocketSettings) -> io::Result<Self> {
        let SocketSettings { path, own, tenant, policy } = settings;
        let path = std::path::absolute(path)?;
        let folder = path.parent().unwrap_or(Path::new("/"));
        let is_shared = fs::metadata(folder)?.permissions().mode() & 0o022 != 0;
        if is_shared || !is_own(folder, rustix::process::geteuid().as_raw()) {
            let message = "another account can write to its folder, or to one above it, and put another socket there";
            return Err(io::Error::new(ErrorKind::PermissionDenied, message));
        }
        // Of two servers that begin at the same time, one must not remove the socket that the other has just bound.
        let one_at_a_time = File::open(folder)?;
        one_at_a_time.lock()?;
        remove_if_dead(&path)?;
        let listener = UnixListener::bind(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(MODE))?;
        Ok(Self { listener, path, own, tenant, policy })
    }

    /// The next connection, and whose it is. One of which the system does not say it is not answered.
    pub(crate) async fn accept(&self) -> io::Result<(UnixStream, Who, Peer)> {
        let (stream, _) = self.listener.accept().await?;
        let account = stream.peer_cred()?.uid();
        let is_apart = self.own.as_ref().is_some_and(|own| own.are_out_of_reach_of(account));
        let separation = if is_apart { Separation::Account } else { Separation::None };
        let caller = Caller::account(&account_name(account), &self.tenant);
        let caller = Caller { policy: self.policy.clone(), ..caller };
        Ok((stream, Who::Account(account), Peer::Account { separation, caller }))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // The next server removes it otherwise.
        let _gone = fs::remove_file(&self.path);
    }
}

/// Removes the socket of a server that has ended.
fn remove_if_dead(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(found) if !found.file_type().is_socket() => {
            return Err(io::Error::new(ErrorKind::AlreadyExists, "something else than a socket is there"));
        }
        Ok(_) => {}
    }
    match BlockingStream::connect(path) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path),
        Ok(_) => Err(io::Error::new(ErrorKind::AddrInUse, "another server listens there")),
        Err(error) => Err(error),
    }
}

/// The name of an account; its number where it has none, or one that could be taken for a number or for two names.
fn account_name(account: u32) -> String {
    let accounts = fs::read_to_string(ACCOUNTS).unwrap_or_default();
    name_among(&accounts, account).map_or_else(|| account.to_string(), str::to_owned)
}

fn name_among(accounts: &str, account: u32) -> Option<&str> {
    let (wanted, mut names) = (account.to_string(), accounts.lines().map(|line| line.split(':')));
    let name = names.find_map(|mut fields| {
        let name = fields.next()?;
        (fields.nth(1)? == wanted).then_some(name)
    })?;
    let is_plain = |name: &str| {
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
            && name.bytes().any(|byte| !byte.is_ascii_digit())
    };
    is_plain(name).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_called_by_its_name_where_that_names_no_other() {
        let accounts = "root:x:0:0:root:/root:/bin/sh\nclaude:x:1001:1001::/home/claude:/bin/sh\n1001:x:1002:1002::/:/bin/sh\na/b:x:1003:1:::\nbroken\nsecond:x:1001:1:::\n";
        for (account, name) in [(0, Some("root")), (1001, Some("claude")), (1002, None), (1003, None), (7, None)] {
            assert_eq!(name_among(accounts, account), name, "{account}");
        }
    }

    #[tokio::test]
    async fn a_dead_socket_is_replaced_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let settings = |name: &str| SocketSettings {
            path: folder.path().join(name),
            own: None,
            tenant: Tenant::LOCAL,
            policy: None,
        };
        let bind = |name: &str| Socket::bind(settings(name)).map_err(|error| error.kind());
        let first = bind("socket").unwrap();
        assert_eq!(fs::metadata(folder.path().join("socket")).unwrap().permissions().mode() & 0o7777, MODE);
        assert_eq!(bind("socket").err(), Some(ErrorKind::AddrInUse));
        drop(first);
        // A server that was killed leaves its file behind.
        drop(std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap());
        assert!(bind("socket").is_ok());
        fs::write(folder.path().join("file"), "").unwrap();
        assert_eq!(bind("file").err(), Some(ErrorKind::AlreadyExists));
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        assert_eq!(bind("other").err(), Some(ErrorKind::PermissionDenied));
    }
}
