//! The header and `abi.rs` describe the same border.
//!
//! A C program prints what a compiler makes of the header; everything is compared with the Rust
//! side. The header has to be fine as C99 and as C++11, with all warnings.
#![expect(clippy::print_stderr, reason = "a skipped test says so")]

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use nri_plugin_api::abi::{self, Method, Status, create_flags, flags, log_level};

const HEADER: &str = include_str!("../include/nri_component.h");

/// A component without functions, so that the macro for the note and the declaration of the
/// descriptor are compiled, too.
const COMPONENT: &str = r#"
NRIH_DEFINE_NOTE("com.example.layout", "1.0", NRIH_FLAG_ONE_INSTANCE);
const nrih_component nrih_component_v1 = {
    NRIH_MAGIC, (uint32_t)sizeof(nrih_component), (uint16_t)NRIH_ABI_MAJOR,
    (uint16_t)NRIH_ABI_MINOR, 0, 0, "com.example.layout", "1.0",
    NRIH_METHOD_BIT(NRIH_METHOD_CREATE_CONTAINER), NULL, NULL, NULL, NULL};
"#;

/// C expressions and what they should be.
type Expectations = BTreeMap<String, String>;

macro_rules! expect_layout {
    ($expected:ident, $rust:ty = $c:literal { $($field:ident $(= $c_field:literal)?),* $(,)? }) => {
        $expected.insert(format!("sizeof({})", $c), size_of::<$rust>().to_string());
        $expected.insert(format!("struct_align({})", $c), align_of::<$rust>().to_string());
        $(
            let field = [$($c_field,)? stringify!($field)][0];
            let offset = offset_of!($rust, $field).to_string();
            $expected.insert(format!("offsetof({}, {field})", $c), offset);
        )*
    };
}

fn expected_structs() -> Expectations {
    let mut expected = Expectations::new();
    expect_layout!(expected, abi::Note = "nrih_note" {
        namesz, descsz, kind = "type", name, abi_major, abi_minor, min_host_minor, reserved, flags,
        id, version,
    });
    expect_layout!(expected, abi::HostTable = "nrih_host" {
        struct_size, abi_major, abi_minor, ctx, log, reply, update_containers, get_interface,
    });
    expect_layout!(expected, abi::CreateArgs = "nrih_create_args" {
        struct_size, index, name, name_len, config, config_len, log_level, flags,
    });
    expect_layout!(expected, abi::Request = "nrih_request" {
        struct_size, method, token, deadline_ns, method_name, method_name_len, payload, payload_len,
    });
    expect_layout!(expected, abi::Descriptor = "nrih_component" {
        magic, struct_size, abi_major, abi_minor, flags, reserved, id, version, methods, create,
        handle, destroy, get_interface,
    });
    expect_layout!(expected, abi::MethodsInterface = "nrih_methods" {
        struct_size, reserved, methods,
    });
    expect_layout!(expected, abi::UpdateResultInterface = "nrih_update_result" {
        struct_size, reserved, on_result,
    });
    expect_layout!(expected, abi::Text = "nrih_text" { data, len });
    expect_layout!(expected, abi::CommandCall = "nrih_command_call" {
        struct_size, reserved, ctx, args, args_count, config, config_len, write,
    });
    expect_layout!(expected, abi::CommandInterface = "nrih_command" {
        struct_size, reserved, list, run,
    });
    expect_layout!(expected, abi::ConfigErrorInterface = "nrih_config_error" {
        struct_size, reserved, report,
    });
    expect_layout!(expected, abi::HealthProblem = "nrih_health_problem" {
        message, message_len, file, file_len, line, reserved,
    });
    expect_layout!(expected, abi::HealthReport = "nrih_health_report" {
        struct_size, problem_size, summary, summary_len, problems, problems_count,
    });
    expect_layout!(expected, abi::HealthInterface = "nrih_health" {
        struct_size, reserved, report,
    });
    expect_layout!(expected, abi::RuntimeInterface = "nrih_runtime" {
        struct_size, reserved, describe,
    });
    expected
}

/// `CreateContainer` is `NRIH_METHOD_CREATE_CONTAINER`.
fn c_method_name(method: Method) -> String {
    let mut name = "NRIH_METHOD".to_owned();
    for letter in method.name().chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

fn expected_constants() -> Expectations {
    let numbers: [(&str, i128); 23] = [
        ("NRIH_ABI_MAJOR", abi::ABI_MAJOR.into()),
        ("NRIH_ABI_MINOR", abi::ABI_MINOR.into()),
        ("NRIH_MAGIC", abi::MAGIC.into()),
        ("NRIH_NOTE_TYPE", abi::NOTE_TYPE.into()),
        ("NRIH_OK", Status::OK.0.into()),
        ("NRIH_REJECTED", Status::REJECTED.0.into()),
        ("NRIH_FAILED", Status::FAILED.0.into()),
        ("NRIH_UNSUPPORTED", Status::UNSUPPORTED.0.into()),
        ("NRIH_TRY_LATER", Status::TRY_LATER.0.into()),
        ("NRIH_STALE", Status::STALE.0.into()),
        ("NRIH_DEAD", Status::DEAD.0.into()),
        ("NRIH_FLAG_GO_RUNTIME", flags::GO_RUNTIME.into()),
        ("NRIH_FLAG_ONE_INSTANCE", flags::ONE_INSTANCE.into()),
        ("NRIH_CREATE_TRIAL", create_flags::TRIAL.into()),
        ("NRIH_FLAG_PANIC_ABORT", flags::PANIC_ABORT.into()),
        ("NRIH_FLAG_OWN_PROCESS", flags::OWN_PROCESS.into()),
        ("NRIH_LOG_ERROR", log_level::ERROR.into()),
        ("NRIH_LOG_WARN", log_level::WARN.into()),
        ("NRIH_LOG_INFO", log_level::INFO.into()),
        ("NRIH_LOG_DEBUG", log_level::DEBUG.into()),
        ("NRIH_LOG_TRACE", log_level::TRACE.into()),
        ("NRIH_STREAM_OUTPUT", abi::STREAM_OUTPUT.into()),
        ("NRIH_STREAM_ERROR", abi::STREAM_ERROR.into()),
    ];
    let mut expected: Expectations = numbers
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_string()))
        .collect();
    expected.insert("NRIH_METHOD_UNKNOWN".to_owned(), "0".to_owned());
    for method in Method::ALL {
        let name = c_method_name(*method);
        expected.insert(format!("NRIH_METHOD_BIT({name})"), method.bit().to_string());
        expected.insert(name, method.number().to_string());
    }
    expected
}

