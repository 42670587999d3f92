//! What a server that decides answers to what happened at a guarded connection.

use proofmark_decider::Passage;
use proofmark_guard::Moving;
use proofmark_receipt::document::{DocumentError, Field, Fields};
use proofmark_receipt::{Json, Object, object};

use super::http::{id_to_json, read_id};
use super::{Sent, items, whole_number};

/// The most passages of one answer.
pub(super) const MAX_PASSAGES: usize = 100_000;

/// What follows from what happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Follows {
    pub passages: Vec<Passage>,
    /// Whether the server must not be closed yet.
    pub waits_for_list: bool,
    /// Whether nothing waits, so that nothing follows from time alone.
    pub is_idle: bool,
    /// Whether the session has entries.
    pub is_recorded: bool,
    /// The HTTP status of what was posted, if it is answered here; otherwise 0.
    pub status: u16,
    /// Whether what was posted goes on later, or is answered later.
    pub waits: bool,
    /// Whether the request that was told of has no answer yet.
    pub is_open: bool,
    /// Whether the text that the server sent has signs of steering.
    pub is_suspicious: bool,
}

impl Follows {
    /// What is to be moved, and nothing else.
    pub(crate) fn of(passages: Vec<Passage>) -> Self {
        Self { passages, ..Self::default() }
    }
}

impl Sent for Follows {
    fn to_json(&self) -> Json {
        let passages: Vec<Json> = self.passages.iter().map(|passage| passage_to_json(passage).into()).collect();
        object! {
            "passages": passages,
            "waits_for_list": self.waits_for_list,
            "is_idle": self.is_idle,
            "is_recorded": self.is_recorded,
            "status": u64::from(self.status),
            "waits": self.waits,
            "is_open": self.is_open,
            "is_suspicious": self.is_suspicious,
        }
        .into()
    }

    fn read(fields: &Fields<'_>) -> Result<Self, DocumentError> {
        const FLAGS: [&str; 6] = ["waits_for_list", "is_idle", "is_recorded", "waits", "is_open", "is_suspicious"];
        fields.only(&[&["passages", "status"], &FLAGS[..]].concat())?;
        let listed = fields.need("passages", "list the passages")?;
        let items = items(&listed, MAX_PASSAGES)?;
        let flags = FLAGS.map(|name| fields.need(name, "write true or false")?.boolean());
        let [waits_for_list, is_idle, is_recorded, waits, is_open, is_suspicious] = flags;
        let status = fields.need("status", "write the status")?;
        Ok(Self {
            passages: items.iter().map(read_passage).collect::<Result<_, _>>()?,
            waits_for_list: waits_for_list?,
            is_idle: is_idle?,
            is_recorded: is_recorded?,
            status: u16::try_from(whole_number(&status)?).map_err(|_| status.wrong_type("a status of HTTP"))?,
            waits: waits?,
            is_open: is_open?,
            is_suspicious: is_suspicious?,
        })
    }
}

fn passage_to_json(passage: &Passage) -> Object {
    let (to, text, id) = match passage {
        Passage::ToClient(text) => ("client", text.as_str(), None),
        Passage::ToServer(text) => ("server", text.as_str(), None),
        Passage::Progress(text) => ("progress", text.as_str(), None),
        Passage::Ask(id, text) => ("ask", text.as_str(), Some(id)),
        Passage::Log(text) => ("log", text.as_str(), None),
        Passage::Moved(moving) => ("moved", moving.as_str(), None),
        Passage::Of(id, passage) => {
            let mut passage = passage_to_json(passage);
            passage.insert("of", id_to_json(id));
            return passage;
        }
    };
    object! { "to": to, "text": text, "id"?: id.map(id_to_json) }
}

fn read_passage(field: &Field<'_>) -> Result<Passage, DocumentError> {
    let fields = field.fields()?;
    fields.only(&["to", "text", "id", "of"])?;
    let text_of = fields.need("text", "write the text")?;
    let text = text_of.text()?.to_owned();
    let named = |name: &str| fields.get(name).map(|field| read_id(&field.fields()?)).transpose();
    let passage = match (fields.need("to", "say where it goes")?.text()?, named("id")?) {
        ("client", None) => Passage::ToClient(text),
        ("server", None) => Passage::ToServer(text),
        ("progress", None) => Passage::Progress(text),
        ("ask", Some(id)) => Passage::Ask(id, text),
        ("log", None) => Passage::Log(text),
        ("moved", None) => {
            Passage::Moved(Moving::from_word(&text).ok_or_else(|| text_of.wrong_type("the name of a list"))?)
        }
        _ => return Err(field.wrong_type("a passage")),
    };
    Ok(match named("of")? {
        Some(of) => Passage::Of(of, Box::new(passage)),
        None => passage,
    })
}
