//! How far an approval reaches beyond the one action: a grant for a session, or for arguments that fit a pattern.
//!
//! A grant does not list what it allows. It names the arguments that are free, each with what it may be, and holds the digest of
//! everything else of the action (`rest`). So a member that nobody thought of when it was given does not match.

use proofmark_predicate::Decimal;
use proofmark_receipt::document::{Cause, DocumentError, Field};
use proofmark_receipt::{Json, Object, Sha256Digest, object};

use crate::facts;

/// The most arguments that a pattern frees.
const MAX_FREE: usize = 32;
/// How deep an argument that is freed may be.
const MAX_DEPTH: usize = 16;
/// The longest text of a grant, in bytes.
const MAX_TEXT: usize = 4_096;
/// The members of an action that are its arguments, or follow from them. No other one can be freed.
const ARGUMENTS: [&str; 9] =
    ["args", "outer_args", "target", "recipient", "amount", "currency", "command", "paths", "cwd"];
/// The members that follow from an argument, and have its value.
const DERIVED: [&str; 6] = ["target", "recipient", "amount", "currency", "command", "paths"];
/// What a prefix ends with, so that it cannot end within a name.
const SEPARATOR: char = '/';

/// What a grant reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Calls of the same tool in one session, with any arguments.
    Session,
    /// Calls of the same tool whose arguments fit a pattern.
    Pattern,
}

/// What an argument may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Any value, or none.
    Any,
    /// A number from 0 to this one, in decimal digits.
    AtMost(String),
    /// A text, or a list of texts, below this one, which ends with `/`.
    Prefix(String),
}

/// An argument that a pattern frees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Free {
    /// The members that lead to it, as in `args`, `amount`.
    pub path: Vec<String>,
    pub bound: Bound,
}

/// What a reviewer wants to approve beside the one action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedScope {
    Session,
    /// Everything that is not named stays exactly as it is in the action approved.
    Pattern(Vec<Free>),
}

/// An action, and who asks for it where.
#[derive(Clone, Copy, Debug)]
pub struct Occasion<'a> {
    pub action: &'a Json,
    pub agent: Option<&'a str>,
    pub environment: Option<&'a str>,
    pub account: Option<&'a str>,
    pub project: Option<&'a str>,
    /// The session.
    pub run: Option<&'a str>,
}

/// What an approval reaches beyond the one action (`metadata.approval.scope`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    pub reach: Reach,
    pub tool: String,
    pub server: Option<String>,
    account: Option<String>,
    project: Option<String>,
    /// The session of a grant that is for one.
    pub run: Option<String>,
    /// Empty for a session, which frees all arguments.
    pub free: Vec<Free>,
    /// SHA-256 of the action without what is free, in canonical form.
    rest: Sha256Digest,
}

/// Which scopes a rule offers beside the one action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes {
    pub session: bool,
    pub pattern: bool,
    /// The longest that a grant counts, in milliseconds.
    pub longest_millis: i64,
}

/// Why a grant does not reach an action, or a rule does not take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotCovered {
    Action,
    Session,
    NotOffered,
    TooLong,
}

/// Why there is no such grant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    #[error("the action names no tool")]
    NoTool,
    #[error("the request names no session")]
    NoSession,
    #[error("the request names neither an agent (`--agent` of guards and hooks) nor an account")]
    NoAgent,
    #[error("`{0}` is not an argument of the action")]
    NoArgument(String),
    #[error("`{0}` is named twice, or lies within another one that is named")]
    Twice(String),
    #[error("more than {MAX_FREE} arguments are named")]
    TooMany,
    #[error("`{path}` of this action is not {bound}")]
    OtherValue { path: String, bound: String },
    #[error("`{0}` cannot bound an argument")]
    Bound(String),
}

impl ScopeError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::NoTool | Self::NoSession | Self::NoAgent => "approve this action once",
            Self::NoArgument(_) => "name it by its place in the action, as in `args.amount`",
            Self::Twice(_) | Self::TooMany => "name each argument once, and few",
            Self::OtherValue { .. } => "choose a bound that the action itself keeps",
            Self::Bound(_) => "write a number of at least 0, or a prefix that names something and ends with `/`",
        }
    }
}

