// The store of kernels: the code of this process, the cache on disk, and the compiler behind them.
#include "driver/kernel_binary.h"

#include <chrono>
#include <mutex>
#include <utility>

#include "codegen/background.h"
#include "codegen/cpu/lane_choice.h"
#include "codegen/emission.h"
#include "codegen/packed_text.h"
#include "driver/apart_objects.h"
#include "driver/binary_store.h"
#include "driver/block_room.h"
#include "driver/build_log.h"
#include "driver/first_version.h"
#include "driver/full_versions.h"
#include "driver/kernel_keys.h"
#include "driver/kernel_metadata.h"
#include "driver/late_code.h"
#include "driver/pipeline.h"
#include "driver/ready_kernels.h"
#include "driver/sum_slots.h"
#include "driver/verify_tiles.h"
#include "ir/text.h"
#include "ir/tile_memory.h"

namespace weft::driver {
namespace {

codegen::ThreadOrder thread_order(const LaunchForm& form) {
  if (!form.in_order) return codegen::ThreadOrder::any;
  return form.adjoint ? codegen::ThreadOrder::falling : codegen::ThreadOrder::rising;
}

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

codegen::EmitOptions emit_options_of(const BuildRequest& request) {
  const CompileOptions& options = request.options;
  codegen::EmitOptions out;
  out.lanes = options.lanes;
  out.opt_level = options.opt_level;
  out.fast_math = options.fast_math;
  out.libdevice = options.gpu.libdevice;
  out.line_info = options.gpu.line_info;
  out.order = thread_order(request.form);
  out.exact_sums = request.form.exact_sums;
  out.bounds = options.gpu.bounds;
  return out;
}

/// What the cache has instead of a content key for kernels that need to know their blocks.
constexpr Hash128 kNeedsBlock{0x626c6f636b656421ULL, 0x6e656564736f6e65ULL};

}  // namespace

std::string emit_ptx(ir::Module& module, const BuildRequest& request, const codegen::TargetSpec& target,
                     KernelMetadata& meta) {
  CompileOptions options = request.options;
  set_target(options, target);
  optimize(module, options);
  codegen::Emitted emitted =
      codegen::emit(module, *module.functions.back(), target, emit_options_of(request), codegen::Output::ptx);
  describe_code(module, emitted, meta);
  meta.memory = touched_memory(module);
  return std::move(emitted.bytes);
}

BinaryStore::BinaryStore(runtime::CacheOptions cache) : impl_(std::make_shared<Impl>(std::move(cache))) {}
BinaryStore::~BinaryStore() = default;

std::shared_ptr<runtime::Cache> BinaryStore::cache() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->cache;
}

