// Where an array's memory lies, if not in plain host memory: a GPU's memory or page-locked host memory. Arrays call these
// functions for everything that touches memory; null stands for plain host memory, which needs no object.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "types/type.h"

namespace weft::runtime {

class MemorySpace {
 public:
  /// "cuda:0"; for messages.
  virtual const std::string& name() const = 0;
  /// The number of the CUDA device; −1 for host memory.
  virtual int ordinal() const = 0;
  /// Whether the CPU may read and write the memory through its address.
  virtual bool on_host() const = 0;
  /// Memory of `bytes` bytes, zeroed if asked; throws OutOfMemory.
  virtual std::shared_ptr<void> allocate(std::uint64_t bytes, bool zeroed) = 0;
  /// Copies elements between two layouts of one shape that share no memory. One of them is in this space; the other one
  /// in `to_space` or `from_space`, null for plain host memory. `keep_to` and `keep_from` own the memory. Ordered behind
  /// the work of the current stream; done on return if either side is plain host memory that is written.
  virtual void copy(const ArrayDesc& to, MemorySpace* to_space, const std::shared_ptr<void>& keep_to,
                    const ArrayDesc& from, MemorySpace* from_space, const std::shared_ptr<void>& keep_from,
                    std::size_t element_size) = 0;
  /// Sets every element to a value.
  virtual void fill(const ArrayDesc& to, std::size_t element_size, const void* value) = 0;

 protected:
  ~MemorySpace() = default;  // spaces live as long as the process
};

}  // namespace weft::runtime
