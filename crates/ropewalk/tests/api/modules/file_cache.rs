//! The cache does not read a known file again, unless it may have changed.

use super::folder;
use crate::common::*;
use ropewalk::*;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longer than a file takes to be settled.
const SETTLED: Duration = Duration::from_millis(3_200);

struct CacheFolder {
    folder: PathBuf,
    engine: Engine,
}

impl CacheFolder {
    /// A folder of a test's own, with a cache.
    fn new(name: &str) -> CacheFolder {
        let folder = folder(name);
        let engine = CacheFolder::engine(&folder);
        CacheFolder { folder, engine }
    }

    fn engine(folder: &Path) -> Engine {
        let cache = Cache::open(folder.join("cache")).unwrap();
        Engine::new(Config::new().cache(cache)).unwrap()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn notes(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder.join("cache/seen"));
        let mut notes: Vec<_> =
            entries.map_or(Vec::new(), |all| all.map(|entry| entry.unwrap().path()).collect());
        notes.sort();
        notes
    }

    /// What the module in a file returns.
    fn run(&self, path: &Path) -> i32 {
        run(&Module::from_file(&self.engine, path).unwrap())
    }

    /// Looks up a file in the cache. Returns the number of bytes read, and the result of its
    /// module.
    fn find(&self, path: &Path) -> (usize, Option<i32>) {
        let before = bytes_read();
        let found = Module::from_cache(&self.engine, path);
        let read = bytes_read() - before;
        (read, found.map(|module| run(&module)))
    }
}

fn run(module: &Module) -> i32 {
    let (mut store, instance) = start(module);
    instance.get_typed_func::<(), i32>(&mut store, "f").unwrap().call(&mut store, ()).unwrap()
}

/// How many bytes this thread has read.
fn bytes_read() -> usize {
    let text = fs::read_to_string("/proc/thread-self/io").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
    line.parse().unwrap()
}

