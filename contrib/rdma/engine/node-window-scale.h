/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NODE_WINDOW_SCALE_H
#define NODE_WINDOW_SCALE_H

#include <cstddef>

namespace ns3
{

/**
 * \ingroup rdma
 * Whether the network is large: then shards prefetch, however few of their units have something to
 * do. A shard sees its own units only, so this is set for all of them, between windows.
 */
struct NodeWindowScale
{
    /// In a network of so many units (logical processes), a unit that runs again finds none of its
    /// state in the cache, however few have something to do. Measured: true of k = 12 (612 units),
    /// not of k = 8 (208).
    static constexpr std::size_t LARGE = 512;

    static inline bool isLarge = false;
    static inline std::size_t units = 0; //!< how many there are
};

} // namespace ns3

#endif /* NODE_WINDOW_SCALE_H */
