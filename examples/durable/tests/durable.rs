//! Workflows take each step once, even if their process is killed repeatedly.

#[path = "../../../crates/ropewalk/tests/sample/mod.rs"]
mod sample;

use ropewalk_example_durable::database::{Change, Database};
use ropewalk_example_durable::guest::Guest;
use ropewalk_example_durable::requests::Shop;
use ropewalk_example_durable::worker::Worker;
use ropewalk_example_durable::workflow::{Answer, State, Workflow};
use sample::sample_or_all;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::panic::catch_unwind;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A shop that outlives the processes that send it requests.
fn shop() -> (Shop, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (shop, address) = (Shop::default(), listener.local_addr().unwrap());
    let served = shop.clone();
    std::thread::spawn(move || served.serve(&listener));
    (shop, address)
}

fn guest() -> Guest {
    Guest::new(include_str!("../guests/order.wat")).unwrap()
}

/// The effects of an order, with their steps.
fn expected(order: u64, yes: bool) -> Vec<(u32, String)> {
    let received = (1, format!("log received {order} 0"));
    if order % 10 == 7 {
        let reserved = (2, format!("http reserve {order} 0: 410"));
        return vec![received, reserved, (3, format!("log sold out {order} 0"))];
    }
    let mut effects = vec![received, (2, format!("http reserve {order} 0: 200"))];
    let charges = (1..=3).map(|part| (2 + 2 * part, format!("http charge {order} {part}: 200")));
    effects.extend(charges);
    if yes {
        effects.push((9, format!("approve ship {order} 600: yes")));
        effects.push((11, format!("log shipped {order} 600")));
    } else {
        effects.push((9, format!("approve ship {order} 600: no")));
        effects.push((10, format!("http refund {order} 600: 200")));
        effects.push((11, format!("log refused {order} 0")));
    }
    effects
}

/// Checks that every order has ended, that each step was taken once, and that the shop executed
/// each request once.
#[track_caller]
fn assert_all_done(database: &Database, shop: &Shop, count: u64, yes: bool) {
    for (id, workflow) in database.workflows().unwrap() {
        let code = if id % 10 == 7 { 1 } else { 2 * i32::from(!yes) };
        assert_eq!(workflow.state, State::Ended(code), "workflow {id}");
    }
    let mut effects: BTreeMap<u64, Vec<(u32, String)>> = BTreeMap::new();
    for effect in database.effects().unwrap() {
        effects.entry(effect.id).or_default().push((effect.step, effect.what));
    }
    assert_eq!(effects.len() as u64, count);
    let mut requests = BTreeMap::new();
    for (id, effects) in effects {
        assert_eq!(effects, expected(id, yes), "workflow {id}");
        for (step, effect) in effects {
            if let Some(request) = effect.strip_prefix("http ") {
                let (request, _) = request.rsplit_once(": ").unwrap();
                requests.insert(format!("{id}/{step}"), request.to_owned());
            }
        }
    }
    let mut done: BTreeMap<_, _> =
        shop.done().into_iter().map(|(key, (body, _))| (key, body)).collect();
    for (key, request) in requests {
        assert_eq!(done.remove(&key), Some(request), "{key}");
    }
    assert_eq!(done, BTreeMap::new(), "nothing else was done");
}

#[test]
fn a_workflow_waits_for_a_decision_without_a_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let ((shop, server), guest) = (shop(), guest());
    let database = Database::open(&path).unwrap();
    database.start([0]).unwrap();
    Worker::new(&database, &guest, server, None).unwrap().run().unwrap();
    let waiting = database.workflow(0).unwrap();
    assert_eq!(waiting.state, State::Asking("ship 0 600".into()));
    // In another process, later.
    drop(database);
    let database = Database::open(&path).unwrap();
    let (workflow, effect) = waiting.answered(Answer::Decision(false)).unwrap();
    database.commit(&[Change { id: 0, workflow, image: None, effect }]).unwrap();
    Worker::new(&database, &guest, server, None).unwrap().run().unwrap();
    assert_all_done(&database, &shop, 1, false);
}

#[test]
fn a_workflow_that_traps_fails_and_others_continue() {
    let source = r#"
        (module
          (import "durable" "sleep" (func $sleep (param i64)))
          (memory (export "memory") 1)
          (func (export "run") (param i64) (result i32)
            (call $sleep (i64.const 1))
            (i32.wrap_i64 (i64.div_s (i64.const 6) (local.get 0)))))
    "#;
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path().join("db")).unwrap();
    database.start([0, 2]).unwrap();
    let guest = Guest::new(source).unwrap();
    Worker::new(&database, &guest, shop().1, None).unwrap().run().unwrap();
    let State::Failed(why) = database.workflow(0).unwrap().state else { panic!("it divides") };
    assert!(why.contains("integer divide by zero"), "{why}");
    assert_eq!(database.workflow(1).unwrap().state, State::Ended(3));
}

/// A number from an environment variable.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(default)
}

