"""Geometry: meshes, trees of boxes and grids that kernels query by an id; surfaces of fields."""
