"""Settings. Programs set attributes of `warp.config`; most take effect for kernels compiled afterwards.

`settings.py` watches assignments: flags of NOTED, which only tune the original's tool chain, say so once when they are
changed; unknown names say so, too.
"""

import enum as _enum


class DeterministicMode(_enum.IntEnum):
    """How far results of atomic operations repeat. With anything but NOT_GUARANTEED they are the same bits in every run, on
    any number of cores; kernels whose results depend on the order of their threads then cost more, most of all on GPUs."""

    NOT_GUARANTEED = 0
    RUN_TO_RUN = 1
    GPU_TO_GPU = 2


class LaunchArrayAccessMode(_enum.IntEnum):
    """What a launch checks about arrays of other devices. On the CPU every array is within reach."""

    RELAXED = 0
    CHECKED = 1
    STRICT = 2


version: str = "1.7.0"  # of the documented API that this package follows

# What is said.
quiet: bool = False  # no banner, no messages; warnings and errors still come
verbose: bool = False  # also what is compiled, and how long it took
verbose_warnings: bool = False  # warnings name the line of the program
log_level: int = 20  # LOG_DEBUG 10, LOG_INFO 20, LOG_WARNING 30, LOG_ERROR 40: what is below is not said
print_launches: bool = False  # each launch, with its size

# How kernels are compiled.
mode: str = "release"  # "debug" checks array bounds, divisions and asserts
verify_fp: bool = False  # values that are not finite are printed with their place; in mode "debug" stores of them raise
verify_tiles: bool = False  # kernels with tiles are looked at as for blocks of several threads, where blocks have one
max_unroll: int = 16  # constant loops of at most so many trips are unrolled
enable_backward: bool = True  # kernels may be differentiated
fast_math: bool = False  # floats may be reassociated: results then differ between machines
fuse_fp: bool = True  # a product used once by a sum is fused into it
optimization_level: int | None = None  # LLVM's effort, 0 to 3; None is 2
native_compiler: str | None = None  # the clang that compiles wp.func_native; None looks for one
cache_kernels: bool = True  # compiled kernels are kept on disk
kernel_cache_dir: str | None = None  # where; None: WARP_CACHE_PATH, else the user's cache folder
compile_ahead: bool = True  # idle cores compile the next kernels of a module whose kernels are being compiled
first_versions: bool = True  # large kernels run by a version that compiles quickly until idle cores made the full one
overlapped_launches: bool = True  # kernels of graphs may be started while those before them end (H100 and later)
parallel_graphs: bool = True  # pieces of graphs on GPUs run side by side where none needs what another one makes
late_launches: bool = True  # launches on GPUs may wait in a queue while all cores make their code, from four cores on
load_module_max_workers: int = 0  # threads that compile when modules are loaded: 0 is one per core

# How they run.
cpu_threads: int = 0  # 0: all cores; 1: serial, threads in increasing order
cpu_lanes: int = 0  # 0: chosen; 1: no SIMD
enable_cpu_blocks: bool = False  # blocks on the CPU have as many threads as block_dim says, not one
deterministic: DeterministicMode = DeterministicMode.NOT_GUARANTEED
launch_array_access_mode: LaunchArrayAccessMode = LaunchArrayAccessMode.RELAXED
verify_autograd_array_access: bool = False  # writes that would spoil a gradient are reported
legacy_scalar_return_types: bool = False  # builtins called from Python give plain numbers for every scalar type
track_memory: bool = False  # allocations of arrays are recorded: wp.print_memory_report()
record_kernels: bool = False  # what is compiled and loaded is recorded: wp.kernel_report()

# CUDA devices.
verify_cuda: bool = False
cuda_output: str | None = None  # what is kept of compiled kernels: "cubin" (machine code; also None) or "ptx"
ptx_target_arch: int | None = None  # of "ptx": 75 is sm_75; None is the device's own
cuda_libdevice: bool | str = False  # NVIDIA's elementary functions in GPU code: True finds the file, or its path
cuda_arch_suffix: str | None = None
enable_graph_capture_module_load_by_default: bool = True
enable_mempools_at_init: bool = True
default_grid_stride: bool = True
lineinfo: bool = False  # GPU code names lines of the program, for profilers and sanitizers

# The original's tool chain.
line_directives: bool = True
llvm_cuda: bool = False
cpu_compiler_flags: str | None = None
host_compiler: str | None = None
legacy_cpu_linker: bool = False
use_precompiled_headers: bool = True
compile_time_trace: bool = False
enable_mathdx_gemm: bool = True
enable_mathdx_fft: bool = True
enable_mathdx_solver: bool = True
enable_tiles_in_stack_memory: bool = True
enable_vector_component_overwrites: bool = False
deterministic_max_records: int = 0
deterministic_debug: bool = False

_LLVM = "kernels are compiled by LLVM without a compiler's command line"
_NO_CPP = "no C++ is generated"
_NO_MATHDX = "no MathDx is used"
NOTED: dict[str, str] = {
    "line_directives": _NO_CPP,
    "llvm_cuda": "GPU code always goes through LLVM",
    "cpu_compiler_flags": _LLVM,
    "host_compiler": _LLVM,
    "legacy_cpu_linker": "there is one linker",
    "use_precompiled_headers": _NO_CPP,
    "compile_time_trace": "weftc --time shows the phases of a compile",
    "enable_mathdx_gemm": _NO_MATHDX,
    "enable_mathdx_fft": _NO_MATHDX,
    "enable_mathdx_solver": _NO_MATHDX,
    "enable_tiles_in_stack_memory": "memory of tiles is placed by the compiler",
    "deterministic_max_records": "deterministic launches need no records",
    "deterministic_debug": "deterministic launches need no records",
}
"""Flags without effect and why."""
