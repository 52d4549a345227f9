//! `ropewalk run`.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::process::{Outcome, absent, file, outcome, ropewalk, subcommands, with_input};

/// Runs `--invoke f` of a module that consists of this function.
fn invoke(test: &str, func: &str, arguments: &[&str]) -> Outcome {
    let module = file(&format!("{test}.wat"), format!("(func (export \"f\") {func})"));
    ropewalk(&[&["run", "--invoke", "f", &module], arguments].concat())
}

/// Runs a function that returns its only parameter.
fn echo(ty: &str, argument: &str) -> Outcome {
    // No two tests echo the same argument, so the name of the file is unique.
    let test = format!("echo-{ty}-{}", argument.replace(['/', ':', ','], "_"));
    invoke(&test, &format!("(param {ty}) (result {ty}) local.get 0"), &[argument])
}

#[test]
fn results_are_printed_one_per_line() {
    let func = "(param i32 i64) (result i64 i32 f64) local.get 1 local.get 0 f64.const 0.5";
    invoke("results", func, &["1", "2"]).prints("2\n1\n0.5\n");
}

#[test]
fn a_function_without_results_prints_nothing() {
    invoke("silent", "", &[]).prints("");
}

#[test]
fn integers_are_printed_as_signed() {
    echo("i32", "-7").prints("-7\n");
    echo("i32", "0xffffffff").prints("-1\n");
    echo("i64", "18446744073709551615").prints("-1\n");
    echo("i64", "-9223372036854775808").prints("-9223372036854775808\n");
}

#[test]
fn floats_are_printed_as_literals() {
    echo("f64", "-0.1").prints("-0.1\n");
    echo("f64", "1e300").prints("1e300\n");
    echo("f64", "-inf").prints("-inf\n");
    echo("f32", "0x1.8p3").prints("12\n");
    echo("f32", "nan").prints("nan\n");
    echo("f32", "3.4028235e38").prints("3.4028235e38\n");
}

#[test]
fn vectors_are_printed_in_hexadecimal() {
    echo("v128", "0x10").prints("0x00000000000000000000000000000010\n");
    echo("v128", "i32x4:1,-1,3,4").prints("0x0000000400000003ffffffff00000001\n");
}

#[test]
fn references_are_printed_by_their_kind() {
    echo("funcref", "null").prints("null\n");
    echo("externref", "null").prints("null\n");
    let module = "(elem declare func $f) (func $f (export \"f\") (result funcref) ref.func $f)";
    ropewalk(&["run", "--invoke", "f", &file("funcref.wat", module)]).prints("func\n");
}

#[test]
fn start_is_called_by_default() {
    let module = file("start.wat", "(func (export \"_start\") unreachable)");
    ropewalk(&["run", &module]).fails(134, &["unreachable"]);
    let module = file("start-ok.wat", "(func (export \"_start\"))");
    ropewalk(&["run", &module]).prints("");
}

#[test]
fn binaries_run_as_well() {
    let module = b"\0asm\x01\0\0\0\x01\x05\x01\x60\0\x01\x7f\x03\x02\x01\0\
                   \x07\x05\x01\x01f\0\0\x0a\x06\x01\x04\0\x41\x2a\x0b";
    ropewalk(&["run", "--invoke", "f", &file("binary.wasm", module)]).prints("42\n");
}

#[test]
fn without_a_start_the_exports_are_listed() {
    let module = file("exports.wat", "(func (export \"one\")) (func (export \"two\"))");
    ropewalk(&["run", &module]).fails(1, &["`_start`", "--invoke", "one, two"]);
    ropewalk(&["run", "--invoke", "three", &module]).fails(1, &["`three`", "one, two"]);
    let module = file("no-exports.wat", "(func)");
    ropewalk(&["run", &module]).fails(1, &["does not export a function"]);
}

#[test]
fn the_number_of_arguments_must_match() {
    let says = ["`f`", "[i32 f64] -> []", "2 arguments", "found 1"];
    invoke("too-few", "(param i32 f64)", &["1"]).fails(1, &says);
    let says = ["`f`", "0 arguments", "found 1"];
    invoke("too-many", "", &["1"]).fails(1, &says);
}

