"""Meshes, trees of boxes, grids of points and surfaces: objects that kernels query by an id."""
