#!/usr/bin/env bash
# Draws the Mandelbrot set in the terminal, then shows what the compiler made of the kernel.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
weftc=${WEFTC:?the path of weftc}
"$weftc" run "$here/mandelbrot.py" --kernel draw --serial --dim 24 "out=zeros(24, 72)" --print none
echo "--- the optimised IR of the same kernel's pixel form, marked for lanes:"
"$weftc" "$here/mandelbrot.py" --kernel mandelbrot --rank 2 --emit ir-lanes
