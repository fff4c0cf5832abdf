"""Statements of the documents that belong to later issues: number, issue, statement.

The numbers count the statements in the order of the documents; every other number has a test in this folder that
carries it in its name (test_seed_NNN_…), which test_completeness.py checks. Issues: 7 NVIDIA GPUs;
frameworks (PyTorch, JAX, Paddle, DLPack) have an issue of their own that has no number yet.
"""

LATER: list[tuple[int, str, str]] = [
    (14, "7", "wp.array(r, dtype=float, device='cuda') copies to the GPU"),
    (139, "7", "CuPy arrays straight to launch"),
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
    (193, "7", "sharing data by __cuda_array_interface__"),
    (197, "7", "array.numpy() of a CUDA array synchronises"),
    (200, "7", "several GPUs in one process"),
]
