//! The parts that a host is set up with: what each is, whether it is there, how it is made and taken back.

use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use proofmark_keys::Keyring;
use proofmark_receipt::Sha256Digest;
use proofmark_server::replace_file;

use super::accounts::Account;
use super::layout::{ACCOUNT, DATA, HOME, Root, SERVICE, metadata};
use super::record::Made;
use crate::config::DEFAULT_KEY;
use crate::error::with_help;
use crate::input;
use crate::shell_words;

/// The longest file that is compared, in bytes.
const MAX_FILE: u64 = 16 << 20;
/// The mode of a file that everybody may read and root alone may write.
const FILE_MODE: u32 = 0o644;
/// The mode of a folder above one that is made.
const FOLDER_MODE: u32 = 0o755;
/// The numbers of root and its group.
const ROOT: (u32, u32) = (0, 0);
/// The bits of a mode that are compared.
const MODE_BITS: u32 = 0o7777;
/// Where programs of an administrator are, if the caller's path does not say so.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// One part of a host that is set up.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Account { name: String, is_agent: bool },
    Folder { path: &'static str, mode: u32, is_of_account: bool },
    File { path: &'static str, text: String },
    Key,
    Service,
}

/// Whether a part is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    /// As it is to be.
    Same,
    /// As an earlier set-up made it, which made it otherwise.
    Older,
    /// An earlier set-up made it, and somebody has changed it since.
    Changed,
    /// Something else is there, which no set-up has made.
    Foreign(&'static str),
}

impl Part {
    /// What it is called in messages.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Account { name, .. } => format!("account {name}"),
            Self::Folder { path, .. } => format!("folder {path}"),
            Self::File { path, .. } => format!("file {path}"),
            Self::Key => format!("key {DATA}/keys/{DEFAULT_KEY}.pem"),
            Self::Service => format!("service {SERVICE}"),
        }
    }

    /// Its kind, for programs.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Account { .. } => "account",
            Self::Folder { .. } => "folder",
            Self::File { .. } => "file",
            Self::Key => "key",
            Self::Service => "service",
        }
    }

    /// What makes it, for people: the same as [`Part::make`] does, as commands.
    pub(super) fn shown(&self, root: &Root) -> Vec<String> {
        match self {
            Self::Account { name, is_agent } => vec![shell_words::line(&add_account(name, *is_agent, root))],
            Self::Folder { path, mode, is_of_account } => {
                let owner = if *is_of_account { ACCOUNT } else { "root" };
                vec![format!("install -d -o {owner} -g {owner} -m {mode:04o} {}", root.at(path).display())]
            }
            Self::File { path, text } => {
                let head = format!("install -o root -g root -m {FILE_MODE:04o} /dev/stdin {}", root.at(path).display());
                [head].into_iter().chain(text.lines().map(|line| format!("  | {line}"))).collect()
            }
            Self::Key => vec![format!(
                "sudo -H -u {ACCOUNT} proofmark key new {DEFAULT_KEY}   # no passphrase: nobody is there to enter it; mode 0600"
            )],
            Self::Service => vec![shell_words::line(&systemctl(&["daemon-reload"])), shell_words::line(&enable())],
        }
    }

    /// Whether it is there. `made` is what an earlier set-up has recorded.
    pub(super) fn find(&self, root: &Root, made: &[Made]) -> anyhow::Result<Found> {
        match self {
            Self::Account { name, is_agent } => {
                Ok(match Account::find(name, root)? {
                    None => Found::Nothing,
                    Some(account) if account.user == 0 => Found::Foreign("it is root"),
                    // Commands of the account look for its keys below its home.
                    Some(account) if !is_agent && account.home != HOME => {
                        Found::Foreign("its home is not /var/lib/proofmark")
                    }
                    Some(_) => Found::Same,
                })
            }
            Self::Folder { path, mode, .. } => {
                let Some(about) = metadata(&root.to_write(path)?)? else { return Ok(Found::Nothing) };
                let owner = self.owner(root)?;
                let is_same =
                    about.is_dir() && about.mode() & MODE_BITS == *mode && Some((about.uid(), about.gid())) == owner;
                Ok(match (is_same, made.iter().any(|made| made.is_path(path))) {
                    (true, _) => Found::Same,
                    (false, true) if about.is_dir() => Found::Older,
                    (false, _) => Found::Foreign("it has another owner or another mode, or is not a folder"),
                })
            }
            Self::File { path, text } => {
                let whole = root.to_write(path)?;
                let Some(about) = metadata(&whole)? else { return Ok(Found::Nothing) };
                if !about.is_file() {
                    return Ok(Found::Foreign("it is not a regular file"));
                }
                let now = Sha256Digest::of(&input::read_limited(&whole, MAX_FILE)?).to_string();
                let recorded = made.iter().find_map(|made| made.digest_of(path));
                let is_closed = about.uid() == 0 && about.mode() & MODE_BITS == FILE_MODE;
                Ok(match recorded {
                    _ if now == Sha256Digest::of(text.as_bytes()).to_string() && is_closed => Found::Same,
                    Some(recorded) if recorded == now => Found::Older,
                    Some(_) => Found::Changed,
                    None => Found::Foreign("it is there already, with another text, owner or mode"),
                })
            }
            Self::Key => {
                let is_there = Keyring::new(&root.at(DATA)).has(DEFAULT_KEY);
                Ok(if is_there { Found::Same } else { Found::Nothing })
            }
            Self::Service => Ok(if is_active() { Found::Same } else { Found::Nothing }),
        }
    }

    /// Makes it, or makes it as it is to be. What was made is added to `made`, also where this fails.
    pub(super) fn make(&self, root: &Root, found: &Found, made: &mut Vec<Made>) -> anyhow::Result<()> {
        match self {
            Self::Account { name, is_agent } => {
                run(&add_account(name, *is_agent, root))?;
                made.push(Made::Account { name: name.clone(), is_agent: *is_agent });
            }
            Self::Folder { path, mode, .. } => {
                let owner = self.owner(root)?.context("find the owner of the folder")?;
                let whole = root.to_write(path)?;
                make_above(&whole, root, made)?;
                make_folder(&whole, *mode, owner)?;
                made.push(Made::Folder((*path).to_owned()));
            }
            Self::File { path, text } => {
                let whole = root.to_write(path)?;
                make_above(&whole, root, made)?;
                let context = || format!("write `{}`", whole.display());
                replace_file(&whole, text, FILE_MODE).with_context(context)?;
                made.push(Made::File { path: (*path).to_owned(), digest: digest(text) });
                // The mode does not depend on that of the process.
                fs::set_permissions(&whole, fs::Permissions::from_mode(FILE_MODE)).with_context(context)?;
                chown(&whole, Some(ROOT.0), Some(ROOT.1)).with_context(context)?;
            }
            Self::Key => {
                made.push(Made::Key);
                make_key(root)?;
            }
            Self::Service => {
                run(&systemctl(&["daemon-reload"]))?;
                made.push(Made::Service);
                run(&enable())?;
                if *found == Found::Older {
                    run(&systemctl(&["restart", SERVICE]))?;
                }
            }
        }
        Ok(())
    }

    /// The numbers of the account that owns it, and of its group.
    fn owner(&self, root: &Root) -> anyhow::Result<Option<(u32, u32)>> {
        match self {
            Self::Folder { is_of_account: true, .. } => {
                Ok(Account::find(ACCOUNT, root)?.map(|account| (account.user, account.group)))
            }
            _ => Ok(Some(ROOT)),
        }
    }
}

