//! Whatever the bytes are, there is an answer.

use nri_host::component::inspect::inspect_bytes;
use proptest::prelude::*;

use crate::fixture::{patched, sound};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>, elf: bool) {
        let bytes = if elf { [&sound()[..64], &bytes].concat() } else { bytes };
        prop_assert!(inspect_bytes(&bytes).is_err());
    }

    #[test]
    fn no_damage_makes_it_panic(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        headers: bool,
    ) {
        let mut bytes = sound().to_vec();
        let len = if headers { 64 + 56 * 12 } else { bytes.len() };
        for (at, value) in damage {
            bytes[at.index(len)] = value;
        }
        // Either way it comes back with an answer, and the same one each time.
        prop_assert_eq!(inspect_bytes(&bytes), inspect_bytes(&bytes));
    }

    #[test]
    fn no_damage_to_the_tables_makes_it_panic(
        at: prop::sample::Index,
        value in prop_oneof![Just(0u64), Just(u64::MAX), Just(1 << 63), any::<u64>()],
    ) {
        let bytes = sound();
        let at = at.index(bytes.len() - 8) & !7;
        let bytes = patched(bytes, at, &value.to_le_bytes());
        prop_assert_eq!(inspect_bytes(&bytes), inspect_bytes(&bytes));
    }
}
