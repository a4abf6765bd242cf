//! Generates the NRI messages from `proto/nri.proto`, without `protoc`.

use protobuf::reflect::{
    EnumDescriptor, FieldDescriptor, MessageDescriptor, RuntimeFieldType, RuntimeType,
};
use protobuf_codegen::{Codegen, Customize, CustomizeCallback};

fn main() -> anyhow::Result<()> {
    println!("cargo::rerun-if-changed=proto/nri.proto");
    println!("cargo::rerun-if-changed=build.rs");
    let mut codegen = Codegen::new();
    codegen
        .pure()
        // A component carries the messages in its own file: no reflection, and a fixed order of
        // maps so that equal messages have equal bytes.
        .customize(
            Customize::default()
                .lite_runtime(true)
                .btreemaps(true)
                .gen_mod_rs(true),
        )
        .include("proto")
        .input("proto/nri.proto")
        .cargo_out_dir("nri");
    if std::env::var_os("CARGO_FEATURE_SERDE").is_some() {
        codegen.customize_callback(SerdeAttributes);
    }
    codegen.run()
}

/// Derives `serde::Serialize` so that JSON looks like the protocol: its field names, nothing that
/// has its default value, enum values by name, an optional wrapper as the value that it wraps.
struct SerdeAttributes;

/// Messages such as `OptionalInt64`: absent or a plain value.
fn is_wrapper(message: &MessageDescriptor) -> bool {
    message.name().starts_with("Optional")
}

/// Attributes of a field that is serialized by a function of `api::json`.
fn field_attributes(name: &str, function: Option<&str>, skip_if: &str) -> Customize {
    let with = function.map_or_else(String::new, |function| {
        format!(", serialize_with = \"crate::api::json::{function}\"")
    });
    Customize::default().before(&format!(
        "#[serde(rename = \"{name}\", skip_serializing_if = \"{skip_if}\"{with})]"
    ))
}

impl CustomizeCallback for SerdeAttributes {
    fn message(&self, message: &MessageDescriptor) -> Customize {
        let transparent = if is_wrapper(message) {
            "\n#[serde(transparent)]"
        } else {
            ""
        };
        Customize::default().before(&format!("#[derive(::serde::Serialize)]{transparent}"))
    }

    fn enumeration(&self, _: &EnumDescriptor) -> Customize {
        Customize::default().before("#[derive(::serde::Serialize)]")
    }

    fn field(&self, field: &FieldDescriptor) -> Customize {
        if is_wrapper(&field.containing_message()) {
            return Customize::default();
        }
        let name = field.name();
        match field.runtime_field_type() {
            RuntimeFieldType::Singular(RuntimeType::Message(_)) => {
                field_attributes(name, Some("message"), "crate::api::json::is_absent")
            }
            RuntimeFieldType::Singular(RuntimeType::Enum(_)) => {
                field_attributes(name, Some("enum_value"), "crate::api::json::is_default")
            }
            RuntimeFieldType::Singular(_) => {
                field_attributes(name, None, "crate::api::json::is_default")
            }
            RuntimeFieldType::Repeated(RuntimeType::Enum(_)) => {
                field_attributes(name, Some("enum_values"), "Vec::is_empty")
            }
            RuntimeFieldType::Repeated(_) => field_attributes(name, None, "Vec::is_empty"),
            RuntimeFieldType::Map(..) => {
                field_attributes(name, None, "::std::collections::BTreeMap::is_empty")
            }
        }
    }

    fn special_field(&self, _: &MessageDescriptor, _: &str) -> Customize {
        Customize::default().before("#[serde(skip)]")
    }
}