#[test]
fn the_types_of_arguments_must_match() {
    let bad = |ty, argument, says: &[&str]| echo(ty, argument).fails(1, says);
    bad("i32", "4294967296", &["parameter 1", "i32", "`4294967296`", "integer"]);
    bad("i64", "1.5", &["parameter 1", "i64", "`1.5`"]);
    bad("f32", "much", &["parameter 1", "f32", "`much`"]);
    bad("v128", "i32x4:1", &["parameter 1", "v128", "`i32x4:1`"]);
    bad("funcref", "f", &["parameter 1", "funcref", "`null`"]);
}

#[test]
fn a_trap_is_named_and_exits_with_134() {
    let func = "(param i32) (result i32) (i32.div_s (i32.const 1) (local.get 0))";
    invoke("divide", func, &["0"]).fails(134, &["integer divide by zero"]);
    let module = file("start-traps.wat", "(func $s unreachable) (start $s)");
    ropewalk(&["run", &module]).fails(134, &["unreachable"]);
    let module = file("endless.wat", "(func $f (export \"f\") call $f)");
    ropewalk(&["run", "--invoke", "f", &module]).fails(134, &["call stack exhausted"]);
}

#[test]
fn a_malformed_text_is_shown_with_a_caret() {
    let module = file("malformed.wat", "(module\n  (func i32.cons 1))\n");
    let says = ["malformed.wat", "2:9", "(func i32.cons 1))", "        ^"];
    ropewalk(&["run", &module]).fails(1, &says);
}

#[test]
fn an_invalid_text_is_shown_with_a_caret() {
    let module = file("invalid.wat", "(module\n  (func (result i32)\n    i64.const 1))\n");
    let says = ["invalid.wat", "type mismatch", "^"];
    ropewalk(&["run", &module]).fails(1, &says);
}

#[test]
fn an_invalid_binary_is_an_error() {
    let module = file("truncated.wasm", b"\0asm\x01\0\0\0\x01");
    ropewalk(&["run", &module]).fails(1, &["truncated.wasm"]);
}

#[test]
fn legacy_exceptions_are_refused_with_the_tool_that_translates_them() {
    // A function with `try` and `end`.
    let module =
        b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x0a\x07\x01\x05\0\x06\x40\x0b\x0b";
    let says = ["legacy.wasm: legacy exceptions are not supported", "--translate-to-exnref"];
    let module = file("legacy.wasm", module);
    ropewalk(&["run", &module]).fails(1, &says);
    ropewalk(&["validate", &module]).fails(1, &says);
}

#[test]
fn a_binary_of_another_version_is_refused_with_both_versions() {
    let module = file("version.wasm", b"\0asm\x02\0\0\0");
    let says = "version.wasm: unknown binary version: 0x2, expected 0x1 (at offset 0x4)";
    ropewalk(&["run", &module]).fails(1, &[says]);
    ropewalk(&["validate", &module]).fails(1, &[says]);
}

#[test]
fn missing_imports_are_listed_with_a_hint() {
    let module = r#"(import "host" "log" (func (param i32))) (import "host" "memory" (memory 1))
        (import "wasi_snapshot_preview1" "sched_yield" (func (result i32)))
        (import "wasi_snapshot_preview1" "frob" (func)) (import "host" "tell" (func))
        (func (export "_start"))"#;
    let says = [
        "imports.wat has missing imports:",
        "\"host\" \"log\": function [i32] -> []",
        "\"host\" \"memory\": memory 1",
        "\"wasi_snapshot_preview1\" \"frob\"",
        "\nhelp: use `--preload host=FILE`",
        "\nhelp: \"wasi_snapshot_preview1\" has no function of that name",
    ];
    let outcome = ropewalk(&["run", &file("imports.wat", module)]);
    outcome.fails(1, &says);
    assert!(!outcome.stderr.contains("sched_yield"), "{outcome:?}");
    assert_eq!(outcome.stderr.matches("--preload host=FILE").count(), 1, "{outcome:?}");
}

