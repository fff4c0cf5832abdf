// The functions that generated code may call, by the names its objects use. The loader defines exactly these symbols;
// objects never hold addresses, so they can be cached on disk.
#pragma once
#include <span>
#include <string_view>

namespace weft::runtime {

struct HelperSymbol {
  std::string_view name;
  void* address = nullptr;
};

/// All helpers: weft_rt_fail, weft_rt_print and weft_rt_breakpoint. Sorted by name.
std::span<const HelperSymbol> helper_symbols();

}  // namespace weft::runtime
