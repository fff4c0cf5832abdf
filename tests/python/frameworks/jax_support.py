"""What the tests of JAX share: JAX itself, or a reason to skip, and the devices it computes on."""

from __future__ import annotations

import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")

import jax.numpy as jnp  # noqa: E402,F401
