#!/usr/bin/env bash
# Installs what building and testing Weft needs on Debian 12 and Ubuntu 24.04, and nothing that is already there: with
# everything present it touches neither apt nor the network. Required packages that can't be installed are an error;
# optional ones (faster builds, formatting, fuzzing, benchmarks) are named and left out.
#
#   install_packages.sh [STATE_DIR]     STATE_DIR remembers optional packages that could not be had
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
state_dir=${1:-}

# package | how to see that it is there without asking dpkg ("command NAME", "file PATH…"; any one path will do)
required=(
  "g++|command g++"
  "cmake|command cmake"
  "ninja-build|command ninja"
  "python3|command python3"
  "llvm-19-dev|file /usr/lib/llvm-19/lib/cmake/llvm/LLVMConfig.cmake"
  "libtbb-dev|file /usr/include/tbb/version.h /usr/include/oneapi/tbb/version.h"
  "libzstd-dev|file /usr/include/zstd.h"
  "zlib1g-dev|file /usr/include/zlib.h"
  "libgtest-dev|file /usr/include/gtest/gtest.h"
)
optional=(
  "ccache|command ccache"
  "lld-19|command ld.lld-19 ld.lld"
  "clang-19|command clang-19"
  "libclang-rt-19-dev|file /usr/lib/llvm-19/lib/clang/19/lib/linux /usr/lib/clang/19/lib/linux"
  "clang-format-19|command clang-format-19"
  "clang-tidy-19|command clang-tidy-19"
  "libbenchmark-dev|file /usr/include/benchmark/benchmark.h"
  "libeigen3-dev|file /usr/include/eigen3/Eigen/Dense"
  "libomp-19-dev|file /usr/lib/llvm-19/lib/libomp.so"
  "openmpi-bin|command mpirun"
)

is_present() {
  local kind=${1%% *} names=${1#* } name
  for name in $names; do
    if [[ $kind == command ]]; then
      command -v "$name" >/dev/null && return 0
    else
      [[ -e $name ]] && return 0
    fi
  done
  return 1
}

# Prints the names of those rows' packages that are not there.
missing_of() {
  local row
  for row in "$@"; do
    is_present "${row#*|}" || echo "${row%%|*}"
  done
}

mapfile -t need < <(missing_of "${required[@]}")
mapfile -t want < <(missing_of "${optional[@]}")

refused_list=${state_dir:+$state_dir/.packages_refused}
if [[ -n $refused_list && -f $refused_list ]]; then
  kept=()
  for package in "${want[@]}"; do
    grep -qxF "$package" "$refused_list" || kept+=("$package")
  done
  want=("${kept[@]}")
fi

if ((${#need[@]} + ${#want[@]} == 0)); then
  echo "setup: everything needed is installed"
  exit 0
fi
echo "setup: missing: ${need[*]} ${want[*]}"

if ! command -v apt-get >/dev/null; then
  echo "setup: no apt-get here; install these by hand (or say NO_INSTALL=1 if they are found another way): ${need[*]}" >&2
  ((${#need[@]} == 0)) && exit 0
  exit 1
fi
as_root=()
if ((EUID != 0)); then
  if command -v sudo >/dev/null; then
    as_root=(sudo env DEBIAN_FRONTEND=noninteractive)
  else
    echo "setup: not root and no sudo; as root run: apt-get install ${need[*]} ${want[*]}" >&2
    ((${#need[@]} == 0)) && exit 0
    exit 1
  fi
fi

install() { "${as_root[@]}" apt-get install -y --no-install-recommends "$@"; }

if ! "${as_root[@]}" apt-get update; then
  echo "setup: apt-get update failed; trying with the package lists at hand" >&2
fi
if ((${#need[@]})); then
  if ! install "${need[@]}"; then
    echo "setup: could not install: ${need[*]}" >&2
    echo "setup: LLVM 19 is in Debian 12's main archive and in Ubuntu 24.04's universe (noble-updates)" >&2
    exit 1
  fi
fi
if ((${#want[@]})) && ! install "${want[@]}"; then
  # One package that is not offered must not keep the others away.
  for package in "${want[@]}"; do
    if ! install "$package"; then
      echo "setup: going on without the optional package $package" >&2
      # Not asked for again, so that later runs cost nothing; `make clean` forgets it.
      [[ -z $state_dir ]] || { mkdir -p "$state_dir" && echo "$package" >>"$refused_list"; }
    fi
  done
fi
echo "setup: done"
