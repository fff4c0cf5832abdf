// Calls of XLA that end in Python. The interpreter's lock is taken, buffers become arrays or plain descriptions of them, and
// an exception becomes an error of XLA's with the last lines of its traceback.
#include "bind/xla_calls.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "bind/gil.h"
#include "bind/python_kernel.h"
#include "driver/tape.h"
#include "interop/xla_handlers.h"
#include "runtime/errors.h"

namespace weft::bind {
namespace {

namespace xla = interop::xla;

/// Turns the Python error in flight into text: the exception and the lines that lead to it.
std::string describe(nb::python_error& error) {
  try {
    nb::object format = nb::module_::import_("traceback").attr("format_exception");
    nb::object lines = format(error.type(), error.value(), error.traceback());
    return nb::cast<std::string>(nb::str("").attr("join")(lines));
  } catch (...) {
    return error.what();
  }
}

/// Runs what calls Python; errors of all kinds become XLA's.
template <class Work>
xla::Error* guarded(xla::CallFrame* frame, std::uint32_t traits, const Work& work) noexcept {
  if (interop::answer_metadata(*frame, traits)) return nullptr;
  if (!WEFT_XLA_HAS(*frame, attributes))
    return interop::make_error(*frame, xla::kInvalidArgument, "the call is of another XLA");
  if (frame->stage != xla::kExecute) return nullptr;
  if (!nb::is_alive()) return interop::make_error(*frame, xla::kInternal, "Python is gone");
  try {
    GilAcquire gil;
    const driver::WorkApart apart;  // JAX differentiates; a program's tape records what the program does
    try {
      work();
      return nullptr;
    } catch (nb::python_error& error) {
      return interop::make_error(*frame, xla::kInternal, describe(error).c_str());
    }
  } catch (...) {
    return interop::error_in_flight(*frame);
  }
}

nb::object shape_of(const xla::Buffer& buffer) {
  nb::object tuple = nb::steal(PyTuple_New(Py_ssize_t(buffer.rank)));
  for (std::int64_t d = 0; d < buffer.rank; ++d)
    PyTuple_SET_ITEM(tuple.ptr(), Py_ssize_t(d), PyLong_FromLongLong(buffer.dims[d]));
  return tuple;
}

/// A buffer as an array of an element type; leading dimensions beyond the rank are those of a batch, whose samples lie
/// one after another: `sample` is the one to take.
runtime::Array array_over(const xla::Buffer& buffer, const Type* type, std::size_t batch_rank, std::int64_t sample,
                          runtime::MemorySpace* space) {
  const Type* element = type->element();
  std::int64_t bytes = element->size();
  std::vector<std::int64_t> shape;
  const std::size_t inner = element->is_mat() ? 2 : element->is_composite() ? 1 : 0;
  if (buffer.rank != std::int64_t(batch_rank + type->rank() + inner))
    throw runtime::ArgumentError("a buffer of the call has " + std::to_string(buffer.rank) +
                                 " dimensions, not those of " + type->user_name());
  for (std::size_t d = 0; d < type->rank(); ++d) {
    shape.push_back(buffer.dims[batch_rank + d]);
    bytes *= shape.back();
  }
  runtime::Array::External memory;
  memory.data = static_cast<char*>(buffer.data) + sample * bytes;
  memory.space = space;
  return runtime::Array::wrap(element, shape, std::move(memory));
}

/// Arrays for one call of a function. Behind the call they have no memory, in case somebody kept one.
class Arrays {
 public:
  ~Arrays() {
    for (const nb::object& one : made_) nb::inst_ptr<ArrayObject>(one)->array = runtime::Array();
  }
  nb::object add(runtime::Array array) {
    made_.push_back(new_array({}, std::move(array)));
    return made_.back();
  }

