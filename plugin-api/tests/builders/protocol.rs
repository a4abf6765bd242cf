//! The protocol, from its definition.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use nri_plugin_api::protobuf::reflect::{
    FieldDescriptor, FileDescriptor, MessageDescriptor, ReflectFieldRef, ReflectValueRef,
    RuntimeFieldType, RuntimeType,
};
use nri_plugin_api::protobuf::{Message, MessageDyn, text_format};

/// The definition of a message.
pub(crate) fn definition(name: &str) -> MessageDescriptor {
    static FILE: LazyLock<FileDescriptor> = LazyLock::new(parse);
    FILE.message_by_package_relative_name(name)
        .expect("the protocol has this message")
}

fn parse() -> FileDescriptor {
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/proto");
    let parsed = protobuf_parse::Parser::new()
        .pure()
        .include(include)
        .input(format!("{include}/nri.proto"))
        .parse_and_typecheck()
        .expect("the definition is the one that the crate is built from");
    let [file] = <[_; 1]>::try_from(parsed.file_descriptors).expect("it is one file");
    FileDescriptor::new_dynamic(file, &[]).expect("it imports nothing")
}

/// Reads an encoded message again.
pub(crate) fn decoded(
    definition: &MessageDescriptor,
    message: &impl Message,
) -> Box<dyn MessageDyn> {
    let bytes = message.write_to_bytes().expect("it is not too long");
    definition
        .parse_from_bytes(&bytes)
        .expect("it is this message")
}

/// An encoded message in the text form of protobuf.
pub(crate) fn text(name: &str, message: &impl Message) -> String {
    text_format::print_to_string(&*decoded(&definition(name), message))
}

/// All fields of a message and of the messages in it, as `Message.field`.
pub(crate) fn all_fields(message: &MessageDescriptor, fields: &mut BTreeSet<String>) {
    for field in message.fields() {
        if fields.insert(name(message, &field))
            && let Some(inner) = inner_message(&field)
        {
            all_fields(&inner, fields);
        }
    }
}

/// Those of them that are on the wire.
pub(crate) fn set_fields(message: &dyn MessageDyn, fields: &mut BTreeSet<String>) {
    let definition = message.descriptor_dyn();
    for field in definition.fields() {
        let mut count = |value: ReflectValueRef<'_>| {
            fields.insert(name(&definition, &field));
            if let ReflectValueRef::Message(inner) = value {
                set_fields(&*inner, fields);
            }
        };
        match field.get_reflect(message) {
            ReflectFieldRef::Optional(value) => value.value().into_iter().for_each(count),
            ReflectFieldRef::Repeated(values) => values.into_iter().for_each(count),
            ReflectFieldRef::Map(entries) => entries.into_iter().for_each(|(_, v)| count(v)),
        }
    }
}

fn name(message: &MessageDescriptor, field: &FieldDescriptor) -> String {
    format!("{}.{}", message.name(), field.name())
}

fn inner_message(field: &FieldDescriptor) -> Option<MessageDescriptor> {
    match field.runtime_field_type() {
        RuntimeFieldType::Singular(RuntimeType::Message(inner))
        | RuntimeFieldType::Repeated(RuntimeType::Message(inner))
        | RuntimeFieldType::Map(_, RuntimeType::Message(inner)) => Some(inner),
        _ => None,
    }
}
