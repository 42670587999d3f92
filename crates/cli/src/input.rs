//! Requests from files, folders, lines of a file and standard input.

use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use proofmark_checks::{Format, MAX_REQUEST_BYTES};

use crate::error::{self, with_help};
use crate::source::{STDIN, format_of_text};

/// How many bytes of a line of a `.jsonl` are read: one more than the longest request, so that a longer one shows.
const MAX_LINE_BYTES: u64 = MAX_REQUEST_BYTES as u64 + 1;
/// How large a file may be whose lines are counted before they are read.
const MAX_COUNTED_BYTES: u64 = 256 << 20;
/// The most files of requests in a folder.
const MAX_FOLDER_FILES: usize = 1_000_000;

/// The bytes of one request, and its name in messages.
pub(crate) struct Source {
    /// The file it is from; the files that it names are relative to this file's folder.
    pub(crate) path: PathBuf,
    /// Where in the file it begins.
    pub(crate) line: u64,
    pub(crate) format: Format,
    pub(crate) bytes: Vec<u8>,
}

/// What was read for a request, or why nothing was.
pub(crate) struct Input {
    /// The file; with the line, where the file has several requests.
    pub(crate) label: String,
    pub(crate) source: anyhow::Result<Source>,
}

/// Requests, each read when the iterator reaches it.
pub(crate) type Sources = Box<dyn Iterator<Item = Input>>;

/// The requests of a file, of a folder of files, of the lines of a `.jsonl`, or of standard input (`-`).
pub(crate) fn sources(argument: &Path) -> Sources {
    if argument == Path::new("-") {
        return once(STDIN.to_owned(), from_stdin);
    }
    if !argument.is_dir() {
        return from_file(argument);
    }
    match files(argument) {
        Ok(files) => Box::new(files.into_iter().flat_map(|file| from_file(&file))),
        Err(error) => once(argument.display().to_string(), || Err(error)),
    }
}

/// How many requests there are, where that is known without waiting for them: `None` for a pipe.
pub(crate) fn count(argument: &Path) -> Option<u64> {
    if argument == Path::new("-") {
        return Some(1);
    }
    if argument.is_dir() {
        return files(argument).ok()?.iter().map(|path| count(path)).sum();
    }
    let about = fs::metadata(argument).ok()?;
    match kind(argument) {
        Some(Kind::Lines) if about.is_file() && about.len() <= MAX_COUNTED_BYTES => {
            let lines = BufReader::new(File::open(argument).ok()?).split(b'\n');
            Some(lines.map_while(Result::ok).filter(|line| !line.trim_ascii().is_empty()).count() as u64)
        }
        Some(Kind::Lines) => None,
        Some(Kind::One(_)) | None => Some(1),
    }
}

/// Reads a file of at most `limit` bytes.
pub(crate) fn read_limited(path: &Path, limit: u64) -> anyhow::Result<Vec<u8>> {
    let mut file = File::open(path).with_context(|| format!("read `{}`", path.display()))?;
    unchanged(&mut file, |file| drain(file, limit)).with_context(|| format!("read `{}`", path.display()))
}

/// What is read from a file, unless somebody writes to it meanwhile: half of a policy is another policy.
fn unchanged<T>(file: &mut File, read: impl FnOnce(&mut File) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let before = file.metadata()?;
    let found = read(file)?;
    let after = file.metadata()?;
    let version = |about: &Metadata| (about.size(), about.mtime(), about.mtime_nsec());
    if before.is_file() && version(&before) != version(&after) {
        return Err(with_help(
            "it changes while it is read",
            "try again when it is written; a file that takes its place by a rename is always whole",
        ));
    }
    Ok(found)
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
        return Err(too_large(limit));
    }
    Ok(bytes)
}

/// The error of a file that is larger than `limit` bytes.
pub(crate) fn too_large(limit: u64) -> anyhow::Error {
    with_help(format!("it is larger than {limit} bytes"), "make it smaller")
}

/// One request, which is read when the iterator reaches it.
fn once(label: String, read: impl FnOnce() -> anyhow::Result<Source> + 'static) -> Sources {
    Box::new(std::iter::once_with(move || Input { source: read(), label }))
}

