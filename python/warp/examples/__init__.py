"""Programs to read and to run: `python -m warp.examples.interop.example_jax_kernel`."""
