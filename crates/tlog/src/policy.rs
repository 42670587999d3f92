use std::collections::{BTreeMap, BTreeSet};

use proofmark_receipt::shown;
use thiserror::Error;

use crate::text::{decimal, split_line};
use crate::{Code, Cosignature, KeyType, Vkey};

/// How many bytes a policy has at most.
pub const MAX_POLICY_BYTES: usize = 256 << 10;
/// How many logs, witnesses and groups a policy has at most, of each. C2SP asks for at least 32.
pub const MAX_POLICY_ITEMS: usize = 256;

/// The quorum that asks for no witness.
const NONE: &[u8] = b"none";

/// Which logs and witnesses are known, and which witnesses are enough (C2SP tlog-policy).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    logs: Vec<Party>,
    witnesses: Vec<Party>,
    groups: Vec<Group>,
    quorum: Option<Member>,
}

/// A log or a witness of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    pub key: Vkey,
    /// What a witness is called in the policy alone; of a log, its origin.
    pub name: String,
    pub url: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    threshold: usize,
    members: Vec<Member>,
}

/// A witness or a group, by its place in the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Member {
    Witness(usize),
    Group(usize),
}

/// The bytes are not a policy.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PolicyError {
    #[error("the policy has {0} bytes: at most {MAX_POLICY_BYTES} are read")]
    TooLong(usize),
    #[error("line {line} of the policy: more than {MAX_POLICY_ITEMS} of a kind")]
    TooMany { line: usize },
    #[error("line {line} of the policy: {fault}")]
    Line { line: usize, fault: String },
    #[error("the policy has no `quorum` line: write `quorum <name>`, or `quorum none`")]
    NoQuorum,
}

impl PolicyError {
    /// Its code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::TooLong(_) | Self::TooMany { .. } => Code::TooLarge,
            Self::Line { .. } | Self::NoQuorum => Code::MalformedPolicy,
        }
    }
}

impl Policy {
    /// Reads a policy file.
    ///
    /// # Errors
    /// [`PolicyError`] with the first line that is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, PolicyError> {
        if bytes.len() > MAX_POLICY_BYTES {
            return Err(PolicyError::TooLong(bytes.len()));
        }
        let mut reader = Reader::default();
        let mut rest = bytes;
        let mut line = 0;
        while !rest.is_empty() {
            line += 1;
            let at_line = |fault| match fault {
                Fault::TooMany => PolicyError::TooMany { line },
                Fault::Form(fault) => PolicyError::Line { line, fault },
            };
            let (text, others) = split_line(rest).ok_or_else(|| at_line(fault("it does not end with a line feed")))?;
            reader.line(text).map_err(at_line)?;
            rest = others;
        }
        let Some(quorum) = reader.quorum else { return Err(PolicyError::NoQuorum) };
        Ok(Self { logs: reader.logs, witnesses: reader.witnesses, groups: reader.groups, quorum })
    }

    /// The logs that are trusted. There may be none when the caller knows them.
    #[must_use]
    pub fn logs(&self) -> &[Party] {
        &self.logs
    }

    /// The witnesses that are known, whether the quorum asks for them or not.
    #[must_use]
    pub fn witnesses(&self) -> &[Party] {
        &self.witnesses
    }

    /// Whether these cosignatures are enough. Those of other witnesses do not count.
    #[must_use]
    pub fn is_met_by(&self, cosignatures: &[Cosignature]) -> bool {
        let keys: BTreeSet<_> = cosignatures.iter().map(|cosignature| cosignature.witness.public_key()).collect();
        self.is_met_where(|witness| keys.contains(witness.public_key()))
    }

    /// Whether the witnesses of the policy for which this holds are enough.
    #[must_use]
    pub fn is_met_where(&self, has_cosigned: impl Fn(&Vkey) -> bool) -> bool {
        let has_cosigned: Vec<bool> = self.witnesses.iter().map(|witness| has_cosigned(&witness.key)).collect();
        // Groups have only members that stand before them.
        let mut is_met: Vec<bool> = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            let count = group.members.iter().filter(|member| member.is_in(&has_cosigned, &is_met)).count();
            is_met.push(count >= group.threshold);
        }
        self.quorum.is_none_or(|quorum| quorum.is_in(&has_cosigned, &is_met))
    }
}

impl Member {
    fn is_in(self, witnesses: &[bool], groups: &[bool]) -> bool {
        let found = match self {
            Self::Witness(index) => witnesses.get(index),
            Self::Group(index) => groups.get(index),
        };
        found.copied().unwrap_or_default()
    }
}

/// What the lines read so far have defined.
#[derive(Default)]
struct Reader<'a> {
    logs: Vec<Party>,
    witnesses: Vec<Party>,
    groups: Vec<Group>,
    quorum: Option<Option<Member>>,
    /// Names are bytes, which need not be text.
    names: BTreeMap<&'a [u8], Member>,
    log_keys: BTreeSet<[u8; 32]>,
    witness_keys: BTreeSet<[u8; 32]>,
    grouped: BTreeSet<Member>,
}

enum Fault {
    TooMany,
    Form(String),
}

