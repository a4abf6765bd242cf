//! The JSON schema of the configuration.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Writes the schema to a file.
pub(crate) fn write(file: &Path) -> Result<()> {
    let schema = nri_host::config::schema();
    let text = serde_json::to_string_pretty(&schema).context("cannot write the schema as JSON")?;
    fs::write(file, text + "\n").with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use jsonschema::Validator;
    use nri_host::config::KEYS;
    use serde_json::Value;

    use super::*;

    fn config(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../config")
            .join(name)
    }

    fn validator() -> Result<Validator> {
        let schema: Value = serde_json::from_slice(&fs::read(config("nri-host.schema.json"))?)?;
        Ok(jsonschema::validator_for(&schema)?)
    }

    /// What an editor would underline.
    fn objections(validator: &Validator, toml: &str) -> Result<Vec<String>> {
        let value: Value = toml::from_str(toml).with_context(|| toml.to_owned())?;
        let errors = validator.iter_errors(&value);
        Ok(errors
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect())
    }

    /// With every key switched on: settings stand behind a `#` without a space.
    fn uncommented(text: &str) -> String {
        let setting = |line: &str| {
            let key = line
                .strip_prefix('#')
                .filter(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase() || c == '['));
            key.unwrap_or(line).to_owned()
        };
        text.lines().map(|line| setting(line) + "\n").collect()
    }

    #[test]
    fn the_file_is_what_is_generated() -> Result<()> {
        let dir = tempfile::tempdir()?;
        let generated = dir.path().join("schema.json");
        write(&generated)?;
        assert_eq!(
            fs::read_to_string(config("nri-host.schema.json"))?,
            fs::read_to_string(generated)?,
            "run: cargo run -p xtask -- schema config/nri-host.schema.json"
        );
        Ok(())
    }

    #[test]
    fn it_knows_every_key_and_no_other() {
        let schema = nri_host::config::schema();
        for (path, keys) in KEYS {
            let tables = path.split('.').filter(|key| !key.is_empty());
            let table = tables.fold(&schema, |table, key| {
                let inner = &table["properties"][key];
                inner.get("items").unwrap_or(inner)
            });
            let known = table["properties"].as_object().expect("it is a table");
            let known: BTreeSet<_> = known.keys().map(String::as_str).collect();
            assert_eq!(known, keys.iter().copied().collect(), "[{path}]");
            assert_eq!(table["additionalProperties"], false, "[{path}]");
            for key in keys {
                let description = table["properties"][key]["description"].as_str();
                assert!(description.is_some(), "{key} of [{path}] is not explained");
            }
        }
    }

    #[test]
    fn it_accepts_all_that_is_shipped() -> Result<()> {
        let validator = validator()?;
        let mut files = vec![config("nri-host.toml")];
        for entry in fs::read_dir(config("conf.d"))? {
            files.push(entry?.path());
        }
        assert!(files.len() > 4, "{files:?}");
        for file in files {
            let text = fs::read_to_string(&file)?;
            for text in [uncommented(&text), text] {
                let objections = objections(&validator, &text)?;
                assert!(objections.is_empty(), "{}: {objections:?}", file.display());
            }
        }
        Ok(())
    }

    #[test]
    fn it_objects_to_what_the_host_would_refuse() -> Result<()> {
        let validator = validator()?;
        for (toml, place) in [
            ("[runtiem]", ""),
            ("runtime = 1", "/runtime"),
            ("[runtime]\nsokcet = \"/a\"", "/runtime"),
            ("[runtime]\nsocket = \"a\"", "/runtime/socket"),
            ("[runtime]\nexpect_runtime = 1", "/runtime/expect_runtime"),
            (
                "[runtime]\nhandshake_timeout = \"1.5s\"",
                "/runtime/handshake_timeout",
            ),
            ("[host]\ncomponent_dirs = \"/a\"", "/host/component_dirs"),
            (
                "[host]\ncomponent_dirs = [\"/a\", \"b\"]",
                "/host/component_dirs/1",
            ),
            ("[host]\nstate_dir = \"a\"", "/host/state_dir"),
            (
                "[host]\nfail_exempt_namespaces = [\"\"]",
                "/host/fail_exempt_namespaces/0",
            ),
            ("[host]\nlog = \"loud\"", "/host/log"),
            ("[component]\nname = \"a\"", "/component"),
            ("[[component]]\nindex = 1", "/component/0"),
            ("[[component]]\nname = \"a b\"", "/component/0/name"),
            (
                "[[component]]\nname = \"a\"\nindex = 100",
                "/component/0/index",
            ),
            (
                "[[component]]\nname = \"a\"\nindex = -1",
                "/component/0/index",
            ),
            (
                "[[component]]\nname = \"a\"\nlibrary = \"./a.so\"",
                "/component/0/library",
            ),
            (
                "[[component]]\nname = \"a\"\nenabled = \"no\"",
                "/component/0/enabled",
            ),
            (
                "[[component]]\nname = \"a\"\ntimeout = 5",
                "/component/0/timeout",
            ),
            (
                "[[component]]\nname = \"a\"\non_failure = \"fial\"",
                "/component/0/on_failure",
            ),
            (
                "[[component]]\nname = \"a\"\non_stuck = \"restart\"",
                "/component/0/on_stuck",
            ),
            (
                "[[component]]\nname = \"a\"\nquarantine = 5",
                "/component/0/quarantine",
            ),
            (
                "[[component]]\nname = \"a\"\nquarantine.failures = 101",
                "/component/0/quarantine/failures",
            ),
            (
                "[[component]]\nname = \"a\"\nquarantine.time = \"1s\"",
                "/component/0/quarantine",
            ),
            (
                "[[component]]\nname = \"a\"\nisolation = \"process\"",
                "/component/0/isolation",
            ),
            (
                "[[component]]\nname = \"a\"\nconfig = 1",
                "/component/0/config",
            ),
        ] {
            let objections = objections(&validator, toml)?;
            let [only] = &objections[..] else {
                panic!("{toml}: {objections:?}");
            };
            assert!(only.starts_with(&format!("{place}: ")), "{toml}: {only}");
        }
        Ok(())
    }
}
