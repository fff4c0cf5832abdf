"""Statements of the documents that belong to later issues: number, issue, statement.

The numbers count the statements in the order of the documents; every other number has a test in this folder that
carries it in its name (test_seed_NNN_…), which test_completeness.py checks. Issues: 7 NVIDIA GPUs;
frameworks (PyTorch, JAX, Paddle, DLPack) have an issue of their own that has no number yet.
"""

LATER: list[tuple[int, str, str]] = [
    (14, "7", "wp.array(r, dtype=float, device='cuda') copies to the GPU"),
    (139, "7", "CuPy arrays straight to launch"),
    (164, "7", "__cuda_array_interface__ in and out"),
    (183, "7", "Stream(device, cuda_stream=…), ScopedStream"),
    (193, "7", "sharing data by __cuda_array_interface__"),
    (197, "7", "array.numpy() of a CUDA array synchronises"),
    (200, "7", "several GPUs in one process"),
]
