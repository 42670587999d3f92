//! Two values side by side, member by member, with what is equal folded.

use super::page::{Page, Sign};
use super::trail::{Trail, common, is_container};
use super::walk::{Found, Inside, KEPT_FIRST, KEPT_LAST, Member, Part, Run};
use super::{Comparison, MAX_LINE_CHARS};
use crate::render::{Notation, brackets, render, render_up_to};
use crate::value::Value;

/// Equal members that are shown next to one that differs.
const CONTEXT: usize = KEPT_LAST;

/// Containers around the first difference that are shown, so that it is never pushed off the page.
const MAX_LEVELS: usize = 6;

/// The most lines of a value that is on one side alone, and of one that stands against a value of another type.
const MAX_SIDE_LINES: usize = 12;
const MAX_WHOLE_LINES: usize = 4;

/// How much of a long text is shown before and after its first difference, in characters.
const WINDOW: [usize; 2] = [24, 56];

/// The difference of two values.
pub(super) fn page(found: &Found<'_>, trail: &Trail, by: Comparison) -> String {
    let mut show = Show { page: Page::new(&trail.heading()), notation: by.notation };
    let (found, is_whole) = within(found, trail.depth.saturating_sub(MAX_LEVELS));
    show.found(found, &Frame { label: String::new(), comma: "", depth: 0 });
    if !is_whole {
        show.page.cut();
    }
    show.page.finish()
}

/// The difference so many levels further in, and whether nothing else differs.
fn within<'f, 'a>(found: &'f Found<'a>, levels: usize) -> (&'f Found<'a>, bool) {
    let (mut found, mut is_whole) = (found, true);
    for _ in 0..levels {
        let Found::Inside(inside) = found else { break };
        let mut differing = inside.parts.iter().filter(|part| !matches!(part, Part::Same(_)));
        let Some(Part::Pair(_, _, inner)) = differing.next() else { break };
        is_whole &= differing.next().is_none();
        found = inner;
    }
    (found, is_whole)
}

/// What stands around a value on its line.
struct Frame {
    /// The key before it.
    label: String,
    comma: &'static str,
    depth: usize,
}

impl Frame {
    fn line(&self, text: &str) -> String {
        format!("{}{text}{}", self.label, self.comma)
    }
}

struct Show {
    page: Page,
    notation: &'static Notation,
}

impl Show {
    fn found(&mut self, found: &Found<'_>, frame: &Frame) {
        if let Some([expected, answer]) = self.short(found) {
            self.page.line(Sign::Expected, frame.depth, &frame.line(&expected));
            self.page.line(Sign::Answer, frame.depth, &frame.line(&answer));
            return;
        }
        match found {
            Found::Whole(expected, answer) => self.whole(expected, answer, frame),
            Found::Inside(inside) => self.inside(inside, frame),
        }
    }

    fn inside(&mut self, inside: &Inside<'_>, frame: &Frame) {
        let [open, close] = brackets(inside.expected, self.notation, 2);
        self.page.line(Sign::Equal, frame.depth, &format!("{}{open}", frame.label));
        for (index, part) in inside.parts.iter().enumerate() {
            match part {
                Part::Same(run) => {
                    let beside = |index: Option<usize>| {
                        let part = index.and_then(|index| inside.parts.get(index));
                        part.is_some_and(|part| self.is_narrow(part))
                    };
                    let around = [beside(index.checked_sub(1)), beside(Some(index + 1))];
                    self.run(inside, run, around, frame.depth + 1);
                }
                Part::Pair(member, _, found) => self.found(found, &self.frame(inside, member, frame.depth + 1)),
                Part::Missing(member) => self.alone(Sign::Expected, inside, member, frame.depth + 1),
                Part::Extra(member) => self.alone(Sign::Answer, inside, member, frame.depth + 1),
                Part::Rest => self.page.cut(),
            }
        }
        self.page.line(Sign::Equal, frame.depth, &format!("{close}{}", frame.comma));
    }