#[test]
fn many_workflows_run_concurrently() {
    let count = setting("DURABLE_WORKFLOWS", 10_000);
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path().join("db")).unwrap();
    database.start(0..count as i64).unwrap();
    let ((shop, server), guest) = (shop(), guest());
    Worker::new(&database, &guest, server, None).unwrap().run().unwrap();
    // All of them wait.
    let asking = |(_, workflow): &(u64, Workflow)| matches!(workflow.state, State::Asking(_));
    let asking = database.workflows().unwrap().iter().filter(|entry| asking(entry)).count();
    assert_eq!(asking as u64, count - (count + 2) / 10);
    Worker::new(&database, &guest, server, Some(true)).unwrap().run().unwrap();
    assert_all_done(&database, &shop, count, true);
}

/// Runs the command, and kills it after a time.
fn run(path: &Path, server: SocketAddr, kill_after: Option<Duration>) -> bool {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ropewalk-example-durable"))
        .arg("--database")
        .arg(path)
        .args(["run", "--decide", "yes", "--server", &server.to_string()])
        .spawn()
        .unwrap();
    if let Some(time) = kill_after {
        std::thread::sleep(time);
        child.kill().unwrap();
    }
    child.wait().unwrap().success()
}

#[test]
fn killed_workflows_take_each_step_once() {
    const COUNT: u64 = 60;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let (shop, server) = shop();
    let (mut number, mut killed, mut started) = (1_u64, 0, 0);
    let mut start = || {
        let more = started..started + COUNT as i64;
        started = more.end;
        Database::open(&path).unwrap().start(more).unwrap();
    };
    start();
    while killed < setting("DURABLE_KILLS", sample_or_all(100, 1000)) {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let time = Duration::from_micros((number >> 33) % 80_000);
        match run(&path, server, Some(time)) {
            // All workflows ended before the process was killed.
            true => start(),
            false => killed += 1,
        }
    }
    assert!(run(&path, server, None));
    let database = Database::open(&path).unwrap();
    assert_all_done(&database, &shop, started as u64, true);
    let (done, sent) = (shop.done(), shop.done().values().map(|(_, sent)| sent).sum::<usize>());
    println!(
        "{started} workflows, killed {killed} times; {} requests were sent {sent} times",
        done.len()
    );
}

/// Reads everything in a database.
fn look(path: &Path) -> anyhow::Result<()> {
    let database = Database::open(path)?;
    for (id, workflow) in database.workflows()? {
        if matches!(workflow.state, State::Ready(_) | State::Asking(_)) {
            database.image(id)?;
        }
    }
    database.effects()?;
    Ok(())
}

#[test]
fn a_damaged_database_is_an_error_or_unaffected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let database = Database::open(&path).unwrap();
    database.start(0..30).unwrap();
    Worker::new(&database, &guest(), shop().1, None).unwrap().run().unwrap();
    drop(database);
    let bytes = std::fs::read(&path).unwrap();
    look(&path).unwrap();

    let damaged = folder.path().join("damaged");
    let mut errors = 0;
    let mut try_with = |bytes: &[u8], what: &str| {
        std::fs::write(&damaged, bytes).unwrap();
        // There is no panic.
        let result = catch_unwind(|| look(&damaged));
        errors += usize::from(result.unwrap_or_else(|_| panic!("{what}")).is_err());
    };
    // Each byte of the header, and a sample of the other bytes that are not zero.
    let others = (320..bytes.len()).filter(|at| bytes[*at] != 0).step_by(401);
    let places: Vec<usize> = (0..320).chain(others).collect();
    for at in &places {
        let mut bytes = bytes.clone();
        bytes[*at] ^= [0x01, 0x80, 0xFF][at % 3];
        try_with(&bytes, &format!("byte {at}"));
    }
    for len in (0..bytes.len()).step_by(bytes.len() / 20) {
        try_with(&bytes[..len], &format!("{len} bytes"));
        let mut zeros = bytes.clone();
        zeros[len..].fill(0);
        try_with(&zeros, &format!("zeros from {len} on"));
        let mut noise = bytes.clone();
        noise[len..].iter_mut().for_each(|byte| *byte = byte.wrapping_mul(31).wrapping_add(7));
        try_with(&noise, &format!("noise from {len} on"));
    }
    try_with(&[], "nothing");
    try_with(&[bytes.clone(), vec![1; 5000]].concat(), "more at the end");
    println!("{errors} errors; {} bytes of {} were changed", places.len(), bytes.len());
    assert!(errors > 100, "{errors}");
}

#[test]
fn the_command_fails_if_the_database_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    Database::open(&path).unwrap().start(0..30).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    for begin in [9, 64, 128, 4096, bytes.len() / 2] {
        for commands in [&["show"][..], &["run"], &["start", "2"], &["answer", "0", "yes"]] {
            let mut damaged = bytes.clone();
            damaged[begin..].iter_mut().for_each(|byte| *byte ^= 0x55);
            std::fs::write(&path, &damaged).unwrap();
            let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk-example-durable"));
            let ended = command.arg("--database").arg(&path).args(commands).output().unwrap();
            let stderr = String::from_utf8(ended.stderr).unwrap();
            assert_eq!(ended.status.code(), Some(1), "{begin} {commands:?}: {stderr}");
            assert!(stderr.starts_with("Error: ") && !stderr.contains("panicked"), "{stderr}");
        }
    }
}
