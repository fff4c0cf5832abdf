// The front end's entry: a kernel's syntax tree and the types of its arguments become typed, structured IR.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "sema/symbol.h"
#include "support/diagnostic.h"
#include "types/type.h"

namespace weft::sema {

struct Options {
  int max_unroll = 16;  // loops that must be unrolled to make sense are, up to this many trips (with wp.static: always)
  bool debug = false;   // assert statements are checked
  /// GPUs: threads of a block. Tiles are worked on by all of them then, and the module depends on the number.
  int block_dim = 1;
  bool block_rows = false;  // then: blocks are the rows of the grid, all of them full
  bool gradients = false;  // the module will be differentiated: gradients and replays of its functions are lowered, too
};

/// The kernel's parameters as annotated: name, pattern, whether a default is there.
struct KernelParam {
  std::string name;
  builtins::Pattern pattern;
  bool has_default = false;
  Constant default_value;  // when has_default and it is a plain constant
};
/// Reads the annotations; errors go to the sink. `kernel` may be generic.
std::vector<KernelParam> kernel_params(const FunctionDecl& kernel, DiagnosticSink& sink);

/// Lowers one kernel and all that it calls into a new module; the kernel comes last. `arg_types` gives the type of every
/// parameter (for a kernel without generic parameters it may be empty). Null if there were errors.
std::unique_ptr<ir::Module> lower_kernel(const FunctionDecl& kernel, std::span<const Type* const> arg_types,
                                         const Options& options, DiagnosticSink& sink);

/// Lowers a call of a builtin or user function for these argument types, for evaluation outside kernels (Python scope,
/// tests): the module's last function takes the arguments and returns the results. Null with errors otherwise.
std::unique_ptr<ir::Module> lower_builtin(std::string_view name, std::span<const Type* const> arg_types,
                                          const Options& options, DiagnosticSink& sink);

/// Lowers a function of the standard library by its own name (builtins::Row::library_name) for these argument types.
std::unique_ptr<ir::Module> lower_library(std::string_view name, std::span<const Type* const> arg_types,
                                          DiagnosticSink& sink);

/// The types that a function returns for arguments of these types; nullopt with errors in the sink.
std::optional<std::vector<const Type*>> function_results(const FunctionDecl& function,
                                                         std::span<const Type* const> arg_types, DiagnosticSink& sink);

}  // namespace weft::sema
