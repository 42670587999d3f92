//! The server's lists: what it lists is compared with what is pinned, and the guard asks for a list itself before it decides
//! on what that list would define. So what was never listed was never listed by the server, also where the client calls
//! without a list, and a list that changed is compared before the next call.

use proofmark_boundary::ActionPolicy;
use proofmark_receipt::{Json, Object, object};
use proofmark_session::{Changed, Event, Listed, ServerInfo};

use super::{Connection, Open, Output, Released, Step};
use crate::answer::{self, INTERNAL_ERROR};
use crate::fold::same_when_folded;
use crate::message::{MAX_MESSAGE_BYTES, Message, MessageError, MessageId};
use crate::origin::Origin;
use crate::pin::{INSTRUCTIONS, ORIGIN, Pin, PinKind, PinName};
use crate::pins::{Found, PinState};

/// How long the server has to answer with a list, in milliseconds: servers that are installed first start slowly.
const LIST_PATIENCE: u64 = 30_000;
/// The most pages of a list that the guard asks for.
const MAX_PAGES: u64 = 100;
/// The most entries of a list that the guard takes in.
const MAX_ENTRIES: usize = 10_000;
/// The most bytes of the pages of a list.
const MAX_LIST_BYTES: usize = MAX_MESSAGE_BYTES;
/// The most bytes of requests that wait for a list.
const MAX_PARKED_BYTES: usize = MAX_MESSAGE_BYTES;
/// What the ids of the guard's own requests begin with.
const OWN_ID: &str = "org.proofmark/";
/// The JSON-RPC code for a method that the server does not have.
const METHOD_NOT_FOUND: &str = "-32601";
/// What a request of the revision without sessions says of its client.
const META: [&str; 3] = [
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/clientInfo",
];

/// A list of the server whose entries are pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    Tools,
    Prompts,
    Templates,
}

impl List {
    const ALL: [Self; 3] = [Self::Tools, Self::Prompts, Self::Templates];

    fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// The member of the result that has the entries.
    fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Templates => "resourceTemplates",
        }
    }

    /// What is recorded where the server has listed it.
    fn event(self, listed: Listed) -> Event {
        match self {
            Self::Tools => Event::Tools(listed),
            Self::Prompts => Event::Prompts(listed),
            Self::Templates => Event::Templates(listed),
        }
    }

    fn kind(self) -> PinKind {
        match self {
            Self::Tools => PinKind::Tool,
            Self::Prompts => PinKind::Prompt,
            Self::Templates => PinKind::Template,
        }
    }

    /// The notification that it has changed.
    fn notification(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Templates => "notifications/resources/list_changed",
        }
    }

    /// The list that defines what a method uses.
    fn needed_by(method: &str) -> Option<Self> {
        match method {
            "tools/call" => Some(Self::Tools),
            "prompts/get" => Some(Self::Prompts),
            "resources/read" | "resources/subscribe" => Some(Self::Templates),
            _ => None,
        }
    }
}

/// That requests which waited for a list are on their way to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moving(List);

impl Moving {
    /// The name of the list, as requests for it have it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.0.method()
    }

    /// The one of the list with this name.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        List::ALL.into_iter().find(|list| list.method() == word).map(Self)
    }
}

/// A request of the client that waits.
#[derive(Debug)]
pub(super) struct Parked {
    pub(super) message: Message,
    pub(super) id: MessageId,
    pub(super) method: String,
}

/// What is known of the server's lists, and the guard's own requests for them.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// The lists that are compared as a whole, and have not changed since.
    known: Vec<List>,
    asked: Vec<Asked>,
    /// The requests that wait, and for which list.
    parked: Vec<(List, Parked)>,
    /// The lists whose requests are on their way.
    moving: Vec<List>,
    /// How many requests the guard has made.
    requests: u64,
}

