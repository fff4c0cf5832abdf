"""`warp.geometry`: surfaces of fields on grids."""

from warp._src.geometry.marching_cubes import IsoSurfaceMarchingCubes

__all__ = ["IsoSurfaceMarchingCubes"]
