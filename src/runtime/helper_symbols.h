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

/// All helpers: those of runtime/kernel_abi.h, and for blocks of several threads those of runtime/block_threads.h. Sorted by name.
std::span<const HelperSymbol> helper_symbols();

}  // namespace weft::runtime
