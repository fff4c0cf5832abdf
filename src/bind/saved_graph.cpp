// Doing again what a file says of a graph: kernels from IR, launches, copies and fills in regions of memory. Files come
// from anywhere: whatever they say is checked before it is done.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

#include <cstring>

#include "bind/gil.h"
#include "bind/python_kernel.h"
#include "codegen/codegen.h"
#include "driver/gpu_launch.h"
#include "driver/launch_command.h"
#include "ir/text.h"
#include "ir/tile_memory.h"
#include "ir/verify.h"
#include "runtime/errors.h"

namespace weft::bind {
namespace {

using Numbers = std::vector<std::int64_t>;
/// Where an array lies: a region (bytes), an offset in it, shape and strides.
using Spot = std::tuple<const ArrayObject*, std::int64_t, Numbers, Numbers>;

[[noreturn]] void damaged(const std::string& what) { throw runtime::ArgumentError("the graph is damaged: " + what); }

/// The descriptor of an array in a region, every byte of which lies there.
ArrayDesc desc_in(const Spot& spot, std::size_t element_size, std::size_t align) {
  const auto& [region, offset, shape, strides] = spot;
  ArrayDesc desc;
  if (shape.empty() || shape.size() > std::size_t(kMaxRank) || strides.size() != shape.size())
    damaged("an array has 1 to 4 dimensions and as many strides");
  desc.ndim = std::int32_t(shape.size());
  bool empty = !region;
  __int128 low = offset, high = __int128(offset) + __int128(element_size), count = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 0) damaged("an array has a negative extent");
    if (strides[d] % std::int64_t(align) != 0) damaged("the elements of an array are not aligned");
    empty |= shape[d] == 0;
    count *= shape[d];
    if (count > INT64_MAX) damaged("an array is too large");
    const __int128 span = __int128(shape[d] - 1) * strides[d];
    (span < 0 ? low : high) += span;
    desc.shape[d] = shape[d];
    desc.strides[d] = strides[d];
  }
  if (!region && count > 0) damaged("an array has no memory");
  if (empty) return desc;
  const runtime::Array& memory = region->array;
  if (memory.rank() != 1 || !memory.is_contiguous()) damaged("a region is packed");
  if (low < 0 || high > __int128(memory.bytes())) damaged("an array reaches beyond its memory");
  desc.data = static_cast<char*>(memory.data()) + offset;
  if (reinterpret_cast<std::uintptr_t>(desc.data) % align != 0) damaged("an array is not aligned");
  return desc;
}

/// The same as an array of elements of so many bytes.
runtime::Array array_in(const Spot& spot, std::size_t element_size) {
  constexpr std::size_t kLargest = 1 << 16;
  if (element_size == 0 || element_size > kLargest) damaged("an element has 1 to 65536 bytes");
  const ArrayDesc desc = desc_in(spot, element_size, 1);
  runtime::Array::External memory;
  memory.data = desc.data;
  memory.strides = {desc.strides, std::size_t(desc.ndim)};
  if (const ArrayObject* region = std::get<0>(spot)) {
    memory.space = region->array.space();
    memory.release = [keep = region->array] {};
  }
  return runtime::Array::wrap(types::vec(types::scalar(ScalarKind::u8), std::uint32_t(element_size)),
                              {desc.shape, std::size_t(desc.ndim)}, std::move(memory));
}

/// A launch on the CPU as a command.
class SavedLaunch final : public runtime::Command {
 public:
  SavedLaunch(std::shared_ptr<const driver::KernelBinary> binary, std::vector<std::uint64_t> block, Numbers dims,
              std::vector<runtime::Array> regions)
      : binary_(std::move(binary)), block_(std::move(block)), dims_(std::move(dims)), regions_(std::move(regions)) {}
  void run(const runtime::LaunchOptions& options) const override {
    runtime::launch(binary_->code(), block_.data(), dims_, options);
  }
  std::string text() const override {
    std::string out = binary_->name() + " (";
    for (std::size_t d = 0; d < dims_.size(); ++d) out += (d ? ", " : "") + std::to_string(dims_[d]);
    return out + (dims_.size() == 1 ? ",)" : ")");
  }

