//! Reads the entries of sessions, and verifies them before anything is believed that they say.

use std::ops::ControlFlow;

use proofmark_evidence::{Capability, Signers};
use proofmark_keys::verify_decision;
use proofmark_session::{SessionChain, SessionDocument};
use proofmark_store::TenantStore;

use crate::decide::{self, DecideError};

/// Hands over the entries of a session that come after those of `chain`, each as it is stored and as it is read; then `chain` has
/// them, too. What was handed over counts only if this succeeds: the end of the session is verified last.
///
/// # Errors
/// When the store cannot be read, when the entries are not linked up to one that is signed by one of `trusted`, and when the one about
/// the newest decision of the session is not among them.
pub(crate) fn read_on(
    store: &TenantStore<'_>,
    session: &str,
    chain: &mut SessionChain,
    trusted: &Signers,
    take: &mut dyn FnMut(&str, &SessionDocument),
) -> Result<(), DecideError> {
    // The decision first: what is decided meanwhile is in entries that are read after it.
    if let Some(decision) = store.last_decision_in(session)? {
        let receipt = decide::read(&decision)?;
        chain.expect(&decision.decision_id, receipt.asker().session, &verify_decision(&receipt, trusted))?;
    }
    let (mut wrong, before) = (None, chain.count());
    let end = store.session_since(session, before, &mut |text| match chain.add(text) {
        Ok(entry) => {
            take(text, entry);
            ControlFlow::Continue(())
        }
        Err(error) => {
            wrong = Some(error);
            ControlFlow::Break(())
        }
    })?;
    match wrong {
        Some(error) => Err(error.into()),
        None => {
            let trusted = trusted.of(Capability::Decision, chain.last_at().as_ref());
            Ok(chain.end(end.as_ref(), &trusted)?)
        }
    }
}

/// Hands over all entries of a session, each as it is stored and as it is read; how many there are. What was handed over counts only if
/// this succeeds.
///
/// # Errors
/// When the store cannot be read, when the entries are not linked from the first to the last, which one of `trusted` has signed, and when
/// the one about the newest decision of the session is not among them.
pub fn session_entries(
    store: &TenantStore<'_>,
    session: &str,
    trusted: &Signers,
    take: &mut dyn FnMut(&str, &SessionDocument),
) -> Result<u64, DecideError> {
    let mut chain = SessionChain::new(session);
    read_on(store, session, &mut chain, trusted, take)?;
    Ok(chain.count())
}
