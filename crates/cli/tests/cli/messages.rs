//! The form of messages: colors, source lines, listings of binaries, objects.

use crate::process::{absent, command, file, outcome, ropewalk};

const INVALID: &str = "\
(module
  (func (result i32)
    (i32.add
      (i32.const 1) (i64.const 2))))
";

#[test]
fn source_lines_around_an_error_are_shown() {
    let path = file("messages-around.wat", INVALID);
    let says = format!(
        "\
error: type mismatch: expected i32, found i64
  --> {path}:3:6
   |
 2 |   (func (result i32)
 3 |     (i32.add
   |      ^
 4 |       (i32.const 1) (i64.const 2))))
"
    );
    let outcome = ropewalk(&["validate", &path]);
    outcome.fails(1, &[]);
    assert_eq!(outcome.stderr, says);
}

#[test]
fn instructions_around_an_error_in_a_binary_are_shown() {
    let encoded = ropewalk_text::Text::parse(INVALID).expect("it can be read");
    let path = file("messages-binary.wasm", encoded.binary());
    let says = format!(
        "\
error: {path}: type mismatch: expected i32, found i64 (at offset 0x1c, in function 0)
      |
 0x17 |   (func (;0;) (type 0) (result i32)
 0x18 |     i32.const 1
 0x1a |     i64.const 2
 0x1c |     i32.add
      |     ^
 0x1d |   )
"
    );
    for arguments in [&["validate", &path][..], &["lower", &path], &["run", &path]] {
        let outcome = ropewalk(arguments);
        outcome.fails(1, &[]);
        assert_eq!(outcome.stderr, says, "{arguments:?}");
    }
}

