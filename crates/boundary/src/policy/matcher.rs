//! Which actions a boundary matches.

use proofmark_receipt::document::{DocumentError, Field};
use proofmark_receipt::glob::Globs;
use proofmark_session::name_on_server;

use crate::request::Request;

/// The names in `match`, each with the fact and its member that it reads.
const KEYS: [(&str, &str, &str); 12] = [
    ("action_class", "action", "class"),
    ("tool", "action", "tool"),
    ("boundary", "action", "boundary"),
    ("source", "action", "source"),
    ("surface", "action", "surface"),
    ("server", "action", "server"),
    ("origin", "action", "origin"),
    ("method", "action", "method"),
    ("target", "action", "target"),
    ("agent", "agent", "id"),
    ("environment", "agent", "environment"),
    ("sensitivity", "agent", "sensitivity"),
];

/// Globs over members of the action and the agent. All of them must match.
#[derive(Debug, Default)]
pub(crate) struct Matcher {
    globs: Vec<(usize, Globs)>,
}

/// Whether a boundary matches an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Matching {
    Yes,
    No,
    Unknown(Vec<String>),
}

impl Matcher {
    pub(crate) fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(&KEYS.map(|(name, _, _)| name))?;
        let mut globs = Vec::new();
        for (index, (name, _, _)) in KEYS.iter().enumerate() {
            if let Some(field) = fields.get(name) {
                globs.push((index, Globs::read(&field)?));
            }
        }
        Ok(Self { globs })
    }

    /// One definite mismatch decides, whatever else is absent.
    pub(crate) fn matches(&self, request: &Request) -> Matching {
        let mut missing = Vec::new();
        for (index, globs) in &self.globs {
            let Some((_, fact, member)) = KEYS.get(*index) else { continue };
            match request.text(fact, member) {
                Some(text) if globs.matches(text) => {}
                Some(text) => match self.matches_otherwise(member, text, globs, request) {
                    Matching::Yes => {}
                    Matching::No => return Matching::No,
                    Matching::Unknown(names) => missing.extend(names),
                },
                // `*` restricts nothing, so it matches even where the text is absent.
                None if globs.match_all() => {}
                None => missing.push(format!("{fact}.{member}")),
            }
        }
        if missing.is_empty() { Matching::Yes } else { Matching::Unknown(missing) }
    }

    /// Whether a member matches that is known by another text, too: an origin by its digest, and a tool by its name on its server.
    fn matches_otherwise(&self, member: &str, text: &str, globs: &Globs, request: &Request) -> Matching {
        let action = |member: &str| request.text("action", member);
        match member {
            "origin" if action("origin_sha256").is_some_and(|digest| globs.matches(digest)) => Matching::Yes,
            "tool" if globs.matches(name_on_server(action("server"), text)) => {
                // It has the name of a host's own tool, so who wrote the policy has to say which of the two is meant.
                if self.names("server") { Matching::Yes } else { Matching::Unknown(vec!["action.tool".to_owned()]) }
            }
            _ => Matching::No,
        }
    }

    /// Whether it has a glob of this name.
    pub(crate) fn names(&self, name: &str) -> bool {
        self.globs.iter().any(|(index, _)| KEYS.get(*index).is_some_and(|(key, _, _)| *key == name))
    }

    /// The classes of actions named without a glob.
    pub(crate) fn literal_classes(&self) -> impl Iterator<Item = &str> {
        // The first of `KEYS` is `action_class`.
        self.globs.iter().filter(|(index, _)| *index == 0).flat_map(|(_, globs)| globs.literals())
    }

    /// Whether it matches every action.
    pub(crate) fn matches_all(&self) -> bool {
        self.globs.iter().all(|(_, globs)| globs.match_all())
    }

    /// All its globs.
    pub(crate) fn globs(&self) -> impl Iterator<Item = &Globs> {
        self.globs.iter().map(|(_, globs)| globs)
    }

    /// The places of the facts that its globs are over. Beside a server, a tool has two names, so nothing is said of it.
    pub(crate) fn texts(&self) -> Vec<([&'static str; 2], &Globs)> {
        let place = |index: usize| KEYS.get(index).map(|(_, fact, member)| [*fact, *member]);
        let placed = self.globs.iter().filter_map(|(index, globs)| Some((place(*index)?, globs)));
        placed
            .filter(|(place, _)| !matches!(place[1], "origin") && (place[1] != "tool" || !self.names("server")))
            .collect()
    }

    /// The tools, where it names tools without a glob, and no server or surface.
    pub(crate) fn only_tools(&self) -> Option<Vec<&str>> {
        let other = ["server", "surface", "source", "origin"].iter().any(|name| self.names(name));
        let (_, globs) =
            self.globs.iter().find(|(index, _)| KEYS.get(*index).is_some_and(|(key, _, _)| *key == "tool"))?;
        (!other && globs.all_are(|_| true)).then(|| globs.literals().collect())
    }

    /// The tools that it names without a glob and without saying whose they are.
    pub(crate) fn tools_of_any_server(&self) -> Vec<&str> {
        let of = |name: &str| {
            let is_named = |index: usize| KEYS.get(index).is_some_and(|(key, _, _)| *key == name);
            self.globs.iter().find(|(index, _)| is_named(*index)).map(|(_, globs)| globs)
        };
        let is_named = ["server", "origin"].into_iter().filter_map(of).any(|globs| !globs.match_all());
        let is_of_host = of("surface").is_some_and(|globs| !globs.matches("mcp"));
        let tools = of("tool").filter(|_| !is_named && !is_of_host);
        tools.map(|globs| globs.literals().collect()).unwrap_or_default()
    }

    /// The globs, for people.
    pub(crate) fn shown(&self) -> String {
        let name = |index: usize| KEYS.get(index).map_or("", |(name, _, _)| name);
        let parts: Vec<_> = self.globs.iter().map(|(at, globs)| format!("{} {}", name(*at), globs.shown())).collect();
        if parts.is_empty() { "every action".to_owned() } else { parts.join(", ") }
    }
}
