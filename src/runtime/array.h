// Arrays: a shared buffer, an element type and the descriptor that kernels see. The memory is the host's or that of a
// memory space (a GPU's, page-locked). Views share the buffer and keep it alive. A gradient, where there is one, has the same shape and strides. An Array is a cheap handle: copying it
// shares the memory; copy() duplicates it.
#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>

#include "runtime/memory_space.h"
#include "support/check.h"
#include "types/type.h"

namespace weft::runtime {

/// The bytes that an array's elements may touch: [lo, hi) as addresses; lo == hi when it has no elements.
struct ByteRange {
  std::uintptr_t lo = 0;
  std::uintptr_t hi = 0;
  bool intersects(const ByteRange& other) const { return lo < other.hi && other.lo < hi; }
};

/// The range over which an array's data spreads, negative and zero strides included.
ByteRange data_range(const ArrayDesc& array, std::uint64_t element_size);
/// The same for its gradient; empty when there is none.
ByteRange grad_range(const ArrayDesc& array, std::uint64_t element_size);

/// Whether the data ranges of two arrays meet. Conservative: interleaved views count as overlapping. Null and empty
/// arrays overlap nothing. Costs a few nanoseconds: launch asks it of written arguments.
bool overlaps(const ArrayDesc& a, std::uint64_t a_element_size, const ArrayDesc& b, std::uint64_t b_element_size);

class Array {
 public:
  using Shape = std::span<const std::int64_t>;
  using Dims = std::initializer_list<std::int64_t>;

  /// No array: passes to kernels as a null descriptor.
  Array() = default;

  /// Contiguous arrays of 1 to 4 dimensions; a null space is plain host memory. Throw ArgumentError for bad shapes,
  /// OutOfMemory.
  static Array empty(const Type* element, Shape shape, bool requires_grad = false, MemorySpace* space = nullptr);
  static Array zeros(const Type* element, Shape shape, bool requires_grad = false, MemorySpace* space = nullptr);
  static Array empty(const Type* element, Dims shape, bool requires_grad = false, MemorySpace* space = nullptr) {
    return empty(element, Shape(shape.begin(), shape.size()), requires_grad, space);
  }
  static Array zeros(const Type* element, Dims shape, bool requires_grad = false, MemorySpace* space = nullptr) {
    return zeros(element, Shape(shape.begin(), shape.size()), requires_grad, space);
  }

  /// What wrap() is told about foreign memory.
  struct External {
    void* data = nullptr;
    Shape strides = {};               // bytes; empty: contiguous
    void* grad = nullptr;             // same shape and strides as data
    std::function<void()> release{};  // called when the last handle is gone; empty: the memory is not ours
    std::shared_ptr<void> owner{};    // or: lives as long as there are handles
    MemorySpace* space = nullptr;     // where it lies
  };
  /// An array over memory that exists already. Data may be null only when there are no elements.
  static Array wrap(const Type* element, Shape shape, External memory);
  static Array wrap(const Type* element, Dims shape, External memory) {
    return wrap(element, Shape(shape.begin(), shape.size()), std::move(memory));
  }

  /// False for a default-constructed Array.
  bool is_valid() const { return element_ != nullptr; }
  const Type* element() const { return element_; }
  /// The array type: array<element, rank>. Invalid arrays have none: nullptr.
  const Type* type() const;
  int rank() const { return desc_.ndim; }
  std::int64_t extent(int dim) const { return desc_.shape[dim]; }
  Shape shape() const { return {desc_.shape, std::size_t(desc_.ndim)}; }
  Shape strides() const { return {desc_.strides, std::size_t(desc_.ndim)}; }
  /// Number of elements.
  std::int64_t size() const;
  /// size() × element size.
  std::uint64_t bytes() const;
  const ArrayDesc& desc() const { return desc_; }
  /// Where the memory lies; null: plain host memory.
  MemorySpace* space() const { return space_; }
  /// Whether the CPU can reach the elements by their address.
  bool on_host() const { return !space_ || space_->on_host(); }
  void* data() const { return desc_.data; }
  bool is_contiguous() const;
  ByteRange range() const { return data_range(desc_, element_ ? element_->size() : 0); }

