//! Paths and options as a command has them that a host starts later: in another folder, and with other variables.

use std::path::{self, Component, Path, PathBuf};

use anyhow::Context;
use proofmark_keys::without_kinds;
use proofmark_receipt::SignerId;
use proofmark_store::Place as StorePlace;

use crate::config::Config;
use crate::error::with_help;
use crate::paint::printable;

pub(crate) fn absolute_path(value: &str) -> anyhow::Result<String> {
    let path = path::absolute(value).with_context(|| format!("find the path `{value}`"))?;
    without_steps_up(path).into_os_string().into_string().ok().context("write a path: it is not UTF-8")
}

/// The same path without `..`, if its folder is there: people read it in settings, and folders on the way may become links.
fn without_steps_up(path: PathBuf) -> PathBuf {
    let steps_up = path.components().any(|part| part == Component::ParentDir);
    let folder = path.parent().filter(|_| steps_up).and_then(|folder| folder.canonicalize().ok());
    folder.zip(path.file_name()).map(|(folder, name)| folder.join(name)).unwrap_or(path)
}

/// A file as a command that starts later finds it, in another folder and with another standard input.
pub(crate) fn absolute_file(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().with_context(|| format!("write the path `{}`: it is not UTF-8", path.display()))?;
    if text == "-" {
        return Err(with_help("write `-` into a file: standard input is read only now", "name a file"));
    }
    absolute_path(text)
}

/// Options whose value is a file.
const FILES: [&str; 4] = ["--policy", "--workflow-policy", "--store", "--passphrase-file"];
/// Options whose value may be a file.
const MAYBE_FILES: [&str; 2] = ["--trust", "--key"];

/// A store as a file for others may name it: without a password, and as an absolute path.
pub(crate) fn stated_store(place: &StorePlace) -> anyhow::Result<String> {
    match place {
        StorePlace::File(path) => absolute_path(path.to_str().context("write the path of the store: it is not UTF-8")?),
        StorePlace::Database(url) => url.without_password().map(str::to_owned).ok_or_else(|| {
            with_help(
                format!(
                    "write the store `{}` into a file: its password would stand there",
                    printable(&url.to_string())
                ),
                "put the password into `~/.pgpass` or `PGPASSWORD`, and leave it out of the URL",
            )
        }),
    }
}

/// Options of a command of ours, with absolute paths. They were parsed before, so each of them has its value. The store that the
/// environment names becomes an option: hosts start programs with few variables of their own environment.
pub(crate) fn absolute_options(arguments: &[String], config: &Config) -> anyhow::Result<Vec<String>> {
    let mut absolute = Vec::new();
    let mut name: Option<&str> = None;
    for argument in arguments {
        let (option, value, prefix) = match (name.take(), argument.split_once('=')) {
            (Some(option), _) => (option, argument.as_str(), String::new()),
            (None, Some((option, value))) if option.starts_with("--") => (option, value, format!("{option}=")),
            (None, _) => {
                name = [&FILES[..], &MAYBE_FILES].concat().into_iter().find(|option| option == argument);
                absolute.push(argument.clone());
                continue;
            }
        };
        absolute.push(if option == "--store" {
            format!("{prefix}{}", stated_store(&StorePlace::parse(value))?)
        } else if names_file(option, value, config) {
            format!("{prefix}{}", absolute_value(option, value)?)
        } else {
            argument.clone()
        });
    }
    let names_store = arguments.iter().any(|argument| argument == "--store" || argument.starts_with("--store="));
    if let Some(place) = config.named_store().filter(|_| !names_store) {
        absolute.extend(["--store".to_owned(), stated_store(place)?]);
    }
    Ok(absolute)
}

/// The value of an option that names a file, with its absolute path. A value of `--trust` may begin with kinds.
pub(crate) fn absolute_value(option: &str, value: &str) -> anyhow::Result<String> {
    let file = if option == "--trust" { without_kinds(value) } else { value };
    let kinds = value.strip_suffix(file).unwrap_or_default();
    Ok(format!("{kinds}{}", absolute_file(Path::new(file))?))
}

/// Whether the value of an option is the path of a file, and not the name of a key or of a signer.
pub(crate) fn names_file(option: &str, value: &str, config: &Config) -> bool {
    match option {
        _ if FILES.contains(&option) => true,
        // As `trusted_signers` and the keyring read them: a text without a dot and a slash is a name.
        "--trust" => {
            let signer = without_kinds(value);
            signer.contains(['.', '/']) && signer.parse::<SignerId>().is_err() && Path::new(signer).is_file()
        }
        "--key" => value.contains('/') || (!config.keyring().has(value) && Path::new(value).is_file()),
        _ => false,
    }
}

/// The folder that `$PROOFMARK_HOME` names, for programs that are started later, with few variables of this environment.
pub(crate) fn named_home(config: &Config) -> anyhow::Result<Option<String>> {
    let Some(home) = config.named_home() else { return Ok(None) };
    absolute_path(home.to_str().context("write PROOFMARK_HOME: it is not UTF-8")?).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_without_steps_up() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(folder.join("a/b")).unwrap();
        std::os::unix::fs::symlink(folder.join("a/b"), folder.join("link")).unwrap();
        let written = |path: &str| absolute_path(folder.join(path).to_str().unwrap()).unwrap();
        assert_eq!(written("a/../policy.yaml"), folder.join("policy.yaml").display().to_string());
        // Of the folder that the link leads to, and not of the one that it is in.
        assert_eq!(written("link/../policy.yaml"), folder.join("a/policy.yaml").display().to_string());
        assert_eq!(written("link/policy.yaml"), folder.join("link/policy.yaml").display().to_string());
        assert_eq!(written("gone/../policy.yaml"), folder.join("gone/../policy.yaml").display().to_string());
    }
}
