//! Pinned definitions of what servers have, in the store.

use std::collections::BTreeSet;

use proofmark_guard::{Pin, PinName};
use proofmark_receipt::{Json, Sha256Digest};
use proofmark_store::{StoreError, StoredPin, TenantStore};

/// The most definitions of a server that wait in the store: it may list others each time. What is left out is quarantined all the same.
pub(crate) const MAX_WAITING: usize = 1_000;

/// A definition that is pinned or waits for approval.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownPin {
    pub server: String,
    pub name: PinName,
    /// The account or the API key whose server has listed it. Empty for one that a person approved, which is of the tenant, and for one
    /// of a guard that decides itself.
    pub account: String,
    /// SHA-256 of the definition in canonical form.
    pub definition: Sha256Digest,
    pub document: Json,
    pub status: PinStatus,
}

/// Whether a definition counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PinStatus {
    /// It was pinned because the server listed it first.
    Pinned,
    /// A person approved it.
    Approved,
    /// It waits for approval, for this reason.
    Waits(String),
}

impl PinStatus {
    /// Whether it waits for approval.
    #[must_use]
    pub fn waits(&self) -> bool {
        matches!(self, Self::Waits(_))
    }
}

/// The definitions of a tenant that are pinned or wait for approval, by server and name; what is pinned comes before what waits.
///
/// # Errors
/// When the store cannot be read.
pub fn pins(store: &TenantStore<'_>) -> Result<Vec<KnownPin>, StoreError> {
    let stored = store.pins()?;
    Ok(stored
        .into_iter()
        .filter_map(|stored| {
            // One that was changed in the store pins nothing.
            let document = Json::parse(stored.document.as_bytes()).ok()?;
            let definition = stored.definition;
            let pinned = if stored.is_approved { PinStatus::Approved } else { PinStatus::Pinned };
            let status = stored.waits.map_or(pinned, PinStatus::Waits);
            (Sha256Digest::of(&document.canonical_vrf()) == definition).then_some(KnownPin {
                server: stored.server,
                name: PinName::from(&*stored.tool),
                account: stored.account,
                definition,
                document,
                status,
            })
        })
        .collect())
}

/// The accounts whose definitions of a server no person has approved.
#[must_use]
pub fn accounts_to_approve<'a>(known: &'a [KnownPin], server: &'a str) -> BTreeSet<&'a str> {
    to_approve(known, server).map(|pin| &*pin.account).collect()
}

/// What a person has looked at who approves all definitions of a server: SHA-256 over their names and digests. Another definition, one
/// more or one less has another.
#[must_use]
pub fn digest_to_approve(known: &[KnownPin], server: &str) -> Sha256Digest {
    let of =
        |pin: &KnownPin| Json::from(vec![Json::from(pin.name.to_string()), Json::from(pin.definition.to_string())]);
    Sha256Digest::of(&Json::from(to_approve(known, server).map(of).collect::<Vec<_>>()).canonical_vrf())
}

/// Approves definitions of a server that no person has approved, as they are in `known`: those of these names, or all. Those that wait
/// are pinned. Returns their names.
///
/// # Errors
/// When the store cannot be written.
pub fn approve_pins(
    store: &TenantStore<'_>,
    known: &[KnownPin],
    server: &str,
    names: Option<&[PinName]>,
) -> Result<Vec<PinName>, StoreError> {
    let mut approved = Vec::new();
    for pin in to_approve(known, server) {
        if names.is_some_and(|names| !names.contains(&pin.name)) {
            continue;
        }
        let stored = StoredPin { is_approved: true, ..waiting_pin(&pin.clone().into(), "", None) };
        store.submit(stored).wait()?;
        approved.push(pin.name.clone());
    }
    Ok(approved)
}

/// The definitions of a server that no person has approved. Of what was pinned and what waits in its place, it is the latter, which is what
/// the server has.
fn to_approve<'a>(known: &'a [KnownPin], server: &'a str) -> impl Iterator<Item = &'a KnownPin> {
    let waiting: BTreeSet<_> = waiting(known, server).map(|pin| (&*pin.account, &pin.name)).collect();
    let of_server = known.iter().filter(move |pin| pin.server == server && pin.status != PinStatus::Approved);
    of_server.filter(move |pin| pin.status.waits() || !waiting.contains(&(&*pin.account, &pin.name)))
}

/// The definitions of a server that wait.
fn waiting<'a>(known: &'a [KnownPin], server: &'a str) -> impl Iterator<Item = &'a KnownPin> {
    known.iter().filter(move |pin| pin.server == server && pin.status.waits())
}

/// The names of those of a server that wait, as this account has listed them.
pub(crate) fn names_that_wait(known: &[KnownPin], server: &str, account: &str) -> BTreeSet<PinName> {
    waiting(known, server).filter(|pin| pin.account == account).map(|pin| pin.name.clone()).collect()
}

/// Those of these definitions that are pinned for an account: what a person approved, and what servers of this account have listed first.
/// So no account has the servers of another one quarantined.
pub(crate) fn pinned_for(known: Vec<KnownPin>, account: &str) -> Vec<Pin> {
    let counts = |pin: &KnownPin| match pin.status {
        PinStatus::Approved => true,
        PinStatus::Pinned => pin.account == account,
        PinStatus::Waits(_) => false,
    };
    let mut pinned: Vec<Pin> = known.into_iter().filter(counts).map(Pin::from).collect();
    // Of two under one name the last one counts.
    pinned.sort_by_key(|pin| pin.is_approved);
    pinned
}

impl From<KnownPin> for Pin {
    fn from(pin: KnownPin) -> Self {
        let is_approved = pin.status == PinStatus::Approved;
        Self { server: pin.server, name: pin.name, definition: pin.definition, document: pin.document, is_approved }
    }
}

/// A definition that an account has listed, as it is stored: it waits for the reason given, or is pinned.
pub(crate) fn waiting_pin(pin: &Pin, account: &str, waits: Option<String>) -> StoredPin {
    StoredPin {
        server: pin.server.clone(),
        tool: pin.name.to_string(),
        account: account.to_owned(),
        definition: pin.definition,
        document: pin.document.to_text(),
        is_approved: false,
        waits,
    }
}
