//! Entries of `origins` in words, and what they ask for.

use super::{Expected, OriginRule};

impl OriginRule {
    /// The entry in words.
    pub(crate) fn shown(&self) -> String {
        let server =
            self.server.as_ref().map_or_else(String::new, |globs| format!(" from the server {}", globs.shown()));
        let path = self.path.as_ref().map_or_else(String::new, |path| format!(" at {path}"));
        let within = if self.within { ", and the words within them" } else { "" };
        let parts = self.conditions();
        let only = if parts.is_empty() { String::new() } else { format!(", if {}", parts.join(" and ")) };
        format!("Values of {}{server}{path} have the label {}{within}{only}.", self.tool.shown(), self.label)
    }

    /// The labels that the entry asks for.
    pub(crate) fn labels_asked_for(&self) -> impl Iterator<Item = &str> {
        let conditions = self.when.iter().chain(&self.args).filter_map(|(_, expected)| match expected {
            Expected::From(labels) => Some(labels),
            Expected::Text(_) => None,
        });
        let labels = conditions.chain(&self.anchor).flatten().map(String::as_str);
        // Constants and bounds are not labels.
        labels.filter(|label| !label.starts_with(['=', '<']))
    }

    fn conditions(&self) -> Vec<String> {
        let when = self.when.iter().map(|(name, expected)| format!("`{name}` {}", expected.shown()));
        let args = self.args.iter().map(|(name, expected)| format!("the argument `{name}` {}", expected.shown()));
        let anchor = self.anchor.iter().map(|labels| format!("all arguments come from {}", labels.join(" or ")));
        let named = self.named.iter().map(|name| format!("the request names the `{name}`"));
        when.chain(args).chain(anchor).chain(named).collect()
    }
}

impl Expected {
    fn shown(&self) -> String {
        match self {
            Self::Text(globs) => {
                let (denied, wanted): (Vec<_>, Vec<_>) = globs.iter().partition(|glob| glob.starts_with('!'));
                let parts = [
                    (!wanted.is_empty()).then(|| {
                        format!("is {}", wanted.iter().map(|glob| glob.as_str()).collect::<Vec<_>>().join(" or "))
                    }),
                    (!denied.is_empty()).then(|| {
                        let denied: Vec<_> = denied.iter().map(|glob| glob.trim_start_matches('!')).collect();
                        format!("is not {}", denied.join(" or "))
                    }),
                ];
                parts.into_iter().flatten().collect::<Vec<_>>().join(" and ")
            }
            Self::From(labels) => format!("comes from {}", labels.join(" or ")),
        }
    }
}
