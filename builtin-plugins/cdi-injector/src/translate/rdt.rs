//! Resource Director Technology.

use nri_plugin_api::protobuf::MessageField;
use nri_plugin_api::{Adjustment, api};

use super::{NRI_0_11, Translator};
use crate::edits::Origin;
use crate::spec::IntelRdt;

impl Translator<'_> {
    pub(super) fn intel_rdt(
        &mut self,
        rdt: &IntelRdt,
        origin: &Origin<'_>,
        adjustment: &mut Adjustment,
    ) {
        for (field, schema) in [
            ("l3CacheSchema", &rdt.l3_cache_schema),
            ("memBwSchema", &rdt.mem_bw_schema),
        ] {
            if !schema.is_empty() {
                self.gap(
                    origin,
                    format_args!("intelRdt: {field}: no version of NRI has it"),
                );
            }
        }
        match self.capabilities.net_devices_and_rdt {
            true => set_rdt(rdt, adjustment),
            false => self.set_rdt_class(rdt, origin, adjustment),
        }
    }

    /// What there was before NRI had the fields of RDT.
    fn set_rdt_class(&mut self, rdt: &IntelRdt, origin: &Origin<'_>, adjustment: &mut Adjustment) {
        if rdt.schemata.is_some() {
            self.gap(origin, format_args!("intelRdt: schemata needs {NRI_0_11}"));
        }
        if rdt.enable_monitoring {
            self.gap(
                origin,
                format_args!("intelRdt: enableMonitoring needs {NRI_0_11}"),
            );
        }
        if rdt.clos_id.is_empty() {
            return;
        }
        if !self.capabilities.rdt_class_is_clos_id {
            self.gap(
                origin,
                format_args!("intelRdt: closID needs {NRI_0_11} on this runtime"),
            );
            return;
        }
        let linux = adjustment.message_mut().linux.mut_or_insert_default();
        let resources = linux.resources.mut_or_insert_default();
        resources.rdt_class = optional(&rdt.clos_id);
    }
}

fn set_rdt(rdt: &IntelRdt, adjustment: &mut Adjustment) {
    let mut fields = api::LinuxRdt::default();
    if !rdt.clos_id.is_empty() {
        fields.clos_id = optional(&rdt.clos_id);
    }
    fields.schemata =
        MessageField::from_option(
            rdt.schemata
                .as_ref()
                .map(|lines| api::OptionalRepeatedString {
                    value: lines.clone(),
                    ..Default::default()
                }),
        );
    // CDI cannot tell "off" from not saying anything.
    if rdt.enable_monitoring {
        fields.enable_monitoring = MessageField::some(api::OptionalBool {
            value: true,
            ..Default::default()
        });
    }
    if fields != api::LinuxRdt::default() {
        let linux = adjustment.message_mut().linux.mut_or_insert_default();
        linux.rdt = MessageField::some(fields);
    }
}

fn optional(text: &str) -> MessageField<api::OptionalString> {
    MessageField::some(api::OptionalString {
        value: text.to_owned(),
        ..Default::default()
    })
}
