// Arrays: construction, gradients and views. Copies and fills are in array_copy.cpp.
#include "runtime/array.h"

#include <cstring>
#include <mutex>
#include <string>

#include "runtime/allocator.h"
#include "runtime/command_list.h"
#include "runtime/errors.h"
#include "runtime/held_array.h"
#include "runtime/work_journal.h"

namespace weft::runtime {
namespace {

/// Guards gradients while they are replaced, against those who take hold of them.
std::mutex& gradients() {
  static auto& only = *new std::mutex;  // threads may outlive static destructors
  return only;
}

std::string shape_text(Array::Shape shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

bool has_elements(const ArrayDesc& a) {
  for (int d = 0; d < a.ndim; ++d)
    if (a.shape[d] == 0) return false;
  return a.ndim > 0;
}

/// Fills shape and row-major strides. Empty arrays get the element size everywhere: products of the other extents could
/// overflow, and no stride of theirs is ever used.
void set_contiguous(ArrayDesc& desc, Array::Shape shape, std::int64_t element_size) {
  desc.ndim = std::int32_t(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) desc.shape[d] = shape[d];
  const bool filled = has_elements(desc);
  std::int64_t stride = element_size;
  for (int d = desc.ndim - 1; d >= 0; --d) {
    desc.strides[d] = stride;
    if (filled) stride *= desc.shape[d];
  }
}

ByteRange range_of(const void* base, const ArrayDesc& a, std::uint64_t element_size) {
  if (!base || !has_elements(a)) return {};
  auto lo = reinterpret_cast<std::uintptr_t>(base), hi = lo + element_size;
  for (int d = 0; d < a.ndim; ++d) {
    const std::uint64_t reach = std::uint64_t(a.shape[d] - 1) * std::uint64_t(a.strides[d]);
    if (a.strides[d] < 0)
      lo += reach;
    else
      hi += reach;
  }
  return {lo, hi};
}

/// Bytes of elements without gaps, of which none can be wrong: some extents, small numbers, an address that suits. 0: whatever else.
std::uint64_t packed_bytes(const Type* element, Array::Shape shape, Array::Shape strides, const void* data) {
  if (!data || shape.empty() || shape.size() > std::size_t(kMaxRank) || shape.size() != strides.size()) return 0;
  std::uint64_t bytes = element->size();
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (std::uint64_t(shape[d]) - 1 >= INT32_MAX || std::uint64_t(strides[d]) != bytes) return 0;
    bytes *= std::uint64_t(shape[d]);
    if (bytes > INT32_MAX) return 0;
  }
  return reinterpret_cast<std::uintptr_t>(data) % element->align() == 0 ? bytes : 0;
}

void* offset(void* base, std::int64_t bytes) { return base ? static_cast<char*>(base) + bytes : nullptr; }

}  // namespace

ByteRange data_range(const ArrayDesc& array, std::uint64_t element_size) {
  return range_of(array.data, array, element_size);
}

ByteRange grad_range(const ArrayDesc& array, std::uint64_t element_size) {
  return range_of(array.grad, array, element_size);
}

bool overlaps(const ArrayDesc& a, std::uint64_t a_element_size, const ArrayDesc& b, std::uint64_t b_element_size) {
  return data_range(a, a_element_size).intersects(data_range(b, b_element_size));
}

Array Array::make(const Type* element, Shape shape, bool zeroed, bool requires_grad, MemorySpace* space) {
  WEFT_CHECK(element);
  const std::uint64_t bytes = checked_bytes(element, shape);
  Array array;
  array.element_ = element;
  array.space_ = space;
  array.owner_ = space ? space->allocate(bytes, zeroed) : host_buffer(bytes, zeroed);
  array.desc_.data = array.owner_.get();
  set_contiguous(array.desc_, shape, element->size());
  array.block_ = array.range();
  // The memory is the graph's from now on: each replay finds it as it was made.
  if (zeroed && recording() && array.on_host()) array.fill_zero();
  if (zeroed && !array.on_host() && array.size() > 0 && journal())
    const HeardWork heard(array, std::string(element->size(), 0).data());
  if (requires_grad) array.add_grad_buffer();
  return array;
}

Array Array::empty(const Type* element, Shape shape, bool requires_grad, MemorySpace* space) {
  return make(element, shape, false, requires_grad, space);
}

Array Array::zeros(const Type* element, Shape shape, bool requires_grad, MemorySpace* space) {
  return make(element, shape, true, requires_grad, space);
}

Array Array::wrap(const Type* element, Shape shape, External memory) {
  WEFT_CHECK(element);
  if (!memory.release && !memory.grad) {
    if (const std::uint64_t bytes = packed_bytes(element, shape, memory.strides, memory.data)) [[likely]] {
      Array array;
      array.element_ = element;
      array.space_ = memory.space;
      array.owner_ = std::move(memory.owner);
      array.foreign_ = array.grad_foreign_ = true;
      array.desc_.data = memory.data;
      array.desc_.ndim = std::int32_t(shape.size());
      for (std::size_t d = 0; d < shape.size(); ++d)
        array.desc_.shape[d] = shape[d], array.desc_.strides[d] = memory.strides[d];
      const auto address = reinterpret_cast<std::uintptr_t>(memory.data);
      array.block_ = {address, address + bytes};
      return array;
    }
  }
  // From here on the caller's memory is released exactly once, also when the arguments turn out to be bad.
  std::shared_ptr<void> owner = std::move(memory.owner);
  if (memory.release) owner = {nullptr, [release = std::move(memory.release)](void*) { release(); }};
  checked_bytes(element, shape);
  Array array;
  array.element_ = element;
  array.space_ = memory.space;
  if (memory.grad) array.grad_owner_ = owner;
  array.owner_ = std::move(owner);
  array.foreign_ = array.grad_foreign_ = true;
  array.desc_.data = memory.data;
  array.desc_.grad = memory.grad;
  set_contiguous(array.desc_, shape, element->size());
  const bool filled = has_elements(array.desc_);
  if (!memory.data && filled)
    throw ArgumentError("an array of shape " + shape_text(shape) + " needs memory, its data pointer is null");
  if (!memory.strides.empty()) {
    if (memory.strides.size() != shape.size())
      throw ArgumentError("an array of " + std::to_string(shape.size()) + " dimensions needs as many strides, " +
                          std::to_string(memory.strides.size()) + " were given");
    unsigned __int128 spread = element->size();
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::int64_t stride = memory.strides[d];
      array.desc_.strides[d] = stride;
      if (stride % element->align() != 0)
        throw ArgumentError("a stride of " + std::to_string(stride) + " bytes does not fit elements of type " +
                            element->user_name() + ", which are aligned to " + std::to_string(element->align()) +
                            " bytes: pass a copy");
      const std::uint64_t step = stride < 0 ? -std::uint64_t(stride) : std::uint64_t(stride);
      if (filled) spread += static_cast<unsigned __int128>(step) * std::uint64_t(shape[d] - 1);
    }
    if (spread > std::uint64_t(INT64_MAX))
      throw ArgumentError("the strides " + shape_text(memory.strides) + " of an array of shape " + shape_text(shape) +
                          " reach beyond the address space");
  }
  for (const void* pointer : {memory.data, memory.grad})
    if (reinterpret_cast<std::uintptr_t>(pointer) % element->align() != 0)
      throw ArgumentError("memory for elements of type " + element->user_name() + " must be aligned to " +
                          std::to_string(element->align()) + " bytes: pass a copy");
  array.block_ = array.range();
  return array;
}

