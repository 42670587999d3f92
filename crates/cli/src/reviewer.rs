//! `proofmark reviewer`.

mod extend;

use std::io::Write;

use anyhow::Context;
use clap::{Args, Subcommand};
use proofmark_boundary::ActionPolicy;
use proofmark_evidence::Person;
use proofmark_hosts::JsonText;
use proofmark_passkey::Passkey;
use proofmark_receipt::document::{self, Format};
use proofmark_receipt::{Json, Object, SignerId, object};
use proofmark_server::replace_file;

use crate::config::Config;
use crate::document::{failure, read_document};
use crate::error::with_help;
use crate::exit::Exit;
use crate::out;
use crate::paint::printable;
use crate::policy_option::PolicyOption;
use crate::source::format_of;

/// The field of a policy that lists the reviewers.
const FIELD: &str = "reviewers";
/// The mode of a new policy file. There is one already, whose mode stays.
const MODE: u32 = 0o644;

/// List in an action policy who may approve
#[derive(Subcommand)]
pub(crate) enum Reviewer {
    /// Add a reviewer, or another key of theirs, to an action policy
    Add(Add),
}

/// Add a reviewer, or another key of theirs, to an action policy
///
/// If the policy has the name already, its entry gets one more key or passkey. All keys of an entry stand for one person, with the roles of
/// that entry. Everything else in the file stays as it is. Anyone who can write the policy decides who may approve: keep it where the
/// agent cannot write.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark reviewer add ann --key ~/.ssh/ann.pub --role release-manager --policy policy.yaml
  proofmark reviewer add bob --key reviewer --role release-manager --policy policy.yaml")]
pub(crate) struct Add {
    /// A name of your choice, or one that the policy has
    name: String,
    /// The key that they sign with: a name of the trust store or of a key, a signer id, or a public key file; or
    /// `reviewer:ID@KEY`, the caller with this id of the server with this key
    #[arg(long, value_name = "SIGNER", required_unless_present = "passkey")]
    key: Option<String>,
    /// Their passkey, as the page `/ui/passkey` of a server shows it
    #[arg(long, value_name = "PASSKEY", conflicts_with = "key")]
    passkey: Option<Passkey>,
    /// A role of the policy that they hold, where the name is new; can be repeated
    #[arg(long, value_name = "ROLE")]
    role: Vec<String>,
    #[command(flatten)]
    policy: PolicyOption,
    /// Print the entry as JSON
    #[arg(long)]
    json: bool,
}

impl Reviewer {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self {
            Reviewer::Add(command) => command.run(config),
        }
    }
}

