//! The configuration as written: all files put together, nothing judged but their form.

use std::path::Path;
use std::sync::Arc;

use super::files::{self, Unlisted};
use super::keys;
use super::mistake::{Mistake, Oddity, Problem, Scope, Warning};
use super::node::{self, Node, NodeValue, Table};
use super::origin::Location;
use super::similar::nearest;

/// All files of a configuration, with the drop-ins merged into the components they name.
#[derive(Default)]
pub(super) struct RawConfig {
    pub(super) runtime: Option<Node>,
    pub(super) host: Option<Node>,
    pub(super) components: Vec<RawComponent>,
    /// The files in the order in which they were read.
    pub(super) files: Vec<Arc<Path>>,
    /// What is wrong with files as such.
    pub(super) mistakes: Vec<Mistake>,
    pub(super) warnings: Vec<Warning>,
    /// Drop-ins, or tables in them, that cannot be read and of which not even the component's
    /// name is known.
    pub(super) nameless: Vec<Mistake>,
    /// The files that could not be read, or are not TOML.
    pub(super) unsound: Vec<Arc<Path>>,
}

/// One component, as the files so far describe it.
pub(super) struct RawComponent {
    pub(super) table: Node,
    /// Whether the first file to name it is a drop-in.
    pub(super) from_drop_in: bool,
    /// Drop-ins that name it but cannot be read for good: it must not run without what they say.
    pub(super) damage: Vec<Mistake>,
}

impl RawComponent {
    /// A drop-in meant to change a component, but nothing defines it.
    pub(super) fn only_changes(&self) -> bool {
        let defining = |keys: &Table| keys.contains_key("library") || keys.contains_key("index");
        self.from_drop_in && !self.table.as_table().is_some_and(defining)
    }
}

/// Which file is being taken in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Main,
    DropIn,
}

impl RawConfig {
    /// Reads the main file and its drop-ins.
    pub(super) fn read(main: &Path) -> Self {
        let mut raw = Self::default();
        let main: Arc<Path> = main.into();
        raw.take_file(&main, Role::Main);
        match files::drop_ins(&main) {
            Ok(drop_ins) => {
                for drop_in in drop_ins {
                    raw.take_file(&drop_in, Role::DropIn);
                }
            }
            Err(Unlisted { dir, problem }) => {
                let mistake = whole_file(&dir, Role::DropIn, problem);
                raw.files.push(dir);
                raw.nameless.push(mistake.clone());
                raw.mistakes.push(mistake);
            }
        }
        raw
    }

    fn take_file(&mut self, file: &Arc<Path>, role: Role) {
        self.files.push(Arc::clone(file));
        let text = match files::read(file) {
            Ok(text) => text,
            Err(problem) => {
                let mistake = whole_file(file, role, problem);
                if role == Role::DropIn {
                    self.nameless.push(mistake.clone());
                }
                self.mistakes.push(mistake);
                self.unsound.push(Arc::clone(file));
                return;
            }
        };
        let (root, errors) = node::parse(file, &text);
        let errors: Vec<_> = errors
            .into_iter()
            .map(|error| Mistake {
                scope: role.scope(file),
                location: error.location,
                key: String::new(),
                problem: Problem::Syntax {
                    column: error.column,
                    message: error.message,
                },
            })
            .collect();
        let NodeValue::Table(mut root) = root.value else {
            unreachable!("the root of a TOML document is a table");
        };
        let components = root.remove("component");
        if errors.is_empty() {
            self.take_tables(root, file, role);
            self.take_components(components, role);
            return;
        }
        if role == Role::DropIn {
            self.damage_components(components, &errors);
        } else {
            self.take_components(components, role);
        }
        self.mistakes.extend(errors);
        self.unsound.push(Arc::clone(file));
    }

    /// The place of a file among all, in the order in which they are read.
    pub(super) fn place(&self, location: &Location) -> Option<usize> {
        self.files.iter().position(|file| *file == location.file)
    }

    /// The main file could be read and is TOML.
    pub(super) fn main_is_sound(&self) -> bool {
        !self.unsound.contains(&self.files[0])
    }

    /// Whether a mistake in a component is one of its own, not a mere consequence of a file that
    /// cannot be understood.
    pub(super) fn is_telling(&self, mistake: &Mistake) -> bool {
        let consequence =
            matches!(mistake.problem, Problem::NothingToChange { .. }) && !self.main_is_sound();
        !consequence && !self.unsound.contains(&mistake.location.file)
    }

    /// Takes what is not a component.
    fn take_tables(&mut self, root: Table, file: &Arc<Path>, role: Role) {
        for (key, node) in root {
            let problem = match (key.as_str(), role) {
                ("runtime", Role::Main) => {
                    self.runtime = Some(node);
                    continue;
                }
                ("host", Role::Main) => {
                    self.host = Some(node);
                    continue;
                }
                ("runtime" | "host", Role::DropIn) => Problem::NotInDropIn,
                _ => {
                    let known = role.tables();
                    Problem::UnknownKey {
                        known: known.to_vec(),
                        nearest: nearest(&key, known.iter().copied()),
                    }
                }
            };
            // What was meant to be a component costs that component, not the host.
            let lost_component = matches!(
                problem,
                Problem::UnknownKey {
                    nearest: Some("component"),
                    ..
                }
            );
            let mistake = Mistake {
                scope: match lost_component {
                    true => Scope::Component(None),
                    false => role.scope(file),
                },
                location: node.location,
                key,
                problem,
            };
            if lost_component {
                self.nameless.push(mistake.clone());
            }
            self.mistakes.push(mistake);
        }
    }

