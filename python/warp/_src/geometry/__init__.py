"""Geometry: surfaces of fields on grids."""