impl Root {
    /// The path within the host of one that [`Root::at`] gave.
    fn inside(&self, path: &Path) -> String {
        let inside = path.strip_prefix(self.folder()).unwrap_or(path);
        Path::new("/").join(inside).display().to_string()
    }
}

fn digest(text: &str) -> String {
    Sha256Digest::of(text.as_bytes()).to_string()
}

/// The folders above a path that are missing, the highest first.
fn missing_above(path: &Path, root: &Root) -> Vec<PathBuf> {
    let above =
        path.ancestors().skip(1).take_while(|part| *part != root.folder() && fs::symlink_metadata(part).is_err());
    let mut missing: Vec<_> = above.map(Path::to_owned).collect();
    missing.reverse();
    missing
}

/// Makes the folders above a path that are missing.
fn make_above(path: &Path, root: &Root, made: &mut Vec<Made>) -> anyhow::Result<()> {
    for missing in missing_above(path, root) {
        make_folder(&missing, FOLDER_MODE, ROOT)?;
        made.push(Made::Folder(root.inside(&missing)));
    }
    Ok(())
}

/// Makes a folder, or gives one its mode and its owner.
fn make_folder(path: &Path, mode: u32, (user, group): (u32, u32)) -> anyhow::Result<()> {
    let context = || format!("make the folder `{}`", path.display());
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() && !path.is_symlink() => {}
        made => made.with_context(context)?,
    }
    chown(path, Some(user), Some(group)).with_context(context)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).with_context(context)
}