/// A request of the guard for a list.
#[derive(Debug)]
struct Asked {
    list: List,
    id: MessageId,
    /// What the request says of the client, where the revision wants that.
    meta: Option<Object>,
    /// When it was first noticed that it is open, in milliseconds.
    since: Option<u64>,
    entries: Vec<Json>,
    pages: u64,
    bytes: usize,
    /// The server has said meanwhile that the list changed.
    is_outdated: bool,
}

impl Released {
    /// The request.
    #[must_use]
    pub fn id(&self) -> &MessageId {
        &self.0.id
    }
}

impl Lists {
    pub(super) fn has_asked(&self, id: &MessageId) -> bool {
        self.asked.iter().any(|asked| asked.id == *id)
    }

    fn has_asked_for(&self, list: List) -> bool {
        self.asked.iter().any(|asked| asked.list == list)
    }

    /// Takes the requests that wait; their ids.
    pub(super) fn take_parked(&mut self) -> Vec<MessageId> {
        std::mem::take(&mut self.parked).into_iter().map(|(_, parked)| parked.id).collect()
    }

    /// Drops a request that waits for a list; whether there was one.
    pub(super) fn drop_parked(&mut self, id: &MessageId) -> bool {
        let before = self.parked.len();
        self.parked.retain(|(_, parked)| parked.id != *id);
        self.parked.len() < before
    }

    /// Lets the requests go on that wait for this list, unless others are on their way before them.
    fn release(&mut self, list: List, step: &mut Step) {
        if self.moving.contains(&list) {
            return;
        }
        let parked = std::mem::take(&mut self.parked).into_iter();
        let (released, parked) = parked.partition::<Vec<_>, _>(|(waits_for, _)| *waits_for == list);
        self.parked = parked;
        if !released.is_empty() {
            self.moving.push(list);
            step.moving.push(Moving(list));
        }
        step.released.extend(released.into_iter().map(|(_, parked)| Released(parked, None)));
    }
}

impl Connection {
    /// Whether a request of the client waits for a list that the guard has asked for, or is on its way after that.
    #[must_use]
    pub fn waits_for_list(&self) -> bool {
        !self.lists.parked.is_empty() || !self.lists.moving.is_empty()
    }

    /// Takes in that what followed from a step has been moved.
    pub fn moved(&mut self, moving: Moving) -> Step {
        let Moving(list) = moving;
        self.lists.moving.retain(|moving| *moving != list);
        let mut step = Step::default();
        if !self.lists.has_asked_for(list) {
            self.lists.release(list, &mut step);
        }
        step
    }

    /// The list that a request waits for: one that must be known before it is decided, or whose requests are on their way.
    pub(super) fn list_needed(&self, method: &str) -> Option<List> {
        List::needed_by(method).filter(|list| {
            let is_behind =
                self.lists.moving.contains(list) || self.lists.parked.iter().any(|(other, _)| other == list);
            is_behind || !self.lists.known.contains(list)
        })
    }

    /// Holds a request until the list is known.
    pub(super) fn ask_first(&mut self, list: List, parked: Parked) -> Result<Step, MessageError> {
        let bytes = |parked: &Parked| parked.message.text.len();
        let waiting: usize = self.lists.parked.iter().map(|(_, parked)| bytes(parked)).sum();
        // A server that does not answer must not make the guard collect requests without an end.
        if waiting.saturating_add(bytes(&parked)) > MAX_PARKED_BYTES {
            let reason = format!("more than {MAX_PARKED_BYTES} bytes of requests wait for a list of the server");
            return Err(MessageError::invalid(Some(parked.id), reason));
        }
        let meta = parked.message.is_stateless().then(|| client_meta(&parked.message));
        self.deciding.insert(parked.id.clone());
        self.lists.parked.push((list, parked));
        if self.lists.has_asked_for(list) || self.lists.known.contains(&list) {
            return Ok(Step::default());
        }
        let (id, entries) = (self.own_id(), Vec::new());
        let ask = Asked { list, id, meta, since: None, entries, pages: 0, bytes: 0, is_outdated: false };
        let request = Output::Ask(ask.id.clone(), ask.request(None));
        self.lists.asked.push(ask);
        Ok(Step::of(request))
    }

