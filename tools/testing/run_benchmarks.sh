#!/usr/bin/env bash
# `make bench`: runs every benchmark program of a build (bin/bench_*), one after the other so that they don't disturb
# each other, and prints one table of goals and ratios at the end. BENCH_ARGS go to each of them; the figures stay in
# BUILD_DIR/bench_results as JSON. Then the Python package, where the build has it: PYTHON is its interpreter,
# PEER_PYTHON one with PyPI's warp-lang to compare with, NUMBA_PYTHON one with Numba, DRJIT_PYTHON one with Dr.Jit. It ends with
# a table of them all (bench/python/closing.py).
#
#   run_benchmarks.sh BUILD_DIR
set -euo pipefail
shopt -s nullglob
here=$(dirname "$0")
python=${PYTHON:-python3}
programs=("$1"/bin/bench_*)
if ((${#programs[@]} == 0)); then
  echo "bench: the build made no benchmark (looked for $1/bin/bench_*)" >&2
  exit 1
fi
results=$1/bench_results
rm -rf "$results"
mkdir -p "$results"
for program in "${programs[@]}"; do
  name=${program##*/}
  echo "== $name"
  # shellcheck disable=SC2086  # several arguments in one variable
  "$program" --benchmark_out="$results/$name.json" --benchmark_out_format=json --benchmark_display_aggregates_only=true \
    ${BENCH_ARGS:-}
done
"$python" "$here/../../bench/summary.py" "$results"/*.json
extensions=("$1"/python/warp/_weft*.so)
if ((${#extensions[@]})); then
  echo
  echo "== the Python package"
  PYTHONPATH=$here/../../python WEFT_EXTENSION_DIR=$1/python/warp "$python" "$here/../../bench/python/compare.py" \
    --hand "$1/lib/libweft_bench_hand.so" --json "$1/bench_python.json" ${PEER_PYTHON:+--peer "$PEER_PYTHON"} \
    ${NUMBA_PYTHON:+--numba "$NUMBA_PYTHON"}
  echo
  echo "== five kernels beside others"
  PYTHONPATH=$here/../../python WEFT_EXTENSION_DIR=$1/python/warp "$python" "$here/../../bench/python/peers.py" \
    --json "$1/bench_peers.json" ${PEER_PYTHON:+--peer "$PEER_PYTHON"} ${NUMBA_PYTHON:+--numba "$NUMBA_PYTHON"} \
    ${DRJIT_PYTHON:+--drjit "$DRJIT_PYTHON"}
  echo
  echo "== making and reading arrays"
  PYTHONPATH=$here/../../python WEFT_EXTENSION_DIR=$1/python/warp "$python" "$here/../../bench/python/arrays.py" \
    --json "$1/bench_arrays.json" ${PEER_PYTHON:+--peer "$PEER_PYTHON"}
  echo
  echo "== algorithms on whole arrays"
  PYTHONPATH=$here/../../python WEFT_EXTENSION_DIR=$1/python/warp "$python" "$here/../../bench/python/algorithms.py" \
    --json "$1/bench_algorithms.json" ${PEER_PYTHON:+--peer "$PEER_PYTHON"}
  echo
  echo "== kernels by lanes"
  PYTHONPATH=$here/../../python WEFT_EXTENSION_DIR=$1/python/warp "$python" "$here/../../bench/python/lanes.py" \
    --json "$1/bench_lanes.json"
  echo
  echo "== scattered additions by threads"
  PYTHONPATH=$here/../../python WEFT_EXTENSION_DIR=$1/python/warp "$python" "$here/../../bench/python/scatter.py" \
    --json "$1/bench_scatter.json"
  echo
  echo "== beside others"
  PYTHONPATH=$here/../../python WEFT_EXTENSION_DIR=$1/python/warp "$python" "$here/../../bench/python/beside.py" \
    --json "$1/bench_beside.json"
  echo
  echo "== marching cubes"
  PYTHONPATH=$here/../../python WEFT_EXTENSION_DIR=$1/python/warp "$python" "$here/../../bench/python/marching_cubes.py" \
    --json "$1/bench_marching_cubes.json" ${PEER_PYTHON:+--peer "$PEER_PYTHON"}
  echo
  echo "== meshes"
  PYTHONPATH=$here/../../python WEFT_EXTENSION_DIR=$1/python/warp "$python" "$here/../../bench/python/geometry.py" \
    --json "$1/bench_meshes.json" ${PEER_PYTHON:+--peer "$PEER_PYTHON"}
  echo
  echo "== gradients"
  PYTHONPATH=$here/../../python WEFT_EXTENSION_DIR=$1/python/warp "$python" "$here/../../bench/python/gradients.py" \
    ${PEER_PYTHON:+--peer "$PEER_PYTHON"}
  echo
  echo "== all of this in one table"
  "$python" "$here/../../bench/python/closing.py" "$1"
fi