/// A binary with three functions. `instructions` is the body of the second one, `end` the last
/// section.
fn with_second_body(instructions: &[u8], end: &[u8]) -> Vec<u8> {
    let body = |code: &[u8]| [&[code.len() as u8 + 1, 0], code].concat();
    let bodies = [body(b"\x41\x01\x1a\x0b"), body(instructions), body(b"\x01\x0b")].concat();
    let code = [&[10, bodies.len() as u8 + 1, 3], &bodies[..]].concat();
    [b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x04\x03\0\0\0", &code[..], end].concat()
}

const NAMES: &[u8] = b"\0\x17\x04name\x01\x10\x02\0\x05first\x01\x06second";

#[test]
fn a_malformed_binary_is_printed_up_to_the_error() {
    let before = "
 0x1e |   (func $second (;1;) (type 0)
 0x1f |     i32.const 2
 0x21 |     drop
";
    let valid = with_second_body(b"\x41\x02\x1a\x41\x03\x1a\x0b", NAMES);
    let cases: [(&str, Vec<u8>, &str, &str, &str); 6] = [
        (
            "opcode",
            with_second_body(b"\x41\x02\x1a\xff\x0b", NAMES),
            "illegal opcode: 0xff (at offset 0x22, in function $second)",
            before,
            " 0x22 |     ;; bytes ff 0b 03 00 01 0b 00 17 ...\n      |     ^\n",
        ),
        (
            "leb",
            with_second_body(b"\x41\x02\x1a\x41\x80\x80\x80\x80\x80\x80\x0b", NAMES),
            "integer representation too long (at offset 0x27, in function $second)",
            before,
            " 0x27 |     ;; bytes 80 80 0b 03 00 01 0b 00 ...\n      |     ^\n",
        ),
        (
            "no-end",
            with_second_body(b"\x41\x02\x1a", NAMES),
            "(at offset 0x22, in function $second)",
            before,
            "      |     ^\n",
        ),
        (
            "cut-off",
            valid[..0x24].to_vec(),
            "unexpected end-of-file (at offset 0x1e, in function 1)",
            " 0x1e |   (func (;1;) (type 0)\n",
            "      |   ^\n",
        ),
        (
            "section",
            with_second_body(b"\x41\x02\x1a\x0b", b"\x55\x03abc"),
            "malformed section id: 85",
            "nop\n",
            ";; bytes 61 62 63\n",
        ),
        (
            "section-twice",
            with_second_body(b"\x41\x02\x1a\x0b", b"\x0a\x03abc"),
            "section out of order",
            "nop\n",
            ";; bytes 61 62 63\n",
        ),
    ];
    for (name, binary, says, shows, marks) in cases {
        let path = file(&format!("messages-{name}.wasm"), &binary);
        ropewalk(&["validate", &path]).fails(1, &["error: ", says, shows, marks]);
        let listed = ropewalk(&["lower", "--offsets", &path]);
        assert_eq!(listed.code, Some(1), "{name}");
        assert!(listed.stderr.contains(says), "{name}: {}", listed.stderr);
        let module = "  0x0 | (module\n  0xb |   (type (;0;) (func))\n";
        assert!(listed.stdout.contains(module), "{name}: {}", listed.stdout);
        assert!(listed.stdout.contains("i32.const 1\n"), "{name}: {}", listed.stdout);
        assert!(listed.stdout.ends_with("^\n"), "{name}: {}", listed.stdout);
        assert!(ropewalk(&["lower", &path]).stdout.is_empty(), "{name}");
    }
}

#[test]
fn an_invalid_binary_is_printed_up_to_the_error() {
    let binary = with_second_body(b"\x41\x02\x1a\x1a\x0b", NAMES);
    let path = file("messages-listed.wasm", &binary);
    let outcome = ropewalk(&["lower", "--offsets", &path]);
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("(at offset 0x22, in function $second)"), "{}", outcome.stderr);
    let listed = "\
 0x1e |   (func $second (;1;) (type 0)
 0x1f |     i32.const 2
 0x21 |     drop
 0x22 |     drop
      |     ^
";
    assert!(outcome.stdout.ends_with(listed), "{}", outcome.stdout);
}

#[test]
fn offsets_of_instructions_are_printed() {
    let path = file("messages-offsets.wat", "(module (func $f (drop (i32.const 1))))");
    let outcome = ropewalk(&["lower", "--offsets", &path]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.stdout.contains("(;@17"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("i32.const 1"), "{}", outcome.stdout);
}

#[test]
fn colors_depend_on_the_terminal_and_the_environment() {
    let path = file("messages-colors.wat", INVALID);
    let stderr = |variables: &[(&str, &str)]| {
        let mut command = command(&["validate", &path]);
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").envs(variables.iter().copied());
        outcome(command.output().expect("the command starts")).stderr
    };
    let plain = stderr(&[]);
    assert!(!plain.contains('\x1b'), "{plain:?}");
    let colored = stderr(&[("CLICOLOR_FORCE", "1")]);
    assert!(colored.starts_with("\x1b["), "{colored:?}");
    assert_eq!(stderr(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]), plain);
}

#[test]
fn objects_are_printed_with_their_contents() {
    let module = r#"(module
      (type $bytes (array i8)) (type $numbers (array f32))
      (type $node (struct (field i32) (field (ref null $node)) (field anyref) (field i16)))
      (func (export "i31") (result anyref) (ref.i31 (i32.const -5)))
      (func (export "text") (result anyref)
        (array.new_fixed $bytes 5
          (i32.const 104) (i32.const 195) (i32.const 169) (i32.const 34) (i32.const 10)))
      (func (export "bytes") (result anyref)
        (array.new_fixed $bytes 2 (i32.const 0) (i32.const 200)))
      (func (export "many") (result anyref) (array.new $numbers (f32.const 0.5) (i32.const 1000)))
      (func (export "node") (result anyref)
        (struct.new $node (i32.const 1)
          (struct.new $node (i32.const 2) (ref.null $node) (ref.i31 (i32.const 7)) (i32.const 9))
          (array.new_fixed $bytes 2 (i32.const 104) (i32.const 105)) (i32.const -1)))
      (func (export "deep") (result anyref) (local $list (ref null $node)) (local $i i32)
        (loop $more
          (local.set $list
            (struct.new $node (i32.const 3) (local.get $list) (ref.null any) (i32.const 0)))
          (br_if $more (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1)))
            (i32.const 1000000))))
        (local.get $list)))"#;
    let path = file("messages-objects.wat", module);
    let check = |name: &str, shown: &str| {
        ropewalk(&["run", "--invoke", name, &path]).prints(&format!("{shown}\n"));
    };
    check("i31", "(ref.i31 -5)");
    check("text", r#"(array "hé\"\n")"#);
    check("bytes", "(array (i32.const 0) (i32.const 200))");
    let shown = " (f32.const 0.5)".repeat(23);
    check("many", &format!("(array{shown} and 977 more)"));
    check(
        "node",
        "(struct (i32.const 1) \
         (struct (i32.const 2) (ref.null) (ref.i31 7) (i32.const 9)) (array \"hi\") (i32.const 65535))",
    );
    let node = |inner: &str| format!("(struct (i32.const 3) {inner} (ref.null) (i32.const 0))");
    check("deep", &node(&node(&node(&node("(struct of 4 values)")))));
}

