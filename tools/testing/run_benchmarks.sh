#!/usr/bin/env bash
# `make bench`: runs every benchmark program of a build (bin/bench_*), one after the other so that they don't disturb
# each other. BENCH_ARGS go to each of them.
#
#   run_benchmarks.sh BUILD_DIR
set -euo pipefail
shopt -s nullglob
programs=("$1"/bin/bench_*)
if ((${#programs[@]} == 0)); then
  echo "bench: the build made no benchmark (looked for $1/bin/bench_*)" >&2
  exit 1
fi
for program in "${programs[@]}"; do
  echo "== ${program##*/}"
  # shellcheck disable=SC2086  # several arguments in one variable
  "$program" ${BENCH_ARGS:-}
done
