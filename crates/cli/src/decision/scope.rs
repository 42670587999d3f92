//! How far an approval reaches, as options, and in words.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use proofmark_boundary::DecisionReceipt;
use proofmark_decider::Decider;
use proofmark_evidence::{Approval, Bound, Free, Scopes, WantedScope, span};

use crate::config::Config;
use crate::document;
use crate::error::with_help;
use crate::out;
use crate::paint::printable;
use crate::policy_option;

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

/// How far an approval of a decision may reach.
pub(crate) enum Offers {
    /// By the policy that decided.
    Known(Scopes),
    /// The policy that decided is not at hand.
    Unknown,
}

impl Offers {
    /// What the policy that decided offers for approvals of this decision in this role, or in those that it asks for; and says it.
    pub(crate) fn of(
        policy: Option<PathBuf>,
        decision: &DecisionReceipt,
        role: Option<&str>,
        config: &Config,
    ) -> anyhow::Result<Self> {
        let Some(file) = policy_option::named(policy, config)? else { return Ok(Self::Unknown) };
        let policy = document::action_policy(&file)?;
        if decision.bound("policy_hash") != Some(policy.hash().to_string().as_str()) {
            let file = printable(&file.display().to_string());
            out::note(format_args!(
                "{file} is not the policy that decided, so how far an approval may reach is not known"
            ));
            return Ok(Self::Unknown);
        }
        let roles = role.map_or_else(|| Approval::roles_asked(decision.document()), |role| vec![role.to_owned()]);
        let offered =
            roles.iter().map(|role| decision.scopes_offered(&policy, role)).fold(Scopes::default(), Scopes::or);
        let mut words = vec!["once"];
        words.extend(offered.session.then_some("session"));
        words.extend(offered.pattern.then_some("pattern"));
        let longest = if offered.are_any() {
            format!("; more than once for at most {}", span::words(offered.longest_millis))
        } else {
            String::new()
        };
        out::note(format_args!("the policy offers: {}{longest}", words.join(", ")));
        Ok(Self::Known(offered))
    }

    /// Refuses what would not count.
    pub(crate) fn check(&self, wanted: Option<&WantedScope>, expires: i64) -> anyhow::Result<()> {
        let (Self::Known(offered), Some(wanted)) = (self, wanted) else { return Ok(()) };
        let (is_offered, word) = match wanted {
            WantedScope::Session => (offered.session, "session"),
            WantedScope::Pattern(_) => (offered.pattern, "pattern"),
        };
        if !is_offered {
            return Err(with_help(
                format!("approve with `--scope {word}`: the policy does not offer it"),
                "approve this action once, or let the owner of the policy offer more in `scopes` of the rule",
            ));
        }
        if expires > offered.longest_millis {
            let longest = span::words(offered.longest_millis);
            return Err(with_help(
                format!("approve with `--scope {word}`: the policy offers it for at most {longest}"),
                "choose a shorter time with `--until`",
            ));
        }
        Ok(())
    }
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
