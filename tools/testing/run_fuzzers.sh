#!/usr/bin/env bash
# `make fuzz`: runs the libFuzzer programs of a build in turn, each for some seconds, round after round. What they learn
# stays in BUILD_DIR/corpus; seeds come from tests/fuzz/corpus/NAME. A finding stops the run and names its file. Each
# round ends with random kernels compared across the executors (weft_agree_fuzz), which prints a failing program.
#
#   run_fuzzers.sh BUILD_DIR SECONDS ROUNDS JOBS      ROUNDS 0: until interrupted
set -euo pipefail
build=$1 seconds=$2 rounds=$3 jobs=$4
shopt -s nullglob
fuzzers=("$build"/bin/fuzz_*)
if ((${#fuzzers[@]} == 0)); then
  echo "fuzz: the build made no fuzzer (looked for $build/bin/fuzz_*)" >&2
  exit 1
fi
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}
for ((round = 1; rounds == 0 || round <= rounds; round++)); do
  for fuzzer in "${fuzzers[@]}"; do
    name=${fuzzer##*/fuzz_}
    corpus=$build/corpus/$name
    findings=$build/findings/$name
    mkdir -p "$corpus" "$findings"
    seeds=(tests/fuzz/corpus/"$name")
    [[ -d ${seeds[0]} ]] || seeds=()
    echo "== round $round: $name for $seconds s (corpus: $(find "$corpus" -type f | wc -l) inputs)"
    if ! "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -fork="$jobs" -ignore_crashes=0 \
      -artifact_prefix="$findings/" "$corpus" "${seeds[@]}"; then
      echo "fuzz: $name found something; its input is in $findings" >&2
      exit 1
    fi
  done
  if [[ -x $build/bin/weft_agree_fuzz ]]; then
    seed=$(($(date +%s) * 1000))
    echo "== round $round: random kernels for $seconds s from seed $seed"
    "$build/bin/weft_agree_fuzz" --seed "$seed" --seconds "$seconds"
  fi
done