 private:
  std::vector<nb::object> made_;
};

std::int64_t extents_at(const xla::Buffer& buffer, std::size_t batch_rank, const std::int64_t* index) {
  std::int64_t linear = 0;
  for (std::size_t d = 0; d < batch_rank; ++d) linear = linear * buffer.dims[d] + (buffer.dims[d] == 1 ? 0 : index[d]);
  return linear;
}

/// What a result begins with: zeros, or the argument that it stands for. Once for all samples.
void begin(const xla::CallFrame& frame, const driver::LaunchPlace& place, std::size_t result, std::int64_t argument,
           const Type* type) {
  const xla::Buffer& to = interop::buffer_at(frame.results, result, "result");
  const Type* scalar = type->element()->is_scalar() ? type->element() : type->element()->element();
  std::size_t bytes = scalar->size();
  for (std::int64_t d = 0; d < to.rank; ++d) bytes *= std::size_t(to.dims[d]);
  void* from = argument < 0 ? nullptr : interop::buffer_at(frame.arguments, std::size_t(argument), "argument").data;
  if (bytes == 0 || from == to.data) return;
  if (!place.device) {
    from ? std::memcpy(to.data, from, bytes) : std::memset(to.data, 0, bytes);
    return;
  }
  const cuda::DriverTable& api = place.device->api();
  const auto target = cuda::DevicePtr(reinterpret_cast<std::uintptr_t>(to.data));
  const cuda::StreamHandle stream = place.gpu.stream->handle();
  const cuda::Result done =
      from ? api.copy_async(target, cuda::DevicePtr(reinterpret_cast<std::uintptr_t>(from)), bytes, stream)
           : api.set8_async(target, 0, bytes, stream);
  if (done != cuda::kSuccess) throw runtime::Error("the CUDA driver refused to prepare a result");
}

/// What Python registered for a function. `function` is called once for each sample, as function(arguments, results,
/// place, stream) with arrays in lists; on the CPU `direct`, if there is one, with these arguments instead.
struct Function {
  struct Slot {
    int argument = -1, result = -1;  // an array over one of them, or:
    nb::object value;
  };
  std::vector<const Type*> arg_types, ret_types;
  std::vector<std::int64_t> begins;  // per result: the argument that it begins as, −1: zeros
  std::size_t batch_rank = 0;
  nb::object function, direct;
  std::vector<Slot> slots;
};

/// By the bytes of their records. Never freed: programs may call while the process ends. The GIL, or its stand-in, guards
/// it.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {  // records begin with their digest
    std::size_t first = 0;
    std::memcpy(&first, text.data(), std::min(text.size(), sizeof first));
    return first;
  }
};
using Functions = std::unordered_map<std::string, std::shared_ptr<const Function>, TextHash, std::equal_to<>>;
Functions& functions() {
  static auto* table = new Functions;
  return *table;
}
nb::ft_mutex functions_mutex;

/// The function of a record; null if there is none. It may be registered anew while it runs.
std::shared_ptr<const Function> function_of(std::string_view record) {
  const nb::ft_lock_guard lock(functions_mutex);
  const auto found = functions().find(record);
  return found == functions().end() ? nullptr : found->second;
}

/// One call of a function, for one sample.
void call_sample(const xla::CallFrame& frame, const driver::LaunchPlace& place, const Function& known,
                 const std::int64_t* index) {
  Arrays arrays;
  auto over = [&](const xla::Arguments& list, std::size_t i, const Type* type) {
    const xla::Buffer& buffer = interop::buffer_at(list, i, "buffer");
    return arrays.add(
        array_over(buffer, type, known.batch_rank, extents_at(buffer, known.batch_rank, index), place.device));
  };
  if (known.direct.is_valid() && !place.device) {
    std::vector<PyObject*> list;
    for (const Function::Slot& slot : known.slots) {
      if (slot.argument >= 0)
        list.push_back(
            over(frame.arguments, std::size_t(slot.argument), known.arg_types[std::size_t(slot.argument)]).ptr());
      else if (slot.result >= 0)
        list.push_back(over(frame.results, std::size_t(slot.result), known.ret_types[std::size_t(slot.result)]).ptr());
      else
        list.push_back(slot.value.ptr());
    }
    const nb::object done = nb::steal(PyObject_Vectorcall(known.direct.ptr(), list.data(), list.size(), nullptr));
    if (!done.is_valid()) throw nb::python_error();
    return;
  }
  nb::list args, rets;
  for (std::size_t i = 0; i < known.arg_types.size(); ++i) args.append(over(frame.arguments, i, known.arg_types[i]));
  for (std::size_t i = 0; i < known.ret_types.size(); ++i) rets.append(over(frame.results, i, known.ret_types[i]));
  known.function(args, rets, place.device ? place.device->ordinal() : kOnCpu,
                 place.device ? reinterpret_cast<std::uintptr_t>(place.gpu.stream->handle()) : 0);
}

