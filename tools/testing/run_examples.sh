#!/usr/bin/env bash
# `make examples`: runs every C++ example that the build made (example_*), every weftc demo (examples/weftc/*.sh, which find
# the compiler in $WEFTC), and every Python example, small. Finding nothing to run is an error, said loudly.
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
scripts=0
extensions=(python/warp/_weft*.so)
if ((${#extensions[@]})) && [[ -x .venv/bin/python ]]; then
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  for script in $(grep -l '^if __name__ == "__main__":' examples/python/*.py); do
    echo "== $script"
    (root=$PWD && cd "$scratch" && PYTHONPATH="$root/python" "$root/.venv/bin/python" "$root/$script" --quick)
    scripts=$((scripts + 1))
  done
else
  echo "run: the build made no Python package (looked for python/warp/_weft*.so)" >&2
fi
if ((ran + demos + scripts == 0)); then
  echo "run: NOTHING WAS RUN" >&2
  exit 1
fi
echo "run: $ran C++ example(s), $demos weftc demo(s), $scripts Python example(s)"
