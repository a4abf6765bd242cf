//! Configurations in a temporary folder.

use std::fs;
use std::path::PathBuf;

use nri_host::config::{Config, Loaded, Overrides, load};
use tempfile::TempDir;

/// A folder with a main file, drop-ins, and libraries that exist.
pub(crate) struct Files {
    dir: TempDir,
}

impl Files {
    pub(crate) fn new(main: &str) -> Self {
        let files = Self {
            dir: TempDir::new().expect("a temporary folder can be made"),
        };
        files.write("nri-host.toml", &files.with_dirs(main));
        for library in ["liba.so", "libb.so"] {
            files.write(&format!("lib/{library}"), "");
        }
        files
    }

    /// Adds `conf.d/NAME`.
    pub(crate) fn drop_in(self, name: &str, text: &str) -> Self {
        self.write(&format!("conf.d/{name}"), text);
        self
    }

    /// Puts the folder of libraries in place of `LIB`.
    pub(crate) fn with_dirs(&self, text: &str) -> String {
        text.replace("LIB", &self.path("lib").display().to_string())
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("it is below the folder"))
            .expect("a folder can be made");
        fs::write(path, text).expect("a file can be written");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn load(&self) -> Loaded {
        load(&self.path("nri-host.toml"), &Overrides::default())
    }

    /// The mistakes, with the folder left out.
    pub(crate) fn mistakes(&self) -> Vec<String> {
        let dir = format!("{}/", self.dir.path().display());
        let mistakes = self.load().mistakes;
        mistakes
            .iter()
            .map(|mistake| mistake.to_string().replace(&dir, ""))
            .collect()
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        let dir = format!("{}/", self.dir.path().display());
        let warnings = self.load().warnings;
        warnings
            .iter()
            .map(|warning| warning.to_string().replace(&dir, ""))
            .collect()
    }

    pub(crate) fn config(&self) -> Config {
        let loaded = self.load();
        assert!(loaded.mistakes.is_empty(), "{:#?}", self.mistakes());
        loaded.config.expect("there are no mistakes")
    }
}

/// A main file in which the libraries are found.
pub(crate) fn with_components(components: &str) -> Files {
    Files::new(&format!("[host]\ncomponent_dirs = [\"LIB\"]\n{components}"))
}

/// Line 3 is the first of these.
pub(crate) const A: &str = "[[component]]\nname = \"a\"\nindex = 10\nlibrary = \"liba.so\"\n";

pub(crate) fn names(loaded: &Loaded) -> Vec<&str> {
    let config = loaded
        .config
        .as_ref()
        .expect("the host itself is configured well");
    config
        .components
        .iter()
        .map(|component| component.name.as_str())
        .collect()
}

pub(crate) fn broken(loaded: &Loaded) -> Vec<(Option<&str>, Option<u8>)> {
    let broken = loaded.broken.iter();
    broken
        .map(|broken| (broken.name.as_deref(), broken.index))
        .collect()
}
