//! Arguments, environment, clocks, random numbers, and the end of a program.

use crate::program::errno::*;
use crate::program::{RESULT, with};
use ropewalk_wasi::{Clock, I32Exit, WasiCtx};
use std::time::Duration;

#[test]
fn arguments_and_environment_have_terminating_zeros() {
    let mut builder = WasiCtx::builder();
    builder.args(&["program", "", "ä"]).env("A", "1").env("B", "").env("A", "2");
    let mut program = with(&mut builder);
    for (name, count, text) in [("args", 3, "program\0\0ä\0"), ("environ", 2, "B=\0A=2\0")] {
        let sizes = [RESULT.into(), i64::from(RESULT) + 4];
        assert_eq!(program.call(&format!("{name}_sizes_get"), &sizes), SUCCESS);
        assert_eq!((program.u32(RESULT), program.u32(RESULT + 4)), (count, text.len() as u32));
        assert_eq!(program.call(&format!("{name}_get"), &[0x200, 0x300]), SUCCESS);
        assert_eq!(program.bytes(0x300, text.len()), text.as_bytes());
        assert_eq!(program.u32(0x200), 0x300);
        let second = 0x300 + text.find('\0').unwrap() as u32 + 1;
        assert_eq!(program.u32(0x204), second);
    }
}

#[test]
fn arguments_and_environment_of_the_host_can_be_inherited() {
    let mut builder = WasiCtx::builder();
    let mut program = with(builder.inherit_args().inherit_env());
    let counts = [("args", std::env::args_os().count()), ("environ", std::env::vars_os().count())];
    for (name, count) in counts {
        let sizes = [RESULT.into(), i64::from(RESULT) + 4];
        assert_eq!(program.call(&format!("{name}_sizes_get"), &sizes), SUCCESS);
        assert_eq!(program.u32(RESULT) as usize, count, "{name}");
    }
}

#[test]
fn by_default_there_are_no_arguments_or_variables() {
    let mut program = with(&mut WasiCtx::builder());
    for name in ["args_sizes_get", "environ_sizes_get"] {
        assert_eq!(program.call(name, &[RESULT.into(), i64::from(RESULT) + 4]), SUCCESS);
        assert_eq!(program.u64(RESULT), 0);
    }
    assert_eq!(program.call("fd_prestat_get", &[3, RESULT.into()]), BADF);
}

#[test]
fn every_clock_has_a_resolution_and_advances() {
    let mut program = with(&mut WasiCtx::builder());
    for id in 0..4 {
        assert_eq!(program.call("clock_res_get", &[id, RESULT.into()]), SUCCESS);
        assert!(program.u64(RESULT) > 0);
        assert_eq!(program.call("clock_time_get", &[id, 0, RESULT.into()]), SUCCESS);
        let before = program.u64(RESULT);
        assert_eq!(program.call("clock_time_get", &[id, 0, RESULT.into()]), SUCCESS);
        assert!(program.u64(RESULT) >= before, "{id}");
    }
    assert_eq!(program.call("clock_time_get", &[4, 0, RESULT.into()]), INVAL);
    assert_eq!(program.call("clock_res_get", &[-1, RESULT.into()]), INVAL);
}

struct Stopped(Duration);

impl Clock for Stopped {
    fn resolution(&self) -> Duration {
        Duration::from_micros(1)
    }

    fn now(&self) -> Duration {
        self.0
    }
}

#[test]
fn clocks_and_random_numbers_can_be_replaced() {
    let mut builder = WasiCtx::builder();
    builder.wall_clock(Stopped(Duration::from_secs(1))).monotonic_clock(Stopped(Duration::MAX));
    builder.random(|buffer| buffer.fill(7));
    let mut program = with(&mut builder);
    assert_eq!(program.call("clock_time_get", &[0, 0, RESULT.into()]), SUCCESS);
    assert_eq!(program.u64(RESULT), 1_000_000_000);
    assert_eq!(program.call("clock_res_get", &[0, RESULT.into()]), SUCCESS);
    assert_eq!(program.u64(RESULT), 1000);
    // A time that does not fit into 64 bits is an error.
    assert_eq!(program.call("clock_time_get", &[1, 0, RESULT.into()]), 61);
    assert_eq!(program.call("random_get", &[RESULT.into(), 3]), SUCCESS);
    assert_eq!(program.bytes(RESULT, 4), [7, 7, 7, 0]);
}

#[test]
fn a_large_buffer_is_filled_with_random_bytes() {
    let mut program = with(&mut WasiCtx::builder());
    assert_eq!(program.call("random_get", &[0x1000, 0x20000]), SUCCESS);
    assert!(program.bytes(0x1000 + 0x1ff00, 0x100).iter().any(|byte| *byte != 0));
    assert_eq!(program.call("random_get", &[0, 0]), SUCCESS);
    assert_eq!(program.call("random_get", &[0x1000, -1]), FAULT);
}

#[test]
fn a_program_ends_with_its_code() {
    let mut program = with(&mut WasiCtx::builder());
    for code in [0, 1, 255, -1] {
        let error = program.try_call("proc_exit", &[code.into()]).unwrap_err();
        assert_eq!(error.downcast_ref::<I32Exit>(), Some(&I32Exit(code)));
    }
}

#[test]
fn a_signal_has_its_default_action() {
    let mut program = with(&mut WasiCtx::builder());
    assert_eq!(program.call("proc_raise", &[0]), SUCCESS);
    assert_eq!(program.call("proc_raise", &[16]), SUCCESS);
    assert_eq!(program.call("proc_raise", &[18]), NOTSUP);
    assert_eq!(program.call("proc_raise", &[31]), INVAL);
    let error = program.try_call("proc_raise", &[6]).unwrap_err();
    assert_eq!(error.downcast_ref::<I32Exit>(), Some(&I32Exit(134)));
}

#[test]
fn a_program_can_yield() {
    assert_eq!(with(&mut WasiCtx::builder()).call("sched_yield", &[]), SUCCESS);
}