 private:
  std::shared_ptr<const driver::KernelBinary> binary_;
  std::vector<std::uint64_t> block_;
  Numbers dims_;
  std::vector<runtime::Array> regions_;
};

/// A kernel that was saved as IR.
class SavedKernel {
 public:
  SavedKernel(std::string name, std::string text, driver::CompileOptions options)
      : name_(std::move(name)), text_(std::move(text)), options_(std::move(options)) {
    const std::unique_ptr<ir::Module> module = parse();
    const ir::Function& kernel = *module->functions.back();
    form_ = driver::LaunchForm::of(kernel.form);
    options_.gpu.block = kernel.form.block;  // for which its code was made
    options_.gpu.rows = kernel.form.rows;
    form_.atomic_sums = true;
    layout_ = codegen::param_layout(kernel);
  }

  void launch(int place, Numbers dims, const nb::bytes& block,
              const std::vector<std::tuple<std::uint32_t, Spot>>& arrays, std::int64_t max_blocks, int block_dim) {
    if (dims.size() != form_.rank)
      damaged("kernel '" + name_ + "' runs over " + std::to_string(form_.rank) + " dimensions");
    if (block.size() != layout_.size)
      damaged("the parameters of kernel '" + name_ + "' have " + std::to_string(layout_.size) + " bytes, " +
              std::to_string(block.size()) + " are given");
    cuda::Device* device = place < 0 ? nullptr : &cuda::System::shared().device(place);
    if (!device && options_.gpu.block > 1)
      throw runtime::ArgumentError(
          "kernel '" + name_ + "' was saved for blocks of " + std::to_string(options_.gpu.block) +
          " threads, which work on its tiles together: it runs on GPUs; capture the graph on the "
          "CPU, from where it goes to both");
    std::vector<std::uint64_t> filled(layout_.size / 8 + 1);
    std::memcpy(filled.data(), block.c_str(), block.size());
    std::vector<runtime::Array> regions;
    std::size_t used = 0;
    for (const ParamLayout::Param& p : layout_.params)
      put_arrays(p.type, p.offset, device, arrays, used, filled, regions);
    if (used != arrays.size()) damaged("kernel '" + name_ + "' has fewer arrays");
    // What the code was made for must hold.
    const driver::LaunchForm form = driver::form_of(layout_, filled.data(), dims.size());
    if ((form_.no_overlap && !form.no_overlap) || ((form.strided || (device && form.large)) && !form_.strided))
      damaged("the arrays of kernel '" + name_ + "' lie otherwise than its code says");
    const std::shared_ptr<const driver::KernelBinary> binary = build(device, dims.back());
    runtime::launch_size(binary->code(), dims);
    if (device) {
      driver::KernelVariant variant;
      variant.binary = binary;
      variant.param_bytes = layout_.size;
      device->keep_for_capture(std::make_shared<std::vector<runtime::Array>>(std::move(regions)));
      return driver::launch_on_gpu(variant, filled.data(), {dims, {}, {nullptr, block_dim, max_blocks}});
    }
    runtime::CommandList* list = runtime::recording();
    if (!list) throw runtime::ArgumentError("saved kernels run as part of a graph");
    for (const runtime::Array& one : regions) list->touch(one.range());
    list->add(std::make_unique<SavedLaunch>(binary, std::move(filled), std::move(dims), std::move(regions)));
  }

 private:
  std::unique_ptr<ir::Module> parse() const {
    DiagnosticSink sink;
    auto module = ir::parse_module(std::make_shared<SourceFile>(name_ + " (saved)", text_), sink);
    if (!module || sink.error_count() > 0)
      damaged("the code of kernel '" + name_ + "' can't be read:\n" + sink.render_all());
    if (const std::string broken = ir::verify(*module); !broken.empty())
      damaged("the code of kernel '" + name_ + "' is broken:\n" + broken);
    if (module->functions.empty() || module->functions.back()->kind != ir::FunctionKind::kernel)
      damaged("the code of kernel '" + name_ + "' holds no kernel");
    const ir::Form& form = module->functions.back()->form;
    if (form.adjoint || form.taped || form.rank < 1 || form.rank > kMaxRank)
      damaged("the code of kernel '" + name_ + "' has a form that can't be launched");
    return module;
  }

