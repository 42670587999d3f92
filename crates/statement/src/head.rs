//! The head of a chain, beside its name and its length.

use proofmark_receipt::ChainHead;

use crate::{Kind, Said, Section, text};

/// What the head of a chain says beside the name and the length of the chain.
#[must_use]
pub fn of_head(head: &ChainHead) -> Vec<Section> {
    let mut said = Said::default();
    said.words("when", text(head.document(), "signed_at"));
    said.say("last receipt", Kind::Digest, Some(head.tip().to_string()));
    vec![said.under(None)]
}
