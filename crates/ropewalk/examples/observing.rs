//! Measures the costs of observing a program: tracing, kept and streamed, and profiling.
//!
//! ```sh
//! cargo run --release --example observing
//! ```
//!
//! Each is compared with the unobserved program in the same run, in turns. The best times are
//! printed.

use ropewalk::*;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often each is measured.
const ROUNDS: usize = 5;
/// How many round trips, of two events each. How many steps of a loop.
const TRIPS: i32 = 500_000;
const STEPS: i32 = 100_000_000;

const PROGRAM: &str = r#"(module $m
  (type $f (func)) (type $c (cont $f)) (tag $yield)
  (elem declare func $body)
  (func $body (loop $l (suspend $yield) (br $l)))
  (func (export "trips") (param $n i32) (local $c (ref null $c))
    (local.set $c (cont.new $c (ref.func $body)))
    (loop $more
      (block $on (result (ref $c))
        (resume $c (on $yield $on) (local.get $c))
        (unreachable))
      (local.set $c)
      (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
  (func (export "loops") (param $n i32) (local $x i32)
    (loop $l
      (local.set $x (i32.mul (i32.add (local.get $x) (local.get $n)) (i32.const 747796405)))
      (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))"#;

/// A writer that only counts bytes.
#[derive(Clone, Default)]
struct Counted(Arc<AtomicU64>);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The time that an export takes, between `prepare` and the end of `finish`.
fn time(
    config: &Config,
    export: &str,
    count: i32,
    prepare: impl Fn(&mut Store<()>) -> Result<()>,
    finish: impl Fn(&mut Store<()>) -> Result<()>,
) -> Result<Duration> {
    let engine = Engine::new(config)?;
    let module = Module::new(&engine, PROGRAM)?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[])?;
    let run = instance.get_typed_func::<i32, ()>(&mut store, export)?;
    run.call(&mut store, 1000)?;
    prepare(&mut store)?;
    let begun = Instant::now();
    run.call(&mut store, count)?;
    finish(&mut store)?;
    Ok(begun.elapsed())
}

fn best(times: &[Duration]) -> f64 {
    times.iter().min().expect("some rounds").as_secs_f64()
}

fn traces() -> Result<()> {
    let mut traced = Config::new();
    traced.trace(true);
    let nothing = |_: &mut Store<()>| Ok(());
    let [mut plain, mut ring, mut stream, mut handed_over, mut file] = [const { Vec::new() }; 5];
    let (bytes, dropped) = (Counted::default(), AtomicU64::new(0));
    let path = std::env::temp_dir().join(format!("observing-{}.rwtrace", std::process::id()));
    for _ in 0..ROUNDS {
        plain.push(time(&Config::new(), "trips", TRIPS, nothing, nothing)?);
        ring.push(time(&traced, "trips", TRIPS, |s| s.set_trace_limit(100_000), nothing)?);
        // First the program waits for the writer, then it drops events.
        let to = |s: &mut Store<()>| s.stream_trace(bytes.clone(), "", WhenBehind::Wait);
        stream.push(time(&traced, "trips", TRIPS, to, |s| s.finish_trace().map(drop))?);
        let to = |s: &mut Store<()>| s.stream_trace(Counted::default(), "", WhenBehind::Drop);
        let end = |s: &mut Store<()>| {
            dropped.fetch_add(s.finish_trace()?, Ordering::Relaxed);
            Ok(())
        };
        handed_over.push(time(&traced, "trips", TRIPS, to, end)?);
        let to =
            |s: &mut Store<()>| s.stream_trace(std::fs::File::create(&path)?, "", WhenBehind::Wait);
        file.push(time(&traced, "trips", TRIPS, to, |s| s.finish_trace().map(drop))?);
    }
    std::fs::remove_file(&path)?;
    let events = 2.0 * f64::from(TRIPS);
    println!("two events, suspend and resume      ns   events in a second");
    let row = |name: &str, times: &[Duration]| {
        let time = best(times);
        println!(
            "  {name:28} {:8.1} {:12.2} million",
            time / f64::from(TRIPS) * 1e9,
            events / time / 1e6
        );
    };
    row("not traced", &plain);
    row("kept in a ring", &ring);
    row("streamed, waiting", &stream);
    row("streamed, dropping", &handed_over);
    row("streamed to a file, waiting", &file);
    let per_event = bytes.0.load(Ordering::Relaxed) as f64 / events / ROUNDS as f64;
    let dropped = dropped.load(Ordering::Relaxed) as f64 / events / ROUNDS as f64;
    println!(
        "  {per_event:.1} bytes for each event; {:.0} % dropped where they may be",
        100.0 * dropped
    );
    Ok(())
}

fn profiles() -> Result<()> {
    let mut interrupted = Config::new();
    interrupted.interruption(true);
    let nothing = |_: &mut Store<()>| Ok(());
    let sample = |s: &mut Store<()>| s.start_profile(Duration::from_millis(1));
    let finish = |s: &mut Store<()>| s.take_profile().map(drop);
    for (name, export, count) in [("a loop", "loops", STEPS), ("round trips", "trips", 10 * TRIPS)]
    {
        let [mut plain, mut off, mut on] = [const { Vec::new() }; 3];
        for _ in 0..ROUNDS {
            plain.push(time(&Config::new(), export, count, nothing, nothing)?);
            off.push(time(&interrupted, export, count, nothing, nothing)?);
            on.push(time(&interrupted, export, count, sample, finish)?);
        }
        let plain = best(&plain);
        let ratio = |times: &[Duration]| best(times) / plain;
        println!("{name}: {:.2} ns a step", plain / f64::from(count) * 1e9);
        println!("  can be interrupted           {:.2} times", ratio(&off));
        println!("  sampled each millisecond     {:.2} times", ratio(&on));
    }
    Ok(())
}

fn main() -> Result<()> {
    traces()?;
    profiles()
}
