//! Measures requests per second, and memory per waiting request.

use crate::load::Clients;
use anyhow::{Context, Result};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

/// The size of the measurement.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Size {
    /// The number of connections with waiting requests
    #[arg(long, default_value_t = 10_000)]
    pub waiting: usize,
    /// The number of connections that send requests one after another
    #[arg(long, default_value_t = 100)]
    pub busy: usize,
    /// The number of requests on each of these connections
    #[arg(long, default_value_t = 1000)]
    pub requests: usize,
}

/// A server in another process, which is killed on drop.
struct Process {
    child: Child,
    address: SocketAddr,
}

impl Process {
    fn start() -> Result<Process> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = command.args(["serve", "--port", "0"]).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("it is piped")?).read_line(&mut line)?;
        let address = line.trim_end().rsplit('/').next().context("an address")?.parse()?;
        Ok(Process { child, address })
    }

    /// The resident memory in bytes.
    fn resident(&self) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("VmRSS")?;
        Ok(line.trim_end_matches("kB").trim().parse::<f64>()? * 1024.0)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process may already have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Measures each way, and prints a table.
pub async fn run(size: Size) -> Result<()> {
    println!("| way | requests/s | memory of a waiting request, of {} |", size.waiting);
    println!("| --- | ---: | ---: |");
    let mut ways = vec!["native", "one", "own"];
    if cfg!(feature = "wasmtime") {
        ways.push("wasmtime");
    }
    for way in ways {
        let per_second = throughput(way, size).await;
        let bytes = waiting(way, size.waiting).await;
        let show = |measured: Result<String>| measured.unwrap_or_else(|error| format!("{error:#}"));
        let per_second = show(per_second.map(|rate| format!("{rate:.0}")));
        let bytes = show(bytes.map(|bytes| format!("{:.1} KiB", bytes / 1024.0)));
        println!("| {way} | {per_second} | {bytes} |");
    }
    Ok(())
}

/// Requests per second. Each request waits for a timer of a millisecond.
async fn throughput(way: &str, size: Size) -> Result<f64> {
    let server = Process::start()?;
    let path = format!("/{way}/wait/1");
    let mut clients = Clients::connect(server.address, size.busy).await?;
    clients.request(&path, 20).await?;
    let time = clients.request(&path, size.requests).await?;
    Ok((size.busy * size.requests) as f64 / time.as_secs_f64())
}

/// The additional memory of the server per waiting request, compared with as many idle
/// connections.
async fn waiting(way: &str, count: usize) -> Result<f64> {
    let server = Process::start()?;
    let mut one = Clients::connect(server.address, 1).await?;
    one.request(&format!("/{way}/wait/1"), 10).await?;
    let clients = Clients::connect(server.address, count).await?;
    let before = server.resident()?;
    let path = format!("/{way}/wait/600000");
    let during = clients.wait(&path, async || server.resident()).await??;
    Ok((during - before) / count as f64)
}
