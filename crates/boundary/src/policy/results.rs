//! What a policy does with results that have signs of steering.

use proofmark_receipt::document::{Cause, DocumentError, Field, nearest, shown};
use proofmark_receipt::glob::Globs;
use proofmark_session::name_on_server;

use super::ActionPolicy;
use crate::taint::LABELS;

/// The most entries of `results`.
const MAX_RESULTS: usize = 1_024;

/// What is done with a result, the stricter last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResultHandling {
    /// The agent gets it after a warning.
    Mark,
    /// The agent does not get it.
    Withhold,
}

impl ResultHandling {
    const WORDS: [(&'static str, Self); 2] = [("mark", Self::Mark), ("withhold", Self::Withhold)];

    /// `mark` or `withhold`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mark => "mark",
            Self::Withhold => "withhold",
        }
    }
}

/// An entry of `results`.
#[derive(Debug)]
pub(crate) struct ResultRule {
    when: Vec<&'static str>,
    tool: Option<Globs>,
    server: Option<Globs>,
    then: ResultHandling,
}

/// Reads `results`.
pub(super) fn read(field: &Field<'_>) -> Result<Vec<ResultRule>, DocumentError> {
    let items = field.items()?;
    if items.len() > MAX_RESULTS {
        return Err(field.error(Cause::TooMany, format!("more than {MAX_RESULTS} entries")).with_help("join some"));
    }
    items.iter().map(entry).collect()
}

fn entry(field: &Field<'_>) -> Result<ResultRule, DocumentError> {
    let fields = field.fields()?;
    fields.only(&["when", "tool", "server", "then"])?;
    let globs = |name| fields.get(name).map(|field| Globs::read(&field)).transpose();
    Ok(ResultRule {
        when: signs(&fields.need("when", "name the signs, as in `when: [prompt_injection]`")?)?,
        tool: globs("tool")?,
        server: globs("server")?,
        then: fields.need("then", "write `withhold` or `mark`")?.choice(&ResultHandling::WORDS)?,
    })
}

/// A sign, or a list of signs.
fn signs(field: &Field<'_>) -> Result<Vec<&'static str>, DocumentError> {
    let fields = match field.json.as_array() {
        Some(_) => field.items()?,
        None => vec![field.clone()],
    };
    if fields.is_empty() {
        return Err(field.error(Cause::Empty, "the list has no signs").with_help("write one"));
    }
    fields.iter().map(sign).collect()
}

fn sign(field: &Field<'_>) -> Result<&'static str, DocumentError> {
    let word = field.text()?;
    LABELS.into_iter().find(|label| *label == word).ok_or_else(|| {
        let help = match nearest(word, &LABELS) {
            Some(label) => format!("did you mean `{label}`?"),
            None => format!("the known ones are `{}`", LABELS.join("`, `")),
        };
        field.error(Cause::InvalidValue, format!("unknown sign `{}`", shown(word))).with_help(help)
    })
}

impl ResultRule {
    fn applies(&self, tool: &str, server: &str, signs: &[&str]) -> bool {
        let matches = |globs: &Option<Globs>, name: &str| globs.as_ref().is_none_or(|globs| globs.matches(name));
        let names = matches(&self.tool, tool) || matches(&self.tool, name_on_server(Some(server), tool));
        names && matches(&self.server, server) && self.when.iter().any(|sign| signs.contains(sign))
    }

    /// The entry in words.
    pub(crate) fn shown(&self) -> String {
        let of = |what: &str, globs: &Option<Globs>| {
            globs.as_ref().map_or_else(String::new, |globs| format!(" {what} {}", globs.shown()))
        };
        let then = match self.then {
            ResultHandling::Mark => "given to the agent after a warning",
            ResultHandling::Withhold => "withheld from the agent",
        };
        let (tool, server) = (of("of", &self.tool), of("from the server", &self.server));
        format!("A result{tool}{server} with the sign {} is {then}.", self.when.join(" or "))
    }
}

impl ActionPolicy {
    /// What is done with a result in which these signs were found: by the strictest entry of `results` that applies.
    #[must_use]
    pub fn result_handling(&self, tool: &str, server: &str, signs: &[&str]) -> Option<ResultHandling> {
        self.results.iter().filter(|rule| rule.applies(tool, server, signs)).map(|rule| rule.then).max()
    }
}
