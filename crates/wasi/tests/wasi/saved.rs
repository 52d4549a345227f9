//! Saving and restoring contexts with open files.

use crate::program::errno::*;
use crate::program::*;
use ropewalk_wasi::{
    Clock, DirPerms, FilePerms, MemoryInputPipe, MemoryOutputPipe, RestoreError, SaveError,
    Unsaveable, WasiCtx, WasiCtxBuilder, WasiState,
};
use std::fs;
use std::io::Cursor;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tempfile::TempDir;

const READ_WRITE: u64 = FD_READ | FD_WRITE;
const ALL: (DirPerms, FilePerms) = (DirPerms::all(), FilePerms::all());

/// A builder of contexts that may be saved, with a directory as `/`.
fn in_directory(path: &Path) -> WasiCtxBuilder {
    allowing(path, ALL)
}

fn allowing(path: &Path, (dir, file): (DirPerms, FilePerms)) -> WasiCtxBuilder {
    let mut builder = WasiCtx::builder();
    builder.saveable(true).preopened_dir(path, "/", dir, file).unwrap();
    builder
}

fn scratch() -> (TempDir, Program) {
    let scratch = tempfile::tempdir().unwrap();
    let program = with(&mut in_directory(scratch.path()));
    (scratch, program)
}

/// The saved state of a program, encoded and decoded.
fn save(program: &mut Program) -> Result<WasiState, SaveError> {
    let state = program.parts().0.data().save()?;
    assert_eq!(WasiState::from_bytes(&state.to_bytes()).as_ref(), Ok(&state));
    Ok(state)
}

/// The error of saving a program.
#[track_caller]
fn refusal(program: &mut Program) -> (u32, Unsaveable) {
    match save(program).unwrap_err() {
        SaveError::Descriptor { fd, reason } => (fd, reason),
        error => panic!("{error}"),
    }
}

/// The error of restoring a state.
#[track_caller]
fn restore_error(builder: &mut WasiCtxBuilder, state: &WasiState) -> RestoreError {
    builder.restore(state).unwrap_err()
}

/// Saves a program, drops it, and restores it in the same directory.
#[track_caller]
fn again(scratch: &TempDir, mut program: Program) -> Program {
    let state = save(&mut program).unwrap();
    drop(program);
    Program::from_ctx(PREVIEW1, in_directory(scratch.path()).restore(&state).unwrap())
}

#[track_caller]
fn tell(program: &mut Program, fd: i32) -> u64 {
    assert_eq!(program.call("fd_tell", &[fd.into(), RESULT.into()]), SUCCESS);
    program.u64(RESULT)
}

#[test]
fn arguments_and_environment_are_those_of_the_program() {
    let state = WasiCtx::builder()
        .args(&["program", "-v"])
        .env("NAME", "value")
        .saveable(true)
        .build()
        .save()
        .unwrap();
    let ctx = WasiCtx::builder().arg("other").env("OTHER", "x").restore(&state).unwrap();
    let mut program = Program::from_ctx(PREVIEW1, ctx);
    assert_eq!(program.call("args_sizes_get", &[0, 4]), SUCCESS);
    assert_eq!((program.u32(0), program.u32(4)), (2, 11));
    assert_eq!(program.call("args_get", &[0, 16]), SUCCESS);
    assert_eq!(program.bytes(16, 11), b"program\0-v\0");
    assert_eq!(program.call("environ_get", &[0, 64]), SUCCESS);
    assert_eq!(program.bytes(64, 11), b"NAME=value\0");
}

