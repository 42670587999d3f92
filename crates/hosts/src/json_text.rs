//! The text of a JSON document, changed in place: a file that people edit keeps its comments, its order and its form.

use proofmark_receipt::{Json, Object};

/// A document of JSON with the text it was read from.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonText {
    text: String,
    json: Json,
}

/// A step from a value to one within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    Name(&'a str),
    Index(usize),
}

/// Why a text cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JsonTextError(String);

/// Where a value is in the text, and what it has within.
#[derive(Debug, Default)]
struct Node {
    start: usize,
    end: usize,
    children: Vec<Child>,
}

/// A member of an object or an item of an array. It begins with its name, if it has one.
#[derive(Debug)]
struct Child {
    start: usize,
    name: Option<String>,
    node: Node,
}

impl JsonText {
    /// Reads a document. Comments (`//` and `/* */`) are allowed where the program that reads the file allows them.
    ///
    /// # Errors
    /// When it is not JSON, or two programs could read it differently.
    pub fn read(bytes: &[u8], with_comments: bool) -> Result<Self, JsonTextError> {
        let text = String::from_utf8(bytes.to_vec()).map_err(|_| JsonTextError("it is not UTF-8".to_owned()))?;
        Self::of(text, with_comments)
    }

    fn of(text: String, with_comments: bool) -> Result<Self, JsonTextError> {
        let plain = if with_comments { without_comments(text.as_bytes()) } else { text.as_bytes().to_vec() };
        let json = Json::parse(&plain).map_err(|error| JsonTextError(error.to_string()))?;
        Ok(Self { text, json })
    }

