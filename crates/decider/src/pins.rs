//! Pinned definitions of what servers have, in the store.

use proofmark_guard::{Pin, PinName};
use proofmark_receipt::{Json, Sha256Digest};
use proofmark_store::{StoreError, StoredPin, TenantStore};

/// A definition that is pinned or waits for approval.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownPin {
    pub server: String,
    pub name: PinName,
    /// SHA-256 of the definition in canonical form.
    pub definition: Sha256Digest,
    pub document: Json,
    pub status: PinStatus,
}

/// Whether a definition counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PinStatus {
    Pinned,
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
            let status = stored.waits.map_or(PinStatus::Pinned, PinStatus::Waits);
            (Sha256Digest::of(&document.canonical_vrf()) == definition).then_some(KnownPin {
                server: stored.server,
                name: PinName::from(&*stored.tool),
                definition,
                document,
                status,
            })
        })
        .collect())
}

/// Pins the definitions of a server that wait for approval: those of these names, or all. Returns the names of those that
/// were pinned.
///
/// # Errors
/// When the store cannot be read or written.
pub fn approve_pins(
    store: &TenantStore<'_>,
    server: &str,
    names: Option<&[PinName]>,
) -> Result<Vec<PinName>, StoreError> {
    let mut approved = Vec::new();
    for pin in pins(store)? {
        let is_wanted = pin.server == server && names.is_none_or(|names| names.contains(&pin.name));
        if !is_wanted || !pin.status.waits() {
            continue;
        }
        let name = pin.name.clone();
        store.submit(waiting_pin(&pin.into(), None)).wait()?;
        approved.push(name);
    }
    Ok(approved)
}

/// The definitions that are pinned.
pub(crate) fn pinned(store: &TenantStore<'_>) -> Result<Vec<Pin>, StoreError> {
    Ok(pins(store)?.into_iter().filter(|pin| !pin.status.waits()).map(Pin::from).collect())
}

impl From<KnownPin> for Pin {
    fn from(pin: KnownPin) -> Self {
        Self { server: pin.server, name: pin.name, definition: pin.definition, document: pin.document }
    }
}

/// A definition as it is stored: it waits for the reason given, or is pinned.
pub(crate) fn waiting_pin(pin: &Pin, waits: Option<String>) -> StoredPin {
    StoredPin {
        server: pin.server.clone(),
        tool: pin.name.to_string(),
        definition: pin.definition,
        document: pin.document.to_text(),
        waits,
    }
}