#[test]
fn fields_are_printed_with_their_names() {
    let module = r#"(module
      (rec
        (type $point (struct (field $x i32) (field f64) (field $next (ref null $line))))
        (type $line (struct (field $from i64) (field $to i64))))
      (func (export "point") (result anyref)
        (struct.new $point (i32.const 1) (f64.const 0.5)
          (struct.new $line (i64.const 2) (i64.const 3)))))"#;
    let path = file("messages-fields.wat", module);
    let shown = "(struct $x (i32.const 1) (f64.const 0.5) \
                 $next (struct $from (i64.const 2) $to (i64.const 3)))\n";
    ropewalk(&["run", "--invoke", "point", &path]).prints(shown);
    // A binary has them in the name section.
    let binary = absent("messages-fields.wasm");
    let buffer = wast::parser::ParseBuffer::new(module).unwrap();
    let encoded = wast::parser::parse::<wast::Wat<'_>>(&buffer).unwrap().encode().unwrap();
    std::fs::write(&binary, encoded).unwrap();
    ropewalk(&["run", "--invoke", "point", &binary]).prints(shown);
}

#[test]
fn an_uncaught_exception_shows_its_objects() {
    let module = r#"(module
      (type $text (array i8)) (tag $failed (param (ref $text)))
      (data $message "no such page")
      (func (export "run")
        (throw $failed (array.new_data $text $message (i32.const 0) (i32.const 12)))))"#;
    let path = file("messages-exception.wat", module);
    let says = "error: uncaught exception: $failed with (array \"no such page\")\n";
    ropewalk(&["run", "--invoke", "run", &path]).fails(1, &[says]);
}

