//! Who asks for a decision, and by which policy, as far as the decider itself knows. No request says it: a request is what the agent
//! sent.

use proofmark_predicate::{Key, Map, Value};
use proofmark_receipt::Object;
use proofmark_session::SessionHead;

/// How far the decider is out of the reach of what asks it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Separation {
    /// What asks may be able to decide for itself: it may have the account of the decider, and so its key. This is also what is
    /// said where nothing is known.
    #[default]
    None,
    /// It asks from another account of the host, which can neither read the key and the store nor change the policies.
    Account,
    /// It asks from another host.
    Host,
}

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asker {
    pub separation: Separation,
    /// The account of the host, or the API key, that it asks with.
    pub account: Option<String>,
    /// The name of the policy that is asked, where the decider has names for them. It is not a fact: no rule reads it.
    pub policy: Option<String>,
    /// The session that it asks in, and its end at that moment. It is not a fact either.
    pub session: Option<SessionHead>,
}

impl Separation {
    /// Each with its word, as facts and receipts have it.
    pub const WORDS: [(&'static str, Self); 3] =
        [("none", Self::None), ("account", Self::Account), ("host", Self::Host)];

    /// Its word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Account => "account",
            Self::Host => "host",
        }
    }

    /// The separation with this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.into_iter().find(|(known, _)| *known == word).map(|(_, separation)| separation)
    }
}

impl Asker {
    /// Writes it where receipts have it.
    pub(crate) fn write(&self, binding: &mut Object) {
        binding.insert("separation", self.separation.as_str());
        if let Some(account) = &self.account {
            binding.insert("account", account.as_str());
        }
        if let Some(policy) = &self.policy {
            binding.insert("policy", policy.as_str());
        }
        if let Some(session) = &self.session {
            binding.insert("session", session.to_json());
        }
    }

    /// The facts with `agent.separation` and `agent.account`. Whatever a request says of these does not count.
    pub(crate) fn in_facts(&self, facts: &Value) -> Value {
        let own = [Some(("separation", self.separation.as_str())), self.account.as_deref().map(|it| ("account", it))];
        let own = own.into_iter().flatten().map(|(name, word)| (Key::String(name.into()), Value::from(word)));
        let said = facts.get("agent").into_iter().flat_map(entries);
        let said =
            said.filter(|(key, _)| !matches!(key, Key::String(name) if matches!(&**name, "separation" | "account")));
        let agent = Value::Map(Map::from_entries(said.cloned().chain(own).collect()));
        // Of two entries with one name the later counts.
        let agent = (Key::String("agent".into()), agent);
        Value::Map(Map::from_entries(entries(facts).iter().cloned().chain([agent]).collect()))
    }
}

fn entries(value: &Value) -> &[(Key, Value)] {
    match value {
        Value::Map(map) => map.entries(),
        _ => &[],
    }
}
