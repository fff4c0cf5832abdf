// Kernels in Python and the hot path: wp.launch reads its arguments straight into a parameter block on the stack.
#include "bind/bind.h"
#include "bind/hooks.h"
#include "runtime/errors.h"

namespace weft::bind {
namespace {

constexpr std::size_t kStackBlock = 2048;
constexpr double kReleaseGilNs = 5000;  // launches known to be shorter keep the GIL: taking it back can cost more

struct KernelObject {
  std::unique_ptr<driver::KernelFamily> family;
  std::shared_ptr<const sema::FunctionDecl> decl;

  const std::vector<sema::KernelParam>& params() {
    DiagnosticSink sink;
    const auto* known = family->params(sink);
    if (!known) raise_compile_error(sink);
    return *known;
  }
};

driver::CompileOptions options_from(nb::dict d) {
  driver::CompileOptions o;
  auto flag = [&](const char* name, bool& out) {
    if (d.contains(name)) out = nb::cast<bool>(d[name]);
  };
  auto number = [&](const char* name, int& out) {
    if (d.contains(name)) out = nb::cast<int>(d[name]);
  };
  flag("debug", o.debug);
  flag("verify_fp", o.verify_fp);
  flag("fuse_fp", o.fuse_fp);
  flag("fast_math", o.fast_math);
  flag("cache", o.use_cache);
  number("opt_level", o.opt_level);
  number("lanes", o.lanes);
  number("max_unroll", o.max_unroll);
  return o;
}

std::size_t read_dims(nb::handle dim, std::int64_t out[kMaxRank]) {
  auto one = [&](nb::handle h, std::size_t i) {
    PyObject* index = PyNumber_Index(h.ptr());
    if (!index) throw nb::python_error();  // TypeError: a float is no extent
    nb::object owned = nb::steal(index);
    out[i] = PyLong_AsLongLong(index);
    if (out[i] == -1 && PyErr_Occurred()) throw nb::python_error();
  };
  if (PyLong_Check(dim.ptr())) {
    one(dim, 0);
    return 1;
  }
  if (PyTuple_Check(dim.ptr()) || PyList_Check(dim.ptr())) {
    std::size_t n = std::size_t(PySequence_Size(dim.ptr()));
    if (n < 1 || n > std::size_t(kMaxRank))
      throw nb::value_error("launch dimensions: a kernel runs over 1 to 4 dimensions");
    for (std::size_t i = 0; i < n; ++i) one(nb::borrow<nb::sequence>(dim)[i], i);
    return n;
  }
  if (PySequence_Check(dim.ptr())) {
    nb::tuple t(nb::borrow(dim));
    return read_dims(t, out);
  }
  one(dim, 0);
  return 1;
}

void emit_warnings(const DiagnosticSink& sink) {
  if (!hooks().warn.is_valid()) return;
  for (const Diagnostic& d : sink.all())
    if (d.severity() == Severity::warning) hooks().warn(render(d));
}

/// The arguments of one launch: inputs then outputs, without copying the lists.
struct ArgumentList {
  PyObject* parts[2];
  std::size_t sizes[2];
  std::size_t total;
  PyObject* operator[](std::size_t i) const {
    bool second = i >= sizes[0];
    PyObject* list = parts[second];
    std::size_t k = second ? i - sizes[0] : i;
    return PyTuple_Check(list) ? PyTuple_GET_ITEM(list, Py_ssize_t(k)) : PyList_GET_ITEM(list, Py_ssize_t(k));
  }
};

ArgumentList argument_list(nb::handle inputs, nb::handle outputs, nb::object hold[2]) {
  ArgumentList args{};
  nb::handle given[2] = {inputs, outputs};
  for (int i = 0; i < 2; ++i) {
    hold[i] = nb::borrow(given[i]);
    if (!PyTuple_Check(given[i].ptr()) && !PyList_Check(given[i].ptr())) {
      if (!PySequence_Check(given[i].ptr())) throw nb::type_error("inputs and outputs of a launch are lists");
      hold[i] = nb::tuple(nb::borrow(given[i]));
    }
    args.parts[i] = hold[i].ptr();
    args.sizes[i] = std::size_t(PySequence_Size(args.parts[i]));
  }
  args.total = args.sizes[0] + args.sizes[1];
  return args;
}

void set_default(char* to, const Type* type, const sema::Constant& value) {
  std::uint64_t bits = 0;
  switch (value.form) {
    case sema::Constant::Form::integer: {
      std::int64_t n = value.negative ? -std::int64_t(value.magnitude) : std::int64_t(value.magnitude);
      bits = type->is_float() ? ir::float_to_bits(type->scalar_kind(), double(n))
                              : ir::int_to_bits(type->scalar_kind(), n);
      std::memcpy(to, &bits, type->size());
      return;
    }
    case sema::Constant::Form::real:
      bits = ir::float_to_bits(type->scalar_kind(), value.real);
      std::memcpy(to, &bits, type->size());
      return;
    case sema::Constant::Form::typed: {
      std::size_t step = type->is_scalar() ? type->size() : type->element()->size();
      for (std::size_t k = 0; k < value.bits.size(); ++k) std::memcpy(to + k * step, &value.bits[k], step);
      return;
    }
    case sema::Constant::Form::text: return;
  }
}

driver::KernelSignature& signature_for(KernelObject& kernel, const ArgumentList& args) {
  if (driver::KernelSignature* plain = kernel.family->plain_signature(); plain && args.total == plain->types.size())
    return *plain;
  const auto& params = kernel.params();
  std::size_t required = params.size();
  while (required > 0 && params[required - 1].has_default) --required;
  if (args.total > params.size() || args.total < required) {
    std::string text = "Error launching kernel '" + kernel.family->name() + "': it takes " +
                       std::to_string(params.size()) + " arguments, got " + std::to_string(args.total);
    PyErr_SetString(PyExc_RuntimeError, text.c_str());
    throw nb::python_error();
  }
  std::vector<const Type*> types;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const builtins::Pattern& pattern = params[i].pattern;
    const Type* type = pattern.kind == builtins::Pattern::Kind::exact ? pattern.type
                       : i < args.total                               ? type_of_value(args[i])
                                                                      : nullptr;
    builtins::Bindings bindings;
    if (!type || !builtins::match(pattern, type, bindings)) {
      std::string text = "Error launching kernel '" + kernel.family->name() + "': argument '" + params[i].name + "': " +
                         (type ? builtins::to_string(pattern) + " does not take " + type->user_name()
                               : "its type can't be told; pass a typed value");
      PyErr_SetString(PyExc_RuntimeError, text.c_str());
      throw nb::python_error();
    }
    types.push_back(type);
  }
  return kernel.family->signature(types);
}

/// A parameter block, on the stack unless it is large.
class Block {
 public:
  explicit Block(std::size_t size) {
    if (size > sizeof stack_) heap_ = std::make_unique<std::uint64_t[]>((size + 7) / 8);
  }
  char* data() { return heap_ ? reinterpret_cast<char*>(heap_.get()) : stack_; }

