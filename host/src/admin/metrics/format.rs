//! The text formats that Prometheus knows, and which of them a client wants.

use std::fmt;

use hyper::header::{ACCEPT, HeaderMap};
use prometheus_client::encoding::{prometheus_text, text};
use prometheus_client::registry::Registry;

/// A text format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Prometheus' own, version 0.0.4: every client knows it.
    Prometheus,
    /// OpenMetrics 1.0.0, for those who ask for it.
    OpenMetrics,
}

impl Format {
    /// The one that the client likes best.
    pub(super) fn accepted(headers: &HeaderMap) -> Self {
        let ranges: Vec<Range> = headers
            .get_all(ACCEPT)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .map(Range::parse)
            .collect();
        let best = |is: fn(&Range) -> bool| {
            let of_kind = ranges.iter().filter(|range| is(range));
            of_kind.map(|range| range.quality).fold(0.0, f32::max)
        };
        let open = best(|range| {
            range
                .kind
                .eq_ignore_ascii_case("application/openmetrics-text")
                && range.version.is_none_or(|version| version == "1.0.0")
        });
        let own = best(|range| {
            ["text/plain", "text/*", "*/*"]
                .iter()
                .any(|kind| range.kind.eq_ignore_ascii_case(kind))
        });
        match open > 0.0 && open >= own {
            true => Self::OpenMetrics,
            false => Self::Prometheus,
        }
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => prometheus_text::CONTENT_TYPE,
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    pub(super) fn encode(self, body: &mut String, registry: &Registry) -> fmt::Result {
        match self {
            Self::Prometheus => prometheus_text::encode(body, registry),
            Self::OpenMetrics => text::encode(body, registry),
        }
    }
}

/// One media range of an Accept header.
struct Range<'a> {
    kind: &'a str,
    version: Option<&'a str>,
    quality: f32,
}

impl<'a> Range<'a> {
    fn parse(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let mut range = Self {
            kind: parts.next().unwrap_or_default(),
            version: None,
            quality: 1.0,
        };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            match name.trim().to_ascii_lowercase().as_str() {
                "version" => range.version = Some(value.trim().trim_matches('"')),
                "q" => range.quality = value.trim().parse().unwrap_or(0.0),
                _ => {}
            }
        }
        range
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn open_metrics_is_for_those_who_like_it_best() {
        for (accept, expected) in [
            ("", Format::Prometheus),
            ("*/*", Format::Prometheus),
            ("text/plain; version=0.0.4", Format::Prometheus),
            ("application/openmetrics-text", Format::OpenMetrics),
            (
                "Application/OpenMetrics-Text; Version=\"1.0.0\"",
                Format::OpenMetrics,
            ),
            (
                "application/openmetrics-text;version=0.0.1",
                Format::Prometheus,
            ),
            ("application/openmetrics-text;q=0", Format::Prometheus),
            (
                "application/openmetrics-text;q=0.2,text/plain;q=0.7",
                Format::Prometheus,
            ),
            (
                "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
                 application/openmetrics-text;version=0.0.1;q=0.5,\
                 text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,\
                 text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
                Format::OpenMetrics,
            ),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(Format::accepted(&headers), expected, "{accept:?}");
        }
    }

    #[test]
    fn without_a_wish_it_is_prometheus_own() {
        assert_eq!(Format::accepted(&HeaderMap::new()), Format::Prometheus);
    }
}
