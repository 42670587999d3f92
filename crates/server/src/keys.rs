//! API keys: who may call, in which role and for which tenant. Only their hashes are stored.

use proofmark_decider::{PolicyPlaceError, policy_name};
use proofmark_receipt::document::{self, Cause, DocumentError, Field};
use proofmark_receipt::{Json, Object, ParseSignerError, Sha256Digest, SignerId, object};
use proofmark_store::{Tenant, TenantError};
use proofmark_verifier::Sender;

use crate::problem::Problem;

/// The longest id of a key, in bytes.
const MAX_ID: usize = 64;
/// The longest name of who holds a token, in bytes: approvals and chains have to have room for it.
pub(crate) const MAX_HOLDER: usize = 200;
/// How the names of those begin who hold a token: they are named by their issuer, and no key is named like them.
const HOLDERS: [&str; 2] = ["https://", "http://"];
/// The most roles of policies one reviewer holds.
const MAX_ROLES: usize = 64;

/// What a caller may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Verify, ask for decisions and report executions.
    Agent,
    /// Have the server decide for guards and hooks of a host, and nothing else.
    AgentHost,
    /// Review, and nothing that agents do.
    Reviewer,
    /// Everything, and continue runs that others began, as orchestrators do.
    Admin,
}

/// Who calls. Runs and MCP sessions belong to a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    pub id: String,
    pub role: Role,
    pub tenant: Tenant,
    /// The roles of the policy that they hold as a reviewer; any one where none are named.
    pub roles: Vec<String>,
    /// The key they sign approvals with themselves, so that they are one person either way.
    pub signer: Option<SignerId>,
    /// The one policy that they ask. Without it, they may name any of their tenant's.
    pub policy: Option<String>,
}

/// What an entry may say beside who it is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewerEntry {
    pub roles: Vec<String>,
    /// The key they sign approvals with themselves.
    pub signer: Option<SignerId>,
    /// The one policy that they ask.
    pub policy: Option<String>,
}

/// The keys that a server accepts.
#[derive(Clone, Debug)]
pub struct ApiKeys {
    keys: Vec<(Sha256Digest, Caller)>,
}

/// Why keys cannot be read or made, completing "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    #[error(transparent)]
    Document(#[from] DocumentError),
    #[error("read `{at}`: {error}")]
    Tenant { at: String, error: TenantError },
    #[error("use the policy of an API key: {0}")]
    Policy(#[from] PolicyPlaceError),
    #[error("read the API key `{0}`: invalid id")]
    Id(String),
    #[error("make an API key ({0})")]
    Randomness(std::io::Error),
}

impl KeysError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Id(_) => Some(format!(
                "an id has 1 to {MAX_ID} bytes without control characters, and does not begin like the name of an issuer"
            )),
            Self::Document(error) => error.help(),
            Self::Tenant { error, .. } => error.help(),
            Self::Policy(_) | Self::Randomness(_) => None,
        }
    }
}

impl Role {
    pub(crate) const WORDS: [(&'static str, Role); 4] =
        [("agent", Role::Agent), ("agent-host", Role::AgentHost), ("reviewer", Role::Reviewer), ("admin", Role::Admin)];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::AgentHost => "agent-host",
            Self::Reviewer => "reviewer",
            Self::Admin => "admin",
        }
    }

    /// Refuses a caller in this role what is for another.
    pub fn check(self, wanted: Option<Role>) -> Result<(), Problem> {
        match wanted {
            Some(role) if !self.may(role) => Err(Problem::forbidden(role.as_str())),
            // What every role may use is not for a host of agents, which has its own endpoints.
            None if self == Self::AgentHost => Err(Problem::forbidden(Self::Agent.as_str())),
            Some(_) | None => Ok(()),
        }
    }

    /// Whether a caller in this role may use what is for `role`.
    pub fn may(self, role: Role) -> bool {
        // Roles are not levels: a `reviewer` key does not ask for decisions.
        self == role || self == Role::Admin
    }
}

