//! Reads words, quotes and expansions. Where shells do not agree on where a word ends, the text is not read.

use crate::Cause;
use crate::reader::{End, Reader};
use crate::word::{Part, Word, is_name};

/// Characters that an arithmetic expansion may have and still start nothing.
const ARITHMETIC: &str = " \t+-*/%<>=!&|?:,^~()$_";

/// What an expansion comes to that is not followed: outside of quotes, it is split into words.
fn unknown(quoted: bool) -> Part {
    if quoted { Part::Unknown } else { Part::Words }
}

impl Reader {
    /// Reads the word that begins here. It is empty where none begins.
    pub(crate) fn word(&mut self) -> Result<Word, Cause> {
        let from = self.at;
        let mut parts = Vec::new();
        while let Some(c) = self.peek() {
            match c {
                '<' | '>' if self.peek_at(1) == Some('(') => {
                    self.at += 2;
                    self.nested(End::Parenthesis)?;
                    parts.push(Part::Pipe);
                }
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                '\\' => {
                    self.at += 1;
                    match self.next() {
                        Some('\n') => {
                            // What stands before and after it could be an operator together.
                            let is_plain = |c: char| c.is_alphanumeric() || "_./,:+-@%".contains(c);
                            let before = matches!(parts.last(), Some(Part::Plain(c)) if is_plain(*c));
                            let is_number =
                                parts.iter().all(|part| matches!(part, Part::Plain(c) if c.is_ascii_digit()));
                            if !before || is_number || !self.peek().is_some_and(is_plain) {
                                return Err(Cause::Syntax);
                            }
                        }
                        Some(escaped) => parts.push(Part::Quoted(escaped)),
                        // Some shells drop it.
                        None => return Err(Cause::Syntax),
                    }
                }
                '\'' => {
                    self.at += 1;
                    self.single(&mut parts)?;
                }
                '"' => {
                    self.at += 1;
                    self.double(&mut parts)?;
                }
                '$' => self.dollar(&mut parts, false)?,
                '`' => self.backquoted(&mut parts, false)?,
                '~' if parts.is_empty() => {
                    self.at += 1;
                    match self.peek() {
                        None | Some('/' | ' ' | '\t' | '\n' | ';' | '&' | '|' | ')' | '<' | '>') => {
                            parts.push(Part::Home);
                        }
                        // Of another user, or a folder that the shell was in before.
                        Some(_) => parts.push(Part::Unknown),
                    }
                }
                // zsh has the path of a program for `=name`.
                '=' if parts.is_empty() => {
                    let signs = (0..).take_while(|ahead| self.peek_at(*ahead) == Some('=')).count();
                    let is_whole = matches!(self.peek_at(signs), None | Some(' ' | '\t' | '\n' | ';'));
                    // Without a name, it stands for itself, or the shell refuses it.
                    let part = if is_whole { Part::Plain('=') } else { Part::Unknown };
                    self.at += if is_whole { signs } else { 1 };
                    parts.extend(std::iter::repeat_n(part, if is_whole { signs } else { 1 }));
                }
                c => {
                    self.at += 1;
                    parts.push(Part::Plain(c));
                }
            }
        }
        Ok(Word { parts, written: self.text_from(from) })
    }

    fn single(&mut self, parts: &mut Vec<Part>) -> Result<(), Cause> {
        loop {
            match self.next().ok_or(Cause::Syntax)? {
                '\'' => return Ok(()),
                c => parts.push(Part::Quoted(c)),
            }
        }
    }

    fn double(&mut self, parts: &mut Vec<Part>) -> Result<(), Cause> {
        loop {
            match self.peek().ok_or(Cause::Syntax)? {
                '"' => {
                    self.at += 1;
                    return Ok(());
                }
                '\\' => {
                    self.at += 1;
                    match self.next().ok_or(Cause::Syntax)? {
                        '\n' => {}
                        c @ ('$' | '`' | '"' | '\\') => parts.push(Part::Quoted(c)),
                        c => parts.extend([Part::Quoted('\\'), Part::Quoted(c)]),
                    }
                }
                '$' => self.dollar(parts, true)?,
                '`' => self.backquoted(parts, true)?,
                c => {
                    self.at += 1;
                    parts.push(Part::Quoted(c));
                }
            }
        }
    }

    /// Reads what begins with `$`.
    pub(crate) fn dollar(&mut self, parts: &mut Vec<Part>, quoted: bool) -> Result<(), Cause> {
        match (self.peek_at(1), self.peek_at(2)) {
            (Some('('), Some('(')) => {
                self.at += 3;
                self.arithmetic()?;
                parts.push(Part::Number);
            }
            (Some('('), _) => {
                self.at += 2;
                self.nested(End::Parenthesis)?;
                parts.push(unknown(quoted));
            }
            (Some('{'), _) => {
                self.at += 2;
                self.braces(parts, quoted)?;
            }
            // zsh expands the value of `$~name` once more; a line that goes on here hides what follows.
            (Some('[' | '~' | '=' | '^' | '+'), _) | (Some('\\'), Some('\n')) => return Err(Cause::Syntax),
            (Some('\''), _) if !quoted => {
                self.at += 2;
                self.ansi_c()?;
                parts.push(Part::Unknown);
            }
            (Some('"'), _) if !quoted => {
                self.at += 2;
                self.double(parts)?;
                parts.push(Part::Unknown);
            }
            (Some(c), _) if c == '_' || c.is_ascii_alphabetic() => {
                self.at += 1;
                let name = self.take_while(|c| c == '_' || c.is_ascii_alphanumeric());
                self.subscript()?;
                // zsh takes `$name:h` for a part.
                let is_letter = self.peek_at(1).is_some_and(|c| c.is_ascii_alphabetic() || c == '&');
                let is_part = self.peek() == Some(':') && is_letter;
                parts.push(if is_part { unknown(quoted) } else { Part::Variable { name, quoted } });
            }
            (Some(c), _) if c.is_ascii_digit() || "@*#?-$!".contains(c) => {
                self.at += 2;
                self.subscript()?;
                parts.push(match c {
                    '#' | '?' | '$' => Part::Number,
                    '@' => Part::Words,
                    _ => unknown(quoted),
                });
            }
            _ => {
                self.at += 1;
                parts.push(if quoted { Part::Quoted('$') } else { Part::Plain('$') });
            }
        }
        Ok(())
    }

