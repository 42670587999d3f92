//! Verifies a whole store: every document, every link, and everything that is kept of the rows beside them.
//!
//! Rows are read in portions, so memory does not grow with them; it grows with the number of different counts. What is verified
//! is what the store holds at one moment. That rows are missing at the end of a chain shows in the counts only: anyone who
//! can write the database can change both, and only a chain head that was signed before tells.

mod beside;
mod chains;
mod counts;
mod decisions;
mod log;
pub(crate) mod scan;
mod sessions;
mod side;

use std::fmt;

use proofmark_receipt::{Receipt, Sha256Digest};

use crate::engine::db::Db;
use crate::fault::Fault;
use crate::rows::counted::StoredCount;
use crate::rows::decisions::Decision;
use crate::rows::jobs::StoredJob;
use crate::rows::reviews::Review;
use crate::rows::runs::StepRun;
use crate::tenant::Tenant;

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

/// What only somebody can compare who knows what documents mean.
#[derive(Clone, Copy, Debug)]
pub enum StoredDocument<'a> {
    /// Its place, hash and columns are verified.
    Receipt(&'a Receipt),
    /// Its place and hash are verified.
    Decision(&'a Decision),
    /// The entry of a session, whose place and hash are verified.
    Entry {
        id: &'a str,
        session: &'a str,
        kind: &'a str,
        decision_id: Option<&'a str>,
        document: &'a str,
    },
    /// The facts that are kept of a decision, which has this document.
    Facts {
        decision: &'a str,
        facts: &'a str,
    },
    /// The request that a receipt answers, which has this document.
    Request {
        receipt: &'a str,
        request: &'a str,
    },
    /// A review, and the document of the approval that it names.
    Approval {
        review: &'a Review,
        receipt: &'a str,
    },
    Job(&'a StoredJob),
    /// A step of a run of this tenant.
    Step {
        tenant: &'a Tenant,
        step: &'a StepRun,
    },
    /// A content that a decision has spent, which has this document.
    Spent {
        content: &'a Sha256Digest,
        decision: &'a str,
    },
    /// An action that a decision has counted, which has this document.
    Counted {
        count: &'a StoredCount,
        decision: &'a str,
    },
}

/// Who is asked and told while a store is verified.
pub struct Checking<'a> {
    /// Verifies signatures, and compares what the store cannot read; what is wrong, or what a decision has used.
    pub judge: &'a mut dyn FnMut(StoredDocument<'_>) -> Result<Used, String>,
    pub found: &'a mut dyn FnMut(Wrong),
    /// Which table is read, and how many rows of it were.
    pub progress: &'a mut dyn FnMut(&'static str, u64),
}

/// What a decision has used, by its document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// The contents that it has spent.
    pub spent: Vec<Sha256Digest>,
    /// What it has counted: keys of limits, each with the number of the action under it.
    pub counted: Vec<(Sha256Digest, u64)>,
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

type Part = fn(&Db<'_>, &mut Check<'_>) -> Result<(), Fault>;

/// What is verified one after the other, by the table that it is about first.
const PARTS: [(&str, Part); 6] = [
    ("receipts", chains::check),
    ("decisions", decisions::check),
    ("session_entries", sessions::check),
    ("waiting", side::check),
    ("asked", beside::check),
    ("log_entries", log::check),
];

/// Verifies all that `db` shows.
///
/// # Errors
/// When the database cannot be read.
pub(crate) fn check(db: &Db<'_>, checking: Checking<'_>) -> Result<CheckedStore, Fault> {
    db.moment(|db| {
        let mut check = Check { checking, checked: CheckedStore::default() };
        check.file(db)?;
        for (table, part) in PARTS {
            match part(db, &mut check) {
                // A value that was never stored there. The other tables are verified all the same.
                Err(Fault::Changed(why)) => check.wrong("unreadable", table, "a row".to_owned(), why),
                done => done?,
            }
        }
        Ok(check.checked)
    })
}

impl Check<'_> {
    fn wrong(&mut self, code: &'static str, table: &'static str, row: String, detail: impl fmt::Display) {
        self.checked.faults += 1;
        (self.checking.found)(Wrong { code, table, row, detail: detail.to_string() });
    }

    /// What the document says was used.
    fn judge(&mut self, table: &'static str, row: &str, document: StoredDocument<'_>) -> Used {
        let is_signed =
            matches!(document, StoredDocument::Receipt(_) | StoredDocument::Decision(_) | StoredDocument::Entry { .. });
        (self.checking.judge)(document).unwrap_or_else(|detail| {
            self.wrong(if is_signed { "signature" } else { "column" }, table, row.to_owned(), detail);
            Used::default()
        })
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
