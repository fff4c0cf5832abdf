// Building kernels: keys, the store of the process, the cache on disk, compiling.
#include "driver/kernel_binary.h"

#include <chrono>
#include <mutex>
#include <unordered_map>

#include "analysis/check_sites.h"
#include "analysis/private_sums.h"
#include "driver/pipeline.h"
#include "driver/taping.h"
#include "ir/text.h"

namespace weft::driver {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// What is kept beside an object: enough to launch it. Written and read by hand; the cache's checksum guards it.
struct Metadata {
  std::string name, entry;
  std::int32_t lanes = 1;
  std::uint32_t tid_dims = 0;
  float ns_per_thread = 1;
  std::int32_t steps = 1;
  std::vector<runtime::CheckSite> sites;
  std::vector<runtime::SumSlot> sums;

  std::string write() const {
    std::string out;
    auto number = [&](auto value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); };
    auto text = [&](const std::string& s) {
      number(std::uint32_t(s.size()));
      out += s;
    };
    text(name);
    text(entry);
    number(lanes);
    number(tid_dims);
    number(ns_per_thread);
    number(steps);
    number(std::uint32_t(sums.size()));
    for (const runtime::SumSlot& s : sums)
      number(s.offset), number(s.gradient), number(s.scalar), number(s.element_size);
    number(std::uint32_t(sites.size()));
    for (const runtime::CheckSite& s : sites) {
      number(s.kind);
      text(s.text);
      text(s.file);
      number(s.line);
      number(s.column);
      text(s.function);
    }
    return out;
  }

  bool read(std::span<const std::byte> bytes) {
    std::size_t at = 0;
    bool ok = true;
    auto number = [&](auto& value) {
      if (bytes.size() - at < sizeof value) return void(ok = false);
      std::memcpy(&value, bytes.data() + at, sizeof value);
      at += sizeof value;
    };
    auto text = [&](std::string& s) {
      std::uint32_t size = 0;
      number(size);
      if (!ok || bytes.size() - at < size) return void(ok = false);
      s.assign(reinterpret_cast<const char*>(bytes.data()) + at, size);
      at += size;
    };
    std::uint32_t count = 0;
    text(name);
    text(entry);
    number(lanes);
    number(tid_dims);
    number(ns_per_thread);
    number(steps);
    number(count);
    for (std::uint32_t i = 0; ok && i < count; ++i) {
      runtime::SumSlot s;
      number(s.offset), number(s.gradient), number(s.scalar), number(s.element_size);
      sums.push_back(s);
    }
    number(count);
    for (std::uint32_t i = 0; ok && i < count; ++i) {
      runtime::CheckSite site;
      number(site.kind);
      text(site.text);
      text(site.file);
      number(site.line);
      number(site.column);
      text(site.function);
      sites.push_back(std::move(site));
    }
    return ok && at == bytes.size();
  }
};

const codegen::TargetSpec& host() {
  static const codegen::TargetSpec target = codegen::host_target();
  return target;
}

constexpr int kNewestArch = 90;  // that LLVM knows; newer devices run its code all the same

codegen::TargetSpec target_of(const BuildRequest& request) {
  if (!request.device) return host();
  const CompileOptions::Gpu& gpu = request.options.gpu;
  int arch = request.device->facts().arch;
  if (gpu.keep_ptx && gpu.ptx_arch) {
    if (gpu.ptx_arch > arch)
      throw codegen::Error("PTX for sm_" + std::to_string(gpu.ptx_arch) + " does not run on " +
                           request.device->facts().name + ", which is sm_" + std::to_string(arch));
    arch = gpu.ptx_arch;
  }
  return codegen::nvptx_target(std::min(arch, kNewestArch));
}

void hash_target(Hasher& hasher, const codegen::TargetSpec& target, const BuildRequest& request) {
  const cuda::Device* device = request.device;
  hasher.text(target.triple).text(target.cpu_name).text(target.features).value(int(target.arch)).value(target.sm);
  // A GPU's machine code is made by its driver for its own architecture.
  if (!device) return;
  hasher.value(device->facts().arch).value(device->system().version());
  request.options.hash_gpu_into(hasher);
}

