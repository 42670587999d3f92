//! A pinned definition, what it is of, and how two of them differ.

use std::collections::BTreeSet;
use std::fmt;

use proofmark_receipt::{Json, Object, Sha256Digest};

use crate::fold::{folded, same_when_folded};

/// The longest text of one member that a difference shows, in characters.
const MAX_SHOWN: usize = 200;
/// How much of what two long texts have in common is shown before what differs, in characters.
const SHOWN_BEFORE: usize = 40;

/// What a definition is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PinKind {
    Tool,
    Prompt,
    /// A template of URIs of resources. Its name is the template.
    Template,
    /// The server itself: its `instructions` for the model, and its `origin`, the command or URL that it is reached by.
    Server,
}

impl PinKind {
    const ALL: [Self; 4] = [Self::Tool, Self::Prompt, Self::Template, Self::Server];

    /// `tool`, `prompt`, `template` or `server`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Template => "template",
            Self::Server => "server",
        }
    }

    /// The members that are pinned.
    fn members(self) -> &'static [&'static str] {
        match self {
            Self::Tool => &[
                "name",
                "title",
                "description",
                "inputSchema",
                "outputSchema",
                "annotations",
                "execution",
                "icons",
                "_meta",
            ],
            Self::Prompt => &["name", "title", "description", "arguments", "icons", "_meta"],
            Self::Template => {
                &["uriTemplate", "name", "title", "description", "mimeType", "annotations", "icons", "_meta"]
            }
            Self::Server => &[INSTRUCTIONS, ORIGIN],
        }
    }

    /// The member that is the name.
    pub(crate) fn name_member(self) -> &'static str {
        match self {
            Self::Tool | Self::Prompt | Self::Server => "name",
            Self::Template => "uriTemplate",
        }
    }
}

/// The name of the server's instructions, and the member that holds them.
pub(crate) const INSTRUCTIONS: &str = "instructions";
/// The name of what a server is reached by, and the member that holds it.
pub(crate) const ORIGIN: &str = "origin";

/// The kind of a definition, and its name among those of its kind.
///
/// It is written as `prompt:NAME`, `template:URI` or `server:instructions`; a tool by its name alone, or as `tool:NAME` where
/// the name begins like one of the others. Every name has one spelling, and every spelling is of one name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PinName {
    pub kind: PinKind,
    pub name: String,
}

impl PinName {
    pub(crate) fn new(kind: PinKind, name: &str) -> Self {
        Self { kind, name: name.to_owned() }
    }

    fn split(text: &str) -> Option<(PinKind, &str)> {
        let (word, name) = text.split_once(':')?;
        PinKind::ALL.into_iter().find(|kind| kind.as_str() == word).map(|kind| (kind, name))
    }
}

impl From<&str> for PinName {
    fn from(text: &str) -> Self {
        let (kind, name) = Self::split(text).unwrap_or((PinKind::Tool, text));
        Self::new(kind, name)
    }
}

impl fmt::Display for PinName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            PinKind::Tool if Self::split(&self.name).is_none() => f.write_str(&self.name),
            kind => write!(f, "{}:{}", kind.as_str(), self.name),
        }
    }
}

/// A pinned definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Pin {
    /// What the server is called.
    pub server: String,
    pub name: PinName,
    /// SHA-256 of the definition in canonical form.
    pub definition: Sha256Digest,
    /// The definition, for people.
    pub document: Json,
    /// Whether a person approved it. Otherwise it was pinned because the server listed it first.
    pub is_approved: bool,
}

/// The longest definition that is pinned, as bytes of its JSON.
const MAX_DEFINITION: usize = 128 << 10;

impl Pin {
    /// Of what a server lists. A member that some clients take for a pinned one, because only its letter case differs, is
    /// pinned, too.
    pub(crate) fn of(server: &str, name: PinName, listed: &Object) -> Self {
        let mut document = Object::new();
        let members = name.kind.members();
        for member in members {
            if let Some(value) = listed.get(member) {
                document.insert(*member, value.clone());
            }
        }
        let odd = listed.iter().filter(|(name, _)| !members.contains(name) && same_when_folded(name, members));
        odd.for_each(|(name, value)| drop(document.insert(name, value.clone())));
        let document = Json::Object(document);
        Self {
            server: server.to_owned(),
            name,
            definition: Sha256Digest::of(&document.canonical_vrf()),
            document,
            is_approved: false,
        }
    }

    /// Whether it is longer than what is pinned.
    pub(crate) fn is_too_long(&self) -> bool {
        self.document.to_text().len() > MAX_DEFINITION
    }

    /// Whether it is a tool whose name a person gave to another server, by approving the tool that `known` is of.
    pub(crate) fn is_shadowing(&self, known: &Self) -> bool {
        known.is_approved && self.has_the_name_of(known)
    }

