//! The messages of the protocol as a table, against which the answers of components are checked.
//!
//! The runtime fails the pod of an answer that it cannot read. So each is walked before it goes out,
//! without building an object.

use super::fields::{Field, Fields, Malformed, Value};

/// Deeper nesting than any NRI message has.
const MAX_DEPTH: u32 = 32;

/// What a field of a message of the protocol holds.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Varint(Range),
    Varints(Range),
    Text,
    #[expect(dead_code, reason = "the protocol has no bytes field so far")]
    Bytes,
    Message(usize),
}

/// Which numbers a field holds.
#[derive(Clone, Copy, Debug)]
enum Range {
    Any,
    /// Also that of enums. A negative number is encoded with 64 bits.
    Int32,
    Uint32,
}

impl Range {
    /// Whether it holds a number that was encoded in so many bytes. Not every decoder takes zeros in
    /// front of a number of 32 bits.
    fn holds(self, number: u64, len: usize) -> bool {
        match self {
            Self::Any => true,
            Self::Int32 => i32::try_from(number.cast_signed()).is_ok(),
            Self::Uint32 => len <= 5 && u32::try_from(number).is_ok(),
        }
    }
}

/// A message of the protocol: its name and its fields by number.
#[derive(Debug)]
pub struct Shape {
    name: &'static str,
    fields: &'static [(u32, Kind)],
}

mod shapes {
    use super::{Kind, Range, Shape};

    include!(concat!(env!("OUT_DIR"), "/shapes.rs"));
}

impl Shape {
    /// The message with this name, `CreateContainerResponse`.
    pub fn of(name: &str) -> Option<&'static Self> {
        shapes::SHAPES.iter().find(|shape| shape.name == name)
    }

    /// Checks that the runtime will be able to read `message`. Fields that the protocol does not
    /// have are passed over.
    ///
    /// # Errors
    ///
    /// What is wrong first.
    pub fn check(&self, message: &[u8]) -> Result<(), Malformed> {
        self.check_at(message, MAX_DEPTH)
    }

    fn check_at(&self, message: &[u8], depth: u32) -> Result<(), Malformed> {
        let deeper = depth.checked_sub(1).ok_or(Malformed::TooDeep)?;
        for field in Fields::of(message) {
            let field = field?;
            let Field { number, value, .. } = field;
            let Ok(index) = self.fields.binary_search_by_key(&number, |(n, _)| *n) else {
                continue;
            };
            let out_of_range = Malformed::OutOfRange {
                message: self.name,
                field: number,
            };
            match (self.fields[index].1, value) {
                (Kind::Varint(range) | Kind::Varints(range), Value::Varint(value)) => {
                    if !range.holds(value, field.value_len()) {
                        return Err(out_of_range);
                    }
                }
                (Kind::Bytes, Value::Bytes(_)) => {}
                (Kind::Varints(range), Value::Bytes(packed)) => {
                    let mut numbers = Fields::of(packed);
                    while !numbers.rest.is_empty() {
                        let left = numbers.rest.len();
                        let value = numbers.varint()?;
                        if !range.holds(value, left - numbers.rest.len()) {
                            return Err(out_of_range);
                        }
                    }
                }
                (Kind::Text, Value::Bytes(text)) => {
                    std::str::from_utf8(text).map_err(|_| Malformed::NotUtf8 {
                        message: self.name,
                        field: number,
                    })?;
                }
                (Kind::Message(index), Value::Bytes(nested)) => {
                    shapes::SHAPES[index].check_at(nested, deeper)?;
                }
                _ => {
                    return Err(Malformed::WrongKind {
                        message: self.name,
                        field: number,
                    });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use nri_plugin_api::api;
    use proptest::prelude::*;
    use protobuf::Message as _;

    use super::*;

    fn response() -> api::CreateContainerResponse {
        let mut response = api::CreateContainerResponse::new();
        let adjust = response.adjust.mut_or_insert_default();
        adjust.annotations.insert("a".into(), "b".into());
        let linux = adjust.linux.mut_or_insert_default();
        linux.devices.push(api::LinuxDevice {
            path: "/dev/x".into(),
            major: -1,
            ..Default::default()
        });
        linux.scheduler.mut_or_insert_default().flags =
            vec![api::LinuxSchedulerFlag::SCHED_FLAG_RECLAIM.into(); 3];
        response
    }

    #[test]
    fn a_real_response_passes_and_one_cut_off_anywhere_does_not() {
        let shape = Shape::of("CreateContainerResponse").unwrap();
        let bytes = response().write_to_bytes().unwrap();
        assert_eq!(shape.check(&bytes), Ok(()));
        // One nested message: every shorter piece ends inside of it.
        for len in 1..bytes.len() {
            assert!(shape.check(&bytes[..len]).is_err(), "{len} bytes");
        }
    }

    #[test]
    fn what_cannot_be_decoded_is_refused_and_unknown_fields_are_not() {
        let shape = Shape::of("ContainerUpdate").unwrap();
        let id_as_number = [0x08, 1];
        assert!(matches!(
            shape.check(&id_as_number),
            Err(Malformed::WrongKind { field: 1, .. })
        ));
        let id_not_utf8 = [0x0a, 1, 0xff];
        assert!(matches!(
            shape.check(&id_not_utf8),
            Err(Malformed::NotUtf8 { field: 1, .. })
        ));
        let unknown = [0xfa, 0x3f, 1, 0xff];
        assert_eq!(shape.check(&unknown), Ok(()));
        let group = [0x0b];
        assert!(matches!(
            shape.check(&group),
            Err(Malformed::WireType { .. })
        ));
        let long_tag = [0x80, 0x90, 0x80, 0x80, 0x80, 0x00, 1];
        assert_eq!(shape.check(&long_tag), Err(Malformed::LongNumber));
        let long_length = [0x0a, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00];
        assert_eq!(shape.check(&long_length), Err(Malformed::LongNumber));
        let field_zero = [0x02, 0];
        assert_eq!(shape.check(&field_zero), Err(Malformed::FieldNumber(0)));
    }

    #[test]
    fn numbers_that_do_not_fit_their_field_are_refused() {
        let shape = Shape::of("User").unwrap();
        let root_in_some_bits = [0x08, 0x80, 0x80, 0x80, 0x80, 0x10];
        assert!(matches!(
            shape.check(&root_in_some_bits),
            Err(Malformed::OutOfRange { field: 1, .. })
        ));
        let packed = [[0x1a, 5].as_slice(), &root_in_some_bits[1..]].concat();
        assert!(matches!(
            shape.check(&packed),
            Err(Malformed::OutOfRange { field: 3, .. })
        ));
        let shape = Shape::of("LinuxScheduler").unwrap();
        let minus_five = [[0x10, 0xfb].as_slice(), &[0xff; 8], &[1]].concat();
        assert_eq!(shape.check(&minus_five), Ok(()));
        let below_32_bits = [[0x10].as_slice(), &[0x80; 9], &[1]].concat();
        assert!(matches!(
            shape.check(&below_32_bits),
            Err(Malformed::OutOfRange { field: 2, .. })
        ));
    }

    proptest! {
        #[test]
        fn what_passes_the_check_can_be_decoded(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let shape = Shape::of("CreateContainerResponse").unwrap();
            if shape.check(&bytes).is_ok() {
                prop_assert!(api::CreateContainerResponse::parse_from_bytes(&bytes).is_ok());
            }
        }
    }
}
