//! Objects by their ids, from one process of git.
//!
//! Git gives out what a file or a pack has under an id without looking whether it has this id: anyone who can write to the repository
//! can put other bytes there. So the id is computed again.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use proofmark_receipt::hex;
use sha1::{Digest, Sha1};
use sha2::Sha256;

use super::{GitError, Repository};

/// The longest line that git writes before an object.
const MAX_HEADER: u64 = 64 << 10;
/// The most ids that git is asked for at once: a pipe holds a page at least, so writing them does not wait for git, which may itself
/// wait until its answers are read.
pub(crate) const MOST_ASKED: usize = 60;
/// How many digits an id of SHA-1 has.
const SHA1_DIGITS: usize = 40;

/// A running `git cat-file --batch`.
pub(crate) struct Objects {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

/// An object.
pub(crate) struct Object {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) content: Vec<u8>,
}

impl Objects {
    pub(crate) fn of(repository: &Repository) -> Result<Self, GitError> {
        let mut command = repository.command();
        command.args(["cat-file", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(GitError::Start)?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(stdin), Some(stdout)) => Ok(Self { child, stdin, stdout: BufReader::new(stdout) }),
            _ => Err(GitError::Unknown("cat-file")),
        }
    }

    /// The object that a name stands for, if there is one.
    ///
    /// # Errors
    /// Also for an object of more than `most` bytes, after which no other can be read, and for one with content of another id.
    pub(crate) fn get(&mut self, name: &str, most: u64) -> Result<Option<Object>, GitError> {
        // Each line is a name, so a name with a line break would be two.
        if name.contains(['\n', '\0']) {
            return Ok(None);
        }
        self.ask(&[name])?;
        self.answer(name, most)
    }

    /// Asks for several objects at once, which git reads while others are looked at. The answer to each has to be taken, in this order,
    /// before another one is asked for.
    ///
    /// # Errors
    /// When git has ended.
    pub(crate) fn ask(&mut self, names: &[&str]) -> Result<(), GitError> {
        debug_assert!(names.len() <= MOST_ASKED, "more names than a pipe is sure to hold");
        let lines: String = names.iter().map(|name| format!("{name}\n")).collect();
        self.stdin.write_all(lines.as_bytes())?;
        Ok(self.stdin.flush()?)
    }

    /// The next answer, of which the name is given again.
    ///
    /// # Errors
    /// As [`Objects::get`].
    pub(crate) fn answer(&mut self, name: &str, most: u64) -> Result<Option<Object>, GitError> {
        const UNKNOWN: GitError = GitError::Unknown("cat-file");
        let mut header = Vec::new();
        self.stdout.by_ref().take(MAX_HEADER).read_until(b'\n', &mut header)?;
        let header = String::from_utf8(header).map_err(|_| UNKNOWN)?;
        let header = header.strip_suffix('\n').ok_or(UNKNOWN)?;
        // The name comes first, and may have spaces.
        if header.ends_with(" missing") || header.ends_with(" ambiguous") {
            return Ok(None);
        }
        let mut parts = header.split(' ');
        let (Some(id), Some(kind), Some(bytes), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
            return Err(UNKNOWN);
        };
        let bytes: u64 = bytes.parse().map_err(|_| UNKNOWN)?;
        if !super::is_id(id) {
            return Err(UNKNOWN);
        }
        if bytes > most {
            return Err(GitError::TooLarge { id: id.to_owned(), bytes, most });
        }
        let mut content = Vec::new();
        self.stdout.by_ref().take(bytes + 1).read_to_end(&mut content)?;
        match content.pop() {
            Some(b'\n') if content.len() as u64 == bytes => {}
            _ => return Err(UNKNOWN),
        }
        let object = Object { id: id.to_owned(), kind: kind.to_owned(), content };
        // Of a name that is an id, git looks up the same one.
        if object.has_its_id() && (!super::is_id(name) || name == id) {
            Ok(Some(object))
        } else {
            Err(GitError::OtherContent(id.to_owned()))
        }
    }
}

impl Object {
    /// Whether its content has its id: `HASH(kind || " " || length || 0 || content)`.
    fn has_its_id(&self) -> bool {
        let head = format!("{} {}\0", self.kind, self.content.len());
        let digest = if self.id.len() == SHA1_DIGITS {
            Sha1::new().chain_update(&head).chain_update(&self.content).finalize().to_vec()
        } else {
            Sha256::new().chain_update(&head).chain_update(&self.content).finalize().to_vec()
        };
        hex::encode(&digest) == self.id
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        // It ends by itself when its input does, unless it is in the middle of an object that nobody reads.
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}
