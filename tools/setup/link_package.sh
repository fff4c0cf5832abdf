#!/usr/bin/env bash
# Makes the package importable by .venv/bin/python from the source tree: the extension of this build is linked beside the
# Python files, and a .pth file names their folder. Does nothing where the extension was not built.
#
#   link_package.sh BUILD_DIR
set -euo pipefail
shopt -s nullglob
extensions=("$1"/python/warp/_weft*.so)
((${#extensions[@]})) || exit 0
for extension in "${extensions[@]}"; do
  ln -sfn "$(realpath "$extension")" "python/warp/$(basename "$extension")"
done
for site in .venv/lib/python3*/site-packages; do
  printf '%s\n' "$PWD/python" >"$site/weft.pth"
done
