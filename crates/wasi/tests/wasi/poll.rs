//! Waiting with `poll_oneoff` for times and descriptors.

use crate::program::errno::*;
use crate::program::*;
use ropewalk_wasi::{MemoryInputPipe, WasiCtx};
use std::io::Write as _;
use std::time::{Duration, Instant};

const REALTIME: u32 = 0;
pub const MONOTONIC: u32 = 1;
const ABSOLUTE: u16 = 1;
pub const MILLISECOND: u64 = 1_000_000;

pub fn clock(userdata: u64, id: u32, timeout: u64, flags: u16) -> Vec<u8> {
    let mut bytes = userdata.to_le_bytes().to_vec();
    bytes.extend([0; 8]);
    bytes.extend(u64::from(id).to_le_bytes());
    bytes.extend(timeout.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend(u64::from(flags).to_le_bytes());
    bytes
}

fn descriptor(userdata: u64, tag: u8, fd: i32) -> Vec<u8> {
    let mut bytes = userdata.to_le_bytes().to_vec();
    bytes.extend([tag, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend(fd.to_le_bytes());
    bytes.resize(48, 0);
    bytes
}

pub fn readable(userdata: u64, fd: i32) -> Vec<u8> {
    descriptor(userdata, 1, fd)
}

pub fn writable(userdata: u64, fd: i32) -> Vec<u8> {
    descriptor(userdata, 2, fd)
}

/// The events that have occurred: number, bytes, and whether the other end is closed.
#[track_caller]
fn poll(program: &mut Program, subscriptions: &[Vec<u8>]) -> Result<Vec<(u64, u64, bool)>, i32> {
    let count = subscriptions.len() as i64;
    let at = program.put(&subscriptions.concat());
    let stored = program.result("poll_oneoff", &[at, 0x8000, count, RESULT.into()])?;
    let events = (0..stored as i32).map(|i| {
        let at = 0x8000 + 32 * i;
        assert_eq!(program.bytes(at + 8, 2), [0, 0], "no error");
        (program.u64(at), program.u64(at + 16), program.bytes(at + 24, 1) == [1])
    });
    Ok(events.collect())
}

#[test]
fn poll_waits_for_a_time() {
    let mut program = with(&mut WasiCtx::builder());
    for id in [REALTIME, MONOTONIC] {
        let before = Instant::now();
        let events = poll(&mut program, &[clock(7, id, 5 * MILLISECOND, 0)]);
        assert_eq!(events, Ok(vec![(7, 0, false)]));
        assert!(before.elapsed() >= Duration::from_millis(5));
    }
}

#[test]
fn the_earliest_of_several_times_ends_the_wait() {
    let mut program = with(&mut WasiCtx::builder());
    let subscriptions = [clock(1, MONOTONIC, u64::MAX, 0), clock(2, REALTIME, 5 * MILLISECOND, 0)];
    assert_eq!(poll(&mut program, &subscriptions), Ok(vec![(2, 0, false)]));
}

#[test]
fn a_time_can_be_absolute() {
    let mut program = with(&mut WasiCtx::builder());
    for id in [REALTIME, MONOTONIC] {
        assert_eq!(program.call("clock_time_get", &[id.into(), 0, RESULT.into()]), SUCCESS);
        let now = program.u64(RESULT);
        let before = Instant::now();
        let until = clock(1, id, now + 10 * MILLISECOND, ABSOLUTE);
        assert_eq!(poll(&mut program, &[until]).unwrap().len(), 1);
        assert!(before.elapsed() >= Duration::from_millis(5));
        // A time in the past does not wait.
        assert_eq!(poll(&mut program, &[clock(1, id, 1, ABSOLUTE)]).unwrap().len(), 1);
    }
}

#[test]
fn files_and_pipes_in_memory_are_always_ready() {
    let mut program = in_scratch();
    program.create("file", "rope");
    let fd = program.open("file", 0, FD_READ | FD_WRITE).unwrap();
    program.read(fd, 1).unwrap();
    let long = clock(3, MONOTONIC, 10_000 * MILLISECOND, 0);
    let events = poll(&mut program, &[readable(1, fd), long, writable(2, fd)]);
    assert_eq!(events, Ok(vec![(1, 3, false), (2, 1, false)]));

    let mut builder = WasiCtx::builder();
    builder.stdin(MemoryInputPipe::new("ab"));
    let mut program = with(&mut builder);
    let events = poll(&mut program, &[readable(1, 0), writable(2, 1)]);
    assert_eq!(events, Ok(vec![(1, 2, false), (2, 1, false)]));
}

#[test]
fn a_pipe_is_ready_when_it_has_data_or_is_closed() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let mut builder = WasiCtx::builder();
    builder.stdin(std::os::fd::OwnedFd::from(reader));
    let mut program = with(&mut builder);
    let short = clock(9, MONOTONIC, 5 * MILLISECOND, 0);
    let events = poll(&mut program, &[readable(1, 0), short.clone()]);
    assert_eq!(events, Ok(vec![(9, 0, false)]));
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        writer.write_all(b"late").unwrap();
        writer
    });
    assert_eq!(poll(&mut program, &[readable(1, 0)]), Ok(vec![(1, 4, false)]));
    drop(thread.join().unwrap());
    assert_eq!(poll(&mut program, &[readable(1, 0)]), Ok(vec![(1, 4, true)]));
    assert_eq!(program.read(0, 9), Ok("late".into()));
    assert_eq!(poll(&mut program, &[readable(1, 0)]), Ok(vec![(1, 0, true)]));
}

#[test]
fn a_bad_descriptor_is_an_event() {
    let mut program = in_scratch();
    let long = clock(3, MONOTONIC, 10_000 * MILLISECOND, 0);
    let subscriptions = [readable(1, 99), long, writable(2, 1), writable(4, ROOT)];
    let at = program.put(&subscriptions.concat());
    assert_eq!(program.result("poll_oneoff", &[at, 0x8000, 4, RESULT.into()]), Ok(3));
    let events = [0x8000, 0x8020, 0x8040].map(|at| {
        let error = u16::from_le_bytes(program.bytes(at + 8, 2).try_into().unwrap());
        (program.u64(at), i32::from(error), program.bytes(at + 10, 1)[0])
    });
    assert_eq!(events, [(1, BADF, 1), (2, SUCCESS, 2), (4, BADF, 2)]);
}

#[test]
fn invalid_subscriptions_are_errors() {
    let mut program = in_scratch();
    assert_eq!(program.call("poll_oneoff", &[0, 0, 0, RESULT.into()]), INVAL);
    assert_eq!(poll(&mut program, &[clock(1, 2, 0, 0)]), Err(NOTSUP));
    assert_eq!(poll(&mut program, &[clock(1, 4, 0, 0)]), Err(INVAL));
    for flags in [2, 256, 257, u16::MAX] {
        assert_eq!(poll(&mut program, &[clock(1, 0, 0, flags)]), Err(INVAL), "{flags}");
    }
    assert_eq!(poll(&mut program, &[descriptor(1, 3, 0)]), Err(INVAL));
    assert_eq!(program.call("poll_oneoff", &[0, 0, -1, RESULT.into()]), FAULT);
    assert_eq!(program.call("poll_oneoff", &[0x1000, 0x3fff0, 1, RESULT.into()]), FAULT);
}
