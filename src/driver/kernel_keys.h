// Keys under which compiled kernels are found: by source without running the front end, by content with it.
#pragma once
#include "driver/kernel_binary.h"

namespace weft::driver {

/// What the source keys of a kernel begin with, of a program whose text has such a hash.
Hash128 source_hash(const Hash128& program, const sema::FunctionDecl& kernel);
/// What a kernel is compiled for. Throws codegen::Error for PTX that its device would not run.
codegen::TargetSpec target_of(const BuildRequest& request);
/// Tells the passes of it.
void set_target(CompileOptions& options, const codegen::TargetSpec& target);
/// The source key: what the text means, types, form, options, target, build.
Hash128 source_key(const BuildRequest& request, const codegen::TargetSpec& target);
/// The content key: canonical IR, form, options, target, build.
Hash128 content_key(const ir::Module& module, const BuildRequest& request, const codegen::TargetSpec& target);
/// The key of the first version of a kernel, by that of the kernel.
Hash128 first_version_key(const Hash128& content);
/// The key of a kernel that was compiled when the library was built (driver/ready_kernels.h): source, types, form, options.
Hash128 ready_key(const BuildRequest& request);
/// The key of loaded code, which belongs to a device's context: the same code on two devices is loaded twice.
Hash128 in_place(Hash128 key, const cuda::Device* device);

}  // namespace weft::driver
