//! The files of a runtime's configuration, in the order in which later ones win.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::{Table, Value};

use super::super::node::Node;

/// More files than any node has; some are made to include one another.
const MAX_FILES: usize = 256;
/// How deep folders of drop-ins are read.
const MAX_DEPTH: usize = 4;

/// One file.
#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) path: PathBuf,
    pub(super) table: Table,
}

impl Layer {
    /// Whether it has the table already that these lines open.
    pub(super) fn has_table_of(&self, lines: &str) -> bool {
        let Ok(lines) = lines.parse::<Table>() else {
            return false;
        };
        let (mut theirs, mut ours) = (&lines, &self.table);
        // What holds nothing but a table is on the way to the one that is meant.
        while theirs.len() == 1 {
            let Some((key, Value::Table(inner))) = theirs.iter().next() else {
                break;
            };
            let Some(Value::Table(same)) = ours.get(key) else {
                return false;
            };
            (theirs, ours) = (inner, same);
        }
        true
    }

    /// The table at a path of keys.
    pub(super) fn table(&self, path: &[&str]) -> Option<&Table> {
        let mut table = &self.table;
        for key in path {
            table = table.get(*key)?.as_table()?;
        }
        Some(table)
    }
}

/// A file that could not be read.
#[derive(Debug)]
pub(super) struct Unread {
    pub(super) path: PathBuf,
    pub(super) reason: Reason,
}

/// Why it could not.
#[derive(Debug)]
pub(super) enum Reason {
    /// It is not there.
    Missing,
    /// This process cannot read it, and the runtime may be able to.
    Unreadable(String),
    /// It is no TOML.
    Broken(String),
}

/// All files.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) layers: Vec<Layer>,
    pub(super) unread: Vec<Unread>,
    /// Folders whose `*.toml` the files include.
    pub(super) imported_folders: Vec<PathBuf>,
}

impl Files {
    /// containerd's: the main file and what it imports, each after the one that names it.
    pub(super) fn of_containerd(node: &Node, main: &Path) -> Self {
        let mut files = Self::default();
        let mut seen = BTreeSet::new();
        let mut pending = VecDeque::from([main.to_owned()]);
        while let Some(path) = pending.pop_front() {
            if !seen.insert(path.clone()) || seen.len() > MAX_FILES {
                continue;
            }
            if let Some(layer) = files.read(node, &path) {
                let imports = strings(layer.table.get("imports"));
                pending.extend(files.imports(node, &path, &imports));
            }
        }
        files
    }

    /// CRI-O's: the main file, then every file in and below the folder of drop-ins.
    pub(super) fn of_crio(node: &Node, main: &Path, drop_ins: &Path) -> Self {
        let mut files = Self::default();
        files.read(node, main);
        for path in files.walk(node, drop_ins, MAX_DEPTH).iter().take(MAX_FILES) {
            files.read(node, path);
        }
        files
    }

    fn read(&mut self, node: &Node, path: &Path) -> Option<&Layer> {
        let read = node.read(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Reason::Missing,
            _ => Reason::Unreadable(error.to_string()),
        });
        let parse = |text: String| text.parse().map_err(|error| broken(&text, &error));
        match read.and_then(parse) {
            Ok(table) => {
                let path = path.to_owned();
                self.layers.push(Layer { path, table });
                self.layers.last()
            }
            Err(reason) => {
                let path = path.to_owned();
                self.unread.push(Unread { path, reason });
                None
            }
        }
    }

    /// The files that a list of imports names, which is relative to the file that has it.
    fn imports(&mut self, node: &Node, parent: &Path, imports: &[String]) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        for import in imports {
            let path = parent.parent().unwrap_or(Path::new("/")).join(import);
            let pattern = path.file_name().and_then(|name| name.to_str());
            let (Some(folder), Some(pattern)) = (path.parent(), pattern) else {
                continue;
            };
            if !pattern.contains('*') {
                paths.push(path);
                continue;
            }
            if pattern == "*.toml" {
                self.imported_folders.push(folder.to_owned());
            }
            let names = self.list(node, folder);
            let matching = names
                .iter()
                .filter(|name| name.to_str().is_some_and(|name| matches(pattern, name)));
            paths.extend(matching.map(|name| folder.join(name)));
        }
        paths
    }

    /// The files in and below a folder.
    fn walk(&mut self, node: &Node, folder: &Path, depth: usize) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        for name in self.list(node, folder) {
            let path = folder.join(name);
            match node.metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
                true if depth > 0 => paths.extend(self.walk(node, &path, depth - 1)),
                true => {}
                false => paths.push(path),
            }
        }
        paths
    }

    /// The names in a folder; there may be none.
    fn list(&mut self, node: &Node, folder: &Path) -> Vec<OsString> {
        match node.list(folder) {
            Ok(names) => names,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    let path = folder.to_owned();
                    let reason = Reason::Unreadable(error.to_string());
                    self.unread.push(Unread { path, reason });
                }
                Vec::new()
            }
        }
    }

    /// Whether a file was read.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.layers.iter().any(|layer| layer.path == path)
    }

    /// A file that is there and could not be understood: what follows from the others may be wrong.
    pub(super) fn is_patchy(&self) -> bool {
        let there = |unread: &Unread| !matches!(unread.reason, Reason::Missing);
        self.unread.iter().any(there)
    }
}

