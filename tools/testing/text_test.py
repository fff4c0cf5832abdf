"""One text test: a file whose comments say how to run it and what must come out.

  RUN: command                 run by bash; its output must satisfy the file's CHECK lines, if it has any
  RUN: not command             the command must fail (not crash)
  RUN: command | check --prefix=ASM [--strict-whitespace]      other CHECK lines; --none: run, look at nothing
  GOLDEN: command => path      the output equals that file (beside the test); --update rewrites it
  REQUIRES: ptxas, x86_64      skipped, visibly, unless all of these are there; !name: unless it is not
  A trailing backslash joins a RUN or GOLDEN line with the next one of its kind.

Commands run in the test's own folder, so that %s in messages is a bare file name.
  %s the file   %b its name without suffix   %S its folder   %t a temporary name of this test   %weftc the compiler
"""

import dataclasses
import difflib
import os
import pathlib
import platform
import re
import shlex
import shutil
import signal
import subprocess
import tempfile

import check_output

COMMENT = r"^[ \t]*(?://|;|#)+[ \t]*"
KEYWORD = re.compile(COMMENT + r"(RUN|GOLDEN|REQUIRES|UNSUPPORTED):[ \t]*(.*?)[ \t]*$")
CHECK_SUFFIX = re.compile(r"^(.*?)\s*\|\s*check((?:\s+--[\w=-]+)*)\s*$", re.DOTALL)
CUDA_FOLDERS = ("/usr/local/cuda/bin",)
SHOWN_OUTPUT = 4000


class TestError(Exception):
    """A test file that makes no sense, or a test that failed."""


@dataclasses.dataclass
class Settings:
    """What is the same for every test of a run."""

    programs: dict  # %name -> path
    features: set
    timeout: float = 120.0
    update: bool = False
    machine: str = platform.machine()  # the one that the programs are made for


@dataclasses.dataclass
class Step:
    """One RUN or GOLDEN line."""

    line: int
    command: str
    must_fail: bool = False
    prefix: str | None = None  # None: CHECK, where the file has such lines
    check: bool = True
    strict_whitespace: bool = False
    golden: str | None = None


@dataclasses.dataclass
class TestFile:
    """A parsed test file."""

    path: pathlib.Path
    text: str
    steps: list
    requires: list


def parse(path):
    """Reads a test file. Raises TestError when it has nothing to run."""
    text = path.read_text(encoding="utf-8")
    steps, requires, open_line = [], [], None
    for number, line in enumerate(text.splitlines(), start=1):
        match = KEYWORD.match(line)
        if not match:
            continue
        keyword, value = match.groups()
        if keyword in ("REQUIRES", "UNSUPPORTED"):
            names = [name.strip() for name in value.split(",") if name.strip()]
            requires += names if keyword == "REQUIRES" else [_negated(name) for name in names]
            continue
        if open_line:
            if open_line[0] != keyword:
                raise TestError(f"line {number}: the {open_line[0]} line before this ends with a backslash")
            value, first = open_line[1] + " " + value, open_line[2]
        else:
            first = number
        open_line = None
        if value.endswith("\\"):
            open_line = (keyword, value[:-1].rstrip(), first)
            continue
        steps.append(_run_step(value, first) if keyword == "RUN" else _golden_step(value, first))
    if open_line:
        raise TestError(f"line {open_line[2]}: the last {open_line[0]} line ends with a backslash")
    if not steps:
        raise TestError("the file has no RUN: or GOLDEN: line")
    return TestFile(path, text, steps, requires)


def _negated(name):
    return name[1:] if name.startswith("!") else "!" + name


def _strip_not(command):
    match = re.match(r"not\s+", command)
    return (command[match.end() :], True) if match else (command, False)


def _run_step(value, line):
    match = CHECK_SUFFIX.match(value)
    options = match.group(2).split() if match else []
    command, must_fail = _strip_not(match.group(1) if match else value)
    step = Step(line, command, must_fail)
    for option in options:
        if option.startswith("--prefix="):
            step.prefix = option.removeprefix("--prefix=")
            if not re.fullmatch(r"[A-Z][A-Z0-9_]*", step.prefix):
                raise TestError(f"line {line}: a prefix is upper-case letters, digits and underscores: {step.prefix}")
        elif option == "--strict-whitespace":
            step.strict_whitespace = True
        elif option == "--none":
            step.check = False
        else:
            raise TestError(f"line {line}: check does not know {option}")
    if match and not options:
        step.prefix = "CHECK"
    if not command:
        raise TestError(f"line {line}: there is no command")
    return step


