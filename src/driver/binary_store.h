// What a BinaryStore holds: code of this process by its keys, who builds what, the cache on disk.
#pragma once
#include <mutex>
#include <unordered_map>

#include "driver/apart_objects.h"
#include "driver/full_versions.h"
#include "driver/kernel_binary.h"
#include "runtime/cache_bundles.h"

namespace weft::driver {

/// A kernel that was built before anybody asked for it. It leaves no trace on disk until somebody does.
struct Unclaimed {
  std::shared_ptr<const KernelBinary> binary;
  std::string object, metadata;  // for the disk; empty: they come from there
  BuildReport report;
};

struct BinaryStore::Impl : std::enable_shared_from_this<Impl> {
  explicit Impl(runtime::CacheOptions options) { use(std::move(options)); }

  void use(runtime::CacheOptions options) {
    bundles = std::make_shared<runtime::CacheBundles>(options.folder, options.build_id);
    cache = std::make_shared<runtime::Cache>(std::move(options));
  }

  std::mutex mutex;
  std::unordered_map<Hash128, std::weak_ptr<const KernelBinary>> loaded;  // by content key
  std::unordered_map<Hash128, Hash128> content_of;                        // source key → content key
  std::unordered_map<Hash128, std::shared_ptr<std::mutex>> building;      // one builder per content key
  std::unordered_map<Hash128, Unclaimed> ahead;                           // built ahead and not asked for yet
  std::shared_ptr<runtime::Cache> cache;                                  // replaced by set_cache_folder
  std::shared_ptr<runtime::CacheBundles> bundles;                         // of the same folder
  ApartObjects apart;

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
    if (unclaimed.binary->full()) unclaimed.binary->full()->set_unclaimed(true);
    std::lock_guard lock(mutex);
    ahead[key] = std::move(unclaimed);
  }

  std::optional<Hash128> content_for(const Hash128& source) {
    std::lock_guard lock(mutex);
    auto it = content_of.find(source);
    return it == content_of.end() ? std::nullopt : std::optional(it->second);
  }

  void note_content(const Hash128& source, const Hash128& content) {
    std::lock_guard lock(mutex);
    content_of[source] = content;
  }

  /// The right to build a kernel, waited for.
  class Turn {
   public:
    Turn(Impl& store, const Hash128& key) : store_(store), key_(key) {
      {
        std::lock_guard lock(store.mutex);
        auto& slot = store.building[key];
        if (!slot) slot = std::make_shared<std::mutex>();
        turn_ = slot;
      }
      turn_->lock();
    }
    ~Turn() {
      {
        std::lock_guard lock(store_.mutex);
        store_.building.erase(key_);
      }
      turn_->unlock();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Impl& store_;
    Hash128 key_;
    std::shared_ptr<std::mutex> turn_;
  };

  std::optional<Unclaimed> claim(const Hash128& key) {
    std::lock_guard lock(mutex);
    auto node = ahead.extract(key);
    if (node.empty()) return std::nullopt;
    if (const auto& full = node.mapped().binary->full()) full->set_unclaimed(false);
    return std::move(node.mapped());
  }
};

}  // namespace weft::driver
