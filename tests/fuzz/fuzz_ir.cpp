// Any bytes as IR text: reading must end with a module or with errors. What is read must print, read back and print the
// same again, in both forms, and copies must equal it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "ir/clone.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

std::unique_ptr<weft::ir::Module> parse(std::string text, weft::DiagnosticSink& sink) {
  return weft::ir::parse_module(std::make_shared<weft::SourceFile>("fuzz.ir", std::move(text)), sink);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::ir;
  weft::DiagnosticSink sink;
  auto module = parse(std::string(reinterpret_cast<const char*>(data), size), sink);
  require((module != nullptr) != sink.has_errors());
  if (!module) {
    require(!sink.render_all().empty());
    return 0;
  }
  require(verify(*module).empty());
  std::string text = print(*module);
  auto again = parse(text, sink);
  require(again && print(*again) == text);
  PrintOptions canonical{.locations = false, .names = false};
  std::string key = print(*module, canonical);
  require(print(*again, canonical) == key);
  auto reread = parse(key, sink);
  require(reread && print(*reread, canonical) == key);
  auto copy = clone(*module);
  require(print(*copy) == text && verify(*copy).empty());
  for (const auto& function : module->functions) {
    auto closure = extract_closure(*function, module.get());
    require(verify(*closure).empty());
    if (module->functions.size() > 16) break;
  }
  return 0;
}
