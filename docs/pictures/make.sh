#!/bin/sh
# Makes the pictures of DESIGNS.md: runs the program of each design there, and draws what its stacks
# did. A test makes them again and compares.
#
#   docs/pictures/make.sh [FOLDER]
#
# ROPEWALK is the command to use; without, it is built.
set -eu
cd "$(dirname "$0")/../.."
folder="${1:-docs/pictures}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

ropewalk() {
  if [ -n "${ROPEWALK:-}" ]; then "$ROPEWALK" "$@"; else cargo run -q --release -p ropewalk-cli -- "$@"; fi
}

# The first program under a heading.
program() {
  awk -v heading="### $1" '
    $0 == heading { found = 1 }
    found && $0 == "```" { exit }
    inside
    found && $0 == "```wat" { inside = 1 }
  ' docs/DESIGNS.md
}

while read -r name heading; do
  program "$heading" > "$work/$name.wat"
  (cd "$work" && ropewalk run --trace "$name.rwtrace" --invoke sum "$name.wat" 3 > result)
  [ "$(cat "$work/result")" = 14 ]
  ropewalk trace "$work/$name.rwtrace" -o "$folder/$name.svg"
done << DESIGNS
continuations Typed continuations
bag Bag of stacks
tasks Tasks
fibers Fibers
first-class First-class stacks
DESIGNS
