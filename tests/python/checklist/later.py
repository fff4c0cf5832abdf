"""Statements of the documents that belong to later issues: number, issue, statement.

The numbers count the statements in the order of the documents; every other number has a test in this folder that
carries it in its name (test_seed_NNN_…), which test_completeness.py checks. Issues: 7 NVIDIA GPUs;
frameworks (PyTorch, JAX, Paddle, DLPack) have an issue of their own that has no number yet.
"""

LATER: list[tuple[int, str, str]] = [
    (14, "7", "wp.array(r, dtype=float, device='cuda') copies to the GPU"),
    (139, "7", "CuPy arrays straight to launch"),
    (140, "frameworks", "PyTorch tensors straight to launch"),
    (144, "frameworks", "to_torch and from_torch share memory and gradients"),
    (145, "frameworks", "device and dtype conversions for PyTorch"),
    (146, "frameworks", "stream_from_torch, stream_to_torch"),
    (149, "frameworks", "an optimizer of PyTorch sees gradients made here"),
    (152, "frameworks", "to_torch(xs) as an optimizer's parameter"),
    (154, "frameworks", "from_torch(t, dtype=wp.vec2, requires_grad=True)"),
    (157, "frameworks", "device_to_torch(wp.get_device())"),
    (159, "frameworks", "custom operators of PyTorch, torch.compile"),
    (160, "frameworks", "from_torch(z, requires_grad=False)"),
    (161, "frameworks", "from_torch(t, return_ctype=True)"),
    (162, "frameworks", "tensors passed directly carry no gradients"),
    (163, "frameworks", "the PyTorch interop benchmark"),
    (164, "7", "__cuda_array_interface__ in and out"),
    (183, "7", "Stream(device, cuda_stream=…), ScopedStream"),
    (185, "frameworks", "from_dlpack(obj)"),
    (187, "frameworks", "DLPack capsules in and out"),
    (188, "frameworks", "to_paddle, from_paddle"),
    (189, "frameworks", "device, dtype and stream conversions for Paddle"),
    (191, "frameworks", "from_paddle shares gradients"),
    (192, "frameworks", "the Paddle interop benchmark"),
    (193, "7", "sharing data by __cuda_array_interface__"),
    (197, "7", "array.numpy() of a CUDA array synchronises"),
    (200, "7", "several GPUs in one process"),
]
