//! `proofmark decision revoke`.

use std::io::Write;

use clap::Args;
use proofmark_decider::{Decider, Revocation, RevokeError};
use proofmark_evidence::Reviewer;

use crate::config::Config;
use crate::exit::Exit;
use crate::options::{StoreAt, Trusting, Unlock};
use crate::out;
use crate::paint::printable;
use crate::receipt::read;

/// End an approval that reaches beyond one action
///
/// An approval for a session or a pattern counts until its time ends. Revoked, it counts for nothing; the revocation is a signed
/// receipt in the store. A denial of such an action ends it, too.
#[derive(Args)]
#[command(after_help = "Example:
  proofmark decision revoke 5b1d0c2a --key reviewer --note \"the migration is over\"")]
pub(crate) struct Revoke {
    /// The approval: the id of its receipt (the first digits suffice)
    #[arg(value_name = "ID")]
    approval: String,
    /// The reviewer's key: a name, or the path of a key file
    #[arg(long, value_name = "KEY")]
    key: String,
    /// The reason, for those who read it later
    #[arg(long, value_name = "TEXT")]
    note: String,
    #[command(flatten)]
    unlock: Unlock,
    /// Print the revocation as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    trusting: Trusting,
    #[command(flatten)]
    store: StoreAt,
}

impl Revoke {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let read::Stored::Receipt(approval) = read::stored(&self.approval, &self.store, config)? else {
            return Err(RevokeError::Unknown(self.approval).into());
        };
        let approval = approval.receipt_id().to_string();
        let key = self.unlock.load(config, &self.key)?;
        let trusted = self.trusting.deciders(config)?.with_own(key.signer());
        let store = self.store.open_existing(config)?;
        let reviewer = Reviewer::of_key(key.signer());
        let decider = Decider::for_command_line(None, key, store, trusted);
        let tenant = decider.tenant_of_approval(&approval)?;
        let revocation = decider.revoke(&Revocation {
            tenant: &tenant,
            approval: &approval,
            reviewer: &reviewer,
            note: &self.note,
        })?;
        let mut out = out::stdout();
        if self.json {
            out.json(&revocation.to_text())?;
        } else {
            let said = format!("revoked {approval} by {}, receipt {}", self.key, revocation.receipt_id());
            writeln!(out, "{}", printable(&said))?;
        }
        Ok(Exit::Yes)
    }
}
