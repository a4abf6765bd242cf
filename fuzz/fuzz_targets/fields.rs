//! Messages that the host walks without decoding them: it must see in them what a decoder sees. And
//! updates of a component's own accord, which it brings into a form that every runtime survives.
//!
//! The first byte of the input says which message the rest is taken for.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nri_host::runtime::fields::{Chunk, adjusts_sysctl, split_state_change};
use nri_host::runtime::shape::Shape;
use nri_host::runtime::update::normal_form;
use nri_plugin_api::api;
use protobuf::Message;

fuzz_target!(|input: &[u8]| {
    let Some((&kind, message)) = input.split_first() else {
        return;
    };
    match kind % 8 {
        0 => state_change(message),
        1 => chunk(message),
        2 => create_container(message),
        3 => checked::<api::UpdateContainerResponse>(message),
        4 => checked::<api::StopContainerResponse>(message),
        5 => checked::<api::ValidateContainerAdjustmentResponse>(message),
        6 => update(message),
        _ => checked::<api::SynchronizeResponse>(message),
    }
});

/// An answer that passes the check can be decoded: the runtime fails the pod of one that cannot.
fn checked<M: Message>(message: &[u8]) {
    let shape = Shape::of(M::NAME).expect("an answer of the protocol");
    if shape.check(message).is_ok() {
        M::parse_from_bytes(message).expect("what passes the check can be decoded");
    }
}

fn create_container(message: &[u8]) {
    checked::<api::CreateContainerResponse>(message);
    let shape = Shape::of(api::CreateContainerResponse::NAME).expect("it is in the protocol");
    if shape.check(message).is_ok() {
        let decoded = api::CreateContainerResponse::parse_from_bytes(message)
            .expect("what passes the check can be decoded");
        let has_sysctl = !decoded.adjust.linux.sysctl.is_empty();
        assert_eq!(adjusts_sysctl(message), has_sysctl);
    }
}

fn state_change(message: &[u8]) {
    let Ok((number, request)) = split_state_change(message) else {
        return;
    };
    let Ok(event) = api::StateChangeEvent::parse_from_bytes(message) else {
        return;
    };
    let request = api::PostStartContainerRequest::parse_from_bytes(&request)
        .expect("the event with the same parts could be decoded");
    assert_eq!(
        (request.pod, request.container),
        (event.pod, event.container)
    );
    // A number that does not fit means no event to either reader.
    if number != u32::MAX {
        assert_eq!(i32::try_from(number), Ok(event.event.value()));
    }
}

fn chunk(message: &[u8]) {
    let Ok(Chunk { more, pieces }) = Chunk::read(message) else {
        return;
    };
    let Ok(mut whole) = api::SynchronizeRequest::parse_from_bytes(message) else {
        return;
    };
    assert_eq!(more, whole.more);
    whole.more = false;
    let rest = api::SynchronizeRequest::parse_from_bytes(&pieces.concat());
    assert_eq!(rest.expect("a part of a good message"), whole);
}

/// The normal form is its own, and has what runtimes have crashed without.
fn update(message: &[u8]) {
    let Ok(Some(normal)) = normal_form(message) else {
        return;
    };
    assert!(normal.len() <= 2 * message.len() + 16);
    let again = normal_form(&normal).expect("the normal form can be read");
    let [request, again] = [Some(normal), again].map(|bytes| {
        let bytes = bytes.expect("the normal form asks for something");
        // Not the bytes are compared: unknown fields may come in any order.
        api::UpdateContainersRequest::parse_from_bytes(&bytes)
            .expect("the normal form can be decoded")
    });
    assert_eq!(request, again);
    for update in request.update {
        let resources = &update.linux.resources;
        assert!(!update.container_id.is_empty());
        assert!(resources.cpu.is_some() && resources.memory.is_some());
    }
}
