//! Runs the command and checks its output.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The exit code and the output of a process.
#[derive(Debug)]
pub struct Outcome {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    /// Fails unless the process succeeded and printed this, and no error.
    #[track_caller]
    pub fn prints(&self, stdout: &str) {
        assert_eq!(self.code, Some(0), "{self:?}");
        assert_eq!(self.stdout, stdout, "{self:?}");
        assert_eq!(self.stderr, "", "{self:?}");
    }

    /// Fails unless the process ended with this exit code and printed only an error that
    /// contains all of this.
    #[track_caller]
    pub fn fails(&self, code: i32, says: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        for part in says {
            assert!(self.stderr.contains(part), "{part:?} is missing in {:?}", self.stderr);
        }
    }
}

/// Runs the command in the root of the workspace.
pub fn ropewalk(arguments: &[&str]) -> Outcome {
    outcome(command(arguments).output().expect("the command starts"))
}

pub fn outcome(output: Output) -> Outcome {
    Outcome {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("the output is text"),
        stderr: String::from_utf8(output.stderr).expect("the errors are text"),
    }
}

/// Runs the command with this as its standard input.
pub fn with_input(arguments: &[&str], input: &str) -> Outcome {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("it is a pipe");
    stdin.write_all(input.as_bytes()).expect("the command reads its input");
    drop(stdin);
    outcome(child.wait_with_output().expect("the command ends"))
}

/// The subcommands in the output of `--help`, without `help`.
pub fn subcommands() -> Vec<String> {
    let help = ropewalk(&["--help"]).stdout;
    let (_, list) = help.split_once("Commands:\n").expect("a list of commands");
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter(|line| !line[2..].starts_with(' '));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// The command, not started yet.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
    command.args(arguments).current_dir(root()).stdin(Stdio::null());
    // Without a home directory there is no cache of compiled modules.
    command.env_remove("HOME").env_remove("XDG_CACHE_HOME");
    command
}

/// The root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file with these contents in a directory for tests. The name must be
/// unique among all tests.
pub fn file(name: &str, contents: impl AsRef<[u8]>) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, contents).expect("the file can be written");
    path.into_os_string().into_string().expect("the path is text")
}

/// The path of a file in the directory for tests that does not exist yet. The name must be
/// unique among all tests.
pub fn absent(name: &str) -> String {
    let path = file(name, "");
    std::fs::remove_file(&path).expect("it was just written");
    path
}
