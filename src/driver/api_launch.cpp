// Launches of the public API: from arguments to a running form, on the CPU or a GPU, watched by tapes and graphs or not.
#include "driver/default_argument.h"
#include "driver/pack_plain.h"
#include "driver/program_impl.h"
#include "driver/tape.h"
#include "runtime/command_list.h"
#include "runtime/errors.h"
#include "support/hot.h"

namespace weft {
namespace {

constexpr std::uint32_t kSmallBlock = 1024;  // parameter blocks up to this size live on the stack

/// The type that a generic parameter takes from its argument.
const Type* type_of(const Argument& arg) {
  switch (arg.kind()) {
    case Argument::Kind::boolean: return types::boolean();
    case Argument::Kind::integer:
    case Argument::Kind::unsigned_integer: return types::i32();
    case Argument::Kind::real: return types::f32();
    case Argument::Kind::array: return arg.array().is_valid() ? arg.array().internal()->array.type() : nullptr;
    case Argument::Kind::bytes: return arg.type();
  }
  return nullptr;
}

void set_argument(runtime::ParamBlock& block, std::size_t i, const Argument& arg) {
  switch (arg.kind()) {
    case Argument::Kind::boolean: return block.set(i, arg.integer() != 0);
    case Argument::Kind::integer: return block.set(i, arg.integer());
    case Argument::Kind::unsigned_integer: return block.set(i, std::uint64_t(arg.integer()));
    case Argument::Kind::real: return block.set(i, arg.real());
    case Argument::Kind::array:
      if (!arg.array().is_valid()) return block.set_null(i);
      return block.set(i, arg.array().internal()->array);
    case Argument::Kind::bytes: return block.set(i, arg.type(), arg.bytes());
  }
}

/// Where a launch runs: as it is told, or where its arrays lie. Page-locked memory is in reach of all.
WEFT_HOT cuda::Device* device_for(Kernel::Impl& kernel, std::span<const Argument> args, const Place& place) {
  bool known = place.device || place.stream.is_valid();
  cuda::Device* device = place.device              ? place.device->internal()
                         : place.stream.is_valid() ? &place.stream.internal()->device()
                                                   : nullptr;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i].kind() != Argument::Kind::array || !args[i].array().is_valid()) continue;
    const runtime::Array& array = args[i].array().internal()->array;
    if (array.space() && array.on_host()) continue;
    cuda::Device* here = driver::gpu_of(array);
    if (!known) {
      device = here;
      known = true;
    } else if (here != device) [[unlikely]] {
      const auto& params = kernel.known_params();
      throw ArgumentError("kernel '" + kernel.name() + "': the array '" +
                          (i < params.size() ? params[i].name : std::to_string(i + 1)) + "' lies on " +
                          Device(here).name() + ", the launch runs on " + Device(device).name() +
                          "; copy it there with to()");
    }
  }
  return device;
}

/// Adds a null for every array of a type, in the order of TapeFacts::leaves: nobody knows whose they are.
void add_unknown(const Type* type, std::vector<const runtime::Array*>& out) {
  if (type->is_array()) out.push_back(nullptr);
  if (type->is_struct() || type->is_indexed_array())
    for (const Field& f : type->fields()) add_unknown(f.type, out);
}

}  // namespace

driver::KernelSignature& Kernel::Impl::signature_for(std::span<const Argument> args) {
  const auto& known = known_params();
  const std::string& name = this->name();
  if (args.size() > known.size())
    throw ArgumentError("kernel '" + name + "' takes " + std::to_string(known.size()) + " arguments, got " +
                        std::to_string(args.size()));
  std::vector<const Type*> types;
  for (std::size_t i = 0; i < known.size(); ++i) {
    const builtins::Pattern& pattern = known[i].pattern;
    const Type* type = pattern.kind == builtins::Pattern::Kind::exact ? pattern.type
                       : i < args.size()                              ? type_of(args[i])
                                                                      : nullptr;
    if (!type)
      throw ArgumentError("kernel '" + name + "': the type of parameter '" + known[i].name + "' (" +
                          builtins::to_string(pattern) +
                          ") can't be told from its argument; pass a typed value or array");
    builtins::Bindings bindings;
    if (!builtins::match(pattern, type, bindings))
      throw ArgumentError("kernel '" + name + "': parameter '" + known[i].name + "' takes " +
                          builtins::to_string(pattern) + ", not " + type->user_name());
    types.push_back(type);
  }
  return signature(types);
}

