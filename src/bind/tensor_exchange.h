// Tensors of PyTorch and Paddle as arrays: what from_torch and from_paddle have in common, which is all but names, how a
// tensor says that it wants a gradient, and where that lies.
#pragma once
#include "bind/exchange.h"

namespace weft::bind {

/// What a library of tensors has told, once it is imported.
struct __attribute__((visibility("hidden"))) TensorLibrary {
  const char* function;                                       // "from_torch", for messages
  const char* tensor;                                         // "torch.Tensor"
  const char* tracked;                                        // attribute that says whether a tensor wants a gradient:
  bool tracked_if;                                            // if it is this
  const char* leaf;                                           // attribute of tensors that keep their gradient
  std::string (*reason)(nb::handle tensor, std::string why);  // more than the reader of memory can say, or null

  nb::object start{};           // (): Python tells of the library, or raises
  nb::object handles{};         // dict: dtype → handle of elements without trouble
  nb::object element_handle{};  // (dtype) → handle; raises
  nb::object gradient_of{};     // (tensor) → tensor or None: the gradient to share, made if need be
  nb::object grad_enabled{};    // (): whether the library records what is done to tensors
  nb::object note_private{};    // (): says once that a leaf's gradient is not shared; None: nothing is said
  nb::object tensor_class{};
  PyObject* names[3] = {};       // interned: tracked, leaf, "grad"
  PyGetSetDef* getters[3] = {};  // of these attributes in tensor_class, where C answers; null: asked by name
  bool noted = false;

  /// Takes what Python tells.
  void set(const nb::dict& told);
};

/// What answers for an attribute of a class, if C does; it lives as long as the class.
PyGetSetDef* getter_of(nb::handle cls, PyObject* name);

/// To be called once before the next.
void prepare_from_tensor();
/// from_torch and from_paddle: (t, dtype=None, requires_grad=None, grad=None, return_ctype=False, retain_grad=False).
PyObject* from_tensor(TensorLibrary& library, PyObject* const* args, Py_ssize_t count, PyObject* keywords) noexcept;

}  // namespace weft::bind
