//! What a project's command sees of a machine: the host's programs, and folders `/etc`, `/dev` and `/run` of our own making.
//!
//! The host's `/etc` is not shown: it has secrets, and what a suite reads there would differ from host to host.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::runtime::Runtime;
use crate::tree::Tree;

/// Where the command finds its interpreter by the usual names, before all other programs.
const INTERPRETERS: &str = "/run/interpreter";
/// Where the command may keep what belongs to its user.
pub(super) const HOME: &str = "/tmp/home";

/// Programs and libraries. On hosts that have merged them into `/usr`, all but the first are links.
const PROGRAMS: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// Where programs are started from.
const PROGRAM_FOLDERS: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/// Below `/usr`, what an administrator has written rather than installed.
const PRIVATE: [&str; 4] = ["/usr/etc", "/usr/local/etc", "/usr/local/src", "/usr/src"];
/// The folders whose `python3*` have installed packages, which a request has to ask for.
const PYTHON_LIBRARIES: [&str; 2] = ["/usr/lib", "/usr/local/lib"];
const PACKAGE_FOLDERS: [&str; 2] = ["dist-packages", "site-packages"];

/// What is public in the host's `/etc`: how its programs are linked, its names of numbers, and the certificates that it trusts.
const PUBLIC: [&str; 14] = [
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/debian_version",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/mime.types",
    "/etc/os-release",
    "/etc/pki/ca-trust/extracted",
    "/etc/pki/tls/certs",
    "/etc/protocols",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
];

/// Files of our own, where the tree does not show the host's. Node reads its memory from the last, which vitest asks for after each
/// test; a `/proc` of the cell's own covers it where the kernel allows one, and its numbers are of no process.
const OWN: [(&str, &str); 13] = [
    (
        "/etc/passwd",
        "root:x:0:0:root:/root:/usr/sbin/nologin\nsandbox:x:1000:1000:sandbox:/tmp/home:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    ),
    ("/etc/group", "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n"),
    ("/etc/hostname", "sandbox\n"),
    ("/etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost ip6-loopback\n"),
    ("/etc/host.conf", "multi on\n"),
    (
        "/etc/nsswitch.conf",
        "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\nnetworks: files\n",
    ),
    // Programs that do not ask the C library get a refusal at once, and not after a timeout.
    ("/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"),
    (
        "/etc/services",
        "ftp 21/tcp\nssh 22/tcp\nsmtp 25/tcp\ndomain 53/tcp\ndomain 53/udp\nhttp 80/tcp\nntp 123/udp\nhttps 443/tcp\n",
    ),
    ("/etc/protocols", "ip 0 IP\nicmp 1 ICMP\ntcp 6 TCP\nudp 17 UDP\nipv6 41 IPv6\nipv6-icmp 58 IPv6-ICMP\n"),
    ("/etc/shells", "/bin/sh\n/bin/bash\n"),
    ("/etc/timezone", "Etc/UTC\n"),
    // Root has unpacked the project where the level is A, so git would call it another's.
    (
        "/etc/gitconfig",
        "[safe]\n\tdirectory = *\n[user]\n\tname = sandbox\n\temail = sandbox@localhost\n[init]\n\tdefaultBranch = main\n",
    ),
    (
        "/proc/self/stat",
        "1 (node) R 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 0 67108864 16384 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
    ),
];

const LINKS: [(&str, &str); 7] = [
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
    ("pts/ptmx", "/dev/ptmx"),
    ("/proc/self/mounts", "/etc/mtab"),
    ("/usr/share/zoneinfo/Etc/UTC", "/etc/localtime"),
];

/// Where programs are looked for.
pub(super) const PATH: &str = "/run/interpreter:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// What replaces the environment of other cells.
pub(super) const VARIABLES: [&str; 6] = [
    "HOME=/tmp/home",
    "SHELL=/bin/sh",
    "USER=sandbox",
    "LOGNAME=sandbox",
    // A git with another prefix looks elsewhere.
    "GIT_CONFIG_SYSTEM=/etc/gitconfig",
    "GIT_TERMINAL_PROMPT=0",
];
/// What other cells have because of their limits.
pub(super) const LEFT_OUT: [&str; 2] = ["UV_THREADPOOL_SIZE", "OPENSSL_CONF"];

/// The tree without the project: with the runtime, and what else of the host the command may read.
pub(super) fn tree(runtime: &Runtime, readable: &[&Path]) -> io::Result<Tree> {
    let mut tree = Tree::new()?;
    for path in PROGRAMS {
        tree.show(Path::new(path))?;
    }
    for path in hidden()?.iter().filter(|hidden| !readable.iter().any(|path| path.starts_with(hidden))) {
        tree.hide(path)?;
    }
    // Where others than root may write, there can be sockets and pipes of the host's processes.
    tree.layer_folders()?;
    for path in runtime.needs.iter().map(PathBuf::as_path).chain(readable.iter().copied()) {
        tree.show(path)?;
    }
    for path in PUBLIC {
        tree.show(Path::new(path))?;
    }
    for (path, text) in OWN {
        tree.file_unless_shown(Path::new(path), text.as_bytes().to_vec())?;
    }
    for (to, at) in LINKS {
        tree.link(Path::new(to), Path::new(at))?;
    }
    for name in runtime.toolchain().executables {
        tree.link(&runtime.path, &Path::new(INTERPRETERS).join(name))?;
    }
    for folder in ["/dev/shm", "/dev/pts"] {
        tree.folder(Path::new(folder))?;
    }
    tree.writable_folder(Path::new(HOME))?;
    Ok(tree)
}

/// What of [`PROGRAMS`] is not shown: set-uid and set-gid programs, which the mounts make powerless anyway; installed packages; and
/// what is private.
fn hidden() -> io::Result<Vec<PathBuf>> {
    let mut hidden: Vec<PathBuf> = PRIVATE.iter().map(PathBuf::from).collect();
    for library in PYTHON_LIBRARIES {
        let versions = entries(Path::new(library))?;
        let versions = versions
            .into_iter()
            .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3")));
        hidden.extend(versions.flat_map(|path| PACKAGE_FOLDERS.map(|name| path.join(name))));
    }
    for folder in PROGRAM_FOLDERS.iter().map(Path::new) {
        // A link leads to a folder that is looked through under its own name.
        if folder.is_symlink() {
            continue;
        }
        let raising = |path: &PathBuf| {
            path.symlink_metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o6000 != 0)
        };
        hidden.extend(entries(folder)?.into_iter().filter(raising));
    }
    hidden.retain(|path| path.symlink_metadata().is_ok_and(|found| found.is_dir() || found.is_file()));
    Ok(hidden)
}

/// What is in a folder; nothing where there is none.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