fn broken(text: &str, error: &toml::de::Error) -> Reason {
    let at = error.span().map_or(0, |span| span.start);
    let line = text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
    Reason::Broken(format!("line {line}: {}", error.message()))
}

/// Whether a name fits a pattern in which `*` stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(name) = name.strip_prefix(start) else {
        return false;
    };
    let mut ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
    ends.any(|at| matches(rest, &name[at..]))
}

/// A value and the file that it is from; `None`: it is the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    pub(crate) file: Option<PathBuf>,
}

impl<T> Setting<T> {
    pub(super) fn default(value: T) -> Self {
        Self { value, file: None }
    }
}

/// One table, as all files together have it.
#[derive(Debug, Default)]
pub(super) struct Section(BTreeMap<String, (Value, PathBuf)>);

impl Section {
    /// Adds the keys of a later file.
    pub(super) fn merge(&mut self, table: &Table, file: &Path) {
        self.add("", table, file);
    }

    fn add(&mut self, prefix: &str, table: &Table, file: &Path) {
        for (key, value) in table {
            let key = format!("{prefix}{key}");
            match value {
                Value::Table(inner) => self.add(&format!("{key}."), inner, file),
                value => {
                    self.0.insert(key, (value.clone(), file.to_owned()));
                }
            }
        }
    }

    fn get<T>(&self, key: &str, read: impl FnOnce(&Value) -> Option<T>) -> Option<Setting<T>> {
        let (value, file) = self.0.get(key)?;
        Some(Setting {
            value: read(value)?,
            file: Some(file.clone()),
        })
    }

    pub(super) fn boolean(&self, key: &str) -> Option<Setting<bool>> {
        self.get(key, Value::as_bool)
    }

    pub(super) fn string(&self, key: &str) -> Option<Setting<String>> {
        self.get(key, |value| value.as_str().map(str::to_owned))
    }

    pub(super) fn strings(&self, key: &str) -> Option<Setting<Vec<String>>> {
        self.get(key, |value| value.is_array().then(|| strings(Some(value))))
    }

    pub(super) fn duration(&self, key: &str) -> Option<Setting<Duration>> {
        self.get(key, |value| go_duration(value.as_str()?))
    }
}

/// The strings of an array.
pub(super) fn strings(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items
        .filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}

/// Reads what Go writes for a duration: `2s`, `1m30s`, `1.5s`.
fn go_duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (value, tail) = rest.split_at(number);
        let unit = tail
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(tail.len());
        let factor = match &tail[..unit] {
            "ns" => 1e-9,
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        seconds += value.parse::<f64>().ok()? * factor;
        rest = &tail[unit..];
    }
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_writes_them() {
        for (text, millis) in [
            ("2s", Some(2000)),
            ("500ms", Some(500)),
            ("1m30s", Some(90_000)),
            ("1.5s", Some(1500)),
            ("1h0m0s", Some(3_600_000)),
            ("2", None),
            ("two", None),
            ("2 parsecs", None),
        ] {
            let duration = go_duration(text);
            assert_eq!(duration, millis.map(Duration::from_millis), "{text}");
        }
    }

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name, fits) in [
            ("*.toml", "10-nri.toml", true),
            ("*.toml", "10-nri.toml.bak", false),
            ("10-*-x.*", "10-nri-x.toml", true),
            ("nri.toml", "nri.toml", true),
            ("*", "ümlaut", true),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}
