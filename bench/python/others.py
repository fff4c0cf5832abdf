"""Programs that measure one package each, in processes of their own: ours by this interpreter, a peer's by its own.

A peer that is not there or fails leaves its figures out, with a word, and holds up nothing else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

OURS = ("PYTHONPATH", "WEFT_EXTENSION_DIR")  # a peer must not find our package by these


class Failed(RuntimeError):
    pass


def run(python: str, *command: str, is_peer: bool = False, limit: float | None = None, **variables: str) -> Any:
    """What a program prints last, which is JSON."""
    environment = dict(os.environ)
    for name in ("PYTHONDONTWRITEBYTECODE", *(OURS if is_peer else ())):  # installed packages have their bytecode
        environment.pop(name, None)
    environment.update(variables)
    shown = " ".join((python, *command))
    try:
        done = subprocess.run([python, *command], capture_output=True, text=True, env=environment, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        raise Failed(f"{shown}: took more than {limit:.0f} s") from None
    except OSError as error:
        raise Failed(f"{shown}: {error}") from None
    if done.returncode != 0:
        said = done.stderr.strip() or done.stdout.strip()
        raise Failed(f"{shown}: ended with {done.returncode}\n{said[-2000:]}")
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise Failed(f"{shown}: printed no figures\n{done.stdout[-500:]}") from None


class Peers:
    """Runs what peers do, until they fail once."""

    def __init__(self) -> None:
        self.failed: dict[str, str] = {}

    def take(self, name: str, call: Callable[[], Any]) -> Any:
        """What the call gives; None where the peer failed, now or before."""
        if name in self.failed:
            return None
        try:
            return call()
        except Failed as error:
            first, *rest = str(error).splitlines()
            self.failed[name] = f"{first}{': ' + rest[-1] if rest else ''}"
            print(f"{name} is left out: {error}", file=sys.stderr, flush=True)
            return None
