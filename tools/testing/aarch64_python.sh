#!/usr/bin/env bash
# The Python package on aarch64: cross-builds the extension for the Python of the sysroot and runs tests under qemu. Slow,
# some ten times as long as on the machine itself, but the machine code is that of an aarch64 machine.
#
#   aarch64_python.sh [PYTEST ARGUMENT…]     without any: all of tests/python that starts no further process
#
# Tests that start processes need a kernel that runs aarch64 programs by qemu (binfmt_misc).
set -euo pipefail
cd "$(dirname "$0")/../.."
sysroot=$PWD/build/aarch64-sysroot build=build/aarch64-python
tools/setup/cross_sysroot.sh aarch64 "$sysroot" libpython3-dev python3-numpy python3-pytest python3-hypothesis
python=$(basename "$(find "$sysroot/usr/include" -maxdepth 1 -name 'python3.*' | head -1)")
headers=$sysroot/usr/include/$python
cmake --preset aarch64 -B $build -DWEFT_PYTHON=ON -Dnanobind_DIR="$(.venv/bin/python -m nanobind --cmake_dir)" \
  -DPython3_EXECUTABLE="$PWD/.venv/bin/python" -DPython_EXECUTABLE="$PWD/.venv/bin/python" \
  -DPython3_INCLUDE_DIR="$headers" -DPython_INCLUDE_DIR="$headers"
cmake --build $build -j "${JOBS:-2}" --target _weft
mkdir -p $build/package/warp  # the build names the extension for the machine that it runs on
find $build/python/warp -name '_weft.*.so' -exec cp {} $build/package/warp/_weft.so \;

libraries=$sysroot/usr/lib/aarch64-linux-gnu
export PYTHONPATH=$PWD/python WEFT_EXTENSION_DIR=$PWD/$build/package/warp PYTHONDONTWRITEBYTECODE=1
export QEMU_LD_PREFIX=$sysroot
export QEMU_SET_ENV=LD_LIBRARY_PATH=$libraries/blas:$libraries/lapack:$sysroot/usr/lib/llvm-19/lib:$libraries
emulator=$(command -v qemu-aarch64-static || command -v qemu-aarch64)
if (($# == 0)); then
  alone=()
  while IFS= read -r file; do alone+=("$file"); done < <(grep -LE 'subprocess|multiprocessing' tests/python/test_*.py)
  set -- "${alone[@]}"
fi
exec "$emulator" "$sysroot/usr/bin/$python" -m pytest -q --no-header -p no:cacheprovider "$@"
