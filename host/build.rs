//! Turns the NRI protocol definition into a table of message shapes, against which replies of
//! components are checked without building objects.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use protobuf::descriptor::DescriptorProto;
use protobuf::descriptor::field_descriptor_proto::{Label, Type};

fn main() -> Result<()> {
    let include = PathBuf::from("../plugin-api/proto");
    let proto = include.join("nri.proto");
    println!("cargo::rerun-if-changed={}", proto.display());
    let parsed = protobuf_parse::Parser::new()
        .pure()
        .include(&include)
        .input(&proto)
        .parse_and_typecheck()?;
    let file = parsed
        .file_descriptors
        .iter()
        .find(|file| file.name() == "nri.proto")
        .context("nri.proto is not among the parsed files")?;

    let mut messages = Vec::new();
    for message in &file.message_type {
        collect(&format!(".{}", file.package()), message, &mut messages);
    }
    let names: Vec<&str> = messages.iter().map(|(name, _)| name.as_str()).collect();
    let mut out = String::new();
    writeln!(
        out,
        "pub(super) static SHAPES: [Shape; {}] = [",
        messages.len()
    )?;
    for (name, message) in &messages {
        let short = name.rsplit('.').next().context("a message has a name")?;
        writeln!(out, "    Shape {{ name: {short:?}, fields: &[")?;
        let mut fields: Vec<_> = message.field.iter().collect();
        fields.sort_by_key(|field| field.number());
        for field in fields {
            let repeated = field.label() == Label::LABEL_REPEATED;
            let kind = match field.type_() {
                Type::TYPE_STRING => "Kind::Text".to_owned(),
                Type::TYPE_BYTES => "Kind::Bytes".to_owned(),
                Type::TYPE_MESSAGE => {
                    let index = names
                        .iter()
                        .position(|name| *name == field.type_name())
                        .with_context(|| format!("{} is not defined", field.type_name()))?;
                    format!("Kind::Message({index})")
                }
                Type::TYPE_ENUM | Type::TYPE_INT32 => number("Int32", repeated),
                Type::TYPE_UINT32 => number("Uint32", repeated),
                Type::TYPE_BOOL | Type::TYPE_INT64 | Type::TYPE_UINT64 => number("Any", repeated),
                other => bail!("{name}.{} has type {other:?}, which is new", field.name()),
            };
            writeln!(out, "        ({}, {kind}),", field.number())?;
        }
        writeln!(out, "    ] }},")?;
    }
    writeln!(out, "];")?;
    let target = PathBuf::from(std::env::var("OUT_DIR")?).join("shapes.rs");
    std::fs::write(&target, out).with_context(|| target.display().to_string())
}

fn number(range: &str, repeated: bool) -> String {
    let kind = if repeated { "Varints" } else { "Varint" };
    format!("Kind::{kind}(Range::{range})")
}

fn collect(prefix: &str, message: &DescriptorProto, into: &mut Vec<(String, DescriptorProto)>) {
    let name = format!("{prefix}.{}", message.name());
    for nested in &message.nested_type {
        collect(&name, nested, into);
    }
    into.push((name, message.clone()));
}
