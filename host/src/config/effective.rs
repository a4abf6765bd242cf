//! The configuration that files, environment and flags make together, as TOML: every key, and behind
//! each value where it comes from.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};
use toml_writer::{ToTomlKey as _, ToTomlValue as _, TomlStringBuilder};

use super::duration;
use super::mistake::{BrokenComponent, Mistake};
use super::origin::{Location, Origin};
use super::settings::{ComponentConfig, Config, HostConfig, RuntimeConfig};
use super::{Given, Overrides};

/// The column of the comment behind a value, where that is not longer.
const COMMENT_COLUMN: usize = 48;

/// Where the values of a configuration come from.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources {
    /// All files in the order in which they were read.
    pub(super) files: Vec<Arc<Path>>,
    /// What was written under `[runtime]`.
    pub(super) runtime: Option<Origin>,
    /// What was written under `[host]`.
    pub(super) host: Option<Origin>,
    /// What wins over the files.
    pub(super) overrides: Overrides,
}

/// What there is of a configuration whatever is wrong with it.
///
/// Its text is TOML. Read without environment and flags, it gives the same configuration.
#[derive(Clone, Debug)]
pub struct Effective {
    /// The configuration: a key with a mistake has its default, and broken components are left out.
    pub config: Config,
    sources: Sources,
    /// Keys that have a mistake, as seen from their table or component, and where it was made.
    wrong: Vec<(String, Location)>,
    left_out: Vec<(Option<String>, Location)>,
}

impl Effective {
    pub(super) fn new(
        config: Config,
        sources: Sources,
        mistakes: &[Mistake],
        broken: &[BrokenComponent],
    ) -> Self {
        let wrong = mistakes.iter().map(|m| (m.key.clone(), m.location.clone()));
        let left_out = broken.iter().filter_map(|broken| {
            let first = broken.mistakes.first()?;
            Some((broken.name.clone(), first.location.clone()))
        });
        Self {
            config,
            sources,
            wrong: wrong.collect(),
            left_out: left_out.collect(),
        }
    }
}

impl fmt::Display for Effective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# The configuration in effect, from these files in this order:"
        )?;
        for file in &self.sources.files {
            writeln!(f, "#   {}", comment(&file.display().to_string()))?;
        }
        writeln!(
            f,
            "# Behind each value stands where it comes from. Values below [component.config] are \
             shown as they are,\n# secrets too."
        )?;
        self.runtime(f, &self.config.runtime)?;
        self.host(f, &self.config.host)?;
        for component in &self.config.components {
            self.component(f, component)?;
        }
        for (name, location) in &self.left_out {
            let name = name.as_ref().map(|name| format!(" {name:?}"));
            let what = format!(
                "left out: component{}, which has mistakes ({location})",
                name.unwrap_or_default()
            );
            write!(f, "\n# {}\n", comment(&what))?;
        }
        Ok(())
    }
}

impl Effective {
    fn runtime(&self, f: &mut fmt::Formatter<'_>, config: &RuntimeConfig) -> fmt::Result {
        let mut keys = self.table(f, "runtime", self.sources.runtime.as_ref())?;
        let socket = path(&config.socket);
        keys.given("socket", socket, self.sources.overrides.socket.as_ref())?;
        keys.optional("expect_runtime", config.expect_runtime.as_deref().map(text))?;
        let timeout = duration::format(config.handshake_timeout);
        keys.value("handshake_timeout", text(&timeout))
    }

    fn host(&self, f: &mut fmt::Formatter<'_>, config: &HostConfig) -> fmt::Result {
        let mut keys = self.table(f, "host", self.sources.host.as_ref())?;
        let dirs = array(config.component_dirs.iter().map(|dir| path(dir)));
        keys.value("component_dirs", dirs)?;
        keys.value("runtime_dir", path(&config.runtime_dir))?;
        keys.value("state_dir", path(&config.state_dir))?;
        let exempt = array(config.fail_exempt_namespaces.iter().map(|name| text(name)));
        keys.value("fail_exempt_namespaces", exempt)?;
        let log = text(&config.log.to_string());
        keys.given("log", log, self.sources.overrides.log.as_ref())?;
        let metrics = config
            .metrics_listen
            .map(|address| text(&address.to_string()));
        keys.optional("metrics_listen", metrics)
    }

