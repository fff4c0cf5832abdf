// Cases: parsing, filling memory with telling values, packing arguments.
#include "kernel_case.h"

#include <cmath>
#include <limits>

#include "ir/scalar_eval.h"
#include "support/diagnostic.h"
#include "syntax/parser.h"

namespace weft::agree {
namespace {

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

std::uint64_t edge_bits(ScalarKind kind, std::uint64_t n) {
  if (kind == ScalarKind::boolean) return n & 1;
  if (kind < ScalarKind::f16) {
    const std::uint32_t width = scalar_bits(kind);
    const std::uint64_t top = std::uint64_t(1) << (width - 1), all = top | (top - 1);
    const std::uint64_t list[] = {0,       1, all,   top,       top - 1,   2,   all - 1,
                                  top + 1, 7, width, width - 1, width + 1, 100, all / 3};
    return list[n % std::size(list)] & all;
  }
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  if (n % 24 < 4) {  // denormals: the smallest, the largest, their negatives
    const std::uint64_t mantissa = kind == ScalarKind::f16    ? 0x3ff
                                   : kind == ScalarKind::bf16 ? 0x7f
                                   : kind == ScalarKind::f32  ? 0x7fffff
                                                              : 0xfffffffffffff;
    const std::uint64_t sign = std::uint64_t(n & 1) << (scalar_bits(kind) - 1);
    return (n % 24 < 2 ? 1 : mantissa) | sign;
  }
  const double list[] = {0.0,   -0.0,  1.0,     -1.0,         0.5,          -2.5,         inf,   -inf,  nan,   1e20,
                         -1e20, 255.5, -128.75, 2147483648.0, -2147483649., 4294967296.0, 1e-30, 65504, 1e300, 3.0};
  return ir::float_to_bits(kind, list[(n % 24 - 4) % std::size(list)]);
}

std::uint64_t value_bits(ScalarKind kind, Fill fill, std::uint64_t n, std::uint64_t seed) {
  const std::uint64_t random = mix(n * 977 + seed);
  auto number = [&](double value) -> std::uint64_t {
    if (kind >= ScalarKind::f16) return ir::float_to_bits(kind, value);
    return std::uint64_t(std::int64_t(value));
  };
  switch (fill) {
    case Fill::zeros: return 0;
    case Fill::counting: return kind == ScalarKind::boolean ? n & 1 : number(double(n + 1));
    case Fill::small:
      if (kind == ScalarKind::boolean) return random & 1;
      if (kind >= ScalarKind::f16) return number(double(std::int64_t(random % 161) - 80) / 8);
      return number(double(std::int64_t(random % 41) - 20));
    // Both operands of a pair run through the list at different speeds, so that all combinations meet.
    case Fill::edges: return edge_bits(kind, seed % 2 ? n / 13 + n : n);
    case Fill::bits: return kind == ScalarKind::boolean ? random & 1 : random;
  }
  return 0;
}

void fill_one(const Type* type, std::byte* at, Fill fill, std::uint64_t& n, std::uint64_t seed) {
  if (type->is_struct()) {
    for (const Field& f : type->fields()) fill_one(f.type, at + f.offset, fill, n, seed);
  } else if (type->is_numeric()) {
    const std::size_t step = types::scalar(type->scalar_kind())->size();
    for (std::uint32_t k = 0; k < type->component_count(); ++k) {
      const std::uint64_t bits = value_bits(type->scalar_kind(), fill, n++, seed);
      std::memcpy(at + k * step, &bits, step);
    }
  }
}

}  // namespace

void fill_values(const Type* type, std::byte* bytes, std::int64_t count, Fill fill, std::uint64_t seed) {
  std::uint64_t n = 0;
  for (std::int64_t i = 0; i < count; ++i) fill_one(type, bytes + std::size_t(i) * type->size(), fill, n, seed);
}

Case::Case(std::string text, Shape dims, std::string kernel)
    : text_("import warp as wp" + text), dims_(std::move(dims)) {
  DiagnosticSink sink;
  auto source = std::make_shared<SourceFile>("case.py", text_);
  scope_ = sema::FileScope::make(syntax::parse(source, sink), sink);
  if (sink.has_errors()) throw CaseError(sink.render_all());
  if (scope_->kernels().empty()) throw CaseError("the text has no kernel");
  kernel_ = kernel.empty() ? scope_->kernels().back() : scope_->find_kernel(kernel);
  if (!kernel_) throw CaseError("the text has no kernel '" + kernel + "'");
  params_ = sema::kernel_params(*kernel_, sink);
  if (sink.has_errors()) throw CaseError(sink.render_all());
}

const Type* Case::type(const std::string& name) const {
  auto symbol = scope_->lookup(name);
  if (!symbol) symbol = sema::warp_scope()->lookup(name);
  if (!symbol || symbol->kind != sema::Symbol::Kind::pattern || symbol->pattern.kind != builtins::Pattern::Kind::exact)
    throw CaseError("there is no type '" + name + "'");
  return symbol->pattern.type;
}

std::size_t Case::add_buffer(const Type* element, std::int64_t count, Fill fill) {
  Buffer buffer;
  buffer.element = element;
  buffer.count = count;
  buffer.bytes.resize(std::size_t(count) * element->size() + Buffer::kGuard, std::byte(0xa5));
  std::memset(buffer.bytes.data(), 0, std::size_t(count) * element->size());
  fill_values(element, buffer.bytes.data(), count, fill, buffers_.size());
  buffers_.push_back(std::move(buffer));
  return buffers_.size() - 1;
}

Case& Case::add(Arg arg) {
  arg.path = std::move(next_path_);
  next_path_.clear();
  args_.push_back(std::move(arg));
  return *this;
}

Case& Case::array(const std::string& name, const Shape& shape, Fill fill) { return array(type(name), shape, fill); }

Case& Case::array(const Type* type, const Shape& shape, Fill fill) {
  Arg arg;
  arg.kind = Arg::Kind::array;
  arg.shape = shape;
  std::int64_t count = 1;
  for (std::int64_t n : shape) count *= n;
  arg.strides.resize(shape.size());
  std::int64_t step = type->size();
  for (std::size_t d = shape.size(); d-- > 0;) arg.strides[d] = step, step *= shape[d];
  arg.buffer = add_buffer(type, count, fill);
  return add(std::move(arg));
}

Case& Case::data(const std::string& name, const void* bytes, std::size_t size, const Shape& shape) {
  array(name, shape, Fill::zeros);
  if (size + Buffer::kGuard != buffers_.back().bytes.size()) throw CaseError("data() of the wrong size");
  if (size) std::memcpy(buffers_.back().bytes.data(), bytes, size);
  return *this;
}

Case& Case::buffer(const std::string& name, std::int64_t count, Fill fill) {
  add_buffer(type(name), count, fill);
  return *this;
}

Case& Case::view(std::size_t buffer, const Shape& shape, const Shape& strides, std::int64_t offset) {
  Arg arg;
  arg.kind = Arg::Kind::array;
  arg.buffer = buffer;
  arg.shape = shape;
  arg.strides = strides;
  arg.offset = offset;
  return add(std::move(arg));
}

Case& Case::no_array() { return add({}); }

Case& Case::boolean(bool value) {
  Arg arg;
  arg.kind = Arg::Kind::boolean;
  arg.i = value;
  return add(std::move(arg));
}

Case& Case::integer(std::int64_t value) {
  Arg arg;
  arg.kind = Arg::Kind::integer;
  arg.i = value;
  return add(std::move(arg));
}

Case& Case::real(double value) {
  Arg arg;
  arg.kind = Arg::Kind::real;
  arg.d = value;
  return add(std::move(arg));
}

Case& Case::value(const std::string& name, Fill fill) {
  Arg arg;
  arg.kind = Arg::Kind::value;
  arg.buffer = add_buffer(type(name), 1, fill);
  buffers_.back().compared = false;
  return add(std::move(arg));
}

Case& Case::at(std::string path) {
  next_path_ = std::move(path);
  return *this;
}

Case& Case::serial_only() {
  serial_only_ = true;
  return *this;
}

Case& Case::one_lane_only() {
  serial_only_ = one_lane_only_ = true;
  return *this;
}

Case& Case::ignore(std::size_t buffer) {
  buffers_.at(buffer).compared = false;
  return *this;
}

std::vector<const Type*> Case::param_types() const {
  std::vector<const Type*> out;
  std::size_t next = 0;
  for (const sema::KernelParam& param : params_) {
    while (next < args_.size() && !args_[next].path.empty()) ++next;
    const Type* type = param.pattern.kind == builtins::Pattern::Kind::exact ? param.pattern.type : nullptr;
    if (!type && next < args_.size()) {
      const Arg& arg = args_[next];
      switch (arg.kind) {
        case Arg::Kind::boolean: type = types::boolean(); break;
        case Arg::Kind::integer: type = types::i32(); break;
        case Arg::Kind::real: type = types::f32(); break;
        case Arg::Kind::array:
          type = types::array(buffers_[arg.buffer].element, std::uint32_t(arg.shape.size()));
          break;
        case Arg::Kind::value: type = buffers_[arg.buffer].element; break;
        case Arg::Kind::null: break;
      }
    }
    if (!type) throw CaseError("the type of '" + param.name + "' is not known");
    out.push_back(type);
    // A struct whose fields are given one by one takes no positional argument.
    bool by_fields = false;
    for (const Arg& arg : args_) by_fields = by_fields || arg.path.starts_with(param.name + ".");
    if (!by_fields) ++next;
  }
  return out;
}

bool Case::overlaps() const {
  for (std::size_t i = 0; i < args_.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (args_[i].kind == Arg::Kind::array && args_[k].kind == Arg::Kind::array && args_[i].buffer == args_[k].buffer)
        return true;
  return false;
}

bool Case::strided() const {
  for (const Arg& arg : args_)
    if (arg.kind == Arg::Kind::array && !arg.strides.empty() &&
        arg.strides.back() != std::int64_t(buffers_[arg.buffer].element->size()))
      return true;
  return false;
}

void Case::bind(runtime::ParamBlock& block, std::vector<Buffer>& memory) const {
  std::size_t next = 0;
  for (const Arg& arg : args_) {
    std::string path = arg.path;
    if (path.empty()) {
      for (bool by_fields = true; by_fields;) {
        if (next >= params_.size()) throw CaseError("more arguments than parameters");
        path = params_[next++].name;
        by_fields = false;
        for (const Arg& other : args_) by_fields = by_fields || other.path.starts_with(path + ".");
      }
    }
    switch (arg.kind) {
      case Arg::Kind::boolean: block.set(path, arg.i != 0); break;
      case Arg::Kind::integer: block.set(path, arg.i); break;
      case Arg::Kind::real: block.set(path, arg.d); break;
      case Arg::Kind::null: block.set_null(path); break;
      case Arg::Kind::value: block.set(path, memory[arg.buffer].element, memory[arg.buffer].bytes.data()); break;
      case Arg::Kind::array: {
        runtime::Array::External external;
        external.data = memory[arg.buffer].bytes.data() + arg.offset;
        external.strides = arg.strides;
        block.set(path, runtime::Array::wrap(memory[arg.buffer].element, runtime::Array::Shape(arg.shape),
                                             std::move(external)));
        break;
      }
    }
  }
  block.check_complete();
}

}  // namespace weft::agree
