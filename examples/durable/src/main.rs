//! The command: starts, runs, answers and shows workflows.

use anyhow::{Context, Result};
use clap::{Parser, Subcommand, ValueEnum};
use ropewalk_example_durable::database::{Change, Database, is_guarded};
use ropewalk_example_durable::guest::Guest;
use ropewalk_example_durable::requests::Shop;
use ropewalk_example_durable::snapshot::COSTS;
use ropewalk_example_durable::worker::Worker;
use ropewalk_example_durable::workflow::Answer;
use std::io::{Write as _, stdout};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Instant;

const ORDER: &str = include_str!("../guests/order.wat");

/// Long-running workflows as plain WebAssembly, which outlive their process
#[derive(Parser)]
struct Arguments {
    /// The database
    #[arg(long, default_value = "durable.redb")]
    database: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Adds workflows
    Start {
        /// The number of workflows
        #[arg(default_value_t = 1)]
        count: i64,
    },
    /// Runs all workflows until they have ended or wait for a decision
    Run {
        /// The server for requests; by default a shop in this process
        #[arg(long)]
        server: Option<SocketAddr>,
        /// Answers every question with this decision
        #[arg(long)]
        decide: Option<Decision>,
    },
    /// Answers the question of a workflow
    Answer {
        /// The number of the workflow
        id: u64,
        /// The answer
        decision: Decision,
    },
    /// Shows all workflows and their effects
    Show,
    /// Adds workflows, runs them to their ends, and prints the costs
    Measure {
        /// The number of workflows
        #[arg(default_value_t = 10_000)]
        count: i64,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Decision {
    Yes,
    No,
}

fn main() -> Result<()> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| match is_guarded() {
        // The panic becomes an error.
        true => {}
        false => hook(panic),
    }));
    let Arguments { database, command } = Arguments::parse();
    let database = Database::open(database)?;
    match command {
        Command::Start { count } => {
            let first = database.start(0..count)?;
            Ok(writeln!(stdout(), "added {count} workflows, beginning with {first}")?)
        }
        Command::Run { server, decide } => {
            let guest = Guest::new(ORDER)?;
            let server = server.map_or_else(own_shop, Ok)?;
            let decision = decide.map(|decision| decision == Decision::Yes);
            Worker::new(&database, &guest, server, decision)?.run()
        }
        Command::Answer { id, decision } => answer(&database, id, decision),
        Command::Show => show(&database),
        Command::Measure { count } => measure(&database, count),
    }
}

fn own_shop() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || Shop::default().serve(&listener));
    Ok(address)
}

fn answer(database: &Database, id: u64, decision: Decision) -> Result<()> {
    let answer = Answer::Decision(decision == Decision::Yes);
    let answered = database.workflow(id)?.answered(answer);
    let (workflow, effect) =
        answered.with_context(|| format!("workflow {id} does not ask a question"))?;
    database.commit(&[Change { id, workflow, image: None, effect }])
}

fn measure(database: &Database, count: i64) -> Result<()> {
    let guest = Guest::new(ORDER)?;
    database.start(0..count)?;
    let begun = Instant::now();
    Worker::new(database, &guest, own_shop()?, Some(true))?.run()?;
    let elapsed = begun.elapsed();
    let [taken, bytes, taking, restored, restoring] =
        [&COSTS.taken, &COSTS.bytes, &COSTS.taking, &COSTS.restored, &COSTS.restoring]
            .map(|cost| cost.load(Ordering::Relaxed) as f64);
    let mut out = stdout();
    writeln!(out, "{count} workflows, {taken} steps, {:.1} s", elapsed.as_secs_f64())?;
    writeln!(
        out,
        "a snapshot: {:.0} bytes, taken in {:.3} ms",
        bytes / taken,
        taking / taken / 1e6
    )?;
    Ok(writeln!(out, "restored in {:.3} ms", restoring / restored / 1e6)?)
}

fn show(database: &Database) -> Result<()> {
    let mut out = stdout();
    for (id, workflow) in database.workflows()? {
        writeln!(out, "workflow {id}, after {} steps: {:?}", workflow.step, workflow.state)?;
    }
    for effect in database.effects()? {
        writeln!(out, "workflow {}, step {}: {}", effect.id, effect.step, effect.what)?;
    }
    Ok(())
}
