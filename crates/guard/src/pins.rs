//! Pinned definitions: what a server said of a tool, a prompt, a template of resources and of itself when a person, or the
//! first session, accepted it.
//!
//! An agent acts by what definitions say, so a definition that changes after it was looked at can make the agent do
//! something else. What has another definition than the pinned one is quarantined: it is listed, and its use is blocked
//! until somebody approves it.

use std::collections::{BTreeMap, BTreeSet};

use proofmark_receipt::{Json, Object, Sha256Digest};

use crate::fold::folded;
use crate::headers::{self, Mirrored};
use crate::pin::{Difference, Pin, PinKind, PinName};

/// What happens with a definition that was never pinned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pinning {
    /// It is pinned when it is first listed.
    #[default]
    Learn,
    /// It is quarantined until it is approved.
    Locked,
}

/// How a definition compares with what is pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PinState {
    Pinned,
    /// The definition is another one, in these members.
    Changed(Vec<Difference>),
    /// The definition is the one that is pinned under this name.
    Renamed(String),
    /// A person approved a tool of this name on this server.
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

    /// What a person should know about it; `None` where it is pinned.
    #[must_use]
    pub fn explained(&self) -> Option<String> {
        match self {
            Self::Pinned => None,
            Self::Changed(differences) => {
                let differences: Vec<_> = differences.iter().map(ToString::to_string).collect();
                Some(format!("its definition has changed: {}", differences.join("; ")))
            }
            Self::Renamed(name) => Some(format!("it has the definition that is pinned as `{name}`")),
            Self::Shadowing(server) => {
                Some(format!("the server `{server}` has a tool of this name, which a person approved"))
            }
            Self::Ambiguous => Some("its name can be mistaken for another name".to_owned()),
            Self::NotListed => Some("the server has not listed it".to_owned()),
        }
    }
}

/// What the server has listed under a name.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) state: PinState,
    pub(crate) definition: Sha256Digest,
    /// The names of the arguments that the schema of a tool declares.
    arguments: Vec<String>,
    /// Those of them that headers repeat over HTTP.
    pub(crate) mirrored: Vec<Mirrored>,
    /// Whether the server says of a tool that it changes something.
    pub(crate) said_to_change: bool,
}

/// What follows from definitions that were listed.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// They are pinned from here on.
    pub(crate) pinned: Vec<Pin>,
    /// They are quarantined, and were not before.
    pub(crate) quarantined: Vec<(Pin, PinState)>,
    /// Tools that were pinned although another server, which is named, has one of this name: no person has said whose it is.
    pub(crate) alike: Vec<(String, String)>,
    /// How many are not pinned, since they are too long or too many.
    pub(crate) left_out: usize,
}

/// The most definitions of a server that are pinned, quarantined or listed.
const MAX_DEFINITIONS: usize = 1_000;

/// The pins of all servers, and what this server has listed.
#[derive(Debug, Default)]
pub struct Pins {
    pinning: Pinning,
    pinned: BTreeMap<(String, PinName), Pin>,
    listed: BTreeMap<PinName, Listed>,
}

impl Pins {
    /// The pins of all servers that are known.
    #[must_use]
    pub fn new(pinning: Pinning, pinned: Vec<Pin>) -> Self {
        Self { pinning, pinned: by_name(pinned), listed: BTreeMap::new() }
    }

    /// What is listed under this name.
    pub(crate) fn listed(&self, kind: PinKind, name: &str) -> Option<&Listed> {
        self.listed.get(&PinName::new(kind, name))
    }

    /// The listed templates that a URI may be of. Of several, one that is quarantined.
    pub(crate) fn template_of(&self, uri: &str) -> Option<&Listed> {
        let templates = self.listed.iter().filter(|(name, _)| name.kind == PinKind::Template);
        let mut matching = templates.filter(|(name, _)| may_expand_to(&name.name, uri)).map(|(_, listed)| listed);
        let first = matching.next()?;
        std::iter::once(first).chain(matching).find(|listed| listed.state != PinState::Pinned).or(Some(first))
    }

    /// Takes over what is pinned now. What is quarantined and was pinned meanwhile is so no longer.
    pub(crate) fn renew(&mut self, server: &str, pinned: Vec<Pin>) {
        self.pinned = by_name(pinned);
        for (name, listed) in &mut self.listed {
            let known = self.pinned.get(&(server.to_owned(), name.clone()));
            // An approval is of a definition, and cannot make a name unambiguous.
            if known.is_some_and(|known| known.definition == listed.definition) && listed.state != PinState::Ambiguous {
                listed.state = PinState::Pinned;
            }
        }
    }