    /// An id that no open request of the client has.
    fn own_id(&mut self) -> MessageId {
        loop {
            self.lists.requests += 1;
            let id = MessageId::text(&format!("{OWN_ID}{}", self.lists.requests));
            if !self.open.contains_key(&id) && !self.deciding.contains(&id) {
                return id;
            }
        }
    }

    /// Takes in the answer to a request of the guard.
    pub(super) fn listed_for_guard(&mut self, id: &MessageId, message: &Message) -> Step {
        let Some(at) = self.lists.asked.iter().position(|asked| asked.id == *id) else { return Step::default() };
        let mut asked = self.lists.asked.swap_remove(at);
        let result = message.result();
        let items = result.and_then(|result| result.get(asked.list.member())?.as_array());
        let is_page = items.is_some();
        asked.entries.extend(items.unwrap_or_default().iter().cloned());
        (asked.pages, asked.bytes) = (asked.pages + 1, asked.bytes + message.text.len());
        let next = result.and_then(|result| result.get("nextCursor")?.as_str());
        // A list that is too long is compared as far as it came; what is not on it is not listed.
        let is_short = asked.pages < MAX_PAGES && asked.entries.len() < MAX_ENTRIES && asked.bytes < MAX_LIST_BYTES;
        if let Some(cursor) = next.filter(|_| is_short) {
            asked.id = self.own_id();
            let request = Output::Ask(asked.id.clone(), asked.request(Some(cursor)));
            self.lists.asked.push(asked);
            return Step::of(request);
        }
        let mut outputs = Vec::new();
        if is_page {
            self.compare(asked.list, &asked.entries, true, &mut outputs);
        }
        // A server that has no such list has nothing that it would define. After another error it is asked again.
        if (is_page || has_no_method(message)) && !asked.is_outdated {
            self.lists.known.push(asked.list);
        }
        let mut step = Step { outputs, ..Step::default() };
        self.lists.release(asked.list, &mut step);
        step
    }

    /// Goes on without the lists that the server has not answered with in time.
    pub(super) fn give_up_lists(&mut self, millis: u64) -> Step {
        let mut step = Step::default();
        let is_late = |asked: &mut Asked| millis.saturating_sub(*asked.since.get_or_insert(millis)) >= LIST_PATIENCE;
        let asked = std::mem::take(&mut self.lists.asked).into_iter();
        let (late, asked) =
            asked.map(|mut asked| (is_late(&mut asked), asked)).partition::<Vec<_>, _>(|(is_late, _)| *is_late);
        let [late, asked] = [late, asked].map(|asked| asked.into_iter().map(|(_, asked)| asked).collect::<Vec<_>>());
        self.lists.asked = asked;
        for asked in late {
            let method = asked.list.method();
            if asked.list == List::Templates {
                // Nothing is blocked because it is not listed, so no later read has to wait.
                self.lists.known.push(asked.list);
            }
            step.outputs.push(Output::Log(format!("the server has not answered `{method}` in time")));
            self.lists.release(asked.list, &mut step);
        }
        step
    }

    /// Takes in a notification that a list has changed.
    pub(super) fn list_changed(&mut self, method: &str) -> Option<Event> {
        let list = List::ALL.into_iter().find(|list| list.notification() == method)?;
        let was_known = self.lists.known.contains(&list);
        self.lists.known.retain(|known| *known != list);
        self.lists.asked.iter_mut().filter(|asked| asked.list == list).for_each(|asked| asked.is_outdated = true);
        // Only where something follows from it: a server may say so as often as it likes.
        was_known.then(|| Event::Changed(Changed { list: list.member().to_owned() }))
    }

