// Algorithms of the public API.
#include "weft/algorithms.h"

#include "algorithms/arrays.h"
#include "driver/program_impl.h"
#include "runtime/half.h"

namespace weft {
namespace {

/// Runs an algorithm, errors of the runtime turned into public ones.
template <class F>
auto guarded(F&& f) {
  try {
    return f();
  } catch (const runtime::ArgumentError& e) {
    throw ArgumentError(e.what());
  } catch (const runtime::Error& e) {
    throw Error(e.what());
  }
}

const runtime::Array& array_of(const Array& handle) {
  if (!handle.is_valid()) throw ArgumentError("this is no array: it was default-constructed");
  return handle.internal()->array;
}

double number_at(const runtime::Array& one) {
  switch (one.element()->scalar_kind()) {
    case ScalarKind::i32: return double(one.at<std::int32_t>(0));
    case ScalarKind::u32: return double(one.at<std::uint32_t>(0));
    case ScalarKind::i64: return double(one.at<std::int64_t>(0));
    case ScalarKind::u64: return double(one.at<std::uint64_t>(0));
    case ScalarKind::f16: return double(runtime::f16_to_float(one.at<std::uint16_t>(0)));
    case ScalarKind::bf16: return double(runtime::bf16_to_float(one.at<std::uint16_t>(0)));
    case ScalarKind::f32: return double(one.at<float>(0));
    case ScalarKind::f64: return one.at<double>(0);
    case ScalarKind::boolean:
    case ScalarKind::i8:
    case ScalarKind::u8:
    case ScalarKind::i16:
    case ScalarKind::u16: break;
  }
  WEFT_UNREACHABLE("a sum of such numbers was refused");
}

double total(const runtime::Array& a, const runtime::Array* b) {
  if (!a.element()->is_scalar() && !a.element()->is_composite())
    throw ArgumentError("there are no sums of " + a.element()->user_name());
  const Type* scalar = types::scalar(a.element()->scalar_kind());
  const auto numbers = std::int64_t(a.bytes() / scalar->size());
  runtime::Array out = runtime::Array::zeros(scalar, {1}, false, a.space());
  algorithms::sum_array(a, b, out, 1, numbers, 1);
  if (out.on_host()) return number_at(out);
  const runtime::Array here = runtime::Array::zeros(scalar, {1});
  here.assign(out);
  return number_at(here);
}

void sort_keys(const runtime::Array& keys, const runtime::Array* values, int begin_bit, int end_bit) {
  const std::int64_t count = keys.size();
  if (values && values->size() != count) throw ArgumentError("there must be as many values as keys");
  if (end_bit < 0) end_bit = int(keys.element()->size()) * 8;
  if (count == 0) return;
  algorithms::sort_array(keys, values, {count, begin_bit, end_bit});
}

}  // namespace

double sum(const Array& values) {
  return guarded([&] { return total(array_of(values), nullptr); });
}
double inner(const Array& a, const Array& b) {
  return guarded([&] { return total(array_of(a), &array_of(b)); });
}
void scan(const Array& in, const Array& out, bool inclusive) {
  guarded([&] { algorithms::scan_array(array_of(in), array_of(out), inclusive); });
}
void sort(const Array& keys) {
  guarded([&] { sort_keys(array_of(keys), nullptr, 0, -1); });
}
void sort_pairs(const Array& keys, const Array& values, int begin_bit, int end_bit) {
  guarded([&] { sort_keys(array_of(keys), &array_of(values), begin_bit, end_bit); });
}
std::int64_t encode_runs(const Array& values, const Array& run_values, const Array& run_lengths) {
  return guarded([&] {
    const runtime::Array& from = array_of(values);
    return *algorithms::encode_runs(from, array_of(run_values), &array_of(run_lengths), nullptr, from.size());
  });
}
std::int64_t unique(const Array& values, const Array& run_values) {
  return guarded([&] {
    const runtime::Array& from = array_of(values);
    return *algorithms::encode_runs(from, array_of(run_values), nullptr, nullptr, from.size());
  });
}
void histogram(const Array& values, const Array& counts, double lower, double upper) {
  guarded([&] { algorithms::count_values(array_of(values), array_of(counts), lower, upper); });
}

}  // namespace weft
