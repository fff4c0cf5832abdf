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
    (165, "frameworks", "from_jax, to_jax"),
    (166, "frameworks", "device and dtype conversions for JAX"),
    (167, "frameworks", "warp.jax_experimental.jax_kernel"),
    (168, "frameworks", "jax_kernel with several outputs"),
    (169, "frameworks", "jax_kernel: launch_dims"),
    (171, "frameworks", "warp.jax_experimental.ffi.jax_kernel"),
    (172, "frameworks", "ffi: num_outputs, no inputs"),
    (173, "frameworks", "ffi: two outputs"),
    (174, "frameworks", "ffi: no inputs need launch_dims"),
    (175, "frameworks", "ffi: static scalars"),
    (176, "frameworks", "ffi: launch_dims per call or at creation"),
    (177, "frameworks", "ffi: output_dims"),
    (178, "frameworks", "ffi: vectors and matrices as inner dimensions"),
    (179, "frameworks", "ffi: vmap_method"),
    (180, "frameworks", "jax_callable"),
    (182, "frameworks", "register_ffi_callback"),
    (183, "7", "Stream(device, cuda_stream=…), ScopedStream"),
    (184, "frameworks", "shard_map over jax_kernel"),
    (185, "frameworks", "from_dlpack(obj)"),
    (187, "frameworks", "DLPack capsules in and out"),
    (193, "7", "sharing data by __cuda_array_interface__"),
    (197, "7", "array.numpy() of a CUDA array synchronises"),
    (200, "7", "several GPUs in one process"),
]
