//! Entries of a session as they are read again, before anything is believed that they say.

use proofmark_receipt::{ChainTip, Json, SignatureStatus, SignerId, Trust, shown, verify_document};

use crate::document::SessionDocument;

/// The entries of a session in their order, each of which must be linked to the one before it.
///
/// Only the signature of the last entry is verified, by [`SessionChain::end`]: it covers the hash of the entry before it, and so
/// all others. A signer who counts appends to a session only after it has verified it in the same way.
#[derive(Clone, Debug)]
pub struct SessionChain {
    session: String,
    tip: Option<ChainTip>,
    /// The last entry that was added, as long as its signature is not verified.
    last: Option<SessionDocument>,
}

/// Why the entries of a session say nothing. The message completes "failed to …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rely on the session `{session}`: {fault}")]
pub struct SessionError {
    session: String,
    fault: Fault,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Fault {
    #[error("entry {0} cannot be read")]
    Unreadable(u64),
    #[error("entry {0}, {1}, belongs to another session")]
    OtherSession(u64, String),
    #[error("entry {0}, {1}, is not linked to the one before it")]
    NotLinked(u64, String),
    #[error("entry {0}, {1}, is not signed by a trusted key ({2})")]
    Unsigned(u64, String, String),
    #[error("its end is missing: {1} entries were there, and it has {0}")]
    Truncated(u64, u64),
    #[error("entry {0} was replaced")]
    Replaced(u64),
}

impl SessionError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        let text = match self.fault {
            Fault::Unsigned(..) => "begin another session, or add its signer with `proofmark trust add` if it is yours",
            Fault::Unreadable(_)
            | Fault::OtherSession(..)
            | Fault::NotLinked(..)
            | Fault::Truncated(..)
            | Fault::Replaced(_) => "begin another session, and find out who has changed the store",
        };
        Some(text.to_owned())
    }
}

impl SessionChain {
    /// The session of this name, of which nothing was read yet.
    #[must_use]
    pub fn new(session: &str) -> Self {
        Self { session: session.to_owned(), tip: None, last: None }
    }

    /// The last entry; `None` for a session without entries.
    #[must_use]
    pub fn tip(&self) -> Option<&ChainTip> {
        self.tip.as_ref()
    }

    /// How many entries it has.
    #[must_use]
    pub fn count(&self) -> u64 {
        count(self.tip())
    }

    /// Adds the next entry.
    ///
    /// # Errors
    /// When it is not an entry of this session, or does not follow the one before it.
    pub fn add(&mut self, text: &str) -> Result<&SessionDocument, SessionError> {
        let at = self.count();
        let entry = Json::parse(text.as_bytes()).ok().and_then(SessionDocument::read);
        let entry = entry.ok_or_else(|| self.error(Fault::Unreadable(at)))?;
        let id = || entry.link().id.to_string();
        if entry.session() != self.session {
            return Err(self.error(Fault::OtherSession(at, id())));
        }
        let tip = entry.link().follows(self.tip());
        self.tip = Some(tip.ok_or_else(|| self.error(Fault::NotLinked(at, id())))?);
        Ok(self.last.insert(entry))
    }

    /// Verifies that one of `trusted` has signed the last entry that was added. `stored` is the end as the store has it, beside the
    /// entries: they must be the same.
    ///
    /// # Errors
    /// When the last entry is not signed so, and when entries are missing at the end.
    pub fn end(&mut self, stored: Option<&ChainTip>, trusted: &[SignerId]) -> Result<(), SessionError> {
        if let Some((entry, tip)) = self.last.as_ref().zip(self.tip()) {
            let verification = verify_document(entry.document(), trusted);
            let cause = match (&verification.answer, verification.trust) {
                (SignatureStatus::Valid, Trust::Trusted) => None,
                (SignatureStatus::Valid, Trust::Untrusted | Trust::Unknown) => {
                    Some("its signer is not trusted".to_owned())
                }
                (answer, _) => Some(answer.cause().unwrap_or_else(|| answer.as_str().to_owned())),
            };
            if let Some(cause) = cause {
                return Err(self.error(Fault::Unsigned(tip.position, tip.receipt_id.to_string(), cause)));
            }
        }
        self.last = None;
        if count(stored) < self.count() {
            return Err(self.error(Fault::Truncated(count(stored), self.count())));
        }
        if stored != self.tip() {
            return Err(self.error(Fault::Replaced(self.count().saturating_sub(1))));
        }
        Ok(())
    }

    /// Takes over the end that a trusted signer has just appended to the entries that were added here.
    pub fn appended(&mut self, tip: Option<ChainTip>) {
        if tip.is_some() {
            self.tip = tip;
        }
    }

    fn error(&self, fault: Fault) -> SessionError {
        SessionError { session: shown(&self.session), fault }
    }
}

fn count(tip: Option<&ChainTip>) -> u64 {
    tip.map_or(0, |tip| tip.position.saturating_add(1))
}