#[test]
fn a_module_can_be_preloaded() {
    let library = r#"(func (export "double") (param i32) (result i32)
        (i32.shl (local.get 0) (i32.const 1)))"#;
    let library = format!("library={}", file("library.wat", library));
    let module = r#"(import "library" "double" (func $double (param i32) (result i32)))
        (func (export "f") (result i32) (call $double (i32.const 21)))"#;
    let module = file("preloads.wat", module);
    ropewalk(&["run", "--preload", &library, "--invoke", "f", &module]).prints("42\n");
    ropewalk(&["run", "--preload", "library", &module]).fails(1, &["NAME=FILE"]);
    // The error names the preloaded module.
    let broken = [
        ("missing", r#"(import "x" "y" (func))"#, 1, "missing.wat has missing imports:"),
        ("starts", "(func $s unreachable) (start $s)", 134, "unreachable"),
        ("initializes", r#"(func (export "_initialize") unreachable)"#, 134, "unreachable"),
    ];
    for (name, text, code, says) in broken {
        let library = file(&format!("preloaded-{name}.wat"), text);
        let named = format!("in the preloaded {library}: ");
        let preload = format!("library={library}");
        let outcome = ropewalk(&["run", "--preload", &preload, "--invoke", "f", &module]);
        outcome.fails(code, &[&named, says]);
    }
}

#[test]
fn a_library_is_initialized_before_a_function_is_called() {
    let module = r#"(global $ready (mut i32) (i32.const 0))
        (func (export "_initialize") (global.set $ready (i32.const 1)))
        (func (export "f") (result i32) (global.get $ready))"#;
    ropewalk(&["run", "--invoke", "f", &file("initialize.wat", module)]).prints("1\n");
}

#[test]
fn a_program_executes_as_much_as_its_fuel_allows() {
    let module = r#"(func (export "f") (param i32) (result i32)
        (loop (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
        (local.get 0))"#;
    let module = file("fuel.wat", module);
    let run = |fuel, n| ropewalk(&["run", "--fuel", fuel, "--invoke", "f", &module, n]);
    run("51", "10").prints("0\n");
    run("1000", "-1").fails(134, &["wasm trap: out of fuel", "fuel.wat:2:"]);
    run("much", "10").fails(1, &["--fuel"]);
}

#[test]
fn memory_and_stack_have_the_limits_that_are_set() {
    let grow = r#"(memory 1) (func (export "f") (result i32) (memory.grow (i32.const 15)))"#;
    let grow = file("grow.wat", grow);
    ropewalk(&["run", "--max-memory", "1M", "--invoke", "f", &grow]).prints("1\n");
    ropewalk(&["run", "--max-memory", "983040", "--invoke", "f", &grow]).prints("-1\n");
    let says = ["cannot allocate a memory of 1 pages", "at most 1024 bytes"];
    ropewalk(&["run", "--max-memory", "1K", "--invoke", "f", &grow]).fails(1, &says);
    ropewalk(&["run", "--max-memory", "much", &grow]).fails(1, &["number of bytes"]);

    let deep = r#"(func $f (export "f") (param i32) (result i32)
        (if (i32.eqz (local.get 0)) (then (return (i32.const 0))))
        (i32.add (i32.const 1) (call $f (i32.sub (local.get 0) (i32.const 1)))))"#;
    let deep = file("deep.wat", deep);
    let run = |size| ropewalk(&["run", "--stack-size", size, "--invoke", "f", &deep, "100000"]);
    run("64M").prints("100000\n");
    run("64K").fails(134, &["call stack exhausted"]);

    let run = |options: &[&str], path: &String, argument: &str| {
        ropewalk(&[&["run"], options, &["--invoke", "f", path, argument]].concat())
    };
    let says = [
        "all stacks together may have at most 1048576 bytes (--max-stack-memory)",
        "help: use --max-stack-memory to allow",
    ];
    run(&["--max-stack-memory", "8M"], &deep, "100000").prints("100000\n");
    run(&["--max-stack-memory", "1M"], &deep, "1000000").fails(134, &says);
    let nests = r#"(type $f (func (param i32) (result i32))) (type $c (cont $f))
        (func $f (export "f") (type $f)
          (if (i32.eqz (local.get 0)) (then (return (i32.const 0))))
          (i32.add (i32.const 1)
            (resume $c (i32.sub (local.get 0) (i32.const 1)) (cont.new $c (ref.func $f)))))
        (elem declare func $f)"#;
    let nests = file("nests.wat", nests);
    run(&["--max-stack-memory", "128M"], &nests, "1000").prints("1000\n");
    run(&["--max-stack-memory", "1M"], &nests, "1000").fails(134, &says);

    let list = r#"(type $n (struct (field (ref null $n))))
        (func (export "f") (param i32) (result i32) (local $n (ref null $n))
          (loop $l
            (local.set $n (struct.new $n (local.get $n)))
            (br_if $l (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
          (i32.const 0))"#;
    let list = file("list.wat", list);
    run(&["--max-heap", "64M"], &list, "1000000").prints("0\n");
    let says = [
        "the objects of a store may have at most 1048576 bytes (--max-heap)",
        "help: use --max-heap",
    ];
    run(&["--max-heap", "1M"], &list, "1000000").fails(134, &says);
}

#[test]
fn all_memories_and_tables_have_one_limit() {
    let text = r#"(module
        (memory $a 1) (memory $b 1) (table $t 1024 funcref) (type $bytes (array i8))
        (func (export "grow") (param i32) (result i32 i32 i32 i32)
          (memory.grow $a (local.get 0)) (memory.grow $b (local.get 0))
          (table.grow $t (ref.null func) (i32.mul (local.get 0) (i32.const 1024)))
          (memory.grow $a (i32.const 1)))
        (func (export "objects") (result i32)
          (array.len (array.new_default $bytes (i32.const 1000000)))))"#;
    let module = file("total-memory.wat", text);
    let run = |limit: &[&str], name: &str, argument: &[&str]| {
        ropewalk(&[&["run"], limit, &["--invoke", name, &module], argument].concat())
    };
    run(&[], "grow", &["2"]).prints("1\n1\n1024\n3\n");
    // The memories begin with two pages, and the table with an eighth of a page.
    let most = ["--max-total-memory", "320K"];
    run(&most, "grow", &["1"]).prints("1\n1\n1024\n-1\n");
    run(&most, "grow", &["2"]).prints("1\n-1\n1024\n-1\n");
    let says = [
        "memories and tables of a store may have at most 102400 bytes in total (--max-total-memory)",
        "help: use --max-total-memory to allow more",
    ];
    run(&["--max-total-memory", "100K"], "grow", &["1"]).fails(1, &says);
    run(&["--max-heap", "2M"], "objects", &[]).prints("1000000\n");
    run(&["--max-heap", "100K"], "objects", &[]).fails(134, &["out of memory"]);
}

#[test]
fn files_that_are_not_modules_are_rejected() {
    ropewalk(&["run", &file("empty.wasm", "")]).fails(1, &["empty.wasm is empty"]);
    ropewalk(&["run", "examples"]).fails(1, &["examples is a directory"]);
    let page = file("page.wasm", "<!DOCTYPE html>\n<html>");
    let says = ["page.wasm is not WebAssembly", "text that begins with `<!DOCTYPE html>`"];
    ropewalk(&["run", &page]).fails(1, &says);
    ropewalk(&["validate", &page]).fails(1, &says);
    let component = file("component.wasm", b"\0asm\x0d\0\x01\0");
    let says = ["component.wasm is a component", "not supported"];
    ropewalk(&["run", &component]).fails(1, &says);
    ropewalk(&["lower", &component]).fails(1, &says);
}

#[test]
fn a_dash_is_the_standard_input() {
    let module = "(func (export \"f\") (result i32) i32.const 7)";
    with_input(&["run", "--invoke", "f", "-"], module).prints("7\n");
    with_input(&["validate", "-"], module).prints("");
    with_input(&["lower", "-"], module).prints(&format!("{module}\n"));
    with_input(&["wast", "-"], "(module)").prints("1 passed, 0 failed\n");
    with_input(&["validate", "-"], "(func").fails(1, &["the standard input:1:"]);
}

/// Runs a shell command in which `$ropewalk` is the command, without a cache and with one.
fn in_a_shell(script: &str) -> [Outcome; 2] {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("piped-cache");
    let run = |cached: bool| {
        let mut shell = Command::new("bash");
        shell.args(["-c", script]).stdin(Stdio::null());
        shell.env_remove("HOME").env_remove("XDG_CACHE_HOME");
        shell.env("ropewalk", env!("CARGO_BIN_EXE_ropewalk"));
        if cached {
            shell.env("XDG_CACHE_HOME", &cache);
        }
        outcome(shell.output().expect("bash is there"))
    };
    [run(false), run(true)]
}

#[test]
fn a_module_comes_through_a_pipe() {
    let module = file("piped.wat", "(func (export \"f\") (result i32) i32.const 7)");
    let compiled = absent("piped.cwasm");
    ropewalk(&["compile", "-o", &compiled, &module]).prints("");
    let fifo = absent("piped.fifo");
    for file in [&module, &compiled] {
        let scripts = [
            format!("$ropewalk run --invoke f <(cat {file})"),
            format!("$ropewalk run --no-cache --invoke f <(cat {file})"),
            format!("cat {file} | $ropewalk run --invoke f /dev/stdin"),
            format!("cat {file} | $ropewalk run --invoke f -"),
            format!("$ropewalk run --invoke f /dev/stdin <{file}"),
            format!(
                "mkfifo {fifo}; cat {file} >{fifo} & \
                 timeout 20 $ropewalk run --invoke f {fifo}; rm {fifo}"
            ),
        ];
        for script in scripts {
            for outcome in in_a_shell(&script) {
                assert_eq!(outcome.stdout, "7\n", "{script}: {outcome:?}");
                assert_eq!(outcome.stderr, "", "{script}: {outcome:?}");
            }
        }
    }
    for outcome in in_a_shell("$ropewalk run --invoke f <(true)") {
        outcome.fails(1, &["is empty"]);
    }
}

#[test]
fn completion_scripts_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        let outcome = ropewalk(&["completions", shell]);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert!(outcome.stdout.contains("validate"), "{outcome:?}");
    }
    ropewalk(&["completions", "frob"]).fails(1, &["frob"]);
}

/// The long names in the output of `--help`.
fn long_options(help: &str) -> Vec<&str> {
    let options = help.lines().filter_map(|line| {
        let words = line.split([' ', ',']).filter(|word| !word.is_empty());
        words.take_while(|word| word.starts_with('-')).last()
    });
    options.filter(|option| option.starts_with("--")).collect()
}

#[test]
fn the_manual_page_has_every_subcommand_and_option() {
    let page = ropewalk(&["man"]);
    assert_eq!((page.code, page.stderr.as_str()), (Some(0), ""), "{page:?}");
    assert!(page.stdout.contains(".TH ropewalk 1"), "{page:?}");
    let text = page.stdout.replace("\\-", "-");
    let mut sections = text.split("\n.SH \"ROPEWALK ").skip(1);
    for name in subcommands() {
        let section = sections.next().expect("a section for each subcommand");
        assert!(section.starts_with(&name.to_uppercase()), "{name}: {section}");
        let help = ropewalk(&[&name, "--help"]).stdout;
        let options = long_options(&help);
        assert!(options.contains(&"--help") && options.len() > 20 * usize::from(name == "run"));
        for option in options {
            assert!(section.contains(option), "{option} of {name} is missing: {section}");
        }
    }
    assert_eq!(sections.next(), None);
}

#[test]
fn a_missing_file_is_an_error() {
    ropewalk(&["run", "no/such/file.wat"]).fails(1, &["no/such/file.wat", "No such file"]);
}

#[test]
fn a_wrong_command_line_is_an_error() {
    ropewalk(&[]).fails(1, &["Usage"]);
    ropewalk(&["run"]).fails(1, &["<FILE>"]);
    ropewalk(&["walk"]).fails(1, &["cannot read walk"]);
}

#[test]
fn options_come_before_the_file_and_arguments_after_it() {
    ropewalk(&["run", "--invoke", "fib", "examples/fib.wat", "10"]).prints("55\n");
    let after = ropewalk(&["run", "examples/fib.wat", "--invoke", "fib", "10"]);
    after.fails(1, &["does not export a function `_start`"]);
    let func = "(param i32 i32) (result i32) (i32.sub (local.get 0) (local.get 1))";
    invoke("hyphens", func, &["-5", "-3"]).prints("-2\n");
    invoke("dashes", func, &["--", "-5"]).fails(1, &["parameter 1", "`--`"]);
    ropewalk(&["run", "--frob", "examples/fib.wat"]).fails(1, &["--frob"]);
}

#[test]
fn run_may_be_left_out() {
    let module = file("left-out.wat", "(func (export \"_start\") unreachable)");
    ropewalk(&[&module]).fails(134, &["unreachable"]);
    ropewalk(&["--invoke", "fib", "examples/fib.wat", "10"]).prints("55\n");
    ropewalk(&["no/such/file.wasm"]).fails(1, &["cannot read no/such/file.wasm"]);
}

#[test]
fn help_and_version_are_not_errors() {
    for arguments in [&["--help"][..], &["run", "--help"], &["--version"]] {
        let outcome = ropewalk(arguments);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
        assert!(outcome.stdout.contains("ropewalk"), "{outcome:?}");
    }
}