 private:
  alignas(8) char stack_[kStackBlock];
  std::unique_ptr<std::uint64_t[]> heap_;
};

void fill_block(KernelObject& kernel, const driver::KernelSignature& signature, const ArgumentList& args, char* block,
                std::vector<nb::object>& keep) {
  const char* name = kernel.family->name().c_str();
  for (std::size_t i = 0; i < signature.types.size(); ++i) {
    const ParamLayout::Param& p = signature.layout.params[i];
    if (i >= args.total) {
      set_default(block + p.offset, p.type, kernel.params()[i].default_value);
      continue;
    }
    PyObject* value = args[i];
    if (p.type == types::f32() && PyFloat_CheckExact(value)) {
      float v = float(PyFloat_AS_DOUBLE(value));
      std::memcpy(block + p.offset, &v, 4);
    } else {
      pack_value(value, p.type, block + p.offset, name, p.name, keep);
    }
  }
}

const driver::KernelVariant& variant_for(KernelObject& kernel, driver::KernelSignature& signature, std::size_t rank,
                                         const char* block) {
  bool no_overlap = !driver::any_overlap(signature.layout, block);
  if (const driver::KernelVariant* ready = signature.variants[rank - 1][no_overlap].load(std::memory_order_acquire))
    return *ready;
  DiagnosticSink sink;
  const driver::KernelVariant* variant = nullptr;
  {
    nb::gil_scoped_release release;  // the resolver takes it back where it asks Python
    variant = kernel.family->variant(signature, int(rank), no_overlap, sink);
  }
  if (!variant) raise_compile_error(sink);
  emit_warnings(sink);
  return *variant;
}

void run(KernelObject& kernel, const driver::KernelVariant& variant, const char* block,
         std::span<const std::int64_t> dims, bool serial, int max_threads) {
  driver::LaunchRequest request{dims, {}};
  request.options.serial = serial;
  request.options.max_threads = max_threads;
  double threads = 1;
  for (std::int64_t n : dims) threads *= double(n);
  double cost = variant.binary ? threads * variant.binary->code().ns_per_thread : kReleaseGilNs;
  if (cost < kReleaseGilNs) return kernel.family->run(variant, block, request);
  nb::gil_scoped_release release;
  kernel.family->run(variant, block, request);
}

void launch(KernelObject& kernel, nb::handle dim, nb::handle inputs, nb::handle outputs, bool serial, int max_threads) {
  std::int64_t dims[kMaxRank];
  std::size_t rank = read_dims(dim, dims);
  nb::object hold[2];
  ArgumentList args = argument_list(inputs, outputs, hold);
  driver::KernelSignature& signature = signature_for(kernel, args);
  Block block(signature.layout.size);
  std::vector<nb::object> keep;
  fill_block(kernel, signature, args, block.data(), keep);
  runtime::KernelCode any;
  any.name = kernel.family->name();
  any.tid_dims_read = 0;
  runtime::launch_size(any, std::span(dims, rank));
  const driver::KernelVariant& variant = variant_for(kernel, signature, rank, block.data());
  run(kernel, variant, block.data(), std::span(dims, rank), serial, max_threads);
}

/// A launch with its arguments packed once (record_cmd=True).
struct RecordedLaunch {
  nb::object kernel_owner;
  KernelObject* kernel = nullptr;
  driver::KernelSignature* signature = nullptr;
  std::vector<std::uint64_t> block;
  std::vector<nb::object> keep;  // one per parameter
  std::vector<std::int64_t> dims;
  bool serial = false;