#[test]
fn files_are_at_their_offsets_under_their_numbers() {
    let (scratch, mut program) = scratch();
    program.create("file", "0123456789");
    fs::create_dir(scratch.path().join("inner")).unwrap();
    let reader = program.open("file", 0, FD_READ).unwrap();
    let closed = program.open("file", 0, FD_READ).unwrap();
    let inner = program.open("inner", DIRECTORY, 0).unwrap();
    let writer = program.open_with(inner, 0, "new", CREAT | EXCL | TRUNC, READ_WRITE, 0).unwrap();
    program.close(closed);
    assert_eq!(program.read(reader, 3), Ok("012".into()));
    assert_eq!(program.write(writer, "rope"), Ok(4));

    let mut program = again(&scratch, program);
    assert_eq!(program.read(reader, 3), Ok("345".into()));
    assert_eq!(program.write(writer, "walk"), Ok(4));
    assert_eq!(fs::read(scratch.path().join("inner/new")).unwrap(), b"ropewalk");
    assert_eq!(program.write(reader, "x"), Err(BADF));
    // The free number is still free, and the directory can be used.
    let next = program.open_with(inner, 0, "new", 0, FD_READ, 0).unwrap();
    assert_eq!(next, closed);
    assert_eq!(program.read(next, 10), Ok("ropewalk".into()));
}

#[test]
fn rights_and_flags_are_restored() {
    let (scratch, mut program) = scratch();
    let appends = program.open_with(ROOT, 0, "log", CREAT, READ_WRITE, APPEND | SYNC).unwrap();
    assert_eq!(program.write(appends, "one "), Ok(4));
    let neither = program.open("log", 0, 0).unwrap();
    let narrow = program.open("log", 0, READ_WRITE).unwrap();
    let rights = FD_READ as i64;
    assert_eq!(program.call("fd_fdstat_set_rights", &[narrow.into(), rights, 0]), SUCCESS);
    let fds = [0, 1, 2, ROOT, appends, neither, narrow];
    let before = fds.map(|fd| program.fdstat(fd).unwrap());

    let mut program = again(&scratch, program);
    assert_eq!(fds.map(|fd| program.fdstat(fd).unwrap()), before);
    fs::write(scratch.path().join("log"), "one and a half ").unwrap();
    assert_eq!(program.write(appends, "two"), Ok(3));
    assert_eq!(fs::read(scratch.path().join("log")).unwrap(), b"one and a half two");
    assert_eq!(program.write(narrow, "x"), Err(BADF));
    assert_eq!(program.read(narrow, 3), Ok("one".into()));
}

#[test]
fn a_context_can_be_saved_repeatedly() {
    let (scratch, mut program) = scratch();
    program.create("file", "0123456789");
    let fd = program.open_with(ROOT, FOLLOW, "./file", 0, FD_READ, 0).unwrap();
    for digit in ["0", "1", "2", "3"] {
        program = again(&scratch, program);
        assert_eq!(program.read(fd, 1), Ok(digit.into()));
    }
}

#[test]
fn moved_directories_keep_their_numbers() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let builder = |first: &TempDir, second: &TempDir, names: [&str; 2]| {
        let mut builder = WasiCtx::builder();
        let ((dir, file), [a, b]) = (ALL, names);
        builder.saveable(true).preopened_dir(first.path(), a, dir, file).unwrap();
        builder.preopened_dir(second.path(), b, dir, file).unwrap();
        builder
    };
    let mut program = with(&mut builder(&one, &two, ["/one", "/two"]));
    let fd = program.open("file", CREAT, READ_WRITE).unwrap();
    assert_eq!(program.write(fd, "in one"), Ok(6));
    // The file stays open although its directory is closed; the other directory has its number.
    assert_eq!(program.call("fd_renumber", &[4, 3]), SUCCESS);
    let state = save(&mut program).unwrap();

    // Directories are matched by name, not by order.
    let ctx = builder(&two, &one, ["/two", "/one"]).restore(&state).unwrap();
    let mut program = Program::from_ctx(PREVIEW1, ctx);
    assert_eq!(program.call("fd_prestat_dir_name", &[3, 0, 4]), SUCCESS);
    assert_eq!(program.bytes(0, 4), b"/two");
    assert_eq!(program.fdstat(4), Err(BADF));
    assert_eq!(program.write(fd, "!"), Ok(1));
    assert_eq!(fs::read(one.path().join("file")).unwrap(), b"in one!");

    // Directories with the same name are matched by order.
    let mut program = with(&mut builder(&one, &two, ["/", "/"]));
    program.close(3);
    let state = save(&mut program).unwrap();
    fs::write(two.path().join("second"), "").unwrap();
    let mut program =
        Program::from_ctx(PREVIEW1, builder(&one, &two, ["/", "/"]).restore(&state).unwrap());
    assert!(program.open_with(4, 0, "second", 0, FD_READ, 0).is_ok());
}

