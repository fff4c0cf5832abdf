// Programs and their kernels of the public API: forms are built on first use and shared by all threads.
#include <fstream>
#include <sstream>

#include "driver/kernel_keys.h"
#include "driver/program_impl.h"
#include "runtime/scheduler.h"
#include "sema/scan.h"
#include "syntax/parser.h"

namespace weft {
namespace driver {

CompileOptions to_compile_options(const Options& options) {
  CompileOptions c;
  c.debug = options.debug;
  c.verify_fp = options.verify_fp;
  c.fuse_fp = options.fuse_fp;
  c.fast_math = options.fast_math;
  c.opt_level = options.opt_level;
  // Threads in strict order: lanes would run a statement for several threads before the next one.
  c.lanes = options.serial && options.lanes == 0 ? 1 : options.lanes;
  c.max_unroll = options.max_unroll;
  c.deterministic = options.deterministic;
  c.use_cache = options.cache;
  return c;
}

}  // namespace driver

void Program::Impl::add_messages(const DiagnosticSink& sink) {
  std::vector<Message> fresh = driver::to_messages(sink);
  std::lock_guard lock(mutex);
  for (Message& m : fresh) messages.push_back(std::move(m));
}

Program Program::compile(std::string text, std::string name, const Options& options) {
  auto impl = std::make_shared<Impl>();
  impl->options = options;
  impl->source_hash = Hasher().text(name).text(text).finish();
  impl->source = std::make_shared<SourceFile>(std::move(name), std::move(text));
  DiagnosticSink sink;
  auto tree = syntax::parse(impl->source, sink);
  impl->scope = sema::FileScope::make(tree, sink);
  driver::throw_on_errors(sink);
  impl->add_messages(sink);
  for (const auto& decl : impl->scope->kernels()) {
    impl->kernels.push_back(std::make_shared<Kernel::Impl>(*impl, decl, driver::to_compile_options(impl->options),
                                                           driver::source_hash(impl->source_hash, *decl)));
  }
  return Program(std::move(impl));
}

Program Program::load(const std::string& path, const Options& options) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  if (!in || !(text << in.rdbuf())) throw Error("can't read the file '" + path + "'");
  return compile(text.str(), path, options);
}

std::vector<std::string> Program::kernel_names() const {
  std::vector<std::string> out;
  for (const auto& kernel : impl_->kernels) out.push_back(kernel->name());
  return out;
}

Kernel Program::kernel(std::string_view name) const {
  for (auto it = impl_->kernels.rbegin(); it != impl_->kernels.rend(); ++it) {
    if ((*it)->name() != name) continue;
    // The handle keeps the program alive; the program's own list does not, or it would never die.
    auto handle = std::shared_ptr<Kernel::Impl>(it->get(), [program = impl_](Kernel::Impl*) {});
    return Kernel(std::move(handle));
  }
  std::string known;
  for (const auto& kernel : impl_->kernels) known += (known.empty() ? "" : ", ") + kernel->name();
  throw ArgumentError("there is no kernel '" + std::string(name) + "' in " + impl_->source->name() +
                      (known.empty() ? "; it has no kernels" : "; it has " + known));
}

DataType Program::struct_type(std::string_view name) const {
  auto symbol = impl_->scope->lookup(name);
  if (symbol && symbol->kind == sema::Symbol::Kind::pattern && symbol->pattern.kind == builtins::Pattern::Kind::exact)
    return DataType(symbol->pattern.type);
  throw ArgumentError("there is no struct or type '" + std::string(name) + "' in " + impl_->source->name());
}

std::vector<Message> Program::messages() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->messages;
}

void Program::build(const Device& device) const {
  std::vector<Kernel::Impl*> plain;
  for (const auto& kernel : impl_->kernels) {
    bool generic = false;
    for (const sema::KernelParam& p : kernel->known_params()) generic = generic || p.pattern.is_generic();
    if (!generic) plain.push_back(kernel.get());
  }
  runtime::parallel_for(std::int64_t(plain.size()), [&](std::int64_t i) {
    Kernel::Impl& kernel = *plain[std::size_t(i)];
    driver::LaunchForm form;
    form.rank = std::uint8_t(sema::scan(*kernel.decl().def).tid_names);
    driver::guarded([&] {
      try {
        kernel.build(kernel.signature_for({}), form, device.internal());
      } catch (const driver::NeedsBlock&) {  // made for the blocks that launches have by themselves
        kernel.set_shares_memory(true);
        auto for_block = std::static_pointer_cast<Kernel::Impl>(kernel.with_block(driver::kUsualBlock, true));
        try {
          for_block->build(for_block->signature_for({}), form, device.internal());
        } catch (const std::exception&) {  // the last name of wp.tid() may not be the thread's in its block
          if (form.rank++ == kMaxRank) throw;
          for_block->build(for_block->signature_for({}), form, device.internal());
        }
      }
    });
  });
}

const std::string& Kernel::name() const { return impl_->name(); }

std::vector<Kernel::Param> Kernel::params() const {
  std::vector<Param> out;
  for (const sema::KernelParam& p : impl_->known_params()) out.push_back({p.name, builtins::to_string(p.pattern)});
  return out;
}

std::vector<const Type*> Kernel::param_types() const {
  std::vector<const Type*> out;
  for (const sema::KernelParam& p : impl_->known_params())
    out.push_back(p.pattern.kind == builtins::Pattern::Kind::exact ? p.pattern.type : nullptr);
  return out;
}

bool Kernel::has_default(std::size_t index) const {
  const auto& params = impl_->known_params();
  return index < params.size() && params[index].has_default;
}

Kernel::Impl::Impl(Program::Impl& owner, std::shared_ptr<const sema::FunctionDecl> decl, driver::CompileOptions options,
                   Hash128 source_hash)
    : driver::Kernel(std::move(decl), std::move(options), source_hash, owner.options.interpret), program(owner) {}

std::shared_ptr<driver::Kernel> Kernel::Impl::under(driver::CompileOptions options) const {
  return std::make_shared<Impl>(program, shared_decl(), std::move(options), source_hash());
}

const std::vector<sema::KernelParam>& Kernel::Impl::known_params() {
  DiagnosticSink sink;
  const auto* known = driver::Kernel::params(sink);
  driver::throw_on_errors(sink);
  program.add_messages(sink);
  return *known;
}

const driver::KernelVariant& Kernel::Impl::build(driver::KernelSignature& signature, driver::LaunchForm form,
                                                 cuda::Device* device, driver::Effort effort) {
  DiagnosticSink sink;
  const driver::KernelVariant* made = variant(signature, form, sink, device, effort);
  driver::throw_on_errors(sink);
  program.add_messages(sink);
  return *made;
}

runtime::LaunchOptions Kernel::Impl::cpu_options() const {
  runtime::LaunchOptions options;
  options.serial = program.options.serial;
  return options;
}

void Kernel::Impl::warn(const std::string& text) const {
  Message message{Message::Kind::warning, {}, {}, 0, 0, text, text};
  std::lock_guard lock(program.mutex);
  program.messages.push_back(std::move(message));
}

}  // namespace weft
