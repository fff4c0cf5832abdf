// Moments of faces for winding numbers, beside every child of a finished tree.
#pragma once
#include "geometry/host/build_tree.h"

namespace weft::geometry {

/// Writes `tree.moments`, which has room for all nodes, from boxes and corners of the tree.
void compute_moments(const HostTree& tree);

/// Bytes that they take.
std::uint64_t moment_bytes(const HostTree& tree);

}  // namespace weft::geometry
