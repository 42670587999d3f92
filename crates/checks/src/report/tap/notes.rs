//! The block of YAML after a test: what node, tap and our own runner of unittest write there, and nothing else of YAML.

use super::super::excerpt::dedented;

/// How much of one value is kept, in bytes.
const MAX_VALUE: usize = 16 << 10;

/// What a block says of its test.
#[derive(Default)]
pub(super) struct Notes {
    duration: Option<String>,
    suite: Option<String>,
    /// Why node thinks that it failed.
    pub(super) failure: Option<String>,
    pub(super) message: Option<String>,
    /// The type of the error.
    pub(super) kind: Option<String>,
    pub(super) expected: Option<String>,
    pub(super) actual: Option<String>,
    pub(super) stack: Option<String>,
    pub(super) place: Option<String>,
    pub(super) exit_code: Option<String>,
    pub(super) difference: Option<String>,
    /// How deep the keys stand.
    indent: Option<usize>,
    /// The value that goes on in deeper lines.
    open: Option<Open>,
}

struct Open {
    key: String,
    lines: Vec<String>,
    bytes: usize,
}

impl Notes {
    /// Takes a line of a block. The keys stand as deep as the first one: tape and ava indent them, node does not.
    pub(super) fn line(&mut self, line: &str) {
        let deep = line.len() - line.trim_start().len();
        let indent = *self.indent.get_or_insert(deep);
        if line.trim().is_empty() || deep > indent {
            if let Some(open) = self.open.as_mut().filter(|open| open.bytes + line.len() < MAX_VALUE) {
                open.bytes += line.len() + 1;
                open.lines.push(line.to_owned());
            }
            return;
        }
        self.close();
        let Some((key, value)) = line.trim().split_once(':') else { return };
        let value = value.trim();
        if value.is_empty() || value.starts_with(['|', '>']) {
            self.open = Some(Open { key: key.to_owned(), lines: Vec::new(), bytes: 0 });
        } else {
            self.set(key, value.chars().take(MAX_VALUE).collect());
        }
    }

    /// Ends the value that may go on in deeper lines.
    pub(super) fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let lines: Vec<&str> = open.lines.iter().map(String::as_str).collect();
        self.set(&open.key, dedented(&lines));
    }

    fn set(&mut self, key: &str, value: String) {
        let place = match key {
            "duration_ms" => &mut self.duration,
            "type" => &mut self.suite,
            "failureType" => &mut self.failure,
            "error" | "message" => &mut self.message,
            "name" => &mut self.kind,
            "expected" => &mut self.expected,
            "actual" => &mut self.actual,
            "stack" => &mut self.stack,
            "diff" => &mut self.difference,
            "location" | "at" => &mut self.place,
            "exitCode" => &mut self.exit_code,
            _ => return,
        };
        // Expected and actual values keep their quotes, which tell a text from a number.
        let bare = matches!(key, "expected" | "actual");
        *place = Some(if bare { value } else { unquoted(value) });
    }

    /// Whether it is a `describe` of node, which tests nothing by itself.
    pub(super) fn is_suite(&self) -> bool {
        self.suite.as_deref() == Some("suite")
    }

    pub(super) fn elapsed_ms(&self) -> Option<u64> {
        let time: f64 = self.duration.as_deref()?.parse().ok()?;
        // The clamp keeps the cast in range; NaN, which it lets through, becomes 0.
        Some(time.clamp(0.0, 1e12) as u64)
    }
}

fn unquoted(value: String) -> String {
    let inside = ['\'', '"'].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    inside.map_or_else(|| value.clone(), |inside| inside.replace("\\'", "'"))
}
