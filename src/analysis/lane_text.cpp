// The IR with lane shapes and access patterns as comments, printed through ir::print's notes.
#include "analysis/lane_text.h"

#include "analysis/uniformity.h"
#include "ir/text.h"

namespace weft::analysis {
namespace {

std::string shape_word(LaneShape shape) {
  if (shape == kUniform) return "u";
  if (shape == kVarying) return "v";
  return "v+" + std::to_string(shape);
}

/// How lanes meet memory in a load, store or atomic.
std::string pattern_of(const ir::Op& op, const Uniformity& lanes) {
  const ir::Value* array = op.operand(0);
  std::uint32_t rank = array->type->rank();
  if (lanes.shape(array, kUnitData) == kVarying) {
    bool same =
        array->kind == ir::ValueKind::result && array->op->code == ir::OpCode::local && lanes.only_accessed(array);
    for (const ir::Value* index : op.indices()) same = same && lanes.shape(index) == kUniform;
    return same ? "consecutive" : "gather";  // private elements lie side by side
  }
  bool strides_uniform = true;
  for (std::uint32_t d = 0; d < rank; ++d)
    strides_uniform = strides_uniform && lanes.shape(array, kUnitShape + rank + d) == kUniform;
  LaneShape last = kUniform;
  for (std::size_t k = 0; k < op.indices().size(); ++k) {
    LaneShape shape = lanes.shape(op.indices()[k]);
    if (shape == kUniform) continue;
    // Two indices that grow together would need both strides to tell how far lanes are apart.
    if (shape == kVarying || last != kUniform || !strides_uniform) return "gather";
    last = shape;
    // Only the last index moves by elements; any other by rows, whose length is known at run time.
    if (k + 1 != op.indices().size()) return "strided";
  }
  if (last == kUniform) return "uniform";
  return last == 1 ? "consecutive" : "stride " + std::to_string(last);
}

}  // namespace

std::string lane_text(const ir::Function& kernel, int lanes) {
  LaneEntry entry;
  if (lanes > 1) entry.tids[kernel.form.rank - 1] = entry.thread = 1;
  Uniformity uniformity(kernel, entry);
  ir::PrintOptions options;
  options.note = [&](const ir::Op& op) {
    std::string note;
    for (const ir::Value* result : op.results) {
      note += note.empty() ? "" : " ";
      std::uint32_t units = lane_units(result->type);
      if (units == 1)
        note += shape_word(uniformity.shape(result));
      else
        note += uniformity.uniform(result) ? "u" : "v";
    }
    bool access = op.code == ir::OpCode::load || op.code == ir::OpCode::store || op.code == ir::OpCode::atomic;
    if (access) note += (note.empty() ? "" : ", ") + pattern_of(op, uniformity);
    if (op.code == ir::OpCode::for_ || op.code == ir::OpCode::while_)
      note += std::string(note.empty() ? "" : ", ") +
              (uniformity.divergent(op) ? "runs while any lane is active" : "all lanes leave together");
    if (op.code == ir::OpCode::if_)
      note += std::string(note.empty() ? "" : ", ") + (uniformity.uniform(op.operand(0)) ? "branch" : "masked");
    return note;
  };
  return "// lanes " + std::to_string(lanes) + "; u uniform, v varying, v+k lane 0 plus k per lane\n" +
         ir::print(kernel, options);
}

}  // namespace weft::analysis
