//! Runs cases in a child process.
//!
//! A case may end its process, or never end. So the driver runs each case in a child, and reports
//! what happened to it:
//!
//! ```text
//!   driver                          child
//!     | --- target, bytes in hex ---> |
//!     | <------------------- "ok" --- |    or "bad" and a description
//!     |            or nothing: it died, or it takes too long
//! ```

use crate::{Target, seeds, targets};
use std::io::{self, BufRead, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, Once};
use std::time::Duration;

/// The command-line option of a child.
pub const CHILD: &str = "--child";

/// The outcome of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No problem was found.
    Fine,
    /// The target reported a problem, or panicked.
    Wrong(String),
    /// The child process ended.
    Died(String),
    /// The case exceeded its time limit.
    Endless,
}

impl Verdict {
    /// A description of the problem.
    pub fn problem(&self) -> Option<String> {
        match self {
            Verdict::Fine => None,
            Verdict::Wrong(what) => Some(what.clone()),
            Verdict::Died(how) => Some(format!("the process died: {how}")),
            Verdict::Endless => Some("it did not end in time".to_string()),
        }
    }

    /// The class of the finding: the first line of the problem, without its numbers.
    pub fn class(&self) -> Option<String> {
        let problem = self.problem()?;
        let line = problem.lines().next().unwrap_or_default();
        Some(line.chars().filter(|character| !character.is_ascii_digit()).collect())
    }
}

/// Runs a case in this process. A panic is a problem too.
pub fn check(target: &dyn Target, entropy: &[u8]) -> Result<(), String> {
    static HOOK: Once = Once::new();
    static PANIC: Mutex<String> = Mutex::new(String::new());
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            *crate::lock(&PANIC) = info.to_string();
        }));
    });
    catch_unwind(AssertUnwindSafe(|| target.check(entropy))).unwrap_or_else(|_| {
        let panic = crate::lock(&PANIC);
        Err(panic.replace('\n', " "))
    })
}

/// The child's side: runs the requested cases until the driver is gone.
pub fn serve() -> io::Result<()> {
    let targets = targets();
    let mut output = io::stdout();
    for line in io::stdin().lines() {
        let line = line?;
        let (name, hex) = line.split_once(' ').unwrap_or((&line, ""));
        let target = targets.iter().find(|target| target.name() == name);
        let outcome = match (target, seeds::from_hex(hex)) {
            (Some(target), Some(entropy)) => check(target.as_ref(), &entropy),
            _ => Err(format!("not a request: {line}")),
        };
        match outcome {
            Ok(()) => writeln!(output, "ok")?,
            Err(what) => writeln!(output, "bad {}", what.escape_default())?,
        }
        output.flush()?;
    }
    Ok(())
}

/// The driver's side: a child that is replaced when it dies.
pub struct Worker {
    timeout: Duration,
    process: Option<Process>,
}

struct Process {
    child: Child,
    requests: ChildStdin,
    responses: Receiver<String>,
}

impl Worker {
    /// Creates a worker with a time limit for each case.
    pub fn new(timeout: Duration) -> Worker {
        Worker { timeout, process: None }
    }

    /// Runs a case in the child.
    pub fn check(&mut self, target: &str, entropy: &[u8]) -> io::Result<Verdict> {
        let mut process = match self.process.take() {
            Some(process) => process,
            None => Process::start()?,
        };
        // A dead child is noticed below, when it sends no verdict.
        let _ = writeln!(process.requests, "{target} {}", seeds::to_hex(entropy));
        let _ = process.requests.flush();
        match process.responses.recv_timeout(self.timeout) {
            Ok(response) => {
                self.process = Some(process);
                Ok(match response.strip_prefix("bad ") {
                    Some(what) => Verdict::Wrong(unescape(what)),
                    None => Verdict::Fine,
                })
            }
            Err(RecvTimeoutError::Timeout) => {
                process.child.kill()?;
                process.child.wait()?;
                Ok(Verdict::Endless)
            }
            Err(RecvTimeoutError::Disconnected) => {
                Ok(Verdict::Died(process.child.wait()?.to_string()))
            }
        }
    }
}

impl Process {
    fn start() -> io::Result<Process> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(CHILD)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let requests =
            child.stdin.take().ok_or_else(|| io::Error::other("no pipe to the child"))?;
        let output = child.stdout.take().ok_or_else(|| io::Error::other("no pipe to the child"))?;
        let (sender, responses) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Process { child, requests, responses })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Unescapes line breaks and quotes only.
fn unescape(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\\"", "\"").replace("\\'", "'")
}
