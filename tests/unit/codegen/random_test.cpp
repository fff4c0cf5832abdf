// Random programs: generated code against the interpreter, bit for bit. Threads of a random program race with each other,
// so it runs in two ways that leave nothing to chance: one thread per call (a single active lane, same order as the
// interpreter), and all lanes at once with every thread on its own arguments and buffers (descriptors from memory).
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "../passes/random_ir.h"
#include "harness.h"
#include "ir/builder.h"
#include "ir/clone.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "runtime/print_buffer.h"

namespace weft::codegen::test {
namespace {

using testing::Random;

std::uint64_t programs(std::uint64_t usual) {
  const char* given = std::getenv("WEFT_RANDOM_PROGRAMS");
  return given ? std::strtoull(given, nullptr, 10) : usual;
}

/// Arguments and buffers of one or many threads, made from a seed; every array has a buffer of its own.
class Arguments {
 public:
  Arguments(const Type* type, std::size_t count, std::uint64_t seed) : random_(seed), block_(type->size() * count + 8) {
    for (std::size_t k = 0; k < count; ++k) fill(type, block_.data() + k * type->size());
  }
  std::byte* data() { return block_.data(); }
  const std::vector<std::vector<std::byte>>& buffers() const { return buffers_; }
  const std::vector<const Type*>& types() const { return types_; }