    /// What the text says.
    #[must_use]
    pub fn json(&self) -> &Json {
        &self.json
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value at `path`.
    #[must_use]
    pub fn at(&self, path: &[Step<'_>]) -> Option<&Json> {
        path.iter().try_fold(&self.json, |json, step| match step {
            Step::Name(name) => json.as_object()?.get(name),
            Step::Index(index) => json.as_array()?.get(*index),
        })
    }

    /// Adds a value at the end of the array at `path`. Objects and the array are created where they are missing.
    ///
    /// # Errors
    /// When something else is there.
    pub fn push(&mut self, path: &[&str], value: &Json) -> Result<(), JsonTextError> {
        let (node, depth) = self.reached(path)?;
        // What is missing on the way is made in one piece, so that the text changes in one place.
        if let Some((name, rest)) = path.get(depth..).and_then(<[_]>::split_first) {
            return self.add(&node, depth, Some(name), &nested(rest, Json::Array(vec![value.clone()])));
        }
        self.expect(&node, b'[', path)?;
        self.add(&node, depth, None, value)
    }

    /// Puts a value at `path`, in the place of what is there. Objects are created where they are missing.
    ///
    /// # Errors
    /// When something else is there than an object that the path leads through.
    pub fn put(&mut self, path: &[&str], value: &Json) -> Result<(), JsonTextError> {
        let (node, depth) = self.reached(path)?;
        if let Some((name, rest)) = path.get(depth..).and_then(<[_]>::split_first) {
            return self.add(&node, depth, Some(name), &nested(rest, value.clone()));
        }
        let steps: Vec<Step<'_>> = path.iter().copied().map(Step::Name).collect();
        // What says the same keeps its form.
        if self.at(&steps) == Some(value) {
            return Ok(());
        }
        let indent = self.indent_before(node.line_start(&self.text)).unwrap_or_default();
        let new = indented(value, &self.unit(), &format!("{}{indent}", self.newline()));
        let mut text = self.text.clone();
        text.replace_range(node.start..node.end, &new);
        self.become_text(text)
    }

    /// The value at `path`, or the last object on the way to it, and how many names lead there.
    fn reached(&self, path: &[&str]) -> Result<(Node, usize), JsonTextError> {
        let mut node = scan(&self.plain());
        for (depth, name) in path.iter().enumerate() {
            self.expect(&node, b'{', path.get(..depth).unwrap_or_default())?;
            match node.children.iter().position(|child| child.name.as_deref() == Some(name)) {
                Some(index) => node = node.children.swap_remove(index).node,
                None => return Ok((node, depth)),
            }
        }
        Ok((node, path.len()))
    }

    /// Takes out the member or item at `path`, with the comma that separates it. Nothing happens if it is not there.
    ///
    /// # Errors
    /// When what is left could not be read.
    pub fn remove(&mut self, path: &[Step<'_>]) -> Result<(), JsonTextError> {
        let plain = self.plain();
        let Some((last, before)) = path.split_last() else { return Ok(()) };
        let root = scan(&plain);
        let Some(container) = before.iter().try_fold(&root, |node, step| Some(&node.child(*step)?.1.node)) else {
            return Ok(());
        };
        let Some((index, child)) = container.child(*last) else { return Ok(()) };
        let previous = index.checked_sub(1).and_then(|index| container.children.get(index));
        let next = container.children.get(index + 1);
        // A comment may be about what stays, so it is never taken out together with a value.
        let has_comment = |from: usize, to: usize| self.text.as_bytes().get(from..to) != plain.get(from..to);
        let cut = match (previous, next) {
            // The only one leaves nothing behind, not even the lines that it stood on.
            (None, None) => {
                let (from, to) = (container.start + 1, container.end - 1);
                if has_comment(from, to) { vec![(child.start, child.node.end)] } else { vec![(from, to)] }
            }
            (_, Some(next)) if !has_comment(child.start, next.start) => vec![(child.start, next.start)],
            (Some(previous), None) if !has_comment(previous.node.end, child.start) => {
                vec![(previous.node.end, child.node.end)]
            }
            // Between two values there is one comma that is not in a comment.
            (_, Some(next)) => {
                let comma = comma(&plain, child.node.end, next.start);
                vec![(comma, comma + 1), (child.start, child.node.end)]
            }
            (Some(previous), None) => {
                let comma = comma(&plain, previous.node.end, child.start);
                vec![(child.start, child.node.end), (comma, comma + 1)]
            }
        };
        let mut text = self.text.clone();
        // Of two cuts the one further behind comes first, so that the place of the other stays right.
        for (from, to) in cut {
            text.replace_range(from..to, "");
        }
        self.become_text(text)
    }

    fn plain(&self) -> Vec<u8> {
        without_comments(self.text.as_bytes())
    }

    fn expect(&self, node: &Node, open: u8, path: &[&str]) -> Result<(), JsonTextError> {
        if self.text.as_bytes().get(node.start) == Some(&open) {
            return Ok(());
        }
        let kind = if open == b'{' { "an object" } else { "a list" };
        Err(JsonTextError(match path {
            [] => format!("it is not {kind}"),
            path => format!("`{}` is not {kind}", path.join(".")),
        }))
    }

    /// Adds a member or an item at the end of a container, in the form of those before it.
    fn add(&mut self, container: &Node, depth: usize, name: Option<&str>, value: &Json) -> Result<(), JsonTextError> {
        let newline = self.newline();
        let unit = self.unit();
        // People indent as they like: what is added looks like what is there.
        let indent = container
            .children
            .first()
            .and_then(|child| self.indent_before(child.start))
            .map_or_else(|| unit.repeat(depth + 1), str::to_owned);
        let name = name.map(|name| format!("{}: ", Json::from(name).to_text())).unwrap_or_default();
        let value = indented(value, &unit, &format!("{newline}{indent}"));
        let mut text = self.text.clone();
        match container.children.last() {
            Some(last) => text.insert_str(last.node.end, &format!(",{newline}{indent}{name}{value}")),
            None => {
                let (from, to) = (container.start + 1, container.end - 1);
                // Comments within stay.
                let inner = text.get(from..to).unwrap_or_default().trim_end().to_owned();
                let outer = self.indent_before(container.line_start(&self.text)).unwrap_or_default().to_owned();
                let outer = if outer.is_empty() { unit.repeat(depth) } else { outer };
                text.replace_range(from..to, &format!("{inner}{newline}{indent}{name}{value}{newline}{outer}"));
            }
        }
        self.become_text(text)
    }

    fn become_text(&mut self, text: String) -> Result<(), JsonTextError> {
        // What was written must be readable, whatever was there before.
        *self = Self::of(text, true)?;
        Ok(())
    }

    fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// How far one level is indented.
    fn unit(&self) -> String {
        let first = scan(&self.plain()).children.first().and_then(|child| self.indent_before(child.start));
        first.filter(|indent| !indent.is_empty()).unwrap_or("  ").to_owned()
    }

    /// The white space before `at`, if only that is between it and the line's beginning.
    fn indent_before(&self, at: usize) -> Option<&str> {
        let before = self.text.get(..at)?;
        let indent = before.get(before.rfind('\n')? + 1..)?;
        indent.chars().all(|letter| letter == ' ' || letter == '\t').then_some(indent)
    }
}

impl Node {
    fn child(&self, step: Step<'_>) -> Option<(usize, &Child)> {
        self.children.iter().enumerate().find(|(index, child)| match step {
            Step::Name(name) => child.name.as_deref() == Some(name),
            Step::Index(wanted) => child.name.is_none() && *index == wanted,
        })
    }

    /// Where the first thing of the line begins in which the value begins.
    fn line_start(&self, text: &str) -> usize {
        let before = text.get(..self.start).unwrap_or_default();
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        let white = text.get(line..).unwrap_or_default().bytes().take_while(|byte| byte.is_ascii_whitespace()).count();
        line + white
    }
}

/// The text with spaces in place of comments, so that every other byte stays where it is.
fn without_comments(text: &[u8]) -> Vec<u8> {
    let mut plain = text.to_vec();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let length = match rest {
            [b'"', ..] => string_length(rest),
            [b'/', b'/', ..] => rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
            // One that does not end is left, and refused by the reader.
            [b'/', b'*', ..] => rest.windows(2).skip(2).position(|pair| pair == b"*/").map_or(0, |end| end + 4),
            _ => 0,
        };
        if matches!(rest, [b'/', ..]) {
            for byte in plain.iter_mut().skip(at).take(length).filter(|byte| !matches!(**byte, b'\n' | b'\r')) {
                *byte = b' ';
            }
        }
        at += length.max(1);
    }
    plain
}

/// The length of the string that the text begins with, with its quotation marks.
fn string_length(text: &[u8]) -> usize {
    let mut escaped = false;
    let end = text.iter().skip(1).position(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

/// The comma between two values.
fn comma(plain: &[u8], from: usize, to: usize) -> usize {
    let between = plain.get(from..to).unwrap_or_default();
    from + between.iter().position(|byte| *byte == b',').unwrap_or_default()
}

/// Where the values of a document are. It was parsed before, so it is well formed and not nested too deeply.
fn scan(plain: &[u8]) -> Node {
    let mut scanner = Scanner { plain, at: 0 };
    scanner.value()
}

struct Scanner<'a> {
    plain: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&mut self) -> Option<u8> {
        while self.plain.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.plain.get(self.at).copied()
    }

    fn value(&mut self) -> Node {
        // Only braces, brackets and strings matter here: whether a number or a word is right was the reader's question.
        let close = match self.peek() {
            Some(b'{') => b'}',
            Some(b'[') => b']',
            Some(b'"') => {
                let start = self.at;
                self.at += string_length(self.plain.get(start..).unwrap_or_default());
                return Node { start, end: self.at, children: Vec::new() };
            }
            _ => {
                let start = self.at;
                let rest = self.plain.get(start..).unwrap_or_default();
                let end = rest.iter().position(|byte| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace());
                self.at += end.unwrap_or(rest.len());
                return Node { start, end: self.at, children: Vec::new() };
            }
        };
        let mut node = Node { start: self.at, ..Node::default() };
        self.at += 1;
        // The text is valid, so commas may be skipped without a look at what stands around them.
        while let Some(byte) = self.peek() {
            if byte == close {
                self.at += 1;
                break;
            }
            if byte == b',' {
                self.at += 1;
                continue;
            }
            node.children.push(self.child(close == b'}'));
        }
        node.end = self.at;
        node
    }

    fn child(&mut self, is_member: bool) -> Child {
        let start = self.at;
        let name = is_member.then(|| {
            let name = self.value();
            let name = self.plain.get(name.start..name.end).and_then(|name| Json::parse(name).ok());
            if self.peek() == Some(b':') {
                self.at += 1;
            }
            name.and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
        });
        Child { start, name, node: self.value() }
    }
}

/// A value within objects that have it under these names.
fn nested(names: &[&str], value: Json) -> Json {
    names.iter().rev().fold(value, |inner, name| {
        let mut object = Object::new();
        object.insert(*name, inner);
        object.into()
    })
}

/// A value over several lines, as [`Json::to_pretty`] writes it, with this unit of indentation; `newline` begins each line.
fn indented(value: &Json, unit: &str, newline: &str) -> String {
    let pretty = value.to_pretty();
    let lines = pretty.lines().map(|line| {
        let text = line.trim_start_matches(' ');
        // `to_pretty` indents each level by two spaces.
        format!("{}{text}", unit.repeat((line.len() - text.len()) / 2))
    });
    lines.collect::<Vec<_>>().join(newline)
}