    /// Whether a part is a difference of a few lines, which equal members beside it help to place.
    fn is_narrow(&self, part: &Part<'_>) -> bool {
        match part {
            Part::Pair(_, _, found) => matches!(found, Found::Whole(..)) || self.short(found).is_some(),
            Part::Missing(_) | Part::Extra(_) => true,
            Part::Same(_) | Part::Rest => false,
        }
    }

    fn frame(&self, inside: &Inside<'_>, member: &Member<'_>, depth: usize) -> Frame {
        Frame { label: label(inside.expected, member, self.notation), comma: ",", depth }
    }

    /// Equal members, those in the middle folded.
    fn run(&mut self, inside: &Inside<'_>, run: &Run<'_>, [before, after]: [bool; 2], depth: usize) {
        let first = if before { CONTEXT.min(run.count) } else { 0 };
        let last = if after { CONTEXT.min(run.count - first) } else { 0 };
        let folded = run.count - first - last;
        // A line that says that one line is left out is as long.
        let first = if folded == 1 && first < KEPT_FIRST { first + 1 } else { first };
        let folded = run.count - first - last;
        run.first.iter().take(first).for_each(|member| self.equal(inside, member, depth));
        if folded > 0 {
            self.page.fold(depth, folded);
        }
        run.last.iter().skip(run.last.len() - last).for_each(|member| self.equal(inside, member, depth));
    }

    fn equal(&mut self, inside: &Inside<'_>, member: &Member<'_>, depth: usize) {
        let text = render_up_to(member.value, self.notation, MAX_LINE_CHARS);
        self.page.line(Sign::Equal, depth, &self.frame(inside, member, depth).line(&text));
    }

    fn alone(&mut self, sign: Sign, inside: &Inside<'_>, member: &Member<'_>, depth: usize) {
        let frame = self.frame(inside, member, depth);
        self.side(sign, member.value, &frame, &mut { MAX_SIDE_LINES });
    }

    /// Two values that have nothing in common, or are too long for a line.
    fn whole(&mut self, expected: &Value, answer: &Value, frame: &Frame) {
        if is_container(expected) || is_container(answer) {
            self.side(Sign::Expected, expected, frame, &mut { MAX_WHOLE_LINES });
            self.side(Sign::Answer, answer, frame, &mut { MAX_WHOLE_LINES });
            return;
        }
        let [left, right] = [expected, answer].map(|value| render(value, self.notation));
        let at = common(&left, &right);
        self.page.line(Sign::Expected, frame.depth, &frame.line(&window(&left, at)));
        self.page.line(Sign::Answer, frame.depth, &frame.line(&window(&right, at)));
    }

    /// A value of one side, over as many lines as are left.
    fn side(&mut self, sign: Sign, value: &Value, frame: &Frame, left: &mut usize) {
        let Some(rest) = left.checked_sub(1) else { return };
        *left = rest;
        let text = render_up_to(value, self.notation, MAX_LINE_CHARS);
        if *left == 0 || !is_container(value) || !text.ends_with('…') {
            return self.page.line(sign, frame.depth, &frame.line(&text));
        }
        let [open, close] = brackets(value, self.notation, 2);
        self.page.line(sign, frame.depth, &format!("{}{open}", frame.label));
        let depth = frame.depth + 1;
        for member in members(value) {
            // One line for the last of them and one for the bracket.
            if *left <= 1 {
                self.page.line(sign, depth, "…");
                break;
            }
            self.side(
                sign,
                member.value,
                &Frame { label: label(value, &member, self.notation), comma: ",", depth },
                left,
            );
        }
        *left = left.saturating_sub(1);
        self.page.line(sign, frame.depth, &format!("{close}{}", frame.comma));
    }

