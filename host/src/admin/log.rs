//! `GET /log?component=NAME&after=TIME`: the last lines of the host's log about one component, of
//! those that the configured level lets through.

mod fields;
mod lines;

use form_urlencoded::Serializer;
use hyper::StatusCode;
use serde::{Deserialize, Serialize};

pub use lines::{Line, LogLines, MAX_BYTES, MAX_LINE, MAX_LINES};

use super::answer::{Answer, Sources, ask, json, refuse, stopping};
use super::status::Status;
use crate::supervisor::Question;

/// What `/log` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    /// Oldest first.
    pub lines: Vec<Line>,
    /// More lines came after the time that was asked for than are kept.
    pub left_out: bool,
}

/// What is asked of `/log`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LogQuery {
    /// The component's name, alone or with its index before it.
    pub(super) component: String,
    /// Lines after this time are wanted, in microseconds since 1970.
    pub(super) after_us: u64,
}

impl LogQuery {
    /// As it stands behind the path and a question mark.
    pub(super) fn encoded(&self) -> String {
        Serializer::new(String::new())
            .append_pair("component", &self.component)
            .append_pair("after", &self.after_us.to_string())
            .finish()
    }

    fn decode(query: &str) -> Result<Self, &'static str> {
        let mut decoded = Self::default();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*key {
                "component" => decoded.component = value.into_owned(),
                "after" => {
                    let after_us = value.parse();
                    decoded.after_us =
                        after_us.map_err(|_| "after: a number of microseconds since 1970")?;
                }
                _ => return Err("there are component and after"),
            }
        }
        match decoded.component.as_str() {
            "" => Err("component: the name of a component"),
            _ => Ok(decoded),
        }
    }
}

pub(super) async fn respond(query: Option<&str>, sources: &Sources) -> Answer {
    let query = match LogQuery::decode(query.unwrap_or_default()) {
        Ok(query) => query,
        Err(what_is_wrong) => return refuse(StatusCode::BAD_REQUEST, what_is_wrong),
    };
    let Some(status) = ask(&sources.questions, Question::Status).await else {
        return stopping();
    };
    match read(&query, &status, &sources.log) {
        Some(log) => json(&log),
        None => refuse(StatusCode::NOT_FOUND, &status.unknown(&query.component)),
    }
}

/// The lines of every component that is meant; `None`: there is none.
fn read(query: &LogQuery, status: &Status, log: &LogLines) -> Option<Log> {
    let name = query.component.as_str();
    // One that has left the configuration may be asked for as well.
    let mut meant = log.components();
    meant.retain(|plugin| plugin == name || plugin.split_once('-').is_some_and(|(_, n)| n == name));
    if meant.is_empty() && status.named(name).next().is_none() {
        return None;
    }
    let mut answer = Log {
        lines: Vec::new(),
        left_out: false,
    };
    for plugin in meant {
        let (lines, left_out) = log.after(&plugin, query.after_us);
        answer
            .lines
            .extend(lines.iter().map(|line| (**line).clone()));
        answer.left_out |= left_out;
    }
    answer.lines.sort_by_key(|line| line.time_us);
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_understood_as_it_was_meant() {
        for component in ["gpu", "10-gpu", "a&after=7", "größe 1", "50%"] {
            let query = LogQuery {
                component: component.to_owned(),
                after_us: 1_796_005_364_123_456,
            };
            assert_eq!(LogQuery::decode(&query.encoded()), Ok(query));
        }
    }

    #[test]
    fn a_query_that_is_not_understood_is_refused() {
        for query in ["", "after=7", "component=gpu&after=-1", "component=gpu&n=3"] {
            assert!(LogQuery::decode(query).is_err(), "{query}");
        }
        let all = LogQuery::decode("component=gpu").map(|query| query.after_us);
        assert_eq!(all, Ok(0));
    }
}
