//! `nrih.health/1`: takes what an instance reports of itself.

use std::ffi::c_void;

use nri_plugin_api::abi::{HealthInterface, HealthProblem, HealthReport, Status};

use super::super::health::{self, Health, MAX_PROBLEMS, one_line};
use super::Context;
use super::functions::{bytes, context};
use crate::lock::lock;

// Both have had all of their fields from the beginning.
const REPORT_SIZE: usize = size_of::<HealthReport>();
const PROBLEM_SIZE: usize = size_of::<HealthProblem>();

pub(super) static INTERFACE: HealthInterface = HealthInterface {
    struct_size: 16,
    reserved: 0,
    report: Some(report_health),
};

unsafe extern "C" fn report_health(ctx: *mut c_void, report: *const HealthReport) -> Status {
    // SAFETY: the header binds the component to pass the ctx of its table and a readable report.
    let (context, health) = unsafe { (context(ctx), read(report)) };
    context.map_or(Status::FAILED, |context| context.take_health(health))
}

impl Context {
    fn take_health(&self, health: Option<Health>) -> Status {
        let Some(health) = health else {
            return Status::FAILED;
        };
        // Held while it is kept: an instance that is buried leaves nothing behind.
        let state = lock(&self.state);
        if state.dead {
            return Status::DEAD;
        }
        self.health.set(health);
        Status::OK
    }
}

/// A copy of a report, bounded; `None` if it cannot be read.
///
/// # Safety
///
/// `report` is null or leads to a report as the header describes it, which does not change during
/// the call.
unsafe fn read(report: *const HealthReport) -> Option<Health> {
    if report.is_null() {
        return None;
    }
    // SAFETY: not null, and every struct of the border begins with its size.
    if (unsafe { (*report).struct_size } as usize) < REPORT_SIZE {
        return None;
    }
    // SAFETY: all of its fields are there.
    let report = unsafe { &*report };
    let (size, count) = (report.problem_size as usize, report.problems_count);
    if count > 0 && (report.problems.is_null() || size < PROBLEM_SIZE) {
        return None;
    }
    let problems = (0..count.min(MAX_PROBLEMS)).map(|i| {
        // SAFETY: there are `count` problems of this size. A size that is no multiple of their
        // alignment does no harm.
        unsafe {
            let place = report.problems.cast::<u8>().add(i * size);
            read_problem(&place.cast::<HealthProblem>().read_unaligned())
        }
    });
    Some(Health {
        // SAFETY: the summary is readable.
        summary: one_line(unsafe { bytes(report.summary, report.summary_len) }?),
        problems: problems.collect::<Option<_>>()?,
        problems_total: count,
    })
}

/// # Safety
///
/// The texts of the problem are readable.
unsafe fn read_problem(problem: &HealthProblem) -> Option<health::HealthProblem> {
    // SAFETY: as the caller promises.
    let (message, file) = unsafe {
        (
            bytes(problem.message, problem.message_len)?,
            bytes(problem.file, problem.file_len)?,
        )
    };
    Some(health::HealthProblem {
        message: one_line(message),
        file: (!file.is_empty()).then(|| one_line(file)),
        line: (problem.line > 0).then_some(problem.line),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::context;
    use super::*;

    #[test]
    fn the_last_report_of_health_is_kept_until_the_instance_is_buried() {
        let context = context();
        let problem = HealthProblem {
            message: b"bad\nstage".as_ptr(),
            message_len: 9,
            file: b"/a.json".as_ptr(),
            file_len: 7,
            line: 3,
            reserved: 0,
        };
        let many = [problem; MAX_PROBLEMS + 1];
        let mut report = HealthReport {
            struct_size: 40,
            problem_size: 40,
            summary: b"11 hooks".as_ptr(),
            summary_len: 8,
            problems: many.as_ptr(),
            problems_count: many.len(),
        };
        let table = context.table();
        let send = |report: &HealthReport| {
            // SAFETY: the table lives for ever, the report and its texts are readable.
            unsafe { (INTERFACE.report.unwrap())((*table).ctx, report) }
        };
        assert_eq!(send(&report), Status::OK);
        let health = context.health.get().unwrap();
        assert_eq!(health.summary, "11 hooks");
        assert_eq!(
            (health.problems.len(), health.problems_total),
            (MAX_PROBLEMS, MAX_PROBLEMS + 1)
        );
        assert_eq!(health.problems[0].message, "bad stage");
        assert_eq!(health.problems[0].file.as_deref(), Some("/a.json"));
        assert_eq!(health.problems[0].line, Some(3));

        for unreadable in [
            |report: &mut HealthReport| report.struct_size = 32,
            |report: &mut HealthReport| report.problem_size = 8,
            |report: &mut HealthReport| report.problems = std::ptr::null(),
        ] {
            let kept = HealthReport { ..report };
            unreadable(&mut report);
            assert_eq!(send(&report), Status::FAILED);
            report = kept;
        }
        assert_eq!(context.health.get(), Some(health));
        report.problems_count = 0;
        assert_eq!(send(&report), Status::OK);
        assert!(context.health.get().unwrap().problems.is_empty());
        context.bury();
        assert_eq!(context.health.get(), None);
        assert_eq!(send(&report), Status::DEAD);
        assert_eq!(context.health.get(), None);
    }
}