impl Add {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let path = self.policy.file(config)?;
        let policy = read_document(&path, "action policy")?;
        let mut changed = policy.json.clone();
        let text = || String::from_utf8(policy.text.clone()).context("read the action policy: it is not UTF-8");
        let (entry, added, said) = match self.listed(&policy.json) {
            Some((index, entry)) => {
                let (member, value) = self.way(config)?;
                self.check_another(&entry, member, &value)?;
                let entries = extend::extended(&policy.json, index, member, &value).unwrap_or_default();
                let entry = entries.get(index).and_then(Json::as_object).cloned().unwrap_or(entry);
                if let Json::Object(policy) = &mut changed {
                    policy.insert(FIELD, entries);
                }
                let added = extend::with_value(&text()?, format_of(&path), index, member, &value);
                (entry, added, format!("added another {member} of {} to {}", self.name, path.display()))
            }
            None => {
                let entry = self.entry(config)?;
                push(&mut changed, &entry);
                let added = with_entry(&text()?, format_of(&path), &entry);
                (entry, added, format!("added {} as {} to {}", self.name, self.role.join(", "), path.display()))
            }
        };
        ActionPolicy::read(&changed).map_err(|error| failure("action policy", policy.finding(&error)))?;
        let added = added.ok_or_else(|| by_hand(&entry))?;
        let context = || format!("write the action policy `{}`", path.display());
        replace_file(&path, &added, MODE).with_context(context)?;
        let mut out = out::stdout();
        if self.json {
            out.json(&Json::from(entry).to_text())?;
        } else {
            writeln!(out, "{}", printable(&said))?;
        }
        Ok(Exit::Yes)
    }

    /// The entry of this name, and its place in the list.
    fn listed(&self, policy: &Json) -> Option<(usize, Object)> {
        let entries = policy.as_object()?.get(FIELD)?.as_array()?.iter().map(Json::as_object).enumerate();
        let is_named = |entry: &Object| entry.get("name").and_then(Json::as_str) == Some(&self.name);
        entries.filter_map(|(index, entry)| Some((index, entry?.clone()))).find(|(_, entry)| is_named(entry))
    }

    /// Refuses what the entry has, and roles that it does not give: a key is added to a person, and no power with it.
    fn check_another(&self, entry: &Object, member: &str, value: &str) -> anyhow::Result<()> {
        let has = |name: &str, text: &str| match entry.get(name) {
            Some(Json::Array(all)) => all.iter().any(|one| one.as_str() == Some(text)),
            one => one.and_then(Json::as_str) == Some(text),
        };
        if has(member, value) {
            return Err(with_help(
                format!("add the {member} of `{}`: the policy has it", self.name),
                "name another one",
            ));
        }
        match self.role.iter().find(|role| !has("roles", role)) {
            Some(role) => Err(with_help(
                format!("add the {member} of `{}`: the policy does not give them the role `{role}`", self.name),
                "leave `--role` out, and add a role to the entry by hand",
            )),
            None => Ok(()),
        }
    }

    /// How they approve: the member of an entry, and its value.
    fn way(&self, config: &Config) -> anyhow::Result<(&'static str, String)> {
        match (self.key.as_deref(), &self.passkey) {
            (Some(key), _) if key.parse::<Person>().is_ok() => Ok(("key", key.to_owned())),
            (Some(name), _) => Ok(("key", one_signer(name, config)?.to_string())),
            (None, Some(passkey)) => Ok(("passkey", passkey.to_string())),
            (None, None) => {
                Err(with_help("add the reviewer: no key was named", "name one with `--key` or `--passkey`"))
            }
        }
    }

    fn entry(&self, config: &Config) -> anyhow::Result<Object> {
        if self.role.is_empty() {
            return Err(with_help(
                format!("add `{}`: the policy does not list them, and no role was named", self.name),
                "name the role that they hold with `--role`",
            ));
        }
        let (member, value) = self.way(config)?;
        let roles: Vec<_> = self.role.iter().map(|role| Json::from(role.as_str())).collect();
        let mut entry = object! { "name": self.name.as_str() };
        entry.insert(member, value);
        entry.insert("roles", roles);
        Ok(entry)
    }
}

/// The one signer that a name of the trust store or of a key, a signer id or a public key file stands for.
pub(crate) fn one_signer(name: &str, config: &Config) -> anyhow::Result<SignerId> {
    let keys = config.known_signers()?.keys(&[name.to_owned()])?;
    match keys.as_slice() {
        [key] => Ok(key.signer),
        keys => {
            let message = format!("use the signer `{}`: it has {} keys", printable(name), keys.len());
            Err(with_help(message, "name the one that the reviewer signs with, by its signer id"))
        }
    }
}

/// Adds the entry at the end of the list in a document.
fn push(document: &mut Json, entry: &Object) {
    let Json::Object(policy) = document else { return };
    let mut entries = policy.get(FIELD).and_then(Json::as_array).unwrap_or_default().to_vec();
    entries.push(entry.clone().into());
    policy.insert(FIELD, entries);
}