  std::shared_ptr<const driver::KernelBinary> build(cuda::Device* device, std::int64_t innermost) {
    driver::BuildRequest request;
    request.name = name_;
    request.options = options_;
    request.form = form_;
    request.device = device;
    request.make_module = [this] { return parse(); };
    if (device && !options_.gpu.block && ir::find_tile_memory(*parse())) {  // from a CPU, whose blocks are one thread
      request.options.gpu.block = 1;
      request.options.gpu.rows = innermost == 1;
      request.make_module = [this, rows = innermost == 1] {
        std::unique_ptr<ir::Module> module = parse();
        ir::Form& form = module->functions.back()->form;
        form.block = 1;
        form.rows = rows;
        return module;
      };
    }
    DiagnosticSink sink;
    std::shared_ptr<const driver::KernelBinary> made;
    {
      GilRelease release;
      made = driver::BinaryStore::shared().get(request, sink);
    }
    if (!made) raise_compile_error(sink);
    return made;
  }

  void put_arrays(const Type* type, std::uint32_t offset, cuda::Device* device,
                  const std::vector<std::tuple<std::uint32_t, Spot>>& arrays, std::size_t& used,
                  std::vector<std::uint64_t>& block, std::vector<runtime::Array>& regions) const {
    if (type->is_struct() || type->is_indexed_array())
      for (const Field& f : type->fields()) put_arrays(f.type, offset + f.offset, device, arrays, used, block, regions);
    if (!type->is_array()) return;
    if (used == arrays.size() || std::get<0>(arrays[used]) != offset)
      damaged("an array of kernel '" + name_ + "' is missing");
    const Spot& spot = std::get<1>(arrays[used++]);
    const ArrayDesc desc = desc_in(spot, type->element()->size(), type->element()->align());
    if (desc.ndim != std::int32_t(type->rank())) damaged("an array of kernel '" + name_ + "' has another rank");
    if (const ArrayObject* region = std::get<0>(spot)) {
      if (region->array.space() != device && !(device && region->array.space() && region->array.on_host()))
        damaged("an array of kernel '" + name_ + "' lies elsewhere");
      regions.push_back(region->array);
    }
    std::memcpy(reinterpret_cast<char*>(block.data()) + offset, &desc, sizeof desc);
  }

  std::string name_, text_;
  driver::CompileOptions options_;
  driver::LaunchForm form_;
  ParamLayout layout_;
};

driver::CompileOptions options_of(const nb::dict& given) {
  driver::CompileOptions o;
  o.debug = nb::cast<bool>(given["debug"]);
  o.verify_fp = nb::cast<bool>(given["verify_fp"]);
  o.fuse_fp = nb::cast<bool>(given["fuse_fp"]);
  o.fast_math = nb::cast<bool>(given["fast_math"]);
  o.opt_level = std::clamp(nb::cast<int>(given["opt_level"]), 0, 3);
  o.max_unroll = nb::cast<int>(given["max_unroll"]);
  o.deterministic = nb::cast<bool>(given["deterministic"]);
  o.gpu.line_info = nb::cast<bool>(given["line_info"]);
  return o;
}

}  // namespace

void register_saved_graphs(nb::module_& m) {
  nb::class_<SavedKernel>(m, "SavedKernel", "A kernel that was saved as IR.")
      .def(
          "__init__",
          [](SavedKernel* self, std::string name, std::string text, const nb::dict& options) {
            new (self) SavedKernel(std::move(name), std::move(text), options_of(options));
          },
          nb::arg("name"), nb::arg("text"), nb::arg("options"))
      .def("launch", &SavedKernel::launch, nb::arg("place"), nb::arg("dims"), nb::arg("block"), nb::arg("arrays"),
           nb::arg("max_blocks"), nb::arg("block_dim"), "Adds a launch to the graph that is captured.");
  m.def(
      "saved_copy",
      [](const Spot& to, const Spot& from, std::size_t element_size) {
        array_in(to, element_size).assign(array_in(from, element_size));
      },
      nb::arg("to"), nb::arg("from"), nb::arg("element_size"));
  m.def(
      "saved_fill", [](const Spot& to, const nb::bytes& value) { array_in(to, value.size()).fill(value.c_str()); },
      nb::arg("to"), nb::arg("value"));
}

}  // namespace weft::bind