#[test]
fn recursion_is_folded() {
    let module = "\
(module $m (memory 1)
  (func $even (param i32) (result i32)
    (if (i32.eqz (local.get 0)) (then (drop (i32.load (i32.const -1)))))
    (call $odd (i32.sub (local.get 0) (i32.const 1))))
  (func $odd (param i32) (result i32)
    (i32.add (i32.const 0) (call $even (i32.sub (local.get 0) (i32.const 1)))))
  (func $down (param i32) (result i32)
    (if (i32.eqz (local.get 0)) (then (drop (i32.load (i32.const -1)))))
    (i32.add (i32.const 0) (call $down (i32.sub (local.get 0) (i32.const 1)))))
  (func (export \"pair\") (result i32) (i32.add (i32.const 0) (call $even (i32.const 10))))
  (func (export \"alone\") (result i32) (i32.add (i32.const 0) (call $down (i32.const 20))))
  (func (export \"endless\") (result i32) (call $down (i32.const -1))))
";
    let path = file("messages-recursion.wat", module);
    let check = |name: &str, says: &str| {
        let outcome = ropewalk(&["run", "--invoke", name, &path]);
        outcome.fails(134, &[]);
        assert_eq!(outcome.stderr, says.replace("FILE", &path));
    };
    check(
        "alone",
        "\
error: wasm trap: out of bounds memory access
wasm backtrace:
   0: FILE:8:46: m!down
   1: FILE:9:29: m!down
      ... the same frame 19 more times
  21: FILE:11:63: m!alone
",
    );
    check(
        "pair",
        "\
error: wasm trap: out of bounds memory access
wasm backtrace:
   0: FILE:3:46: m!even
   1: FILE:6:29: m!odd
   2: FILE:4:6: m!even
      ... the same 2 frames 4 more times
  11: FILE:10:62: m!pair
",
    );
    let endless = ropewalk(&["run", "--invoke", "endless", &path]);
    endless.fails(134, &["      ... the same frame "]);
    assert!(endless.stderr.contains(" more times\n"), "{}", endless.stderr);
    let help = "\nhelp: use --stack-size to allow larger stacks, such as 1G\n";
    assert!(endless.stderr.ends_with(help), "{}", endless.stderr);
}

/// Sequences that clear a terminal, set its title and reverse a line, in the text format.
const HOSTILE: &str = "\\1b[2J\\1b]0;pwned\\07\\u{202e}\\u{9b}1m";

#[test]
fn control_characters_in_names_are_escaped() {
    let plain = "\\u{1b}[2J\\u{1b}]0;pwned\\u{7}\\u{202e}\\u{9b}1m";
    let import = format!(r#"(import "{HOSTILE}" "{HOSTILE}\0aerror: no" (func))"#);
    let export = format!(r#"(func (export "{HOSTILE}"))"#);
    let lines = "\\0aerror: no";
    let tag = format!(
        r#"(tag $t (@name "{HOSTILE}{lines}") (export "t")) (func (export "f") (throw $t))"#
    );
    let trap = format!(r#"(func (@name "{HOSTILE}{lines}") (export "f") (unreachable))"#);
    let stuck = format!(
        r#"(type $f (func)) (type $c (cont $f)) (tag $t) (tag $other)
           (func $g (@name "{HOSTILE}") (suspend $t)) (elem declare func $g)
           (func (@name "{HOSTILE}2") (export "f") (local (ref null $c))
             (block $on (result (ref $c)) (resume $c (on $t $on) (cont.new $c (ref.func $g))) (return))
             (local.set 0) (suspend $other))"#
    );
    let run = ["run", "--stacks", "-", "--invoke", "f"];
    for (name, module, code) in [
        ("import", import, 1),
        ("export", export, 1),
        ("tag", tag, 1),
        ("trap", trap, 134),
        ("stuck", stuck, 134),
    ] {
        let path = file(&format!("messages-hostile-{name}.wat"), format!("(module {module})"));
        let mut command = command(&[&run[..], &[&path]].concat());
        let found = outcome(command.env_remove("CLICOLOR_FORCE").output().unwrap());
        assert_eq!(found.code, Some(code), "{found:?}");
        let is_safe = |c: char| c == '\n' || !c.is_control() && c != '\u{202e}';
        assert!(found.stderr.chars().all(is_safe), "{found:?}");
        assert!(found.stderr.contains(plain), "{found:?}");
        assert!(!found.stderr.contains("\nerror: no"), "{found:?}");
        // Only the command's own escape sequences for colors remain.
        let colored = outcome(command.env("CLICOLOR_FORCE", "1").output().unwrap()).stderr;
        assert!(colored.starts_with("\x1b["), "{colored:?}");
        assert!(!colored.contains("\x1b[2J") && !colored.contains("\x1b]"), "{colored:?}");
    }
}

#[test]
fn output_of_a_program_is_not_escaped() {
    let module = r#"(module
      (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
      (memory (export "memory") 1)
      (data (i32.const 0) "\10\00\00\00\04\00\00\00") (data (i32.const 16) "\1b[2J")
      (func (export "_start")
        (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"#;
    ropewalk(&["run", &file("messages-own.wat", module)]).prints("\x1b[2J");
}

#[test]
fn errors_have_hints() {
    let module = "\
(module
  (type $f (func)) (type $k (cont $f)) (type $tasks (task))
  (tag $stop) (tag $wrong)
  (elem declare func $holds-task)
  (func (export \"loops\") (loop $l (br $l)))
  (func $deep (export \"deep\") (call $deep) (call $deep))
  (func (export \"suspends\") (suspend $stop))
  (func (export \"throws\") (throw $wrong))
  (func $in-task (param (ref null $tasks)) (suspend $stop))
  (func $holds-task (task.resume $tasks (task.new $tasks $in-task)))
  (func (export \"copies\")
    (block $stopped (result (ref $k))
      (resume $k (on $stop $stopped) (cont.new $k (ref.func $holds-task)))
      (return))
    (cont.clone $k)
    (drop)))
";
    let path = file("messages-help.wat", module);
    for (options, function, code, says, helps) in [
        (&["--fuel", "1000"][..], "loops", 134, "out of fuel", "--fuel sets the limit"),
        (
            &["--timeout", "50ms"],
            "loops",
            134,
            "did not end within 50ms",
            "--timeout sets the time limit",
        ),
        (
            &["--stack-size", "64K"],
            "deep",
            134,
            "call stack exhausted",
            "use --stack-size to allow",
        ),
        (
            &[],
            "suspends",
            134,
            "unhandled tag: $stop",
            "resume the stack with a clause `(on $tag $label)`",
        ),
        (&[], "throws", 1, "uncaught exception: $wrong", "`(catch $tag $label)`"),
        (
            &[],
            "copies",
            134,
            "stack cannot be copied: a task was suspended with it, and a task is one object",
            "`ropewalk run --stacks -` shows which",
        ),
    ] {
        let outcome = ropewalk(&[&["run", "--invoke", function], options, &[&path]].concat());
        outcome.fails(code, &[says, helps]);
        assert_eq!(outcome.stderr.matches("\nhelp: ").count(), 1, "{}", outcome.stderr);
    }
}