void call_function(const xla::CallFrame& frame, const driver::LaunchPlace& place) {
  const std::shared_ptr<const Function> known = function_of(interop::bytes_attribute(frame, "weft"));
  if (!known) throw runtime::Error("the program calls a function that no wp.jax_callable of this process has made");
  std::optional<cuda::ContextScope> context;
  if (place.device) context.emplace(*place.device);
  if (frame.arguments.size != std::int64_t(known->arg_types.size()) ||
      frame.results.size != std::int64_t(known->ret_types.size()))
    throw runtime::ArgumentError("the call has other arguments or results than its function");
  constexpr std::size_t kMaxBatchRank = 16;
  std::int64_t extents[kMaxBatchRank], index[kMaxBatchRank] = {}, samples = 1;
  if (known->batch_rank > kMaxBatchRank) throw runtime::ArgumentError("too many nested batches");
  std::fill_n(extents, kMaxBatchRank, 1);
  auto widen = [&](const xla::Arguments& list, const char* what) {
    for (std::int64_t i = 0; i < list.size; ++i) {
      const xla::Buffer& buffer = interop::buffer_at(list, std::size_t(i), what);
      for (std::size_t d = 0; d < known->batch_rank && std::int64_t(d) < buffer.rank; ++d)
        if (buffer.dims[d] != 1) extents[d] = buffer.dims[d];
    }
  };
  widen(frame.arguments, "argument");
  widen(frame.results, "result");
  for (std::size_t d = 0; d < known->batch_rank; ++d) samples *= extents[d];
  for (std::size_t r = 0; r < known->ret_types.size(); ++r)
    begin(frame, place, r, known->begins[r], known->ret_types[r]);
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    call_sample(frame, place, *known, index);
    for (std::size_t d = known->batch_rank; d-- > 0;) {
      if (++index[d] < extents[d]) break;
      index[d] = 0;
    }
  }
}

void register_function(nb::bytes record, const std::vector<TypeHandle>& arg_types,
                       const std::vector<TypeHandle>& ret_types, const std::vector<std::int64_t>& begins,
                       std::size_t batch_rank, nb::object function, nb::object direct, nb::list slots) {
  auto made = std::make_shared<Function>();
  for (const TypeHandle& t : arg_types) made->arg_types.push_back(t.type);
  for (const TypeHandle& t : ret_types) made->ret_types.push_back(t.type);
  made->begins = begins;
  made->batch_rank = batch_rank;
  made->function = std::move(function);
  if (!direct.is_none()) made->direct = std::move(direct);
  for (nb::handle one : slots) {
    const nb::tuple parts = nb::cast<nb::tuple>(one);
    made->slots.push_back({nb::cast<int>(parts[0]), nb::cast<int>(parts[1]), nb::object(parts[2])});
  }
  if (made->begins.size() != made->ret_types.size()) throw nb::value_error("one beginning for each result");
  std::shared_ptr<const Function> before = std::move(made);  // the one it replaces goes when the lock has
  const nb::ft_lock_guard lock(functions_mutex);
  functions()[std::string(record.c_str(), record.size())].swap(before);
}

// ---- Callbacks by name -------------------------------------------------------------------------------------------------

constexpr std::size_t kMaxCallbacks = 512;
PyObject* callbacks[kMaxCallbacks] = {};
std::size_t callback_count = 0;  // guarded by the mutex of functions

nb::object scalar_value(const xla::ScalarValue& scalar, const nb::object& make) {
  const Type* type = interop::scalar_of(scalar.dtype);
  const std::size_t size = type ? type->size() : 0;
  return make(int(scalar.dtype), nb::bytes(static_cast<const char*>(scalar.value), size), false);
}

/// The buffers as (address, number of the element type, shape); Python makes what callbacks see of them.
nb::list described(const xla::Arguments& list) {
  nb::list out;
  for (std::int64_t i = 0; i < list.size; ++i) {
    const xla::Buffer& buffer = interop::buffer_at(list, std::size_t(i), "buffer");
    out.append(nb::make_tuple(reinterpret_cast<std::uintptr_t>(buffer.data), int(buffer.dtype), shape_of(buffer)));
  }
  return out;
}

nb::dict attributes_of(const xla::Attributes& list, const nb::object& make) {
  nb::dict out;
  for (std::int64_t i = 0; i < list.size; ++i) {
    const nb::str name(list.names[i]->data, list.names[i]->size);
    switch (list.types[i]) {
      case xla::kString: {
        const auto* text = static_cast<const xla::ByteSpan*>(list.values[i]);
        out[name] = nb::str(text->data, text->size);
        break;
      }
      case xla::kScalarAttribute:
        out[name] = scalar_value(*static_cast<const xla::ScalarValue*>(list.values[i]), make);
        break;
      case xla::kArrayAttribute: {
        const auto* array = static_cast<const xla::ArrayValue*>(list.values[i]);
        const Type* type = interop::scalar_of(array->dtype);
        out[name] =
            make(int(array->dtype),
                 nb::bytes(static_cast<const char*>(array->data), array->size * (type ? type->size() : 0)), true);
        break;
      }
      case xla::kDictionary:
        out[name] = attributes_of(*static_cast<const xla::Attributes*>(list.values[i]), make);
        break;
    }
  }
  return out;
}

