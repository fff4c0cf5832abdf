#!/usr/bin/env bash
# `make run`: runs every C++ example that the build made (example_*), then every weftc demo (examples/weftc/*.sh, which
# find the compiler in $WEFTC). Finding nothing to run is an error, said loudly.
#
#   run_examples.sh BIN_DIR
set -euo pipefail
bin=$(cd "$1" && pwd)
shopt -s nullglob
ran=0
for program in "$bin"/example_*; do
  [[ -x $program && ! -d $program ]] || continue
  echo "== ${program##*/}"
  "$program"
  ran=$((ran + 1))
done
((ran)) || echo "run: the build made no example program (looked for $bin/example_*)" >&2
demos=0
if [[ -x $bin/weftc ]]; then
  for demo in examples/weftc/*.sh; do
    echo "== $demo"
    WEFTC=$bin/weftc bash "$demo"
    demos=$((demos + 1))
  done
  ((demos)) || echo "run: there is no demo for weftc (looked for examples/weftc/*.sh)" >&2
else
  echo "run: the build made no weftc (looked for $bin/weftc)" >&2
fi
if ((ran + demos == 0)); then
  echo "run: NOTHING WAS RUN" >&2
  exit 1
fi
echo "run: $ran example(s), $demos weftc demo(s)"
