// Arrays over buckets of memory that another program keeps (Omniverse's Fabric): `fabricarray`, with `rank` 2 arrays of arrays,
// and either seen through an index array. In the IR they are structs of tables:
//   {size: i32, starts: array<i32,1>, pointers: array<u64,1>}: element i lies in the last bucket b with starts[b] <= i, at
//     pointers[b]; starts has one entry more than there are buckets, the size;
//   with rank 2 also {lengths: array<u64,1>}: pointers[b] and lengths[b] are where the addresses and the lengths of a bucket's
//     arrays stand;
//   indexed: {fa: the struct above, indices: array<i32,1>}.
#pragma once
#include <cstdint>

#include "types/type.h"

namespace weft {

struct FabricType {
  const Type* type = nullptr;  // the struct
  const Type* element = nullptr;
  std::uint32_t rank = 1;
  bool indexed = false;
};

/// What is known of a type; null if it is no such array.
const FabricType* fabric_type(const Type* type);

namespace types {
/// `rank`: 1, or 2 for an array of arrays.
const FabricType& fabric_array(const Type* element, std::uint32_t rank, bool indexed);
}  // namespace types

}  // namespace weft
