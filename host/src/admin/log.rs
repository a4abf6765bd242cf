//! `GET /log?component=NAME&after=TIME`: the last lines of the host's log about one component, of
//! those that the configured level lets through.

mod fields;
mod lines;

use form_urlencoded::Serializer;
use hyper::StatusCode;
use serde::{Deserialize, Serialize};

pub use lines::{Line, LogLines, MAX_BYTES, MAX_LINE, MAX_LINES};

use super::answer::{Answer, Sources, ask, json, refuse, stopping};
use super::status::{State, Status};
use crate::config::without_index;
use crate::supervisor::Question;

/// What `/log` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    /// Oldest first.
    pub lines: Vec<Line>,
    /// More lines came after the time that was asked for than are kept.
    pub left_out: bool,
    /// The component is switched off in the configuration.
    pub disabled: bool,
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
    // Before all else: lines that come meanwhile are for the next one who asks.
    let newest_us = log.newest_us();
    let meant = meant(&query.component, &log.components(), status)?;
    let mut answer = Log {
        lines: Vec::new(),
        left_out: false,
        disabled: is_disabled(&query.component, status),
    };
    for plugin in meant {
        let (lines, left_out) = log.after(&plugin, query.after_us, newest_us);
        answer
            .lines
            .extend(lines.iter().map(|line| (**line).clone()));
        answer.left_out |= left_out;
    }
    answer.lines.sort_by_key(|line| line.time_us);
    Some(answer)
}

/// Whether all that are called that are switched off.
fn is_disabled(name: &str, status: &Status) -> bool {
    let mut named = status.named(name).peekable();
    named.peek().is_some() && named.all(|component| component.state == Some(State::Disabled))
}

/// Those of the `logged` names that `asked` stands for. `None`: no component is called that.
fn meant(asked: &str, logged: &[String], status: &Status) -> Option<Vec<String>> {
    let is_it = |name: &&String| *name == asked || without_index(name) == Some(asked);
    let mut meant: Vec<_> = logged.iter().filter(is_it).cloned().collect();
    // One that has left the configuration may be asked for as well.
    if meant.is_empty() && status.named(asked).next().is_none() {
        return None;
    }
    // Mistakes in the configuration of a component are logged without its index, which may be wrong.
    let bare = logged
        .iter()
        .find(|name| without_index(asked) == Some(name));
    meant.extend(bare.cloned());
    Some(meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_its_component_at_any_index_and_for_no_longer_name() {
        let logged = ["10-gpu", "20-gpu", "30-nvidia-gpu", "gpu", "nvidia-gpu"];
        let logged = logged.map(str::to_owned);
        let meant = |asked| meant(asked, &logged, &Status::default());
        let expect = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(meant("gpu"), expect(&["10-gpu", "20-gpu", "gpu"]));
        assert_eq!(meant("20-gpu"), expect(&["20-gpu", "gpu"]));
        assert_eq!(
            meant("nvidia-gpu"),
            expect(&["30-nvidia-gpu", "nvidia-gpu"])
        );
        assert_eq!(meant("40-gpu"), None);
        assert_eq!(meant("fpga"), None);
    }

    #[test]
    fn who_follows_two_components_that_log_at_once_misses_no_line() {
        for _ in 0..100 {
            assert_eq!(follow_two_that_log_at_once(), [MAX_LINES / 2; 2]);
        }
    }

    /// How many lines of each are read.
    fn follow_two_that_log_at_once() -> [usize; 2] {
        use tracing_subscriber::layer::SubscriberExt as _;

        const PLUGINS: [&str; 2] = ["10-gpu", "20-gpu"];
        let lines = LogLines::default();
        let dispatch = tracing::Dispatch::new(tracing_subscriber::registry().with(lines.clone()));
        let mut query = LogQuery {
            component: "gpu".to_owned(),
            after_us: 0,
        };
        let mut counts = [0; 2];
        let mut read_on = || {
            let log = read(&query, &Status::default(), &lines);
            for line in log.into_iter().flat_map(|log| log.lines) {
                query.after_us = line.time_us;
                counts[usize::from(line.component == PLUGINS[1])] += 1;
            }
        };
        std::thread::scope(|scope| {
            let threads = PLUGINS.map(|component| {
                let dispatch = &dispatch;
                scope.spawn(move || {
                    tracing::dispatcher::with_default(dispatch, || {
                        for number in 0..MAX_LINES / 2 {
                            tracing::info!(component, "{number}");
                        }
                    });
                })
            });
            while threads.iter().any(|thread| !thread.is_finished()) {
                read_on();
            }
            read_on();
        });
        counts
    }

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
