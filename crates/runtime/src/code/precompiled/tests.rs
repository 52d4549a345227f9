//! Tests of compiled files: their format, and verification on first use.

use super::lazy_code::{Admission, Code};
use super::*;
use ropewalk_abi::code::{CodeImage, Position};
use ropewalk_abi::module::DataImage;
use ropewalk_abi::names::NameTable as _;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

const POSITION: Position = Position { offset: 7, position: 9 };
const TRAMPOLINE: TrampolineCode = TrampolineCode { kind: 1, ty: 2, start: 0, end: 3 };
const NAMES: [NameEntry; 2] = [NameEntry { index: 3, start: 0 }, NameEntry { index: 8, start: 4 }];

fn bytes_with(code: &[u8]) -> Vec<u8> {
    let image = CodeImage {
        data: b"data".to_vec(),
        references: vec![1, 2, 3],
        positions: vec![POSITION; 2],
        ..CodeImage::default()
    };
    write(&Contents {
        settings: b"settings",
        info: b"info",
        tables: image.tables(),
        code,
        trampolines: &[TRAMPOLINE],
        trampoline_code: &[0x90, 0x90, 0xC3],
        names: (&NAMES, b"mainother"),
        source: b"source",
        binary: b"binary",
    })
}

fn bytes() -> Vec<u8> {
    bytes_with(&[0xC3; 5000])
}

fn start_of(name: SectionName, file: &[u8]) -> usize {
    let header: Header = bytemuck::pod_read_unaligned(&file[..size_of::<Header>()]);
    header.sections[name as usize].start as usize
}

fn file_of(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

#[test]
fn what_is_written_is_read() {
    let in_memory = Precompiled::copy(&bytes()).unwrap();
    let in_file = Precompiled::open(file_of(&bytes())).unwrap();
    for mut read in [in_memory, in_file] {
        assert_eq!((read.settings(), read.info()), (&b"settings"[..], &b"info"[..]));
        let tables = read.tables().unwrap();
        assert_eq!((tables.data, tables.references), (&b"data"[..], &[1, 2, 3][..]));
        assert!(tables.sites.is_empty());
        assert_eq!(read.trampolines().unwrap(), [TRAMPOLINE]);
        // SAFETY: it is not executed.
        let trampolines = unsafe { read.trampoline_code() }.unwrap();
        assert_eq!(trampolines.bytes(), [0x90, 0x90, 0xC3]);
        assert_eq!(read.binary(), Some(&b"binary"[..]));
        assert_eq!((read.has_source(), read.source()), (true, Some(&b"source"[..])));
        let address = match read.code(false).unwrap() {
            Code::InPlace(_) => read.code_bytes().as_ptr() as usize,
            Code::Lazy(code) => {
                assert_eq!(code.len(), 5000);
                // SAFETY: the first piece is accessible.
                assert_eq!(unsafe { *(code.start() as *const [u8; 5000]) }, [0xC3; 5000]);
                code.start()
            }
        };
        assert!(address.is_multiple_of(PAGE));
        assert_eq!(read.code_bytes(), [0xC3; 5000]);
        read.check_all().unwrap();
        let names = NamesInFile(Arc::new(read));
        assert_eq!([3, 8, 9].map(|index| names.name(index)), [Some("main"), Some("other"), None]);
        let mut all = Vec::new();
        names.each(&mut |index, name| all.push((index, name.to_string())));
        assert_eq!(all, [(3, "main".to_string()), (8, "other".to_string())]);
    }
}

#[test]
fn every_changed_bit_and_every_missing_byte_is_found() {
    let file = bytes();
    Precompiled::copy(&file).unwrap().check_all().unwrap();
    for at in 0..file.len() {
        let mut damaged = file.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!(Precompiled::copy(&damaged).is_err(), "byte {at}");
        if at % 97 == 0 {
            assert!(Precompiled::open(file_of(&damaged)).is_err(), "byte {at} of a file");
        }
    }
    for len in (0..file.len()).step_by(13) {
        assert!(Precompiled::copy(&file[..len]).is_err(), "{len} bytes");
    }
}

#[test]
fn every_section_is_checked_once() {
    for number in 0..SectionName::COUNT {
        let is_in = |names: &[SectionName]| names.iter().any(|name| *name as usize == number);
        let ways = [
            is_in(&SectionName::AT_ONCE),
            is_in(&SectionName::LAZY),
            number == SectionName::Code as usize,
        ];
        assert_eq!(ways.iter().filter(|is| **is).count(), 1, "section {number}");
    }
}

#[test]
fn what_is_damaged_of_what_backtraces_ask_for_is_missing() {
    let damage = |name: SectionName| {
        let mut damaged = bytes_with(&large());
        let start = start_of(name, &damaged);
        damaged[start] ^= 1;
        Precompiled::open(file_of(&damaged)).unwrap()
    };
    assert_eq!(damage(SectionName::Source).source(), None);
    assert!(!damage(SectionName::Positions).has_positions());
    assert_eq!(damage(SectionName::Binary).binary(), None);
    for name in [SectionName::FunctionNames, SectionName::TextOfNames] {
        assert_eq!(NamesInFile(Arc::new(damage(name))).name(3), None);
    }
}

/// Code of three and a half pieces with different contents.
fn large() -> Vec<u8> {
    (0..3 * PIECE + PIECE / 2).map(|at| (at / PIECE) as u8 + 1).collect()
}

/// Which pieces of the code the kernel maps as executable.
fn executable(code: &lazy_code::LazyCode) -> Vec<bool> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let is_executable = |piece: usize| {
        let address = code.start() + piece * PIECE;
        maps.lines().any(|line| {
            let (range, rest) = line.split_once(' ').unwrap();
            let (start, end) = range.split_once('-').unwrap();
            let parse = |text| usize::from_str_radix(text, 16).unwrap();
            (parse(start)..parse(end)).contains(&address) && rest.starts_with("r-xp")
        })
    };
    (0..code.len().div_ceil(PIECE)).map(is_executable).collect()
}

