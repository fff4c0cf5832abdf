// A launch as a tape records it, and the adjoint that goes back over it.
#pragma once
#include <span>

#include "cuda/device.h"
#include "driver/kernel_family.h"

namespace weft::driver::test {

/// The kernel `k` of a file of text.
std::shared_ptr<const sema::FunctionDecl> kernel_of(const std::string& text);

/// A dense array of one dimension.
ArrayDesc desc_of(void* data, void* grad, std::int64_t count, std::int64_t size);

/// Runs the form that a tape needs over so many threads, then its adjoint. `arrays` are the kernel's arguments, all of
/// them; gradients are where they say.
void there_and_back(KernelFamily& family, std::span<const ArrayDesc> arrays, std::int64_t threads,
                    cuda::Device* device = nullptr);

}  // namespace weft::driver::test