fn expected_texts() -> Expectations {
    let symbol = abi::COMPONENT_SYMBOL.to_str().expect("symbols are ASCII");
    let note_name = str::from_utf8(&abi::NOTE_NAME)
        .expect("owners are ASCII")
        .trim_end_matches('\0');
    [
        ("NRIH_NOTE_SECTION", abi::NOTE_SECTION),
        ("NRIH_NOTE_NAME", note_name),
        ("NRIH_COMPONENT_SYMBOL", symbol),
        ("NRIH_METHODS_ID", abi::METHODS_ID),
        ("NRIH_UPDATE_RESULT_ID", abi::UPDATE_RESULT_ID),
        ("NRIH_CONFIG_ERROR_ID", abi::CONFIG_ERROR_ID),
        ("NRIH_COMMAND_ID", abi::COMMAND_ID),
        ("NRIH_HEALTH_ID", abi::HEALTH_ID),
        ("NRIH_RUNTIME_ID", abi::RUNTIME_ID),
    ]
    .into_iter()
    .map(|(name, text)| (name.to_owned(), text.to_owned()))
    .collect()
}

/// A program that prints `EXPRESSION=VALUE` lines.
fn program(numbers: &Expectations, texts: &Expectations) -> String {
    let mut source = String::from(
        "#include <stdio.h>\n#include \"nri_component.h\"\n\
         #define struct_align(type) offsetof(struct aligned_##type, member)\n",
    );
    for expression in numbers.keys() {
        if let Some(name) = expression.strip_prefix("struct_align(") {
            let name = name.trim_end_matches(')');
            source += &format!("struct aligned_{name} {{ char first; {name} member; }};\n");
        }
    }
    source += COMPONENT;
    source += "int main(void) {\n";
    for expression in numbers.keys() {
        source +=
            &format!("  printf(\"%s=%lld\\n\", \"{expression}\", (long long)({expression}));\n");
    }
    for name in texts.keys() {
        source += &format!("  printf(\"%s=%s\\n\", \"{name}\", {name});\n");
    }
    source + "  return 0;\n}\n"
}

fn run(command: &mut Command) -> std::io::Result<Output> {
    let output = command.output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed:\n{errors}");
    Ok(output)
}

/// Compiles and runs the program. `None`: this compiler is not there.
fn printed(compiler: &str, standard: &str, source: &Path) -> Option<Expectations> {
    let include = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("include");
    let binary = source.with_extension(standard);
    let mut command = Command::new(compiler);
    command
        .arg(format!("-std={standard}"))
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"])
        .arg(include)
        .arg("-o")
        .args([&binary, source]);
    match run(&mut command) {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        result => result.expect("the compiler can be started"),
    };
    let output = run(&mut Command::new(binary)).expect("the program can be started");
    let text = String::from_utf8(output.stdout).expect("the program prints text");
    let pairs = text
        .lines()
        .map(|line| line.split_once('=').expect("lines are pairs"));
    Some(
        pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
    )
}

fn compare(compiler: &str, standard: &str, extension: &str) {
    let mut numbers = expected_structs();
    numbers.extend(expected_constants());
    let texts = expected_texts();
    let folder = tempfile::tempdir().expect("there is a folder for temporary files");
    let source = folder.path().join("layout").with_extension(extension);
    std::fs::write(&source, program(&numbers, &texts)).expect("the folder can be written");
    let Some(printed) = printed(compiler, standard, &source) else {
        let required = std::env::var_os("NRI_HOST_TESTS_REQUIRE_ALL").is_some();
        assert!(!required, "{compiler} is missing");
        eprintln!("skipped: {compiler} is missing");
        return;
    };
    let expected: Expectations = numbers.into_iter().chain(texts).collect();
    assert_eq!(printed, expected);
}

#[test]
fn a_c_compiler_sees_the_same_border() {
    compare("cc", "c99", "c");
}

#[test]
fn a_cpp_compiler_sees_the_same_border() {
    compare("c++", "c++11", "cc");
}

#[test]
fn every_constant_of_the_header_is_compared() {
    // The first is a guard, the others are made of constants that are compared.
    let without_value = [
        "NRI_COMPONENT_H",
        "NRIH_EXPORT",
        "NRIH_METHOD_BIT",
        "NRIH_DEFINE_NOTE",
    ];
    let mut expected = expected_constants();
    expected.extend(expected_texts());
    let mut compared = 0;
    for line in HEADER.lines() {
        let Some(rest) = line.strip_prefix("#define ") else {
            continue;
        };
        let name = rest.split([' ', '(']).next().unwrap();
        if !without_value.contains(&name) {
            assert!(
                expected.contains_key(name),
                "{name} is compared with nothing"
            );
            compared += 1;
        }
    }
    assert!(
        compared > 40,
        "only {compared} constants found in the header"
    );
}
