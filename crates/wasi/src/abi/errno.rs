//! Error numbers of WASI, and their conversion from errors of the host.

use std::io;

macro_rules! errnos {
    ($($name:ident $(= $host:ident)?),* $(,)?) => {
        /// An error number of WASI, in the order of the specification.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u16)]
        #[allow(clippy::upper_case_acronyms, dead_code, reason = "the names of the specification")]
        pub(crate) enum Errno { $($name),* }

        impl Errno {
            /// All error numbers, in order.
            const ALL: &[Errno] = &[$(Errno::$name),*];
        }

        impl From<rustix::io::Errno> for Errno {
            fn from(error: rustix::io::Errno) -> Errno {
                match error {
                    $($(rustix::io::Errno::$host => Errno::$name,)?)*
                    // The specification has no number for other errors.
                    _ => Errno::IO,
                }
            }
        }
    };
}

errnos! {
    SUCCESS, TOOBIG = TOOBIG, ACCES = ACCESS, ADDRINUSE = ADDRINUSE, ADDRNOTAVAIL = ADDRNOTAVAIL,
    AFNOSUPPORT = AFNOSUPPORT, AGAIN = AGAIN, ALREADY = ALREADY, BADF = BADF, BADMSG = BADMSG,
    BUSY = BUSY, CANCELED = CANCELED, CHILD = CHILD, CONNABORTED = CONNABORTED,
    CONNREFUSED = CONNREFUSED, CONNRESET = CONNRESET, DEADLK = DEADLK, DESTADDRREQ = DESTADDRREQ,
    DOM = DOM, DQUOT = DQUOT, EXIST = EXIST, FAULT = FAULT, FBIG = FBIG, HOSTUNREACH = HOSTUNREACH,
    IDRM = IDRM, ILSEQ = ILSEQ, INPROGRESS = INPROGRESS, INTR = INTR, INVAL = INVAL, IO = IO,
    ISCONN = ISCONN, ISDIR = ISDIR, LOOP = LOOP, MFILE = MFILE, MLINK = MLINK, MSGSIZE = MSGSIZE,
    MULTIHOP = MULTIHOP, NAMETOOLONG = NAMETOOLONG, NETDOWN = NETDOWN, NETRESET = NETRESET,
    NETUNREACH = NETUNREACH, NFILE = NFILE, NOBUFS = NOBUFS, NODEV = NODEV, NOENT = NOENT,
    NOEXEC = NOEXEC, NOLCK = NOLCK, NOLINK = NOLINK, NOMEM = NOMEM, NOMSG = NOMSG,
    NOPROTOOPT = NOPROTOOPT, NOSPC = NOSPC, NOSYS = NOSYS, NOTCONN = NOTCONN, NOTDIR = NOTDIR,
    NOTEMPTY = NOTEMPTY, NOTRECOVERABLE = NOTRECOVERABLE, NOTSOCK = NOTSOCK, NOTSUP = NOTSUP,
    NOTTY = NOTTY, NXIO = NXIO, OVERFLOW = OVERFLOW, OWNERDEAD = OWNERDEAD, PERM = PERM,
    PIPE = PIPE, PROTO = PROTO, PROTONOSUPPORT = PROTONOSUPPORT, PROTOTYPE = PROTOTYPE,
    RANGE = RANGE, ROFS = ROFS, SPIPE = SPIPE, SRCH = SRCH, STALE = STALE, TIMEDOUT = TIMEDOUT,
    TXTBSY = TXTBSY, XDEV = XDEV, NOTCAPABLE,
}

impl Errno {
    /// The error with a number.
    pub(crate) fn from_number(number: u16) -> Errno {
        Errno::ALL.get(usize::from(number)).copied().unwrap_or(Errno::IO)
    }
}

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Errno {
        if let Some(host) = rustix::io::Errno::from_io_error(&error) {
            return host.into();
        }
        match error.kind() {
            // A path that leaves its directory.
            io::ErrorKind::PermissionDenied => Errno::PERM,
            io::ErrorKind::NotFound => Errno::NOENT,
            // A path with a zero byte.
            io::ErrorKind::InvalidInput => Errno::INVAL,
            _ => Errno::IO,
        }
    }
}

/// The result of decoding and of access to memory.
pub(crate) type Result<T = ()> = std::result::Result<T, Errno>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_specification() {
        let numbers = [
            (Errno::TOOBIG, 1),
            (Errno::BADF, 8),
            (Errno::EXIST, 20),
            (Errno::INVAL, 28),
            (Errno::NOENT, 44),
            (Errno::NOTDIR, 54),
            (Errno::PERM, 63),
            (Errno::NOTCAPABLE, 76),
        ];
        for (errno, number) in numbers {
            assert_eq!(errno as u16, number, "{errno:?}");
            assert_eq!(Errno::from_number(number), errno);
        }
    }

    #[test]
    fn errors_of_the_host_are_converted() {
        assert_eq!(Errno::from(io::Error::from_raw_os_error(2)), Errno::NOENT);
        assert_eq!(Errno::from(rustix::io::Errno::XDEV), Errno::XDEV);
        assert_eq!(Errno::from(rustix::io::Errno::BADE), Errno::IO);
        assert_eq!(Errno::from_number(u16::MAX), Errno::IO);
    }
}