impl Reach {
    /// Its word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Pattern => "pattern",
        }
    }
}

impl Scopes {
    /// Whether a grant of this reach counts, if it counts for so long.
    pub(crate) fn offer(&self, reach: Reach, millis: i64) -> Result<(), NotCovered> {
        let offered = match reach {
            Reach::Session => self.session,
            Reach::Pattern => self.pattern,
        };
        refuse(!offered, NotCovered::NotOffered)?;
        refuse(millis > self.longest_millis, NotCovered::TooLong)
    }

    /// What one of them offers.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            session: self.session || other.session,
            pattern: self.pattern || other.pattern,
            longest_millis: self.longest_millis.max(other.longest_millis),
        }
    }

    /// What both offer.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            session: self.session && other.session,
            pattern: self.pattern && other.pattern,
            longest_millis: self.longest_millis.min(other.longest_millis),
        }
    }

    /// Whether any grant counts.
    #[must_use]
    pub fn are_any(&self) -> bool {
        self.session || self.pattern
    }
}

impl WantedScope {
    /// Reads `{kind: session}` or `{kind: pattern, free: […]}`; none for `{kind: once}`. An entry of `free` is `{path: [args, amount]}`
    /// with one of `any: true`, `at_most: "600"` and `prefix: …/`.
    ///
    /// # Errors
    /// [`DocumentError`] names the field and what to write.
    pub fn read(field: &Field<'_>) -> Result<Option<Self>, DocumentError> {
        let fields = field.fields()?;
        fields.only(&["kind", "free"])?;
        let kind = fields.need("kind", "write `once`, `session` or `pattern`")?;
        let kind =
            kind.choice(&[("once", None), ("session", Some(Reach::Session)), ("pattern", Some(Reach::Pattern))])?;
        let free = fields.get("free");
        match (kind, free) {
            (None, None) => Ok(None),
            (Some(Reach::Session), None) => Ok(Some(Self::Session)),
            (Some(Reach::Pattern), free) => {
                let items = free.map(|free| free.items()).transpose()?.unwrap_or_default();
                let free = items.iter().map(|item| {
                    Free::read(item.json).ok_or_else(|| {
                        let error = item.error(Cause::InvalidValue, "the entry frees no argument");
                        error.with_help(
                            "write `{path: [args, amount], at_most: \"600\"}`, or with `any: true` or `prefix: …/`",
                        )
                    })
                });
                Ok(Some(Self::Pattern(free.collect::<Result<_, _>>()?)))
            }
            (None | Some(Reach::Session), Some(free)) => {
                let error = free.error(Cause::ConflictingFields, "only a pattern frees arguments one by one");
                Err(error.with_help("leave it out, or write `kind: pattern`"))
            }
        }
    }

    /// The reach of the grant.
    #[must_use]
    pub fn reach(&self) -> Reach {
        match self {
            Self::Session => Reach::Session,
            Self::Pattern(_) => Reach::Pattern,
        }
    }
}

impl Occasion<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        self.action.as_object()?.get(name)?.as_str()
    }

    /// What grants for such an action are found by: the tool, its server, and who asks; `None` where no tool is named.
    #[must_use]
    pub fn key(&self) -> Option<Sha256Digest> {
        Some(key(self.text("tool")?, self.text("server"), self.agent, self.environment, self.account))
    }
}

fn key(
    tool: &str,
    server: Option<&str>,
    agent: Option<&str>,
    environment: Option<&str>,
    account: Option<&str>,
) -> Sha256Digest {
    let named = |name: Option<&str>| name.map_or(Json::Null, Json::from);
    let key = object! {
        "grant": "1",
        "tool": tool,
        "server": named(server),
        "agent": named(agent),
        "environment": named(environment),
        "account": named(account),
    };
    Sha256Digest::of(&Json::Object(key).canonical_vrf())
}