 private:
  void fill(const Type* type, std::byte* to) {
    if (type->is_scalar()) {
      std::uint64_t bits = random_.next();
      if (type->is_bool())
        bits &= 1;
      else if (type->is_float() && random_.chance(85))
        bits = ir::float_to_bits(type->scalar_kind(), double(std::int64_t(random_.below(41)) - 20) / 4);
      else if (random_.chance(70))
        bits = std::uint64_t(std::int64_t(random_.below(21)) - 10);
      std::memcpy(to, &bits, type->size());
    } else if (type->is_composite()) {
      for (std::uint32_t k = 0; k < type->component_count(); ++k)
        fill(type->element(), to + k * type->element()->size());
    } else if (type->is_struct()) {
      for (const Field& field : type->fields()) fill(field.type, to + field.offset);
    } else {
      ArrayDesc desc;
      desc.ndim = std::int32_t(type->rank());
      std::int64_t stride = type->element()->size(), count = 1;
      for (int d = desc.ndim - 1; d >= 0; --d) {
        desc.shape[d] = type->rank() == 1 ? 8 : 4;
        desc.strides[d] = stride;
        stride *= desc.shape[d];
        count *= desc.shape[d];
      }
      std::vector<std::byte> bytes(std::size_t(stride), std::byte(0));
      for (std::int64_t k = 0; k < count; ++k)
        fill(type->element(), bytes.data() + k * std::int64_t(type->element()->size()));
      desc.data = bytes.data();
      types_.push_back(type->element());
      buffers_.push_back(std::move(bytes));  // a vector's bytes stay where they are
      std::memcpy(to, &desc, sizeof desc);
    }
  }
  Random random_;
  std::vector<std::byte> block_;
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<const Type*> types_;
};

bool equal(const Type* type, const std::byte* a, const std::byte* b) {
  if (type->is_scalar()) {
    std::uint64_t x = 0, y = 0;
    std::memcpy(&x, a, type->size());
    std::memcpy(&y, b, type->size());
    auto nan = [&](std::uint64_t v) { return std::isnan(ir::bits_to_float(type->scalar_kind(), v)); };
    return x == y || (type->is_float() && nan(x) && nan(y));
  }
  if (type->is_composite()) {
    for (std::uint32_t k = 0; k < type->component_count(); ++k)
      if (!equal(type->element(), a + k * type->element()->size(), b + k * type->element()->size())) return false;
    return true;
  }
  for (const Field& field : type->fields())
    if (!equal(field.type, a + field.offset, b + field.offset)) return false;
  return true;
}

std::string difference(const Arguments& a, const Arguments& b) {
  for (std::size_t k = 0; k < a.buffers().size(); ++k) {
    const Type* type = a.types()[k];
    for (std::size_t i = 0; (i + 1) * type->size() <= a.buffers()[k].size(); ++i)
      if (!equal(type, a.buffers()[k].data() + i * type->size(), b.buffers()[k].data() + i * type->size()))
        return "buffer " + std::to_string(k) + " of " + type->text() + " at " + std::to_string(i);
  }
  return {};
}

struct Launch {
  runtime::ErrorRecord error;
  runtime::LaunchContext context;
  std::string printed;
  runtime::PrintSink sink = [this](std::string_view text) { printed += text; };
  std::unique_ptr<runtime::PrintBuffer> prints = std::make_unique<runtime::PrintBuffer>(1, &sink);
  explicit Launch(std::int64_t threads) {
    context.dims[0] = threads;
    context.serial = 1;
    context.error = &error;
    context.print = prints.get();
  }
};

/// Runs with the interpreter, then with generated code, each on equal fresh arguments.
void compare(const ir::Module& module, const ir::Function& kernel, std::size_t threads, std::int64_t chunk,
             std::uint64_t seed, const Type* argument_type, std::size_t argument_count, bool pass_descriptor,
             std::initializer_list<int> lane_counts) {
  auto block_of = [&](Arguments& arguments) {
    std::vector<std::byte> block(sizeof(ArrayDesc) + argument_type->size());
    if (!pass_descriptor) {
      std::memcpy(block.data(), arguments.data(), argument_type->size());
      return block;
    }
    ArrayDesc desc;
    desc.data = arguments.data();
    desc.shape[0] = std::int64_t(argument_count);
    desc.strides[0] = argument_type->size();
    desc.ndim = 1;
    std::memcpy(block.data(), &desc, sizeof desc);
    return block;
  };
  Arguments want(argument_type, argument_count, seed);
  Launch reference{std::int64_t(threads)};
  try {
    interp::run_kernel(module, kernel, block_of(want).data(), reference.context, 0, std::int64_t(threads),
                       {.max_steps = 3000000});
  } catch (const interp::Error&) {
    return;  // out of steps
  }
  reference.prints->flush();
  for (int lanes : lane_counts)
    for (int opt_level : {0, 2}) {
      EmitOptions options;
      options.lanes = lanes;
      options.opt_level = opt_level;
      options.verify = true;
      Emitted code = emit(module, kernel, host_target(), options, Output::object);
      auto loaded = load_object(code.bytes, code.entry);
      Arguments got(argument_type, argument_count, seed);
      Launch launch{std::int64_t(threads)};
      std::vector<std::byte> block = block_of(got);
      for (std::int64_t at = 0; at < std::int64_t(threads); at += chunk)
        loaded->entry()(at, std::min(at + chunk, std::int64_t(threads)), block.data(), &launch.context);
      launch.prints->flush();
      std::string what = difference(want, got);
      if (what.empty() && launch.printed != reference.printed)
        what = "printed\n" + launch.printed + "instead of\n" + reference.printed;
      ASSERT_EQ(what, "") << "seed " << seed << ", " << lanes << " lanes, level " << opt_level << "\n"
                          << ir::print(module);
    }
}

const Type* argument_struct(const ir::Function& kernel) {
  std::vector<Field> fields;
  std::vector<std::string> names;
  for (std::size_t k = 0; k < kernel.params().size(); ++k) names.push_back("a" + std::to_string(k));
  for (std::size_t k = 0; k < kernel.params().size(); ++k) fields.push_back({names[k], kernel.params()[k]->type, 0});
  std::string name = "Args";
  for (const Field& field : fields) name += "_" + field.type->text();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return types::structure(name, fields);
}

/// Turns the kernel into a function of its parameters and thread index, called from a kernel that loads each thread's
/// arguments from an array of structs.
ir::Function* wrap(ir::Module& module, const Type* arguments) {
  ir::Function* body = module.functions.back().get();
  body->kind = ir::FunctionKind::function;
  ir::Value* thread = body->add_argument(body->body, types::i32());
  std::vector<ir::Op*> gone;
  auto replace = [&](auto&& self, const ir::Region& region) -> void {
    for (ir::Op& op : region) {
      for (ir::Value*& operand : op.operands)
        if (operand->kind == ir::ValueKind::result && operand->op->code == ir::OpCode::tid) operand = thread;
      if (op.code == ir::OpCode::tid) gone.push_back(&op);
      for (ir::Region* inner : op.regions) self(self, *inner);
    }
  };
  replace(replace, *body->body);
  for (ir::Op* op : gone) ir::remove_op(op);
  ir::Function* kernel = module.add("wrapper", ir::FunctionKind::kernel);
  ir::Value* all = kernel->add_argument(kernel->body, types::array(arguments, 1), "all");
  ir::Builder build(*kernel, kernel->body);
  ir::Value* i = build.tid(0);
  ir::Value* mine = build.load(all, {&i, 1}, 0);
  std::vector<ir::Value*> args;
  for (std::size_t k = 0; k < arguments->fields().size(); ++k) {
    ir::PathStep step{ir::PathStep::field, false, false, std::int32_t(k)};
    args.push_back(build.extract(mine, {&step, 1}));
  }
  args.push_back(i);
  build.call(body, args);
  build.ret({});
  return kernel;
}

/// Compare-and-swap of floats tells one NaN from another, and which NaN arithmetic gives is nobody's promise.
bool compares_nans(const ir::Region& region) {
  for (const ir::Op& op : region) {
    if (op.code == ir::OpCode::atomic && op.atomic == ir::AtomicKind::cas &&
        op.result()->type->scalar_kind() >= ScalarKind::f16)
      return true;
    for (const ir::Region* inner : op.regions)
      if (compares_nans(*inner)) return true;
  }
  return false;
}

bool compares_nans(const ir::Module& module) {
  return std::any_of(module.functions.begin(), module.functions.end(),
                     [](const auto& f) { return compares_nans(*f->body); });
}

TEST(Random, OneThreadPerCall) {
  for (std::uint64_t seed = 1; seed <= programs(60); ++seed) {
    auto program = weft::testing::random_program(seed);
    if (compares_nans(*program.module)) continue;
    compare(*program.module, *program.kernel, std::size_t(weft::testing::kThreads), 1, seed,
            argument_struct(*program.kernel), 1, false, {1, 4, 16});
    if (HasFatalFailure()) return;
  }
}

TEST(Random, AllLanesOnTheirOwnData) {
  for (std::uint64_t seed = 1000; seed < 1000 + programs(60); ++seed) {
    auto program = weft::testing::random_program(seed, {.prints = false});
    if (compares_nans(*program.module)) continue;
    const Type* arguments = argument_struct(*program.kernel);
    ir::Function* kernel = wrap(*program.module, arguments);
    ASSERT_EQ(ir::verify(*program.module), "");
    compare(*program.module, *kernel, 8, 8, seed, arguments, 8, true, {2, 8, 16});
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace weft::codegen::test
