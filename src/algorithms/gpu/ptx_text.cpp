// The shared pieces of PTX.
#include "algorithms/gpu/ptx_text.h"

#include "support/check.h"

namespace weft::algorithms::gpu {

NumberText number_text(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::i32:
    case ScalarKind::u32: return {ScalarKind::u32, "u32", "u32", "0", 4, 4};
    case ScalarKind::i64:
    case ScalarKind::u64: return {ScalarKind::u64, "u64", "u64", "0", 8, 8};
    case ScalarKind::f16:
    case ScalarKind::bf16: return {ScalarKind::f32, "b16", "f32", "0f00000000", 2, 4};
    case ScalarKind::f32: return {ScalarKind::f32, "f32", "f32", "0f00000000", 4, 4};
    case ScalarKind::f64: return {ScalarKind::f64, "f64", "f64", "0d0000000000000000", 8, 8};
    default: break;
  }
  WEFT_CHECK(false);
}

std::string filled(std::string_view text, Names names) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '$') {
      out += text[at++];
      continue;
    }
    const std::pair<std::string_view, std::string>* found = nullptr;
    for (const auto& one : names)
      if (text.substr(at + 1).starts_with(one.first) && (!found || one.first.size() > found->first.size()))
        found = &one;
    WEFT_CHECK(found);
    out += found->second;
    at += 1 + found->first.size();
  }
  return out;
}

std::string load_number(ScalarKind kind, const std::string& to, const std::string& address, const std::string& guard) {
  const Names names = {{"to", to}, {"at", address}, {"if", guard}};
  if (kind == ScalarKind::f16) return filled("  $if ld.global.b16 %h, [$at];\n  $if cvt.f32.f16 $to, %h;\n", names);
  if (kind == ScalarKind::bf16)
    return filled(
        "  $if ld.global.b16 %h, [$at];\n  $if cvt.u32.u16 %rc, %h;\n  $if shl.b32 %rc, %rc, 16;\n"
        "  $if mov.b32 $to, %rc;\n",
        names);
  return "  " + guard + " ld.global." + number_text(kind).memory + " " + to + ", [" + address + "];\n";
}

std::string store_number(ScalarKind kind, const std::string& from, const std::string& address,
                         const std::string& guard) {
  const Names names = {{"from", from}, {"at", address}, {"if", guard}};
  if (kind == ScalarKind::f16) return filled("  cvt.rn.f16.f32 %h, $from;\n  $if st.global.b16 [$at], %h;\n", names);
  if (kind == ScalarKind::bf16)  // to nearest, ties to even, by integers: GPUs before sm_80 have no instruction
    return filled(
        "  mov.b32 %rc, $from;\n  shr.u32 %rd0, %rc, 16;\n  and.b32 %rd0, %rd0, 1;\n  add.u32 %rd0, %rd0, 32767;\n"
        "  add.u32 %rd0, %rd0, %rc;\n  setp.neu.f32 %pn, $from, $from;\n  @%pn or.b32 %rd0, %rc, 4194304;\n"
        "  shr.u32 %rd0, %rd0, 16;\n  cvt.u16.u32 %h, %rd0;\n  $if st.global.b16 [$at], %h;\n",
        names);
  return "  " + guard + " st.global." + number_text(kind).memory + " [" + address + "], " + from + ";\n";
}

namespace {

std::string vector_of(const NumberText& number, int first) {
  std::string s = "{";
  for (int k = 0; k < vector_length(number); ++k) s += (k ? ", %s" : "%s") + std::to_string(first + k);
  return s + "}";
}

}  // namespace

std::string load_vector(const NumberText& number, int first, const std::string& address) {
  return "  ld.global.v" + std::to_string(vector_length(number)) + "." + number.memory + " " +
         vector_of(number, first) + ", [" + address + "];\n";
}

std::string store_vector(const NumberText& number, int first, const std::string& address) {
  return "  st.global.v" + std::to_string(vector_length(number)) + "." + number.memory + " [" + address + "], " +
         vector_of(number, first) + ";\n";
}

std::string shuffle(int bytes, const std::string& mode, const std::string& to, const std::string& from,
                    const std::string& lane, const std::string& valid) {
  const std::string bound = mode == "up" ? "0" : "31";
  auto one = [&](const std::string& t, const std::string& f) {
    return "  shfl.sync." + mode + ".b32 " + t + (valid.empty() ? "" : "|" + valid) + ", " + f + ", " + lane + ", " +
           bound + ", -1;\n";
  };
  if (bytes == 4) return one(to, from);
  return "  mov.b64 {%ra, %rb}, " + from + ";\n" + one("%ra", "%ra") + one("%rb", "%rb") + "  mov.b64 " + to +
         ", {%ra, %rb};\n";
}

std::string scan_lanes(const NumberText& number, const std::string& v) {
  std::string s;
  for (const char* distance : {"1", "2", "4", "8", "16"})
    s += shuffle(number.sum_bytes, "up", "%st", v, distance, "%ps") + "  @%ps add." + number.type + " " + v +
         ", %st, " + v + ";\n";
  return s;
}

std::string sum_lanes(const NumberText& number, const std::string& v) {
  std::string s;
  for (const char* distance : {"16", "8", "4", "2", "1"})
    s += shuffle(number.sum_bytes, "bfly", "%st", v, distance) + "  add." + number.type + " " + v + ", " + v +
         ", %st;\n";
  return s;
}

std::string module_head() { return ".version 6.0\n.target sm_50\n.address_size 64\n"; }

std::string kernel_head(const std::string& name, int argument_bytes, int threads, const NumberText& number,
                        int resident) {
  return filled(R"(
.visible .entry $name(.param .align 8 .b8 args[$size])
.maxntid $threads, 1, 1
.minnctapersm $resident
{
  .reg .pred %p<8>, %ps, %pn;
  .reg .b16 %h;
  .reg .b32 %r<40>, %ra, %rb, %rc, %rd0, %lane, %warp, %tid_x, %block;
  .reg .b64 %d<40>;
  .reg .$type %s<40>, %st;
  mov.u32 %tid_x, %tid.x;
  mov.u32 %block, %ctaid.x;
  and.b32 %lane, %tid_x, 31;
  shr.u32 %warp, %tid_x, 5;
)",
                {{"name", name},
                 {"size", std::to_string(argument_bytes)},
                 {"threads", std::to_string(threads)},
                 {"resident", std::to_string(resident)},
                 {"type", number.type}});
}

}  // namespace weft::algorithms::gpu