fn from_stdin() -> anyhow::Result<Source> {
    let bytes = read_stdin(MAX_REQUEST_BYTES as u64)?;
    let format = format_of_text(&bytes);
    Ok(Source { path: PathBuf::new(), line: 1, format, bytes })
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
        // It is counted inside the loop, so that the list never takes more memory than the limit allows.
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
    let label = path.display().to_string();
    match kind(&path) {
        None if is_code(&path) && path.is_file() => {
            let message = format!("read the request `{label}`: this is not a request");
            let help = format!("give the code with `--submission {label}` beside a suite");
            once(label, || Err(with_help(message, help)))
        }
        Some(Kind::Lines) => match File::open(&path).with_context(|| format!("read `{}`", path.display())) {
            Ok(file) => Box::new(Lines { file: BufReader::new(file), path, line: 0, filled: false, ended: false }),
            Err(error) => once(label, || Err(error)),
        },
        Some(Kind::One(format)) => once(label, move || whole_file(path, format)),
        None => once(label, move || whole_file(path, Format::Json)),
    }
}

fn whole_file(path: PathBuf, format: Format) -> anyhow::Result<Source> {
    let bytes = read_limited(&path, MAX_REQUEST_BYTES as u64)?;
    Ok(Source { path, line: 1, format, bytes })
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

    fn label(&self) -> String {
        format!("{}:{}", self.path.display(), self.line)
    }

    fn source(&self, mut bytes: Vec<u8>) -> anyhow::Result<Source> {
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        if bytes.len() > MAX_REQUEST_BYTES {
            let message = format!("read `{}`: it is larger than {MAX_REQUEST_BYTES} bytes", self.label());
            return Err(with_help(message, "make it smaller"));
        }
        Ok(Source { path: self.path.clone(), line: self.line, format: Format::Json, bytes })
    }
}

impl Iterator for Lines {
    type Item = Input;

    fn next(&mut self) -> Option<Input> {
        while !self.ended {
            match self.read() {
                Ok(Some(line)) if line.trim_ascii().is_empty() => {}
                Ok(Some(line)) => {
                    self.filled = true;
                    return Some(Input { label: self.label(), source: self.source(line) });
                }
                Ok(None) => self.ended = true,
                Err(error) => {
                    self.ended = true;
                    let source = Err(error).with_context(|| format!("read `{}`", self.path.display()));
                    return Some(Input { label: self.label(), source });
                }
            }
            // An empty file is an error: among other arguments it would go unnoticed.
            if self.ended && !self.filled {
                let label = self.path.display().to_string();
                let message = format!("find requests in `{label}`: it is empty");
                return Some(Input { label, source: Err(with_help(message, "write one request per line")) });
            }
        }
        None
    }
}

enum Kind {
    One(Format),
    Lines,
}

/// Whether the name is that of code.
fn is_code(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("py" | "js" | "mjs" | "ts" | "rb" | "sh"))
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// What is read of a file while `meanwhile` is done.
    fn read_while(path: &Path, meanwhile: impl FnOnce()) -> anyhow::Result<Vec<u8>> {
        let mut file = File::open(path).unwrap();
        unchanged(&mut file, |file| {
            let read = drain(file, 100);
            meanwhile();
            read
        })
    }

    #[test]
    fn half_of_a_file_that_is_written_is_not_taken_for_it() {
        let folder = tempfile::TempDir::new().unwrap();
        let (path, new) = (folder.path().join("policy"), folder.path().join("new"));
        fs::write(&path, "half").unwrap();
        fs::write(&new, "whole").unwrap();
        assert_eq!(read_while(&path, || ()).unwrap(), b"half");
        let grown = || fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b" more").unwrap();
        assert!(read_while(&path, grown).unwrap_err().to_string().contains("changes while it is read"));
        // What it had when it was opened is whole.
        assert_eq!(read_while(&path, || fs::rename(&new, &path).unwrap()).unwrap(), b"half more");
        assert_eq!(read_limited(&path, 100).unwrap(), b"whole");
    }
}
