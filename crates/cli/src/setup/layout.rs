//! Where the parts of a server that decides for other accounts are, and the text of its unit.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::error::with_help;
use crate::shell_words;

/// The account that decides.
pub(super) const ACCOUNT: &str = "proofmark";
/// Its home folder, which is its own.
pub(super) const HOME: &str = "/var/lib/proofmark";
/// Where its keys and its store are: the place that commands of this account use without being told.
pub(super) const DATA: &str = "/var/lib/proofmark/.local/share/proofmark";
/// What root keeps for it.
pub(super) const SETTINGS: &str = "/etc/proofmark";
/// The action policy.
pub(super) const POLICY: &str = "/etc/proofmark/policy.yaml";
/// The record of what was made.
pub(super) const RECORD: &str = "/etc/proofmark/setup.json";
/// The folder of the socket.
pub(super) const SOCKET_FOLDER: &str = "/run/proofmark";
/// The socket.
pub(super) const SOCKET: &str = "/run/proofmark/socket";
/// The unit of systemd.
pub(super) const UNIT: &str = "/etc/systemd/system/proofmark.service";
/// What an administrator may add to the unit.
pub(super) const UNIT_ADDITIONS: &str = "/etc/systemd/system/proofmark.service.d";
/// The name of the service.
pub(super) const SERVICE: &str = "proofmark.service";
/// There where systemd runs this host (sd_booted(3)).
const SYSTEMD: &str = "/run/systemd/system";
/// The program, in an image that is set up from outside.
const PROGRAM: &str = "/usr/local/bin/proofmark";
/// What no program of a unit may have in its path: systemd would read it as something else.
const SPECIAL: &[char] = &['%', '$', '"', '\'', '\\', ' ', '\t', '\n', ';'];

/// The host that is set up: this one, or an image of one in a folder.
#[derive(Clone, Debug)]
pub(super) struct Root(PathBuf);

impl Root {
    /// The host whose files are below this folder.
    pub(super) fn of(folder: Option<&Path>) -> anyhow::Result<Self> {
        let Some(folder) = folder else { return Ok(Self(PathBuf::from("/"))) };
        let found = fs::canonicalize(folder).with_context(|| format!("use the folder `{}`", folder.display()))?;
        Ok(Self(found))
    }

    /// Whether it is this host.
    pub(super) fn is_this_host(&self) -> bool {
        self.0 == Path::new("/")
    }

    /// The folder.
    pub(super) fn folder(&self) -> &Path {
        &self.0
    }

    /// Where a path of the host is.
    pub(super) fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.0.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// As [`Root::at`], for a path that is about to be written.
    ///
    /// # Errors
    /// Where a link of an image leads elsewhere: maybe out of the image.
    pub(super) fn to_write(&self, path: &str) -> anyhow::Result<PathBuf> {
        let whole = self.at(path);
        let above = whole.ancestors().skip(1).take_while(|part| *part != self.0);
        match above.filter(|_| !self.is_this_host()).find(|part| part.is_symlink()) {
            Some(link) => Err(with_help(
                format!("write `{}`: `{}` is a link, which may lead out of the image", whole.display(), link.display()),
                "run `proofmark setup` within the image",
            )),
            None => Ok(whole),
        }
    }

    /// Whether systemd runs this host, so that it can start a service.
    pub(super) fn has_systemd(&self) -> bool {
        self.is_this_host() && Path::new(SYSTEMD).is_dir()
    }
}

/// What is at a path, which may be nothing. A link counts as itself.
pub(super) fn metadata(path: &Path) -> anyhow::Result<Option<fs::Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(about) => Ok(Some(about)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("look at `{}`", path.display())),
    }
}

/// The program that serves: the one that is named, else this one, or the usual one of an image.
pub(super) fn program(named: Option<&Path>, root: &Root) -> anyhow::Result<String> {
    let path = match named {
        Some(path) if path.is_absolute() => path.to_owned(),
        Some(path) => {
            return Err(with_help(
                format!("use the program `{}`: its path is not absolute", path.display()),
                "write the whole path",
            ));
        }
        None if root.is_this_host() => std::env::current_exe().context("find the path of this program")?,
        None => PathBuf::from(PROGRAM),
    };
    let text = path.to_str().map(str::to_owned).context("write the path of the program: it is not UTF-8")?;
    if text.contains(SPECIAL) {
        return Err(with_help(
            format!("write the program `{text}` into a unit: its path has a space, a quotation mark, `%`, `$` or `\\`"),
            "install it as /usr/local/bin/proofmark",
        ));
    }
    Ok(text)
}

/// The command that serves.
pub(super) fn serve(program: &str) -> Vec<String> {
    // Nothing but decisions: a verification runs code in cells, which need rights that the unit takes away.
    [program, "serve", "--no-verify", "--policy", POLICY, "--socket", SOCKET].map(str::to_owned).to_vec()
}

/// How a person starts the server where systemd does not.
pub(super) fn start_by_hand(program: &str) -> String {
    format!("sudo -H -u {ACCOUNT} {}", shell_words::line(&serve(program)))
}

/// The unit of the service, as the Debian package has it.
const PACKAGED_UNIT: &str = include_str!("../../../../packaging/proofmark.service");
/// The program in that unit.
const PACKAGED_PROGRAM: &str = "/usr/bin/proofmark";

/// The unit of the service.
pub(super) fn unit(program: &str) -> String {
    let unit = PACKAGED_UNIT.replace(&serve(PACKAGED_PROGRAM).join(" "), &serve(program).join(" "));
    format!("# Written by `proofmark setup`; `proofmark setup --undo` removes it.\n{unit}")
}

#[cfg(test)]
mod tests {
    use super::{ACCOUNT, DATA, HOME, POLICY, SOCKET_FOLDER, serve, unit};

    #[test]
    fn the_unit_starts_the_program_and_names_what_is_set_up() {
        let unit = unit("/opt/proofmark");
        let lines = [
            format!("ExecStart={}", serve("/opt/proofmark").join(" ")),
            format!("User={ACCOUNT}"),
            format!("Group={ACCOUNT}"),
            format!("Environment=PROOFMARK_HOME={DATA}"),
            format!("AssertPathExists={POLICY}"),
            format!("StateDirectory={}", HOME.trim_start_matches("/var/lib/")),
            format!("RuntimeDirectory={}", SOCKET_FOLDER.trim_start_matches("/run/")),
        ];
        for line in lines {
            assert!(unit.lines().any(|found| found == line), "{line} in {unit}");
        }
    }
}
