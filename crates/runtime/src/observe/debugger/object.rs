//! ELF object files in memory that describe code elsewhere in memory.
//!
//! ```text
//!   head | sections ... | symbols | names of symbols | names of sections | table of sections
//! ```

use std::mem::offset_of;

#[derive(Debug)]
pub(crate) struct Symbol {
    pub name: String,
    /// Its offset in the code.
    pub start: usize,
    pub len: usize,
}

/// Names of sections and their bytes.
pub(crate) type Sections = Vec<(&'static str, Vec<u8>)>;

/// The number of the section of code, after the null section.
const TEXT: u16 = 1;

mod kind {
    pub const NULL: u32 = 0;
    pub const PROGRAM: u32 = 1;
    pub const SYMBOLS: u32 = 2;
    pub const STRINGS: u32 = 3;
    pub const NO_BYTES: u32 = 8;
}

/// Flags of a section: it is in memory, and it is code.
const ALLOCATED_CODE: u64 = 2 | 4;

/// A file under construction.
#[derive(Default)]
struct File {
    bytes: Vec<u8>,
    table: Vec<libc::Elf64_Shdr>,
    names: Vec<u8>,
}

impl File {
    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
    }

    /// Adds a section; returns its number.
    fn add(&mut self, name: &str, kind: u32, bytes: &[u8]) -> usize {
        self.align();
        self.table.push(libc::Elf64_Shdr {
            sh_name: push_name(&mut self.names, name),
            sh_type: kind,
            sh_flags: 0,
            sh_addr: 0,
            sh_offset: self.bytes.len() as u64,
            sh_size: bytes.len() as u64,
            sh_link: 0,
            sh_info: 0,
            sh_addralign: 1,
            sh_entsize: 0,
        });
        self.bytes.extend_from_slice(bytes);
        self.table.len() - 1
    }
}

/// Encodes a file about code of `len` bytes at an address.
pub(crate) fn write(
    address: usize,
    len: usize,
    symbols: &[Symbol],
    sections: &[(&str, Vec<u8>)],
) -> Vec<u8> {
    let mut file = File { bytes: vec![0; size_of::<libc::Elf64_Ehdr>()], ..File::default() };
    file.add("", kind::NULL, &[]);
    let text = file.add(".text", kind::NO_BYTES, &[]);
    debug_assert_eq!(text, usize::from(TEXT));
    let text = &mut file.table[text];
    text.sh_flags = ALLOCATED_CODE;
    (text.sh_addr, text.sh_size, text.sh_addralign) = (address as u64, len as u64, 16);
    for (name, bytes) in sections {
        file.add(name, kind::PROGRAM, bytes);
    }
    add_symbols(&mut file, address, symbols);
    finish(file)
}

fn add_symbols(file: &mut File, address: usize, symbols: &[Symbol]) {
    let mut names = Vec::new();
    push_name(&mut names, "");
    let mut table = vec![0; size_of::<libc::Elf64_Sym>()]; // the first one is none
    for symbol in symbols {
        const GLOBAL_FUNCTION: u8 = 1 << 4 | 2;
        push(
            &mut table,
            &libc::Elf64_Sym {
                st_name: push_name(&mut names, &symbol.name),
                st_info: GLOBAL_FUNCTION,
                st_other: 0,
                st_shndx: TEXT,
                st_value: (address + symbol.start) as u64,
                st_size: symbol.len as u64,
            },
        );
    }
    let table = file.add(".symtab", kind::SYMBOLS, &table);
    let names = file.add(".strtab", kind::STRINGS, &names);
    let header = &mut file.table[table];
    (header.sh_link, header.sh_info) = (names as u32, 1);
    (header.sh_addralign, header.sh_entsize) = (8, size_of::<libc::Elf64_Sym>() as u64);
}

/// Adds the names and the table of sections, and sets the header.
fn finish(mut file: File) -> Vec<u8> {
    // The section of names contains its own name.
    let names = file.add(".shstrtab", kind::STRINGS, &[]);
    file.table[names].sh_size = file.names.len() as u64;
    file.bytes.extend_from_slice(&file.names);
    file.align();
    let table = file.bytes.len() as u64;
    let head = libc::Elf64_Ehdr {
        e_ident: *b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0", // 64 bits, little-endian
        e_type: libc::ET_EXEC,
        e_machine: libc::EM_X86_64,
        e_version: libc::EV_CURRENT,
        e_entry: 0,
        e_phoff: 0,
        e_shoff: table,
        e_flags: 0,
        e_ehsize: size_of::<libc::Elf64_Ehdr>() as u16,
        e_phentsize: 0,
        e_phnum: 0,
        e_shentsize: size_of::<libc::Elf64_Shdr>() as u16,
        e_shnum: file.table.len() as u16,
        e_shstrndx: names as u16,
    };
    for header in &file.table {
        push(&mut file.bytes, header);
    }
    let mut bytes = Vec::new();
    push(&mut bytes, &head);
    file.bytes[..bytes.len()].copy_from_slice(&bytes);
    file.bytes
}

/// Appends a name; returns its offset.
fn push_name(names: &mut Vec<u8>, name: &str) -> u32 {
    let start = names.len() as u32;
    names.extend(name.bytes().filter(|byte| *byte != 0));
    names.push(0);
    start
}

/// A record of these files: integers without padding.
trait Record: Copy {}
impl Record for libc::Elf64_Ehdr {}
impl Record for libc::Elf64_Shdr {}
impl Record for libc::Elf64_Sym {}

fn push<T: Record>(bytes: &mut Vec<u8>, record: &T) {
    // SAFETY: such a record has no uninitialized bytes.
    let all = unsafe { std::slice::from_raw_parts((&raw const *record).cast(), size_of::<T>()) };
    bytes.extend_from_slice(all);
}

// There is no padding.
const _: () = assert!(
    size_of::<libc::Elf64_Ehdr>() == 64
        && offset_of!(libc::Elf64_Ehdr, e_shstrndx) == 62
        && size_of::<libc::Elf64_Shdr>() == 64
        && offset_of!(libc::Elf64_Shdr, sh_entsize) == 56
        && size_of::<libc::Elf64_Sym>() == 24
        && offset_of!(libc::Elf64_Sym, st_size) == 16
);