/// Loaded code belongs to a device's context: the same code on two devices is loaded twice.
Hash128 in_place(Hash128 key, const cuda::Device* device) {
  if (device) key.lo ^= 0x9e3779b97f4a7c15ULL * std::uint64_t(device->ordinal() + 1);
  return key;
}

void hash_form(Hasher& hasher, const ir::Form& form) {
  hasher.value(form.no_overlap)
      .value(form.strided)
      .value(form.taped)
      .value(form.adjoint)
      .value(form.meet)
      .value(form.rank);
}

}  // namespace

std::unique_ptr<ir::Module> front_end(const BuildRequest& request, DiagnosticSink& sink, bool gradients) {
  sema::Options options;
  options.debug = request.options.debug;
  options.max_unroll = request.options.max_unroll;
  options.gradients = gradients || request.form.adjoint || request.form.taped || request.options.tangent;
  std::span<const Type* const> types = request.arg_types;
  if (request.options.tangent) types = types.first(types.size() / 2);  // tangents have the types of what they belong to
  auto module = sema::lower_kernel(*request.kernel, types, options, sink);
  if (!module) return nullptr;
  module->functions.back()->form = request.form;
  std::size_t errors = sink.error_count();
  derive(*module, request.options, sink);
  if (sink.error_count() != errors) return nullptr;
  if (request.options.tangent) {
    make_tangent(*module, request.options, sink);
    if (sink.error_count() != errors) return nullptr;
  }
  if (request.form.adjoint || request.form.taped) {
    differentiate(*module, request.options, sink);
    if (sink.error_count() != errors) return nullptr;
  }
  return module;
}

Hash128 content_key(const ir::Module& module, const BuildRequest& request, const codegen::TargetSpec& target) {
  ir::PrintOptions canonical;
  canonical.names = false;
  // Checks report places, and so do line tables.
  canonical.locations = request.options.debug || (request.device && request.options.gpu.line_info);
  Hasher hasher;
  hasher.text(ir::print(module, canonical)).text(build_id());
  request.options.hash_into(hasher);
  hash_form(hasher, request.form);
  hasher.value(request.atomic_sums);
  hash_target(hasher, target, request);
  return hasher.finish();
}

std::vector<runtime::CheckSite> describe_sites(const ir::Module& module) {
  std::vector<runtime::CheckSite> out;
  for (const ir::Op* op : analysis::check_sites(module).ops) {
    runtime::CheckSite site;
    if (op->code == ir::OpCode::assert_) {
      site.kind = runtime::CheckSiteKind::assertion;
    } else {
      switch (op->check) {
        case ir::CheckKind::bounds: site.kind = runtime::CheckSiteKind::bounds; break;
        case ir::CheckKind::divide_by_zero: site.kind = runtime::CheckSiteKind::divide_by_zero; break;
        case ir::CheckKind::not_finite: site.kind = runtime::CheckSiteKind::not_finite; break;
      }
    }
    site.text = std::string(op->text);
    if (op->loc.file) site.file = op->loc.file->name();
    site.line = std::int32_t(op->loc.line);
    site.column = std::int32_t(op->loc.col);
    site.function = op->parent->function->name;
    out.push_back(std::move(site));
  }
  return out;
}

namespace {

template <class Visit>
void visit_ops(const ir::Region& region, double weight, const Visit& visit) {
  for (ir::Op& op : region) {
    visit(op, weight);
    bool loop = op.code == ir::OpCode::for_ || op.code == ir::OpCode::while_;
    for (const ir::Region* nested : op.regions) visit_ops(*nested, loop ? weight * 8 : weight, visit);
  }
}

}  // namespace

std::uint32_t tid_dims_read(const ir::Module& module) {
  std::uint32_t mask = 0;
  visit_ops(*module.functions.back()->body, 1, [&](const ir::Op& op, double) {
    if (op.code == ir::OpCode::tid) mask |= 1u << op.imm;
  });
  return mask;
}

