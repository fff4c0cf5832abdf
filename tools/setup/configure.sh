#!/usr/bin/env bash
# Configures build/PRESET if it is not configured yet, or not with these arguments: a repeated `make` then costs nothing
# here. Sanitized presets link shared LLVM.
#
#   configure.sh PRESET [CMAKE_ARGUMENT…]
set -euo pipefail
preset=$1
shift
dir=build/$preset
wanted=$(printf '%s\n' "$@")
if [[ -f $dir/build.ninja && -f $dir/.configured_with && $(<"$dir/.configured_with") == "$wanted" ]]; then
  exit 0
fi
echo "configuring $dir: $*"
cmake --preset "$preset" "$@"
printf '%s\n' "$wanted" >"$dir/.configured_with"