    /// zsh takes `$name[…]` for an element, and evaluates what stands within.
    fn subscript(&self) -> Result<(), Cause> {
        if self.peek() == Some('[') { Err(Cause::Evaluates) } else { Ok(()) }
    }

    /// `$'…'`. A shell that does not know this form ends it at another place, where a quote is escaped within.
    fn ansi_c(&mut self) -> Result<(), Cause> {
        loop {
            match self.next().ok_or(Cause::Syntax)? {
                '\'' => return Ok(()),
                '\\' if self.peek() == Some('\'') => return Err(Cause::Syntax),
                '\\' => self.at += 1,
                _ => {}
            }
        }
    }

    /// What stands between `$((` and `))`. A text that could be commands in parentheses instead is not read.
    pub(crate) fn arithmetic(&mut self) -> Result<(), Cause> {
        let mut depth = 0_usize;
        loop {
            match self.next().ok_or(Cause::Syntax)? {
                '(' => depth += 1,
                ')' if depth > 0 => depth -= 1,
                ')' => {
                    return if self.next() == Some(')') { Ok(()) } else { Err(Cause::Syntax) };
                }
                '$' if matches!(self.peek(), Some('(' | '{' | '[' | '\'' | '"')) => return Err(Cause::Syntax),
                '$' if !self.peek().is_some_and(|c| c == '_' || c == '#' || c.is_ascii_alphabetic()) => {
                    return Err(Cause::Evaluates);
                }
                '#' => {}
                c if c == '_' || c.is_ascii_alphabetic() => {
                    let rest = self.take_while(|c| c == '_' || c.is_ascii_alphanumeric());
                    self.found.evaluated.push((format!("{c}{rest}"), self.found.commands.len()));
                }
                c if c.is_ascii_digit() || ARITHMETIC.contains(c) => {}
                _ => return Err(Cause::Syntax),
            }
        }
    }

    /// What stands between `${` and `}`.
    fn braces(&mut self, parts: &mut Vec<Part>, quoted: bool) -> Result<(), Cause> {
        let from = self.at;
        let mut inner = Vec::new();
        self.deeper()?;
        loop {
            match self.peek().ok_or(Cause::Syntax)? {
                '}' => break,
                '\\' => {
                    self.at += 1;
                    self.next().ok_or(Cause::Syntax)?;
                }
                // Shells do not agree on quotes within quotes here.
                '\'' | '"' if quoted => return Err(Cause::Syntax),
                '\'' => {
                    self.at += 1;
                    self.single(&mut inner)?;
                }
                '"' => {
                    self.at += 1;
                    self.double(&mut inner)?;
                }
                '$' => self.dollar(&mut inner, quoted)?,
                '`' => self.backquoted(&mut inner, quoted)?,
                '<' | '>' if self.peek_at(1) == Some('(') => return Err(Cause::Syntax),
                _ => self.at += 1,
            }
        }
        self.shallower();
        let text = self.text_from(from);
        self.at += 1;
        if is_name(&text) {
            parts.push(Part::Variable { name: text, quoted });
            return Ok(());
        }
        let name: String = text.chars().take_while(|c| *c == '_' || c.is_ascii_alphanumeric()).collect();
        let length = text.strip_prefix('#').filter(|name| is_name(name));
        let rest = text.get(name.len()..).unwrap_or_default();
        // Everything else may evaluate values: `${!x}`, `${x@P}`, `${x[i]}`, `${x:i}`.
        let is_part = rest.strip_prefix(':').is_some_and(|after| !after.starts_with(['-', '=', '+', '?']));
        if length.is_none() && (name.is_empty() || is_part || text.contains(['@', '['])) {
            return Err(Cause::Evaluates);
        }
        // It may assign.
        self.found.changed.push(name);
        parts.push(if length.is_some() { Part::Number } else { unknown(quoted) });
        Ok(())
    }

    /// A command between backquotes.
    pub(crate) fn backquoted(&mut self, parts: &mut Vec<Part>, quoted: bool) -> Result<(), Cause> {
        self.at += 1;
        let mut inner = Vec::new();
        loop {
            match self.next().ok_or(Cause::Syntax)? {
                '`' => break,
                '\\' => match self.next().ok_or(Cause::Syntax)? {
                    c @ ('`' | '$' | '\\') => inner.push(c),
                    // Within quotes it may lose its backslash.
                    '"' if quoted => return Err(Cause::Syntax),
                    c => inner.extend(['\\', c]),
                },
                c => inner.push(c),
            }
        }
        self.inner_text(inner)?;
        parts.push(unknown(quoted));
        Ok(())
    }

    /// Reads the expansions of a here-document.
    pub(crate) fn expansions(&mut self) -> Result<(), Cause> {
        let mut parts = Vec::new();
        while let Some(c) = self.peek() {
            match c {
                '\\' => self.at += 2,
                '$' => self.dollar(&mut parts, true)?,
                '`' => self.backquoted(&mut parts, true)?,
                _ => self.at += 1,
            }
            parts.clear();
        }
        Ok(())
    }
}
