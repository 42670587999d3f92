//! YAML documents, read in one pass as the JSON they stand for.
//!
//! The parser's events become a list of nodes in document order, each with the number of nodes below it. An alias copies
//! the nodes of its anchor, so nothing is kept for anchors that are not used, and every limit on aliases is a count. The
//! list then becomes a [`Json`] tree.

use std::collections::BTreeMap;
use std::vec;

use granit_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span};

use super::error::{Cause, DocumentError, Place};
use super::{MAX_DOCUMENT_BYTES, MAX_DOCUMENT_DEPTH, scalar};
use crate::json::{Json, Object};
use crate::position::line_and_column;
use crate::shown;

/// How many nodes a document may have, keys included.
// A node takes far more memory than the two bytes that it can take in the text.
const MAX_NODES: usize = 250_000;

/// How much memory a node takes while its document is read, in bytes.
const NODE_BYTES: usize = 200;

/// How many nodes all aliases together may stand for.
// Aliases of aliases grow exponentially with the length of the text, which therefore limits nothing.
const MAX_ALIASED_NODES: usize = 100_000;

/// Reads a YAML document, with the byte where each value starts, in the order of the values.
pub(super) fn parse(bytes: &[u8]) -> Result<(Json, Vec<usize>), DocumentError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let (line, column) = line_and_column(bytes, error.valid_up_to());
        let place = Place::Text { line, column };
        DocumentError::new(place, Cause::InvalidYaml, "invalid UTF-8").with_help("save the file as UTF-8")
    })?;
    let mut tree = Tree { text, nodes: nodes(text)?.into_iter(), starts: Vec::new() };
    let json = tree.value(0)?;
    Ok((json, tree.starts))
}

/// One node of the document.
#[derive(Clone)]
struct Node {
    /// The byte it starts at; for what an alias stands for, the byte of the alias.
    start: usize,
    /// How many nodes it is, with itself; 0 while it is being read.
    size: usize,
    content: Content,
}

#[derive(Clone)]
enum Content {
    Scalar(Json),
    Sequence,
    Mapping,
}

/// The nodes of the document in `text`, keys and values alike in the order of the text.
fn nodes(text: &str) -> Result<Vec<Node>, DocumentError> {
    let mut list = List {
        text,
        nodes: Vec::new(),
        open: Vec::new(),
        anchors: BTreeMap::new(),
        own_nodes: 0,
        aliased_nodes: 0,
        aliased_bytes: 0,
    };
    let mut documents = 0;
    // Events come as the text is parsed, so a limit stops the parser, too.
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| unreadable(&error))?;
        if matches!(event, Event::DocumentStart(..)) {
            documents += 1;
            if documents > 1 {
                return Err(refusal(&span, "more than one document").with_help("write one document"));
            }
        }
        list.event(event, &span)?;
    }
    Ok(list.nodes)
}

/// About how much memory a text takes while it is read as YAML, in bytes, before it is read: each node but the first stands behind
/// one of these characters.
#[must_use]
pub fn yaml_size(text: &[u8]) -> usize {
    let nodes = text.iter().filter(|byte| b"\n\r,[{:-?".contains(byte)).take(MAX_NODES).count();
    text.len().saturating_add(nodes.saturating_mul(NODE_BYTES))
}

fn unreadable(error: &ScanError) -> DocumentError {
    let place = place(error.marker());
    let message = format!("invalid YAML: {}", error.info());
    let help = "check brackets, quotes and indentation; YAML is indented with spaces";
    DocumentError::new(place, Cause::InvalidYaml, message).with_help(help)
}

fn place(marker: &Marker) -> Place {
    // The parser counts lines from 1 and columns from 0.
    Place::Text { line: marker.line() as u64, column: marker.col() as u64 + 1 }
}

/// The nodes read so far.
struct List<'t> {
    text: &'t str,
    nodes: Vec<Node>,
    /// The collections being read, innermost last.
    open: Vec<Open>,
    /// The node of each anchor.
    anchors: BTreeMap<usize, usize>,
    own_nodes: usize,
    aliased_nodes: usize,
    aliased_bytes: usize,
}

/// A collection being read.
struct Open {
    node: usize,
    /// Whether the next node is a key. A sequence has none.
    key_next: Option<bool>,
}

