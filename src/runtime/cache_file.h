// Files of the cache folder: read whole, written under a temporary name and renamed, so that readers see whole ones.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>

namespace weft::runtime {

/// The bytes of a file, at a multiple of 64.
struct FileBytes {
  std::shared_ptr<std::byte> memory;
  std::size_t size = 0;
  std::span<const std::byte> span() const { return {memory.get(), size}; }
};

enum class ReadResult : std::uint8_t { whole, missing, unfit };

/// Reads a file; unfit: it is no plain file, larger than `most`, or can't be read. `modified`: when it was written, in
/// seconds. May throw std::bad_alloc.
ReadResult read_cache_file(const std::string& path, std::uint64_t most, FileBytes& out,
                           std::int64_t* modified = nullptr);
/// Writes a file of the folder, which is made if need be; 0, or the error number. `created` tells whether it was the making of
/// the file that failed. May throw std::bad_alloc.
int write_cache_file(const std::string& folder, const std::string& path,
                     std::initializer_list<std::span<const std::byte>> parts, bool* created = nullptr);

}  // namespace weft::runtime
