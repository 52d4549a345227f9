//! Groups of options of `run`.
//!
//! | module | options |
//! | --- | --- |
//! | `failure` | `--coredump`, `--stacks` |
//! | `profiling` | `--profile`, `--perf-map`, `--jitdump`, `--native-debug` |
//! | `snapshots` | `--snapshot-on` |
//! | `timeout` | `--timeout` |
//! | `tracing` | `--trace` |

pub(crate) mod failure;
pub(crate) mod profiling;
pub(crate) mod snapshots;
pub(crate) mod timeout;
pub(crate) mod tracing;
