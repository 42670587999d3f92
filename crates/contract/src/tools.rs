//! Which tools change something.

use proofmark_evidence::{FromThere, ProvenanceDemand};
use proofmark_receipt::document::{DocumentError, Field};
use proofmark_receipt::glob;
use proofmark_receipt::{Json, object};
use proofmark_session::{COMMON_TOOLS, qualified_name};

use crate::class::Class;
use crate::{read, vocabulary};

/// Which tools change something, by their names and by where their calls come from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolClasses {
    pub mutating: Vec<ToolGlob>,
    pub readonly: Vec<ToolGlob>,
}

/// The tools that one entry of a list means.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolGlob {
    /// A glob over the name, which may also be written `mcp:SERVER:NAME`.
    pub name: String,
    /// Where a call of it comes from.
    pub from: ProvenanceDemand,
    /// The entry as it is written, for the digest of the contract.
    written: Json,
}

impl ToolClasses {
    /// The class of a tool, of a call of which `member` tells the provenance: readonly where it is declared so and may not also be
    /// declared mutating. An undeclared tool counts as mutating.
    pub fn class_of<'a>(&self, tool: &str, member: impl Fn(&str) -> Option<&'a str> + Copy) -> Class {
        let is_readonly = self.readonly.iter().any(|entry| entry.means(tool, member) == FromThere::Yes);
        // What is not known of a call counts against it.
        let may_mutate = self.mutating.iter().any(|entry| entry.means(tool, member) != FromThere::No);
        if is_readonly && !may_mutate { Class::Readonly } else { Class::Mutating }
    }

    /// Whether the tool is declared to change something.
    pub fn is_mutating<'a>(&self, tool: &str, member: impl Fn(&str) -> Option<&'a str> + Copy) -> bool {
        self.mutating.iter().any(|entry| entry.means(tool, member) == FromThere::Yes)
    }

    /// Whether an entry names the server of its tools.
    pub(crate) fn name_server(&self) -> bool {
        self.mutating.iter().chain(&self.readonly).any(ToolGlob::names_server)
    }

    pub(crate) fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(vocabulary::TOOLS)?;
        let limit = read::Limit { max: read::MAX_NAMES, help: "use `*`" };
        let list = |name: &str| read::list(&fields, name, limit, ToolGlob::read);
        Ok(Self { mutating: list("mutating")?, readonly: list("readonly")? })
    }

    /// The declarations of both. What either calls mutating is mutating.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let both = |left: &[ToolGlob], right: &[ToolGlob]| [left, right].concat();
        Self { mutating: both(&self.mutating, &other.mutating), readonly: both(&self.readonly, &other.readonly) }
    }

    pub(crate) fn to_json(&self) -> Json {
        let list = |entries: &[ToolGlob]| entries.iter().map(|entry| entry.written.clone()).collect::<Vec<_>>();
        object! { "mutating": list(&self.mutating), "readonly": list(&self.readonly) }.into()
    }
}

impl ToolGlob {
    fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        let written = field.json.clone();
        if written.as_object().is_none() {
            return Ok(Self { name: read::word(field)?, from: ProvenanceDemand::default(), written });
        }
        let fields = field.fields()?;
        fields.only(vocabulary::TOOL)?;
        let name = read::word(&fields.need("name", "name the tool")?)?;
        Ok(Self { name, from: ProvenanceDemand::read(&fields)?, written })
    }

    /// Whether a tool is meant, of a call of which `member` tells the provenance.
    fn means<'a>(&self, tool: &str, member: impl Fn(&str) -> Option<&'a str>) -> FromThere {
        let server = member("server");
        let names = self.from.tool_names(tool, server);
        let qualified = qualified_name(server, tool);
        if !names.into_iter().chain(qualified.as_deref()).any(|name| glob::matches(&self.name, name)) {
            return FromThere::No;
        }
        self.from.fits(member)
    }

    /// Whether it names a server, so that a tool of the same name elsewhere is not meant.
    pub(crate) fn names_server(&self) -> bool {
        self.from.names_server() || self.name.starts_with("mcp:")
    }

    /// Whether it names a tool of the host itself.
    pub(crate) fn names_host(&self) -> bool {
        self.from.names_host() || self.name.starts_with("host:") || COMMON_TOOLS.contains(&self.name.as_str())
    }
}
