// By LLVM's door to zstd, which it is linked with; as it is where that is not so.
#include "codegen/packed_text.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Support/Compression.h>
#include <llvm/Support/Error.h>

#include <cstring>

namespace weft::codegen {
namespace {

namespace zstd = llvm::compression::zstd;

constexpr char kPlain = 0, kZstd = 1;         // the first byte
constexpr std::size_t kHead = 9;              // with the text's size behind it
constexpr std::uint64_t kMostText = 1 << 30;  // more is none of ours
constexpr int kQuick = 1;                     // 60 KB in 0.2 ms

}  // namespace

std::string packed_text(std::string_view text) {
  llvm::SmallVector<std::uint8_t, 0> small;
  if (zstd::isAvailable())
    zstd::compress({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, small, kQuick);
  const bool pays = zstd::isAvailable() && small.size() < text.size();
  const std::uint64_t size = text.size();
  std::string out(1, pays ? kZstd : kPlain);
  out.append(reinterpret_cast<const char*>(&size), sizeof size);
  if (pays)
    out.append(reinterpret_cast<const char*>(small.data()), small.size());
  else
    out.append(text);
  return out;
}

std::optional<std::string> unpacked_text(std::string_view packed) {
  if (packed.size() < kHead) return std::nullopt;
  std::uint64_t size = 0;
  std::memcpy(&size, packed.data() + 1, sizeof size);
  const std::string_view body = packed.substr(kHead);
  if (packed[0] == kPlain) return body.size() == size ? std::optional(std::string(body)) : std::nullopt;
  if (packed[0] != kZstd || size > kMostText || !zstd::isAvailable()) return std::nullopt;
  std::string out(std::size_t(size), '\0');
  std::size_t got = out.size();
  llvm::Error error = zstd::decompress({reinterpret_cast<const std::uint8_t*>(body.data()), body.size()},
                                       reinterpret_cast<std::uint8_t*>(out.data()), got);
  const bool failed = bool(error);
  llvm::consumeError(std::move(error));
  if (failed || got != size) return std::nullopt;
  return out;
}

}  // namespace weft::codegen