    /// Takes in an answer to the client that may define something.
    pub(super) fn defined(
        &mut self,
        message: &Message,
        open: &Open,
        policy: &ActionPolicy,
        outputs: &mut Vec<Output>,
    ) -> Option<String> {
        let list = List::ALL.into_iter().find(|list| list.method() == open.method);
        let introduces = matches!(open.method.as_str(), "initialize" | "server/discover");
        let result = message.result().filter(|_| introduces || list.is_some())?;
        let members = List::ALL.map(List::member);
        let odd = result.iter().map(|(name, _)| name).find(|name| {
            let known = members.iter().chain(&[INSTRUCTIONS, "nextCursor"]);
            !known.clone().any(|known| *known == *name) && known.clone().any(|known| same_when_folded(name, &[known]))
        });
        if let Some(odd) = odd {
            // A client that takes it for the other would be given what was not compared.
            let why =
                format!("the server's answer has a member `{}` in another letter case", proofmark_receipt::shown(odd));
            outputs.push(Output::Log(why.clone()));
            return Some(answer::error(Some(&open.id), INTERNAL_ERROR, &why, None));
        }
        let Some(list) = list else { return self.introduced(message, outputs) };
        let items = result.get(list.member())?.as_array()?;
        let is_whole = open.from_begin && result.get("nextCursor").is_none_or(Json::is_null);
        self.compare(list, items, is_whole, outputs);
        // A page says nothing of what is on the others.
        if is_whole && !self.lists.known.contains(&list) {
            self.lists.known.push(list);
        }
        (list == List::Tools && self.settings.hide).then(|| self.without_hidden(message, items, policy))?
    }

    /// Compares what the server lists with what is pinned.
    fn compare(&mut self, list: List, items: &[Json], is_whole: bool, outputs: &mut Vec<Output>) {
        let found = self.pins.list(&self.settings.server, list.kind(), items, is_whole);
        let name = |pin: &Pin| proofmark_receipt::shown(&pin.name.name);
        let quarantined = found.quarantined.iter().map(|(pin, state)| format!("{}: {}", name(pin), state.as_str()));
        let listed = Listed { listed: items.len() as u64, quarantined: quarantined.collect() };
        keep(found, outputs);
        outputs.push(Output::Event(list.event(listed)));
    }

    /// Takes in that these definitions were not pinned, because others have pinned something meanwhile that they differ from. `pinned`
    /// is what is pinned now.
    pub fn pinned_meanwhile(&mut self, pinned: Vec<Pin>, again: Vec<Pin>) -> Vec<Output> {
        let mut outputs = Vec::new();
        let found = self.pins.list_again(&self.settings.server, pinned, again);
        keep(found, &mut outputs);
        outputs
    }

    /// Takes in what a server says of itself. Instructions that are not pinned are withheld: a model reads them at once.
    fn introduced(&mut self, message: &Message, outputs: &mut Vec<Output>) -> Option<String> {
        let result = message.result()?;
        let state = result.get(INSTRUCTIONS).map(|_| {
            let pin = Pin::of(&self.settings.server, PinName::new(PinKind::Server, INSTRUCTIONS), result);
            let (state, found) = self.pins.of_server(pin);
            keep(found, outputs);
            state
        });
        let meta = result.get("_meta").and_then(Json::as_object);
        let info = result.get("serverInfo").or_else(|| meta?.get("io.modelcontextprotocol/serverInfo"));
        let text =
            |name: &str| info.and_then(|info| info.as_object()?.get(name)?.as_str()).map(proofmark_receipt::shown);
        let introduced = ServerInfo {
            name: text("name"),
            version: text("version"),
            protocol: result.get("protocolVersion").and_then(Json::as_str).map(proofmark_receipt::shown),
            instructions: state.as_ref().map(|state| state.as_str().to_owned()),
        };
        outputs.push(Output::Event(Event::Server(introduced)));
        if self.settings.shadow || state.is_none_or(|state| state == PinState::Pinned) {
            return None;
        }
        let mut body = message.body.clone();
        if let Some(Json::Object(result)) = body.get_mut("result") {
            result.remove(INSTRUCTIONS);
        }
        Some(body.to_text())
    }