    /// The two sides, where each fits on a line. What is equal in both is written as the expected side has it.
    fn short(&self, found: &Found<'_>) -> Option<[String; 2]> {
        let sides = match found {
            Found::Whole(expected, answer) => {
                let [left, right] = [expected, answer].map(|value| render_up_to(value, self.notation, MAX_LINE_CHARS));
                if left == right && !left.ends_with('…') {
                    // As the values differ, their types do.
                    [(left, expected), (right, answer)].map(|(text, value)| format!("{text} ({})", value.type_name()))
                } else {
                    [left, right]
                }
            }
            Found::Inside(inside) => self.short_inside(inside)?,
        };
        sides
            .iter()
            .all(|text| !text.ends_with('…') && text.chars().nth(MAX_LINE_CHARS + 20).is_none())
            .then_some(sides)
    }

    fn short_inside(&self, inside: &Inside<'_>) -> Option<[String; 2]> {
        let mut sides = [Vec::new(), Vec::new()];
        for part in &inside.parts {
            let texts = match part {
                Part::Same(run) if run.count > run.first.len() => return None,
                Part::Same(run) => {
                    for member in &run.first {
                        let text = self.member(inside, member)?;
                        sides.iter_mut().for_each(|side| side.push(text.clone()));
                    }
                    continue;
                }
                Part::Pair(member, _, found) => {
                    let label = label(inside.expected, member, self.notation);
                    self.short(found)?.map(|text| Some(format!("{label}{text}")))
                }
                Part::Missing(member) => [Some(self.member(inside, member)?), None],
                Part::Extra(member) => [None, Some(self.member(inside, member)?)],
                Part::Rest => return None,
            };
            sides.iter_mut().zip(texts).for_each(|(side, text)| side.extend(text));
            // It ends long before a list of thousands is put together.
            if sides.iter().any(|side| side.iter().map(String::len).sum::<usize>() > MAX_LINE_CHARS * 4) {
                return None;
            }
        }
        let whole = sides.map(|side| {
            let [open, close] = brackets(inside.expected, self.notation, side.len());
            format!("{open}{}{close}", side.join(", "))
        });
        whole.iter().all(|text| text.chars().nth(MAX_LINE_CHARS).is_none()).then_some(whole)
    }

    fn member(&self, inside: &Inside<'_>, member: &Member<'_>) -> Option<String> {
        let text = render_up_to(member.value, self.notation, MAX_LINE_CHARS);
        (!text.ends_with('…')).then(|| format!("{}{text}", label(inside.expected, member, self.notation)))
    }
}

/// The key before a member.
fn label(container: &Value, member: &Member<'_>, notation: &Notation) -> String {
    let between = if matches!(container, Value::Map(_)) { " => " } else { notation.between };
    let key = member.key.map(|key| render_up_to(key, notation, MAX_LINE_CHARS / 2));
    key.map_or_else(String::new, |key| format!("{key}{between}"))
}

fn members(value: &Value) -> Vec<Member<'_>> {
    // More than these are never shown.
    let most = MAX_SIDE_LINES;
    match value {
        Value::List(items) | Value::Tuple(items) | Value::Set(items) => {
            items.iter().enumerate().take(most).map(|(index, value)| Member { index, key: None, value }).collect()
        }
        Value::Dict(pairs) | Value::Map(pairs) => {
            let pairs = pairs.iter().enumerate().take(most);
            pairs.map(|(index, (key, value))| Member { index, key: Some(key), value }).collect()
        }
        _ => Vec::new(),
    }
}

/// A long text around one of its bytes, cut at both ends.
pub(super) fn window(text: &str, at: usize) -> String {
    let [before, after] = WINDOW;
    let position = text.get(..at).unwrap_or_default().chars().count();
    let start = if position <= before + 1 { 0 } else { position - before };
    let end = position + after;
    let shown: String = text.chars().skip(start).take(end - start).collect();
    let more = text.chars().nth(end).is_some();
    format!("{}{shown}{}", if start > 0 { "…" } else { "" }, if more { "…" } else { "" })
}