const Type* Array::type() const { return element_ ? types::array(element_, std::uint32_t(desc_.ndim)) : nullptr; }

std::int64_t Array::size() const {
  if (!has_elements(desc_)) return 0;
  std::int64_t n = 1;
  for (int d = 0; d < desc_.ndim; ++d) n *= desc_.shape[d];
  return n;
}

std::uint64_t Array::bytes() const { return element_ ? std::uint64_t(size()) * element_->size() : 0; }

bool Array::is_contiguous() const {
  if (!has_elements(desc_)) return true;
  std::int64_t expected = element_->size();
  for (int d = desc_.ndim - 1; d >= 0; --d) {
    if (desc_.shape[d] != 1 && desc_.strides[d] != expected) return false;
    expected *= desc_.shape[d];
  }
  return true;
}

void Array::check_valid(const char* what) const {
  if (!element_) throw ArgumentError(std::string(what) + " needs an array, this one is null");
}

void Array::check_dim(int dim) const {
  check_valid("a view");
  if (dim < 0 || dim >= desc_.ndim)
    throw ArgumentError("dimension " + std::to_string(dim) + " does not exist in an array of " +
                        std::to_string(desc_.ndim) + " dimensions");
}

void* Array::address(Shape index) const {
  check_valid("element access");
  if (index.size() != std::size_t(desc_.ndim))
    throw ArgumentError("an array of shape " + shape_text(shape()) + " takes " + std::to_string(desc_.ndim) +
                        " indices, " + std::to_string(index.size()) + " were given");
  std::int64_t bytes = 0;
  for (std::size_t d = 0; d < index.size(); ++d) {
    if (index[d] < 0 || index[d] >= desc_.shape[d])
      throw ArgumentError("the index " + shape_text(index) + " lies outside of an array of shape " +
                          shape_text(shape()));
    bytes += index[d] * desc_.strides[d];
  }
  return static_cast<char*>(desc_.data) + bytes;
}

