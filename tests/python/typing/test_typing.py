"""The stubs: type checkers accept a program that runs and find the mistakes in one that is wrong; the files in the tree
are what the generator writes."""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SOURCES = ROOT / "python"


def run(*command: str, folder: pathlib.Path) -> subprocess.CompletedProcess:
    settings = {**os.environ, "MYPYPATH": str(SOURCES), "PYTHONPATH": str(SOURCES)}
    if "WEFT_EXTENSION_DIR" in settings:
        settings["WEFT_EXTENSION_DIR"] = os.path.abspath(settings["WEFT_EXTENSION_DIR"])
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=settings, capture_output=True, text=True, timeout=300
    )


def need(module: str) -> None:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed; tools/setup/python_env.sh installs it where there is a network")


def marked_lines(path: pathlib.Path) -> set[int]:
    return {number for number, line in enumerate(path.read_text().splitlines(), 1) if line.endswith("# mistake")}


def mypy(path: pathlib.Path, folder: pathlib.Path) -> str:
    """What mypy --strict says."""
    need("mypy")
    return run("-m", "mypy", "--strict", "--no-color-output", f"--cache-dir={folder}", str(path), folder=folder).stdout


def basedpyright(path: pathlib.Path, folder: pathlib.Path, mode: str) -> list[dict]:
    """What basedpyright finds."""
    need("basedpyright")
    config = {"extraPaths": [str(SOURCES)], "pythonVersion": "3.10", "typeCheckingMode": mode, "include": [str(path)]}
    (folder / "pyrightconfig.json").write_text(json.dumps(config))
    done = run("-m", "basedpyright", "--outputjson", "-p", str(folder), "--pythonpath", sys.executable, folder=folder)
    return json.loads(done.stdout)["generalDiagnostics"]


def test_sample_runs() -> None:
    done = run(str(HERE / "sample.py"), folder=HERE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_accepts_sample(tmp_path: pathlib.Path) -> None:
    output = mypy(HERE / "sample.py", tmp_path)
    assert output.startswith("Success"), output


def test_basedpyright_accepts_sample(tmp_path: pathlib.Path) -> None:
    assert basedpyright(HERE / "sample.py", tmp_path, "strict") == []


def test_mypy_finds_mistakes(tmp_path: pathlib.Path) -> None:
    output = mypy(HERE / "mistakes.py", tmp_path)
    found = {int(line) for line in re.findall(r"mistakes\.py:(\d+): error", output)}
    assert found == marked_lines(HERE / "mistakes.py"), output


def test_basedpyright_finds_mistakes(tmp_path: pathlib.Path) -> None:
    findings = basedpyright(HERE / "mistakes.py", tmp_path, "standard")
    found = {finding["range"]["start"]["line"] + 1 for finding in findings if finding["severity"] == "error"}
    assert found == marked_lines(HERE / "mistakes.py"), findings


def test_stubs_are_up_to_date() -> None:
    done = run(str(ROOT / "tools" / "stubs" / "generate.py"), "--check", folder=ROOT)
    assert done.returncode == 0, done.stderr


def test_stubs_name_everything_public() -> None:
    """Every name that programs see in `warp` is in the stub, and every builtin."""
    import warp as wp
    from warp._src.values import builtins

    text = (SOURCES / "warp" / "__init__.pyi").read_text()
    named = set(re.findall(r"^(?:def|class) (\w+)|^(\w+)(?:: | = )", text, re.M))
    flat = {name for pair in named for name in pair} | set(re.findall(r"\bas (\w+)", text))
    missing = [
        n for n in (*wp.__all__, *builtins.names()) if not isinstance(getattr(wp, n), type(sys)) and n not in flat
    ]
    assert missing == []
