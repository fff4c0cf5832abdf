"""Devices and memory of other libraries and processes."""
