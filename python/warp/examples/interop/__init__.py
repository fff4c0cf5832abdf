"""Kernels beside other frameworks."""
