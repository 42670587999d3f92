//! Pinned definitions of tools: what a server said of a tool when a person, or the first session, accepted it.
//!
//! An agent chooses tools by what their definitions say, so a definition that changes after it was looked at can make the
//! agent do something else. A tool whose definition is not the pinned one is quarantined: it is listed, and its calls are
//! blocked until somebody approves it.

use std::collections::BTreeMap;

use proofmark_receipt::{Json, Object, Sha256Digest};

use crate::fold::folded;

/// The members of a definition that are pinned.
const PINNED: [&str; 9] =
    ["name", "title", "description", "inputSchema", "outputSchema", "annotations", "execution", "icons", "_meta"];
/// The longest text of one member that a difference shows, in characters.
const MAX_SHOWN: usize = 200;

/// What happens with a tool that was never pinned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pinning {
    /// It is pinned when it is first listed.
    #[default]
    Learn,
    /// It is quarantined until it is approved.
    Locked,
}

/// A pinned definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Pin {
    /// The identity of the server.
    pub server: String,
    pub tool: String,
    /// SHA-256 of the definition in canonical form.
    pub definition: Sha256Digest,
    /// The definition, for people.
    pub document: Json,
}

/// How a definition compares with what is pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PinState {
    Pinned,
    /// The definition is another one. The texts say what differs.
    Changed(Vec<String>),
    /// The definition is that of a pinned tool which has this name.
    Renamed(String),
    /// This server has a pinned tool of the same name.
    Shadowing(String),
    /// The name can be mistaken for another one, or is listed twice.
    Ambiguous,
    NotListed,
}

impl PinState {
    /// The word for it, as the fact `action.definition_state` has it.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Pinned => "pinned",
            Self::Changed(_) => "changed",
            Self::Renamed(_) => "renamed",
            Self::Shadowing(_) => "shadowing",
            Self::Ambiguous => "ambiguous",
            Self::NotListed => "not_listed",
        }
    }

    /// What a person should know about it; `None` for a pinned tool.
    #[must_use]
    pub fn explained(&self) -> Option<String> {
        match self {
            Self::Pinned => None,
            Self::Changed(differences) => Some(format!("its definition has changed: {}", differences.join("; "))),
            Self::Renamed(name) => Some(format!("it has the definition of the pinned tool `{name}`")),
            Self::Shadowing(server) => Some(format!("the server `{server}` has a tool of this name")),
            Self::Ambiguous => Some("its name can be mistaken for another name".to_owned()),
            Self::NotListed => Some("the server has not listed it".to_owned()),
        }
    }
}

/// A tool that the server has listed.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) state: PinState,
    pub(crate) definition: Sha256Digest,
    /// The names of the arguments that its schema declares.
    arguments: Vec<String>,
    /// Whether the server says that it changes something.
    pub(crate) said_to_change: bool,
}

/// The pins of all servers, and the tools that this server has listed.
#[derive(Debug, Default)]
pub struct Pins {
    pinning: Pinning,
    pinned: BTreeMap<(String, String), Pin>,
    listed: BTreeMap<String, Listed>,
}

impl Pins {
    /// The pins of all servers that are known.
    #[must_use]
    pub fn new(pinning: Pinning, pinned: Vec<Pin>) -> Self {
        let pinned = pinned.into_iter().map(|pin| ((pin.server.clone(), pin.tool.clone()), pin)).collect();
        Self { pinning, pinned, listed: BTreeMap::new() }
    }

    /// The listed tool of this name.
    pub(crate) fn listed(&self, tool: &str) -> Option<&Listed> {
        self.listed.get(tool)
    }

    /// Takes over what is pinned now. A quarantined tool whose definition was pinned meanwhile is so no longer.
    pub(crate) fn renew(&mut self, server: &str, pinned: Vec<Pin>) {
        self.pinned = pinned.into_iter().map(|pin| ((pin.server.clone(), pin.tool.clone()), pin)).collect();
        for (tool, listed) in &mut self.listed {
            let known = self.pinned.get(&(server.to_owned(), tool.clone()));
            if known.is_some_and(|known| known.definition == listed.definition) && listed.state != PinState::Ambiguous {
                listed.state = PinState::Pinned;
            }
        }
    }

    /// Whether a listed tool is quarantined.
    pub(crate) fn any_quarantined(&self) -> bool {
        self.listed.values().any(|listed| listed.state != PinState::Pinned)
    }

