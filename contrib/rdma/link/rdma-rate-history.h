/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_RATE_HISTORY_H
#define RDMA_RATE_HISTORY_H

#include <cstdint>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * The rates that a port has had, as a fault may change them during a run.
 */
class RdmaRateHistory
{
  public:
    struct PastRate
    {
        int64_t until; //!< ps; ascending
        uint64_t bps;
    };

    /// The rate changes. \param before the rate until now \param now ps. A rate that held for no
    /// time is not kept.
    void Change(uint64_t before, int64_t now)
    {
        if (m_past.empty() ? now > 0 : now > m_past.back().until)
        {
            m_past.push_back({now, before});
        }
    }

    const std::vector<PastRate>& Get() const
    {
        return m_past;
    }

    /// \param from, until ps; if they are the same, the rate then \param rate the present one
    /// \return mean rate in between, bit/s; if it did not change in between, that rate exactly
    double GetMean(int64_t from, int64_t until, uint64_t rate) const;

  private:
    std::vector<PastRate> m_past;
};

} // namespace ns3

#endif /* RDMA_RATE_HISTORY_H */