impl List<'_> {
    fn event(&mut self, event: Event<'_>, span: &Span) -> Result<(), DocumentError> {
        // A tag gives a value another type, and readers know different tags.
        if let Some(tag) = event.tag() {
            let place = place(&span.tag_start.unwrap_or(span.start));
            let message = format!("found the tag `{}`", shown(&tag.original()));
            let refused = DocumentError::new(place, Cause::InvalidYaml, message);
            return Err(refused.with_help("leave the tag out; write a string in quotes"));
        }
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let json = self.scalar(&text, style, span)?;
                self.add(Content::Scalar(json), anchor, span)?;
                Ok(())
            }
            Event::SequenceStart(_, anchor, _) => self.start(Content::Sequence, anchor, span),
            Event::MappingStart(_, anchor, _) => self.start(Content::Mapping, anchor, span),
            Event::SequenceEnd | Event::MappingEnd => {
                self.end();
                Ok(())
            }
            Event::Alias(anchor) => self.alias(anchor, span),
            // Marks of the stream and, where another crate turns the parser's feature on, comments.
            _ => Ok(()),
        }
    }

    fn scalar(&self, text: &str, style: ScalarStyle, span: &Span) -> Result<Json, DocumentError> {
        // In quotes, or as a block, every word is a string to every reader.
        if style != ScalarStyle::Plain {
            return Ok(Json::from(text));
        }
        // YAML 1.1 merges the members of its value into the mapping; YAML 1.2 has a member named `<<`.
        if text == "<<" && self.at_key() {
            return Err(refusal(span, "found the merge key `<<`").with_help("write the members out"));
        }
        scalar::plain(text).map_err(|refused| refusal(span, refused.message(text)).with_help(refused.help()))
    }

    fn start(&mut self, content: Content, anchor: usize, span: &Span) -> Result<(), DocumentError> {
        let key_next = matches!(content, Content::Mapping).then_some(true);
        let node = self.add(content, anchor, span)?;
        if let Some(node) = self.nodes.get_mut(node) {
            // An alias to it is refused until `end` sets the size: a value inside itself has no end.
            node.size = 0;
        }
        self.open.push(Open { node, key_next });
        Ok(())
    }

    fn end(&mut self) {
        let Some(open) = self.open.pop() else { return };
        let size = self.nodes.len() - open.node;
        if let Some(node) = self.nodes.get_mut(open.node) {
            node.size = size;
        }
    }

    /// Adds a node and returns its index.
    fn add(&mut self, content: Content, anchor: usize, span: &Span) -> Result<usize, DocumentError> {
        self.check_key(not_a_key(&content), span)?;
        self.own_nodes += 1;
        if self.own_nodes > MAX_NODES {
            return Err(refusal(span, format!("more than {MAX_NODES} nodes")).with_help("write the document in JSON"));
        }
        let index = self.nodes.len();
        // The parser numbers anchors from 1; 0 is a node without one.
        if anchor != 0 {
            self.anchors.insert(anchor, index);
        }
        self.nodes.push(Node { start: self.start_of(span), size: 1, content });
        Ok(index)
    }

    /// Copies what the anchor stands for.
    fn alias(&mut self, anchor: usize, span: &Span) -> Result<(), DocumentError> {
        let first = self.anchors.get(&anchor).copied().unwrap_or(usize::MAX);
        let Some(node) = self.nodes.get(first).filter(|node| node.size > 0) else {
            return Err(refusal(span, "the alias is inside its own anchor").with_help("write the value out"));
        };
        let (size, not_a_key) = (node.size, not_a_key(&node.content));
        self.check_key(not_a_key, span)?;
        // Counted before anything is copied.
        self.aliased_nodes += size;
        if self.aliased_nodes > MAX_ALIASED_NODES {
            let message = format!("the aliases stand for more than {MAX_ALIASED_NODES} nodes");
            return Err(refusal(span, message).with_help("use fewer aliases"));
        }
        let start = self.start_of(span);
        for index in first..first + size {
            let Some(node) = self.nodes.get(index) else { break };
            // One node can be a string of 16 MiB, so a limit on nodes alone would not limit the memory.
            self.aliased_bytes += text_length(&node.content);
            if self.aliased_bytes > MAX_DOCUMENT_BYTES {
                let message = format!("the aliases stand for more than {MAX_DOCUMENT_BYTES} bytes");
                return Err(refusal(span, message).with_help("use fewer aliases"));
            }
            self.nodes.push(Node { start, ..node.clone() });
        }
        Ok(())
    }

    fn at_key(&self) -> bool {
        self.open.last().is_some_and(|open| open.key_next == Some(true))
    }

    /// Counts the next node as a key or a value of its mapping, and refuses it as a key when it is not a string.
    fn check_key(&mut self, not_a_key: Option<&str>, span: &Span) -> Result<(), DocumentError> {
        if let Some(found) = not_a_key.filter(|_| self.at_key()) {
            return Err(refusal(span, format!("found {found} as a key")).with_help("write the key in quotes"));
        }
        if let Some(key_next) = self.open.last_mut().and_then(|open| open.key_next.as_mut()) {
            *key_next = !*key_next;
        }
        Ok(())
    }

    fn start_of(&self, span: &Span) -> usize {
        span.start.byte_offset().unwrap_or(self.text.len())
    }
}

