"""PyTorch's DistributedDataParallel through a kernel: two processes end where one with all of the data ends."""

from __future__ import annotations

import re

import pytest

from process_support import EXAMPLES, needs, together

needs("torch")
pytestmark = pytest.mark.cpu_only("processes of their own")


def loss_of(out: str, processes: int) -> float:
    found = re.search(rf"{processes} process\(es\) on cpu, .* loss (\S+)", out)
    assert found, out
    return float(found[1])


def test_two_processes_learn_what_one_learns():
    alone = loss_of(together(1, EXAMPLES / "train_ddp.py", "--quick", CUDA_VISIBLE_DEVICES="-1")[0], 1)
    outs = together(2, EXAMPLES / "train_ddp.py", "--quick", CUDA_VISIBLE_DEVICES="-1")
    both = loss_of(outs[0], 2)
    assert "process(es)" not in outs[1]
    assert alone < 0.02 and abs(both - alone) < 1e-3, (alone, both)
