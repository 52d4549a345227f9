//! Files that the command writes.
//!
//! What has the name of an output already may be in use: a compiled module that is mapped and
//! runs, a recording that is replayed. So its bytes are never changed. A new file is written
//! beside it, and takes its name. Links are followed, and what is no file of bytes, such as a
//! pipe or a terminal, is written to as it is. `-` is the standard output.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, bail};
use ropewalk::Result;

/// What stands for the standard output on the command line.
const STDOUT: &str = "-";

/// How many links are followed, as many as Linux does.
const MOST_LINKS: usize = 40;

/// Something that the command is to write.
#[derive(Clone, Copy)]
pub(crate) struct Output<'a> {
    /// How messages call it, such as `the trace`.
    pub(crate) what: &'static str,
    pub(crate) path: &'a Path,
}

impl Output<'_> {
    /// Writes it. The file is there whole, or as it was before.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<()> {
        self.write_by(|mut file| file.write_all(bytes))
    }

    /// The same for what is written in pieces.
    pub(crate) fn write_by(&self, write: impl FnOnce(&File) -> io::Result<()>) -> Result<()> {
        let written = New::begin(self.path).and_then(|new| {
            let written = write(&new.file);
            new.finish(written)
        });
        match written {
            // Whoever read it has seen enough.
            Err(error) if is_stdout(self.path) && error.kind() == ErrorKind::BrokenPipe => Ok(()),
            written => written.map(drop).with_context(|| self.cannot()),
        }
    }

    /// Begins a file that is written little by little, and takes so many bytes. It has its name
    /// at once.
    pub(crate) fn create(&self, most: Option<u64>) -> Result<Limited> {
        let file = New::begin(self.path).and_then(|new| new.finish(Ok(())));
        let (file, room) = (file.with_context(|| self.cannot())?, most.unwrap_or(u64::MAX));
        Ok(Limited { file, room, is_stdout: is_stdout(self.path) })
    }

    /// Fails if it cannot be written, as far as that can be told without doing it.
    pub(crate) fn check(&self) -> Result<()> {
        let check = || match target(self.path)? {
            Target::Stdout | Target::Straight(_) => Ok(()),
            Target::Replaced(path) => {
                let (_, part) = beside(&path)?;
                fs::remove_file(part)
            }
        };
        check().with_context(|| self.cannot())
    }

    /// Fails if that would overwrite one of the files that are read.
    pub(crate) fn check_is_none_of(&self, read: &[&Path]) -> Result<()> {
        let Some(own) = identity(self.path) else { return Ok(()) };
        match read.iter().find(|path| identity(path).as_ref() == Some(&own)) {
            Some(_) => bail!(
                "{} would overwrite {}, which is read: name another file",
                self.what,
                self.path.display()
            ),
            None => Ok(()),
        }
    }

    /// What is said if it cannot be written.
    pub(crate) fn cannot(&self) -> String {
        match is_stdout(self.path) {
            true => format!("cannot write {} to the standard output", self.what),
            false => format!("cannot write {} {}", self.what, self.path.display()),
        }
    }
}

/// Fails unless all of them can be written, each to a file of its own that nobody reads.
pub(crate) fn check_all(outputs: &[Output<'_>], read: &[&Path]) -> Result<()> {
    for (index, output) in outputs.iter().enumerate() {
        output.check_is_none_of(read)?;
        let own = identity(output.path);
        let same = |other: &&Output<'_>| own.is_some() && identity(other.path) == own;
        if let Some(other) = outputs[..index].iter().find(same) {
            bail!(
                "{} and {} cannot both be written to {}: name another file for one of them",
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

/// What a path names, so that two paths of one file are the same. Nothing for what can be read
/// and written at the same time.
#[derive(PartialEq)]
enum Identity {
    There { device: u64, inode: u64 },
    Absent(PathBuf),
}

fn identity(path: &Path) -> Option<Identity> {
    if is_stdout(path) {
        return None;
    }
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => None,
        Ok(found) => Some(Identity::There { device: found.dev(), inode: found.ino() }),
        Err(_) => {
            let path = followed(path).ok()?;
            let folder = fs::canonicalize(folder(&path)).ok()?;
            Some(Identity::Absent(folder.join(path.file_name()?)))
        }
    }
}

/// How an output is written.
enum Target {
    Stdout,
    /// To what is there.
    Straight(PathBuf),
    /// By a new file that takes this name.
    Replaced(PathBuf),
}

fn target(path: &Path) -> io::Result<Target> {
    if is_stdout(path) {
        return Ok(Target::Stdout);
    }
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() => Ok(Target::Straight(path.to_owned())),
        Ok(_) => {
            let path = followed(path)?;
            match is_of_the_kernel(&path) {
                true => Ok(Target::Straight(path)),
                false => {
                    // One that must not be written to is not replaced either.
                    File::options().write(true).open(&path)?;
                    Ok(Target::Replaced(path))
                }
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Target::Replaced(followed(path)?)),
        Err(error) => Err(error),
    }
}

/// Whether the kernel makes a name up, such as that to which /dev/stdout leads: what it stands
/// for is open already, and not replaced.
fn is_of_the_kernel(path: &Path) -> bool {
    fs::canonicalize(folder(path)).is_ok_and(|folder| folder.starts_with("/proc"))
}

/// Where links lead, at whose end there may be nothing. Those of the kernel are not followed.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(target) if !is_of_the_kernel(&path) => path = folder(&path).join(target),
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

/// A file that is written while a program runs, and how many more bytes it may take.
pub(crate) struct Limited {
    file: File,
    room: u64,
    /// Whether a reader who leaves is no error.
    is_stdout: bool,
}

impl io::Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fits = usize::try_from(self.room).unwrap_or(usize::MAX).min(bytes.len());
        if fits == 0 && !bytes.is_empty() {
            return Err(io::Error::other("it is as large as --max-recorded allows"));
        }
        let written = match self.file.write(&bytes[..fits]) {
            // Whoever read it has seen enough.
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

/// A file that is begun.
struct New {
    file: File,
    /// What it is called for now, and what it is to be called.
    names: Option<(PathBuf, PathBuf)>,
}

impl New {
    fn begin(path: &Path) -> io::Result<New> {
        match target(path)? {
            Target::Stdout => {
                let stdout = io::stdout().as_fd().try_clone_to_owned()?;
                Ok(New { file: stdout.into(), names: None })
            }
            Target::Straight(path) => Ok(New { file: File::create(path)?, names: None }),
            Target::Replaced(path) => {
                let (file, part) = beside(&path)?;
                Ok(New { file, names: Some((part, path)) })
            }
        }
    }

    /// Gives it its name if it was written, or else takes it away.
    fn finish(self, written: io::Result<()>) -> io::Result<File> {
        let Some((part, name)) = self.names else { return written.map(|()| self.file) };
        let finished = written.and_then(|()| fs::rename(&part, name));
        if finished.is_err() {
            let _ = fs::remove_file(part);
        }
        finished.map(|()| self.file)
    }
}

/// A new file beside one that it may replace, and with the same permissions.
fn beside(path: &Path) -> io::Result<(File, PathBuf)> {
    static BEGUN: AtomicU64 = AtomicU64::new(0);
    let number = BEGUN.fetch_add(1, Ordering::Relaxed);
    let part = folder(path).join(format!(".ropewalk-{}-{number}.part", std::process::id()));
    let file = File::options().write(true).create_new(true).open(&part)?;
    if let Ok(found) = fs::metadata(path) {
        // If that is not possible, it has those of a new file.
        let _ = file.set_permissions(found.permissions());
    }
    Ok((file, part))
}
