//! Receipts in the notes of a repository, beside what they are about.

use std::fmt::Write;

use proofmark_receipt::Receipt;

use super::{GitError, Objects, Repository};

/// The reference of the notes in which receipts are.
pub const NOTES: &str = "refs/notes/proofmark";
/// The longest note, in bytes.
const MAX_NOTE_BYTES: u64 = 4 << 20;
/// The most receipts of a note that are read.
const MAX_NOTE_RECEIPTS: usize = 1_000;

/// What a note has: one receipt, or one a line.
#[derive(Clone, Debug, Default)]
pub struct Note {
    pub receipts: Vec<Receipt>,
    /// How many of its lines are something else. Anyone who can push can write a note, so these count for nothing.
    pub unreadable: usize,
}

impl Note {
    /// Reads a note.
    #[must_use]
    pub fn read(text: &[u8]) -> Self {
        if let Ok(receipt) = Receipt::parse(text) {
            return Self { receipts: vec![receipt], unreadable: 0 };
        }
        let mut note = Self::default();
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            match Receipt::parse(line) {
                Ok(receipt) if note.receipts.len() < MAX_NOTE_RECEIPTS => note.receipts.push(receipt),
                Ok(_) | Err(_) => note.unreadable += 1,
            }
        }
        note
    }

    /// The note as text, one receipt a line.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.receipts.iter().map(|receipt| format!("{}\n", receipt.to_text())).collect()
    }
}

impl Repository {
    /// The note on an object in these notes, which are a reference or the id of a commit; empty where there is none.
    ///
    /// # Errors
    /// [`GitError`], also for a note that is too long.
    pub fn note(&self, notes: &str, object: &str) -> Result<Note, GitError> {
        let Some(notes) = self.id_of(notes)? else { return Ok(Note::default()) };
        let mut objects = Objects::of(self)?;
        for path in places(object) {
            let found = objects.get(&format!("{notes}:{path}"), MAX_NOTE_BYTES)?;
            if let Some(note) = found.filter(|found| found.kind == "blob") {
                return Ok(Note::read(&note.content));
            }
        }
        Ok(Note::default())
    }

    /// Puts a note in the place of that on an object.
    ///
    /// # Errors
    /// [`GitError`].
    pub fn set_note(&self, notes: &str, object: &str, note: &Note) -> Result<(), GitError> {
        // By its object, since git would take lines and spaces out of a text.
        let blob = self.run("hash-object", &["-w", "--stdin"], note.to_text().as_bytes())?;
        let blob = String::from_utf8_lossy(&blob).trim_end().to_owned();
        let reference = format!("--ref={notes}");
        self.run("notes", &[&reference, "add", "--force", "--allow-empty", "-C", &blob, object], b"").map(drop)
    }
}

/// The paths at which the tree of notes may have that on an object: git adds folders as there are more notes.
fn places(object: &str) -> impl Iterator<Item = String> {
    (0..object.len() / 2).map(move |folders| {
        let mut path = String::with_capacity(object.len() + folders);
        for (at, digit) in object.chars().enumerate() {
            if at % 2 == 0 && at > 0 && at / 2 <= folders {
                path.push('/');
            }
            // A text takes in every character.
            let _ = path.write_char(digit);
        }
        path
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_looked_for_in_every_depth() {
        let paths: Vec<String> = places("0123ab").collect();
        assert_eq!(paths, ["0123ab", "01/23ab", "01/23/ab"]);
    }

    #[test]
    fn a_note_that_is_no_receipt_counts_for_nothing() {
        let note = Note::read(b"hello\n\n{}\n{\"receipt_id\":1}\n");
        assert!(note.receipts.is_empty() && note.unreadable == 3);
        assert!(Note::read(b"").receipts.is_empty());
    }
}
