"""The CPU, CUDA devices, their streams, memory and clocks."""