#[test]
fn the_error_names_a_missing_directory() {
    let (scratch, mut program) = scratch();
    program.create("file", "");
    let file = program.open("file", 0, FD_READ).unwrap();
    let state = save(&mut program).unwrap();
    let mut builder = WasiCtx::builder();
    let error = restore_error(&mut builder, &state);
    assert!(matches!(&error, RestoreError::NoDirectory(name) if name == "/"), "{error}");
    // It is needed only while a file in it is open.
    program.close(ROOT);
    let state = save(&mut program).unwrap();
    assert!(matches!(restore_error(&mut builder, &state), RestoreError::NoDirectory(_)));
    program.close(file);
    let state = save(&mut program).unwrap();
    assert!(builder.restore(&state).is_ok());
    drop(scratch);
}

#[test]
fn moved_streams_keep_their_numbers() {
    let mut program = with(WasiCtx::builder().saveable(true));
    assert_eq!(program.call("fd_renumber", &[1, 0]), SUCCESS);
    program.close(2);
    let nonblocking = [0, NONBLOCK.into()];
    assert_eq!(program.call("fd_fdstat_set_flags", &nonblocking), SUCCESS);
    let state = save(&mut program).unwrap();
    let (out, error) = (MemoryOutputPipe::new(100), MemoryOutputPipe::new(100));
    let mut builder = WasiCtx::builder();
    builder.stdin(MemoryInputPipe::new("typed")).stdout(out.clone()).stderr(error.clone());
    let mut program = Program::from_ctx(PREVIEW1, builder.restore(&state).unwrap());
    assert_eq!(program.write(0, "hello"), Ok(5));
    assert_eq!((&*out.text(), &*error.text()), ("hello", ""));
    assert_eq!(program.fdstat(0).unwrap().1, NONBLOCK as u16);
    assert_eq!(program.fdstat(1), Err(BADF));
    assert_eq!(program.fdstat(2), Err(BADF));
}

#[test]
fn a_listing_continues() {
    let (scratch, mut program) = scratch();
    fs::create_dir(scratch.path().join("inner")).unwrap();
    let inner = program.open("inner", DIRECTORY, 0).unwrap();
    let names = |program: &mut Program, fd: i32, cookie: i64| {
        let arguments = [fd.into(), 0x8000, 4096, cookie, RESULT.into()];
        let used = program.result("fd_readdir", &arguments).unwrap() as usize;
        let bytes = program.bytes(0x8000, used);
        let (mut names, mut rest) = (Vec::new(), &bytes[..]);
        while !rest.is_empty() {
            let len = rest[16] as usize;
            names.push(String::from_utf8(rest[24..24 + len].to_vec()).unwrap());
            rest = &rest[24 + len..];
        }
        names
    };
    for (fd, folder) in [(ROOT, "."), (inner, "inner")] {
        for name in ["a", "b", "c"] {
            fs::write(scratch.path().join(folder).join(name), "").unwrap();
        }
        let all = names(&mut program, fd, 0);
        fs::remove_file(scratch.path().join(folder).join("b")).unwrap();
        program = again(&scratch, program);
        assert_eq!(names(&mut program, fd, 2), all[2..]);
        assert_eq!(names(&mut program, fd, 0).len(), all.len() - 1);
    }
}