/// A binary of 400,000 bytes whose function returns a number.
fn module(number: i32) -> Vec<u8> {
    let text = format!(
        "(module (func (export \"f\") (result i32) (i32.const {number}))
           (memory 10) (data (i32.const 0) \"{}\"))",
        "x".repeat(400_000)
    );
    ropewalk_text::Text::parse(&text).unwrap().binary().to_vec()
}

#[test]
fn a_settled_file_is_read_once() {
    let place = CacheFolder::new("seen-once");
    let path = place.file("a.wasm");
    fs::write(&path, module(1_001)).unwrap();
    assert_eq!(place.run(&path), 1_001);
    // The file could still change unnoticed.
    assert_eq!(place.notes().len(), 0);
    assert!(matches!(place.find(&path), (400_000.., Some(1_001))));
    std::thread::sleep(SETTLED);
    assert!(matches!(place.find(&path), (400_000.., Some(1_001))));
    let [note] = &place.notes()[..] else { panic!("{:?}", place.notes()) };
    for _ in 0..2 {
        assert!(matches!(place.find(&path), (..10_000, Some(1_001))));
    }
    // Another engine with the same settings, and one with others.
    let again =
        CacheFolder { folder: place.folder.clone(), engine: CacheFolder::engine(&place.folder) };
    assert!(matches!(again.find(&path), (..10_000, Some(1_001))));
    let cache = Cache::open(place.folder.join("cache")).unwrap();
    let engine = Engine::new(Config::new().cache(cache).opt_level(OptLevel::None)).unwrap();
    let other = CacheFolder { folder: place.folder.clone(), engine };
    assert!(matches!(other.find(&path), (400_000.., None)));
    // A damaged or missing note is written again.
    let bytes = fs::read(note).unwrap();
    for damaged in [&b""[..], &bytes[..20], &[0x55; 64], &[bytes.clone(), vec![0]].concat()] {
        fs::write(note, damaged).unwrap();
        assert!(matches!(place.find(&path), (400_000.., Some(1_001))));
        assert!(fs::read(note).unwrap() == bytes);
    }
    fs::remove_file(note).unwrap();
    assert!(matches!(place.find(&path), (400_000.., Some(1_001))));
    assert!(matches!(place.find(&path), (..10_000, Some(1_001))));
    // The compiled file may be gone.
    for entry in fs::read_dir(place.folder.join("cache")).unwrap() {
        let _ = fs::remove_file(entry.unwrap().path());
    }
    assert_eq!(place.find(&path).1, None);
    assert_eq!(place.run(&path), 1_001);
}

#[test]
fn a_changed_file_is_read_though_its_length_and_its_time_are_the_same() {
    let place = CacheFolder::new("seen-changed");
    let (path, other) = (place.file("a.wasm"), place.file("b.wasm"));
    fs::write(&path, module(2_001)).unwrap();
    fs::write(&other, module(2_003)).unwrap();
    std::thread::sleep(SETTLED);
    assert_eq!((place.run(&path), place.run(&other)), (2_001, 2_003));
    assert_eq!(place.notes().len(), 2);
    let before = fs::metadata(&path).unwrap();
    let bytes = module(2_002);
    assert_eq!(bytes.len() as u64, before.len());
    let mut file = File::options().write(true).open(&path).unwrap();
    file.write_all(&bytes).unwrap();
    file.set_modified(before.modified().unwrap()).unwrap();
    let after = fs::metadata(&path).unwrap();
    assert_eq!((after.mtime_nsec(), after.ino()), (before.mtime_nsec(), before.ino()));
    assert_eq!(place.run(&path), 2_002);
    // Another file in its place.
    fs::rename(&other, &path).unwrap();
    assert_eq!(place.run(&path), 2_003);
    // Each file has notes of its own.
    let notes = place.notes();
    let contents: Vec<_> = notes.iter().map(|note| fs::read(note).unwrap()).collect();
    fs::write(&notes[0], &contents[1]).unwrap();
    fs::write(&notes[1], &contents[0]).unwrap();
    assert_eq!(place.run(&path), 2_003);
}

#[test]
fn the_cache_works_without_notes_that_cannot_be_written() {
    let place = CacheFolder::new("seen-nowhere");
    let path = place.file("a.wasm");
    fs::write(&path, module(3_001)).unwrap();
    // No folder can be made there.
    fs::write(place.folder.join("cache/seen"), "").unwrap();
    std::thread::sleep(SETTLED);
    for _ in 0..3 {
        assert_eq!(place.run(&path), 3_001);
    }
}

#[test]
fn many_use_the_notes_at_once() {
    let place = CacheFolder::new("seen-by-many");
    let path = place.file("a.wasm");
    fs::write(&path, module(4_001)).unwrap();
    std::thread::sleep(SETTLED);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let engine = CacheFolder::engine(&place.folder);
                for _ in 0..20 {
                    assert_eq!(run(&Module::from_file(&engine, &path).unwrap()), 4_001);
                    place.notes().iter().for_each(|note| drop(fs::remove_file(note)));
                }
            });
        }
    });
}

#[test]
fn a_small_file_has_no_note() {
    let place = CacheFolder::new("seen-small");
    let path = place.file("a.wat");
    fs::write(&path, "(func (export \"f\") (result i32) (i32.const 5))").unwrap();
    std::thread::sleep(SETTLED);
    for _ in 0..2 {
        assert_eq!(place.run(&path), 5);
    }
    assert_eq!(place.notes().len(), 0);
}

#[test]
fn a_pipe_is_read_once() {
    let place = CacheFolder::new("piped");
    let pipe = place.file("pipe.wasm");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(Module::from_cache(&place.engine, &pipe).is_none(), "reading does not wait");
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::write(pipe, module(5)).unwrap()
    });
    assert_eq!(place.run(&pipe), 5);
    writer.join().unwrap();
}
