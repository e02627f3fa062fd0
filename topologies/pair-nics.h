/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which NICs the messages of two hosts leave and arrive by, where each NIC stands for a link of the
 * host's own router: a message leaves by the link that its route begins with.
 */
#ifndef TOPOLOGIES_PAIR_NICS_H
#define TOPOLOGIES_PAIR_NICS_H

#include <cstdint>
#include <vector>

namespace topo
{

/// 2 B for each pair of hosts.
class PairNics
{
  public:
    struct Ends
    {
        uint8_t from = 0; ///< NIC of the sender
        uint8_t to = 0;   ///< NIC of the receiver
    };

    explicit PairNics(uint32_t hosts)
        : m_hosts(hosts),
          m_ends(std::size_t{hosts} * hosts)
    {
    }

    Ends& At(uint32_t from, uint32_t to)
    {
        return m_ends[std::size_t{from} * m_hosts + to];
    }

    const Ends& At(uint32_t from, uint32_t to) const
    {
        return m_ends[std::size_t{from} * m_hosts + to];
    }

  private:
    uint32_t m_hosts;
    std::vector<Ends> m_ends;
};

} // namespace topo

#endif // TOPOLOGIES_PAIR_NICS_H