fn refusal(span: &Span, message: impl Into<String>) -> DocumentError {
    DocumentError::new(place(&span.start), Cause::InvalidYaml, message)
}

/// The type of a node that cannot be a key.
fn not_a_key(content: &Content) -> Option<&'static str> {
    match content {
        Content::Scalar(Json::String(_)) => None,
        Content::Scalar(json) => Some(json.type_name()),
        Content::Sequence => Some("array"),
        Content::Mapping => Some("object"),
    }
}

fn text_length(content: &Content) -> usize {
    match content {
        Content::Scalar(Json::String(text)) => text.len(),
        Content::Scalar(Json::Number(number)) => number.as_str().len(),
        Content::Scalar(_) | Content::Sequence | Content::Mapping => 0,
    }
}

/// Makes values of the list of nodes.
struct Tree<'t> {
    text: &'t str,
    nodes: vec::IntoIter<Node>,
    /// Where each value starts; keys are not values.
    starts: Vec<usize>,
}

impl Tree<'_> {
    /// The next value, `depth` levels down. A stream without a document is `null`.
    fn value(&mut self, depth: usize) -> Result<Json, DocumentError> {
        let Some(node) = self.nodes.next() else { return Ok(Json::Null) };
        self.starts.push(node.start);
        // Checked here and not while events are read: an alias takes what it stands for to another depth.
        if depth == MAX_DOCUMENT_DEPTH && !matches!(node.content, Content::Scalar(_)) {
            let message = format!("nested deeper than {MAX_DOCUMENT_DEPTH} levels");
            return Err(self.refusal(node.start, message).with_help("flatten the document"));
        }
        // `size` counts the node itself, which is already taken.
        let end = (self.nodes.len() + 1).saturating_sub(node.size);
        match node.content {
            Content::Scalar(json) => Ok(json),
            Content::Sequence => self.sequence(end, depth + 1),
            Content::Mapping => self.mapping(end, depth + 1),
        }
    }

    /// The items up to where `end` nodes are left.
    fn sequence(&mut self, end: usize, depth: usize) -> Result<Json, DocumentError> {
        let mut items = Vec::new();
        while self.nodes.len() > end {
            items.push(self.value(depth)?);
        }
        Ok(Json::Array(items))
    }

    /// The members up to where `end` nodes are left.
    fn mapping(&mut self, end: usize, depth: usize) -> Result<Json, DocumentError> {
        let mut members = Vec::new();
        let mut key_starts = Vec::new();
        while self.nodes.len() > end {
            // Always matches: `check_key` refuses every other key.
            if let Some(Node { start, content: Content::Scalar(Json::String(key)), .. }) = self.nodes.next() {
                key_starts.push(start);
                members.push((key, self.value(depth)?));
            }
        }
        self.refuse_duplicates(&members, &key_starts)?;
        Ok(Json::Object(Object::from_unique(members)))
    }

    fn refuse_duplicates(&self, members: &[(String, Json)], starts: &[usize]) -> Result<(), DocumentError> {
        let mut keys: Vec<_> = members.iter().map(|(key, _)| key.as_str()).zip(starts.iter().copied()).collect();
        // Sorted, because comparing every pair of keys takes quadratic time, and the client chooses how many there are.
        keys.sort_unstable();
        let repeated = keys.windows(2).find_map(|pair| match pair {
            [(first, _), (second, start)] if first == second => Some((*second, *start)),
            _ => None,
        });
        match repeated {
            Some((key, start)) => {
                let message = format!("duplicate key `{}`", shown(key));
                Err(self.refusal(start, message).with_help("keep one of them"))
            }
            None => Ok(()),
        }
    }

    fn refusal(&self, start: usize, message: impl Into<String>) -> DocumentError {
        let (line, column) = line_and_column(self.text.as_bytes(), start);
        DocumentError::new(Place::Text { line, column }, Cause::InvalidYaml, message)
    }
}
