// The few types and constants of the CUDA driver API that the runtime uses, declared here so that building needs no
// toolkit. Values are those of the driver's stable binary interface; names follow this project's style, the comment of
// each group says what NVIDIA calls it.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft::cuda {

using Result = int;        // CUresult
using DeviceNumber = int;  // CUdevice
using DevicePtr = std::uint64_t;

using ContextHandle = struct ContextTag*;
using StreamHandle = struct StreamTag*;
using EventHandle = struct EventTag*;
using ModuleHandle = struct ModuleTag*;
using FunctionHandle = struct FunctionTag*;
using GraphHandle = struct GraphTag*;
using GraphNodeHandle = struct GraphNodeTag*;
using ConditionHandle = std::uint64_t;  // CUgraphConditionalHandle
using GraphExecHandle = struct GraphExecTag*;
using LinkHandle = struct LinkTag*;
using PoolHandle = struct PoolTag*;

// CUDA_ERROR_…
inline constexpr Result kSuccess = 0;
inline constexpr Result kErrorInvalidValue = 1;
inline constexpr Result kErrorOutOfMemory = 2;
inline constexpr Result kErrorDeinitialized = 4;
inline constexpr Result kErrorNoDevice = 100;
inline constexpr Result kErrorInvalidContext = 201;
inline constexpr Result kErrorNotReady = 600;
inline constexpr Result kErrorCaptureUnjoined = 904;
inline constexpr Result kErrorCapturedEvent = 907;
inline constexpr Result kErrorPeerAccessAlreadyEnabled = 704;
inline constexpr Result kErrorPeerAccessNotEnabled = 705;

// CU_DEVICE_ATTRIBUTE_…
inline constexpr int kAttributeMaxThreadsPerBlock = 1;
inline constexpr int kAttributeMultiprocessorCount = 16;
inline constexpr int kAttributeUnifiedAddressing = 41;
inline constexpr int kAttributeComputeMajor = 75;
inline constexpr int kAttributeComputeMinor = 76;
inline constexpr int kAttributeManagedMemory = 83;
inline constexpr int kAttributeMaxSharedMemory = 97;  // per block, with opt-in
inline constexpr int kAttributeMemoryPools = 115;
inline constexpr int kAttributeIpcEvents = 125;

// CU_STREAM_…, CU_EVENT_…
inline constexpr unsigned kStreamDefault = 0;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kEventInterprocess = 4;
inline constexpr unsigned kEventExternal = 1;  // record and wait: a node of its own while a graph is captured

// CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_STATUS_ACTIVE
inline constexpr int kCaptureRelaxed = 2;
inline constexpr int kCaptureActive = 1;
// CU_STREAM_SET_CAPTURE_DEPENDENCIES
inline constexpr unsigned kCaptureSetLeaves = 1;

// CU_GRAPH_NODE_TYPE_CONDITIONAL, CU_GRAPH_COND_TYPE_…
inline constexpr int kNodeCondition = 13;
inline constexpr int kConditionIf = 0;
inline constexpr int kConditionWhile = 1;

// CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
inline constexpr unsigned kIpcLazyPeers = 1;

// CU_JIT_…
inline constexpr int kJitInfoLog = 3;
inline constexpr int kJitInfoLogSize = 4;
inline constexpr int kJitErrorLog = 5;
inline constexpr int kJitErrorLogSize = 6;
inline constexpr int kJitOptimizationLevel = 7;
inline constexpr int kJitLineInfo = 13;
inline constexpr int kJitInputPtx = 1;

// CU_FUNC_ATTRIBUTE_…
inline constexpr int kFunctionMaxThreads = 0;
inline constexpr int kFunctionOwnSharedBytes = 1;  // variables of the code
inline constexpr int kFunctionLocalBytes = 3;
inline constexpr int kFunctionRegisters = 4;
inline constexpr int kFunctionSharedBytes = 8;  // that launches ask for, beyond the usual
inline constexpr int kFunctionAnyCluster = 14;  // also those that not every device of the architecture has
inline constexpr int kLaunchClusterDimension = 4;
inline constexpr int kLaunchMayStartEarly = 6;

// CU_MEMPOOL_ATTR_…
inline constexpr int kPoolReleaseThreshold = 4;
inline constexpr int kPoolUsedNow = 7;
inline constexpr int kPoolUsedMost = 8;

// CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_DEVICEMAP
inline constexpr unsigned kHostPortable = 1;
inline constexpr unsigned kHostMapped = 2;

// CU_POINTER_ATTRIBUTE_…, CU_MEMORYTYPE_…
inline constexpr int kPointerMemoryType = 2;
inline constexpr int kPointerDeviceOrdinal = 9;
inline constexpr int kPointerRangeStart = 11;
inline constexpr unsigned kMemoryTypeHost = 1;
inline constexpr unsigned kMemoryTypeDevice = 2;

// CU_LAUNCH_PARAM_…
inline void* const kLaunchParamEnd = nullptr;
inline void* const kLaunchParamPointer = reinterpret_cast<void*>(1);
inline void* const kLaunchParamSize = reinterpret_cast<void*>(2);

struct Uuid {
  unsigned char bytes[16];
};

/// CUipcMemHandle and CUipcEventHandle: what another process opens.
struct IpcHandle {
  char bytes[64];
};

/// CUgraphNodeParams, as far as conditions need it.
struct GraphNodeParams {
  int type = kNodeCondition;
  int reserved0[3] = {};
  ConditionHandle condition = 0;
  int kind = kConditionIf;
  unsigned size = 1;              // graphs
  GraphHandle* bodies = nullptr;  // set by the driver: as many, its own
  ContextHandle context = nullptr;
  std::int64_t reserved1[25] = {};
  std::int64_t reserved2 = 0;
};
static_assert(sizeof(GraphNodeParams) == 256, "the driver knows the size");

/// CUlaunchAttribute and CUlaunchConfig, as far as questions about clusters of blocks and early starts need them.
struct LaunchAttribute {
  int id = kLaunchClusterDimension;
  int reserved0 = 0;
  unsigned value[16] = {};
};
struct LaunchConfig {
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, shared_bytes = 0;
  StreamHandle stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned count = 0;  // of attributes
};
static_assert(sizeof(LaunchAttribute) == 72 && sizeof(LaunchConfig) == 56, "the driver knows the sizes");

/// CUmemAccessDesc: which device may do what with a pool's memory.
struct PoolAccess {
  int location_type = 1;  // a device
  int location_id = 0;
  int flags = 3;  // read and write; 0: none
};

}  // namespace weft::cuda