impl ApiKeys {
    /// No key, so that requests are not admitted by one.
    #[must_use]
    pub fn none() -> Self {
        Self { keys: Vec::new() }
    }

    /// Reads `{keys: [{id, sha256, role, tenant, roles, signer, policy}, …]}`, of which the last three may be left out.
    ///
    /// # Errors
    /// [`KeysError`] names the field.
    pub fn read(document: &Json) -> Result<Self, KeysError> {
        let root = Field::root(document);
        let fields = root.fields()?;
        fields.only(&["keys"])?;
        let mut keys = Vec::new();
        for field in fields.need("keys", "list the keys")?.items()? {
            let fields = field.fields()?;
            fields.only(&["id", "sha256", "role", "tenant", "roles", "signer", "policy"])?;
            let hash = fields.need("sha256", "make an entry with `proofmark api-key add`")?;
            let digest = hash.text()?.parse().map_err(|_| hash.wrong_type("`sha256:` and 64 hex digits"))?;
            let tenant = fields.need("tenant", "name the org and project")?;
            let caller = Caller {
                id: checked_id(fields.need("id", "name the caller")?.text()?)?,
                role: fields.need("role", "say what the caller may do")?.choice(&Role::WORDS)?,
                // A key is never of `local`: what the command line stores counts as evidence for every tenant.
                tenant: Tenant::of_key(tenant.text()?)
                    .map_err(|error| KeysError::Tenant { at: tenant.at.to_string(), error })?,
                roles: fields.get("roles").map_or_else(|| Ok(Vec::new()), |field| roles(&field))?,
                signer: fields.get("signer").map(|field| signer(&field)).transpose()?,
                policy: match fields.get("policy") {
                    Some(field) => Some(policy_name(field.text()?)?),
                    None => None,
                },
            };
            keys.push((digest, caller));
        }
        Ok(Self { keys })
    }

    /// Whose key has this hash. Hashes are compared, so the time it takes reveals nothing about a key.
    pub(crate) fn caller(&self, digest: &Sha256Digest) -> Option<&Caller> {
        self.keys.iter().find(|(known, _)| known == digest).map(|(_, caller)| caller)
    }

    /// Whether there are none: then every caller is refused.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The entries without their hashes, in the order of the file: `{id, role, tenant, roles, signer, policy}`.
    #[must_use]
    pub fn list(&self) -> Vec<Object> {
        self.keys.iter().map(|(_, caller)| caller.to_json()).collect()
    }

    /// Whether this caller has a key, for the same role.
    pub fn has(&self, caller: &Caller) -> bool {
        self.keys.iter().any(|(_, known)| known == caller)
    }

    /// Whether there is a key with the id and the tenant of this caller.
    pub(crate) fn name(&self, caller: &Caller) -> bool {
        self.keys.iter().any(|(_, known)| known.is(caller))
    }

    /// The ids of keys, or of their roles, that the others do not have.
    pub(crate) fn ids_not_in(&self, others: &Self) -> Vec<String> {
        let new = self.keys.iter().filter(|(digest, caller)| others.caller(digest) != Some(caller));
        new.map(|(_, caller)| document::shown(&caller.id)).collect()
    }

    /// Tells two files of keys apart, whatever their spelling.
    pub(crate) fn fingerprint(&self) -> Sha256Digest {
        let keys = self.keys.iter();
        let lines = keys.map(|(digest, caller)| format!("{digest} {}\n", Json::from(caller.to_json()).to_text()));
        Sha256Digest::of(lines.collect::<String>().as_bytes())
    }
}

impl Caller {
    /// The caller where there are no keys: the user of the command line.
    pub fn local() -> Self {
        Self {
            id: Sender::LOCAL.id.to_owned(),
            role: Role::Admin,
            tenant: Tenant::LOCAL,
            roles: Vec::new(),
            signer: None,
            policy: None,
        }
    }