#[test]
fn a_file_that_was_removed_or_renamed_is_refused() {
    let (scratch, mut program) = scratch();
    program.create("file", "rope");
    let fd = program.open("file", 0, FD_READ).unwrap();
    let path = scratch.path().join("file");
    fs::rename(&path, scratch.path().join("renamed")).unwrap();
    let (refused, reason) = refusal(&mut program);
    assert_eq!(refused, fd as u32);
    assert!(matches!(reason, Unsaveable::Moved(_)), "{reason}");
    // The path names another file.
    fs::write(&path, "other").unwrap();
    assert!(matches!(refusal(&mut program).1, Unsaveable::Replaced(_)));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(matches!(refusal(&mut program).1, Unsaveable::Replaced(_)));
    fs::remove_dir(&path).unwrap();
    fs::rename(scratch.path().join("renamed"), &path).unwrap();
    assert!(save(&mut program).is_ok());
    fs::remove_file(&path).unwrap();
    let error = save(&mut program).unwrap_err().to_string();
    let says = "descriptor 4 cannot be saved: \
                `file` below `/` has been removed or renamed since it was opened";
    assert_eq!(error, says);
    // After it is closed, saving succeeds.
    program.close(fd);
    assert!(save(&mut program).is_ok());
}

#[test]
fn a_directory_that_was_renamed_takes_its_files_along() {
    let (scratch, mut program) = scratch();
    fs::create_dir(scratch.path().join("inner")).unwrap();
    let inner = program.open("inner", DIRECTORY, 0).unwrap();
    let file = program.open_with(inner, 0, "file", CREAT, FD_WRITE, 0).unwrap();
    assert!(save(&mut program).is_ok());
    assert_eq!(program.rename("inner", "other"), SUCCESS);
    let (fd, reason) = refusal(&mut program);
    assert!(fd == inner as u32 && matches!(reason, Unsaveable::Moved(_)), "{fd} {reason}");
    program.close(inner);
    assert_eq!(refusal(&mut program).0, file as u32);
}

#[test]
fn links_are_followed_as_when_they_were_opened() {
    let (scratch, mut program) = scratch();
    program.create("file", "rope");
    assert_eq!(program.symlink("file", "link"), SUCCESS);
    let fd = program.open_with(ROOT, FOLLOW, "link", 0, FD_READ, 0).unwrap();
    let mut program = again(&scratch, program);
    assert_eq!(program.read(fd, 10), Ok("rope".into()));
    // A file that is replaced by a link to another is not opened if links were not followed.
    let fd = program.open("file", 0, FD_READ).unwrap();
    let state = save(&mut program).unwrap();
    let path = scratch.path().join("file");
    fs::rename(&path, scratch.path().join("other")).unwrap();
    std::os::unix::fs::symlink("other", &path).unwrap();
    let error = restore_error(&mut in_directory(scratch.path()), &state);
    assert!(matches!(&error, RestoreError::Host { fd: 5, .. }), "{fd} {error}");
}

#[test]
fn sockets_are_refused() {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut builder = WasiCtx::builder();
    builder.saveable(true).preopened_socket(ours).unwrap().preopened_socket(listener).unwrap();
    let mut program = with(&mut builder);
    for fd in [3, 4] {
        let (refused, reason) = refusal(&mut program);
        assert!(refused == fd && matches!(reason, Unsaveable::Socket), "{refused} {reason}");
        program.close(fd as i32);
    }
    assert!(save(&mut program).is_ok());
}

#[test]
fn pipes_and_devices_are_refused() {
    let (scratch, mut program) = scratch();
    let fifo = scratch.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    let fd = program.open_with(ROOT, 0, "pipe", 0, READ_WRITE, NONBLOCK).unwrap();
    let (refused, reason) = refusal(&mut program);
    assert!(refused == fd as u32 && matches!(reason, Unsaveable::NoFile(_)), "{reason}");
}

#[test]
fn unread_input_and_unread_output_are_refused() {
    let (input, out) = (MemoryInputPipe::new("abc"), MemoryOutputPipe::new(100));
    let mut builder = WasiCtx::builder();
    builder.saveable(true).stdin(input.clone()).stdout(out.clone());
    let mut program = with(&mut builder);
    assert_eq!(program.read(0, 1), Ok("a".into()));
    assert!(matches!(refusal(&mut program), (0, Unsaveable::UnreadInput(2))));
    assert_eq!(input.take_unread(), b"bc");
    assert!(save(&mut program).is_ok());
    assert_eq!(program.write(1, "hello"), Ok(5));
    assert!(matches!(refusal(&mut program), (1, Unsaveable::UnseenOutput(5))));
    assert_eq!(out.text(), "hello");
    assert!(save(&mut program).is_ok());
}