void Array::add_grad_buffer() {
  const ByteRange r = range();
  std::shared_ptr<void> owner = space_ ? space_->allocate(r.hi - r.lo, true) : host_buffer(r.hi - r.lo, true);
  const std::uintptr_t before = r.lo == r.hi ? 0 : reinterpret_cast<std::uintptr_t>(desc_.data) - r.lo;
  {
    const std::lock_guard lock(gradients());
    desc_.grad = static_cast<char*>(owner.get()) + before;
    grad_owner_.swap(owner);
    grad_foreign_ = false;
  }
  if (recording() && on_host()) zero_grad();
}

void Array::set_requires_grad(bool on) {
  check_valid("a gradient");
  if (on == has_grad()) return;
  if (on) {
    add_grad_buffer();
  } else {
    std::shared_ptr<void> before;  // goes without the lock
    const std::lock_guard lock(gradients());
    desc_.grad = nullptr;
    grad_owner_.swap(before);
  }
}

Array held(const Array& array) {
  const std::lock_guard lock(gradients());
  return array;
}

Array Array::grad() const {
  if (!has_grad()) return {};
  Array result = *this;
  result.desc_.data = desc_.grad;
  result.desc_.grad = nullptr;
  result.owner_ = grad_owner_;
  result.grad_owner_.reset();
  result.foreign_ = grad_foreign_;
  result.block_ = result.range();
  return result;
}

void Array::set_grad(const Array& gradient) {
  check_valid("a gradient");
  if (!gradient.is_valid()) return set_requires_grad(false);
  if (gradient.element_ != element_)
    throw ArgumentError("the gradient of an array of " + element_->user_name() + " has the same element type, not " +
                        gradient.element_->user_name());
  if (gradient.space_ != space_)
    throw ArgumentError("the gradient of an array lies where the array lies: copy it to the same device first");
  bool same = gradient.desc_.ndim == desc_.ndim;
  for (int d = 0; same && d < desc_.ndim; ++d) same = gradient.desc_.shape[d] == desc_.shape[d];
  if (!same)
    throw ArgumentError("the gradient of an array of shape " + shape_text(shape()) + " has the same shape, not " +
                        shape_text(gradient.shape()));
  for (int d = 0; d < desc_.ndim && has_elements(desc_); ++d)
    if (desc_.shape[d] > 1 && gradient.desc_.strides[d] != desc_.strides[d])
      throw ArgumentError("an array with strides " + shape_text(strides()) +
                          " needs a gradient with the same strides, not " + shape_text(gradient.strides()) +
                          ": use contiguous arrays for both");
  std::shared_ptr<void> owner = gradient.owner_;  // what was before goes without the lock
  const std::lock_guard lock(gradients());
  desc_.grad = gradient.desc_.data;
  grad_owner_.swap(owner);
  grad_foreign_ = gradient.foreign_;
}

void Array::zero_grad() const {
  if (has_grad()) grad().fill_zero();
}

Array Array::slice(int dim, std::int64_t start, std::int64_t stop, std::int64_t step) const {
  check_dim(dim);
  if (step == 0) throw ArgumentError("a slice's step can't be zero");
  const std::int64_t extent = desc_.shape[dim];
  const auto clamp = [&](std::int64_t bound) {
    if (bound < 0) {
      bound += extent;
      if (bound < 0) bound = step < 0 ? -1 : 0;
    } else if (bound >= extent) {
      bound = step < 0 ? extent - 1 : extent;
    }
    return bound;
  };
  start = clamp(start);
  stop = clamp(stop);
  const std::uint64_t stride = step < 0 ? -std::uint64_t(step) : std::uint64_t(step);
  std::uint64_t count = 0;
  if (step < 0 && stop < start) count = std::uint64_t(start - stop - 1) / stride + 1;
  if (step > 0 && start < stop) count = std::uint64_t(stop - start - 1) / stride + 1;

  Array view = *this;
  view.desc_.shape[dim] = std::int64_t(count);
  if (count == 0) return view;
  view.desc_.data = offset(desc_.data, start * desc_.strides[dim]);
  view.desc_.grad = offset(desc_.grad, start * desc_.strides[dim]);
  if (count > 1) view.desc_.strides[dim] = desc_.strides[dim] * step;
  return view;
}

