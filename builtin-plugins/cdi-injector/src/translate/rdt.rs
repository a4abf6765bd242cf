//! Resource Director Technology.

use nri_plugin_api::{Adjustment, Rdt};

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
            true => self.set_rdt(rdt, origin, adjustment),
            false => self.set_rdt_class(rdt, origin),
        }
    }

    /// What there was before NRI had the fields of RDT.
    fn set_rdt_class(&mut self, rdt: &IntelRdt, origin: &Origin<'_>) {
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
        let resources = std::mem::take(&mut self.resources);
        self.resources = resources.rdt_class(&rdt.clos_id);
    }

    fn set_rdt(&mut self, rdt: &IntelRdt, origin: &Origin<'_>, adjustment: &mut Adjustment) {
        let mut fields = Rdt::new();
        if !rdt.clos_id.is_empty() {
            fields = fields.clos_id(&rdt.clos_id);
        }
        if let Some(lines) = &rdt.schemata {
            fields = fields.schemata(lines);
        }
        // CDI cannot tell "off" from not saying anything.
        if rdt.enable_monitoring {
            fields = fields.monitoring(true);
        }
        if fields != Rdt::new() {
            let set = adjustment.set_rdt(fields);
            self.checked(origin, set);
        }
    }
}
