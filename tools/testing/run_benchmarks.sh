#!/usr/bin/env bash
# `make bench`: runs every benchmark program of a build (bin/bench_*), one after the other so that they don't disturb
# each other, and prints a table of goals and ratios of these. BENCH_ARGS go to each of them; the figures stay in
# BUILD_DIR/bench_results as JSON. Then the Python package, where the build has it: PYTHON is its interpreter,
# PEER_PYTHON one with PyPI's warp-lang to compare with, NUMBA_PYTHON one with Numba, DRJIT_PYTHON one with Dr.Jit,
# MUJOCO_PYTHON one with MuJoCo Warp on Weft (then PEER_PYTHON has it on warp-lang), TORCH_PYTHON one of the same version
# as PYTHON with PyTorch. It ends with a table of them all (bench/python/closing.py).
# At the very end stands what is more than a tenth slower than in the run before, whose figures are kept in BUILD_DIR/bench_before;
# BENCH_BASELINE names another folder with figures to compare with (a copy of BUILD_DIR's bench_*.json and bench_results).
# BENCH_QUICK=1: less of everything (bench/common/quick.h). A program that fails, or takes more than BENCH_LIMIT seconds,
# holds up no other one; what failed is told at the end.
#
#   run_benchmarks.sh BUILD_DIR
set -euo pipefail
shopt -s nullglob
here=$(dirname "$0")
programs_in_python=$here/../../bench/python
python=${PYTHON:-python3}
build=$1
quick=${BENCH_QUICK:-}
limit=${BENCH_LIMIT:-3600}
programs=("$build"/bin/bench_*)
if ((${#programs[@]} == 0)); then
  echo "bench: the build made no benchmark (looked for $build/bin/bench_*)" >&2
  exit 1
fi
results=$build/bench_results
before=$build/bench_before
baseline=$(realpath -m "${BENCH_BASELINE:-$before}")
if [[ -e $build/bench_machine.json ]]; then  # which the last run wrote when it had come to its end
  rm -rf "$before"
  mkdir -p "$before"
  for kept in "$build"/bench_*.json "$results"; do
    if [[ -e $kept ]]; then mv "$kept" "$before/"; fi
  done
fi
rm -rf "$results"
mkdir -p "$results"
rm -f "$build"/bench_*.json  # nothing of another run in the table
failed=()

# attempt NAME COMMAND…: within the limit; notes what fails, and says how long it took.
attempt() {
  local name=$1 begin=$SECONDS status=0
  shift
  timeout "$limit" "$@" || status=$?
  if ((status)); then
    failed+=("$name")
    ((status == 124)) && echo "bench: $name took more than $limit seconds" >&2
  fi
  echo "-- $name: $((SECONDS - begin)) s"
}

for program in "${programs[@]}"; do
  name=${program##*/}
  echo "== $name"
  # shellcheck disable=SC2086  # several arguments in one variable
  attempt "$name" "$program" --benchmark_out="$results/$name.json" --benchmark_out_format=json \
    --benchmark_display_aggregates_only=true ${BENCH_ARGS:-}
done
"$python" "$here/../../bench/summary.py" "$results"/*.json || failed+=(summary.py)

# measure TITLE PROGRAM ARGUMENTS…: one of the programs in Python.
measure() {
  local title=$1 program=$2
  shift 2
  echo
  echo "== $title"
  PYTHONPATH=$here/../../python WEFT_EXTENSION_DIR=$build/python/warp attempt "$program" \
    "$python" "$programs_in_python/$program" "$@"
}

extensions=("$build"/python/warp/_weft*.so)
if ((${#extensions[@]})); then
  peer=(${PEER_PYTHON:+--peer "$PEER_PYTHON"})
  numba=(${NUMBA_PYTHON:+--numba "$NUMBA_PYTHON"})
  drjit=(${DRJIT_PYTHON:+--drjit "$DRJIT_PYTHON"})
  once=(${quick:+--rounds 1})
  brief=(${quick:+--quick})
  measure "the Python package" compare.py --hand "$build/lib/libweft_bench_hand.so" --json "$build/bench_python.json" \
    "${peer[@]}" "${numba[@]}" "${brief[@]}"
  measure "eight kernels beside others" peers.py --json "$build/bench_peers.json" "${peer[@]}" "${numba[@]}" "${drjit[@]}" \
    "${once[@]}"
  measure "making and reading arrays" arrays.py --json "$build/bench_arrays.json" "${peer[@]}" "${once[@]}"
  measure "algorithms on whole arrays" algorithms.py --json "$build/bench_algorithms.json" "${peer[@]}" "${once[@]}" \
    ${quick:+--count 2000000}
  measure "kernels by lanes" lanes.py --json "$build/bench_lanes.json" "${brief[@]}"
  measure "scattered additions by threads" scatter.py --json "$build/bench_scatter.json" "${brief[@]}"
  python=${TORCH_PYTHON:-$python} measure "beside others" beside.py --json "$build/bench_beside.json" ${quick:+--seconds 0.2}
  measure "marching cubes" marching_cubes.py --json "$build/bench_marching_cubes.json" "${peer[@]}" "${once[@]}" \
    ${quick:+--size 128}
  measure "meshes" geometry.py --json "$build/bench_meshes.json" "${peer[@]}" "${once[@]}" \
    ${quick:+--rays 200000 --points 32000}
  measure "gradients" gradients.py --json "$build/bench_gradients.json" "${peer[@]}"
  if [[ -n ${MUJOCO_PYTHON:-} ]]; then
    python=$MUJOCO_PYTHON measure "MuJoCo Warp" mujoco_warp.py --json "$build/bench_mujoco.json" "${peer[@]}" "${once[@]}" \
      ${quick:+--worlds 1 256}
  fi
fi
echo
echo "== all of this in one table (${SECONDS} s)"
"$python" "$programs_in_python/closing.py" "$build" --build "${build##*/}" "${failed[@]/#/--failed=}" \
  --peer "warp-lang=${PEER_PYTHON:-}" --peer "Numba=${NUMBA_PYTHON:-}" --peer "Dr.Jit=${DRJIT_PYTHON:-}" \
  --peer "MuJoCo Warp=${MUJOCO_PYTHON:-}" --peer "PyTorch=${TORCH_PYTHON:-$python}" || failed+=(closing.py)
"$python" "$programs_in_python/against_before.py" --note "$build" --build "${build##*/}"
echo
"$python" "$programs_in_python/against_before.py" "$build" "$baseline" || failed+=(against_before.py)
if ((${#failed[@]})); then
  echo "bench: these failed: ${failed[*]}" >&2
  exit 1
fi
