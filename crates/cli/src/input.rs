//! Requests from files, folders, lines of a file and standard input.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use proofmark_verifier::{Format, MAX_REQUEST_BYTES};

use crate::error::{self, with_help};
use crate::source::{STDIN, format_of_text};

/// How many bytes of a line of a `.jsonl` are read: one more than the longest request, so that a longer one shows.
const MAX_LINE_BYTES: u64 = MAX_REQUEST_BYTES as u64 + 1;
/// The most files of requests in a folder.
const MAX_FOLDER_FILES: usize = 1_000_000;

/// The bytes of one request, and its name in messages.
pub(crate) struct Source {
    /// The file it is from; the files that it names are relative to this file's folder.
    pub(crate) path: PathBuf,
    /// The file; with the line, where the file has several requests.
    pub(crate) label: String,
    /// The line of the file at which it begins, from 1.
    pub(crate) line: u64,
    pub(crate) format: Format,
    pub(crate) bytes: Vec<u8>,
}

/// Requests, each read when the iterator reaches it.
pub(crate) type Sources = Box<dyn Iterator<Item = anyhow::Result<Source>>>;

/// The requests of a file, of a folder of files, of the lines of a `.jsonl`, or of standard input (`-`).
pub(crate) fn sources(argument: &Path) -> Sources {
    if argument == Path::new("-") {
        return Box::new(std::iter::once_with(from_stdin));
    }
    if !argument.is_dir() {
        return from_file(argument);
    }
    match files(argument) {
        Ok(files) => Box::new(files.into_iter().flat_map(|file| from_file(&file))),
        Err(error) => failed(error),
    }
}

/// Reads a file of at most `limit` bytes.
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
    // Reported sizes are not used: a pipe has none, and a file can grow. One byte more shows an excess.
    from.take(limit + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
        return Err(with_help(format!("it is larger than {limit} bytes"), "make it smaller"));
    }
    Ok(bytes)
}

fn failed(error: anyhow::Error) -> Sources {
    Box::new(std::iter::once(Err(error)))
}

fn from_stdin() -> anyhow::Result<Source> {
    let bytes = read_stdin(MAX_REQUEST_BYTES as u64)?;
    let format = format_of_text(&bytes);
    Ok(Source { path: PathBuf::new(), label: STDIN.to_owned(), line: 1, format, bytes })
}

/// The files of requests in a folder, sorted.
fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let context = || format!("read the folder `{}`", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(context)? {
        let path = entry.with_context(context)?.path();
        if path.is_file() && kind(&path).is_some() {
            files.push(path);
        }
        // Inside the loop, so that the list never takes more memory than the limit allows.
        if files.len() > MAX_FOLDER_FILES {
            return Err(with_help(
                format!("read the folder `{}`: it holds more than {MAX_FOLDER_FILES} requests", folder.display()),
                "split the folder",
            ));
        }
    }
    // The system lists a folder in any order; receipts are in the same order on every run.
    files.sort();
    if files.is_empty() {
        return Err(anyhow!(
            "find requests in the folder `{}`: it holds no .json, .yaml, .yml or .jsonl file",
            folder.display()
        ));
    }
    Ok(files)
}

fn from_file(path: &Path) -> Sources {
    let path = path.to_owned();
    match kind(&path) {
        Some(Kind::Lines) => match File::open(&path).with_context(|| format!("read `{}`", path.display())) {
            Ok(file) => Box::new(Lines { file: BufReader::new(file), path, line: 0, filled: false, ended: false }),
            Err(error) => failed(error),
        },
        Some(Kind::One(format)) => Box::new(std::iter::once_with(move || whole_file(path, format))),
        None => Box::new(std::iter::once_with(move || whole_file(path, Format::Json))),
    }
}

fn whole_file(path: PathBuf, format: Format) -> anyhow::Result<Source> {
    let bytes = read_limited(&path, MAX_REQUEST_BYTES as u64)?;
    Ok(Source { label: path.display().to_string(), path, line: 1, format, bytes })
}

/// The lines of a file; one is in memory at a time.
struct Lines {
    file: BufReader<File>,
    path: PathBuf,
    /// The number of the line read last.
    line: u64,
    /// Whether any line held a request.
    filled: bool,
    ended: bool,
}

impl Lines {
    /// The next line; `None` at the end of the file.
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        self.file.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes)?;
        if bytes.len() as u64 == MAX_LINE_BYTES && bytes.last() != Some(&b'\n') {
            // The rest of a line that is too long is skipped, not kept; the next line is then read from its beginning.
            self.file.skip_until(b'\n')?;
        }
        self.line += u64::from(!bytes.is_empty());
        Ok((!bytes.is_empty()).then_some(bytes))
    }

    fn source(&self, mut bytes: Vec<u8>) -> anyhow::Result<Source> {
        let label = format!("{}:{}", self.path.display(), self.line);
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        if bytes.len() > MAX_REQUEST_BYTES {
            let message = format!("read `{label}`: it is larger than {MAX_REQUEST_BYTES} bytes");
            return Err(with_help(message, "make it smaller"));
        }
        Ok(Source { path: self.path.clone(), label, line: self.line, format: Format::Json, bytes })
    }
}

impl Iterator for Lines {
    type Item = anyhow::Result<Source>;

    fn next(&mut self) -> Option<anyhow::Result<Source>> {
        while !self.ended {
            match self.read() {
                Ok(Some(line)) if line.trim_ascii().is_empty() => {}
                Ok(Some(line)) => {
                    self.filled = true;
                    return Some(self.source(line));
                }
                Ok(None) => self.ended = true,
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error).with_context(|| format!("read `{}`", self.path.display())));
                }
            }
            // An empty file is an error: among other arguments it would go unnoticed.
            if self.ended && !self.filled {
                let label = self.path.display();
                let message = format!("find requests in `{label}`: it is empty");
                return Some(Err(with_help(message, "write one request per line")));
            }
        }
        None
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

/// Reads a text file that a request names, relative to the request's folder.
pub(crate) fn beside(request: &Path, named: &str) -> Result<String, String> {
    let path = request.parent().unwrap_or(Path::new("")).join(named);
    let bytes = read_limited(&path, MAX_REQUEST_BYTES as u64)
        .map_err(|error| format!("failed to {}", error::message(&error)))?;
    String::from_utf8(bytes).map_err(|_| format!("`{}` is not UTF-8 text", path.display()))
}

/// Reads a submission, which must be text.
pub(crate) fn submission(path: &Path) -> anyhow::Result<String> {
    let bytes = read_limited(path, MAX_REQUEST_BYTES as u64)?;
    String::from_utf8(bytes).map_err(|_| anyhow!("read the submission `{}`: it is not UTF-8 text", path.display()))
}