#[test]
fn a_piece_of_code_is_executable_once_it_was_checked() {
    let bytes = bytes_with(&large());
    let file = file_of(&bytes);
    let damaged_at = start_of(SectionName::Code, &bytes) + 2 * PIECE + 100;
    file.write_all_at(&[0xCC], damaged_at as u64).unwrap();
    let mut read = Precompiled::open(file).unwrap();
    let Code::Lazy(code) = read.code(false).unwrap() else { panic!("it is in a file") };
    assert_eq!(executable(&code), [true, false, false, false]);
    assert_eq!(code.admit(&read, PIECE + 9), Admission::Admitted);
    assert_eq!(code.admit(&read, 2 * PIECE), Admission::Damaged);
    assert_eq!(code.admit(&read, large().len() - 1), Admission::Admitted);
    assert_eq!(executable(&code), [true, true, false, true]);
    assert!(read.check_code().is_err());
}

#[test]
fn all_code_is_executable_if_it_is_checked_at_once() {
    let mut read = Precompiled::open(file_of(&bytes_with(&large()))).unwrap();
    let Code::Lazy(code) = read.code(true).unwrap() else { panic!("it is in a file") };
    assert_eq!(executable(&code), [true; 4]);
    let mut bytes = bytes_with(&large());
    let start = start_of(SectionName::Code, &bytes);
    bytes[start + 3 * PIECE] ^= 1;
    assert!(Precompiled::open(file_of(&bytes)).unwrap().code(true).is_err());
}

#[test]
fn a_file_whose_first_piece_of_code_is_damaged_is_refused() {
    let mut bytes = bytes_with(&large());
    let start = start_of(SectionName::Code, &bytes);
    bytes[start] ^= 1;
    let mut read = Precompiled::open(file_of(&bytes)).unwrap();
    assert!(matches!(read.code(false), Err(PrecompiledError::Damaged(_))));
}

#[test]
fn a_file_is_removed_if_its_code_turns_out_to_be_damaged() {
    let folder = tempfile::tempdir().unwrap();
    for damage in [false, true] {
        let (path, mut bytes) = (folder.path().join("kept"), bytes_with(&large()));
        let start = start_of(SectionName::Code, &bytes);
        bytes[start + PIECE] ^= u8::from(damage);
        std::fs::write(&path, &bytes).unwrap();
        let mut read = Precompiled::open(File::open(&path).unwrap()).unwrap();
        read.remove_if_damaged(path.clone());
        assert_eq!(read.is_whole_piece(1), !damage);
        drop(read);
        assert_eq!(path.exists(), !damage);
    }
}

#[test]
fn an_image_that_is_not_in_the_data_is_refused() {
    let mut read = Precompiled::copy(&bytes()).unwrap();
    for (at, place) in [(0, 0..PAGE), (PAGE, 0..0), (1, 0..0), (usize::MAX, 0..PAGE)] {
        let image = DataImage { memory: 0, place, at };
        assert!(read.memory_images(&[image]).is_err());
    }
}
