//! Every cast agrees with the hierarchy of types.

use super::*;

/// The types of casts, and values with their types.
const TYPES: [&str; 13] = [
    "any", "eq", "i31", "struct", "array", "none", "$a", "$b", "$c", "$d", "$other", "$row",
    "$subrow",
];
const VALUES: [(&str, &[&str]); 10] = [
    ("(ref.null none)", &[]),
    ("(ref.i31 (i32.const 1))", &["any", "eq", "i31"]),
    ("(struct.new $a)", &["any", "eq", "struct", "$a"]),
    ("(struct.new_default $b)", &["any", "eq", "struct", "$a", "$b"]),
    ("(struct.new_default $c)", &["any", "eq", "struct", "$a", "$b", "$c"]),
    ("(struct.new_default $d)", &["any", "eq", "struct", "$a", "$d"]),
    ("(struct.new $other)", &["any", "eq", "struct", "$other"]),
    ("(array.new_default $row (i32.const 2))", &["any", "eq", "array", "$row"]),
    ("(array.new_default $subrow (i32.const 99))", &["any", "eq", "array", "$row", "$subrow"]),
    ("(any.convert_extern (global.get $host))", &["any"]),
];

/// A module with every kind of cast of every value to every type.
fn casts() -> String {
    let mut text = String::from(
        r#"(module
          (type $a (sub (struct))) (type $b (sub $a (struct (field i32))))
          (type $c (sub final $b (struct (field i32) (field i64))))
          (type $d (sub $a (struct (field f32))))
          (rec (type $other (sub (struct))) (type (struct)))
          (type $row (sub (array (ref null $a)))) (type $subrow (sub $row (array (ref null $b))))
          (global $host (export "host") (mut externref) (ref.null extern))"#,
    );
    for (v, (value, _)) in VALUES.iter().enumerate() {
        write!(text, "(func $v{v} (result anyref) {value})").unwrap();
        for (t, ty) in TYPES.iter().enumerate() {
            for (null, ty) in [format!("(ref {ty})"), format!("(ref null {ty})")].iter().enumerate()
            {
                let name = |kind| format!("{kind} {v} {t} {null}");
                write!(
                    text,
                    r#"(func (export "{}") (result i32) (ref.test {ty} (call $v{v})))
                    (func (export "{}") (result i32)
                      (drop (ref.cast {ty} (call $v{v}))) (i32.const 1))
                    (func (export "{}") (result i32)
                      (block $yes (result {ty})
                        (drop (br_on_cast $yes anyref {ty} (call $v{v})))
                        (return (i32.const 0)))
                      (drop) (i32.const 1))
                    (func (export "{}") (result i32)
                      (block $no (result anyref)
                        (drop (br_on_cast_fail $no anyref {ty} (call $v{v})))
                        (return (i32.const 1)))
                      (drop) (i32.const 0))"#,
                    name("test"),
                    name("cast"),
                    name("branch"),
                    name("branch on fail"),
                )
                .unwrap();
            }
        }
    }
    text + ")"
}

#[test]
fn every_cast_agrees_with_the_hierarchy() {
    let text = casts();
    for engine in [engine(DEFAULT), engine(COLLECT_AND_MOVE)] {
        let (mut store, instance) = instantiate_in(&engine, &text);
        let host_value = ExternRef::new(&mut store, 1).unwrap();
        let host = instance.get_global(&mut store, "host").unwrap();
        host.set(&mut store, host_value.into()).unwrap();
        for (v, (value, types)) in VALUES.iter().enumerate() {
            for (t, ty) in TYPES.iter().enumerate() {
                for null in 0..2 {
                    let has = if types.is_empty() { null == 1 } else { types.contains(ty) };
                    for kind in ["test", "branch", "branch on fail"] {
                        let name = format!("{kind} {v} {t} {null}");
                        let found = call_i32(&mut store, instance, &name);
                        assert_eq!(found, i32::from(has), "{kind} {value} {ty} {null}");
                    }
                    let cast = call(&mut store, instance, &format!("cast {v} {t} {null}"), &[]);
                    match cast {
                        Ok(_) => assert!(has, "cast {value} {ty} {null}"),
                        Err(error) => {
                            assert!(!has, "cast {value} {ty} {null}");
                            assert_eq!(trap(&error).code(), TrapCode::CastFailure);
                        }
                    }
                }
            }
        }
    }
}
