//! HTML in a response, in which nothing is Markdown (CommonMark 0.31, section 4.6).

/// The tags that begin a block whatever follows them in the line.
const BLOCKS: [&str; 62] = [
    "address",
    "article",
    "aside",
    "base",
    "basefont",
    "blockquote",
    "body",
    "caption",
    "center",
    "col",
    "colgroup",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "frame",
    "frameset",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "iframe",
    "legend",
    "li",
    "link",
    "main",
    "menu",
    "menuitem",
    "nav",
    "noframes",
    "ol",
    "optgroup",
    "option",
    "p",
    "param",
    "search",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "title",
    "tr",
    "track",
    "ul",
];
/// The tags whose text ends with their end tag.
const RAW: [&str; 4] = ["pre", "script", "style", "textarea"];

/// Where an HTML block ends.
pub(super) enum HtmlEnd {
    /// With the line that has one of these texts, in any letter case.
    At(&'static [&'static str]),
    /// With the next empty line.
    Empty,
}

/// What a line begins.
pub(super) enum Html {
    Block(HtmlEnd),
    /// A block, unless the line continues a paragraph.
    Tag,
}

impl Html {
    /// The HTML block that a line may begin.
    pub(super) fn of(line: &str) -> Option<Self> {
        let indent = super::indent(line);
        let text = line.get(indent..).filter(|text| indent <= 3 && text.starts_with('<'))?;
        let rest = text.get(1..)?;
        let is_declaration = |rest: &str| rest.starts_with(|letter: char| letter.is_ascii_alphabetic());
        let end = match rest {
            _ if rest.starts_with("!--") => Some(HtmlEnd::At(&["-->"])),
            _ if rest.starts_with('?') => Some(HtmlEnd::At(&["?>"])),
            _ if rest.starts_with("![CDATA[") => Some(HtmlEnd::At(&["]]>"])),
            _ if rest.strip_prefix('!').is_some_and(is_declaration) => Some(HtmlEnd::At(&[">"])),
            _ => None,
        };
        if let Some(end) = end {
            return Some(Self::Block(end));
        }
        let (closes, named) = rest.strip_prefix('/').map_or((false, rest), |rest| (true, rest));
        let (name, after) = named.split_at_checked(name_length(named))?;
        let name = name.to_ascii_lowercase();
        let ends = after.is_empty() || after.starts_with([' ', '\t', '\n', '\r', '>']);
        if !closes && RAW.contains(&name.as_str()) {
            let end = HtmlEnd::At(&["</pre>", "</script>", "</style>", "</textarea>"]);
            return ends.then_some(Self::Block(end));
        }
        if (ends || after.starts_with("/>")) && BLOCKS.contains(&name.as_str()) {
            return Some(Self::Block(HtmlEnd::Empty));
        }
        let after = if closes { after.trim_start_matches(SPACES).strip_prefix('>') } else { after_attributes(after) };
        (!name.is_empty() && after?.trim_matches(SPACES).is_empty()).then_some(Self::Tag)
    }
}

const SPACES: [char; 4] = [' ', '\t', '\n', '\r'];

/// The bytes of the name of a tag.
fn name_length(text: &str) -> usize {
    let begins = text.starts_with(|letter: char| letter.is_ascii_alphabetic());
    if begins { text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'-').count() } else { 0 }
}

/// The text behind the `>` of an opening tag, of which `text` follows the name; `None` where its attributes are not well-formed.
fn after_attributes(mut text: &str) -> Option<&str> {
    loop {
        let rest = text.trim_start_matches(SPACES);
        if let Some(after) = rest.strip_prefix("/>").or_else(|| rest.strip_prefix('>')) {
            return Some(after);
        }
        // Space before each attribute.
        if rest.len() == text.len() {
            return None;
        }
        let begins = rest.starts_with(|letter: char| letter.is_ascii_alphabetic() || matches!(letter, '_' | ':'));
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'.' | b'-');
        let length = rest.bytes().take_while(is_name).count();
        let after = rest.get(length..).filter(|_| begins)?;
        let Some(value) = after.trim_start_matches(SPACES).strip_prefix('=') else {
            text = after;
            continue;
        };
        let value = value.trim_start_matches(SPACES);
        text = match value.chars().next()? {
            quote @ ('"' | '\'') => value.get(1..)?.split_once(quote)?.1,
            _ => {
                let end = value.find([' ', '\t', '\n', '\r', '"', '\'', '=', '<', '>', '`'])?;
                value.get(end..).filter(|_| end > 0)?
            }
        };
    }
}

impl HtmlEnd {
    /// Whether the block ends with this line.
    pub(super) fn is_in(&self, line: &str) -> bool {
        match self {
            Self::At(ends) => {
                let line = line.to_ascii_lowercase();
                ends.iter().any(|end| line.contains(&end.to_ascii_lowercase()))
            }
            Self::Empty => line.trim_matches(SPACES).is_empty(),
        }
    }
}

/// Whether a line of a paragraph leaves a tag or a comment open, so that the next line may belong to it.
pub(super) fn leaves_open(text: &str) -> bool {
    if text.rfind("<!--").is_some_and(|open| !text.get(open..).unwrap_or_default().contains("-->")) {
        return true;
    }
    let open = text.rfind('<').filter(|open| !text.get(*open..).unwrap_or_default().contains('>'));
    let next = open.and_then(|open| text.get(open + 1..)).and_then(|rest| rest.chars().next());
    next.is_some_and(|next| next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?'))
}
