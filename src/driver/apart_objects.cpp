// Keys, threads and the store of objects that kernels share.
#include "driver/apart_objects.h"

#include <unordered_set>

#include "ir/text.h"
#include "ir/walk.h"

namespace weft::driver {
namespace {

/// Its canonical text and that of all it calls; types by their full text, which names of structs alone would not tell.
void hash_function(Hasher& hasher, const ir::Function& function, std::unordered_set<const ir::Function*>& seen) {
  if (!seen.insert(&function).second) return;
  ir::PrintOptions canonical;
  canonical.names = false;
  hasher.text(ir::print(function, canonical));
  for (const ir::Value* param : function.params()) hasher.text(param->type->text());
  for (const Type* type : function.result_types) hasher.text(type->text());
  ir::walk(*function.body, [&](const ir::Op& op) {
    if (op.callee) hash_function(hasher, *op.callee, seen);
  });
}

Hash128 key_of(const ir::Function& function, const codegen::TargetSpec& target, const CompileOptions& options,
               std::string_view version) {
  Hasher hasher;
  hasher.text("apart").text(version).text(build_id());
  std::unordered_set<const ir::Function*> seen;
  hash_function(hasher, function, seen);
  options.hash_into(hasher);
  hasher.text(target.triple).text(target.cpu_name).text(target.features);
  return hasher.finish();
}

}  // namespace

ApartObjects::Needed::~Needed() {
  for (std::thread& thread : threads_) thread.join();
}

std::vector<ApartObjects::Bytes> ApartObjects::Needed::objects() const {
  std::vector<Bytes> out;
  for (const std::shared_future<Bytes>& object : coming_) out.push_back(object.get());
  return out;
}

std::optional<std::shared_future<ApartObjects::Bytes>> ApartObjects::find(const Hash128& key, runtime::Cache* disk) {
  {
    std::lock_guard lock(mutex_);
    if (const auto it = known_.find(key); it != known_.end()) return it->second;
  }
  auto hit = disk ? disk->get(runtime::CacheTable::object, key) : std::nullopt;
  if (!hit) return std::nullopt;
  const auto* bytes = reinterpret_cast<const char*>(hit->payload().data());
  std::promise<Bytes> promise;
  promise.set_value(std::make_shared<const std::string>(bytes, hit->payload().size()));
  std::lock_guard lock(mutex_);
  return known_.try_emplace(key, promise.get_future().share()).first->second;
}

ApartObjects::Needed ApartObjects::start(const ir::Module& module, const ir::Function& kernel,
                                         const codegen::TargetSpec& target, const CompileOptions& options,
                                         const codegen::EmitOptions& emit_options, int level,
                                         std::shared_ptr<runtime::Cache> disk) {
  Needed needed;
  for (const ir::Function* function : codegen::functions_to_compile_apart(kernel)) {
    Hash128 key = key_of(*function, target, options, "full");
    codegen::EmitOptions made_by = emit_options;
    std::optional<std::shared_future<Bytes>> found = find(key, disk.get());
    if (!found && level != made_by.opt_level) {
      key = key_of(*function, target, options, "first");
      made_by.opt_level = level;
      found = find(key, disk.get());
    }
    const std::string symbol = "weft_f_" + key.hex();
    needed.symbols_.emplace(function, symbol);
    std::promise<Bytes> promise;
    if (!found) {
      std::lock_guard lock(mutex_);
      auto [it, fresh] = known_.try_emplace(key);
      if (fresh)
        it->second = promise.get_future().share();
      else
        found = it->second;
      needed.coming_.push_back(it->second);
    } else {
      needed.coming_.push_back(*found);
    }
    if (found) continue;
    auto work = [this, &module, &target, made_by, disk, function, key, symbol, promise = std::move(promise)]() mutable {
      try {
        Bytes bytes =
            std::make_shared<const std::string>(codegen::emit_apart(module, *function, symbol, target, made_by).bytes);
        if (disk) disk->put(runtime::CacheTable::object, key, std::as_bytes(std::span(*bytes)));
        promise.set_value(std::move(bytes));
      } catch (...) {
        promise.set_exception(std::current_exception());
        std::lock_guard lock(mutex_);
        known_.erase(key);
      }
    };
    // At the end of the process a compile in the background stays where it is, and must not be waited for by another thread.
    if (emit_options.background)
      work();
    else
      needed.threads_.emplace_back(std::move(work));
  }
  return needed;
}

std::vector<std::uint64_t> join_objects(std::string& bytes, std::span<const ApartObjects::Bytes> others) {
  std::vector<std::uint64_t> sizes = {bytes.size()};
  for (const ApartObjects::Bytes& other : others) {
    const std::size_t gap = (64 - bytes.size() % 64) % 64;
    bytes.append(gap, '\0');
    sizes.back() += gap;
    bytes += *other;
    sizes.push_back(other->size());
  }
  return sizes;
}

std::vector<std::span<const char>> cut_objects(std::span<const char> bytes, std::span<const std::uint64_t> sizes) {
  std::vector<std::span<const char>> out;
  for (const std::uint64_t size : sizes) {
    if (size > bytes.size()) throw codegen::Error("an object is not whole");
    out.push_back(bytes.first(size));
    bytes = bytes.subspan(size);
  }
  return out;
}

}  // namespace weft::driver
