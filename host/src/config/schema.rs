//! The JSON schema of the configuration files, for editors.
//!
//! It is made from the types of the validated configuration. What is written differs from those in
//! little: nearly every key may be left out, and durations and the like are texts.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::effective::{Effective, Sources};
use super::origin::{Location, Origin};
use super::settings::{
    ComponentConfig, Config, HostConfig, Isolation, OnFailure, OnStuck, QuarantineConfig,
    RuntimeConfig,
};
use super::validate::LOG_LEVELS;

/// The schema of the main file and of drop-ins, in draft 7, which is what editors of TOML know.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<Config>();
    RecursiveTransform(as_written).transform(&mut schema);
    let mut schema = schema.to_value();
    add_defaults(&mut schema, &defaults());
    schema["title"] = json!("nri-host.toml");
    schema["description"] = json!("The configuration of nri-host, and its drop-ins.");
    // All else can stand in another file.
    schema["properties"]["component"]["items"]["required"] = json!(["name"]);
    schema
}

/// Any key may be left out, TOML has no null, the width of an integer is nobody's concern, and lines
/// are broken by whoever shows them.
fn as_written(schema: &mut Schema) {
    schema.remove("required");
    schema.remove("format");
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
}

/// What the keys mean that nobody writes.
fn defaults() -> Value {
    let config = Config {
        runtime: RuntimeConfig::default(),
        host: HostConfig::default(),
        components: vec![ComponentConfig {
            name: String::new(),
            index: 0,
            library: PathBuf::new(),
            enabled: true,
            timeout: None,
            sync_timeout: None,
            on_failure: OnFailure::default(),
            on_stuck: OnStuck::default(),
            quarantine: QuarantineConfig::default(),
            required: false,
            isolation: Isolation::default(),
            config: Map::new(),
            origin: Origin::at(Location {
                file: Path::new("").into(),
                line: None,
            }),
        }],
    };
    let text = Effective::new(config, Sources::default(), &[], &[]).to_string();
    toml::from_str(&text).expect("it is TOML")
}

fn add_defaults(schema: &mut Value, defaults: &Value) {
    let Some(properties) = schema["properties"].as_object_mut() else {
        return;
    };
    for (key, schema) in properties {
        match &defaults[key] {
            // These have to be written.
            _ if ["name", "index", "library"].contains(&key.as_str()) => {}
            Value::Null => {}
            Value::Object(defaults) if defaults.is_empty() => {}
            defaults @ Value::Object(_) => add_defaults(schema, defaults),
            Value::Array(items) if items[0].is_object() => {
                add_defaults(&mut schema["items"], &items[0]);
            }
            default => schema["default"] = default.clone(),
        }
    }
}

/// Defines a text of some form.
macro_rules! text {
    ($(#[doc = $doc:literal])* $name:ident, $($schema:tt)+) => {
        $(#[doc = $doc])*
        pub(super) struct $name;

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", $($schema)+ })
            }
        }
    };
}

text!(
    /// A path that does not depend on where the daemon was started.
    AbsolutePath,
    "pattern": "^/"
);
text!(
    /// A whole number and a unit.
    DurationText,
    "pattern": "^[0-9]+(ms|s|m|h)$"
);
text!(
    /// What a runtime takes for the name of a plugin.
    ComponentName,
    "pattern": "^[A-Za-z0-9_.+-]+$"
);
text!(
    /// An absolute path, or the name of a file.
    LibraryName,
    "pattern": "^(/.*|[^/]+)$"
);
text!(
    /// An IP address and a port.
    SocketAddressText,
    "pattern": "^([0-9.]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$"
);
text!(
    /// How much is logged.
    LogLevel,
    "enum": LOG_LEVELS
);
