/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which LIDs of a subnet are free (IBA vol 1, 4.1.3, 3.5.10, 7.11). Unicast LIDs are
 * 0x0001..0xBFFF. A port with mask control LMC answers to 2^LMC of them, the base LID a multiple of
 * 2^LMC.
 */
#ifndef CONTRIB_RDMA_CORE_IB_IB_LIDS_H
#define CONTRIB_RDMA_CORE_IB_IB_LIDS_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rdma
{

constexpr uint16_t kIbFirstLid = 0x0001;
constexpr uint16_t kIbLastUnicastLid = 0xBFFF; ///< IBA vol 1, 4.1.3
constexpr uint8_t kIbMaxLmc = 7;

/// How many LIDs a port with this mask control has.
constexpr uint32_t
IbLidsOf(uint8_t lmc)
{
    return 1u << lmc;
}

class IbLids
{
  public:
    /// \param last that may be given
    explicit IbLids(uint16_t last)
        : m_taken(last + 1u, false)
    {
        m_taken[0] = true;
    }

    /// This base LID and those of its range are in use.
    void Take(uint16_t lid, uint8_t lmc)
    {
        for (uint32_t i = 0; i < IbLidsOf(lmc); ++i)
        {
            m_taken[lid + i] = true;
        }
        m_top = std::max(m_top, lid + IbLidsOf(lmc) - 1);
    }

    /// Takes the lowest free range. \return its base LID; 0: none is left
    uint16_t Give(uint8_t lmc)
    {
        const uint32_t size = IbLidsOf(lmc);
        for (uint32_t& lid = m_from[lmc]; lid + size <= m_taken.size(); lid += size)
        {
            const auto first = m_taken.begin() + lid;
            if (std::find(first, first + size, true) == first + size)
            {
                Take(static_cast<uint16_t>(lid), lmc);
                return static_cast<uint16_t>(lid);
            }
        }
        return 0;
    }

    /// The highest that is in use; 0: none.
    uint32_t Top() const
    {
        return m_top;
    }

  private:
    std::vector<bool> m_taken;
    uint32_t m_top = 0;
    uint32_t m_from[kIbMaxLmc + 1] = {}; ///< the first range of this size that may be free
};

} // namespace rdma

#endif // CONTRIB_RDMA_CORE_IB_IB_LIDS_H
