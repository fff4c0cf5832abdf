"""Optimisers: steps along gradients, and solvers of linear systems."""