fn fault(text: impl Into<String>) -> Fault {
    Fault::Form(text.into())
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: &'a [u8]) -> Result<(), Fault> {
        if line.iter().any(|byte| (*byte < b' ' && *byte != b'\t') || *byte == 0x7F) {
            return Err(fault("it has a control character other than tabs"));
        }
        let mut words = line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty());
        let Some(keyword) = words.next().filter(|word| !word.starts_with(b"#")) else { return Ok(()) };
        let words: Vec<&[u8]> = words.collect();
        match (keyword, words.as_slice()) {
            (b"log", [vkey]) => self.log(vkey, None),
            (b"log", [vkey, url]) => self.log(vkey, Some(url)),
            (b"witness", [name, vkey]) => self.witness(name, vkey, None),
            (b"witness", [name, vkey, url]) => self.witness(name, vkey, Some(url)),
            (b"group", [name, threshold, members @ ..]) => self.group(name, threshold, members),
            (b"quorum", [name]) => self.set_quorum(name),
            (b"log" | b"witness" | b"group" | b"quorum", _) => {
                Err(fault(format!("`{}` has another number of words", quoted(keyword))))
            }
            _ => Err(fault(format!("`{}` is not `log`, `witness`, `group` or `quorum`", quoted(keyword)))),
        }
    }

    fn log(&mut self, vkey: &[u8], url: Option<&[u8]>) -> Result<(), Fault> {
        let key = read_key(vkey, KeyType::Note)?;
        if !self.log_keys.insert(*key.public_key()) {
            return Err(fault(format!("the key of `{}` stands on a line before", shown(key.name()))));
        }
        let name = key.name().to_owned();
        push(&mut self.logs, Party { key, name, url: url.map(text) })?;
        Ok(())
    }

    fn witness(&mut self, name: &'a [u8], vkey: &[u8], url: Option<&[u8]>) -> Result<(), Fault> {
        let key = read_key(vkey, KeyType::Cosignature)?;
        if !self.witness_keys.insert(*key.public_key()) {
            return Err(fault(format!("the key of `{}` stands on a line before", shown(key.name()))));
        }
        let index = push(&mut self.witnesses, Party { key, name: text(name), url: url.map(text) })?;
        self.define(name, Member::Witness(index))
    }

    fn group(&mut self, name: &'a [u8], threshold: &[u8], names: &[&[u8]]) -> Result<(), Fault> {
        let mut members = Vec::with_capacity(names.len());
        for name in names {
            let member = self.named(name)?;
            // So each witness counts in one way only.
            if !self.grouped.insert(member) {
                return Err(fault(format!("`{}` is a member of a group before", quoted(name))));
            }
            members.push(member);
        }
        let number = || decimal(std::str::from_utf8(threshold).ok()?).and_then(|number| usize::try_from(number).ok());
        let threshold = match threshold {
            b"all" => Some(members.len()),
            b"any" => Some(1),
            _ => number(),
        };
        let threshold = threshold.filter(|threshold| (1..=members.len()).contains(threshold));
        let threshold = threshold.ok_or_else(|| {
            fault("a group is `group <name> all|any|<k> <name>…`, with `k` from 1 to the number of members")
        })?;
        let index = push(&mut self.groups, Group { threshold, members })?;
        self.define(name, Member::Group(index))
    }

    fn set_quorum(&mut self, name: &[u8]) -> Result<(), Fault> {
        let quorum = if name == NONE { None } else { Some(self.named(name)?) };
        match self.quorum.replace(quorum) {
            Some(_) => Err(fault("a second `quorum`")),
            None => Ok(()),
        }
    }

    fn define(&mut self, name: &'a [u8], member: Member) -> Result<(), Fault> {
        if name == NONE {
            return Err(fault("the name `none` has a meaning of its own"));
        }
        match self.names.insert(name, member) {
            Some(_) => Err(fault(format!("the name `{}` is defined on a line before", quoted(name)))),
            None => Ok(()),
        }
    }

    fn named(&self, name: &[u8]) -> Result<Member, Fault> {
        let member = self.names.get(name).copied();
        member.ok_or_else(|| fault(format!("`{}` is not defined on a line before", quoted(name))))
    }
}

fn read_key(vkey: &[u8], key_type: KeyType) -> Result<Vkey, Fault> {
    let vkey = std::str::from_utf8(vkey).map_err(|_| fault("the verifier key is not UTF-8"))?;
    let key: Vkey = vkey.parse().map_err(|error| fault(format!("{error}")))?;
    if key.key_type() == key_type {
        return Ok(key);
    }
    Err(fault(match key_type {
        KeyType::Note => "the key of a log is of type 1, and this one is of type 4",
        KeyType::Cosignature => "the key of a witness is of type 4, and this one is of type 1",
    }))
}

/// The index of the item, once it is added.
fn push<T>(items: &mut Vec<T>, item: T) -> Result<usize, Fault> {
    if items.len() == MAX_POLICY_ITEMS {
        return Err(Fault::TooMany);
    }
    items.push(item);
    Ok(items.len() - 1)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn quoted(bytes: &[u8]) -> String {
    shown(&text(bytes))
}
