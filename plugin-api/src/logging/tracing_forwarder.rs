//! Events of `tracing`.

use std::sync::atomic::Ordering;

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, Subscriber};
use tracing::{Event, Level, Metadata};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};

use super::current::current;
use super::line::Line;
use crate::abi::log_level;

/// Makes this library's copy of `tracing` forward to the host. If the component's tests installed
/// a subscriber before, that one stays.
pub(super) fn install() {
    let _ = tracing::subscriber::set_global_default(Registry::default().with(Forwarder));
}

struct Forwarder;

/// The fields of a span, kept with it.
struct SpanFields(Line);

fn number(level: Level) -> u32 {
    match level {
        Level::ERROR => log_level::ERROR,
        Level::WARN => log_level::WARN,
        Level::INFO => log_level::INFO,
        Level::DEBUG => log_level::DEBUG,
        Level::TRACE => log_level::TRACE,
    }
}

fn filter(level: u32) -> LevelFilter {
    match level {
        0 => LevelFilter::OFF,
        log_level::ERROR => LevelFilter::ERROR,
        log_level::WARN => LevelFilter::WARN,
        log_level::INFO => LevelFilter::INFO,
        log_level::DEBUG => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Forwarder {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        // Instances have levels of their own: `enabled` decides each time.
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        current().is_some_and(|host| number(*metadata.level()) <= host.log_level())
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(filter(super::MAX_LEVEL.load(Ordering::Relaxed)))
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut line = Line::default();
        attributes.record(&mut line);
        span.extensions_mut().insert(SpanFields(line));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(SpanFields(line)) = span.extensions_mut().get_mut() {
            values.record(line);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let Some(host) = current() else { return };
        let mut text = String::new();
        for span in context
            .event_scope(event)
            .into_iter()
            .flat_map(|scope| scope.from_root())
        {
            text.push_str(span.name());
            if let Some(SpanFields(line)) = span.extensions().get()
                && !line.fields().is_empty()
            {
                text.push('{');
                text.push_str(line.fields());
                text.push('}');
            }
            text.push_str(": ");
        }
        let mut line = Line::default();
        event.record(&mut line);
        line.write_to(&mut text);
        host.log(number(*event.metadata().level()), &text);
    }
}