Array Array::index(int dim, std::int64_t index) const {
  check_dim(dim);
  if (desc_.ndim == 1) throw ArgumentError("an array of one dimension has no sub-arrays: read the element instead");
  const std::int64_t extent = desc_.shape[dim];
  const std::int64_t position = index < 0 ? index + extent : index;
  if (position < 0 || position >= extent)
    throw ArgumentError("the index " + std::to_string(index) + " lies outside of dimension " + std::to_string(dim) +
                        " with extent " + std::to_string(extent));
  Array view = *this;
  view.desc_.data = offset(desc_.data, position * desc_.strides[dim]);
  view.desc_.grad = offset(desc_.grad, position * desc_.strides[dim]);
  for (int d = dim; d + 1 < desc_.ndim; ++d) {
    view.desc_.shape[d] = desc_.shape[d + 1];
    view.desc_.strides[d] = desc_.strides[d + 1];
  }
  --view.desc_.ndim;
  view.desc_.shape[view.desc_.ndim] = view.desc_.strides[view.desc_.ndim] = 0;
  return view;
}

Array Array::transpose(std::span<const int> order) const {
  check_valid("a transpose");
  Array view = *this;
  if (!order.empty() && order.size() != std::size_t(desc_.ndim))
    throw ArgumentError("a transpose needs one entry per dimension: " + std::to_string(desc_.ndim) + ", not " +
                        std::to_string(order.size()));
  bool used[kMaxRank] = {};
  for (int d = 0; d < desc_.ndim; ++d) {
    const int from = order.empty() ? desc_.ndim - 1 - d : order[std::size_t(d)];
    check_dim(from);
    if (used[from]) throw ArgumentError("dimension " + std::to_string(from) + " appears twice in a transpose");
    used[from] = true;
    view.desc_.shape[d] = desc_.shape[from];
    view.desc_.strides[d] = desc_.strides[from];
  }
  return view;
}

Array Array::reshape(Shape shape) const {
  check_valid("a reshape");
  if (!is_contiguous())
    throw ArgumentError("only contiguous arrays can be reshaped: reshape a copy of this view instead");
  if (shape.empty() || shape.size() > std::size_t(kMaxRank))
    throw ArgumentError("an array has 1 to 4 dimensions, the shape " + shape_text(shape) + " has " +
                        std::to_string(shape.size()));
  std::int64_t extents[kMaxRank] = {};
  int open = -1;
  std::uint64_t known = 1;
  bool overflow = false, has_zero = false;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    extents[d] = shape[d];
    if (shape[d] == -1 && open < 0) {
      open = int(d);
    } else if (shape[d] < 0) {
      throw ArgumentError("the shape " + shape_text(shape) + " has a negative extent; one of them may be -1");
    } else {
      has_zero |= shape[d] == 0;
      overflow |= __builtin_mul_overflow(known, std::uint64_t(shape[d]), &known);
    }
  }
  if (has_zero) {
    known = 0;
    overflow = false;
  }
  const auto total = std::uint64_t(size());
  if (open >= 0 && !overflow && known != 0 && total % known == 0) {
    extents[open] = std::int64_t(total / known);
    known = total;
  }
  if (overflow || known != total || (open >= 0 && extents[open] < 0))
    throw ArgumentError("cannot reshape array of shape " + shape_text(this->shape()) + " (size " +
                        std::to_string(total) + ") into shape " + shape_text(shape) +
                        (overflow || open >= 0 ? "" : " (size " + std::to_string(known) + ")"));
  Array view = *this;
  view.desc_ = ArrayDesc{.data = desc_.data, .grad = desc_.grad};
  set_contiguous(view.desc_, {extents, shape.size()}, element_->size());
  return view;
}

Array Array::reinterpret(const Type* element, Shape shape, Shape strides) const {
  check_valid("a view");
  Array view = wrap(element, shape, {.data = desc_.data, .strides = strides, .grad = desc_.grad, .space = space_});
  const ByteRange mine = range(), its = view.range();
  if (its.lo != its.hi && (its.lo < mine.lo || its.hi > mine.hi))
    throw ArgumentError("a view of shape " + shape_text(shape) + " with strides " + shape_text(strides) + " needs " +
                        std::to_string(its.hi - its.lo) + " bytes, the array's memory has " +
                        std::to_string(mine.hi - mine.lo));
  view.owner_ = owner_;
  view.block_ = block_;
  view.grad_owner_ = grad_owner_;
  view.foreign_ = foreign_;
  view.grad_foreign_ = grad_foreign_;
  view.laid_over_ = laid_over_;
  return view;
}

Array Array::lay_over(const Type* element, Shape shape, Shape strides) const {
  if (!is_valid() || !holds_own_memory()) return {};
  Array view = wrap(element, shape, {.data = desc_.data, .strides = strides, .owner = owner_, .space = space_});
  const ByteRange mine = range(), its = view.range();
  if (its.lo < mine.lo || its.hi > mine.hi) return {};
  view.block_ = block_;
  view.laid_over_ = true;
  return view;
}

}  // namespace weft::runtime
