//! Verifies a whole store: every document, every link, and everything that is kept of the rows beside them.
//!
//! Rows are read in portions, so memory does not grow with them; it grows with the number of different counts. What is verified
//! is what the store holds at one moment. That rows are missing at the end of a chain shows in the counts only: anyone who
//! can write the database can change both, and only a chain head that was signed before tells.

mod chains;
mod counts;
mod decisions;
pub(crate) mod scan;
mod sessions;
mod side;

use std::fmt;

use proofmark_receipt::Receipt;

use crate::engine::db::Db;
use crate::fault::Fault;
use crate::rows::decisions::Decision;

/// Something wrong in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// A short stable name of what is wrong.
    pub code: &'static str,
    pub table: &'static str,
    /// The row, by its id or its key.
    pub row: String,
    pub detail: String,
}

/// A signed document whose place, hash and columns are verified.
#[derive(Clone, Copy, Debug)]
pub enum StoredDocument<'a> {
    Receipt(&'a Receipt),
    Decision(&'a Decision),
    /// The entry of a session, by its id.
    Entry {
        id: &'a str,
        document: &'a str,
    },
}

/// Who is asked and told while a store is verified.
pub struct Checking<'a> {
    /// Verifies the signature, or says what is wrong. The store knows no keys.
    pub judge: &'a mut dyn FnMut(StoredDocument<'_>) -> Result<(), String>,
    pub found: &'a mut dyn FnMut(Wrong),
    /// Which table is read, and how many rows of it were.
    pub progress: &'a mut dyn FnMut(&'static str, u64),
}

/// What was verified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedStore {
    pub receipts: u64,
    /// Chains of receipts.
    pub chains: u64,
    pub decisions: u64,
    pub sessions: u64,
    pub entries: u64,
    /// How many faults were found.
    pub faults: u64,
}

/// A check that is under way.
struct Check<'a> {
    checking: Checking<'a>,
    checked: CheckedStore,
}

/// Verifies all that `db` shows.
///
/// # Errors
/// When the database cannot be read.
pub(crate) fn check(db: &Db<'_>, checking: Checking<'_>) -> Result<CheckedStore, Fault> {
    db.moment(|db| {
        let mut check = Check { checking, checked: CheckedStore::default() };
        check.file(db)?;
        chains::check(db, &mut check)?;
        decisions::check(db, &mut check)?;
        sessions::check(db, &mut check)?;
        side::check(db, &mut check)?;
        Ok(check.checked)
    })
}

impl Check<'_> {
    fn wrong(&mut self, code: &'static str, table: &'static str, row: String, detail: impl fmt::Display) {
        self.checked.faults += 1;
        (self.checking.found)(Wrong { code, table, row, detail: detail.to_string() });
    }

    fn judge(&mut self, table: &'static str, row: &str, document: StoredDocument<'_>) {
        if let Err(detail) = (self.checking.judge)(document) {
            self.wrong("signature", table, row.to_owned(), detail);
        }
    }

    fn progress(&mut self, table: &'static str, rows: u64) {
        (self.checking.progress)(table, rows);
    }

    /// What SQLite finds wrong in the pages of a file.
    fn file(&mut self, db: &Db<'_>) -> Result<(), Fault> {
        let Db::Sqlite(_) = db else { return Ok(()) };
        self.progress("file", 0);
        // So many and no more: one damaged page can make thousands of lines.
        let found: Vec<String> = db.all("PRAGMA quick_check(20)", &[], |row| row.get(0))?;
        for line in found.into_iter().filter(|line| line != "ok") {
            self.wrong("file", "file", "page".to_owned(), line);
        }
        Ok(())
    }
}