    /// The caller of an account of this host, who asks by the socket.
    pub(crate) fn account(name: &str, tenant: &Tenant) -> Self {
        Self { id: name.to_owned(), role: Role::AgentHost, tenant: tenant.clone(), ..Self::local() }
    }

    fn to_json(&self) -> Object {
        let roles = self.roles.iter().map(|role| Json::from(role.as_str())).collect::<Vec<_>>();
        object! {
            "id": self.id.as_str(),
            "role": self.role.as_str(),
            "tenant": self.tenant.as_str(),
            "roles"?: (!roles.is_empty()).then_some(roles),
            "signer"?: self.signer.map(|signer| signer.to_string()),
            "policy"?: self.policy.as_deref(),
        }
    }

    /// Whether it is the same caller: callers of several tenants may have one id.
    pub fn is(&self, other: &Self) -> bool {
        self.tenant == other.tenant && self.id == other.id
    }

    /// Whether they hold a token of an issuer, rather than an API key.
    pub fn holds_token(&self) -> bool {
        is_holder(&self.id)
    }

    /// The caller as the one who sends an attempt at a step.
    pub(crate) fn sender(&self) -> Sender<'_> {
        Sender { tenant: &self.tenant, id: &self.id, orchestrates: self.role == Role::Admin, ..Sender::LOCAL }
    }
}

fn is_holder(id: &str) -> bool {
    HOLDERS.iter().any(|begin| id.starts_with(begin))
}

pub(crate) fn roles(field: &Field<'_>) -> Result<Vec<String>, DocumentError> {
    let role = |field: Field<'_>| match field.text()? {
        role if role.trim().is_empty() => Err(field.error(Cause::Empty, "the role is empty; name one of a policy")),
        role => Ok(role.to_owned()),
    };
    let items = field.items()?;
    match items.len() {
        1..=MAX_ROLES => items.into_iter().map(role).collect(),
        _ => Err(field.error(Cause::TooMany, format!("name 1 to {MAX_ROLES} roles, or leave `roles` out"))),
    }
}

fn signer(field: &Field<'_>) -> Result<SignerId, DocumentError> {
    field.text()?.parse().map_err(|error: ParseSignerError| field.error(Cause::InvalidValue, error.to_string()))
}

/// An id is shown to people, and stands in the names of chains.
fn checked_id(id: &str) -> Result<String, KeysError> {
    if (1..=MAX_ID).contains(&id.len()) && !id.contains(char::is_control) && !is_holder(id) {
        Ok(id.to_owned())
    } else {
        Err(KeysError::Id(document::shown(id)))
    }
}

/// A new key, and the entry for it in a file of keys.
///
/// # Errors
/// [`KeysError`] when the id or the tenant is invalid, or the system gives no randomness.
pub fn new_key(id: &str, role: Role, tenant: &str, details: &ReviewerEntry) -> Result<(String, Json), KeysError> {
    let id = checked_id(id)?;
    let tenant = Tenant::of_key(tenant).map_err(|error| KeysError::Tenant { at: "--tenant".to_owned(), error })?;
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| KeysError::Randomness(error.into()))?;
    // The digest is as hard to guess as the bytes, and has the spelling of a key.
    let key = format!("pmk_{}", Sha256Digest::of(&bytes).bare_hex());
    let policy = details.policy.as_deref().map(policy_name).transpose()?;
    let roles = details.roles.iter().map(|role| Json::from(role.as_str())).collect::<Vec<_>>();
    let entry = object! {
        "id": id,
        "sha256": Sha256Digest::of(key.as_bytes()).to_string(),
        "role": role.as_str(),
        "tenant": tenant.as_str(),
        "roles"?: (!roles.is_empty()).then_some(roles),
        "signer"?: details.signer.map(|signer| signer.to_string()),
        "policy"?: policy,
    };
    Ok((key, entry.into()))
}
