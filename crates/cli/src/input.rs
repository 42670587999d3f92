//! Where requests come from: files, folders, lines of a file, standard input.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use proofmark_verifier::{Format, MAX_REQUEST_BYTES};

/// The largest file of requests read, in bytes: lines of a `.jsonl` are requests of their own.
const MAX_BATCH_BYTES: u64 = 1 << 30;

/// One request, unread, and what to call it in messages.
pub(crate) struct Source {
    /// The file it is from, which the files it names are beside.
    pub(crate) path: PathBuf,
    /// The file, with the line for one of many.
    pub(crate) label: String,
    pub(crate) format: Format,
    pub(crate) bytes: Vec<u8>,
}

/// The requests that `argument` stands for: a file, a folder of files, the lines of a `.jsonl`, or `-`.
pub(crate) fn sources(argument: &Path) -> anyhow::Result<Vec<Source>> {
    if argument == Path::new("-") {
        return from_stdin();
    }
    if argument.is_dir() {
        return from_folder(argument);
    }
    from_file(argument)
}

/// Reads a text file that must not be larger than `limit` bytes.
pub(crate) fn read_limited(path: &Path, limit: u64) -> anyhow::Result<Vec<u8>> {
    let file = File::open(path).with_context(|| format!("read `{}`", path.display()))?;
    drain(file, limit).with_context(|| format!("read `{}`", path.display()))
}

/// Reads standard input, at most `limit` bytes.
pub(crate) fn read_stdin(limit: u64) -> anyhow::Result<Vec<u8>> {
    drain(io::stdin().lock(), limit).context("read standard input")
}

fn drain(from: impl Read, limit: u64) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limit + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
        bail!("it is larger than {limit} bytes; make it smaller");
    }
    Ok(bytes)
}

fn from_stdin() -> anyhow::Result<Vec<Source>> {
    let bytes = read_stdin(MAX_BATCH_BYTES)?;
    // YAML has no braces at its beginning unless it is JSON as well.
    let json = bytes.iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|byte| *byte == b'{');
    let format = if json { Format::Json } else { Format::Yaml };
    Ok(vec![Source { path: PathBuf::new(), label: "standard input".to_owned(), format, bytes }])
}

fn from_folder(folder: &Path) -> anyhow::Result<Vec<Source>> {
    let context = || format!("read the folder `{}`", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(context)? {
        let path = entry.with_context(context)?.path();
        if path.is_file() && kind(&path).is_some() {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        bail!("find requests in the folder `{}`: it holds no .json, .yaml, .yml or .jsonl file", folder.display());
    }
    let mut all = Vec::new();
    for file in files {
        all.extend(from_file(&file)?);
    }
    Ok(all)
}

fn from_file(path: &Path) -> anyhow::Result<Vec<Source>> {
    let label = path.display().to_string();
    match kind(path) {
        Some(Kind::Lines) => from_lines(path, &label, &read_limited(path, MAX_BATCH_BYTES)?),
        Some(Kind::One(format)) => one(path, label, format),
        None => one(path, label, Format::Json),
    }
}

fn one(path: &Path, label: String, format: Format) -> anyhow::Result<Vec<Source>> {
    let bytes = read_limited(path, MAX_REQUEST_BYTES as u64)?;
    Ok(vec![Source { path: path.to_owned(), label, format, bytes }])
}

fn from_lines(path: &Path, label: &str, bytes: &[u8]) -> anyhow::Result<Vec<Source>> {
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    let filled = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
    let source = |(index, line): (usize, &[u8])| Source {
        path: path.to_owned(),
        label: format!("{label}:{}", index + 1),
        format: Format::Json,
        bytes: line.to_vec(),
    };
    let sources: Vec<Source> = filled.map(source).collect();
    match sources.is_empty() {
        true => Err(anyhow!("find requests in `{label}`: it is empty; write one request a line")),
        false => Ok(sources),
    }
}

enum Kind {
    One(Format),
    Lines,
}

fn kind(path: &Path) -> Option<Kind> {
    match path.extension()?.to_str()? {
        "json" => Some(Kind::One(Format::Json)),
        "yaml" | "yml" => Some(Kind::One(Format::Yaml)),
        "jsonl" | "ndjson" => Some(Kind::Lines),
        _ => None,
    }
}

/// Reads a text file a request names, beside the request.
pub(crate) fn beside(request: &Path, named: &str) -> Result<String, String> {
    let path = request.parent().unwrap_or(Path::new("")).join(named);
    let bytes = read_limited(&path, MAX_REQUEST_BYTES as u64).map_err(|error| format!("failed to {error:#}"))?;
    String::from_utf8(bytes).map_err(|_| format!("`{}` is not UTF-8 text", path.display()))
}

/// The submission in a file, which must be text.
pub(crate) fn submission(path: &Path) -> anyhow::Result<String> {
    let bytes = read_limited(path, MAX_REQUEST_BYTES as u64)?;
    String::from_utf8(bytes).map_err(|_| anyhow!("read the submission `{}`: it is not UTF-8 text", path.display()))
}