def _golden_step(value, line):
    command, arrow, golden = value.rpartition("=>")
    if not arrow or not command.strip() or not golden.strip():
        raise TestError(f"line {line}: write GOLDEN: command => file")
    command, must_fail = _strip_not(command.strip())
    return Step(line, command, must_fail, golden=golden.strip())


def cuda_path(name):
    """A CUDA tool that is installed but not on the PATH."""
    folders = [os.path.join(os.environ[v], "bin") for v in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(v)]
    return shutil.which(name, path=os.pathsep.join([*folders, *CUDA_FOLDERS]))


def missing_features(test, settings):
    """The REQUIRES entries that don't hold. A name is a feature given to the run, the machine, or a program."""
    missing = []
    for name in test.requires:
        plain = name.lstrip("!")
        present = (
            plain in settings.features
            or plain == settings.machine
            or shutil.which(plain) is not None
            or cuda_path(plain) is not None
        )
        if present == name.startswith("!"):
            missing.append(name)
    return missing


def substitute(command, test, temporary, settings, quote=shlex.quote):
    """Replaces %s, %t, … in a command; %% is a percent sign. An unknown %name stands as it is."""
    values = {"s": test.path.name, "S": str(test.path.parent), "b": test.path.stem, "t": temporary}
    values |= settings.programs
    if re.search(r"%weftc\b", command) and "weftc" not in values:
        raise TestError("the test needs %weftc, but the run was not given --weftc")
    names = "|".join(sorted(map(re.escape, values), key=len, reverse=True))
    pattern = re.compile(rf"%(?:%|({names})(?![A-Za-z0-9_]))")
    return pattern.sub(lambda m: quote(str(values[m.group(1)])) if m.group(1) else "%", command)


def run_command(command, folder, timeout):
    """(status, stdout, stderr) of a bash command; a signal's status is 128 plus its number, as in the shell."""
    environment = os.environ | {"LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}
    cuda = cuda_path("ptxas")
    if cuda and not shutil.which("ptxas"):
        environment["PATH"] += os.pathsep + os.path.dirname(cuda)
    # Its own session, so that a timeout ends whatever the command started too.
    process = subprocess.Popen(
        ["bash", "-o", "pipefail", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="backslashreplace",
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise TestError(f"no end after {timeout:g} s") from None
    status = process.returncode
    return (status if status >= 0 else 128 - status), out, err


def run(test, settings):
    """Runs every step. Raises TestError with the whole story at the first that fails."""
    has_checks = bool(re.search(r"(?://|;|#)[ \t]*CHECK(-[A-Z]+)?:", test.text))
    with tempfile.TemporaryDirectory(prefix="weft-text-test-") as folder:
        temporary = os.path.join(folder, test.path.name + ".tmp")
        for step in test.steps:
            command = step.command
            try:
                command = substitute(step.command, test, temporary, settings)
                _run_one(test, step, command, has_checks, temporary, settings)
            except TestError as error:
                raise TestError(f"{test.path}:{step.line}: {error}\n  command: {command}") from None


def _run_one(test, step, command, has_checks, temporary, settings):
    status, out, err = run_command(command, test.path.parent, settings.timeout)
    said = _tail("stdout", out) + _tail("stderr", err)
    if step.must_fail and status == 0:
        raise TestError(f"the command succeeded but must fail{said}")
    if step.must_fail and status >= 128:
        raise TestError(f"the command died of signal {status - 128}{said}")
    if not step.must_fail and status != 0:
        raise TestError(f"exit status {status}{said}")
    if step.golden is not None:
        _compare_golden(test, step, out, temporary, settings)
    elif step.check and (step.prefix is not None or has_checks):
        failure = check_output.check_output(test.text, out, step.prefix or "CHECK", step.strict_whitespace)
        if failure:
            raise TestError(failure + (_tail("stderr", err) if not out else ""))


def _compare_golden(test, step, out, temporary, settings):
    name = substitute(step.golden, test, temporary, settings, quote=str)
    golden = test.path.parent / name
    expected = golden.read_text(encoding="utf-8") if golden.exists() else None
    if out == expected:
        return
    if settings.update:
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(out, encoding="utf-8")
        return
    if expected is None:
        raise TestError(f"the golden file {name} does not exist (--update writes it){_tail('output', out)}")
    lines = difflib.unified_diff(expected.splitlines(), out.splitlines(), name, "the output now", lineterm="")
    raise TestError("the output differs from the golden file (--update rewrites it)\n" + "\n".join(lines))


def _tail(name, text):
    """The end of an output as part of a message; nothing when it is empty."""
    if not text.strip():
        return ""
    shown = text if len(text) <= SHOWN_OUTPUT else "…" + text[-SHOWN_OUTPUT:]
    return f"\n  {name}:\n" + "\n".join("    " + line for line in shown.rstrip("\n").split("\n"))
