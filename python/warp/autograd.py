"""Jacobians, and checks of gradients against differences."""

from warp._src.gradients.autograd import (
    FunctionMetadata as FunctionMetadata,
    gradcheck as gradcheck,
    gradcheck_tape as gradcheck_tape,
    jacobian as jacobian,
    jacobian_fd as jacobian_fd,
    jacobian_plot as jacobian_plot,
)