/// The text of a policy with the entry at the end of its list; `None` where its form cannot be kept.
fn with_entry(text: &str, format: Format, entry: &Object) -> Option<String> {
    let changed = match format {
        Format::Json => {
            let mut json = JsonText::read(text.as_bytes(), false).ok()?;
            json.push(&[FIELD], &entry.clone().into()).ok()?;
            json.text().to_owned()
        }
        Format::Yaml => with_item(text, &flow(entry)),
    };
    let mut expected = document::parse(text.as_bytes(), format).ok()?;
    push(&mut expected, entry);
    // The change is by lines. A policy in an unusual form is left alone, whatever was made of it.
    (document::parse(changed.as_bytes(), format).ok()? == expected).then_some(changed)
}

/// The entry in one line of YAML.
fn flow(entry: &Object) -> String {
    let members: Vec<_> = entry.iter().map(|(name, value)| format!("{name}: {}", value.to_text())).collect();
    format!("{{{}}}", members.join(", "))
}

/// The text of a document of YAML with an item behind the last line of the list, or with a list of it at the end.
fn with_item(text: &str, item: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let begins = |line: &&str| line.strip_prefix(FIELD).is_some_and(|rest| rest.starts_with(':'));
    let Some(start) = lines.iter().position(begins) else {
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return format!("{text}{end}{FIELD}:\n  - {item}\n");
    };
    let is_within = |line: &&&str| line.is_empty() || line.starts_with([' ', '-', '#']);
    let within: Vec<&str> = lines.iter().skip(start + 1).take_while(is_within).copied().collect();
    let is_item = |line: &&str| line.trim_start().starts_with('-');
    let is_content = |line: &&str| line.starts_with([' ', '-']) && !line.trim().is_empty();
    let indent = within.iter().find(|line| is_item(line)).map_or(2, |line| line.len() - line.trim_start().len());
    let length = within.iter().rposition(is_content).map_or(0, |last| last + 1);
    let line = format!("{}- {item}", " ".repeat(indent));
    lines.insert(start + 1 + length, &line);
    lines.join("\n") + "\n"
}

fn by_hand(entry: &Object) -> anyhow::Error {
    with_help(
        "add the reviewer: the policy has a form that cannot be changed in place",
        format!("add `{}` to the list `{FIELD}` by hand", flow(entry)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Object {
        object! { "name": "bob", "key": "k", "roles": vec![Json::from("owner")] }
    }

    #[test]
    fn a_policy_keeps_its_form() {
        let line = r#"{name: "bob", key: "k", roles: ["owner"]}"#;
        let begun = "version: 1 # one\nboundaries: []\n";
        let listed = "reviewers:\n# people\n- {name: ann}\n\n# the end\nmode: shadow\n";
        for (text, expected) in [
            (begun.to_owned(), format!("{begun}reviewers:\n  - {line}\n")),
            (begun.trim_end().to_owned(), format!("{begun}reviewers:\n  - {line}\n")),
            (
                format!("{begun}{listed}"),
                format!("{begun}reviewers:\n# people\n- {{name: ann}}\n- {line}\n\n# the end\nmode: shadow\n"),
            ),
            (
                format!("reviewers:\n    - name: ann\n      key: k\n{begun}"),
                format!("reviewers:\n    - name: ann\n      key: k\n    - {line}\n{begun}"),
            ),
        ] {
            assert_eq!(with_entry(&text, Format::Yaml, &entry()), Some(expected));
        }
    }

    #[test]
    fn a_form_that_cannot_be_kept_is_left_alone() {
        for text in ["{version: 1, boundaries: []}", "reviewers: [{name: ann}]\n", "reviewers:\n\t- {name: ann}\n"] {
            assert_eq!(with_entry(text, Format::Yaml, &entry()), None, "{text}");
        }
        let json = with_entry("{\n  \"version\": 1\n}\n", Format::Json, &entry()).unwrap();
        assert!(json.starts_with("{\n  \"version\": 1,\n  \"reviewers\": ["), "{json}");
    }
}
