/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Flowlets: packets of a flow that follow each other closely stay on one way; after a gap the flow
 * may take another, as what was sent before has arrived by then.
 *
 * E. Vanini et al., "Let It Flow: Resilient Asymmetric Load Balancing with Flowlet Switching", NSDI
 * 2017; M. Alizadeh et al., "CONGA", SIGCOMM 2014. A gap longer than the time-out ends a flowlet;
 * one of just the time-out does not.
 *
 * As in a switch the table has a fixed size and no addresses: flows whose hashes meet in an entry
 * are one flow to it. Memory is taken as entries are used.
 *
 * Units: ps.
 */
#ifndef RDMA_CORE_FLOWLET_TABLE_H
#define RDMA_CORE_FLOWLET_TABLE_H

#include "flow-hash.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace rdma
{

class FlowletTable
{
  public:
    /// \param entries rounded up to a power of two, at most 2^24
    explicit FlowletTable(uint32_t entries)
    {
        while (m_mask + 1 < entries && m_mask + 1 < 1U << 24)
        {
            m_mask = 2 * m_mask + 1;
        }
        m_entries.reset(static_cast<Entry*>(std::calloc(m_mask + 1, sizeof(Entry))));
        if (!m_entries)
        {
            throw std::bad_alloc();
        }
    }

    uint32_t Entries() const
    {
        return m_mask + 1;
    }

    /**
     * The port of a packet. \param key of the flow \param gap the time-out \param ports it may
     * take: begin(), end() \param pick() one of them, for a new flowlet; pick(before) with the port
     * of the flow's flowlet before, or kNone
     */
    template <class Ports, class Pick>
    uint16_t Find(uint32_t key, int64_t now, int64_t gap, const Ports& ports, const Pick& pick)
    {
        Entry& entry = m_entries[Mix32(key) & m_mask];
        uint16_t port = static_cast<uint16_t>(entry.portPlusOne - 1);
        if (entry.portPlusOne == 0 || now - entry.last > gap || !Has(ports, port))
        {
            port = pick(entry.portPlusOne == 0 ? kNone : port);
            entry.portPlusOne = static_cast<uint16_t>(port + 1);
        }
        entry.last = now;
        return port;
    }

    static constexpr uint16_t kNone = 0xffff;

    /// \return the port that was remembered of a flow, or kNone
    uint16_t Last(uint32_t key) const
    {
        return static_cast<uint16_t>(m_entries[Mix32(key) & m_mask].portPlusOne - 1);
    }

    void Remember(uint32_t key, uint16_t port)
    {
        m_entries[Mix32(key) & m_mask].portPlusOne = static_cast<uint16_t>(port + 1);
    }

  private:
    struct Entry
    {
        int64_t last;
        uint16_t portPlusOne; ///< 0: never used
    };

    struct Free
    {
        void operator()(Entry* entries) const
        {
            std::free(entries);
        }
    };

    template <class Ports>
    static bool Has(const Ports& ports, uint16_t port)
    {
        for (const uint16_t candidate : ports)
        {
            if (candidate == port)
            {
                return true;
            }
        }
        return false;
    }

    uint32_t m_mask = 0;
    std::unique_ptr<Entry[], Free> m_entries;
};

} // namespace rdma

#endif // RDMA_CORE_FLOWLET_TABLE_H
