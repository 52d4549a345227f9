#!/bin/sh
# Installs the C API: headers, the shared and the static library, and ropewalk.pc.
#
#   cargo build --release -p ropewalk-c-api
#   crates/c-api/install.sh --prefix /usr/local
#
# --prefix DIR     destination; /usr/local by default
# --libdir DIR     destination of the libraries; PREFIX/lib by default
# --destdir DIR    prefix of all paths, for packages
# --from DIR       folder of the built libraries; target/release by default
# --strip          removes debug info
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
prefix=/usr/local
libdir=
destdir=
from=$root/target/release
strip=no
while [ $# -gt 0 ]; do
  case $1 in
    --prefix) prefix=$2; shift 2 ;;
    --libdir) libdir=$2; shift 2 ;;
    --destdir) destdir=$2; shift 2 ;;
    --from) from=$2; shift 2 ;;
    --strip) strip=yes; shift ;;
    *) echo "install.sh: unknown option $1" >&2; exit 1 ;;
  esac
done
libdir=${libdir:-$prefix/lib}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml" | head -n 1)

for library in libropewalk_c.so libropewalk_c.a; do
  if [ ! -f "$from/$library" ]; then
    echo "install.sh: $from has no $library; run: cargo build --release -p ropewalk-c-api" >&2
    exit 1
  fi
done

mkdir -p "$destdir$prefix/include" "$destdir$libdir/pkgconfig"
install -m 644 "$here/include/wasm.h" "$here/include/ropewalk.h" "$destdir$prefix/include"
install -m 755 "$from/libropewalk_c.so" "$destdir$libdir/libropewalk.so.$version"
install -m 644 "$from/libropewalk_c.a" "$destdir$libdir/libropewalk.a"
# The name under which programs load the library: see build.rs.
ln -sf "libropewalk.so.$version" "$destdir$libdir/libropewalk.so.0"
ln -sf "libropewalk.so.0" "$destdir$libdir/libropewalk.so"
if [ $strip = yes ]; then
  strip --strip-unneeded "$destdir$libdir/libropewalk.so.$version"
  strip --strip-debug "$destdir$libdir/libropewalk.a"
fi
sed -e "s|@PREFIX@|$prefix|" -e "s|@LIBDIR@|$libdir|" -e "s|@VERSION@|$version|" \
  "$here/ropewalk.pc.in" > "$destdir$libdir/pkgconfig/ropewalk.pc"
