//! Drives targets: runs cases for a given time.

use crate::child::{Verdict, Worker};
use crate::designs::RECORD;
use crate::finding::Finding;
use crate::minimize::minimize;
use crate::{Target, seeds};
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The parameters of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The total time.
    pub time: Duration,
    /// The first seed. The following seeds are consecutive.
    pub seed: u64,
    /// The number of child processes.
    pub jobs: usize,
    /// The time limit of a case.
    pub timeout: Duration,
    /// The folder for findings.
    pub out: PathBuf,
}

/// The number of findings of one class that are minimized and written.
const ENOUGH: usize = 3;

/// The time between progress reports.
const INTERVAL: Duration = Duration::from_secs(10);

struct Progress {
    begun: Instant,
    /// The number of seeds handed out, for all targets together.
    next: AtomicU64,
    cases: AtomicU64,
    findings: AtomicU64,
    classes: Mutex<HashMap<String, usize>>,
    reported: Mutex<Instant>,
}

/// Runs cases of all targets in turn, and returns the number of findings.
pub fn drive(targets: &[Box<dyn Target>], plan: &Plan) -> io::Result<u64> {
    let progress = Progress {
        begun: Instant::now(),
        next: AtomicU64::new(0),
        cases: AtomicU64::new(0),
        findings: AtomicU64::new(0),
        classes: Mutex::default(),
        reported: Mutex::new(Instant::now()),
    };
    std::thread::scope(|scope| {
        let jobs: Vec<_> =
            (0..plan.jobs.max(1)).map(|_| scope.spawn(|| work(targets, plan, &progress))).collect();
        jobs.into_iter().try_for_each(|job| {
            job.join().unwrap_or_else(|_| Err(io::Error::other("a job panicked")))
        })
    })?;
    progress.report();
    Ok(progress.findings.load(Ordering::Relaxed))
}

fn work(targets: &[Box<dyn Target>], plan: &Plan, progress: &Progress) -> io::Result<()> {
    let mut worker = Worker::new(plan.timeout);
    while progress.begun.elapsed() < plan.time && !targets.is_empty() {
        let number = progress.next.fetch_add(1, Ordering::Relaxed);
        let target = &targets[(number % targets.len() as u64) as usize];
        let seed = plan.seed.wrapping_add(number / targets.len() as u64);
        let verdict = worker.check(target.name(), &seeds::entropy(seed))?;
        progress.cases.fetch_add(1, Ordering::Relaxed);
        if verdict != Verdict::Fine {
            found(target.as_ref(), seed, &verdict, &mut worker, plan, progress)?;
        }
        progress.report_sometimes();
    }
    Ok(())
}

/// Minimizes and writes a finding, unless its class already has enough.
fn found(
    target: &dyn Target,
    seed: u64,
    verdict: &Verdict,
    worker: &mut Worker,
    plan: &Plan,
    progress: &Progress,
) -> io::Result<()> {
    progress.findings.fetch_add(1, Ordering::Relaxed);
    let class = verdict.class().unwrap_or_default();
    {
        let mut classes = crate::lock(&progress.classes);
        let count = classes.entry(format!("{} {class}", target.name())).or_default();
        *count += 1;
        if *count > ENOUGH {
            return Ok(());
        }
    }
    eprintln!("{}, seed {seed}: {}", target.name(), verdict.problem().unwrap_or_default());
    let entropy = minimize(seeds::entropy(seed), RECORD, |bytes| {
        let again = worker.check(target.name(), bytes);
        again.is_ok_and(|verdict| verdict.class().as_deref() == Some(&class))
    });
    let last = worker.check(target.name(), &entropy)?;
    let problem = last.problem().or(verdict.problem()).unwrap_or_default();
    let finding = Finding { target: target.name().to_string(), seed, problem, entropy };
    let path = finding.write(target, &plan.out)?;
    eprintln!("  {} bytes are left: {}", finding.entropy.len(), path.display());
    Ok(())
}

impl Progress {
    fn report_sometimes(&self) {
        let mut reported = crate::lock(&self.reported);
        if reported.elapsed() > INTERVAL {
            *reported = Instant::now();
            drop(reported);
            self.report();
        }
    }

    fn report(&self) {
        let seconds = self.begun.elapsed().as_secs_f64();
        let cases = self.cases.load(Ordering::Relaxed);
        let findings = self.findings.load(Ordering::Relaxed);
        let rate = cases as f64 / seconds.max(0.001);
        eprintln!("{seconds:.0} s: {cases} cases, {rate:.0} each second, {findings} findings");
    }
}