#[test]
fn a_path_that_is_too_long_is_refused() {
    let (_scratch, mut program) = scratch();
    let mut fd = ROOT;
    // `./././.` and so on, as long as the program likes.
    let dots = "./".repeat(500);
    for _ in 0..6 {
        fd = program.open_with(fd, 0, &dots, DIRECTORY, 0, 0).unwrap();
    }
    let (_, reason) = refusal(&mut program);
    assert!(matches!(reason, Unsaveable::LongPath), "{reason}");
}

#[test]
fn only_saveable_contexts_are_saved() {
    let mut program = in_scratch();
    program.create("file", "");
    assert!(matches!(save(&mut program), Err(SaveError::NotSaveable)));
    // A restored context cannot be saved either, unless its builder sets `saveable`.
    let state = WasiCtx::builder().saveable(true).build().save().unwrap();
    let ctx = WasiCtx::builder().restore(&state).unwrap();
    assert!(matches!(ctx.save(), Err(SaveError::NotSaveable)));
}

#[test]
fn recordings_and_saved_contexts_do_not_mix() {
    let state = WasiCtx::builder().saveable(true).build().save().unwrap();
    let mut builder = WasiCtx::builder();
    builder.record(std::io::sink()).unwrap();
    assert!(matches!(restore_error(&mut builder, &state), RestoreError::Recording));
    let recording = Cursor::new(b"ropewalk-calls\0\x03");
    let ctx = WasiCtx::builder().saveable(true).replay(recording).unwrap().build();
    assert!(matches!(ctx.save(), Err(SaveError::Replays)));
}

#[test]
fn missing_files_and_files_of_another_kind_are_errors() {
    let (scratch, mut program) = scratch();
    program.create("file", "rope");
    let file = scratch.path().join("file");
    let folder = scratch.path().join("folder");
    fs::create_dir(&folder).unwrap();
    program.open("file", 0, READ_WRITE).unwrap();
    program.open("folder", DIRECTORY, 0).unwrap();
    let state = save(&mut program).unwrap();
    let mut builder = in_directory(scratch.path());

    fs::remove_file(&file).unwrap();
    let error = restore_error(&mut builder, &state);
    assert_eq!(error.to_string(), "descriptor 4: `file` below `/` no longer exists");
    assert!(!file.exists(), "nothing is created");
    fs::create_dir(&file).unwrap();
    let error = restore_error(&mut builder, &state);
    assert_eq!(error.to_string(), "descriptor 4: `file` below `/` is no longer a file");
    fs::remove_dir(&file).unwrap();
    // Opening the pipe does not wait for its other end.
    rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    let error = restore_error(&mut builder, &state);
    assert!(matches!(error, RestoreError::WrongKind { fd: 4, .. }), "{error}");
    fs::remove_file(&file).unwrap();
    fs::write(&file, "rope").unwrap();
    fs::remove_dir(&folder).unwrap();
    fs::write(&folder, "").unwrap();
    let error = restore_error(&mut builder, &state);
    assert_eq!(error.to_string(), "descriptor 5: `folder` below `/` is no longer a directory");
    fs::remove_file(&folder).unwrap();
    assert!(matches!(restore_error(&mut builder, &state), RestoreError::Vanished { fd: 5, .. }));
    // The builder is unchanged after these errors.
    fs::create_dir(&folder).unwrap();
    let mut program = Program::from_ctx(PREVIEW1, builder.restore(&state).unwrap());
    assert_eq!(program.read(4, 10), Ok("rope".into()));
}

#[test]
fn a_shorter_file_keeps_its_offset_beyond_the_end() {
    let (scratch, mut program) = scratch();
    program.create("file", "0123456789");
    let fd = program.open("file", 0, READ_WRITE).unwrap();
    assert_eq!(program.read(fd, 8), Ok("01234567".into()));
    let state = save(&mut program).unwrap();
    fs::write(scratch.path().join("file"), "01").unwrap();
    let ctx = in_directory(scratch.path()).restore(&state).unwrap();
    let mut program = Program::from_ctx(PREVIEW1, ctx);
    assert_eq!(tell(&mut program, fd), 8);
    assert_eq!(program.read(fd, 8), Ok(String::new()));
    assert_eq!(program.write(fd, "8"), Ok(1));
    assert_eq!(fs::read(scratch.path().join("file")).unwrap(), b"01\0\0\0\0\0\08");
}

