//! Follows the guides in `docs/guides`: writes their files, runs their commands, and compares
//! the output.
//!
//! A block of code whose first line names a file, as in `` ```c hello.c ``, is that file.
//! A block of `sh` contains commands, and the block of `text` after it their output. A guide is
//! followed until a tool is missing, which the test reports. A guide that fetches packages is
//! followed only if `ROPEWALK_FETCH` is set, since a registry may be slow or unavailable.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::root;

/// A block of code.
struct Block {
    language: String,
    file: Option<String>,
    text: String,
}

fn blocks(guide: &str) -> Vec<Block> {
    let (mut blocks, mut lines) = (Vec::new(), guide.lines());
    while let Some(line) = lines.next() {
        let Some(head) = line.strip_prefix("```") else { continue };
        let mut words = head.split_whitespace().map(str::to_owned);
        let language = words.next().unwrap_or_default();
        let text = lines.by_ref().take_while(|line| *line != "```");
        let text = text.map(|line| format!("{line}\n")).collect();
        blocks.push(Block { language, file: words.next(), text });
    }
    blocks
}

/// Whether the tools that commands use are in these directories.
fn have_tools(commands: &str, path: &str) -> bool {
    let is_there = |tool: &str| path.split(':').any(|folder| Path::new(folder).join(tool).exists());
    tools(commands).into_iter().all(is_there)
}

/// The programs that commands run: the first words, except shell keywords, assignments and
/// functions that the commands define.
fn tools(commands: &str) -> Vec<&str> {
    let defines = |word: &str| commands.contains(&format!("{word}()"));
    let of_shell = |word: &str| {
        matches!(word, "do" | "done" | "{" | "}") || word.contains('=') || word.ends_with("()")
    };
    let commands = commands.lines().flat_map(|line| line.split(['|', ';']));
    let tools = commands.filter_map(|command| {
        let mut words = command.split_whitespace();
        words.find(|word| !of_shell(word)).filter(|word| *word != "for" && !defines(word))
    });
    tools.collect()
}

#[test]
fn the_tools_of_commands_are_the_programs_that_they_run() {
    let commands = "for x in a b\ndo A=1 mvn -q $x; done\nf() { java \"$@\"; }\nf x | sort\n";
    assert_eq!(tools(commands), ["mvn", "java", "sort"]);
}

/// The search path for commands, which begins with the folder of `ropewalk`.
fn path() -> String {
    let own = Path::new(env!("CARGO_BIN_EXE_ropewalk")).parent().expect("a folder");
    let path = format!("{}:{}", own.display(), std::env::var("PATH").unwrap_or_default());
    with_zig(path, &scratch("zig of Python"))
}

/// A search path that contains `zig`. If only its Python package is installed, `folder` gets a
/// script named `zig` that runs the package.
fn with_zig(path: String, folder: &Path) -> String {
    let python = |script: &str| {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", script]).env("PATH", &path).output().expect("a shell").status.success()
    };
    if have_tools("zig", &path) || !python("python3 -c 'import ziglang'") {
        return path;
    }
    let zig = folder.join("zig");
    std::fs::write(&zig, "#!/bin/sh\nexec python3 -m ziglang \"$@\"\n").expect("a file");
    std::fs::set_permissions(&zig, Permissions::from_mode(0o755)).expect("a command");
    format!("{}:{path}", folder.display())
}

#[test]
fn zig_is_found_as_a_python_package() {
    let (tools, folder) = (scratch("a Python with zig"), scratch("zig for the test"));
    let python = tools.join("python3");
    let zig = |path: &str| {
        let output = Command::new("/bin/sh").args(["-c", "zig version"]).env("PATH", path).output();
        String::from_utf8(output.expect("a shell").stdout).expect("text")
    };
    let path = tools.display().to_string();
    // No Python, Python without the package, and with it.
    assert_eq!(with_zig(path.clone(), &folder), path);
    for (script, printed) in [("exit 1", ""), ("echo $*", "-m ziglang version\n")] {
        std::fs::write(&python, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&python, Permissions::from_mode(0o755)).unwrap();
        assert_eq!(zig(&with_zig(path.clone(), &folder)), printed);
    }
}

/// Follows a guide in an empty folder.
fn follow(name: &str) {
    let guide = std::fs::read_to_string(root().join("docs/guides").join(name)).expect("a guide");
    let blocks = blocks(&guide);
    let (folder, path) = (scratch(name), path());
    let mut commands = blocks.iter().filter(|block| block.language == "sh");
    let fetches = commands.any(|block| tools(&block.text).contains(&"mvn"));
    if fetches && std::env::var_os("ROPEWALK_FETCH").is_none() {
        eprintln!(
            "{name}: not followed, since it fetches packages and `ROPEWALK_FETCH` is not set"
        );
        return;
    }
    let mut printed = None;
    for block in &blocks {
        match (&block.file, &*block.language) {
            (Some(file), _) => std::fs::write(folder.join(file), &block.text).expect("a file"),
            (None, "sh") if !have_tools(&block.text, &path) => {
                let tools = tools(&block.text).join(", ");
                eprintln!("{name}: followed up to where one of these is missing: {tools}");
                return;
            }
            (None, "sh") => printed = Some(run(&block.text, &folder, &path)),
            (None, "text") => assert_eq!(printed.take().as_ref(), Some(&block.text), "{name}"),
            _ => {}
        }
    }
    assert!(printed.is_none(), "{name} does not say what its last commands print");
}

/// Runs commands, which must succeed; returns their output.
fn run(commands: &str, folder: &Path, path: &str) -> String {
    let script = format!("exec 2>&1\n{commands}");
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", &script]).current_dir(folder);
    shell.env("PATH", path).env("ROPEWALK", root());
    let output = shell.output().expect("a shell");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{commands}{text}");
    text
}

/// An empty folder.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guides").join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("it can be removed");
    }
    std::fs::create_dir_all(&folder).expect("it can be made");
    folder
}

fn guides() -> Vec<String> {
    let files = std::fs::read_dir(root().join("docs/guides")).expect("the guides");
    let names = files.map(|file| file.expect("a file").file_name().into_string().expect("text"));
    names.filter(|name| name != "README.md").collect()
}

#[test]
fn guides_work() {
    for name in guides() {
        follow(&name);
    }
}

#[test]
fn a_guide_reaches_its_first_program_in_less_than_ten_lines() {
    for name in guides() {
        let guide = std::fs::read_to_string(root().join("docs/guides").join(&name)).unwrap();
        let blocks = blocks(&guide);
        let first = blocks.iter().position(|block| block.language == "text").expect("an output");
        let lines = blocks[..first].iter().flat_map(|block| block.text.lines());
        let lines = lines.filter(|line| !line.trim().is_empty()).count();
        assert!(lines < 10, "{name}: {lines} lines");
    }
}

#[test]
fn every_guide_is_listed() {
    let list = std::fs::read_to_string(root().join("docs/guides/README.md")).unwrap();
    for name in guides() {
        assert!(list.contains(&format!("({name})")), "{name}");
    }
}
