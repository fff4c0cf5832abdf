"""Settings. Programs set attributes of `warp.config`; most take effect for kernels compiled afterwards."""

version: str = "1.7.0"  # of the documented API that this package follows
verify_fp: bool = False  # with mode "debug": stored floats must be finite
verify_cuda: bool = False
print_launches: bool = False
mode: str = "release"  # "debug" checks array bounds, divisions and asserts
verbose: bool = False
verbose_warnings: bool = False
quiet: bool = False
verify_autograd_array_access: bool = False
cache_kernels: bool = True
kernel_cache_dir: str | None = None
cuda_output: str | None = None
ptx_target_arch: int = 75
lineinfo: bool = False
line_directives: bool = True
fast_math: bool = False
fuse_fp: bool = True
max_unroll: int = 16
enable_backward: bool = True
enable_graph_capture_module_load_by_default: bool = True
enable_mempools_at_init: bool = True
enable_vector_component_overwrites: bool = False
llvm_cuda: bool = False
optimization_level: int | None = None
cpu_compiler_flags: str | None = None
host_compiler: str | None = None

# Weft's own.
cpu_threads: int = 0  # 0: all cores; 1: serial, threads in increasing order
cpu_lanes: int = 0  # 0: chosen; 1: no SIMD
