//! Files of traces: complete, truncated, of another version, and damaged.

use crate::common;
use ropewalk_trace::{BadTrace, Trace, Writer};

fn bytes(trace: &Trace) -> Vec<u8> {
    let mut bytes = Vec::new();
    trace.write(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_trace_is_read_as_it_was_written() {
    for trace in
        [Trace::default(), common::everything(), common::copies(), common::generators(7, 20_000)]
    {
        let reading = Trace::read(&bytes(&trace)).unwrap();
        assert!(reading.is_whole);
        assert_eq!(reading.trace, trace);
    }
}

#[test]
fn events_take_few_bytes() {
    let trace = common::generators(7, 100_000);
    let bytes = bytes(&trace).len();
    assert!(bytes < 14 * trace.events.len(), "{bytes} bytes");
}

#[test]
fn a_trace_that_is_written_in_parts_is_read_as_one() {
    let trace = common::everything();
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, &trace.name).unwrap();
    let tables = Trace { events: Vec::new(), ..trace.clone() };
    writer.append(&tables).unwrap();
    for event in &trace.events {
        writer.append(&Trace { events: vec![event.clone()], ..Trace::default() }).unwrap();
    }
    writer.finish(trace.dropped).unwrap();
    assert_eq!(Trace::read(&file).unwrap().trace, trace);
}

#[test]
fn a_file_that_is_cut_off_has_all_whole_events() {
    let trace = common::everything();
    let bytes = bytes(&trace);
    let mut events = 0;
    for length in 12..bytes.len() {
        let reading = Trace::read(&bytes[..length]).unwrap();
        assert!(!reading.is_whole, "{length}");
        let read = reading.trace.events;
        assert_eq!(read, trace.events[..read.len()], "{length}");
        assert!(read.len() >= events, "{length}: each byte more is no event less");
        events = read.len();
    }
    assert_eq!(events, trace.events.len(), "only the end is missing");
}

#[test]
fn other_files_are_refused() {
    for bytes in [&b""[..], b"\0asm\x01\0\0\0", b"\0rwtrace", b"\0rwtrace\x01\0\0"] {
        assert_eq!(Trace::read(bytes), Err(BadTrace::NotATrace));
    }
    let message = Trace::read(b"(module)").unwrap_err().to_string();
    assert_eq!(message, "this is not a trace: expected a file that `ropewalk run --trace` wrote");
}

#[test]
fn another_version_is_refused() {
    let mut bytes = bytes(&common::everything());
    bytes[8] = 9;
    let error = Trace::read(&bytes).unwrap_err();
    assert_eq!(error, BadTrace::OtherVersion { found: 9 });
    assert_eq!(
        error.to_string(),
        "this trace has version 9 of the format, but version 3 was expected: record it again, \
         or show it with the `ropewalk` that recorded it"
    );
}

#[test]
fn a_changed_byte_is_found() {
    let trace = common::everything();
    let bytes = bytes(&trace);
    for at in 12..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            // A block with a longer size makes the file look truncated.
            if let Ok(reading) = Trace::read(&changed) {
                assert!(!reading.is_whole, "byte {at}, bit {bit}");
            }
        }
    }
}

#[test]
fn numbers_without_meaning_are_found() {
    let trace = common::everything();
    let damaged = |change: fn(&mut Trace)| {
        let mut trace = trace.clone();
        change(&mut trace);
        let error = Trace::read(&bytes(&trace)).unwrap_err().to_string();
        assert!(error.contains("an index refers to no item of the trace"), "{error}");
    };
    damaged(|trace| trace.stacks.truncate(3));
    damaged(|trace| trace.functions.truncate(4));
    damaged(|trace| trace.tags.clear());
    damaged(|trace| trace.positions.truncate(3));
    damaged(|trace| trace.frames.truncate(1));
    damaged(|trace| trace.frames[0].caller = Some(ropewalk_trace::FramesId(0)));
}

/// Changes bytes and fixes the checksums, so that the contents are nonsense.
#[test]
fn no_bytes_make_it_panic() {
    let wholes = [common::everything(), common::copies()].map(|trace| bytes(&trace));
    let mut random = 1u64;
    let mut next = move |bound: usize| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) as usize % bound
    };
    let mut read = 0;
    for number in 0..2_000 {
        let mut bytes = wholes[number % 2].clone();
        // A block that is longer than the file is read without a checksum.
        let cut = 12 + next(bytes.len() - 12);
        bytes.truncate(cut);
        for _ in 0..next(4) {
            let at = 12 + next(bytes.len() - 11).min(bytes.len() - 12);
            if let Some(byte) = bytes.get_mut(at) {
                *byte = next(256) as u8;
            }
        }
        if let Ok(reading) = Trace::read(&bytes) {
            read += 1;
            reading.trace.write_chrome(std::io::sink()).unwrap();
            reading.trace.svg();
            reading.trace.page();
        }
    }
    assert!(read > 100, "{read} of the files could be read");
}
