"""Solvers of linear systems by iteration. docs/sparse.md shows their use."""

from warp import sparse as sparse
from warp._src.optim.linear import bicgstab as bicgstab
from warp._src.optim.linear import cg as cg
from warp._src.optim.linear import cr as cr
from warp._src.optim.linear import gmres as gmres
from warp._src.optim.linear_gmres import GMRES as GMRES
from warp._src.optim.linear_operators import LinearOperator as LinearOperator
from warp._src.optim.linear_operators import aslinearoperator as aslinearoperator
from warp._src.optim.linear_operators import preconditioner as preconditioner
from warp._src.optim.linear_solvers import CG as CG
from warp._src.optim.linear_solvers import CR as CR
from warp._src.optim.linear_solvers import BiCGSTAB as BiCGSTAB
from warp._src.optim.linear_state import LinearSolverState as LinearSolverState
