#!/usr/bin/env python3
"""Makes an environment in which MuJoCo Warp runs on this package.

  mujoco_environment.py FOLDER                    a new environment with MuJoCo Warp and this source tree
  mujoco_environment.py FOLDER --package DIR      another folder that holds the package `warp`
  mujoco_environment.py FOLDER --extension DIR    where the compiled extension is, if not beside the package's files
  mujoco_environment.py FOLDER --check            only the check: twenty steps of the humanoid beside MuJoCo's own

MuJoCo Warp depends on warp-lang, which is also imported as `warp`: it is installed without its dependencies, they follow
without warp-lang, and a .pth file puts this package in front of all others, so that it wins even if warp-lang comes later.
Run again it repairs what is there.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENGINE = "mujoco-warp==4.0.0"
NEEDED = ("mujoco==4.0.0", "numpy", "absl-py", "etils[epath]")
PTH = "weft_first.pth"

CHECK = """
import pathlib
import mujoco
import mujoco_warp as engine
import numpy as np
import warp as wp

path = pathlib.Path(engine.__file__).parent / "test_data/humanoid/humanoid.xml"
model = mujoco.MjModel.from_xml_path(str(path))
data = mujoco.MjData(model)
mujoco.mj_resetDataKeyframe(model, data, 0)
mujoco.mj_forward(model, data)
with wp.ScopedDevice("cpu"):
    m, d = engine.put_model(model), engine.put_data(model, data, nworld=2, nconmax=24, njmax=64)
    for _ in range(20):
        mujoco.mj_step(model, data)
        engine.step(m, d)
    off = float(np.abs(d.qpos.numpy() - data.qpos).max())
print(f"warp is {pathlib.Path(wp.__file__).parent}")
print(f"after 20 steps of the humanoid qpos differs from MuJoCo's by {off:.1e}")
raise SystemExit(off > 1e-5)
"""


def site_packages(python: pathlib.Path) -> pathlib.Path:
    """Where an interpreter looks for packages."""
    code = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    return pathlib.Path(subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip())


def put_first(site: pathlib.Path, package: pathlib.Path, extension: pathlib.Path | None) -> pathlib.Path:
    """Writes the .pth file: Python runs its line whenever it starts."""
    line = f"import os, sys; sys.path.insert(0, {str(package)!r})"
    if extension:
        line += f"; os.environ.setdefault('WEFT_EXTENSION_DIR', {str(extension)!r})"
    path = site / PTH
    path.write_text(line + "\n", encoding="utf-8")
    return path


def has_extension(folder: pathlib.Path) -> bool:
    return any(folder.glob("_weft*.so"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--package", type=pathlib.Path, default=ROOT / "python", help="folder that holds `warp`")
    parser.add_argument("--extension", type=pathlib.Path, help="folder that holds _weft*.so")
    parser.add_argument("--check", action="store_true", help="change nothing, only check")
    options = parser.parse_args()
    python = options.folder / "bin" / "python"
    if not options.check:
        package = options.package.resolve()
        if not (package / "warp" / "__init__.py").is_file():
            parser.error(f"there is no package `warp` in {package}; name its folder with --package")
        extension = options.extension or pathlib.Path(os.environ.get("WEFT_EXTENSION_DIR", package / "warp"))
        if not has_extension(extension):
            parser.error(f"there is no _weft*.so in {extension}; run `make build`, or name its folder with --extension")
        if not python.exists():
            venv.create(options.folder, with_pip=True)
        for wanted in (NEEDED, ("--no-deps", ENGINE)):
            subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True)
        beside = extension.resolve() == package / "warp"
        put_first(site_packages(python), package, None if beside else extension.resolve())
    return subprocess.run([python, "-c", CHECK], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