impl Bound {
    /// In words, as in `a number from 0 to 600`.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Any => "any value, or none".to_owned(),
            Self::AtMost(most) => format!("a number from 0 to {most}"),
            Self::Prefix(prefix) => format!("below {prefix}"),
        }
    }

    /// Whether it bounds anything, and cannot be read in two ways.
    fn check(&self) -> Result<(), ScopeError> {
        let is_sound = match self {
            Self::Any => true,
            Self::AtMost(most) => most.len() <= MAX_TEXT && number(most).is_some_and(|most| most >= Decimal::ZERO),
            Self::Prefix(prefix) => {
                let named = prefix.trim_end_matches(SEPARATOR);
                prefix.len() <= MAX_TEXT
                    && prefix.ends_with(SEPARATOR)
                    // `/` and `https://` bound nothing.
                    && named.chars().any(char::is_alphanumeric)
                    && !named.ends_with(':')
                    && !has_steps_up(prefix)
            }
        };
        if is_sound { Ok(()) } else { Err(ScopeError::Bound(self.text().to_owned())) }
    }

    fn text(&self) -> &str {
        match self {
            Self::Any => "any",
            Self::AtMost(text) | Self::Prefix(text) => text,
        }
    }

    /// Whether a value keeps to it. A missing value does so only where any does.
    fn fits(&self, value: Option<&Json>) -> bool {
        match (self, value) {
            (Self::Any, _) => true,
            (_, None) => false,
            (Self::AtMost(most), Some(Json::Number(found))) => {
                let bounds = number(most).zip(number(found.as_str()));
                bounds.is_some_and(|(most, found)| Decimal::ZERO <= found && found <= most)
            }
            (Self::Prefix(prefix), Some(Json::String(text))) => is_below(text, prefix),
            (Self::Prefix(prefix), Some(Json::Array(items))) => {
                let is_below = |item: &Json| item.as_str().is_some_and(|text| is_below(text, prefix));
                !items.is_empty() && items.iter().all(is_below)
            }
            (Self::AtMost(_) | Self::Prefix(_), Some(_)) => false,
        }
    }

    fn to_json(&self) -> (&'static str, Json) {
        match self {
            Self::Any => ("any", Json::from(true)),
            Self::AtMost(most) => ("at_most", Json::from(most.as_str())),
            Self::Prefix(prefix) => ("prefix", Json::from(prefix.as_str())),
        }
    }
}

/// A number, exactly.
fn number(text: &str) -> Option<Decimal> {
    text.parse().ok()
}

/// Whether a text lies below a prefix, however its reader takes it apart. What follows the prefix is of letters, digits and few
/// signs: a blank, a quote or a `;` would begin something else where the text is a command, and `%2e` or `\` be a step where it is an
/// address.
fn is_below(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix).is_some_and(|rest| {
        !has_steps_up(rest)
            && rest
                .chars()
                .all(|one| one.is_alphanumeric() || matches!(one, '/' | '.' | '_' | '-' | '+' | '@' | ',' | '='))
    })
}

fn has_steps_up(text: &str) -> bool {
    text.split(SEPARATOR).any(|part| matches!(part, "." | ".."))
}

fn refuse(condition: bool, why: NotCovered) -> Result<(), NotCovered> {
    if condition { Err(why) } else { Ok(()) }
}

/// The value at a path of members; `None` where there is none.
fn at<'a>(json: &'a Json, path: &[String]) -> Option<&'a Json> {
    path.iter().try_fold(json, |json, name| json.as_object()?.get(name))
}

fn remove(json: &mut Json, path: &[String]) {
    let (Json::Object(object), Some((name, rest))) = (json, path.split_first()) else { return };
    if rest.is_empty() {
        object.remove(name);
    } else if let Some(inner) = object.get_mut(name) {
        remove(inner, rest);
    }
}

fn dotted(path: &[String]) -> String {
    path.join(".")
}

impl Free {
    /// An argument by its place in the action, as in `args.amount`.
    #[must_use]
    pub fn at(place: &str, bound: Bound) -> Self {
        Self { path: place.split('.').map(str::to_owned).collect(), bound }
    }

    fn is_argument(&self) -> bool {
        let first = self.path.first();
        self.path.len() <= MAX_DEPTH
            && self.path.iter().all(|name| !name.is_empty() && name.len() <= MAX_TEXT)
            && first.is_some_and(|first| ARGUMENTS.contains(&first.as_str()))
    }

