//! What a rule demands of where a call comes from.

use proofmark_receipt::document::{DocumentError, Fields};
use proofmark_session::name_on_server;

use proofmark_receipt::glob::Globs;

/// Where a call has to come from. What is not demanded may be anything.
#[derive(Clone, Debug, Default)]
pub struct ProvenanceDemand {
    globs: Vec<(&'static str, Globs)>,
}

/// Whether a call comes from where a rule demands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromThere {
    Yes,
    No,
    /// Which of the members is not known.
    Unknown(&'static str),
}

impl ProvenanceDemand {
    /// The fields that it is read from, each a glob or a list of globs over the member of this name
    /// ([`proofmark_session::PROVENANCE`]). `origin` is one over the origin or its digest.
    pub const FIELDS: [&'static str; 4] = ["source", "surface", "server", "origin"];

    /// Reads the fields.
    ///
    /// # Errors
    /// [`DocumentError`] names the field and what to write.
    pub fn read(fields: &Fields<'_>) -> Result<Self, DocumentError> {
        let mut globs = Vec::new();
        for name in Self::FIELDS {
            if let Some(field) = fields.get(name) {
                globs.push((name, Globs::read(&field)?));
            }
        }
        Ok(Self { globs })
    }

    /// Whether nothing is demanded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.globs.is_empty()
    }

    /// Whether it demands a server or its origin, so that a tool of the same name elsewhere does not count.
    #[must_use]
    pub fn names_server(&self) -> bool {
        self.globs.iter().any(|(name, globs)| matches!(*name, "server" | "origin") && !globs.match_all())
    }

    /// Whether it demands a tool of the host itself.
    #[must_use]
    pub fn names_host(&self) -> bool {
        self.globs.iter().any(|(name, globs)| *name == "surface" && globs.matches("host") && !globs.matches("mcp"))
    }

    /// Whether a call of which `member` tells the provenance comes from there. One definite difference decides.
    pub fn fits<'a>(&self, member: impl Fn(&str) -> Option<&'a str>) -> FromThere {
        let mut unknown = None;
        for (name, globs) in &self.globs {
            let fits = |text: &str| globs.matches(text);
            let found = match *name {
                "origin" => member("origin_sha256").map(|digest| fits(digest) || member("origin").is_some_and(fits)),
                name => member(name).map(fits),
            };
            match found {
                Some(true) => {}
                Some(false) => return FromThere::No,
                None if globs.match_all() => {}
                // A host's own tool is of no server.
                None if *name == "server" && member("surface") == Some("host") => return FromThere::No,
                None => unknown = unknown.or(Some(*name)),
            }
        }
        unknown.map_or(FromThere::Yes, FromThere::Unknown)
    }

    /// What a call's tool may be called in a rule with this demand: as in facts, and where the rule names the server also as the
    /// server calls it.
    pub fn tool_names<'a>(&self, tool: &'a str, server: Option<&str>) -> [&'a str; 2] {
        let names_server = self.globs.iter().any(|(name, _)| *name == "server");
        [tool, if names_server { name_on_server(server, tool) } else { tool }]
    }

    /// How many globs there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.globs.iter().map(|(_, globs)| globs.count()).sum()
    }

    /// Members of a call that comes from there, for examples.
    pub fn samples(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.globs.iter().map(|(name, globs)| {
            let sample = globs.sample();
            (if *name == "origin" && sample.starts_with("sha256:") { "origin_sha256" } else { *name }, sample)
        })
    }

    /// The demand for people, as in ` of the server ci`; empty where nothing is demanded.
    #[must_use]
    pub fn words(&self) -> String {
        let words = self.globs.iter().map(|(name, globs)| match *name {
            "source" => format!(" seen by {}", globs.shown()),
            "surface" => format!(" on the surface {}", globs.shown()),
            "server" => format!(" of the server {}", globs.shown()),
            _ => format!(" from {}", globs.shown()),
        });
        words.collect()
    }
}

impl PartialEq for ProvenanceDemand {
    fn eq(&self, other: &Self) -> bool {
        self.words() == other.words()
    }
}
