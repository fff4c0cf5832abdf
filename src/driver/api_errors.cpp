// Diagnostics as messages, and inner exceptions as public ones.
#include "driver/api_errors.h"

#include "codegen/codegen.h"
#include "cuda/driver.h"
#include "interp/interpreter.h"
#include "runtime/errors.h"

namespace weft::driver {

void throw_public() {
  try {
    throw;
  } catch (const runtime::KernelError& e) {
    const auto& d = e.details();
    throw KernelError(e.what(), d.file, d.line, {d.thread.begin(), d.thread.begin() + d.rank});
  } catch (const runtime::ArgumentError& e) {
    throw ArgumentError(e.what());
  } catch (const runtime::LaunchError& e) {
    throw LaunchError(e.what());
  } catch (const runtime::OutOfMemory& e) {
    throw MemoryError(e.what());
  } catch (const cuda::Unavailable& e) {
    throw DeviceError(e.what());
  } catch (const cuda::DriverError& e) {
    throw DeviceError(e.what());
  } catch (const runtime::Error& e) {
    throw Error(e.what());
  } catch (const interp::Error& e) {
    throw KernelError(e.what(), e.loc().file ? e.loc().file->name() : "", int(e.loc().line), {});
  } catch (const codegen::Error& e) {
    throw Error(e.what());
  }
}

std::vector<Message> to_messages(const DiagnosticSink& sink) {
  std::vector<Message> out;
  for (const Diagnostic& d : sink.all()) {
    Message m;
    switch (d.severity()) {
      case Severity::error: m.kind = Message::Kind::error; break;
      case Severity::warning: m.kind = Message::Kind::warning; break;
      case Severity::note: m.kind = Message::Kind::note; break;
    }
    m.code = std::string(name_of(d.code));
    m.file = d.loc.file ? d.loc.file->name() : "";
    m.line = d.loc.line;
    m.column = d.loc.col;
    m.text = d.text;
    m.rendered = render(d);
    out.push_back(std::move(m));
  }
  return out;
}

void throw_on_errors(const DiagnosticSink& sink) {
  if (!sink.has_errors()) return;
  std::string text;
  for (const Diagnostic& d : sink.all())
    if (d.severity() == Severity::error) text += render(d);
  throw CompileError(text, to_messages(sink));
}

}  // namespace weft::driver