float estimate_ns(const ir::Function& kernel, int lanes) {
  double ns = 0;
  visit_ops(*kernel.body, 1, [&](const ir::Op& op, double weight) {
    double cost = 0.1 / lanes;
    switch (ir::class_of(op.code)) {
      case ir::OpClass::math: cost = 4.0 / lanes; break;
      // Lanes load and store in one go, but memory behind the caches is no faster for it.
      case ir::OpClass::memory:
        cost = op.code == ir::OpCode::atomic ? (op.imm == analysis::kAddsAlone ? 1 : 5) : std::max(0.1, 0.3 / lanes);
        break;
      case ir::OpClass::whole: cost = 1.0 / lanes; break;
      case ir::OpClass::effect: cost = op.code == ir::OpCode::tid ? 0 : 20; break;
      case ir::OpClass::control: cost = op.code == ir::OpCode::call ? 20 : 0.1 / lanes; break;
      default: break;
    }
    ns += cost * weight;
  });
  return float(std::min(ns, 1e6));
}

namespace {

/// Marks additions that need no atomic operations, and says to which arrays.
std::vector<runtime::SumSlot> private_sums(ir::Function& kernel) {
  std::vector<runtime::SumSlot> out;
  for (const analysis::PrivateSum& sum : analysis::mark_private_sums(kernel))
    out.push_back({sum.offset, sum.gradient, sum.scalar, sum.element_size});
  return out;
}

/// A kernel that was built before anybody asked for it. It leaves no trace on disk until somebody does.
struct Unclaimed {
  std::shared_ptr<const KernelBinary> binary;
  std::string object, metadata;  // for the disk; empty: they come from there
  BuildReport report;
};

}  // namespace

struct BinaryStore::Impl {
  explicit Impl(runtime::CacheOptions options) : cache(std::make_shared<runtime::Cache>(std::move(options))) {}

  std::mutex mutex;
  std::unordered_map<Hash128, std::weak_ptr<const KernelBinary>> loaded;  // by content key
  std::unordered_map<Hash128, Hash128> content_of;                        // source key → content key
  std::unordered_map<Hash128, std::shared_ptr<std::mutex>> building;      // one builder per content key
  std::unordered_map<Hash128, Unclaimed> ahead;                           // built ahead and not asked for yet
  std::shared_ptr<runtime::Cache> cache;                                  // replaced by set_cache_folder

  std::shared_ptr<const KernelBinary> find_loaded(const Hash128& key) {
    std::lock_guard lock(mutex);
    auto it = loaded.find(key);
    return it == loaded.end() ? nullptr : it->second.lock();
  }

  std::shared_ptr<const KernelBinary> publish(const Hash128& key, std::shared_ptr<const KernelBinary> binary) {
    std::lock_guard lock(mutex);
    if (loaded.size() > 64 && loaded.size() % 64 == 0)
      std::erase_if(loaded, [](auto& e) { return e.second.expired(); });
    auto& slot = loaded[key];
    if (auto existing = slot.lock()) return existing;
    slot = binary;
    return binary;
  }

  void keep_ahead(const Hash128& key, Unclaimed unclaimed) {
    std::lock_guard lock(mutex);
    ahead[key] = std::move(unclaimed);
  }

  std::optional<Unclaimed> claim(const Hash128& key) {
    std::lock_guard lock(mutex);
    auto node = ahead.extract(key);
    if (node.empty()) return std::nullopt;
    return std::move(node.mapped());
  }
};

BinaryStore::BinaryStore(runtime::CacheOptions cache) : impl_(std::make_unique<Impl>(std::move(cache))) {}
BinaryStore::~BinaryStore() = default;

std::shared_ptr<runtime::Cache> BinaryStore::cache() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->cache;
}

void BinaryStore::set_cache_folder(const std::string& folder) {
  runtime::CacheOptions options;
  options.folder = folder;
  options.build_id = build_id();
  auto fresh = std::make_shared<runtime::Cache>(std::move(options));
  std::lock_guard lock(impl_->mutex);
  impl_->cache = std::move(fresh);
}

BinaryStore& BinaryStore::shared() {
  static BinaryStore* store = [] {
    runtime::CacheOptions options;
    options.folder = runtime::default_cache_folder(WEFT_VERSION);
    options.build_id = build_id();
    return new BinaryStore(std::move(options));
  }();
  return *store;
}

