/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NODE_WINDOW_OUTLOOK_H
#define NODE_WINDOW_OUTLOOK_H

#include <cstddef>

namespace ns3
{

/**
 * \ingroup rdma
 * What the whole network says of how far shards look ahead: there is one engine, and each of its
 * shards sees its own units only. Set between windows.
 */
struct NodeWindowOutlook
{
    /// Of so many units one finds nothing of its own in the cache when it runs again, however few
    /// have something to do: k = 12 has 612 of them. In k = 8, 208, that is not so: measured.
    static constexpr std::size_t LARGE = 512;

    static inline bool isLarge = false;
};

} // namespace ns3

#endif /* NODE_WINDOW_OUTLOOK_H */
