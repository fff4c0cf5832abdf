// From the binary tree to the nodes and leaves that a device walks.
#pragma once
#include <cstdint>
#include <vector>

#include "geometry/host/binary_tree.h"
#include "geometry/host/build_tree.h"

namespace weft::geometry {

/// Writes nodes, leaves and the table of groups of `tree`, whose `wide` and `of_faces` are set. `groups` are the groups that
/// have a node marked as their root, ascending; empty without.
void lay_out(const BinaryNode& root, const Workspace& work, const TreeInput& input,
             const std::vector<std::int32_t>& groups, HostTree& tree);

}  // namespace weft::geometry