#[test]
fn the_new_permissions_of_directories_apply() {
    let (scratch, mut program) = scratch();
    program.create("file", "rope");
    fs::create_dir(scratch.path().join("folder")).unwrap();
    let file = program.open("file", 0, READ_WRITE).unwrap();
    let folder = program.open("folder", DIRECTORY, 0).unwrap();
    let state = save(&mut program).unwrap();
    let read_only = || allowing(scratch.path(), (DirPerms::READ, FilePerms::READ));
    let error = restore_error(&mut read_only(), &state);
    assert!(matches!(error, RestoreError::NotAllowed { fd: 4, .. }), "{error}");
    program.close(file);
    let state = save(&mut program).unwrap();
    let ctx = read_only().restore(&state).unwrap();
    let mut program = Program::from_ctx(PREVIEW1, ctx);
    for fd in [ROOT, folder] {
        assert_eq!(program.open_with(fd, 0, "new", CREAT, FD_WRITE, 0), Err(NOTCAPABLE));
    }
}

#[test]
fn a_state_does_not_lead_out_of_its_directories() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "").unwrap();
    fs::create_dir(outside.path().join("in")).unwrap();
    let (inside, inner) = (outside.path().join("in"), outside.path().join("in/x"));
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("secret"), "").unwrap();
    let mut program = with(&mut in_directory(&inside));
    // In the new directory, the path leads outside.
    program.open("x/../x/secret", 0, FD_READ).unwrap();
    let state = save(&mut program).unwrap();
    fs::remove_dir_all(&inner).unwrap();
    std::os::unix::fs::symlink("..", &inner).unwrap();
    let error = restore_error(&mut in_directory(&inside), &state);
    let RestoreError::Host { fd: 4, error, .. } = &error else { panic!("{error}") };
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
}

/// A clock that a test sets.
#[derive(Clone, Default)]
struct Hand(Arc<AtomicU64>);

impl Clock for Hand {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(1)
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

fn monotonic(program: &mut Program) -> u64 {
    assert_eq!(program.call("clock_time_get", &[1, 1, RESULT.into()]), SUCCESS);
    program.u64(RESULT)
}

#[test]
fn the_monotonic_clock_continues() {
    let hand = Hand::default();
    hand.0.store(1000, Ordering::Relaxed);
    let mut program = with(WasiCtx::builder().saveable(true).monotonic_clock(hand.clone()));
    assert_eq!(monotonic(&mut program), 1000);
    let state = save(&mut program).unwrap();
    // The clock of another machine, which has just started, or has run for a long time.
    for other in [5, 1_000_000] {
        hand.0.store(other, Ordering::Relaxed);
        let mut builder = WasiCtx::builder();
        builder.saveable(true).monotonic_clock(hand.clone());
        let mut program = Program::from_ctx(PREVIEW1, builder.restore(&state).unwrap());
        assert_eq!(monotonic(&mut program), 1000);
        hand.0.store(other + 7, Ordering::Relaxed);
        assert_eq!(monotonic(&mut program), 1007);
        let state = save(&mut program).unwrap();
        hand.0.store(0, Ordering::Relaxed);
        let ctx = WasiCtx::builder().monotonic_clock(hand.clone()).restore(&state).unwrap();
        assert_eq!(monotonic(&mut Program::from_ctx(PREVIEW1, ctx)), 1007);
    }
    // The host's clock.
    let mut program = with(WasiCtx::builder().saveable(true));
    let before = monotonic(&mut program);
    let state = save(&mut program).unwrap();
    let ctx = WasiCtx::builder().restore(&state).unwrap();
    assert!(monotonic(&mut Program::from_ctx(PREVIEW1, ctx)) >= before);
}
