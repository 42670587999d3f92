//! JSON as people edit it.

use super::Json;

impl Json {
    /// The document over several lines: two spaces for each level; lists of texts stay on one line.
    #[must_use]
    pub fn to_pretty(&self) -> String {
        let mut text = String::new();
        write_pretty(self, 0, &mut text);
        text
    }
}

fn write_pretty(json: &Json, depth: usize, text: &mut String) {
    let line = |text: &mut String, depth: usize| {
        text.push('\n');
        text.push_str(&"  ".repeat(depth));
    };
    match json {
        Json::Object(object) if object.iter().next().is_some() => {
            for (index, (name, member)) in object.iter().enumerate() {
                text.push_str(if index == 0 { "{" } else { "," });
                line(text, depth + 1);
                text.push_str(&format!("{}: ", Json::from(name).to_text()));
                write_pretty(member, depth + 1, text);
            }
            line(text, depth);
            text.push('}');
        }
        Json::Array(items) if items.iter().any(|item| item.as_str().is_none()) => {
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index == 0 { "[" } else { "," });
                line(text, depth + 1);
                write_pretty(item, depth + 1, text);
            }
            line(text, depth);
            text.push(']');
        }
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(Json::to_text).collect();
            text.push_str(&format!("[{}]", items.join(", ")));
        }
        plain => text.push_str(&plain.to_text()),
    }
}
