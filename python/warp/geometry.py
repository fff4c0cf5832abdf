"""Surfaces of fields on grids."""

from warp._src.geometry.marching_cubes import (
    IsoSurfaceBase as IsoSurfaceBase,
    IsoSurfaceMarchingCubes as IsoSurfaceMarchingCubes,
)