    fn table<'a, 'f>(
        &'a self,
        f: &'a mut fmt::Formatter<'f>,
        name: &str,
        origin: Option<&'a Origin>,
    ) -> Result<Keys<'a, 'f>, fmt::Error> {
        write!(f, "\n[{name}]\n")?;
        Ok(Keys {
            f,
            origin,
            path: "",
            wrong: &self.wrong,
        })
    }

    fn component(&self, f: &mut fmt::Formatter<'_>, component: &ComponentConfig) -> fmt::Result {
        let origin = &component.origin;
        // One that is switched off is there whatever is wrong with it.
        let mut keys = Keys {
            f,
            origin: Some(origin),
            path: "",
            wrong: &self.wrong,
        };
        writeln!(keys.f)?;
        keys.line("[[component]]", origin.location())?;
        keys.value("name", text(&component.name))?;
        keys.value("index", component.index)?;
        keys.value("library", path(&component.library))?;
        keys.value("enabled", component.enabled)?;
        let limit = |limit: Option<_>| limit.map(|limit| text(&duration::format(limit)));
        keys.optional("timeout", limit(component.timeout))?;
        keys.optional("sync_timeout", limit(component.sync_timeout))?;
        keys.value("on_failure", text(component.on_failure.as_str()))?;
        keys.value("on_stuck", text(component.on_stuck.as_str()))?;
        keys.value("required", component.required)?;
        keys.value("isolation", text(component.isolation.as_str()))?;

        let mut keys = keys.inner("component.quarantine", "quarantine")?;
        keys.value("failures", component.quarantine.failures)?;
        let window = duration::format(component.quarantine.window);
        keys.value("window", text(&window))?;

        keys.origin = Some(origin);
        let mut keys = keys.inner("component.config", "config")?;
        keys.json("component.config", &component.config)
    }
}

/// Writes the keys of one table.
struct Keys<'a, 'f> {
    f: &'a mut fmt::Formatter<'f>,
    /// What was written of the table.
    origin: Option<&'a Origin>,
    /// The key of this table within its component; empty for one that is not within another.
    path: &'a str,
    /// Keys that have their default because what was written is wrong.
    wrong: &'a [(String, Location)],
}

impl<'a, 'f> Keys<'a, 'f> {
    fn value(&mut self, key: &str, value: impl fmt::Display) -> fmt::Result {
        let line = format!("{key} = {value}");
        match self.written(key) {
            Some(written) if self.is_wrong(key, written) => {
                let location = written.location();
                self.line(&line, format_args!("default, for {location} is wrong"))
            }
            Some(written) => self.line(&line, written.location()),
            None => self.line(&line, "default"),
        }
    }

    /// Whether a mistake was made in this value. Another table may have a key of the same name.
    fn is_wrong(&self, key: &str, written: &Origin) -> bool {
        self.wrong.iter().any(|(wrong, location)| {
            let inner = match self.path {
                "" => Some(wrong.as_str()),
                path => wrong
                    .strip_prefix(path)
                    .and_then(|rest| rest.strip_prefix('.')),
            };
            let below = inner.and_then(|wrong| wrong.strip_prefix(key));
            below.is_some_and(|below| {
                (below.is_empty() || below.starts_with(['.', '[']))
                    && written.find(below) == location
            })
        })
    }

    /// A key that has no default.
    fn optional(&mut self, key: &str, value: Option<String>) -> fmt::Result {
        match value {
            Some(value) => self.value(key, value),
            None => {
                let line = format!("#{key} =");
                match self.written(key) {
                    Some(written) if self.is_wrong(key, written) => {
                        let location = written.location();
                        self.line(&line, format_args!("not set, for {location} is wrong"))
                    }
                    _ => self.line(&line, "not set"),
                }
            }
        }
    }

