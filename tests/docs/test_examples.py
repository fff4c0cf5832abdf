"""The Python examples run, small, and write what they say; the tools of the documentation work."""

import os
import pathlib
import re
import struct
import subprocess
import sys
import zlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = sorted(path for path in (ROOT / "examples/python").glob("*.py") if "\n    main()" in path.read_text())
RUN_PAGES = ROOT / "tools/docs/run_pages.py"


def run(*command: object, cwd: pathlib.Path, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=cwd,
        env={**os.environ, "WARP_CACHE_PATH": str(cwd / "cache"), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def png_size(path: pathlib.Path) -> tuple[int, int]:
    """Width and height of a PNG whose chunks and pixels are whole."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0]
        chunks[kind] = body
        at += 12 + length
    width, height, depth, color = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, color) == (8, 2)
    assert len(zlib.decompress(chunks[b"IDAT"])) == height * (1 + 3 * width)
    return width, height


def test_there_are_examples():
    assert {"marbles.py", "nbody.py"} <= {path.name for path in EXAMPLES}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example: pathlib.Path, tmp_path: pathlib.Path):
    done = run(example, "--quick", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr.lower(), done.stderr
    for line in re.findall(r"wrote (.*\.png)", done.stdout):
        assert min(png_size(pathlib.Path(line))) > 30


def test_the_flagship_is_silent_when_asked(tmp_path: pathlib.Path):
    code = f"""
import sys
import warp
sys.path.insert(0, {str(ROOT / "examples/python")!r})
sys.argv = ["marbles.py", "--quick"]
warp.config.quiet = True
import marbles
marbles.main()
"""
    done = run("-c", code, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert png_size(tmp_path / "marbles.png") == (64, 36)


def page(tmp_path: pathlib.Path, text: str) -> pathlib.Path:
    path = tmp_path / "page.md"
    path.write_text(text)
    return path


def test_a_page_is_filled_and_then_holds(tmp_path: pathlib.Path):
    end = "```\n\n```text\n```\n\n"
    path = page(tmp_path, f"```python\nx = 2\nprint(x + 1)\n{end}```python\nx / 0\n{end}")
    assert run(RUN_PAGES, "--check", path, cwd=tmp_path).returncode == 1
    assert run(RUN_PAGES, path, cwd=tmp_path).returncode == 0
    assert "```text\n3\n```" in path.read_text()
    assert "ZeroDivisionError: division by zero" in path.read_text()
    assert run(RUN_PAGES, "--check", path, cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("code", ["print(1)", "1 / 0"])
def test_output_that_a_page_hides_is_an_error(code: str, tmp_path: pathlib.Path):
    assert run(RUN_PAGES, page(tmp_path, f"```python\n{code}\n```\n"), cwd=tmp_path).returncode == 1
