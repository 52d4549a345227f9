//! How messages look: colours, lines around the place, binaries as text, values of the heap.

use crate::process::{absent, command, file, outcome, ropewalk};

const INVALID: &str = "\
(module
  (func (result i32)
    (i32.add
      (i32.const 1) (i64.const 2))))
";

#[test]
fn the_lines_around_the_place_are_shown() {
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
fn the_place_in_a_binary_is_printed_and_marked() {
    let encoded = ropewalk_text::Text::parse(INVALID).expect("it can be read");
    let path = file("messages-binary.wasm", encoded.binary());
    let says = format!(
        "\
error: {path}: type mismatch: expected i32, found i64 (at offset 0x1c)
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

#[test]
fn a_binary_that_cannot_be_printed_has_its_offset() {
    let path = file("messages-malformed.wasm", b"\0asm\x01\0\0\0\x01\x05\x01\x60");
    let outcome = ropewalk(&["validate", &path]);
    outcome.fails(1, &["(at offset 0x"]);
    assert!(!outcome.stderr.contains('|'), "{outcome:?}");
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
fn colours_are_for_terminals_and_for_those_who_want_them() {
    let path = file("messages-colours.wat", INVALID);
    let stderr = |variables: &[(&str, &str)]| {
        let mut command = command(&["validate", &path]);
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").envs(variables.iter().copied());
        outcome(command.output().expect("the command starts")).stderr
    };
    let plain = stderr(&[]);
    assert!(!plain.contains('\x1b'), "{plain:?}");
    let coloured = stderr(&[("CLICOLOR_FORCE", "1")]);
    assert!(coloured.starts_with("\x1b["), "{coloured:?}");
    assert_eq!(stderr(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]), plain);
}

#[test]
fn objects_are_printed_with_what_is_in_them() {
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
      (func (export "deep") (result anyref)
        (local $list (ref null $node)) (local $i i32)
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
    // Of a binary, they are in the name section.
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
fn a_recursion_is_folded() {
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
      ... the same frame 19 times more
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
      ... the same 2 frames 4 times more
  11: FILE:10:62: m!pair
",
    );
    let endless = ropewalk(&["run", "--invoke", "endless", &path]);
    endless.fails(134, &["      ... the same frame "]);
    assert!(endless.stderr.contains(" times more\n"), "{}", endless.stderr);
    let help = "\nhelp: --stack-size gives each stack more room, such as 1G\n";
    assert!(endless.stderr.ends_with(help), "{}", endless.stderr);
}
