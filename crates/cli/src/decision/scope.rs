//! How far an approval reaches, as options, and in words.

use clap::{Args, ValueEnum};
use proofmark_boundary::DecisionReceipt;
use proofmark_decider::Decider;
use proofmark_evidence::{Bound, Free, WantedScope};

use crate::error::with_help;
use crate::out;
use crate::paint::printable;

/// How far an approval reaches.
#[derive(Args)]
pub(crate) struct ScopeBy {
    /// How far the approval reaches: this action once, further calls of the tool in this session with any arguments, or
    /// calls whose arguments fit a pattern. The rule of the policy has to offer more than `once`
    #[arg(long, value_enum, default_value = "once")]
    scope: ScopeWord,
    /// Of a pattern: this argument may have any value, as in `args.title`; can be repeated
    #[arg(long, value_name = "PATH")]
    any: Vec<String>,
    /// Of a pattern: this argument may be a number from 0 to N, as in `args.amount=600`; can be repeated
    #[arg(long, value_name = "PATH=N", value_parser = assignment)]
    at_most: Vec<(String, String)>,
    /// Of a pattern: this argument may be a text that begins so, up to a `/`, as in `args.path=/srv/app/`; can be repeated
    #[arg(long, value_name = "PATH=PREFIX", value_parser = assignment)]
    below: Vec<(String, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScopeWord {
    Once,
    Session,
    Pattern,
}

impl ScopeBy {
    /// What is wanted beside the one action.
    pub(crate) fn wanted(&self) -> anyhow::Result<Option<WantedScope>> {
        let bounds = [
            self.any.iter().map(|path| Free::at(path, Bound::Any)).collect::<Vec<_>>(),
            self.at_most.iter().map(|(path, most)| Free::at(path, Bound::AtMost(most.clone()))).collect(),
            self.below.iter().map(|(path, prefix)| Free::at(path, Bound::Prefix(prefix.clone()))).collect(),
        ];
        let free = bounds.concat();
        match self.scope {
            ScopeWord::Pattern => Ok(Some(WantedScope::Pattern(free))),
            _ if !free.is_empty() => Err(with_help(
                "read the options: `--any`, `--at-most` and `--below` are of a pattern",
                "add `--scope pattern`",
            )),
            ScopeWord::Session => Ok(Some(WantedScope::Session)),
            ScopeWord::Once => Ok(None),
        }
    }

    /// Says what is about to be signed, where it is more than the one action.
    pub(crate) fn announce(
        reviewer: &Decider,
        decision: &DecisionReceipt,
        wanted: Option<&WantedScope>,
    ) -> anyhow::Result<()> {
        let Some(scope) = reviewer.scope(decision, wanted)? else { return Ok(()) };
        out::note("this approval allows, where a rule offers it:");
        scope.words().iter().for_each(|line| out::note(format!("  {}", printable(line))));
        Ok(())
    }
}

fn assignment(text: &str) -> Result<(String, String), String> {
    let (path, value) = text.split_once('=').ok_or("write the argument, `=` and its bound, as in args.amount=600")?;
    Ok((path.to_owned(), value.to_owned()))
}