std::shared_ptr<const KernelBinary> BinaryStore::get(const BuildRequest& request, DiagnosticSink& sink,
                                                     BuildReport* report) {
  BuildReport scratch;
  BuildReport& r = report ? *report : scratch;
  r = BuildReport{};
  std::shared_ptr<runtime::Cache> disk = cache();
  codegen::TargetSpec target;
  try {
    target = target_of(request);
  } catch (const codegen::Error& error) {
    sink.report(DiagCode::codegen_failed, request.kernel->def->name_loc, error.what());
    return nullptr;
  }

  auto assemble = [&](Metadata meta, std::span<const char> object) {
    Clock::time_point start = Clock::now();
    auto binary = std::make_shared<KernelBinary>();
    if (request.device)
      binary->gpu_ = std::make_unique<cuda::KernelCode>(*request.device, object, meta.entry);
    else
      binary->loaded_ = codegen::load_object(object, meta.entry);
    binary->name_ = std::move(meta.name);
    binary->sites_ = std::move(meta.sites);
    if (binary->loaded_) binary->code_.entry = binary->loaded_->entry();
    binary->code_.name = binary->name_;
    binary->code_.lanes = meta.lanes;
    binary->steps_ = meta.steps;
    binary->sums_ = std::move(meta.sums);
    binary->code_.tid_dims_read = meta.tid_dims;
    binary->code_.ns_per_thread = meta.ns_per_thread;
    binary->code_.check_sites = binary->sites_;
    r.seconds_load = since(start);
    r.lanes = meta.lanes;
    return binary;
  };
  auto from_disk = [&](const Hash128& key) -> std::shared_ptr<const KernelBinary> {
    if (!request.options.use_cache) return nullptr;
    auto hit = disk->get(runtime::CacheTable::object, key);
    Metadata meta;
    if (!hit || !meta.read(hit->metadata())) return nullptr;
    std::span<const char> object(reinterpret_cast<const char*>(hit->payload().data()), hit->payload().size());
    try {
      auto binary = assemble(std::move(meta), object);
      r.source = BuildReport::Source::disk;
      return impl_->publish(in_place(key, request.device), binary);
    } catch (const codegen::Error&) {  // whole but not loadable: rebuild
      disk->remove(runtime::CacheTable::object, key);
      return nullptr;
    } catch (const cuda::DriverError&) {
      disk->remove(runtime::CacheTable::object, key);
      return nullptr;
    }
  };

  Hash128 source_key;
  bool has_source_key = request.source_hash != Hash128{};
  auto from_process = [&](const Hash128& content) -> std::shared_ptr<const KernelBinary> {
    const Hash128 key = in_place(content, request.device);
    auto binary = impl_->find_loaded(key);
    if (!binary) return nullptr;
    r.source = BuildReport::Source::process;
    if (request.ahead) return binary;
    if (auto unclaimed = impl_->claim(key)) {
      r = unclaimed->report;
      if (request.options.use_cache && !unclaimed->object.empty())
        disk->put(runtime::CacheTable::object, content, std::as_bytes(std::span(unclaimed->object)),
                  std::as_bytes(std::span(unclaimed->metadata)));
      if (request.options.use_cache && has_source_key) disk->put_content_key(source_key, content);
    }
    return binary;
  };

  auto keep = [&](const Hash128& content, std::shared_ptr<const KernelBinary> binary, std::string object,
                  std::string metadata) {
    if (request.ahead)
      impl_->keep_ahead(in_place(content, request.device), {binary, std::move(object), std::move(metadata), r});
    return binary;
  };

  // By source: no parser, no pass.
  if (has_source_key) {
    Hasher hasher;
    hasher.value(request.source_hash).text(build_id());
    for (const Type* type : request.arg_types) hasher.text(type->text());
    request.options.hash_into(hasher);
    hash_form(hasher, request.form);
    hasher.value(request.atomic_sums);
    hash_target(hasher, target, request);
    source_key = hasher.finish();
    std::optional<Hash128> content;
    {
      std::lock_guard lock(impl_->mutex);
      if (auto it = impl_->content_of.find(source_key); it != impl_->content_of.end()) content = it->second;
    }
    if (!content && request.options.use_cache) content = disk->get_content_key(source_key);
    if (content) {
      r.source_key_hit = true;
      if (auto binary = from_process(*content)) return binary;
      if (auto binary = from_disk(*content)) return keep(*content, std::move(binary), {}, {});
      r.source_key_hit = false;
    }
  }

  // By content: the front end runs.
  Clock::time_point start = Clock::now();
  auto module = front_end(request, sink);
  r.seconds_front = since(start);
  if (!module) return nullptr;
  if (request.source_complete && !request.source_complete()) has_source_key = false;
  Hash128 key = content_key(*module, request, target);
  const Hash128 loaded_key = in_place(key, request.device);
  auto remember = [&] {
    if (!has_source_key) return;
    std::lock_guard lock(impl_->mutex);
    impl_->content_of[source_key] = key;
  };
  if (auto binary = from_process(key)) {
    remember();
    return binary;
  }

  // One thread builds a given kernel; others that want it wait for that one.
  std::shared_ptr<std::mutex> turn;
  {
    std::lock_guard lock(impl_->mutex);
    auto& slot = impl_->building[loaded_key];
    if (!slot) slot = std::make_shared<std::mutex>();
    turn = slot;
  }
  std::lock_guard building(*turn);
  struct Done {
    Impl& impl;
    Hash128 key;
    ~Done() {
      std::lock_guard lock(impl.mutex);
      impl.building.erase(key);
    }
  } done{*impl_, loaded_key};
  if (auto binary = from_process(key)) {
    remember();
    return binary;
  }
  if (auto binary = from_disk(key)) {
    remember();
    if (has_source_key) disk->put_content_key(source_key, key);
    return keep(key, std::move(binary), {}, {});
  }

  start = Clock::now();
  CompileOptions options = request.options;
  options.gpu.target = request.device != nullptr;
  optimize(*module, options);
  r.seconds_passes = since(start);
  r.ir_ops = count_ops(*module);
  Metadata meta;
  if (!request.device && !request.atomic_sums) meta.sums = private_sums(*module->functions.back());
  codegen::EmitOptions emit_options;
  emit_options.lanes = request.options.lanes;
  emit_options.opt_level = request.options.opt_level;
  emit_options.fast_math = request.options.fast_math;
  emit_options.libdevice = request.options.gpu.libdevice;
  emit_options.line_info = request.options.gpu.line_info;
  const ir::Function& kernel = *module->functions.back();
  codegen::Emitted emitted;
  try {
    emitted = codegen::emit(*module, kernel, target, emit_options,
                            request.device ? codegen::Output::ptx : codegen::Output::object);
  } catch (const codegen::Error& error) {
    SourceLoc loc = error.loc().known() ? error.loc() : kernel.loc;
    sink.report(DiagCode::codegen_failed, loc, error.what());
    return nullptr;
  }
  r.seconds_emit = emitted.seconds_emit;
  r.seconds_llvm_opt = emitted.seconds_opt;
  r.seconds_codegen = emitted.seconds_codegen;
  if (request.device && request.options.gpu.keep_ptx) {
    emitted.bytes.push_back('\0');  // the driver takes it for text
  } else if (request.device) {
    start = Clock::now();
    cuda::PtxOptions ptx;
    ptx.line_info = request.options.gpu.line_info;
    emitted.bytes = cuda::compile_ptx(*request.device, emitted.bytes, kernel.name, ptx);
    r.seconds_codegen += since(start);
  }
  meta.name = kernel.name;
  meta.entry = emitted.entry;
  meta.lanes = emitted.lanes;
  meta.steps = emitted.steps;
  meta.tid_dims = tid_dims_read(*module);
  meta.ns_per_thread = estimate_ns(kernel, emitted.lanes);
  meta.sites = describe_sites(*module);
  std::string bytes = meta.write();
  if (request.options.use_cache && !request.ahead) {
    disk->put(runtime::CacheTable::object, key, std::as_bytes(std::span(emitted.bytes)),
              std::as_bytes(std::span(bytes)));
    if (has_source_key) disk->put_content_key(source_key, key);
  }
  remember();
  auto binary = impl_->publish(loaded_key, assemble(std::move(meta), emitted.bytes));
  return keep(key, std::move(binary), std::move(emitted.bytes), std::move(bytes));
}

}  // namespace weft::driver
