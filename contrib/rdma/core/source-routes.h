/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Paths that senders name, hop by hop: at a switch, frames of a pair of endpoints leave by a port,
 * whatever ways the switch has.
 *
 * A switch that is on no path has no table. A look-up is one hash of 64 bits.
 */
#ifndef RDMA_CORE_SOURCE_ROUTES_H
#define RDMA_CORE_SOURCE_ROUTES_H

#include <cstdint>
#include <unordered_map>

namespace rdma
{

struct SourceHop
{
    uint32_t node = 0; ///< a switch
    uint32_t from = 0; ///< endpoint
    uint32_t to = 0;   ///< endpoint
    uint16_t port = 0;
};

/// The hops of one switch.
class SourceRoutes
{
  public:
    static constexpr uint16_t kNone = 0xFFFF;

    void Set(uint32_t from, uint32_t to, uint16_t port)
    {
        m_ports[Key(from, to)] = port;
    }

    /// \return the port; kNone: the pair has no path here
    uint16_t Find(uint32_t from, uint32_t to) const
    {
        const auto found = m_ports.find(Key(from, to));
        return found == m_ports.end() ? kNone : found->second;
    }

  private:
    static uint64_t Key(uint32_t from, uint32_t to)
    {
        return uint64_t{from} << 32 | to;
    }

    std::unordered_map<uint64_t, uint16_t> m_ports;
};

} // namespace rdma

#endif // RDMA_CORE_SOURCE_ROUTES_H