    fn read(json: &Json) -> Option<Self> {
        let object = json.as_object()?;
        let text = |name: &str| object.get(name)?.as_str().map(str::to_owned);
        let path = object.get("path")?.as_array()?;
        let path = path.iter().map(|name| name.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()?;
        // Exactly one bound: a reader that takes another one would allow something else.
        (object.len() == 2).then_some(())?;
        let bound = match object.get("any") {
            Some(any) => any.as_bool()?.then_some(Bound::Any)?,
            None => text("at_most").map(Bound::AtMost).or_else(|| text("prefix").map(Bound::Prefix))?,
        };
        bound.check().ok()?;
        Some(Self { path, bound }).filter(Self::is_argument)
    }

    fn to_json(&self) -> Json {
        let path: Vec<Json> = self.path.iter().map(|name| Json::from(name.as_str())).collect();
        let mut object = object! { "path": path };
        let (name, bound) = self.bound.to_json();
        object.insert(name, bound);
        object.into()
    }
}

/// Whether each argument is named once, and none within another.
fn each_once(free: &[Free]) -> Result<(), ScopeError> {
    if free.len() > MAX_FREE {
        return Err(ScopeError::TooMany);
    }
    for (index, one) in free.iter().enumerate() {
        let is_within = |(at, other): (usize, &Free)| at != index && one.path.starts_with(&other.path);
        if free.iter().enumerate().any(is_within) {
            return Err(ScopeError::Twice(dotted(&one.path)));
        }
    }
    Ok(())
}

impl Scope {
    /// The grant that a reviewer of an action wants.
    ///
    /// # Errors
    /// [`ScopeError`] where the action does not say enough, or does not keep to a bound itself.
    pub fn of(wanted: &WantedScope, occasion: &Occasion<'_>) -> Result<Self, ScopeError> {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let tool = occasion.text("tool").ok_or(ScopeError::NoTool)?.to_owned();
        let (run, free) = match wanted {
            WantedScope::Session => (Some(occasion.run.ok_or(ScopeError::NoSession)?.to_owned()), Vec::new()),
            WantedScope::Pattern(_) if occasion.agent.is_none() && occasion.account.is_none() => {
                return Err(ScopeError::NoAgent);
            }
            WantedScope::Pattern(free) => (None, with_derived(free, occasion.action)?),
        };
        let reach = wanted.reach();
        let rest = rest(reach, &free, occasion.action);
        Ok(Self {
            reach,
            tool,
            server: owned(occasion.text("server")),
            account: owned(occasion.account),
            project: owned(occasion.project),
            run,
            free,
            rest,
        })
    }

    /// Reads `metadata.approval.scope`; `None` when a part of it is missing, or of another form.
    #[must_use]
    pub fn read(json: &Json) -> Option<Self> {
        let object = json.as_object()?;
        let named = |name: &str| match object.get(name)? {
            Json::Null => Some(None),
            json => json.as_str().map(|text| Some(text.to_owned())),
        };
        let reach = match object.get("kind")?.as_str()? {
            "session" => Reach::Session,
            "pattern" => Reach::Pattern,
            _ => return None,
        };
        let (run, free, members) = match reach {
            Reach::Session => (Some(object.get("run")?.as_str()?.to_owned()), Vec::new(), 7),
            Reach::Pattern => {
                let free = object.get("free")?.as_array()?;
                let free: Vec<Free> = free.iter().map(Free::read).collect::<Option<_>>()?;
                each_once(&free).ok()?;
                (None, free, 7)
            }
        };
        // A member that is not known could narrow it.
        (object.len() == members).then_some(())?;
        Some(Self {
            reach,
            tool: object.get("tool")?.as_str()?.to_owned(),
            server: named("server")?,
            account: named("account")?,
            project: named("project")?,
            run,
            free,
            rest: object.get("rest")?.as_str()?.parse().ok()?,
        })
    }

    /// The form that [`Scope::read`] reads.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let named = |name: &Option<String>| name.as_deref().map_or(Json::Null, Json::from);
        let free: Vec<Json> = self.free.iter().map(Free::to_json).collect();
        let object: Object = object! {
            "kind": self.reach.as_str(),
            "tool": self.tool.as_str(),
            "server": named(&self.server),
            "account": named(&self.account),
            "project": named(&self.project),
            "run"?: self.run.as_deref(),
            "free"?: (self.reach == Reach::Pattern).then_some(free),
            "rest": self.rest.to_string(),
        };
        object.into()
    }

