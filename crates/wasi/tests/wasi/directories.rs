//! Listing directories.

use crate::program::errno::*;
use crate::program::*;

struct Entry {
    next: u64,
    ino: u64,
    filetype: u8,
    name: String,
}

/// Calls `fd_readdir`; returns the complete entries, and whether the buffer was filled.
#[track_caller]
fn read(program: &mut Program, fd: i32, room: usize, cookie: u64) -> (Vec<Entry>, bool) {
    let arguments = [fd.into(), 0x8000, room as i64, cookie as i64, RESULT.into()];
    let used = program.result("fd_readdir", &arguments).unwrap() as usize;
    let bytes = program.bytes(0x8000, used);
    let (mut entries, mut rest) = (Vec::new(), &bytes[..]);
    while rest.len() >= 24 {
        let name_len = u32::from_le_bytes(rest[16..20].try_into().unwrap()) as usize;
        let Some(name) = rest[24..].get(..name_len) else { break };
        entries.push(Entry {
            next: u64::from_le_bytes(rest[..8].try_into().unwrap()),
            ino: u64::from_le_bytes(rest[8..16].try_into().unwrap()),
            filetype: rest[20],
            name: String::from_utf8(name.to_vec()).unwrap(),
        });
        rest = &rest[24 + name_len..];
    }
    (entries, used == room)
}

/// All names, read with a buffer of this size.
fn names(program: &mut Program, fd: i32, room: usize) -> Vec<String> {
    let (mut names, mut cookie) = (Vec::new(), 0);
    loop {
        let (entries, full) = read(program, fd, room, cookie);
        cookie = entries.last().map_or(cookie, |entry| entry.next);
        names.extend(entries.into_iter().map(|entry| entry.name));
        if !full {
            names.sort();
            return names;
        }
    }
}

#[test]
fn an_empty_directory_contains_itself_and_its_parent() {
    let mut program = in_scratch();
    let own = program.fd_stat(ROOT).unwrap().ino;
    let (entries, full) = read(&mut program, ROOT, 256, 0);
    assert!(!full);
    let names: Vec<_> = entries.iter().map(|entry| (&*entry.name, entry.filetype)).collect();
    assert_eq!(names, [(".", 3), ("..", 3)]);
    assert_eq!(entries[0].ino, own);
}

#[test]
fn entries_have_types_and_inodes() {
    let mut program = in_scratch();
    program.create("file", "");
    program.path("path_create_directory", "dir");
    program.symlink("file", "link");
    let (entries, _) = read(&mut program, ROOT, 4096, 0);
    for (name, filetype) in [("file", 4), ("dir", 3), ("link", 7)] {
        let entry = entries.iter().find(|entry| entry.name == name).unwrap();
        assert_eq!(entry.filetype, filetype);
        assert_eq!(entry.ino, program.path_stat(0, name).unwrap().ino);
    }
}

#[test]
fn a_cookie_continues_after_its_entry() {
    let mut program = in_scratch();
    program.create("file", "");
    let (entries, _) = read(&mut program, ROOT, 4096, 0);
    for (i, entry) in entries.iter().enumerate() {
        let (rest, full) = read(&mut program, ROOT, 4096, entry.next);
        assert!(!full);
        assert_eq!(rest.len(), entries.len() - i - 1);
    }
    assert!(read(&mut program, ROOT, 4096, 1000).0.is_empty());
    assert!(read(&mut program, ROOT, 4096, u64::MAX).0.is_empty());
}

#[test]
fn many_entries_are_listed_once_with_any_buffer_size() {
    let mut program = in_scratch();
    let mut expected: Vec<String> = (0..200).map(|i| format!("file.{i}")).collect();
    for name in &expected {
        std::fs::write(program.host(name), "").unwrap();
    }
    expected.extend([".".into(), "..".into()]);
    expected.sort();
    for room in [40, 256, 4096] {
        assert_eq!(names(&mut program, ROOT, room), expected);
    }
}

#[test]
fn a_listing_does_not_change() {
    let mut program = in_scratch();
    program.create("a", "");
    program.create("b", "");
    let (first, _) = read(&mut program, ROOT, 4096, 0);
    program.path("path_unlink_file", "a");
    program.create("c", "");
    let (rest, _) = read(&mut program, ROOT, 4096, first[1].next);
    assert_eq!(rest.len(), 2);
    let (again, _) = read(&mut program, ROOT, 4096, 0);
    assert!(again.iter().any(|entry| entry.name == "c"));
    assert!(!again.iter().any(|entry| entry.name == "a"));
}

#[test]
fn the_last_entry_is_truncated() {
    let mut program = in_scratch();
    for room in [0, 1, 24, 25, 30] {
        let arguments = [ROOT.into(), 0x8000, room, 0, RESULT.into()];
        assert_eq!(program.result("fd_readdir", &arguments), Ok(room as u32));
    }
}

#[test]
fn only_directories_are_listed() {
    let mut program = in_scratch();
    let fd = program.open("file", CREAT, FD_READ).unwrap();
    let arguments = |fd: i32| [fd.into(), 0x8000, 100, 0, RESULT.into()];
    assert_eq!(program.call("fd_readdir", &arguments(fd)), NOTDIR);
    assert_eq!(program.call("fd_readdir", &arguments(99)), BADF);
}

#[test]
fn a_directory_is_not_a_file() {
    let mut program = in_scratch();
    program.path("path_create_directory", "dir");
    let fd = program.open("dir", DIRECTORY, FD_READ | FD_SEEK).unwrap();
    assert_eq!(program.read(fd, 1), Err(BADF));
    assert_eq!(program.write(fd, "x"), Err(BADF));
    let fd = i64::from(fd);
    for whence in 0..3 {
        assert_eq!(program.call("fd_seek", &[fd, 0, whence, RESULT.into()]), BADF);
    }
    assert_eq!(program.call("fd_tell", &[fd, RESULT.into()]), BADF);
    assert_eq!(program.call("fd_allocate", &[fd, 0, 1]), BADF);
    assert_eq!(program.call("fd_filestat_set_size", &[fd, 0]), BADF);
    assert_eq!(program.call("fd_advise", &[fd, 0, 0, 0]), BADF);
    let [vectors, count] = program.vector(0x200, 1);
    let at = [fd, vectors, count, 0, RESULT.into()];
    assert_eq!(program.call("fd_pread", &at), BADF);
    assert_eq!(program.call("fd_pwrite", &at), BADF);
    let (filetype, _, base, _) = program.fdstat(fd as i32).unwrap();
    assert_eq!((filetype, base & (FD_SEEK | FD_READ | FD_WRITE)), (3, 0));
    assert_eq!(program.open("dir", DIRECTORY, FD_READ | FD_WRITE), Err(ISDIR));
    assert_eq!(program.open("dir", CREAT, 0), Err(ISDIR));
    assert_eq!(program.call("fd_sync", &[fd]), BADF);
    assert_eq!(program.call("fd_datasync", &[fd]), BADF);
    assert_eq!(program.call("fd_fdstat_set_flags", &[fd, NONBLOCK.into()]), BADF);
    assert_eq!(program.call("fd_filestat_set_times", &[fd, 0, 5, 4]), SUCCESS);
    assert_eq!(program.fd_stat(fd as i32).unwrap().mtim, 5);
}