    /// Compares what the server is reached by with what is pinned; the state. A person may know why it is another one, so
    /// that is noted and blocks nothing.
    pub(super) fn origin(&mut self, outputs: &mut Vec<Output>) -> Option<&'static str> {
        if self.settings.origin.is_empty() {
            return None;
        }
        // Words may be secrets. The digest shows that they have changed.
        let Origin { words, sha256, .. } = Origin::of(&self.settings.origin);
        let words: Vec<_> = words.into_iter().map(Json::from).collect();
        let mut origin = Object::new();
        origin.insert(ORIGIN, object! { "words": words, "sha256": sha256 });
        let pin = Pin::of(&self.settings.server, PinName::new(PinKind::Server, ORIGIN), &origin);
        let (state, found) = self.pins.of_server(pin);
        keep(found, outputs);
        Some(state.as_str())
    }

    /// The list without the tools that are never allowed, if there are any.
    fn without_hidden(&self, message: &Message, tools: &[Json], policy: &ActionPolicy) -> Option<String> {
        let server = Some(self.settings.server.as_str());
        let shown: Vec<Json> = tools
            .iter()
            .filter(|tool| {
                let name = tool.as_object().and_then(|tool| tool.get("name")?.as_str()).unwrap_or_default();
                !policy.never_allows(name, server)
            })
            .cloned()
            .collect();
        if shown.len() == tools.len() {
            return None;
        }
        let mut body = message.body.clone();
        if let Some(Json::Object(result)) = body.get_mut("result") {
            result.insert("tools", shown);
            // The list is this policy's: another caller must not be given it.
            if result.contains("cacheScope") {
                result.insert("cacheScope", "private");
            }
        }
        Some(body.to_text())
    }
}

impl Asked {
    fn request(&self, cursor: Option<&str>) -> String {
        let params = object! { "cursor"?: cursor, "_meta"?: self.meta.clone() };
        let request = object! {
            "jsonrpc": "2.0",
            "method": self.list.method(),
            "params"?: (!params.is_empty()).then_some(params),
        };
        // The id is JSON already.
        let text = Json::from(request).to_text();
        format!(r#"{{"id":{},{}"#, self.id.as_json(), text.strip_prefix('{').unwrap_or_default())
    }
}

/// Pins what is new, and reports what is quarantined.
fn keep(found: Found, outputs: &mut Vec<Output>) {
    if found.left_out > 0 {
        outputs.push(Output::Log(format!(
            "{} definitions of the server are too long or too many to be pinned, and count as not listed",
            found.left_out
        )));
    }
    for (name, server) in &found.alike {
        outputs.push(Output::Log(format!(
            "the tool `{}` has the name of one of the server `{}`; `proofmark guard pin approve` keeps a name to the server \
             that you mean",
            proofmark_receipt::shown(name),
            proofmark_receipt::shown(server)
        )));
    }
    outputs.extend(found.pinned.into_iter().map(Output::Pin));
    for (pin, state) in found.quarantined {
        let (name, why) = (proofmark_receipt::shown(&pin.name.name), state.explained().unwrap_or_default());
        outputs.push(Output::Log(match (pin.name.kind, &*pin.name.name) {
            (PinKind::Server, INSTRUCTIONS) => {
                "the server's instructions are withheld: they are not the pinned ones; `proofmark guard pin list \
                 --waiting` shows them"
                    .to_owned()
            }
            // The words may be secrets.
            (PinKind::Server, _) => {
                "the server is started or reached in another way than the pinned one; `proofmark guard pin list \
                 --waiting` shows how"
                    .to_owned()
            }
            (kind, _) => format!("the {} `{name}` is quarantined: {why}", kind.as_str()),
        }));
        outputs.push(Output::Waits(pin, why));
    }
}

/// What a request says of its client.
fn client_meta(message: &Message) -> Object {
    let mut meta = Object::new();
    for name in META {
        if let Some(value) = message.meta(name) {
            meta.insert(name, value.clone());
        }
    }
    meta
}

fn has_no_method(message: &Message) -> bool {
    let code = message.body.get("error").and_then(|error| error.as_object()?.get("code"));
    code.is_some_and(|code| code.to_text() == METHOD_NOT_FOUND)
}