  char* bytes() { return reinterpret_cast<char*>(block.data()); }
  void set(std::size_t index, nb::handle value) {
    if (index >= signature->types.size()) throw nb::index_error("there is no such parameter");
    const ParamLayout::Param& p = signature->layout.params[index];
    std::vector<nb::object> extra;
    pack_value(value, p.type, bytes() + p.offset, kernel->family->name().c_str(), p.name, extra);
    nb::list held;
    held.append(nb::borrow(value));
    for (nb::object& o : extra) held.append(o);
    keep[index] = held;
  }
};

}  // namespace

Hooks& hooks() {
  static Hooks* h = new Hooks;  // outlives module teardown
  return *h;
}

void register_kernels(nb::module_& m) {
  m.def("set_hooks", [](nb::object as_array, nb::object make_value, nb::object type_of, nb::object warn) {
    hooks() = {std::move(as_array), std::move(make_value), std::move(type_of), std::move(warn)};
  });
  nb::class_<KernelObject>(m, "Kernel", "A kernel and all its compiled forms.")
      .def(
          "__init__",
          [](KernelObject* self, const FunctionObject& f, nb::dict options, bool interpret) {
            new (self) KernelObject;
            self->decl = f.decl;
            self->family = std::make_unique<driver::KernelFamily>(f.decl, options_from(options), Hash128{}, interpret);
          },
          nb::arg("function"), nb::arg("options"), nb::arg("interpret") = false)
      .def_prop_ro("name", [](const KernelObject& k) { return k.family->name(); })
      .def("params",
           [](KernelObject& k) {
             nb::list out;
             for (const sema::KernelParam& p : k.params()) {
               bool exact = p.pattern.kind == builtins::Pattern::Kind::exact;
               out.append(nb::make_tuple(p.name, exact ? nb::cast(TypeHandle{p.pattern.type}) : nb::none(),
                                         builtins::to_string(p.pattern), p.has_default));
             }
             return out;
           })
      .def(
          "build",
          [](KernelObject& k, const std::vector<TypeHandle>& types, int rank) {
            std::vector<const Type*> list;
            for (const TypeHandle& t : types) list.push_back(t.type);
            if (list.empty())
              for (const sema::KernelParam& p : k.params()) list.push_back(p.pattern.type);
            DiagnosticSink sink;
            const driver::KernelVariant* variant = nullptr;
            {
              nb::gil_scoped_release release;
              variant = k.family->variant(k.family->signature(list), rank, true, sink);
            }
            if (!variant) raise_compile_error(sink);
            emit_warnings(sink);
          },
          nb::arg("types"), nb::arg("rank") = 1)
      .def("launch", &launch, nb::arg("dim"), nb::arg("inputs"), nb::arg("outputs"), nb::arg("serial") = false,
           nb::arg("max_threads") = 0)
      .def(
          "record",
          [](nb::object self, nb::handle dim, nb::handle inputs, nb::handle outputs, bool serial) {
            auto& kernel = nb::cast<KernelObject&>(self);
            RecordedLaunch r;
            std::int64_t dims[kMaxRank];
            std::size_t rank = read_dims(dim, dims);
            nb::object hold[2];
            ArgumentList args = argument_list(inputs, outputs, hold);
            r.kernel_owner = self;
            r.kernel = &kernel;
            r.signature = &signature_for(kernel, args);
            r.block.resize((r.signature->layout.size + 7) / 8 + 1);
            r.keep.resize(r.signature->types.size());
            for (std::size_t i = 0; i < r.signature->types.size(); ++i) {
              if (i < args.total)
                r.set(i, args[i]);
              else
                set_default(r.bytes() + r.signature->layout.params[i].offset, r.signature->types[i],
                            kernel.params()[i].default_value);
            }
            r.dims.assign(dims, dims + rank);
            r.serial = serial;
            return r;
          },
          nb::arg("dim"), nb::arg("inputs"), nb::arg("outputs"), nb::arg("serial") = false);
  nb::class_<RecordedLaunch>(m, "RecordedLaunch")
      .def("set_param", [](RecordedLaunch& r, std::size_t i, nb::handle value) { r.set(i, value); })
      .def("set_dim",
           [](RecordedLaunch& r, nb::handle dim) {
             std::int64_t dims[kMaxRank];
             std::size_t rank = read_dims(dim, dims);
             r.dims.assign(dims, dims + rank);
           })
      .def_prop_ro("dim", [](const RecordedLaunch& r) { return nb::tuple(nb::cast(r.dims)); })
      .def("launch", [](RecordedLaunch& r) {
        const driver::KernelVariant& variant = variant_for(*r.kernel, *r.signature, r.dims.size(), r.bytes());
        run(*r.kernel, variant, r.bytes(), r.dims, r.serial, 0);
      });
}

}  // namespace weft::bind
