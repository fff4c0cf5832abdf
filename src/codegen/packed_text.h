// Text that is kept and rarely read, in little room: IR of first versions, which lies beside their code in the cache and in memory
// until a full version is made of it. Every load of such an entry reads and checks all of its bytes.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace weft::codegen {

/// Smaller for text, and never much larger.
std::string packed_text(std::string_view text);
/// The text, or nothing if these bytes were not made by packed_text.
std::optional<std::string> unpacked_text(std::string_view packed);

}  // namespace weft::codegen
