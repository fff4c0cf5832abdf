// The table of arrays over buckets, beside that of types.
#include "types/fabric_type.h"

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "support/check.h"

namespace weft {
namespace {

struct Table {
  std::shared_mutex lock;
  std::unordered_map<const Type*, std::unique_ptr<const FabricType>> known;
};

Table& table() {
  static auto* the = new Table;  // types live as long as the process
  return *the;
}

}  // namespace

const FabricType* fabric_type(const Type* type) {
  if (!type->is_struct()) return nullptr;
  Table& t = table();
  std::shared_lock lock(t.lock);
  const auto found = t.known.find(type);
  return found == t.known.end() ? nullptr : found->second.get();
}

namespace types {

const FabricType& fabric_array(const Type* element, std::uint32_t rank, bool indexed) {
  WEFT_CHECK(element && (rank == 1 || rank == 2));
  // No program can give a struct of its own that name.
  const std::string name = std::string(indexed ? "indexed" : "") + "fabricarray" + (rank == 2 ? "array" : "") +
                           "(dtype=" + element->user_name() + ")";
  const Type *places = array(i32(), 1), *addresses = array(u64(), 1);
  std::vector<Field> fields;
  if (indexed)
    fields = {{"fa", fabric_array(element, rank, false).type, 0}, {"indices", places, 0}};
  else
    fields = {{"size", i32(), 0}, {"starts", places, 0}, {"pointers", addresses, 0}};
  if (!indexed && rank == 2) fields.push_back({"lengths", addresses, 0});
  const Type* type = structure(name, fields);
  Table& t = table();
  std::unique_lock lock(t.lock);
  auto& entry = t.known[type];
  if (!entry) entry = std::make_unique<const FabricType>(FabricType{type, element, rank, indexed});
  return *entry;
}

}  // namespace types
}  // namespace weft
