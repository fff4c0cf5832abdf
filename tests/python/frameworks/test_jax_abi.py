"""Our declaration of XLA's interface against the header that the installed jaxlib brings: every size, offset and number."""

from __future__ import annotations

import pathlib
import shutil
import subprocess

import pytest
from jax_support import jax

SOURCE = pathlib.Path(__file__).resolve().parents[3] / "src"

PAIRS = {
    "XLA_FFI_Extension_Base Extension": "struct_size type next",
    "XLA_FFI_Api_Version ApiVersion": "struct_size extension_start:extensions major_version minor_version",
    "XLA_FFI_Error_Create_Args ErrorCreateArgs": "struct_size extension_start:extensions message errc:code",
    "XLA_FFI_Error_Destroy_Args ErrorDestroyArgs": "struct_size extension_start:extensions error",
    "XLA_FFI_Buffer Buffer": "struct_size extension_start:extensions dtype data rank dims",
    "XLA_FFI_ByteSpan ByteSpan": "ptr:data len:size",
    "XLA_FFI_Scalar ScalarValue": "dtype value",
    "XLA_FFI_Array ArrayValue": "dtype size data",
    "XLA_FFI_Args Arguments": "struct_size extension_start:extensions size types args:values",
    "XLA_FFI_Rets Arguments": "struct_size extension_start:extensions size types rets:values",
    "XLA_FFI_Attrs Attributes": "struct_size extension_start:extensions size types names attrs:values",
    "XLA_FFI_CallFrame CallFrame": "struct_size extension_start:extensions api ctx:context stage args:arguments "
    "rets:results attrs:attributes",
    "XLA_FFI_Stream_Get_Args StreamGetArgs": "struct_size extension_start:extensions ctx:context stream",
    "XLA_FFI_Metadata Metadata": "struct_size api_version:version traits",
    "XLA_FFI_Metadata_Extension MetadataExtension": "extension_base:base metadata",
    "XLA_FFI_Api Api": "struct_size extension_start:extensions api_version:version internal_api:internal "
    "XLA_FFI_Error_Create:error_create XLA_FFI_Error_GetMessage:error_message XLA_FFI_Error_Destroy:error_destroy "
    "XLA_FFI_Handler_Register:handler_register XLA_FFI_Stream_Get:stream_get",
}
NEWER = {
    "XLA_FFI_DeviceOrdinal_Get_Args DeviceOrdinalGetArgs": "struct_size extension_start:extensions ctx:context "
    "device_ordinal:ordinal",
    "XLA_FFI_Api Api": "XLA_FFI_DeviceOrdinal_Get:device_ordinal_get",
}
RENAMED = {
    "XLA_FFI_Extension_Base": "XLA_FFI_InternalExtension",
    "XLA_FFI_Error_GetMessage": "XLA_FFI_Error_GetDetails",
}
NUMBERS = {
    "XLA_FFI_Extension_Metadata": "kMetadataExtension",
    "XLA_FFI_Error_Code_INVALID_ARGUMENT": "kInvalidArgument",
    "XLA_FFI_Error_Code_NOT_FOUND": "kNotFound",
    "XLA_FFI_Error_Code_RESOURCE_EXHAUSTED": "kResourceExhausted",
    "XLA_FFI_Error_Code_OUT_OF_RANGE": "kOutOfRange",
    "XLA_FFI_Error_Code_UNIMPLEMENTED": "kUnimplemented",
    "XLA_FFI_Error_Code_INTERNAL": "kInternal",
    **{f"XLA_FFI_DataType_{n}": f"k{n}" for n in "S8 S16 S32 S64 U8 U16 U32 U64 F16 F32 F64 BF16".split()},
    "XLA_FFI_DataType_PRED": "kPred",
    "XLA_FFI_ArgType_BUFFER": "kBufferArgument",
    "XLA_FFI_RetType_BUFFER": "kBufferArgument",
    "XLA_FFI_AttrType_ARRAY": "kArrayAttribute",
    "XLA_FFI_AttrType_DICTIONARY": "kDictionary",
    "XLA_FFI_AttrType_SCALAR": "kScalarAttribute",
    "XLA_FFI_AttrType_STRING": "kString",
    "XLA_FFI_ExecutionStage_INSTANTIATE": "kInstantiate",
    "XLA_FFI_ExecutionStage_PREPARE": "kPrepare",
    "XLA_FFI_ExecutionStage_INITIALIZE": "kInitialize",
    "XLA_FFI_ExecutionStage_EXECUTE": "kExecute",
    "XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE": "kCommandBufferCompatible",
}


def test_offsets_and_numbers(tmp_path):
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    header = pathlib.Path(jax.ffi.include_dir()) / "xla/ffi/api/c_api.h"
    if compiler is None or not header.exists():
        pytest.skip("a C++ compiler and jaxlib's headers are needed")
    text = header.read_text()
    pairs = [*PAIRS.items()]
    if "XLA_FFI_DeviceOrdinal_Get" in text:
        pairs += NEWER.items()
    if "XLA_FFI_Extension_Base" not in text:  # since 0.5 of the interface; the same words in the same places
        for old, new in RENAMED.items():
            pairs = [(names.replace(old, new), members.replace(old, new)) for names, members in pairs]
    lines = ["#include <type_traits>", '#include "xla/ffi/api/c_api.h"', '#include "interop/xla_abi.h"',
             "namespace ours = weft::interop::xla;"]  # fmt: skip
    for names, members in pairs:
        theirs, own = names.split()
        for member in members.split():
            a, _, b = member.partition(":")
            place = f"offsetof({theirs}, {a}) == offsetof(ours::{own}, {b or a})"
            size = f"sizeof((({theirs}*)0)->{a}) == sizeof(((ours::{own}*)0)->{b or a})"
            whole = a.startswith("args") or a.startswith("rets") or a.startswith("attrs")
            lines.append(f'static_assert({place} && ({size}{" || true" if whole else ""}), "{theirs}.{a}");')
    lines += [f'static_assert(int({a}) == int(ours::{b}), "{a}");' for a, b in NUMBERS.items()]
    file = tmp_path / "abi.cpp"
    file.write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [compiler, "-std=c++20", "-fsyntax-only", "-Wno-invalid-offsetof", f"-I{header.parents[3]}", f"-I{SOURCE}",
         str(file)], capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
