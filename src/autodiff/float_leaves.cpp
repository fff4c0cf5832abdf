// Goes down through structs, rows and components.
#include "autodiff/float_leaves.h"

namespace weft::autodiff {
namespace {

void add_leaves(const Type* type, std::vector<ir::PathStep> path, std::vector<FloatLeaf>& out) {
  auto inside = [&](ir::PathStep::Kind kind, std::uint32_t k) {
    std::vector<ir::PathStep> longer = path;
    longer.push_back({kind, false, false, std::int32_t(k)});
    return longer;
  };
  if (!has_floats(type)) return;
  if (type->is_scalar()) return out.push_back({type, std::move(path)});
  // A step into a matrix gives a row, so that a number in it takes two steps of the path.
  if (type->is_mat()) {
    for (std::uint32_t k = 0; k < type->rows(); ++k)
      add_leaves(types::vec(type->element(), type->cols()), inside(ir::PathStep::index, k), out);
  } else if (type->is_composite()) {
    for (std::uint32_t k = 0; k < type->component_count(); ++k)
      add_leaves(type->element(), inside(ir::PathStep::index, k), out);
  } else {
    for (std::size_t k = 0; k < type->fields().size(); ++k)
      add_leaves(type->fields()[k].type, inside(ir::PathStep::field, std::uint32_t(k)), out);
  }
}

}  // namespace

std::vector<FloatLeaf> float_leaves(const Type* type) {
  std::vector<FloatLeaf> out;
  add_leaves(type, {}, out);
  return out;
}

const Type* bits_type(const Type* scalar) {
  switch (scalar->size()) {
    case 1: return types::scalar(ScalarKind::u8);
    case 2: return types::scalar(ScalarKind::u16);
    case 4: return types::u32();
    default: return types::u64();
  }
}

}  // namespace weft::autodiff
