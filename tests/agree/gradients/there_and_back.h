// A launch as a tape records it, and the adjoint that goes back over it.
#pragma once
#include <span>
#include <vector>

#include "cuda/device.h"
#include "driver/kernel.h"
#include "runtime/array.h"

namespace weft::driver::test {

/// The kernel `k` of a file of text.
std::shared_ptr<const sema::FunctionDecl> kernel_of(const std::string& text);

/// A dense array of one dimension.
ArrayDesc desc_of(void* data, void* grad, std::int64_t count, std::int64_t size);

/// A vector in the memory of a GPU, or itself on the CPU (a null device).
class Mirror {
 public:
  template <class T>
  Mirror(std::vector<T>& of, cuda::Device* device) : bytes_(of.size() * sizeof(T)), host_(of.data()) {
    if (!device) return;
    there_ = runtime::Array::empty(types::scalar(ScalarKind::u8), {bytes_}, false, device);
    there_.assign(here());
  }
  void* data() const { return there_.is_valid() ? there_.data() : host_; }
  void take_back() {
    if (there_.is_valid()) here().assign(there_);
  }

 private:
  runtime::Array here() const {
    runtime::Array::External memory;
    memory.data = host_;
    return runtime::Array::wrap(types::scalar(ScalarKind::u8), {bytes_}, std::move(memory));
  }
  std::int64_t bytes_;
  void* host_;
  runtime::Array there_;
};

/// Runs the form that a tape needs over so many threads, then its adjoint. `arrays` are the kernel's arguments, all of
/// them; gradients are where they say.
void there_and_back(Kernel& kernel, std::span<const ArrayDesc> arrays, std::int64_t threads,
                    cuda::Device* device = nullptr);
/// Only the way there, in the form that no tape needs.
void there(Kernel& kernel, std::span<const ArrayDesc> arrays, std::int64_t threads, cuda::Device* device = nullptr);

}  // namespace weft::driver::test