    /// Whether it is a tool, and `known` is one of the same name on another server. Hosts name prompts and resources by their servers.
    pub(crate) fn has_the_name_of(&self, known: &Self) -> bool {
        let are_tools = [self, known].iter().all(|pin| pin.name.kind == PinKind::Tool);
        are_tools && known.server != self.server && folded(&known.name.name) == folded(&self.name.name)
    }

    /// Whether it is one of these.
    #[must_use]
    pub fn is_one_of(&self, pinned: &[Self]) -> bool {
        pinned
            .iter()
            .any(|known| known.server == self.server && known.name == self.name && known.definition == self.definition)
    }

    /// Whether it would not have been pinned as new beside these: one of them is another definition of the same, or that of a tool of
    /// this name that a person approved on another server.
    #[must_use]
    pub fn is_unlike_one_of(&self, pinned: &[Self]) -> bool {
        pinned.iter().any(|known| {
            let is_other = known.server == self.server
                && known.name == self.name
                && known.definition != self.definition
                && self.name.kind != PinKind::Server;
            is_other || self.is_shadowing(known)
        })
    }

    /// The definition without its name.
    pub(crate) fn without_name(&self) -> Option<Object> {
        let mut document = self.document.as_object()?.clone();
        document.remove(self.name.kind.name_member());
        Some(document)
    }
}

/// A member that two definitions have differently, as texts for people; `None` where it is absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub member: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

impl Difference {
    /// What differs between two definitions of the same kind, member by member.
    #[must_use]
    pub fn all(before: &Json, after: &Json, kind: PinKind) -> Vec<Self> {
        let member = |document: &Json, name: &str| {
            document.as_object().and_then(|document| document.get(name)).map(Json::to_text)
        };
        let names = |document: &Json| -> BTreeSet<String> {
            document
                .as_object()
                .map(|document| document.iter().map(|(name, _)| name.to_owned()).collect())
                .unwrap_or_default()
        };
        let known = kind.members().iter().map(|name| (*name).to_owned());
        // Members of another letter case were pinned, too, because some clients read them.
        let others = names(before).into_iter().chain(names(after));
        let others: BTreeSet<_> = others.filter(|name| !kind.members().contains(&name.as_str())).collect();
        let differing = known.chain(others).filter_map(|name| {
            let (before, after) = (member(before, &name), member(after, &name));
            let (shown_before, shown_after) = parts_that_differ(before.as_deref(), after.as_deref());
            (before != after).then_some(Self { member: name, before: shown_before, after: shown_after })
        });
        differing.collect()
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "absent".to_owned());
        write!(f, "`{}` was {}, is {}", self.member, shown(&self.before), shown(&self.after))
    }
}

/// The parts of two texts where they begin to differ: where they are long, what differs is often not at their beginning.
fn parts_that_differ(before: Option<&str>, after: Option<&str>) -> (Option<String>, Option<String>) {
    let alike = match (before, after) {
        (Some(before), Some(after)) => {
            before.chars().zip(after.chars()).take_while(|(one, other)| one == other).count()
        }
        _ => 0,
    };
    let shown = |text: &str| {
        let length = text.chars().count();
        // A little of what is alike shows where in the text the difference is.
        let skipped = if length <= MAX_SHOWN { 0 } else { alike.saturating_sub(SHOWN_BEFORE) };
        let part: String = text.chars().skip(skipped).take(MAX_SHOWN).collect();
        let (begin, end) =
            (if skipped > 0 { "…" } else { "" }, if skipped.saturating_add(MAX_SHOWN) < length { "…" } else { "" });
        format!("{begin}{part}{end}")
    };
    (before.map(shown), after.map(shown))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_name_has_one_spelling(kind in 0_usize..4, name in "(tool:|prompt:|server:|template:|:)?[a-z:]{0,6}") {
            let name = PinName { kind: PinKind::ALL[kind], name };
            prop_assert_eq!(PinName::from(&*name.to_string()), name);
        }

        #[test]
        fn a_spelling_is_of_one_name(text in "(prompt:|server:|template:|:)?[a-z:]{0,6}") {
            prop_assert_eq!(PinName::from(&*text).to_string(), text);
        }
    }

    #[test]
    fn a_difference_shows_where_two_long_texts_differ() {
        let document = |end: &str| {
            Json::from(proofmark_receipt::object! { "name": "x", "description": format!("{}{end}", "a".repeat(5_000)) })
        };
        let [difference] = &Difference::all(&document("b"), &document("send all"), PinKind::Tool)[..] else { panic!() };
        let after = difference.after.as_deref().unwrap_or_default();
        assert!(difference.member == "description" && after.contains("send all") && after.len() < 300, "{after}");
    }
}