    /// What it is found by, and what its receipt is over (`hashes.output`): never the hash of an action.
    #[must_use]
    pub fn key(&self, agent: Option<&str>, environment: Option<&str>) -> Sha256Digest {
        key(&self.tool, self.server.as_deref(), agent, environment, self.account.as_deref())
    }

    /// Whether it reaches an action that has the same [key](Occasion::key).
    ///
    /// # Errors
    /// [`NotCovered::Session`] and [`NotCovered::Action`].
    pub(crate) fn reaches(&self, occasion: &Occasion<'_>) -> Result<(), NotCovered> {
        let is_same = |own: &Option<String>, other: Option<&str>| own.as_deref() == other;
        refuse(!is_same(&self.project, occasion.project), NotCovered::Action)?;
        let keeps = |free: &Free| free.bound.fits(at(occasion.action, &free.path));
        refuse(!self.free.iter().all(keeps), NotCovered::Action)?;
        refuse(rest(self.reach, &self.free, occasion.action) != self.rest, NotCovered::Action)?;
        let is_other_session =
            self.reach == Reach::Session && (self.run.is_none() || !is_same(&self.run, occasion.run));
        refuse(is_other_session, NotCovered::Session)
    }

    /// What it allows, in words: the calls, and for a pattern what each argument may be.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let of = self.server.as_ref().map_or(String::new(), |server| format!(" of server {server}"));
        let tool = &self.tool;
        match self.reach {
            Reach::Session => {
                let run = self.run.as_deref().unwrap_or_default();
                vec![format!("every call of {tool}{of} in session {run}, with any arguments")]
            }
            Reach::Pattern => {
                let first =
                    format!("every call of {tool}{of}, in any session, that is as this one but for these arguments:");
                let free = self.free.iter().map(|free| format!("{}: {}", dotted(&free.path), free.bound.words()));
                let none = self.free.is_empty().then(|| "none: the same call, any number of times".to_owned());
                [first].into_iter().chain(free).chain(none).collect()
            }
        }
    }
}

/// SHA-256 of an action without what is free.
fn rest(reach: Reach, free: &[Free], action: &Json) -> Sha256Digest {
    let mut action = action.clone();
    match reach {
        Reach::Session => ARGUMENTS.iter().for_each(|name| remove(&mut action, &[(*name).to_owned()])),
        Reach::Pattern => free.iter().for_each(|free| remove(&mut action, &free.path)),
    }
    Sha256Digest::of(&action.canonical_vrf())
}

/// What is freed, and with it the members of the action that have the value of an argument that is freed.
fn with_derived(wanted: &[Free], action: &Json) -> Result<Vec<Free>, ScopeError> {
    for free in wanted {
        let place = || dotted(&free.path);
        free.bound.check()?;
        if !free.is_argument() || at(action, &free.path).is_none() {
            return Err(ScopeError::NoArgument(place()));
        }
    }
    let mut all = wanted.to_vec();
    for name in DERIVED {
        let path = [name.to_owned()];
        let Some(value) = at(action, &path).filter(|_| !all.iter().any(|free| free.path.first() == path.first()))
        else {
            continue;
        };
        let has_value = |free: &&Free| at(action, &free.path).is_some_and(|argument| follows(value, argument));
        if let Some(source) = wanted.iter().filter(|free| free.bound.fits(Some(value))).find(has_value) {
            all.push(Free { path: path.to_vec(), bound: source.bound.clone() });
        }
    }
    each_once(&all)?;
    match all.iter().find(|free| !free.bound.fits(at(action, &free.path))) {
        Some(free) => Err(ScopeError::OtherValue { path: dotted(&free.path), bound: free.bound.words() }),
        None => Ok(all),
    }
}

/// Whether a member of an action follows from an argument: it has its value, or lists it.
fn follows(member: &Json, argument: &Json) -> bool {
    let same = |one: &Json| match (facts::value(one), facts::value(argument)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    };
    same(member) || member.as_array().is_some_and(|items| items.iter().any(same))
}

#[cfg(test)]
mod tests;