  /// Typed access for contiguous arrays on the host; T must have the element's size.
  template <class T>
  std::span<T> span() const {
    WEFT_CHECK(on_host() && element_ && sizeof(T) == element_->size() && is_contiguous());
    return {static_cast<T*>(desc_.data), std::size_t(size())};
  }
  /// The element at the given indices; bounds are checked (ArgumentError).
  template <class T, class... Index>
  T& at(Index... index) const {
    WEFT_CHECK(on_host() && element_ && sizeof(T) == element_->size());
    const std::int64_t indices[] = {std::int64_t(index)...};
    return *static_cast<T*>(address(indices));
  }
  /// Address of one element; bounds are checked (ArgumentError).
  void* address(Shape index) const;

  /// The memory that was allocated, of which this array may be a view; of foreign memory, what was wrapped.
  ByteRange block() const { return block_; }
  /// Whether the memory was made by somebody else (wrap), as far as the program says.
  bool is_foreign() const { return foreign_; }
  /// Whether the array holds memory of this library's: it lives as long as the array does, whoever else lets it go.
  bool holds_own_memory() const { return !foreign_ || laid_over_; }
  bool has_grad() const { return desc_.grad != nullptr; }
  /// Adds a zeroed gradient if there is none (views made before do not see it), or drops it.
  void set_requires_grad(bool on);
  /// The gradient as an array of its own (sharing memory); invalid when there is none.
  Array grad() const;
  /// Takes the data of another array (same element type, shape and strides) as the gradient; an invalid one drops it.
  void set_grad(const Array& gradient);
  /// Zeroes the gradient; does nothing when there is none.
  void zero_grad() const;

  /// Python's slice of one dimension: negative bounds count from the end, both clamp; step may be negative, not zero.
  Array slice(int dim, std::int64_t start, std::int64_t stop, std::int64_t step = 1) const;
  /// The sub-array at `index` (negative counts from the end) of one dimension; rank goes down by one.
  Array index(int dim, std::int64_t index) const;
  /// Dimensions in a new order; empty: reversed.
  Array transpose(std::span<const int> order = {}) const;
  /// Another shape over the same elements; one extent may be −1. Contiguous arrays only.
  Array reshape(Shape shape) const;
  /// The same memory, from the same address on, as elements of another type with any shape and byte strides that stay
  /// within it.
  Array reinterpret(const Type* element, Shape shape, Shape strides) const;
  Array reshape(Dims shape) const { return reshape(Shape(shape.begin(), shape.size())); }
  /// What wrap() would make of this array's address, without a gradient; it also holds the memory. Invalid if it would not stay
  /// within this array, or this one holds no memory of the library's.
  Array lay_over(const Type* element, Shape shape, Shape strides) const;

  /// A contiguous duplicate of the data (and of the gradient, where there is one) in the same space.
  Array copy() const;
  /// Copies the data of an array of the same shape and element type; overlapping memory is handled as if copied first.
  void assign(const Array& source) const;
  /// Sets every element to the value whose bytes are given (element()->size() of them).
  void fill(const void* value) const;
  void fill_zero() const;

 private:
  static Array make(const Type* element, Shape shape, bool zeroed, bool requires_grad, MemorySpace* space);
  void add_grad_buffer();
  void check_dim(int dim) const;
  void check_valid(const char* what) const;

  const Type* element_ = nullptr;
  ArrayDesc desc_;
  MemorySpace* space_ = nullptr;
  std::shared_ptr<void> owner_;
  std::shared_ptr<void> grad_owner_;
  ByteRange block_;
  bool foreign_ = false, grad_foreign_ = false;
  bool laid_over_ = false;  // foreign in name only
};

}  // namespace weft::runtime