    /// Whether something that is listed is quarantined.
    pub(crate) fn any_quarantined(&self) -> bool {
        self.listed.values().any(|listed| listed.state != PinState::Pinned)
    }

    /// Takes in what a server lists: all of its definitions of this kind, or a page of them.
    pub(crate) fn list(&mut self, server: &str, kind: PinKind, items: &[Json], is_whole: bool) -> Found {
        let (mut found, mut names) = (Found::default(), BTreeSet::new());
        let objects = items.iter().filter_map(Json::as_object);
        let named = objects.filter_map(|item| Some((item, item.get(kind.name_member()).and_then(Json::as_str)?)));
        let named: Vec<_> = named.collect();
        let listed: BTreeSet<_> = named.iter().map(|(_, name)| *name).collect();
        let mut known = self.names_of(server);
        for (item, name) in &named {
            let pin = Pin::of(server, PinName::new(kind, name), item);
            let has_room = known.contains(&pin.name) || known.len() < MAX_DEFINITIONS;
            if !has_room || pin.is_too_long() {
                // What it listed before under this name is not what it has.
                self.listed.remove(&pin.name);
                found.left_out += 1;
                continue;
            }
            known.insert(pin.name.clone());
            let state =
                if names.insert(folded(name)) { self.judge(&pin, &listed, &mut found) } else { PinState::Ambiguous };
            let (arguments, said_to_change) = (arguments(item), says_that_it_changes(item));
            let mirrored = headers::mirrored(item.get("inputSchema"));
            let new = Listed { state: state.clone(), definition: pin.definition, arguments, mirrored, said_to_change };
            let before = self.listed.insert(pin.name.clone(), new);
            let is_known = before.is_some_and(|before| before.state == state && before.definition == pin.definition);
            // Servers list often, and a person should be told once.
            if state != PinState::Pinned && !is_known {
                found.quarantined.push((pin, state));
            }
        }
        if is_whole {
            self.listed.retain(|known, _| known.kind != kind || listed.contains(&*known.name));
        }
        found
    }

    /// Takes in that these were pinned here as new, and that others have pinned something since that they have to be compared with.
    pub(crate) fn list_again(&mut self, server: &str, pinned: Vec<Pin>, again: Vec<Pin>) -> Found {
        self.renew(server, pinned);
        let mut found = Found::default();
        for pin in again {
            let listed = self.listed.keys().filter(|name| name.kind == pin.name.kind);
            let state = self.state(&pin, &listed.map(|name| &*name.name).collect());
            if let Some(listed) = self.listed.get_mut(&pin.name) {
                listed.state = state.clone();
            }
            found.quarantined.push((pin, state));
        }
        found
    }

    /// The names of what this server has, pinned or listed.
    fn names_of(&self, server: &str) -> BTreeSet<PinName> {
        let pinned = self.pinned.keys().filter(|(of, _)| of == server).map(|(_, name)| name);
        pinned.chain(self.listed.keys()).cloned().collect()
    }

    /// Takes in what a server says of itself; how it compares. What is too long is not compared, and counts as not pinned.
    pub(crate) fn of_server(&mut self, pin: Pin) -> (PinState, Found) {
        let mut found = Found::default();
        if pin.is_too_long() {
            found.left_out = 1;
            return (PinState::NotListed, found);
        }
        let state = self.judge(&pin, &BTreeSet::new(), &mut found);
        if state != PinState::Pinned {
            found.quarantined.push((pin, state.clone()));
        }
        (state, found)
    }

    /// How a definition compares; pins it where it is new and that is enough.
    fn judge(&mut self, pin: &Pin, listed: &BTreeSet<&str>, found: &mut Found) -> PinState {
        match self.state(pin, listed) {
            PinState::NotListed if self.pinning == Pinning::Learn => {
                let alike = self.pinned.values().find(|known| pin.has_the_name_of(known));
                found.alike.extend(alike.map(|known| (pin.name.name.clone(), known.server.clone())));
                self.pinned.insert((pin.server.clone(), pin.name.clone()), pin.clone());
                found.pinned.push(pin.clone());
                PinState::Pinned
            }
            state => state,
        }
    }