    fn take_components(&mut self, node: Option<Node>, role: Role) {
        let Some(node) = node else { return };
        let NodeValue::Array(items) = node.value else {
            self.lose_component(&node);
            return;
        };
        // A file changes what earlier files define; two tables with one name in the same file are
        // two components.
        let earlier = self.components.len();
        for item in items {
            if item.as_table().is_none() {
                self.lose_component(&item);
            } else {
                self.take_component(item, earlier, role);
            }
        }
    }

    fn take_component(&mut self, item: Node, earlier: usize, role: Role) {
        match self.find(&item, earlier) {
            Found::New => self.components.push(RawComponent {
                table: item,
                from_drop_in: role == Role::DropIn,
                damage: Vec::new(),
            }),
            Found::One(at) => self.change(at, item),
            Found::Several(candidates) => self.refuse_ambiguous(&candidates, &item),
        }
    }

    /// None of the candidates may run: what the file says is not known for any of them.
    fn refuse_ambiguous(&mut self, candidates: &[usize], item: &Node) {
        let at = |at: &usize| self.components[*at].table.location.clone();
        let mistake = Mistake {
            scope: Scope::Component(item.string("name").map(str::to_owned)),
            location: item.location.clone(),
            key: String::new(),
            problem: Problem::Ambiguous {
                at: candidates.iter().map(at).collect(),
            },
        };
        for at in candidates {
            self.components[*at].damage.push(mistake.clone());
        }
        self.mistakes.push(mistake);
    }

    /// The component of an earlier file that this table is about.
    fn find(&self, item: &Node, earlier: usize) -> Found {
        let Some(name) = item.string("name") else {
            return Found::New;
        };
        let index_of = |node: &Node| match node.as_table()?.get("index")?.value {
            NodeValue::Integer(index) => index,
            _ => None,
        };
        let named: Vec<usize> = (0..earlier)
            .filter(|at| self.components[*at].table.string("name") == Some(name))
            .collect();
        match named[..] {
            [] => Found::New,
            [one] => Found::One(one),
            _ => {
                let index = index_of(item);
                let same = |at: &&usize| {
                    index.is_some() && index_of(&self.components[**at].table) == index
                };
                match named.iter().find(same) {
                    Some(at) => Found::One(*at),
                    None => Found::Several(named),
                }
            }
        }
    }

    fn change(&mut self, at: usize, mut item: Node) {
        let table = &mut self.components[at].table;
        let library = |node: &Node| node.as_table()?.get("library").map(|n| n.location.clone());
        if let (Some(old), Some(new)) = (library(table), library(&item))
            && table.string("library") != item.string("library")
        {
            self.warnings.push(Warning {
                scope: Scope::Component(table.string("name").map(str::to_owned)),
                location: new,
                key: "library".to_owned(),
                oddity: Oddity::LibraryReplaced { at: old },
            });
        }
        if let NodeValue::Table(keys) = &mut item.value {
            // It says which component is meant, and changes nothing.
            keys.remove("name");
        }
        table.merge(item);
    }

    /// Marks the components that a damaged drop-in names.
    fn damage_components(&mut self, node: Option<Node>, errors: &[Mistake]) {
        let items = match node.map(|node| node.value) {
            Some(NodeValue::Array(items)) => items,
            _ => Vec::new(),
        };
        let mut named = false;
        for item in items {
            let Some(name) = item.string("name") else {
                continue;
            };
            named = true;
            let mut known = false;
            for component in &mut self.components {
                if component.table.string("name") == Some(name) {
                    known = true;
                    component.damage.extend_from_slice(errors);
                }
            }
            if !known {
                self.components.push(RawComponent {
                    table: item,
                    from_drop_in: true,
                    damage: errors.to_vec(),
                });
            }
        }
        if !named {
            self.nameless.extend_from_slice(errors);
        }
    }

    /// Notes something in place of a `[[component]]`.
    fn lose_component(&mut self, node: &Node) {
        let mistake = Mistake {
            scope: Scope::Component(node.string("name").map(str::to_owned)),
            location: node.location.clone(),
            key: "component".to_owned(),
            problem: Problem::WrongType {
                expected: "[[component]] with double brackets",
                found: node.value.kind(),
            },
        };
        self.nameless.push(mistake.clone());
        self.mistakes.push(mistake);
    }
}

/// What a table in a file is about.
enum Found {
    /// A component that no earlier file names.
    New,
    /// The component at this place.
    One(usize),
    /// Any of the components at these places.
    Several(Vec<usize>),
}

impl Role {
    /// What such a file may hold.
    fn tables(self) -> &'static [&'static str] {
        match self {
            Self::Main => &keys::MAIN,
            Self::DropIn => &["component"],
        }
    }

    fn scope(self, file: &Arc<Path>) -> Scope {
        match self {
            Self::Main => Scope::Host,
            Self::DropIn => Scope::DropIn(Arc::clone(file)),
        }
    }
}

fn whole_file(file: &Arc<Path>, role: Role, problem: Problem) -> Mistake {
    Mistake {
        scope: role.scope(file),
        location: Location {
            file: Arc::clone(file),
            line: None,
        },
        key: String::new(),
        problem,
    }
}
