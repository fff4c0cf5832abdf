// What JAX is given: capsules of the handlers, records of calls, and their kernels compiled before a program runs.
#include <nanobind/stl/shared_ptr.h>

#include <cstring>

#include "analysis/full_writes.h"
#include "analysis/own_rows.h"
#include "bind/compile_session.h"
#include "bind/exchange.h"
#include "bind/gil.h"
#include "bind/python_kernel.h"
#include "bind/xla_calls.h"
#include "driver/gpu_launch.h"
#include "driver/kernel_from_ir.h"
#include "driver/pipeline.h"
#include "interop/xla_handlers.h"
#include "runtime/errors.h"

namespace weft::bind {
namespace {

using interop::CallParam;
using interop::CallRecord;
using interop::CallTable;
using interop::CallTarget;
using interop::Direction;
using interop::Role;

nb::object& unknown_hook() {
  static auto* hook = new nb::object;
  return *hook;
}

/// The text of the Python error in flight, which is then gone.
std::string error_text(nb::python_error& error) {
  nb::str text(error.value());
  const std::string name = nb::cast<std::string>(nb::handle(error.type()).attr("__name__"));
  return name + ": " + text.c_str();
}

/// Work that wants Python, for handlers: its errors become errors of ours.
void with_python(const std::function<void()>& work) {
  GilAcquire gil;
  try {
    work();
  } catch (nb::python_error& error) {
    throw runtime::Error(error_text(error));
  }
}

void set_host() {
  interop::CallHost& host = CallTable::shared().host;
  if (host.locked) return;
  host.unknown = [](std::string_view bytes) {
    with_python([&] {
      if (unknown_hook().is_valid()) unknown_hook()(nb::bytes(bytes.data(), bytes.size()));
    });
  };
  host.locked = &with_python;
}

std::vector<const Type*> plain_types(const std::vector<TypeHandle>& types) {
  std::vector<const Type*> out;
  for (const TypeHandle& t : types) out.push_back(t.type);
  return out;
}

driver::KernelSignature& signature_of(PythonKernel& kernel, const std::vector<TypeHandle>& types) {
  std::vector<const Type*> list = plain_types(types);
  // A tangent's parameters are told once, unless it is called as a kernel of its own.
  if (kernel.params().size() == 2 * types.size() && kernel.options().doubles_params())
    list.insert(list.end(), list.begin(), list.begin() + std::ptrdiff_t(types.size()));
  return kernel.signature(list);
}

driver::LaunchForm plain_form(std::size_t rank) {
  driver::LaunchForm form;
  form.rank = std::uint8_t(rank);
  return form;
}

/// The kernel's IR as code is made of it.
std::unique_ptr<ir::Module> optimised(PythonKernel& kernel, const std::vector<TypeHandle>& types, std::size_t rank) {
  CompileSession session(kernel.decl());
  DiagnosticSink sink;
  std::unique_ptr<ir::Module> module = kernel.module(signature_of(kernel, types), plain_form(rank), sink);
  if (!module) raise_compile_error(sink);
  driver::optimize(*module, kernel.options());
  return module;
}

/// What a call must know of a kernel, per parameter.
nb::dict facts_of(PythonKernel& kernel, const std::vector<TypeHandle>& types, std::size_t rank) {
  driver::KernelSignature& signature = signature_of(kernel, types);
  const driver::TapeFacts& facts = kernel.facts_for(signature, plain_form(rank));
  nb::list read, written, replaced, needed;
  for (const ParamLayout::Param& p : signature.layout.params) {
    bool is_read = false, is_written = facts.written_elsewhere, is_replaced = false, is_needed = false;
    for (std::size_t k = 0; k < facts.leaves.size(); ++k) {
      const std::uint32_t at = facts.leaves[k].offset;
      if (at < p.offset || at >= p.offset + p.type->size()) continue;
      is_read |= facts.read[k];
      is_written |= facts.written[k];
      is_replaced |= facts.replaced[k];
      is_needed |= k < facts.needed.size() && facts.needed[k];
    }
    read.append(is_read);
    written.append(is_written);
    replaced.append(is_replaced);
    needed.append(is_needed);
  }
  nb::dict out;
  out["read"] = read;
  out["written"] = written;
  out["replaced"] = replaced;
  out["needed"] = needed;
  out["log"] = !facts.log.empty();
  out["problem"] = facts.problem;
  out["handles"] = !facts.handles.empty();
  return out;
}

Hash128 source_of(const PythonKernel& kernel) {
  CompileSession session(kernel.decl());
  Hasher hasher;
  hasher.value(session.fingerprint(kernel.decl(), kernel.options().names_places()));
  kernel.options().hash_into(hasher);
  return hasher.finish();
}

/// A parameter as Python gives it: (role, zeroed, arg, ret, arg_dot, ret_dot, value).
CallParam param_from(nb::handle given, const Type* type) {
  const nb::tuple parts = nb::cast<nb::tuple>(given);
  CallParam out;
  out.role = Role(nb::cast<int>(parts[0]));
  out.zeroed = nb::cast<bool>(parts[1]);
  out.arg = nb::cast<std::int16_t>(parts[2]);
  out.ret = nb::cast<std::int16_t>(parts[3]);
  out.arg_dot = nb::cast<std::int16_t>(parts[4]);
  out.ret_dot = nb::cast<std::int16_t>(parts[5]);
  out.type = type->text();
  if (out.role != Role::value && !type->is_array()) throw nb::type_error("only arrays are inputs and outputs");
  return out;
}

/// Enters a target under the digest of its record, which it returns with the record.
std::string enter(std::unique_ptr<CallTarget> target) {
  set_host();
  std::string bytes = target->record.encode();
  target->digest = *interop::digest_of(bytes);
  if (!CallTable::shared().find(target->digest)) CallTable::shared().add(std::move(target));
  return bytes;
}

/// The kernel as records carry it. Raises compile errors.
interop::PortableKernel portable_kernel(PythonKernel& kernel, driver::KernelSignature& signature,
                                        const CallRecord& record) {
  CompileSession session(kernel.decl());
  DiagnosticSink sink;
  interop::PortableKernel out = interop::make_portable(kernel, signature, record, sink);
  if (out.ir.empty()) raise_compile_error(sink);
  return out;
}

nb::bytes register_call(const std::shared_ptr<PythonKernel>& kernel, const std::vector<TypeHandle>& types,
                        int direction, const std::vector<std::int64_t>& dims, int block_dim, int batch_rank,
                        nb::list params, bool portable) {
  if (dims.empty() || dims.size() > std::size_t(kMaxRank))
    throw nb::value_error("a kernel runs over 1 to 4 dimensions");
  driver::KernelSignature& signature = signature_of(*kernel, types);
  CallRecord record;
  record.direction = Direction(direction);
  record.kernel = kernel->name();
  record.source = source_of(*kernel);
  record.dims = dims;
  record.block_dim = block_dim;
  record.batch_rank = std::uint8_t(batch_rank);
  std::vector<std::uint64_t> block(signature.layout.size / 8 + 1);
  std::vector<nb::object> keep;
  for (std::size_t i = 0; i < types.size(); ++i) {
    CallParam param = param_from(params[i], types[i].type);
    if (param.role == Role::value) {
      char* bytes = reinterpret_cast<char*>(block.data());
      fill_param(*kernel, signature, i, nb::object(params[i][6]).ptr(), bytes, keep);
      const char* at = bytes + signature.layout.params[i].offset;
      param.value.assign(at, at + types[i].type->size());
    }
    record.params.push_back(std::move(param));
  }
  if (portable) record.portable = portable_kernel(*kernel, signature, record);
  const std::string bytes = enter(interop::make_target(std::move(record), kernel, signature));
  return nb::bytes(bytes.data(), bytes.size());
}

/// Registers the record of a program that was made elsewhere, for a kernel that has its source; false if it does not fit.
bool adopt_record(nb::bytes given, const std::shared_ptr<PythonKernel>& kernel, const std::vector<TypeHandle>& types) {
  const std::string_view bytes{given.c_str(), given.size()};
  std::optional<CallRecord> record = CallRecord::decode(bytes);
  if (!record || record->source != source_of(*kernel)) return false;
  driver::KernelSignature& signature = signature_of(*kernel, types);
  return interop::fits(*record, signature) &&
         enter(interop::make_target(std::move(*record), kernel, signature)) == bytes;
}

/// Compiles what a registered call will run on a device; says whether it may be captured into command buffers there.
bool compile_call(nb::bytes record, int place) {
  const std::string_view bytes{record.c_str(), record.size()};
  const std::optional<Hash128> digest = interop::digest_of(bytes);
  const CallTarget* target = digest ? CallTable::shared().find(*digest) : nullptr;
  if (!target) throw nb::value_error("the call was not registered");
  cuda::Device* device = place < 0 ? nullptr : &cuda::System::shared().device(place);
  if (device) target->kernel->find_shares_memory(*target->signature, target->record.dims.size());
  target = &interop::target_on(*target, device);
  auto build = [&](driver::LaunchForm form) -> const driver::KernelVariant& {
    const driver::KernelVariant* ready = target->signature->ready(form, device);
    return ready ? *ready : target->kernel->build(*target->signature, form, device);
  };
  const driver::KernelVariant& main = build(target->form(device));
  if (target->record.replays) build(target->form(device, true));
  return !target->record.replays && main.binary && (!device || driver::GpuLaunch::is_steady(main)) && !main.plan;
}

nb::object capsule(interop::XlaHandler handler) {
  return nb::steal(PyCapsule_New(reinterpret_cast<void*>(handler), nullptr, nullptr));
}

}  // namespace

void register_xla_targets(nb::module_& m) {
  m.def(
      "xla_handlers",
      [] {
        set_host();
        nb::list out;
        auto add = [&](const char* name, const char* platform, interop::XlaHandler handler) {
          out.append(nb::make_tuple(name, platform, capsule(handler)));
        };
        add("weft.launch", "cpu", &interop::launch_on_host);
        add("weft.launch.uncaptured", "cpu", &interop::launch_on_host);
        add("weft.launch", "CUDA", &interop::launch_on_cuda);
        add("weft.launch.uncaptured", "CUDA", &interop::launch_on_cuda_uncaptured);
        add("weft.call", "cpu", &call_on_host);
        add("weft.call.uncaptured", "cpu", &call_on_host);
        add("weft.call", "CUDA", &call_on_cuda);
        add("weft.call.uncaptured", "CUDA", &call_on_cuda_uncaptured);
        return out;
      },
      "Name, platform and capsule of each handler that XLA calls.");
  m.def(
      "xla_set_unknown_hook", [](nb::object hook) { unknown_hook() = std::move(hook); },
      "(bytes): told of records that nobody has registered.");
  m.def("xla_facts", &facts_of, nb::arg("kernel"), nb::arg("types"), nb::arg("rank"),
        "Per parameter what a launch reads and writes, and what going back over it takes.");
  m.def(
      "xla_tid_dims_read",
      [](PythonKernel& kernel, const std::vector<TypeHandle>& types, std::size_t rank) {
        return driver::tid_dims_read(*optimised(kernel, types, rank));
      },
      nb::arg("kernel"), nb::arg("types"), nb::arg("rank"), "Bit k: the kernel reads thread index k.");
  m.def(
      "xla_filled",
      [](PythonKernel& kernel, const std::vector<TypeHandle>& types, std::size_t rank) {
        nb::list out;
        for (const bool one : analysis::full_writes(*optimised(kernel, types, rank)->functions.back())) out.append(one);
        return out;
      },
      nb::arg("kernel"), nb::arg("types"), nb::arg("rank"),
      "Per parameter: whether a launch writes each element of an array of its own shape and reads none.");
  m.def(
      "xla_row_uses",
      [](PythonKernel& kernel, const std::vector<TypeHandle>& types, std::size_t rank) -> nb::object {
        const auto found = analysis::row_uses(*optimised(kernel, types, rank)->functions.back());
        if (!found) return nb::none();
        nb::list out;
        for (analysis::RowUse use : *found) out.append(int(use));
        return out;
      },
      nb::arg("kernel"), nb::arg("types"), nb::arg("rank"),
      "Per parameter, if threads keep to rows of their own: 0 unused, 1 own rows, 2 read anywhere, 3 added to; else None.");
  m.def(
      "xla_source", [](const PythonKernel& kernel) { return source_of(kernel).hex(); }, nb::arg("kernel"),
      "What records call the kernel.");
  m.def(
      "xla_record_kernel",
      [](nb::bytes bytes) -> nb::object {
        const std::optional<CallRecord> record = CallRecord::decode({bytes.c_str(), bytes.size()});
        if (!record) return nb::none();
        nb::list types;
        for (const CallParam& param : record->params) types.append(param.type);
        return nb::make_tuple(record->kernel, record->source.hex(), types, record->dims.size());
      },
      nb::arg("record"),
      "Name and source of a record's kernel, the types of its parameters and the rank of its grid; None if it is no record.");
  m.def("xla_register", &register_call, nb::arg("kernel"), nb::arg("types"), nb::arg("direction"), nb::arg("dims"),
        nb::arg("block_dim"), nb::arg("batch_rank"), nb::arg("params"), nb::arg("portable") = false,
        "Registers a call and returns its record.");
  m.def("xla_compile", &compile_call, nb::arg("record"), nb::arg("place"),
        "Compiles what a call runs on a device; whether it may be captured.");
  m.def("xla_adopt_record", &adopt_record, nb::arg("record"), nb::arg("kernel"), nb::arg("types"),
        "Registers the record of a program that was made elsewhere; False if it is not of this kernel.");
  m.def("xla_calls", [] { return CallTable::shared().size(); }, "How many different calls were registered.");
  m.def(
      "xla_array_over",
      [](nb::handle source, const TypeHandle* element) -> nb::object {
        bool read_only = false;
        std::optional<runtime::Array> made = from_foreign(source, element ? element->type : nullptr, false, read_only);
        return made ? new_array({}, std::move(*made), read_only) : nb::none();
      },
      nb::arg("source"), nb::arg("element").none(),
      "An array over memory on the host, read-only or not; None if it does not fit.");
  register_xla_calls(m);
}

}  // namespace weft::bind