void BinaryStore::set_cache_folder(const std::string& folder) {
  runtime::CacheOptions options;
  options.folder = folder;
  options.build_id = build_id();
  std::shared_ptr<runtime::CacheBundles> before;
  {
    std::lock_guard lock(impl_->mutex);
    before = impl_->bundles;
    impl_->use(std::move(options));
  }
  before->flush();
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

/// One request on its way: each place is asked in turn, and what is found or built is left where the next one finds it.
class BinaryStore::Search {
 public:
  using Found = std::shared_ptr<const KernelBinary>;

  Search(Impl& store, const BuildRequest& request, codegen::TargetSpec target, DiagnosticSink& sink,
         BuildReport& report)
      : store_(store), request_(request), target_(std::move(target)), sink_(sink), report_(report) {
    {
      std::lock_guard lock(store.mutex);
      disk_ = store.cache;
      bundles_ = store.bundles;
    }
    if (request.known) {
      source_key_ = request.known->source;
      group_ = request.known->group;
    }
    if (request.source_hash == Hash128{}) return;
    source_key_ = source_key(request, target_);
    if (request.kernel) group_ = hash_bytes(file_of(request).data(), file_of(request).size());
  }

  Found run() {
    if (Found found = look_up()) return found;
    const std::unique_ptr<ir::Module> module = lower();
    const struct Done {  // threads that compile functions apart read the module
      Search& search;
      ~Done() { search.needed_.reset(); }
    } done{*this};
    return module ? by_content(*module, key_) : nullptr;
  }

  /// The same for a launch that need not wait: throws LateCode for what is left to LLVM and the assembler.
  static Found run_late(const std::shared_ptr<Impl>& store, const BuildRequest& asked, DiagnosticSink& sink,
                        BuildReport& report) {
    auto own = std::make_shared<Own>(store, asked);
    own->search = std::make_unique<Search>(*store, own->request, target_of(asked), own->sink, own->report);
    Found found;
    std::unique_ptr<ir::Module> module;
    try {
      module = own->search->begin(found);
    } catch (...) {
      sink = own->sink;
      throw;
    }
    sink = own->sink;
    report = own->report;
    if (!module) return found;
    own->module = std::move(module);
    own->request.source_complete = nullptr;  // it was asked, and who answers is gone by then
    throw LateCode(FullVersion::create_wanted([own](BuildReport& made, std::string& problem) {
      const std::size_t told = own->sink.all().size();
      Found code;
      try {
        code = BuildLog::noted(own->request, own->search->by_content(*own->module, own->search->key_), own->report);
        if (!code && own->sink.all().size() > told) problem = render(own->sink.all()[told]);
      } catch (const std::exception& error) {
        problem = error.what();
      }
      made = own->report;
      return code;
    }));
  }

 private:
  /// A build that goes on in another thread, and all that it needs.
  struct Own {
    Own(std::shared_ptr<Impl> kept, const BuildRequest& asked) : store(std::move(kept)), request(asked) {}
    const std::shared_ptr<Impl> store;
    BuildRequest request;
    DiagnosticSink sink;
    BuildReport report;
    std::unique_ptr<ir::Module> module;
    std::unique_ptr<Search> search;  // goes first
  };

  /// All that can be wrong with a program is found, LLVM and the assembler are left. Null: what was found or built is in `found`,
  /// or errors are in the sink.
  std::unique_ptr<ir::Module> begin(Found& found) {
    if ((found = look_up())) return nullptr;
    std::unique_ptr<ir::Module> module = lower();
    if (!module || (found = at_hand(key_))) return nullptr;
    if (request_.options.gpu.keep_ptx || request_.form.in_order || uses_addresses(*module)) {
      found = by_content(*module, key_);
      return nullptr;
    }
    if (!begin_compile(*module)) return nullptr;
    // Whether a device has so much is known when the code is loaded, and the launch is to say it.
    if (emission_->begun().block_bytes <= codegen::kPlainBlockBytes) return module;
    found = by_content(*module, key_);
    return nullptr;
  }

  bool caches() const { return request_.options.use_cache; }

  Found look_up() {
    if (!request_.known)
      if (Found found = by_source()) return found;
    return from_library();
  }

  /// The front end; null with errors in the sink.
  std::unique_ptr<ir::Module> lower() {
    Clock::time_point start = Clock::now();
    auto module = request_.make_module ? request_.make_module() : front_end(request_, sink_);
    report_.seconds_front = since(start);
    if (!module) return nullptr;
    if (request_.device && !request_.options.gpu.block && has_tiles(request_, *module)) {
      if (source_key_ && caches() && (!request_.source_complete || request_.source_complete()))
        disk_->put_content_key(*source_key_, kNeedsBlock);
      throw NeedsBlock{};
    }
    if (request_.options.verify_tiles && !verify_tiles(request_, *module, sink_)) return nullptr;
    if (request_.source_complete && !request_.source_complete()) source_key_.reset();
    key_ = content_key(*module, request_, target_);
    if (request_.known && key_ != request_.known->content) return nullptr;  // it would be another kernel
    return module;
  }

  /// No parser, no pass.
  Found by_source() {
    if (!source_key_) return nullptr;
    std::optional<Hash128> content = store_.content_for(*source_key_);
    if (!content && caches())
      if (Found found = from_bundle()) return found;
    if (!content && caches()) content = disk_->get_content_key(*source_key_);
    if (!content) return nullptr;
    if (*content == kNeedsBlock) throw NeedsBlock{};
    report_.source_key_hit = true;
    if (Found found = from_process(*content); suits(found)) return found;
    if (Found found = from_disk(*content); suits(found)) return keep(*content, std::move(found), {}, {});
    report_.source_key_hit = false;
    return nullptr;
  }

  /// Everything that the program's file led to lies in one file of the cache.
  Found from_bundle() {
    if (!group_) return nullptr;
    const std::optional<runtime::BundleHit> hit = bundles_->get(*group_, *source_key_);
    if (!hit) return nullptr;
    report_.source_key_hit = true;
    if (Found found = from_process(hit->content); suits(found)) return found;
    Found found = load(hit->content, hit->payload, hit->metadata);
    if (suits(found)) return keep(hit->content, remember(hit->content, std::move(found)), {}, {});
    if (!found) bundles_->drop(*group_, *source_key_);
    report_.source_key_hit = false;
    return nullptr;
  }

  /// Whether it is what was asked for.
  bool suits(const Found& found) const { return found && (!found->full() || request_.effort == Effort::first); }

  /// Kernels of the library's own, whose PTX it was built with. Nothing but their source tells what they are, so the source
  /// key is the content's as well.
  Found from_library() {
    const ReadyKernel* ready = request_.device && source_key_ ? find_ready_kernel(request_) : nullptr;
    if (!ready) return nullptr;
    const Hash128 key = *source_key_;
    Impl::Turn turn(store_, in_place(key, request_.device));
    if (Found found = from_process(key)) return remember(key, std::move(found));
    KernelMetadata meta;
    if (!meta.read(std::as_bytes(std::span(ready->metadata)))) return nullptr;
    const Clock::time_point start = Clock::now();
    std::string object = cuda::compile_ptx(*request_.device, std::string(ready->ptx), meta.name, {});
    note_assembler(start);
    std::string metadata(ready->metadata);
    if (!request_.ahead) to_disk(key, object, metadata);
    Found binary = store_.publish(in_place(key, request_.device), assemble(std::move(meta), object));
    return keep(key, remember(key, std::move(binary)), std::move(object), std::move(metadata));
  }

  static std::string_view file_of(const BuildRequest& request) { return request.kernel->tree->source->name(); }

  Found by_content(ir::Module& module, const Hash128& key) {
    if (Found found = in_process(key)) return found;
    // One thread builds a given kernel; others that want it wait for that one.
    Impl::Turn turn(store_, in_place(key, request_.device));
    if (Found found = at_hand(key)) return found;
    KernelMetadata meta;
    std::optional<std::string> object = compile(module, meta, key);
    if (!object) return nullptr;
    const Hash128 made = meta.full_ir.empty() ? key : first_version_key(key);
    std::string metadata = meta.write();
    if (!request_.ahead) to_disk(made, *object, metadata);
    Found binary = store_.publish(in_place(made, request_.device), assemble(std::move(meta), *object));
    return keep(made, remember(made, std::move(binary)), std::move(*object), std::move(metadata));
  }

  /// In the process or on disk.
  Found at_hand(const Hash128& key) {
    if (Found found = in_process(key)) return found;
    for (const Hash128& one : keys_of(key))
      if (Found found = from_disk(one)) {
        if (source_key_) disk_->put_content_key(*source_key_, one);
        return keep(one, remember(one, std::move(found)), {}, {});
      }
    return nullptr;
  }

  /// Under which keys there may be code that suits.
  std::vector<Hash128> keys_of(const Hash128& content) const {
    if (request_.effort == Effort::full) return {content};
    return {content, first_version_key(content)};
  }

  Found in_process(const Hash128& content) {
    for (const Hash128& one : keys_of(content))
      if (Found found = from_process(one)) return remember(one, std::move(found));
    return nullptr;
  }

  Found from_process(const Hash128& content) {
    const Hash128 key = in_place(content, request_.device);
    Found binary = store_.find_loaded(key);
    if (!binary) return nullptr;
    report_.source = BuildReport::Source::process;
    if (request_.ahead) return binary;
    if (auto unclaimed = store_.claim(key)) {
      report_ = unclaimed->report;
      to_disk(content, unclaimed->object, unclaimed->metadata);
    }
    return binary;
  }

  Found from_disk(const Hash128& key) {
    if (!caches()) return nullptr;
    const auto hit = disk_->get(runtime::CacheTable::object, key);
    if (!hit) return nullptr;
    Found found = load(key, hit->payload(), hit->metadata());
    if (!found)
      disk_->remove(runtime::CacheTable::object, key);
    else if (!request_.ahead)
      to_bundle(key, hit->payload(), hit->metadata());
    return found;
  }

  /// Links what the cache holds; null if it is whole, but not to be used.
  Found load(const Hash128& key, std::span<const std::byte> payload, std::span<const std::byte> metadata) {
    KernelMetadata meta;
    if (!meta.read(metadata)) return nullptr;
    std::span<const char> object(reinterpret_cast<const char*>(payload.data()), payload.size());
    try {
      auto binary = assemble(std::move(meta), object);
      report_.source = BuildReport::Source::disk;
      return store_.publish(in_place(key, request_.device), binary);
    } catch (const codegen::Error&) {  // what can't be loaded is made again
    } catch (const cuda::DriverError&) {
    }
    return nullptr;
  }

  void to_bundle(const Hash128& key, std::span<const std::byte> payload, std::span<const std::byte> metadata) {
    if (group_ && source_key_ && caches()) bundles_->add(*group_, *source_key_, key, payload, metadata);
  }

  void to_disk(const Hash128& key, const std::string& object, const std::string& metadata) {
    if (!caches()) return;
    if (!object.empty()) {
      const auto payload = std::as_bytes(std::span(object)), rest = std::as_bytes(std::span(metadata));
      disk_->put(runtime::CacheTable::object, key, payload, rest);
      to_bundle(key, payload, rest);
    }
    if (source_key_) disk_->put_content_key(*source_key_, key);
  }

  Found remember(const Hash128& key, Found binary) {
    if (source_key_) store_.note_content(*source_key_, key);
    return binary;
  }

  Found keep(const Hash128& content, Found binary, std::string object, std::string metadata) {
    if (request_.ahead)
      store_.keep_ahead(in_place(content, request_.device), {binary, std::move(object), std::move(metadata), report_});
    return binary;
  }

  /// Passes and emission; false with errors in the sink.
  bool begin_compile(ir::Module& module) {
    const Clock::time_point start = Clock::now();
    CompileOptions options = request_.options;
    set_target(options, target_);
    if (request_.form.in_order && module.functions.back()->form.block) {
      sink_.report(
          DiagCode::codegen_failed, module.functions.back()->loc,
          "the threads of this kernel would have to run one after another for what is asked of it, and a block "
          "of threads works on its tiles together",
          "launch it on the CPU in blocks of one thread, or without deterministic=True");
      return false;
    }
    if (may_begin(module)) first_text_ = ir::print(module);
    try {
      optimize(module, options);
    } catch (const codegen::Error& error) {
      sink_.report(DiagCode::codegen_failed, error.loc(), error.what());
      return false;
    }
    const ir::Function& made = *module.functions.back();
    const bool fits = request_.device ? fits_shared_memory(made, *request_.device, request_.form.adjoint, sink_)
                                      : fits_private_memory(made, request_.form.adjoint, sink_);
    if (!fits) return false;
    report_.seconds_passes = since(start);
    report_.ir_ops = count_ops(module);
    if (!request_.device && !request_.form.atomic_sums) {
      ir::Function& adds = *module.functions.back();
      sums_ = private_sums(adds);
      streams_ = sum_streams(adds, request_.form.bucket_sums);
    }
    if (request_.form.exact_sums) sums_ = exact_sums(*module.functions.back());
    codegen::EmitOptions emit_options = emit_options_of(request_);
    emit_options.background = request_.background;
    const ir::Function& kernel = *module.functions.back();
    if (!first_text_.empty() && !first_version_pays(module, target_, options.lanes)) first_text_.clear();
    const codegen::EmitOptions for_apart = emit_options;
    if (!first_text_.empty()) slower_ = use_first_version(module, target_, emit_options);
    try {
      if (!request_.device) {
        needed_.emplace(store_.apart.start(module, kernel, target_, options, for_apart, emit_options.opt_level,
                                           caches() && !request_.ahead ? disk_ : nullptr));
        emit_options.apart = &needed_->symbols();
      }
      emission_ = std::make_unique<codegen::Emission>(module, kernel, target_, emit_options,
                                                      request_.device ? codegen::Output::ptx : codegen::Output::object);
    } catch (const codegen::Error& error) {
      tell(error, kernel);
      return false;
    }
    return true;
  }

  /// Machine code and what a launch must know of it; none with errors in the sink.
  std::optional<std::string> compile(ir::Module& module, KernelMetadata& meta, const Hash128& key) {
    if (!emission_ && !begin_compile(module)) return std::nullopt;
    const ir::Function& kernel = *module.functions.back();
    codegen::Emitted emitted;
    std::vector<ApartObjects::Bytes> apart;
    try {
      emitted = emission_->finish();
      emission_.reset();
      const Clock::time_point start = Clock::now();
      if (needed_) apart = needed_->objects();
      emitted.seconds_codegen += since(start);
    } catch (const codegen::Error& error) {
      tell(error, kernel);
      return std::nullopt;
    }
    report_.seconds_emit = emitted.seconds_emit;
    report_.seconds_llvm_opt = emitted.seconds_opt;
    report_.seconds_codegen = emitted.seconds_codegen;
    if (request_.device && request_.options.gpu.keep_ptx) {
      emitted.bytes.push_back('\0');  // the driver takes it for text
    } else if (request_.device) {
      const Clock::time_point start = Clock::now();
      cuda::PtxOptions ptx;
      ptx.line_info = request_.options.gpu.line_info;
      emitted.bytes = cuda::compile_ptx(*request_.device, emitted.bytes, kernel.name, ptx);
      note_assembler(start);
    }
    meta.sums = std::move(sums_);
    meta.streams = std::move(streams_);
    meta.by_buckets = request_.form.bucket_sums && !meta.streams.empty();
    if (!request_.device) meta.objects = join_objects(emitted.bytes, apart);
    describe_code(module, emitted, meta);
    if (request_.device && meta.sums.empty()) meta.memory = touched_memory(module);
    meta.ns_per_thread *= slower_;
    if (!first_text_.empty()) {
      meta.full_ir = codegen::packed_text(first_text_);
      first_text_.clear();
      meta.full_key = key;
    }
    return std::move(emitted.bytes);
  }

  void note_assembler(Clock::time_point start) {
    const double took = since(start);
    report_.seconds_codegen += took;
    report_.seconds_assembler += took;
    add_assembler_seconds(took);
  }

  void tell(const codegen::Error& error, const ir::Function& kernel) {
    const SourceLoc loc = error.loc().known() ? error.loc() : kernel.loc;
    sink_.report(DiagCode::codegen_failed, loc, error.what());
  }

  std::shared_ptr<KernelBinary> assemble(KernelMetadata meta, std::span<const char> object) {
    Clock::time_point start = Clock::now();
    auto binary = std::make_shared<KernelBinary>();
    if (request_.device)
      binary->gpu_ = std::make_unique<cuda::KernelCode>(
          *request_.device, object, meta.entry,
          cuda::CodeTraits{meta.block_bytes > codegen::kPlainBlockBytes ? meta.block_bytes : 0, meta.waits_first != 0});
    else
      binary->loaded_ = codegen::load_objects(cut_objects(object, meta.objects), meta.entry);
    binary->name_ = std::move(meta.name);
    binary->sites_ = std::move(meta.sites);
    if (binary->loaded_) binary->code_.entry = binary->loaded_->entry();
    binary->code_.name = binary->name_;
    binary->code_.lanes = meta.lanes;
    binary->steps_ = meta.steps;
    binary->block_ = binary->code_.block = meta.block;
    binary->sum_order_ = analysis::SumOrder(meta.sum_order);
    binary->sums_ = std::move(meta.sums);
    binary->streams_ = std::move(meta.streams);
    binary->by_buckets_ = meta.by_buckets != 0;
    binary->handles_ = std::move(meta.handles);
    binary->uses_addresses_ = meta.addresses != 0;
    binary->memory_ = std::move(meta.memory);
    binary->code_.tid_dims_read = meta.tid_dims;
    binary->code_.ns_per_thread = meta.ns_per_thread;
    binary->code_.seen_ns = &binary->seen_ns_;
    binary->code_.opaque = meta.opaque != 0;
    binary->code_.loops = meta.loops != 0;
    binary->code_.check_sites = binary->sites_;
    report_.first = !meta.full_ir.empty();
    if (report_.first) {
      const double cost = double(meta.full_ir.size()) + 1000;  // the time in LLVM goes by the text, roughly
      binary->full_ = FullVersion::create(maker(std::move(meta.full_ir), meta.full_key), cost);
    }
    report_.seconds_load = since(start);
    report_.lanes = meta.lanes;
    return binary;
  }

  /// Whether a first version is worth thinking of. Small kernels are not: they take no time that anyone sees.
  bool may_begin(const ir::Module& module) const {
    return request_.effort == Effort::first && !request_.device && may_have_first_version(module, request_.options);
  }

  /// Makes the full version of what was asked for. It needs nothing of whoever asked.
  FullVersion::Maker maker(std::string text, const Hash128& key) const {
    BuildRequest request;
    request.name = request_.name;
    request.place = BuildLog::place_of(request_);
    request.form = request_.form;
    request.options = request_.options;
    request.known = KnownKeys{key, source_key_, group_};
    return [store = store_.shared_from_this(), request, name = std::string("first version"), text = std::move(text)](
               BuildReport& report, std::string&) mutable -> Found {
      DiagnosticSink unheard;
      request.background = codegen::compiles_in_background();  // not where somebody waits for it
      request.make_module = [&] {
        std::optional<std::string> ir = codegen::unpacked_text(std::exchange(text, {}));
        if (!ir) return std::unique_ptr<ir::Module>();
        return ir::parse_module(std::make_shared<SourceFile>(name, std::move(*ir)), unheard);
      };
      return BuildLog::noted(request, Search(*store, request, target_of(request), unheard, report).run(), report);
    };
  }

  Impl& store_;
  std::shared_ptr<runtime::Cache> disk_;
  std::shared_ptr<runtime::CacheBundles> bundles_;
  const BuildRequest& request_;
  codegen::TargetSpec target_;
  DiagnosticSink& sink_;
  BuildReport& report_;
  std::optional<Hash128> source_key_;
  std::optional<Hash128> group_;  // of kernels of one file
  Hash128 key_;                   // of the content, once there is IR
  // Of a compile that was begun:
  std::string first_text_;  // the IR, for the full version of a first one
  float slower_ = 1;        // than a full version
  std::vector<runtime::SumSlot> sums_;
  std::vector<runtime::SumStream> streams_;
  std::optional<ApartObjects::Needed> needed_;  // CPU
  std::unique_ptr<codegen::Emission> emission_;
};

std::shared_ptr<const KernelBinary> BinaryStore::get(const BuildRequest& request, DiagnosticSink& sink,
                                                     BuildReport* report) {
  BuildReport scratch;
  BuildReport& r = report ? *report : scratch;
  r = BuildReport{};
  try {
    if (MayBeLate::asked(request)) return BuildLog::noted(request, Search::run_late(impl_, request, sink, r), r);
    return BuildLog::noted(request, Search(*impl_, request, target_of(request), sink, r).run(), r);
  } catch (const codegen::Error& error) {  // PTX that its device would not run, code that does not load
    sink.report(DiagCode::codegen_failed, request.kernel ? request.kernel->def->name_loc : SourceLoc{}, error.what());
    return nullptr;
  }
}

}  // namespace weft::driver