    /// How a definition compares; `NotListed` for one that has nothing to do with what is pinned.
    fn state(&self, pin: &Pin, listed: &BTreeSet<&str>) -> PinState {
        let known = self.pinned.get(&(pin.server.clone(), pin.name.clone()));
        let (kind, name) = (pin.name.kind, &pin.name.name);
        // Names of tools are ASCII (the protocol's own advice); other letters look like them.
        let is_odd = !name.is_ascii() || name.bytes().any(|byte| byte.is_ascii_control() || byte == b' ');
        match known {
            Some(known) if known.definition == pin.definition => return PinState::Pinned,
            _ if kind == PinKind::Tool && is_odd => return PinState::Ambiguous,
            Some(known) => return PinState::Changed(Difference::all(&known.document, &pin.document, kind)),
            None if kind == PinKind::Server => return PinState::NotListed,
            None => {}
        }
        let own = self.pinned.values().filter(|known| known.server == pin.server && known.name.kind == kind);
        // A pinned tool that is still listed was not renamed: this is another one.
        let mut gone = own.filter(|known| !listed.contains(&*known.name.name));
        let shape = pin.without_name();
        if let Some(known) =
            gone.find(|known| known.without_name() == shape || folded(&known.name.name) == folded(name))
        {
            return PinState::Renamed(known.name.name.clone());
        }
        // What a server has listed first is not its own by that: any server could list every name.
        let shadowed = self.pinned.values().find(|known| pin.is_shadowing(known));
        shadowed.map_or(PinState::NotListed, |known| PinState::Shadowing(known.server.clone()))
    }
}

impl Listed {
    /// The name that differs from a declared argument in letter case only. Some servers take it for that argument.
    pub(crate) fn misspelled(&self, args: &Object) -> Option<String> {
        let wrong = args.iter().map(|(name, _)| name).find(|name| {
            !self.arguments.iter().any(|declared| declared == name)
                && self.arguments.iter().any(|declared| declared != name && folded(declared) == folded(name))
        });
        wrong.map(str::to_owned)
    }
}

fn by_name(pinned: Vec<Pin>) -> BTreeMap<(String, PinName), Pin> {
    pinned.into_iter().map(|pin| ((pin.server.clone(), pin.name.clone()), pin)).collect()
}

fn arguments(tool: &Object) -> Vec<String> {
    let properties = tool.get("inputSchema").and_then(|schema| schema.as_object()?.get("properties")?.as_object());
    properties.map_or_else(Vec::new, |properties| properties.iter().map(|(name, _)| name.to_owned()).collect())
}

/// Whether the annotations of a definition say that the tool changes something. Nothing follows from what they leave out.
#[must_use]
pub fn says_that_it_changes(tool: &Object) -> bool {
    let hint = |name: &str| tool.get("annotations").and_then(|hints| hints.as_object()?.get(name)?.as_bool());
    hint("destructiveHint") == Some(true) || hint("readOnlyHint") == Some(false)
}

/// Whether a URI has the literal parts of a template (RFC 6570) in their order, and anything in place of its expressions.
fn may_expand_to(template: &str, uri: &str) -> bool {
    let mut literals = Vec::new();
    let mut rest = template;
    while let Some((literal, expression)) = rest.split_once('{') {
        literals.push(literal);
        rest = expression.split_once('}').map_or("", |(_, after)| after);
    }
    let Some((first, middle)) = literals.split_first() else { return uri == template };
    let Some(mut left) = uri.strip_prefix(first).and_then(|left| left.strip_suffix(rest)) else { return false };
    for literal in middle {
        // The first place leaves most for those after it.
        let Some((_, after)) = left.split_once(literal) else { return false };
        left = after;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_is_of_the_templates_that_may_expand_to_it() {
        for (template, uri, may) in [
            ("file:///{path}", "file:///a/b", true),
            ("file:///{path}", "http://a", false),
            ("notes://{name}/text", "notes://x/text", true),
            ("notes://{name}/text", "notes://x/other", false),
            ("a{x}b{y}c", "a1b2c", true),
            ("a{x}b{y}c", "a12c", false),
            ("a{x}a", "a", false),
            ("plain", "plain", true),
            ("plain", "plainer", false),
            ("{+all}", "anything", true),
            ("{x}{y}", "anything", true),
            ("open{", "open and more", true),
        ] {
            assert_eq!(may_expand_to(template, uri), may, "{template} {uri}");
        }
    }
}
