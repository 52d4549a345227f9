//! Permissions of directories and files, and the rights that follow from them.

use crate::abi::Rights;

bitflags::bitflags! {
    /// What a program may do with a directory and its entries.
    ///
    /// ```
    /// use ropewalk_wasi::{DirPerms, FilePerms, WasiCtx};
    ///
    /// # fn main() -> ropewalk::Result<()> {
    /// let (read, all) = (DirPerms::READ, DirPerms::all());
    /// let mut builder = WasiCtx::builder();
    /// // The program can list and read the first directory.
    /// builder.preopened_dir("src", "/src", read, FilePerms::READ)?;
    /// # let scratch = std::env::temp_dir();
    /// // It can create, change and remove files in the second.
    /// builder.preopened_dir(scratch, "/scratch", all, FilePerms::all())?;
    /// let ctx = builder.build();
    /// # drop(ctx);
    /// # Ok(())
    /// # }
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct DirPerms: u8 {
        /// List the directory and look up entries.
        const READ = 1;
        /// Create, rename and remove entries.
        const MUTATE = 2;
    }

    /// What a program may do with the files in a directory. See [`DirPerms`] for an example.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FilePerms: u8 {
        /// Read files.
        const READ = 1;
        /// Write files.
        const WRITE = 2;
    }
}

/// The rights of a directory with these permissions.
pub(crate) fn directory_rights(dir: DirPerms, file: FilePerms) -> Rights {
    let mut rights = Rights::DIRECTORY;
    if !dir.contains(DirPerms::READ) {
        rights.remove(Rights::FD_READDIR | Rights::PATH_READLINK | Rights::PATH_FILESTAT_GET);
    }
    if !dir.contains(DirPerms::MUTATE) {
        rights.remove(Rights::MUTATING);
    }
    if !file.contains(FilePerms::WRITE) {
        rights.remove(Rights::PATH_FILESTAT_SET_SIZE | Rights::PATH_FILESTAT_SET_TIMES);
    }
    rights
}

/// The rights of files in a directory with these permissions.
pub(crate) fn file_perms_rights(file: FilePerms) -> Rights {
    let mut rights = Rights::FILE;
    if !file.contains(FilePerms::READ) {
        rights.remove(Rights::FD_READ);
    }
    if !file.contains(FilePerms::WRITE) {
        rights.remove(Rights::WRITING | Rights::FD_FILESTAT_SET_TIMES);
    }
    rights
}