    /// A key for which flags or the environment may have another value.
    fn given<T>(&mut self, key: &str, value: String, given: Option<&Given<T>>) -> fmt::Result {
        match given {
            Some(Given { by, .. }) => self.line(&format!("{key} = {value}"), by),
            None => self.value(key, value),
        }
    }

    /// Goes on with a table within this one.
    fn inner(self, header: &str, key: &'a str) -> Result<Self, fmt::Error> {
        writeln!(self.f, "[{header}]")?;
        let origin = self.written(key);
        Ok(Self {
            origin,
            path: key,
            ..self
        })
    }

    /// All of a component's own table. What stands in its tables can come from several files.
    fn json(&mut self, header: &str, table: &Map<String, Value>) -> fmt::Result {
        for (key, value) in table {
            if !value.is_object()
                && let Some(value) = inline(value)
            {
                let line = format!("{} = {value}", key.to_toml_key());
                match self.written(key) {
                    Some(written) => self.line(&line, written.location())?,
                    None => self.line(&line, "default")?,
                }
            }
        }
        for (key, value) in table {
            if let Value::Object(table) = value {
                let header = format!("{header}.{}", key.to_toml_key());
                let outer = self.origin;
                writeln!(self.f, "[{header}]")?;
                self.origin = self.written(key);
                self.json(&header, table)?;
                self.origin = outer;
            }
        }
        Ok(())
    }

    fn written(&self, key: &str) -> Option<&'a Origin> {
        self.origin?.key(key)
    }

    fn line(&mut self, line: &str, whence: impl fmt::Display) -> fmt::Result {
        let whence = comment(&whence.to_string());
        writeln!(self.f, "{line:COMMENT_COLUMN$} # {whence}")
    }
}

/// As a comment can hold it.
fn comment(text: &str) -> String {
    text.replace(char::is_control, "?")
}

/// On one line, whatever it is.
fn text(text: &str) -> String {
    TomlStringBuilder::new(text).as_basic().to_toml_value()
}

fn path(path: &Path) -> String {
    text(&path.display().to_string())
}

fn array(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// `None`: a mistake stood there, and there is no value.
fn inline(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.to_string(),
            None => number.as_f64()?.to_toml_value(),
        },
        Value::String(string) => text(string),
        Value::Array(items) => array(items.iter().filter_map(inline)),
        Value::Object(table) => {
            let entry = |(key, value): (&String, &Value)| {
                Some(format!("{} = {}", key.to_toml_key(), inline(value)?))
            };
            let entries: Vec<_> = table.iter().filter_map(entry).collect();
            format!("{{ {} }}", entries.join(", "))
        }
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::config::{Overrides, load_effective};

    #[test]
    fn a_value_is_called_wrong_where_the_mistake_is_and_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("nri-host.toml");
        let text = "[runtime]\nlog = 1\n[host]\nlog = \"warn\"\nruntime_dir = 7\n[[component]]\n\
                    name = \"off\"\nindex = 3\nlibrary = \"liboff.so\"\ntimeout = 5\n\
                    quarantine = { failures = 9, window = 5 }\nenabled = false\n";
        fs::write(&file, text).unwrap();
        let (_, effective) = load_effective(&file, &Overrides::default());
        let shown = effective.to_string();
        let whence = |key: &str| {
            let mut lines = shown
                .lines()
                .filter(|line| line.trim_start_matches('#').starts_with(key));
            let line = lines
                .next()
                .and_then(|line| line.split_once("# "))
                .unwrap_or_default();
            line.1.replace(&file.display().to_string(), "FILE")
        };
        assert_eq!(whence("log ="), "FILE:4");
        assert_eq!(whence("runtime_dir ="), "default, for FILE:5 is wrong");
        assert_eq!(whence("index ="), "FILE:8");
        assert_eq!(whence("failures ="), "FILE:11");
        assert_eq!(whence("window ="), "default, for FILE:11 is wrong");
        assert_eq!(whence("timeout ="), "not set, for FILE:10 is wrong");
    }
}
