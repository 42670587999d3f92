//! What signed documents say, in the words of people: names and values, in the order of reading.
//!
//! The terminal and the pages write the same statements, each in its own form; neither chooses what is said. So this crate
//! knows neither colours nor markup, and shortens nothing. What an issuer wrote is passed on as it is: whoever writes it down
//! has to make it harmless.

mod action;
mod decision;
mod entry;
mod head;
mod legible;
mod metadata;
mod receipt;

use proofmark_receipt::{Json, Object};

pub use action::{ActionStatement, OtherActionError, action_title};
pub use decision::of_decision;
pub use entry::{Bearing, EntryStatement, of_entry};
pub use head::of_head;
pub use legible::{legible, legible_name, legible_text};
pub use receipt::{TIERS, counter_run, environment, of_receipt, superseded};

/// One thing that a document says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// None in a list of values.
    pub name: Option<String>,
    pub value: String,
    pub kind: Kind,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Words,
    Digest,
    /// The id of a receipt.
    Receipt,
    /// The id of a decision.
    Decision,
    /// A value that only its issuer knows the meaning of.
    Data,
    /// A value in the form of [`legible`], whose line ends are its own.
    Legible,
    /// What a tool returned, which may be long.
    Text,
}

/// Statements that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// What stands above names that the issuer chose: it could choose one of ours.
    pub heading: Option<&'static str>,
    pub statements: Vec<Statement>,
}

/// Statements on their way into a section. What a document does not say makes none.
#[derive(Default)]
struct Said(Vec<Statement>);

impl Said {
    fn say(&mut self, name: &str, kind: Kind, value: Option<impl Into<String>>) {
        self.0.extend(value.map(|value| Statement { name: Some(name.to_owned()), value: value.into(), kind }));
    }

    fn words(&mut self, name: &str, value: Option<impl Into<String>>) {
        self.say(name, Kind::Words, value);
    }

    /// Where the document is in its chain.
    fn chain(&mut self, metadata: &Object) {
        let Some(position) = metadata.get("chain_position").and_then(Json::as_number) else { return };
        let before = text(metadata, "previous_receipt");
        let before = before.map_or_else(|| ", the first".to_owned(), |before| format!(", after {before}"));
        self.words("chain", Some(format!("position {}{before}", position.as_str())));
    }

    fn under(self, heading: Option<&'static str>) -> Section {
        Section { heading, statements: self.0 }
    }
}

fn text<'a>(object: &'a Object, name: &str) -> Option<&'a str> {
    object.get(name)?.as_str()
}
