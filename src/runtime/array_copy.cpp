// Moving and filling the elements of strided arrays.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/allocator.h"
#include "runtime/array.h"
#include "runtime/command_list.h"
#include "runtime/errors.h"
#include "runtime/late_work.h"
#include "runtime/work_journal.h"

namespace weft::runtime {
namespace {

template <std::size_t N>
void copy_row(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, N);
}

void copy_row(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride, std::int64_t count,
              std::size_t size) {
  const auto packed = std::int64_t(size);
  if (to_stride == packed && from_stride == packed) {
    std::memcpy(to, from, size * std::size_t(count));
    return;
  }
  switch (size) {
    case 1: return copy_row<1>(to, to_stride, from, from_stride, count);
    case 2: return copy_row<2>(to, to_stride, from, from_stride, count);
    case 4: return copy_row<4>(to, to_stride, from, from_stride, count);
    case 8: return copy_row<8>(to, to_stride, from, from_stride, count);
    case 12: return copy_row<12>(to, to_stride, from, from_stride, count);
    case 16: return copy_row<16>(to, to_stride, from, from_stride, count);
    default:
      for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, size);
  }
}

/// Copies elements between two strided layouts of one shape; at most kMaxRank levels deep.
void copy_strided(char* to, const std::int64_t* to_strides, const char* from, const std::int64_t* from_strides,
                  const std::int64_t* shape, int rank, std::size_t size) {
  if (rank == 1) return copy_row(to, to_strides[0], from, from_strides[0], shape[0], size);
  for (std::int64_t i = 0; i < shape[0]; ++i)
    copy_strided(to + i * to_strides[0], to_strides + 1, from + i * from_strides[0], from_strides + 1, shape + 1,
                 rank - 1, size);
}

bool all_zero(const void* value, std::size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(value);
  for (std::size_t i = 0; i < size; ++i)
    if (bytes[i]) return false;
  return true;
}

/// Writes `count` copies of the value one after the other, in blocks that stay in the cache.
void fill_packed(char* to, const void* value, std::size_t size, std::uint64_t bytes) {
  constexpr std::uint64_t kBlock = 1 << 15;
  std::memcpy(to, value, size);
  std::uint64_t done = size;
  while (done < bytes) {
    const std::uint64_t n = std::min({done, bytes - done, std::max<std::uint64_t>(kBlock / size * size, size)});
    std::memcpy(to + done, to, n);
    done += n;
  }
}

}  // namespace

Array Array::copy() const {
  check_valid("a copy");
  Array result = empty(element_, shape(), false, space_);
  result.assign(*this);
  if (has_grad()) {
    result.add_grad_buffer();
    result.grad().assign(grad());
  }
  return result;
}

void Array::assign(const Array& source) const {
  check_valid("an assignment");
  source.check_valid("an assignment");
  if (element_ != source.element_ || desc_.ndim != source.desc_.ndim)
    throw ArgumentError("can't assign an " + source.type()->user_name() + " to an " + type()->user_name());
  for (int d = 0; d < desc_.ndim; ++d)
    if (desc_.shape[d] != source.desc_.shape[d])
      throw ArgumentError("can't assign an array with extent " + std::to_string(source.desc_.shape[d]) +
                          " in dimension " + std::to_string(d) + " to one with extent " +
                          std::to_string(desc_.shape[d]));
  if (size() == 0) return;
  const HeardWork heard(*this, source);
  if (CommandList* list = recording(); list && (on_host() || source.on_host())) [[unlikely]] {
    if (on_host() && source.on_host()) return list->add_copy(*this, source);
    refuse_while_recording("copy between the CPU and " + (on_host() ? source : *this).space()->name());
  }
  if (overlaps(desc_, element_->size(), source.desc_, element_->size())) {
    bool same = desc_.data == source.desc_.data;
    for (int d = 0; d < desc_.ndim; ++d) same &= desc_.strides[d] == source.desc_.strides[d];
    if (same) return;
    Array apart = empty(element_, shape(), false, space_);
    apart.assign(source);
    return assign(apart);
  }
  if (space_ || source.space_) {
    MemorySpace* device = !space_ || (space_->on_host() && source.space_) ? source.space_ : space_;
    if (!device->on_host()) {
      // Devices take the host's memory packed.
      if ((source.on_host() && !source.is_contiguous()) || (on_host() && !is_contiguous())) {
        Array packed = empty(element_, shape());
        packed.assign(source);
        return assign(packed);
      }
      if (LateWork::waiting() && copy_late(*this, source)) [[unlikely]]
        return;
      return device->copy(desc_, space_, owner_, source.desc_, source.space_, source.owner_, element_->size());
    }
  }
  if (is_contiguous() && source.is_contiguous()) {
    std::memcpy(desc_.data, source.desc_.data, bytes());
    return;
  }
  copy_strided(static_cast<char*>(desc_.data), desc_.strides, static_cast<const char*>(source.desc_.data),
               source.desc_.strides, desc_.shape, desc_.ndim, element_->size());
}

void Array::fill(const void* value) const {
  check_valid("a fill");
  if (size() == 0) return;
  const HeardWork heard(*this, value);
  const std::size_t element_size = element_->size();
  if (!on_host()) {
    if (LateWork::waiting() && fill_late(*this, value)) [[unlikely]]
      return;
    return space_->fill(desc_, element_size, value);
  }
  if (CommandList* list = recording()) [[unlikely]]
    return list->add_fill(*this, value);
  if (is_contiguous()) {
    if (all_zero(value, element_size))
      std::memset(desc_.data, 0, bytes());
    else
      fill_packed(static_cast<char*>(desc_.data), value, element_size, bytes());
    return;
  }
  static constexpr std::int64_t kStill[kMaxRank] = {0, 0, 0, 0};
  copy_strided(static_cast<char*>(desc_.data), desc_.strides, static_cast<const char*>(value), kStill, desc_.shape,
               desc_.ndim, element_size);
}

void Array::fill_zero() const {
  check_valid("a fill");
  const std::vector<unsigned char> zero(element_->size(), 0);
  fill(zero.data());
}

}  // namespace weft::runtime
