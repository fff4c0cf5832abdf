// Arguments for random programs, runs in the interpreter and their comparison.
#include <cmath>
#include <cstring>

#include "random_ir.h"
#include "runtime/print_buffer.h"

namespace weft::testing {
namespace {

/// Small integers and plain floats now and then, else any bits.
void fill_scalar(Random& random, const Type* type, std::byte* to) {
  std::uint64_t bits = random.next();
  if (type->is_bool())
    bits &= 1;
  else if (type->is_float() && random.chance(8))
    bits = ir::float_to_bits(type->scalar_kind(), -0.0);
  else if (type->is_float() && random.chance(85))
    bits = ir::float_to_bits(type->scalar_kind(), double(std::int64_t(random.below(41)) - 20) / 4);
  else if (random.chance(70))
    bits = std::uint64_t(std::int64_t(random.below(21)) - 10);
  std::memcpy(to, &bits, type->size());
}

void fill(Random& random, const Type* type, std::byte* to) {
  if (type->is_scalar()) return fill_scalar(random, type, to);
  if (type->is_composite()) {
    for (std::uint32_t i = 0; i < type->component_count(); ++i)
      fill_scalar(random, type->element(), to + i * type->element()->size());
    return;
  }
  for (const Field& field : type->fields()) fill(random, field.type, to + field.offset);
}

class Arguments {
 public:
  Arguments(const ir::Function& kernel, std::uint64_t seed, Outcome& outcome)
      : random_(seed), overlap_(!kernel.form.no_overlap), outcome_(outcome) {
    ParamLayout layout;
    for (const ir::Value* param : kernel.params()) layout.add(std::string(param->name), param->type);
    block_.resize(layout.size / 8 + 1);
    for (std::size_t i = 0; i < layout.params.size(); ++i)
      argument(layout.params[i].type, reinterpret_cast<std::byte*>(block_.data()) + layout.params[i].offset);
  }
  const void* block() const { return block_.data(); }

 private:
  void argument(const Type* type, std::byte* to) {
    if (type->is_array()) return array(type, to);
    if (type->is_struct())
      for (const Field& field : type->fields()) argument(field.type, to + field.offset);
    else
      fill(random_, type, to);
  }

  void array(const Type* type, std::byte* to) {
    ArrayDesc desc;
    desc.ndim = std::int32_t(type->rank());
    std::int64_t count = type->rank() == 1 ? 8 : 16;
    std::int64_t stride = type->element()->size();
    for (int k = desc.ndim - 1; k >= 0; --k) {
      desc.shape[k] = type->rank() == 1 ? 8 : 4;
      desc.strides[k] = stride;
      stride *= desc.shape[k];
    }
    std::size_t buffer = outcome_.buffers.size();
    if (overlap_ && random_.chance(60))
      for (std::size_t k = 0; k < outcome_.buffers.size(); ++k)
        if (outcome_.element_types[k] == type->element() && outcome_.buffers[k].size() == std::size_t(stride))
          buffer = k;
    if (buffer == outcome_.buffers.size()) {
      outcome_.element_types.push_back(type->element());
      std::vector<std::byte>& bytes = outcome_.buffers.emplace_back(std::size_t(stride));
      for (std::int64_t i = 0; i < count; ++i)
        fill(random_, type->element(), bytes.data() + i * std::int64_t(type->element()->size()));
    }
    desc.data = outcome_.buffers[buffer].data();
    std::memcpy(to, &desc, sizeof desc);
  }

  Random random_;
  bool overlap_;
  Outcome& outcome_;
  std::vector<std::uint64_t> block_;
};

bool equal(const Type* type, const std::byte* a, const std::byte* b) {
  if (type->is_scalar()) {
    std::uint64_t x = 0, y = 0;
    std::memcpy(&x, a, type->size());
    std::memcpy(&y, b, type->size());
    if (x == y) return true;
    return type->is_float() && std::isnan(ir::bits_to_float(type->scalar_kind(), x)) &&
           std::isnan(ir::bits_to_float(type->scalar_kind(), y));
  }
  if (type->is_composite()) {
    for (std::uint32_t i = 0; i < type->component_count(); ++i)
      if (!equal(type->element(), a + i * type->element()->size(), b + i * type->element()->size())) return false;
    return true;
  }
  for (const Field& field : type->fields())
    if (!equal(field.type, a + field.offset, b + field.offset)) return false;
  return true;
}

}  // namespace

Outcome run_program(const ir::Module& module, const ir::Function& kernel, std::uint64_t argument_seed) {
  Outcome outcome;
  Arguments arguments(kernel, argument_seed, outcome);
  runtime::PrintSink sink = [&](std::string_view text) { outcome.printed += text; };
  runtime::PrintBuffer prints(1, &sink);
  runtime::ErrorRecord error;
  runtime::LaunchContext context;
  context.dims[0] = kThreads;
  context.serial = 1;
  context.error = &error;
  context.print = &prints;
  try {
    interp::run_kernel(module, kernel, arguments.block(), context, 0, kThreads, {.max_steps = 2000000});
  } catch (const interp::Error& failed) {
    outcome.error = failed.what();
  }
  prints.flush();
  outcome.check_failed = error.state.load() != 0;
  return outcome;
}

std::string difference(const Outcome& a, const Outcome& b) {
  if (a.error != b.error) return "error '" + a.error + "' against '" + b.error + "'";
  if (a.printed != b.printed) return "printed\n" + a.printed + "against\n" + b.printed;
  for (std::size_t k = 0; k < a.buffers.size(); ++k) {
    const Type* type = a.element_types[k];
    for (std::size_t i = 0; i * type->size() < a.buffers[k].size(); ++i)
      if (!equal(type, a.buffers[k].data() + i * type->size(), b.buffers[k].data() + i * type->size()))
        return "buffer " + std::to_string(k) + " differs at element " + std::to_string(i);
  }
  return {};
}

}  // namespace weft::testing