/// Makes the key of the account, and the folders that it is in.
fn make_key(root: &Root) -> anyhow::Result<()> {
    let account = Account::named(ACCOUNT, root)?;
    let keyring = Keyring::new(&root.at(DATA));
    let (home, folder) = (root.at(HOME), keyring.folder().to_owned());
    let missing = missing_above(&folder.join("key"), root);
    keyring.create(DEFAULT_KEY, None)?;
    let files = ["pem", "pub"].map(|extension| folder.join(format!("{DEFAULT_KEY}.{extension}")));
    // Root has made them, and the account is to use them: they have no other owner for longer than this takes.
    let above = missing.iter().filter(|path| path.starts_with(&home));
    for path in above.chain(files.iter().filter(|file| file.exists())) {
        chown(path, Some(account.user), Some(account.group))
            .with_context(|| format!("give `{}` to the account {ACCOUNT}", path.display()))?;
    }
    Ok(())
}

/// The command that makes an account.
fn add_account(name: &str, is_agent: bool, root: &Root) -> Vec<String> {
    let mut words = vec!["useradd".to_owned()];
    if !root.is_this_host() {
        words.extend(["--prefix".to_owned(), root.folder().display().to_string()]);
    }
    let options: &[&str] = if is_agent {
        &["--create-home", "--user-group", "--shell", "/bin/bash"]
    } else {
        &["--system", "--user-group", "--home-dir", HOME, "--no-create-home", "--shell", "/usr/sbin/nologin"]
    };
    words.extend(options.iter().map(|word| (*word).to_owned()));
    words.push(name.to_owned());
    words
}

/// The command that removes an account, which has to have no files.
pub(super) fn remove_account(name: &str, with_home: bool, root: &Root) -> Vec<String> {
    let mut words = vec!["userdel".to_owned()];
    if !root.is_this_host() {
        words.extend(["--prefix".to_owned(), root.folder().display().to_string()]);
    }
    words.extend(with_home.then(|| "--remove".to_owned()));
    words.push(name.to_owned());
    words
}

/// A command of systemd.
pub(super) fn systemctl(words: &[&str]) -> Vec<String> {
    ["systemctl"].iter().chain(words).map(|word| (*word).to_owned()).collect()
}

fn enable() -> Vec<String> {
    systemctl(&["enable", "--now", SERVICE])
}

fn is_active() -> bool {
    let asked = command(&systemctl(&["is-active", "--quiet", SERVICE])).status();
    asked.is_ok_and(|status| status.success())
}

/// Runs a command of an administrator.
pub(super) fn run(words: &[String]) -> anyhow::Result<()> {
    let line = shell_words::line(words);
    let output = command(words).output().map_err(|error| {
        let help = format!(
            "install the program `{}`, or make this part by hand and run `proofmark setup` again",
            words.first().map_or("", String::as_str)
        );
        with_help(format!("run `{line}` ({error})"), help)
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(anyhow::anyhow!("run `{line}`: {}", said.trim()))
}

fn command(words: &[String]) -> Command {
    let mut command = Command::new(words.first().map_or("", String::as_str));
    command.args(words.iter().skip(1)).stdin(Stdio::null());
    // Programs of an administrator are not on every path.
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path}:{SYSTEM_PATH}"));
    command
}
