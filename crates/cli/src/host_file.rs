//! Configuration files of MCP hosts.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{self, Path, PathBuf};

use anyhow::Context;
use proofmark_receipt::Json;
use proofmark_server::replace_file;

/// The longest configuration of a host, in bytes.
pub(crate) const MAX_CONFIGURATION: u64 = 4 << 20;

/// The file that keeps what another had.
pub(crate) fn backup_of(path: &Path, suffix: &str) -> PathBuf {
    let mut backup = path.as_os_str().to_owned();
    backup.push(".");
    backup.push(suffix);
    backup.into()
}

/// Keeps what a file had, readable by those who could read it: configurations of other servers may have secrets.
pub(crate) fn back_up(path: &Path, suffix: &str, before: &[u8]) -> anyhow::Result<()> {
    let backup = backup_of(path, suffix);
    let context = || format!("write `{}`", backup.display());
    let mode = fs::metadata(path).with_context(context)?.permissions().mode() & 0o777;
    // One that is there keeps its own mode, so it goes first.
    drop(fs::remove_file(&backup));
    replace_file(&backup, &String::from_utf8_lossy(before), mode).with_context(context)
}

pub(crate) fn absolute_path(value: &str) -> anyhow::Result<String> {
    let path = path::absolute(value).with_context(|| format!("find the path `{value}`"))?;
    path.into_os_string().into_string().ok().context("write a path: it is not UTF-8")
}

/// The home that was set: hosts start programs with few variables of their own environment.
pub(crate) fn home_of_the_environment() -> anyhow::Result<Option<String>> {
    let Some(home) = std::env::var_os("PROOFMARK_HOME").filter(|home| !home.is_empty()) else { return Ok(None) };
    let home = home.into_string().ok().context("write PROOFMARK_HOME: it is not UTF-8")?;
    absolute_path(&home).map(Some)
}

/// JSON as people edit it: two spaces for each level; lists of texts stay on one line.
pub(crate) fn pretty(json: &Json) -> String {
    let mut text = String::new();
    write_pretty(json, 0, &mut text);
    text
}

fn write_pretty(json: &Json, depth: usize, text: &mut String) {
    let line = |text: &mut String, depth: usize| {
        text.push('\n');
        text.push_str(&"  ".repeat(depth));
    };
    match json {
        Json::Object(object) if object.iter().next().is_some() => {
            for (index, (name, member)) in object.iter().enumerate() {
                text.push_str(if index == 0 { "{" } else { "," });
                line(text, depth + 1);
                text.push_str(&format!("{}: ", Json::from(name).to_text()));
                write_pretty(member, depth + 1, text);
            }
            line(text, depth);
            text.push('}');
        }
        Json::Array(items) if items.iter().any(|item| item.as_str().is_none()) => {
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index == 0 { "[" } else { "," });
                line(text, depth + 1);
                write_pretty(item, depth + 1, text);
            }
            line(text, depth);
            text.push(']');
        }
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(Json::to_text).collect();
            text.push_str(&format!("[{}]", items.join(", ")));
        }
        plain => text.push_str(&plain.to_text()),
    }
}