void Kernel::launch_with(const Dims& dims, std::span<const Argument> args, const Place& place) const {
  Impl& kernel = *impl_;
  driver::guarded([&] {
    kernel.launch(
        impl_, dims, args,
        {device_for(kernel, args, place), {place.stream.internal().get(), place.block_dim, place.max_blocks}});
  });
}

WEFT_HOT void Kernel::Impl::launch(const std::shared_ptr<Impl>& self, const Dims& dims, std::span<const Argument> args,
                                   driver::LaunchPlace where) {
  if (!where.device) return launch_as_it_is(self, driver::grid_on(nullptr, *this, dims), args, where);
  try {
    if (!shares_memory().value_or(false)) [[likely]]
      return launch_as_it_is(self, dims, args, where);
  } catch (const driver::NeedsBlock&) {  // nothing was done yet
    set_shares_memory(true);
  }
  const auto for_block = std::static_pointer_cast<Impl>(driver::kernel_for(self, where, dims));
  for_block->launch_as_it_is(for_block, dims, args, where);
}

WEFT_HOT void Kernel::Impl::launch_as_it_is(const std::shared_ptr<Impl>& self, std::span<const std::int64_t> dims,
                                            std::span<const Argument> args, const driver::LaunchPlace& where) {
  const bool followed = driver::followers.load(std::memory_order_relaxed) != 0 || runtime::writes_are_watched() ||
                        (where.device ? where.device->capture() != nullptr : runtime::recording() != nullptr);
  // The usual launch: nobody follows, no generic parameter, every argument plainly right, the form compiled already.
  if (driver::KernelSignature* plain = plain_signature();
      plain && !followed && plain->layout.size <= kSmallBlock && dims.size() - 1 < kMaxRank) {
    alignas(8) char block[kSmallBlock];
    if (driver::pack_plain(plain->layout, args, block)) {
      const driver::LaunchForm form = driver::form_of(plain->layout, block, dims.size(), &plain->order);
      if (const driver::KernelVariant* ready = plain->ready(form, where.device))
        return run(*ready, block, {dims, cpu_options(), where.gpu});
    }
  }
  launch_slowly(self, dims, args, where);
}

void Kernel::Impl::launch_slowly(const std::shared_ptr<Impl>& self, std::span<const std::int64_t> dims,
                                 std::span<const Argument> args, const driver::LaunchPlace& where) {
  driver::KernelSignature& signature = signature_for(args);
  const auto& params = known_params();
  runtime::ParamBlock block(name(), signature.layout);
  for (std::size_t i = 0; i < args.size(); ++i) set_argument(block, i, args[i]);
  for (std::size_t i = args.size(); i < params.size(); ++i)
    if (params[i].has_default) {
      const Type* type = signature.types[i];
      std::vector<std::uint64_t> bytes(type->size() / 8 + 1);
      driver::write_default(name(), params[i], type, bytes.data());
      block.set(i, type, bytes.data());
    }
  block.check_complete();
  runtime::KernelCode any;  // dimensions are checked before anything is compiled for them
  any.name = name();
  any.tid_dims_read = 0;
  runtime::launch_size(any, dims);
  if (where.gpu.stream) where.gpu.stream->use();

  driver::WatchedLaunch launch{self, signature, static_cast<const char*>(block.data()), dims, where};
  auto owner = std::make_shared<driver::ArrayOwner>();
  for (std::size_t i = 0; i < signature.types.size(); ++i) {
    if (i >= args.size() || args[i].kind() != Argument::Kind::array || !args[i].array().is_valid()) {
      add_unknown(signature.types[i], launch.arrays);
      continue;
    }
    owner->arrays.push_back(args[i].array().internal());
    launch.memory.push_back(owner->arrays.back()->array);
    launch.arrays.push_back(&owner->arrays.back()->array);
  }
  launch.owner = std::move(owner);
  launch.backward = program.options.backward;
  driver::Tape* tape = driver::recording_tape();
  if (tape || runtime::writes_are_watched()) {
    if (where.device && !options().gpu.block && find_shares_memory(signature, dims.size())) throw driver::NeedsBlock{};
    return driver::launch_watched(std::move(launch), tape);
  }
  const driver::LaunchForm form = driver::form_of(signature.layout, launch.block, dims.size(), &signature.order);
  const driver::KernelVariant& variant = form_for(signature, dims, launch.block, form, where.device);
  start({self, signature, variant, launch.block, dims, where, false, launch.memory, launch.owner});
}

}  // namespace weft
