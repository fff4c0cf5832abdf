// Programs and kernels of the public API: variants are built on first use and shared by all threads.
#include <fstream>
#include <sstream>

#include "driver/default_argument.h"
#include "driver/pack_plain.h"
#include "driver/pipeline.h"
#include "driver/program_impl.h"
#include "interp/interpreter.h"
#include "runtime/scheduler.h"
#include "syntax/parser.h"

namespace weft {
namespace driver {

std::vector<Message> to_messages(const DiagnosticSink& sink) {
  std::vector<Message> out;
  for (const Diagnostic& d : sink.all()) {
    Message m;
    switch (d.severity()) {
      case Severity::error: m.kind = Message::Kind::error; break;
      case Severity::warning: m.kind = Message::Kind::warning; break;
      case Severity::note: m.kind = Message::Kind::note; break;
    }
    m.code = std::string(name_of(d.code));
    m.file = d.loc.file ? d.loc.file->name() : "";
    m.line = d.loc.line;
    m.column = d.loc.col;
    m.text = d.text;
    m.rendered = render(d);
    out.push_back(std::move(m));
  }
  return out;
}

void throw_on_errors(const DiagnosticSink& sink) {
  if (!sink.has_errors()) return;
  std::string text;
  for (const Diagnostic& d : sink.all())
    if (d.severity() == Severity::error) text += render(d);
  throw CompileError(text, to_messages(sink));
}

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
    const Hash128 source = Hasher().value(impl->source_hash).text(decl->key).finish();
    impl->kernels.push_back(std::make_shared<Kernel::Impl>(*impl, decl, source));
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

void Program::build() const {
  std::vector<Kernel::Impl*> plain;
  for (const auto& kernel : impl_->kernels) {
    bool generic = false;
    for (const sema::KernelParam& p : kernel->known_params()) generic = generic || p.pattern.is_generic();
    if (!generic) plain.push_back(kernel.get());
  }
  runtime::parallel_for(std::int64_t(plain.size()), [&](std::int64_t i) {
    Kernel::Impl& kernel = *plain[std::size_t(i)];
    kernel.build(kernel.signature_for({}), 1, {}, nullptr);
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

Kernel::Impl::Impl(Program::Impl& owner, std::shared_ptr<const sema::FunctionDecl> decl, Hash128 source_hash)
    : driver::Kernel(std::move(decl), driver::to_compile_options(owner.options), source_hash, owner.options.interpret),
      program(owner) {}

const std::vector<sema::KernelParam>& Kernel::Impl::known_params() {
  DiagnosticSink sink;
  const auto* known = driver::Kernel::params(sink);
  driver::throw_on_errors(sink);
  program.add_messages(sink);
  return *known;
}

const driver::KernelVariant& Kernel::Impl::build(driver::KernelSignature& signature, std::size_t rank,
                                                 driver::ArrayFacts arrays, cuda::Device* device) {
  DiagnosticSink sink;
  const driver::KernelVariant* made = variant(signature, int(rank), arrays, sink, device);
  driver::throw_on_errors(sink);
  program.add_messages(sink);
  return *made;
}

runtime::LaunchOptions Kernel::Impl::cpu_options() const {
  runtime::LaunchOptions options;
  options.serial = program.options.serial;
  return options;
}

void Kernel::Impl::warn(const std::string& text) {
  Message message{Message::Kind::warning, {}, {}, 0, 0, text, text};
  std::lock_guard lock(program.mutex);
  program.messages.push_back(std::move(message));
}

namespace {

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

namespace {

constexpr std::uint32_t kSmallBlock = 1024;  // parameter blocks up to this size live on the stack

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

}  // namespace

void Kernel::launch_with(const Dims& dims, std::span<const Argument> args) const {
  Impl& kernel = *impl_;
  const driver::LaunchRequest request{dims, kernel.cpu_options()};
  try {
    // The usual launch: no generic parameter, every argument plainly right, the form compiled already.
    if (driver::KernelSignature* plain = kernel.plain_signature();
        plain && plain->layout.size <= kSmallBlock && dims.size() - 1 < kMaxRank) {
      alignas(8) char block[kSmallBlock];
      if (driver::pack_plain(plain->layout, args, block)) {
        if (const driver::KernelVariant* ready = plain->ready(dims.size(), driver::array_facts(plain->layout, block)))
          return kernel.run(*ready, block, request);
      }
    }
    driver::KernelSignature& signature = kernel.signature_for(args);
    const auto& params = kernel.known_params();
    runtime::ParamBlock block(kernel.name(), signature.layout);
    for (std::size_t i = 0; i < args.size(); ++i) set_argument(block, i, args[i]);
    for (std::size_t i = args.size(); i < params.size(); ++i)
      if (params[i].has_default) {
        const Type* type = signature.types[i];
        std::vector<std::uint64_t> bytes(type->size() / 8 + 1);
        driver::write_default(kernel.name(), params[i], type, bytes.data());
        block.set(i, type, bytes.data());
      }
    block.check_complete();
    runtime::KernelCode any;  // dimensions are checked before anything is compiled for them
    any.name = kernel.name();
    any.tid_dims_read = 0;
    runtime::launch_size(any, dims);
    const char* bytes = static_cast<const char*>(block.data());
    kernel.run(kernel.form_for(signature, dims, bytes, driver::array_facts(signature.layout, bytes)), bytes, request);
  } catch (const runtime::KernelError& e) {
    const auto& d = e.details();
    throw KernelError(e.what(), d.file, d.line, {d.thread.begin(), d.thread.begin() + d.rank});
  } catch (const runtime::ArgumentError& e) {
    throw ArgumentError(e.what());
  } catch (const runtime::LaunchError& e) {
    throw LaunchError(e.what());
  } catch (const runtime::Error& e) {
    throw Error(e.what());
  } catch (const interp::Error& e) {
    throw KernelError(e.what(), e.loc().file ? e.loc().file->name() : "", int(e.loc().line), {});
  } catch (const codegen::Error& e) {
    throw Error(e.what());
  }
}

}  // namespace weft
