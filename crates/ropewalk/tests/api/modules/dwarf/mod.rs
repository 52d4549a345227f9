//! Source lines of modules from other languages, by their debug information (DWARF).

use crate::common::*;
use ropewalk::*;

const AVERAGE: &[u8] = include_bytes!("average.wasm");

/// The trap of `run`, which divides by zero.
fn trap(module: &Module) -> String {
    let (mut store, instance) = start(module);
    invoke::<i32, i32>(&mut store, instance, "run", 0).unwrap_err().to_string()
}

const TRAP: &str = "\
wasm trap: integer divide by zero
wasm backtrace:
   0: ./average.c:8:12: <module>!quotient
      inlined into ./average.c:13:10: <module>!average
   1: ./average.c:17:10: <module>!run";

#[test]
fn a_backtrace_has_lines_and_inlined_functions() {
    for module in engines().iter().map(|engine| Module::new(engine, AVERAGE).unwrap()) {
        assert_eq!(trap(&module), TRAP);
    }
}

#[test]
fn each_place_can_be_asked_for() {
    let (mut store, instance) = instantiate_in(&Engine::default(), AVERAGE);
    let run = instance.get_typed_func::<i32, i32>(&mut store, "run").unwrap();
    assert_eq!(run.call(&mut store, 10).unwrap(), 13);
    let error = run.call(&mut store, 0).unwrap_err();
    let frame = &error.downcast_ref::<Trap>().unwrap().backtrace().frames()[0];
    assert_eq!(
        (frame.file(), frame.line(), frame.column()),
        (Some("./average.c"), Some(8), Some(12))
    );
    let functions: Vec<_> = frame.places().iter().map(|place| place.function().unwrap()).collect();
    assert_eq!(functions, ["quotient", "average"]);
}

#[test]
fn a_compiled_module_keeps_its_lines() {
    let engine = Engine::default();
    let bytes = engine.precompile_module(AVERAGE).unwrap();
    // SAFETY: the bytes come from above.
    let module = unsafe { Module::deserialize(&engine, &bytes).unwrap() };
    assert_eq!(trap(&module), TRAP);
    // SAFETY: the bytes come from the module.
    let again = unsafe { Module::deserialize(&engine, module.serialize().unwrap()).unwrap() };
    assert_eq!(trap(&again), TRAP);
}

/// The validator does not check debug information, so it can be anything.
#[test]
fn debug_information_that_is_nonsense_does_no_harm() {
    let engine = Engine::default();
    let begin = AVERAGE.windows(11).position(|bytes| bytes == b".debug_line").unwrap();
    let first = AVERAGE.windows(7).position(|bytes| bytes == b".debug_").unwrap();
    let mut random = 1u64;
    for _ in 0..200 {
        let mut bytes = AVERAGE.to_vec();
        for _ in 0..8 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let places = [first, begin];
            let at = places[(random >> 60) as usize % 2] + 16;
            let at = at + (random >> 20) as usize % (bytes.len() - at);
            bytes[at] = (random >> 8) as u8;
        }
        // A changed length of a section is a malformed module.
        if let Ok(module) = Module::new(&engine, &bytes) {
            assert!(trap(&module).starts_with("wasm trap: integer divide by zero"));
        }
    }
}

/// Programs of other languages, with the beginning and end of their backtraces. Rust's names have a
/// hash.
const OTHERS: [(&[u8], [&str; 2], &str); 2] = [
    (
        include_bytes!("average-rust.wasm"),
        [
            "0: ./average.rs:15:8: average-rust.wasm!average::quotient\n",
            "inlined into ./average.rs:24:5: average-rust.wasm!_ZN7average7average",
        ],
        "\n   1: ./average.rs:29:5: average-rust.wasm!run",
    ),
    (
        include_bytes!("average-zig.wasm"),
        [
            "0: /src/average.zig:7:9: average-zig.wasm!average.quotient\n",
            "inlined into /src/average.zig:15:20: average-zig.wasm!average.average\n",
        ],
        "\n   1: /src/average.zig:19:19: average-zig.wasm!average.run",
    ),
];

#[test]
fn rust_and_zig_have_lines_too() {
    let engine = Engine::default();
    for (bytes, parts, last) in OTHERS {
        let trap = trap(&Module::new(&engine, bytes).unwrap());
        assert!(trap.starts_with("wasm trap: unreachable"), "{trap}");
        assert!(parts.iter().all(|part| trap.contains(part)) && trap.ends_with(last), "{trap}");
    }
}
