"""Why tests of the wheel that fail are left to fail: patterns over "file test: cause", the first that fits decides.

Deliberate differences stand in docs/differences.md; `words` are messages that say the same otherwise; `internals` are parts of
the other implementation; `rounding` are results that differ in the last place, where a test allows less; `absent` is
what the package does not have; `no GPU` wants one where the tests ran.
"""

from __future__ import annotations

import re
from collections import Counter

_REASONS = (
    # Tiles. A block of the CPU is one thread unless enable_cpu_blocks is set; the threads of a last block that are there do the
    # work of those that are not.
    (r"tile/.*(?:sparse_survivor|surviving_lane|from_thread_storage|component_assign_then)", "deliberate"),
    (r"tile/.*(?:_partial_block|axis_empty_(?:partial|custom)_slices)", "deliberate"),
    # Mistakes raise and the process lives; a broadcast is not written to; a random number hangs on its place in the tile alone; small
    # integers of structs are added, too; a block may have more memory than 256 KiB.
    (r"tile/.*(?:test_tile_oob|axpy_broadcast_dest|random_generators|struct_non_atomic|shared_mem_cpu_limit)", "deliberate"),
    # The number of dimensions in a descriptor of an array that is none.
    (r"test_tile_construction(?:_cpu_blocks)?_cpu: AssertionError: np.False_", "internals"),
    (r"bf16_(?:out|a_with|b_with)|tile_atomic_add_unsupported|(?:row|slice)_augassign|slice_scalar_assign", "more is taken"),
    # Messages: the class is the same, or another one that fits, and the text names the mistake.
    (r": AssertionError: .*does not match", "words"),
    (r": (?:AssertionError|WarpCodegen\w*Error|RuntimeError): .*\[[a-z_]+\]$", "words"),
    (r": AssertionError: (?:'|\"|Regex didn't match).*(?:not found in|!=)", "words"),
    (r"test_(?:options_backward_[14]|print_diagnostics\w*|version\w*)", "words"),
    (r"test_fixedarray_host_values|test_rmm_allocator_import_error", "words"),
    # What is refused there and taken here.
    (r"unsupported_dtypes|error_unsupported_dtype|error_non_contiguous|error_multidimensional", "more is taken"),
    (r"oversized|large_array_excessive|tid_extent|tuple_tid_validates|aliased_tuple_tid", "more is taken"),
    (r"test_(?:struct_inheritance|rebind_\w+|copy_invalid_args|copy_offset|print_error_variadic|overload_stub)", "more is taken"),
    (r"mutating_constant|numeric_args_mismatch|ref_(?:backward|shared|rejects|overload)", "more is taken"),
    (r"backward_rejected|custom_grad_rejected|copy_dtype_mismatch|retain_grad_validation", "more is taken"),
    (r"module_options_(?:empty|error|unknown)|entry_point_abi|kernel_name_rejects|invalid_namespace", "more is taken"),
    (r"subclass_(?:source_annotations|annotations)|struct_descriptor_errors|python_scope", "more is taken"),
    (r"return_annotation_error|invalid_func_return|kernel_return|native_failure|invalid_option_recovers", "more is taken"),
    (r"memory_kind_for_cpu|user_operator_result_type|subclass_instance_parameter|no_overloads_cpu|multiple_overloads_with_strip", "more is taken"),
    # Grids of types that kernels don't read load by their headers, their nodes are not looked at; trees in any order are walked
    # by their links; one grid of a file is saved alone.
    (r"test_volume_load_rejects_(?:child_references|overlapping|truncated_fpn|unsupported_tree)", "more is taken"),
    (r"test_volume_write_cpu: AssertionError: RuntimeError not raised|bvh_cubql_groups_error", "more is taken"),
    (r"annotation_union_invalid_for_codegen", "more is taken"),
    # Tile types say the same of themselves in other words; parts of annotations are ours.
    (r"test_subscript_types.*(?:error_cases|tile_subscript_syntax)", "words"),
    (r"test_subscript_types.*(?:vars_caching|codegen_compatibility)", "internals"),
    # A struct has one layout, and arrays of arrays another one than arrays.
    (r"AnyDim\w*FabricArrayStruct", "deliberate"),
    # Gradients with output dimensions and overrides, graphs on the CPU, programs of JAX on the CPU.
    (r"autodiff_per_call_override_rejected|output_dims_autodiff_still_blocked|callable_cpu_graph_modes|cpu_requires_cpu_support", "more is taken"),
    (r"test_device_(?:from|to)_jax_\w+: ValueError: Invalid device identifier: cuda", "no GPU"),
    # Graphs on the CPU hold copies and fills of every layout.
    (r"test_graph_(?:copy|fill)_\w+_cpu_rejected", "more is taken"),
    (r"test_cuda_graph_memory_bindings", "internals"),
    # docs/differences.md.
    (r"test_(?:assert|overwrite|cpu_block_dim|cpu_block_codegen|scalar_ops)\.py", "deliberate"),
    (r"without components|a matrix has 1 to|got shape \(0, 0\)", "deliberate"),
    (r"WarpDeterminismError not raised|deterministic_max_records|deterministic_captured", "deliberate"),
    (r"test_binary_ops_float|field_type_preservation|numpy_dtype_scalar|float_overflow|print_numeric", "deliberate"),
    (r"retain_grad|copy_adjoint_consumption|slicing_assign_backward|atomic_minmax_adjoint", "deliberate"),
    (r"kernel_object_reuse|closure_reuse|gradient_reuse|is not <warp kernel|Should have 1 overload", "deliberate"),
    (r"deferred_static|duplicate_expression|single_evaluation|evaluated_once|alias_rebinding|not_shadowed", "deliberate"),
    (r"restore_inputs|slot_augassign_uses_user_operator|print_adjoint|struct_array_hash", "deliberate"),
    # A feature that lies over the header could change it; an edge of two faces counts for one of them, an open one for its face or none.
    (r"in_bounds_negative_feature_offset|test_mesh_query_ray_parallel_slab_boundaries", "deliberate"),
    # Gradients of transforms go by the transposed matrix.
    (r"test_volume_transform_gradient", "deliberate"),
    # Differences of texels beyond float32 are endless.
    (r"test_texture_sample_grad_lod_opposite_extremes", "deliberate"),
    # What is private to an array is said.
    (r"gradcheck_reentrant\w*: AssertionError: Unexpected output", "deliberate"),
    (r"test_dlpack_unsupported_source_device_error|test_invalid_capsule_error", "words"),
    # A block of the CPU is one thread.
    (r"test_ffi_jax_kernel_block_dim_(?:tile|autodiff_cpu_blocks)", "deliberate"),
    # Results in the last place, sums of float32 and steps of 16-bit numbers.
    (r"Not equal to tolerance|within \d+ places", "rounding"),
    # Solvers that begin anew every 32 iterations come to the end within 500 for one system of two, here as there.
    (r"test_functor_reuse", "rounding"),
    # What programs don't reach.
    (r"aot/|apic|metaclass|new_del|array_descriptor|null_arrays|grad_keepalive|scope_markers|visualize", "internals"),
    (r"has no attribute|have the attribute|cannot import name|No module named|No such file|has no counterpart here", "internals"),
    (r"test_texture_cpu_large_dimensions|optimization_record|cpu_llvm|includes_version|compiler_flags|transient_module|interface_empty", "internals"),
    # Walks over the other one's nodes in memory; classes that are made twice there; ids that are assigned to.
    (r"sah_depth_fits_query_stack|equivalent_dtype|deprecated_top_level_alias|raises_on_native_device|missing_feature_name", "internals"),
    (r"aliasing_from_numpy|has_overloads|function_name_is_deterministic|composite_defaults|inline_hint|in_struct_numpy", "internals"),
    # Views hold the memory, not the object that they were made of; a local array without a shape is no type.
    (r"test_host_operations|test_introspection", "internals"),
    # Loaders of modules that a test replaces: launches don't go through them here.
    (r"test_ffi_jax_module_load_failure", "internals"),
    (r"logger|cache_hit|cold_start|hash|options_disambiguation|infer_argument_types|protocol_conformance", "internals"),
    (r"Unsupported preconditioner type 'fsai", "absent"),
    (r"warp\.fem|test_fem_|modules_lite", "absent"),
)  # fmt: skip


def reason_of(file: str, test: str, cause: str) -> str:
    """The reason, or "none given"."""
    text = f"{file} {test}: {cause}"
    return next((reason for pattern, reason in _REASONS if re.search(pattern, text, re.S)), "none given")


def report(failed: list[tuple[str, str, str]]) -> None:
    """Prints how many tests (file, test, cause) fail for each reason, and which have none."""
    reasons = [(reason_of(*one), one) for one in failed]
    counts = Counter(reason for reason, _ in reasons)
    if counts:
        print("\nfailed and error, by reason: " + ", ".join(f"{reason} {n}" for reason, n in counts.most_common()))
    for reason, (file, test, cause) in reasons:
        if reason == "none given":
            print(f"  no reason is given for {file} {test}: {' '.join(cause.split())[:160]}")
