//! `proofmark gate note`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use proofmark_git::{GitTree, NOTES, Repository};
use proofmark_receipt::document::counted;
use proofmark_receipt::{Json, object};
use proofmark_store::Tenant;

use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::options::StoreAt;
use crate::out;
use crate::paint::printable;
use crate::receipt::read;

/// Put the receipts of a tree into the notes of the repository
///
/// Notes are pushed by their own reference, as in `git push origin refs/notes/proofmark`.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark gate note --tree HEAD
  proofmark gate note --tree HEAD receipt.json")]
pub(crate) struct AddNote {
    /// The tree: a commit, a tag, a tree, or a folder as in HEAD:src
    #[arg(long, value_name = "TREE")]
    tree: String,
    /// Files of receipts, or ids of stored ones [default: those of the store over exactly this tree]
    #[arg(value_name = "FILE|ID")]
    receipts: Vec<String>,
    /// The repository [default: that of the current folder]
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,
    /// The notes
    #[arg(long, value_name = "REF", default_value = NOTES)]
    notes: String,
    #[command(flatten)]
    store: StoreAt,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl AddNote {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let repository = Repository::at(self.repo.as_deref());
        let revision = repository.revision(&self.tree)?;
        let found = match self.receipts.as_slice() {
            [] => {
                let digest = GitTree::read(&repository, &revision.tree, &|_| false)?.files_digest();
                let stored = self.store.open_if_there(config)?;
                let stored = stored
                    .map(|store| store.of(&Tenant::LOCAL).receipts_over(&digest.to_string(), &|_| None))
                    .transpose()?;
                stored.filter(|stored| !stored.is_empty()).ok_or_else(|| {
                    with_help(
                        format!("find receipts over the files of `{}`: the store has none", printable(&self.tree)),
                        "verify them first, as in `proofmark verify --dir . --tree HEAD`, or name the receipts",
                    )
                })?
            }
            named => {
                let receipts = named.iter().map(|named| read::receipts(named, &self.store, config));
                receipts.collect::<anyhow::Result<Vec<_>>>()?.concat()
            }
        };
        let mut note = repository.note(&self.notes, &revision.tree)?;
        let before = note.receipts.len();
        for receipt in found {
            if !note.receipts.iter().any(|other| other.content() == receipt.content()) {
                note.receipts.push(receipt);
            }
        }
        let added = note.receipts.len() - before;
        if added > 0 {
            repository.set_note(&self.notes, &revision.tree, &note)?;
        }
        let mut out = out::stdout();
        if self.json {
            let line = object! { "added": added as u64, "notes": self.notes.as_str(), "tree": revision.tree };
            out.json(&Json::Object(line).to_text())?;
            return Ok(Exit::Yes);
        }
        let (receipts, notes) = (counted(added as u64, "receipt"), printable(&self.notes));
        writeln!(out, "added {receipts} to {notes}, beside the tree {}", revision.tree)?;
        Ok(Exit::Yes)
    }
}