    /// Takes in a page of a server's list. Returns the definitions that were pinned now, and those that are quarantined.
    pub(crate) fn list(&mut self, server: &str, tools: &[Json]) -> (Vec<Pin>, Vec<(Pin, PinState)>) {
        let (mut new, mut quarantined) = (Vec::new(), Vec::new());
        let mut names: Vec<String> = Vec::new();
        for tool in tools.iter().filter_map(Json::as_object) {
            let Some(name) = tool.get("name").and_then(Json::as_str) else { continue };
            let pin = pin(server, name, tool);
            let twice = names.iter().any(|other| folded(other) == folded(name));
            names.push(name.to_owned());
            let state = if twice { PinState::Ambiguous } else { self.state(&pin, tools) };
            let state = match state {
                PinState::NotListed if self.pinning == Pinning::Learn => {
                    self.pinned.insert((server.to_owned(), name.to_owned()), pin.clone());
                    new.push(pin.clone());
                    PinState::Pinned
                }
                state => state,
            };
            if state != PinState::Pinned {
                quarantined.push((pin.clone(), state.clone()));
            }
            let listed =
                Listed { state, definition: pin.definition, arguments: arguments(tool), said_to_change: changes(tool) };
            self.listed.insert(name.to_owned(), listed);
        }
        (new, quarantined)
    }

    /// How a definition compares; `NotListed` for one that has nothing to do with what is pinned.
    fn state(&self, pin: &Pin, tools: &[Json]) -> PinState {
        // Names of tools are ASCII (the protocol's own advice); other letters look like them.
        if !pin.tool.is_ascii() || pin.tool.bytes().any(|byte| byte.is_ascii_control() || byte == b' ') {
            return self.known_or(pin, PinState::Ambiguous);
        }
        if let Some(known) = self.pinned.get(&(pin.server.clone(), pin.tool.clone())) {
            return match known.definition == pin.definition {
                true => PinState::Pinned,
                false => PinState::Changed(differences(&known.document, &pin.document)),
            };
        }
        let own = self.pinned.values().filter(|known| known.server == pin.server);
        let still_listed = |name: &str| {
            tools.iter().any(|tool| tool.as_object().and_then(|tool| tool.get("name")?.as_str()) == Some(name))
        };
        let shape = without_name(&pin.document);
        let mut own = own.filter(|known| !still_listed(&known.tool));
        if let Some(known) =
            own.find(|known| without_name(&known.document) == shape || folded(&known.tool) == folded(&pin.tool))
        {
            return PinState::Renamed(known.tool.clone());
        }
        let elsewhere =
            self.pinned.values().find(|known| known.server != pin.server && folded(&known.tool) == folded(&pin.tool));
        elsewhere.map_or(PinState::NotListed, |known| PinState::Shadowing(known.server.clone()))
    }

    /// `Pinned` for exactly what is pinned, else `other`.
    fn known_or(&self, pin: &Pin, other: PinState) -> PinState {
        match self.pinned.get(&(pin.server.clone(), pin.tool.clone())) {
            Some(known) if known.definition == pin.definition => PinState::Pinned,
            _ => other,
        }
    }
}

impl Listed {
    /// The name that differs from a declared argument in letter case only. Some servers take it for that argument.
    pub(crate) fn misspelled(&self, args: &Object) -> Option<String> {
        let wrong = args.iter().map(|(name, _)| name).find(|name| {
            let differs = |declared: &String| declared != name && folded(declared) == folded(name);
            !self.arguments.iter().any(|declared| declared == name) && self.arguments.iter().any(differs)
        });
        wrong.map(str::to_owned)
    }
}

fn pin(server: &str, name: &str, tool: &Object) -> Pin {
    let mut document = Object::new();
    for member in PINNED {
        if let Some(value) = tool.get(member) {
            document.insert(member, value.clone());
        }
    }
    let document = Json::Object(document);
    let definition = Sha256Digest::of(&document.canonical_vrf());
    Pin { server: server.to_owned(), tool: name.to_owned(), definition, document }
}

fn without_name(document: &Json) -> Option<Object> {
    let mut document = document.as_object()?.clone();
    document.remove("name");
    Some(document)
}

fn arguments(tool: &Object) -> Vec<String> {
    let properties = tool.get("inputSchema").and_then(|schema| schema.as_object()?.get("properties")?.as_object());
    properties.map_or_else(Vec::new, |properties| properties.iter().map(|(name, _)| name.to_owned()).collect())
}

/// Whether the annotations say that the tool changes something. Nothing follows from what they leave out.
fn changes(tool: &Object) -> bool {
    let hint = |name: &str| tool.get("annotations").and_then(|hints| hints.as_object()?.get(name)?.as_bool());
    hint("destructiveHint") == Some(true) || hint("readOnlyHint") == Some(false)
}

/// What differs between two definitions, member by member.
fn differences(before: &Json, after: &Json) -> Vec<String> {
    let member = |document: &Json, name: &str| document.as_object().and_then(|document| document.get(name).cloned());
    let differing = PINNED.iter().filter_map(|name| {
        let (before, after) = (member(before, name), member(after, name));
        (before != after).then(|| format!("`{name}` was {}, is {}", shown(before.as_ref()), shown(after.as_ref())))
    });
    differing.collect()
}

fn shown(value: Option<&Json>) -> String {
    let Some(value) = value else { return "absent".to_owned() };
    let text = value.to_text();
    let cut: String = text.chars().take(MAX_SHOWN).collect();
    match cut.len() < text.len() {
        true => format!("{cut}…"),
        false => cut,
    }
}
