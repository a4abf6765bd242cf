//! `nri-host check` makes an instance of each component, to learn what it says of its configuration.

use crate::commands::{check, configured};

/// The outcome of checking one component whose `create` does this. It has `host`, `args`, and
/// `report(key, message)` for mistakes in the configuration.
fn checked(create: &str) -> (Option<i32>, String) {
    let workshop = configured(
        "[host]\ncomponent_dirs = [\"LIB\"]\n[[component]]\nname = \"a\"\nindex = 10\n\
         library = \"liba.so\"\n[component.config]\nlist = [\n  1,\n  2,\n]\n",
    );
    let code = format!(
        r#"
#include <stdlib.h>
#include <string.h>
static const nrih_host *table;
__attribute__((unused)) static void report(const char *key, const char *message) {{
  const nrih_config_error *errors = table->get_interface(
      table->ctx, NRIH_CONFIG_ERROR_ID, strlen(NRIH_CONFIG_ERROR_ID));
  errors->report(table->ctx, key, strlen(key), message, strlen(message));
}}
int32_t own_create(const nrih_host *host, const nrih_create_args *args, void **instance) {{
  table = host; (void)args; *instance = 0;
  {create}
}}
"#
    );
    workshop.component_with("lib/liba.so", &code, &["-DCREATE=own_create"]);
    let (status, mut lines) = check(&workshop);
    let summary = lines.pop().expect("there is a summary");
    assert!(summary.contains(" OK, "), "{summary}");
    (status, lines.join("\n"))
}

#[test]
fn what_a_component_says_of_its_configuration_is_a_mistake_at_its_line() {
    let (status, lines) = checked(
        "report(\"list[1]\", \"is\\nodd\"); report(\"\\033[1m\", \"unknown\"); \
         report(\"\", \"too few\"); return NRIH_FAILED;",
    );
    assert_eq!(
        lines,
        "nri-host.toml:10: component \"a\": config.list[1]: is odd\n\
         nri-host.toml:7: component \"a\": config.\\u{1b}[1m: unknown\n\
         nri-host.toml:7: component \"a\": config: too few"
    );
    assert_eq!(status, Some(78));
}

#[test]
fn a_mistake_is_one_also_if_the_instance_is_made() {
    let (status, lines) = checked("report(\"list\", \"is long\"); return NRIH_OK;");
    assert_eq!(
        lines,
        "nri-host.toml:8: component \"a\": config.list: is long"
    );
    assert_eq!(status, Some(78));
}

#[test]
fn the_instance_is_made_as_a_trial_with_the_name_and_configuration_of_the_component() {
    let (status, lines) = checked(
        "return (args->flags & NRIH_CREATE_TRIAL) && args->index == 10 && args->name_len == 1 \
         && !memcmp(args->name, \"a\", 1) && !memcmp(args->config, \"{\\\"list\\\":[1,2]}\", \
         args->config_len) ? NRIH_OK : NRIH_FAILED;",
    );
    assert_eq!(lines, "OK: 10-a: dev.example.fixture 1.2.3 (lib/liba.so)");
    assert_eq!(status, Some(0));
}

/// A daemon that runs may hold what it needs.
#[test]
fn a_component_that_cannot_be_made_just_now_is_worth_a_warning() {
    for status in ["NRIH_TRY_LATER", "NRIH_FAILED"] {
        let create =
            format!("host->reply(host->ctx, 0, {status}, \"port in use\", 11); return {status};");
        let (status, lines) = checked(&create);
        assert_eq!(
            lines,
            "warning: nri-host.toml:6: component \"a\": library: lib/liba.so: no instance could be \
             made to check its configuration: says \"port in use\"\n\
             OK: 10-a: dev.example.fixture 1.2.3 (lib/liba.so)"
        );
        assert_eq!(status, Some(0));
    }
}

#[test]
fn a_component_that_crashes_is_told() {
    for (create, end) in [
        ("abort();", "was killed by SIGABRT"),
        ("exit(3);", "exited with status 3"),
    ] {
        let (status, lines) = checked(&format!("{create} return NRIH_OK;"));
        assert_eq!(
            lines,
            format!(
                "nri-host.toml:6: component \"a\": library: lib/liba.so: {end} when an instance was \
                 made and ended"
            )
        );
        assert_eq!(status, Some(78));
    }
}

#[test]
fn a_component_that_does_not_come_back_holds_up_nobody() {
    let (status, lines) = checked("for (;;) pause();");
    assert!(
        lines.contains("the process for it did not come back within 5s"),
        "{lines}"
    );
    assert_eq!(status, Some(0));
}

#[test]
fn as_many_and_as_long_mistakes_as_are_kept_are_told() {
    let (status, lines) = checked(
        "char long_text[4000]; memset(long_text, '\"', sizeof long_text - 1); \
         long_text[sizeof long_text - 1] = 0; \
         for (int i = 0; i < 150; i++) report(long_text, long_text); return NRIH_FAILED;",
    );
    assert_eq!((status, lines.lines().count()), (Some(78), 100));
}
