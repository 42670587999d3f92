//! Pinned definitions of tools, in the store.

use proofmark_guard::Pin;
use proofmark_receipt::{Json, Sha256Digest};
use proofmark_store::{Store, StoreError, StoredPin, Tenant};

/// A definition of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolPin {
    pub server: String,
    pub tool: String,
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

/// The definitions of tools that are pinned or wait for approval, by server and tool.
///
/// # Errors
/// When the store cannot be read.
pub fn pins(store: &Store) -> Result<Vec<ToolPin>, StoreError> {
    let stored = store.of(&Tenant::LOCAL).pins()?;
    Ok(stored
        .into_iter()
        .filter_map(|stored| {
            // One that was changed in the store pins nothing.
            let document = Json::parse(stored.document.as_bytes()).ok()?;
            let definition = stored.definition;
            let status = stored.waits.map_or(PinStatus::Pinned, PinStatus::Waits);
            (Sha256Digest::of(&document.canonical_vrf()) == definition).then_some(ToolPin {
                server: stored.server,
                tool: stored.tool,
                definition,
                document,
                status,
            })
        })
        .collect())
}

/// Pins the definitions of a server's tools that wait for approval: of these tools, or of all. Returns the names of those
/// that were pinned.
///
/// # Errors
/// When the store cannot be read or written.
pub fn approve_pins(store: &Store, server: &str, tools: Option<&[String]>) -> Result<Vec<String>, StoreError> {
    let mut approved = Vec::new();
    for pin in pins(store)? {
        let wanted = pin.server == server && tools.is_none_or(|tools| tools.contains(&pin.tool));
        if !wanted || !pin.status.waits() {
            continue;
        }
        let tool = pin.tool.clone();
        let pin = Pin { server: pin.server, tool: pin.tool, definition: pin.definition, document: pin.document };
        store.of(&Tenant::LOCAL).submit(waiting_pin(&pin, None)).wait()?;
        approved.push(tool);
    }
    Ok(approved)
}

/// The definitions that are pinned.
pub(crate) fn pinned(store: &Store) -> Result<Vec<Pin>, StoreError> {
    let pins = pins(store)?.into_iter().filter(|pin| !pin.status.waits());
    Ok(pins
        .map(|pin| Pin { server: pin.server, tool: pin.tool, definition: pin.definition, document: pin.document })
        .collect())
}

/// A definition as it is stored: it waits for the reason given, or is pinned.
pub(crate) fn waiting_pin(pin: &Pin, waits: Option<String>) -> StoredPin {
    StoredPin {
        server: pin.server.clone(),
        tool: pin.tool.clone(),
        definition: pin.definition,
        document: pin.document.to_text(),
        waits,
    }
}