/// Callback number k, on a platform: (make_value, run) were registered for it, and run(inputs, outputs, attributes,
/// stream, stage, device ordinal, place) is called.
xla::Error* run_callback(xla::CallFrame* frame, std::size_t k, bool cuda, std::uint32_t traits) noexcept {
  return guarded(frame, traits, [&] {
    const driver::LaunchPlace place = cuda ? interop::cuda_place(*frame) : driver::LaunchPlace{};
    const nb::tuple entry = nb::borrow<nb::tuple>(callbacks[k]);
    const nb::object make = entry[0], run = entry[1];
    const auto stream = cuda ? reinterpret_cast<std::uintptr_t>(place.gpu.stream->handle()) : 0;
    run(described(frame->arguments), described(frame->results), attributes_of(frame->attributes, make), stream,
        int(frame->stage), interop::device_ordinal(*frame), cuda ? place.device->ordinal() : kOnCpu);
  });
}

// XLA passes nothing to a handler that would tell which of several it is: each callback has code of its own.
template <std::size_t K>
struct Callback {
  static xla::Error* host(xla::CallFrame* frame) noexcept { return run_callback(frame, K, false, 0); }
  static xla::Error* captured(xla::CallFrame* frame) noexcept {
    return run_callback(frame, K, true, xla::kCommandBufferCompatible);
  }
  static xla::Error* queued(xla::CallFrame* frame) noexcept { return run_callback(frame, K, true, 0); }
};

struct CallbackHandlers {
  interop::XlaHandler host, captured, queued;
};

template <std::size_t... K>
constexpr std::array<CallbackHandlers, sizeof...(K)> all_callbacks(std::index_sequence<K...>) {
  return {{{&Callback<K>::host, &Callback<K>::captured, &Callback<K>::queued}...}};
}
constexpr auto kCallbacks = all_callbacks(std::make_index_sequence<kMaxCallbacks>());

nb::object capsule(interop::XlaHandler handler) {
  return nb::steal(PyCapsule_New(reinterpret_cast<void*>(handler), nullptr, nullptr));
}

}  // namespace

xla::Error* call_on_host(xla::CallFrame* frame) noexcept {
  return guarded(frame, 0, [&] { call_function(*frame, {}); });
}
xla::Error* call_on_cuda(xla::CallFrame* frame) noexcept {
  return guarded(frame, xla::kCommandBufferCompatible, [&] { call_function(*frame, interop::cuda_place(*frame)); });
}
xla::Error* call_on_cuda_uncaptured(xla::CallFrame* frame) noexcept {
  return guarded(frame, 0, [&] { call_function(*frame, interop::cuda_place(*frame)); });
}

void register_xla_calls(nb::module_& m) {
  m.def("xla_register_function", &register_function, nb::arg("record"), nb::arg("arg_types"), nb::arg("ret_types"),
        nb::arg("begins"), nb::arg("batch_rank"), nb::arg("function"), nb::arg("direct").none() = nb::none(),
        nb::arg("slots") = nb::list(),
        "Lets calls with this record call function(arguments, results, place, stream), or on the CPU direct(*slots): "
        "(argument, result, value) each.");
  m.def(
      "xla_new_callback",
      [](nb::object make_value, nb::object run, bool graph_compatible) {
        const nb::ft_lock_guard lock(functions_mutex);
        if (callback_count == kMaxCallbacks)
          throw std::runtime_error("a process has at most " + std::to_string(kMaxCallbacks) +
                                   " callbacks; register one function and tell cases apart by an attribute");
        const std::size_t k = callback_count++;
        callbacks[k] = nb::make_tuple(make_value, run).release().ptr();
        const CallbackHandlers& one = kCallbacks[k];
        return nb::make_tuple(capsule(one.host), capsule(graph_compatible ? one.captured : one.queued));
      },
      nb::arg("make_value"), nb::arg("run"), nb::arg("graph_compatible"),
      "Capsules of a new handler, for the CPU and for CUDA, that calls run(inputs, outputs, attributes, stream, stage, "
      "device ordinal, place).");
}

}  // namespace weft::bind
