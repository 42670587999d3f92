//! Lines of the log as they are exported: as spans and events where they say so, else as lines.

use std::fmt::Debug;
use std::time::SystemTime;

use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::record::{self, Around, Request, Span, TARGET, attribute, number, text, truth, whole};
use super::{Export, Kind};

/// The fields of a line.
#[derive(Default)]
struct Fields {
    message: String,
    /// The name of an event, where the line is one.
    event: Option<String>,
    attributes: Vec<Value>,
    request: Request,
    span: Span,
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Export {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut around = Around { began: SystemTime::now(), request: None, trace: None, span: None, parent: None };
        attributes.record(&mut around);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(around);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let level = *event.metadata().level();
        // Else a collector that fails would be told about that without end.
        if event.metadata().target() == TARGET {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        let span = context.event_span(event);
        let extensions = span.as_ref().map(|span| span.extensions());
        let around = extensions.as_ref().and_then(|extensions| extensions.get::<Around>());
        if fields.span.is_one() {
            let Fields { span, attributes, .. } = fields;
            // Without its ids it would be a part of no trace.
            return span.ended(attributes, around).into_iter().for_each(|span| self.put(Kind::Span, span));
        }
        // What supervisors ask all the time is logged in detail only, and has no span.
        if let Some(around) = around.filter(|_| level <= Level::INFO)
            && let Some(span) = fields.request.span(around)
        {
            self.put(Kind::Span, span);
        }
        if let Some(request) = around.and_then(|around| around.request.as_deref()) {
            fields.attributes.push(attribute("request.id", text(request)));
        }
        let Fields { event, message, attributes, .. } = fields;
        self.put(Kind::Log, record::log(level, event.as_deref(), &message, attributes, around));
    }
}

impl Visit for Around {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let place = match field.name() {
            "id" => &mut self.request,
            "trace_id" => &mut self.trace,
            "span_id" => &mut self.span,
            "parent_id" => &mut self.parent,
            _ => return,
        };
        *place = Some(format!("{value:?}"));
    }
}

impl Fields {
    fn add(&mut self, field: &Field, value: Value) {
        self.attributes.push(attribute(field.name(), value));
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            _ => self.add(field, text(&format!("{value:?}"))),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.message),
            "event.name" => self.event = Some(value.to_owned()),
            name if self.span.record(name, value) => {}
            name => {
                self.request.record(name, value);
                self.add(field, text(value));
            }
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, whole(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if self.span.record_u64(field.name(), value) {
            return;
        }
        if field.name() == "status" {
            self.request.status = u16::try_from(value).ok();
        }
        // A number past the largest of 64 bits with a sign has no encoding of its own.
        self.add(field, i64::try_from(value).map_or_else(|_| text(&value.to_string()), whole));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, number(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        if !self.span.record_bool(field.name(), value) {
            self.add(field, truth(value));
        }
    }
}
