// Entry points: kernels over a range of threads, and single calls of functions.
#include "interp/interpreter.h"

#include "interp/executor.h"
#include "runtime/block_threads.h"
#include "runtime/fp_control.h"
#include "runtime/print_buffer.h"

namespace weft::interp {
namespace {

/// Size and alignment of a value; only tuples differ from the type's own.
struct Extent {
  std::size_t size = 0;
  std::size_t align = 1;
};

Extent extent_of(const Type* type) {
  if (!type->is_tuple()) return {type->size(), type->align()};
  // As C lays out a struct of the same fields. Tuples have no layout of their own,
  // since they never lie in arrays or parameters.
  Extent all;
  for (const Field& field : type->fields()) {
    Extent part = extent_of(field.type);
    all.size = (all.size + part.align - 1) / part.align * part.align + part.size;
    all.align = std::max(all.align, part.align);
  }
  all.size = (all.size + all.align - 1) / all.align * all.align;
  return all;
}

}  // namespace

std::size_t value_size(const Type* type) { return type->is_tuple() ? extent_of(type).size : type->size(); }

std::size_t field_offset(const Type* type, std::size_t field) {
  if (!type->is_tuple()) return type->fields()[field].offset;
  std::size_t offset = 0;
  for (std::size_t i = 0;; ++i) {
    Extent part = extent_of(type->fields()[i].type);
    offset = (offset + part.align - 1) / part.align * part.align;
    if (i == field) return offset;
    offset += part.size;
  }
}

namespace {

/// Threads of blocks, each with an executor of its own; the first error of any ends the launch.
struct BlockRun {
  const ir::Function& kernel;
  const void* params;
  runtime::LaunchContext& context;
  const analysis::CheckSites& sites;
  const Limits& limits;
  const ParamLayout& layout;
  const analysis::BlockMemory memory{kernel};
  std::vector<std::unique_ptr<Executor>> executors{std::size_t(kernel.form.block)};
  std::exception_ptr problem{};

  void run(std::int64_t linear) noexcept {
    if (context.stop.load(std::memory_order_relaxed)) return;
    try {
      std::unique_ptr<Executor>& executor = executors[std::size_t(linear % kernel.form.block)];
      if (!executor) {
        executor = std::make_unique<Executor>(context, &sites, limits);
        executor->set_block(kernel.form.block, memory);
        fill(executor->frame_of(kernel));
      }
      executor->set_thread(linear);
      executor->run(executor->frame_of(kernel));
      executor->take_turn();
    } catch (const Executor::Stopped&) {
    } catch (...) {
      if (!problem) problem = std::current_exception();
      context.stop.store(1, std::memory_order_relaxed);
    }
  }
  void fill(Frame& frame) const {
    for (std::size_t i = 0; i < layout.params.size(); ++i)
      std::memcpy(frame.at(kernel.params()[i]), static_cast<const std::byte*>(params) + layout.params[i].offset,
                  kernel.params()[i]->type->size());
  }
};

constexpr std::int64_t kStackOfInterpreter = 1 << 20;  // it calls itself for regions inside of each other

}  // namespace

void run_kernel(const ir::Module& module, const ir::Function& kernel, const void* params,
                runtime::LaunchContext& context, std::int64_t begin, std::int64_t end, const Limits& limits) {
  runtime::FpControlScope ieee;
  analysis::CheckSites sites = analysis::check_sites(module);
  Executor executor(context, &sites, limits);
  Frame& frame = executor.frame_of(kernel);
  ParamLayout layout;
  for (const ir::Value* param : kernel.params()) layout.add(std::string(param->name), param->type);
  if (kernel.form.block) {
    BlockRun blocks{kernel, params, context, sites, limits, layout};
    runtime::run_blocks(
        begin, end, {kernel.form.block, blocks.memory.bytes(), kStackOfInterpreter}, &context,
        [](void* state, std::int64_t linear) { static_cast<BlockRun*>(state)->run(linear); }, &blocks);
    if (blocks.problem) std::rethrow_exception(blocks.problem);
    return;
  }
  // One frame for all threads: nothing that a thread leaves in it is read by the next, for values are computed before
  // they are used. No operation writes to a parameter, so that all threads share those, too.
  for (std::size_t i = 0; i < layout.params.size(); ++i)
    std::memcpy(frame.at(kernel.params()[i]), static_cast<const std::byte*>(params) + layout.params[i].offset,
                kernel.params()[i]->type->size());
  for (std::int64_t k = begin; k < end; ++k) {
    if (context.stop.load(std::memory_order_relaxed)) return;
    executor.set_thread(limits.descending ? end - 1 - (k - begin) : k);
    try {
      executor.run(frame);
      // A thread counts as a turn, so that a launch of many threads without loops can be stopped, too.
      executor.take_turn();
    } catch (const Executor::Stopped&) {
      return;
    }
  }
}

std::vector<Datum> call(const ir::Function& function, std::span<const Datum> args, const Limits& limits) {
  runtime::FpControlScope ieee;
  runtime::PrintBuffer prints;
  runtime::LaunchContext context;
  context.serial = 1;
  context.print = &prints;
  // Without sites: a failed check throws, there being no launch whose record could take it.
  Executor executor(context, nullptr, limits);
  Frame& frame = executor.frame_of(function);
  // Callers of a single function are tools and tests, whose arguments nobody has checked.
  if (args.size() != function.params().size())
    throw Error("function '" + function.name + "' takes " + std::to_string(function.params().size()) +
                    " arguments, not " + std::to_string(args.size()),
                function.loc);
  for (std::size_t i = 0; i < args.size(); ++i) {
    const ir::Value* param = function.params()[i];
    if (args[i].type != param->type || args[i].bytes.size() != value_size(param->type))
      throw Error("argument " + std::to_string(i) + " of '" + function.name + "' is not a " + param->type->text(),
                  function.loc);
    std::memcpy(frame.at(param), args[i].bytes.data(), args[i].bytes.size());
  }
  executor.run(frame);
  std::vector<Datum> results;
  for (std::size_t i = 0; i < function.result_types.size(); ++i) {
    const ir::Value* value = function.body->last->operand(i);
    const std::byte* bytes = frame.at(value);
    results.push_back({value->type, {bytes, bytes + value_size(value->type)}});
  }
  return results;
}

}  // namespace weft::interp
