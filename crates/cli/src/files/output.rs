//! Writes output files without damaging the files that they replace.
//!
//! A file that is replaced may be in use: a compiled module that is mapped and runs, a recording
//! that is replayed. So its bytes never change. A new file is written next to it and renamed.
//! Links are followed. Pipes, terminals and devices are written to directly. `-` is the standard
//! output.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, bail};
use ropewalk::Result;

/// The name of the standard output on the command line.
const STDOUT: &str = "-";

/// How many links are followed, which is Linux's limit.
const MOST_LINKS: usize = 40;

/// An output and where it goes.
#[derive(Clone, Copy)]
pub(crate) struct Output<'a> {
    /// The name of the output in messages, such as `the trace`.
    pub(crate) what: &'static str,
    pub(crate) path: &'a Path,
}

impl Output<'_> {
    /// Writes the output. An existing file is replaced as a whole, or not at all.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<()> {
        self.write_by(|mut file| file.write_all(bytes))
    }

    /// Like `write`, for an output that is written in pieces.
    pub(crate) fn write_by(&self, write: impl FnOnce(&File) -> io::Result<()>) -> Result<()> {
        let written = NewFile::create(self.path).and_then(|new| {
            let written = write(&new.file);
            new.finish(written)
        });
        match written {
            // The reader of a pipe has seen enough.
            Err(error) if is_stdout(self.path) && error.kind() == ErrorKind::BrokenPipe => Ok(()),
            written => written.map(drop).with_context(|| self.cannot()),
        }
    }

    /// Creates a file of at most `max_size` bytes that is written while a program runs. It
    /// replaces an existing file immediately.
    pub(crate) fn create(&self, max_size: Option<u64>) -> Result<Limited> {
        let file = NewFile::create(self.path).and_then(|new| new.finish(Ok(())));
        let file = file.with_context(|| self.cannot())?;
        Ok(Limited { file, room: max_size.unwrap_or(u64::MAX), is_stdout: is_stdout(self.path) })
    }

    /// Fails if the output cannot be written, as far as that is known in advance.
    pub(crate) fn check(&self) -> Result<()> {
        let check = || match target(self.path)? {
            Target::Stdout | Target::Direct(_) => Ok(()),
            Target::Replaced(path) => {
                let (_, temporary) = create_next_to(&path)?;
                fs::remove_file(temporary)
            }
        };
        check().with_context(|| self.cannot())
    }

    /// Fails if the output would overwrite one of the inputs.
    pub(crate) fn check_is_none_of(&self, read: &[&Path]) -> Result<()> {
        let Some(own) = identity(self.path) else { return Ok(()) };
        match read.iter().find(|path| identity(path).as_ref() == Some(&own)) {
            Some(_) => bail!(
                "{} would overwrite the input {}: choose another file",
                self.what,
                self.path.display()
            ),
            None => Ok(()),
        }
    }

    /// The message of a failure to write.
    pub(crate) fn cannot(&self) -> String {
        match is_stdout(self.path) {
            true => format!("cannot write {} to the standard output", self.what),
            false => format!("cannot write {} {}", self.what, self.path.display()),
        }
    }
}

/// Fails unless all outputs can be written to distinct files that are not inputs.
pub(crate) fn check_all(outputs: &[Output<'_>], read: &[&Path]) -> Result<()> {
    for (index, output) in outputs.iter().enumerate() {
        output.check_is_none_of(read)?;
        let own = identity(output.path);
        let same = |other: &&Output<'_>| own.is_some() && identity(other.path) == own;
        if let Some(other) = outputs[..index].iter().find(same) {
            bail!(
                "{} and {} cannot both be written to {}: choose another file for one of them",
                other.what,
                output.what,
                output.path.display()
            );
        }
        output.check()?;
    }
    Ok(())
}

/// Whether a path stands for the standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new(STDOUT)
}

/// What a path names. Two paths of one file have the same identity.
#[derive(PartialEq)]
enum Identity {
    Existing { device: u64, inode: u64 },
    Absent(PathBuf),
}

/// The identity of a path, or none if it can be read and written at the same time.
fn identity(path: &Path) -> Option<Identity> {
    if is_stdout(path) {
        return None;
    }
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => None,
        Ok(found) => Some(Identity::Existing { device: found.dev(), inode: found.ino() }),
        Err(_) => {
            let path = follow_links(path).ok()?;
            let folder = fs::canonicalize(folder(&path)).ok()?;
            Some(Identity::Absent(folder.join(path.file_name()?)))
        }
    }
}

/// How an output is written.
enum Target {
    Stdout,
    /// To an existing pipe, terminal or device.
    Direct(PathBuf),
    /// To a new file that is renamed to this path.
    Replaced(PathBuf),
}

fn target(path: &Path) -> io::Result<Target> {
    if is_stdout(path) {
        return Ok(Target::Stdout);
    }
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() => Ok(Target::Direct(path.to_owned())),
        Ok(_) => {
            let path = follow_links(path)?;
            match is_in_proc(&path) {
                true => Ok(Target::Direct(path)),
                false => {
                    // A file without write permission is not replaced.
                    File::options().write(true).open(&path)?;
                    Ok(Target::Replaced(path))
                }
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Ok(Target::Replaced(follow_links(path)?))
        }
        Err(error) => Err(error),
    }
}

/// Whether a path is a link of /proc to an open file, such as the target of /dev/stdout. Such
/// files are not replaced.
fn is_in_proc(path: &Path) -> bool {
    fs::canonicalize(folder(path)).is_ok_and(|folder| folder.starts_with("/proc"))
}

/// Follows links to a path that may not exist. Links in /proc are not followed.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(target) if !is_in_proc(&path) => path = folder(&path).join(target),
            _ => return Ok(path),
        }
    }
    Err(io::Error::other("too many links"))
}

/// The folder that a file is in.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A file that is written while a program runs, with a maximum size.
pub(crate) struct Limited {
    file: File,
    /// How many more bytes it may take.
    room: u64,
    /// Whether a broken pipe is ignored.
    is_stdout: bool,
}

impl io::Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fits = usize::try_from(self.room).unwrap_or(usize::MAX).min(bytes.len());
        if fits == 0 && !bytes.is_empty() {
            return Err(io::Error::other("it has reached the size that --max-recorded allows"));
        }
        let written = match self.file.write(&bytes[..fits]) {
            // The reader of a pipe has seen enough.
            Err(error) if self.is_stdout && error.kind() == ErrorKind::BrokenPipe => fits,
            written => written?,
        };
        self.room -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file that is being written.
struct NewFile {
    file: File,
    /// The temporary name and the final name, if they differ.
    names: Option<(PathBuf, PathBuf)>,
}

impl NewFile {
    fn create(path: &Path) -> io::Result<NewFile> {
        match target(path)? {
            Target::Stdout => {
                let stdout = io::stdout().as_fd().try_clone_to_owned()?;
                Ok(NewFile { file: stdout.into(), names: None })
            }
            Target::Direct(path) => Ok(NewFile { file: File::create(path)?, names: None }),
            Target::Replaced(path) => {
                let (file, temporary) = create_next_to(&path)?;
                Ok(NewFile { file, names: Some((temporary, path)) })
            }
        }
    }

    /// Renames the file if it was written, and removes it otherwise.
    fn finish(self, written: io::Result<()>) -> io::Result<File> {
        let Some((temporary, name)) = self.names else { return written.map(|()| self.file) };
        let finished = written.and_then(|()| fs::rename(&temporary, name));
        if finished.is_err() {
            let _ = fs::remove_file(temporary);
        }
        finished.map(|()| self.file)
    }
}

/// Creates a temporary file next to the file that it will replace, with the same permissions.
fn create_next_to(path: &Path) -> io::Result<(File, PathBuf)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let temporary = folder(path).join(format!(".ropewalk-{}-{number}.part", std::process::id()));
    let file = File::options().write(true).create_new(true).open(&temporary)?;
    if let Ok(found) = fs::metadata(path) {
        // On failure it keeps the default permissions.
        let _ = file.set_permissions(found.permissions());
    }
    Ok((file, temporary))
}
