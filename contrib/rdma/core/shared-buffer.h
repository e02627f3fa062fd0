/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Shared packet buffer of a switch: who may use how much, and when to pause whom.
 *
 * Shape. Every stored frame is accounted at the (port, priority) it came in by. The memory is cut
 * into headroom (of each port, for what still arrives after XOFF), a guaranteed minimum for each
 * (port, lossless priority) and the shared pool, which is everything else. All sizes are bytes of
 * frames (Ethernet header to FCS).
 *
 * Lossless priorities: a (port, priority) may hold, above its guaranteed minimum, what the policy's
 * threshold says (buffer-policy.h; by default alpha times what is free in the shared pool). The
 * first frame beyond goes to headroom and raises XOFF. Headroom may be pooled: then the ports of a
 * pool together hold no more than it has, and each no more than its own headroom. XON is due once
 * headroom is empty again and the use has fallen `xonOffset` below the threshold (or to nothing).
 *
 * Lossy priorities: a frame is stored if its *egress* queue stays below the threshold (by default
 * alphaLossy times what is free), and the pool has room.
 *
 * Conservation (asserted in tests): sum over (port, priority) of stored bytes = bytes admitted -
 * bytes released; sharedUsed = sum of what exceeds the guaranteed minima, without headroom; 0 <=
 * sharedUsed <= shared size. While every upstream obeys XOFF within what HeadroomBytes() allows
 * for, no lossless frame is refused.
 *
 * Source of the defaults: HPCC artifact, alibaba-edu/High-Precision-Congestion-Control@78c386c,
 * simulation/src/point-to-point/model/switch-mmu.cc: SwitchMmu() has reserve = 4 * 1024 and
 * resume_offset = 3 * 1024. Threshold 1/8: the same artifact.
 */
#ifndef RDMA_CORE_SHARED_BUFFER_H
#define RDMA_CORE_SHARED_BUFFER_H

#include "contrib/rdma/core/queue-limit.h"
#include "contrib/rdma/core/units.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace rdma
{

struct SharedBufferConfig
{
    uint64_t totalBytes = 0;
    std::vector<uint64_t> headroomBytes; ///< per port, shared by its lossless priorities
    uint8_t losslessMask = 0;            ///< bit p: priority p is lossless (PFC)
    uint64_t guaranteedBytes = 4096;     ///< per (port, lossless priority)
    double alpha = 1.0 / 8;              ///< lossless, ingress
    double alphaLossy = 1.0;             ///< lossy, egress
    uint64_t xonOffset = 3072;
    bool countUsed = true;           ///< thresholds fall as the pool fills; false: policy static
    std::array<double, 8> alphaOf{}; ///< of a priority alone; 0: alpha or alphaLossy
    /// Of a port's priorities; 0, or empty: the same for all ports.
    std::vector<std::array<double, 8>> alphaOfPort;
    std::vector<uint64_t> portRates;      ///< bits per second, for limits of queues
    std::vector<uint32_t> headroomPoolOf; ///< by port; empty: headroom is not pooled
    std::vector<uint64_t> headroomPools;  ///< bytes of each
};

/// Bytes that may arrive on a link after XOFF was decided: everything in flight for a round trip,
/// and whole frames.
///
///     2 C d                what the wire holds both ways
///     C (pipeline + response)  frames between arrival and admission, and the peer's reaction
///     3 frames             the one that crossed the threshold; one under way here when the PFC
///     frame wants out (C x its
///                          time); one just started at the peer when the pause arrives
///     PFC frame            64 B + preamble and gap
///
/// IEEE 802.1Qbb-2011, annex O, gives the same sum with the interface delays of real hardware.
///
/// C is what the link really carries. Where serialization times are cut to multiples of `timeUnit`
/// (SerializationTime) that is the largest frame over its cut time and not the rate: 1,048 B at
/// 400 Gb/s take 20 ns instead of 20.96, so 4.8% more arrives. A link on which even the largest
/// frame takes no time has no such rate; its nominal one is taken.
inline Bytes
HeadroomBytes(BitRate rate,
              Duration linkDelay,
              Duration pipeline,
              Duration response,
              Bytes largestFrame,
              Duration timeUnit = Duration(1))
{
    const int64_t cutPs =
        timeUnit.ps > 1 ? SerializationTime(largestFrame, rate, timeUnit).ps : int64_t{0};
    const double bytesPerPs =
        cutPs > 0 ? static_cast<double>(largestFrame.value) / static_cast<double>(cutPs)
                  : static_cast<double>(rate.bps) / 8e12;
    const double inFlight =
        bytesPerPs * static_cast<double>(2 * linkDelay.ps + pipeline.ps + response.ps);
    return Bytes(static_cast<uint64_t>(inFlight) + 1 + 3 * (largestFrame.value + 20) + 84);
}

class SharedBuffer
{
  public:
    enum class Verdict : uint8_t
    {
        kStored,
        kStoredSendXoff,   ///< stored, and the upstream of this (port, priority) must be paused now
        kDropPoolFull,     ///< lossy: no room in the shared pool
        kDropThreshold,    ///< lossy: egress queue above its dynamic threshold
        kDropHeadroomFull, ///< lossless: the upstream did not stop in time
    };

    /// What stands against a configuration, empty if nothing does.
    static std::string WhyNot(const SharedBufferConfig& c)
    {
        const uint64_t taken = SetAside(c);
        if (taken + 2 * 9216 > c.totalBytes)
        {
            return "the buffer of " + std::to_string(c.totalBytes) +
                   " B does not hold headroom and guaranteed minima of " + std::to_string(taken) +
                   " B and two frames";
        }
        return {};
    }

    /// Headroom and guaranteed minima, bytes: what is left of the memory is shared.
    static uint64_t SetAside(const SharedBufferConfig& c)
    {
        const auto& headroom = c.headroomPoolOf.empty() ? c.headroomBytes : c.headroomPools;
        return std::accumulate(headroom.begin(), headroom.end(), uint64_t{0}) +
               c.headroomBytes.size() * c.guaranteedBytes *
                   static_cast<uint64_t>(__builtin_popcount(c.losslessMask));
    }

    SharedBuffer() = default;

    /// \pre WhyNot(config) is empty \param limit bounds queues, and lives longer; null: alpha does
    explicit SharedBuffer(const SharedBufferConfig& config, QueueLimit* limit = nullptr)
        : m_config(config),
          m_countUsed(config.countUsed ? UINT64_MAX : 0),
          m_limit(limit),
          m_sharedSize(config.totalBytes - SetAside(config)),
          m_ports(static_cast<uint32_t>(config.headroomBytes.size())),
          m_account(config.headroomBytes.size() * 8),
          m_headroomUsed(config.headroomBytes.size())
    {
        m_headroomPoolUsed.resize(config.headroomPools.size());
        SetAlphas(config);
    }

    /// Thresholds by the alphas of a configuration from now on. A queue that holds more is paused,
    /// or has no room, when the next frame comes; one that is paused resumes as frames leave.
    void SetAlphas(const SharedBufferConfig& config)
    {
        for (uint8_t p = 0; p < 8; ++p)
        {
            const double whole = config.losslessMask >> p & 1 ? config.alpha : config.alphaLossy;
            const double ofAll = config.alphaOf[p] > 0 ? config.alphaOf[p] : whole;
            for (uint32_t port = 0; port < m_ports; ++port)
            {
                const double own =
                    port < config.alphaOfPort.size() ? config.alphaOfPort[port][p] : 0;
                AccountOf(port, p).alphaQ16 =
                    static_cast<uint32_t>((own > 0 ? own : ofAll) * 65536);
            }
        }
    }

    /// Most that a queue of this priority may hold in the shared pool now, as far as the pool alone
    /// is asked (a QueueLimit may say otherwise).
    uint64_t Threshold(uint8_t priority, uint32_t port = 0) const
    {
        return ((m_sharedSize - (m_sharedUsed & m_countUsed)) *
                AccountOf(port, priority).alphaQ16) >>
               16;
    }

    /// \param egressQueueBytes what the frame's egress queue holds
    /// \param egress port where it will leave
    /// \param now ps; for a QueueLimit only
    Verdict Admit(uint32_t port,
                  uint8_t priority,
                  uint32_t bytes,
                  uint64_t egressQueueBytes,
                  uint32_t egress = 0,
                  int64_t now = 0)
    {
        Account& a = AccountOf(port, priority);
        Verdict verdict = Verdict::kStored;
        if (m_config.losslessMask >> priority & 1)
        {
            const uint64_t after = a.bytes + bytes;
            const uint64_t shared =
                after > m_config.guaranteedBytes ? after - m_config.guaranteedBytes : 0;
            const uint64_t before = SharedPart(a, m_config.guaranteedBytes);
            // Once in headroom, stay there: otherwise a growing threshold would let a paused port
            // take more pool.
            if (a.headroom == 0 &&
                (shared == 0 || shared <= Threshold(QueueSide::kIngress, port, priority, now)) &&
                m_sharedUsed + (shared - before) <= m_sharedSize)
            {
                a.bytes = after;
                m_sharedUsed += shared - before;
            }
            else
            {
                if (m_headroomUsed[port] + bytes > m_config.headroomBytes[port] ||
                    !PoolTakes(port, bytes))
                {
                    return Verdict::kDropHeadroomFull;
                }
                a.headroom += bytes;
                m_headroomUsed[port] += bytes;
                if (m_headroomUsed[port] > m_headroomPeak)
                {
                    m_headroomPeak = m_headroomUsed[port];
                }
                if (!a.paused)
                {
                    a.paused = true;
                    verdict = Verdict::kStoredSendXoff;
                }
            }
        }
        else
        {
            const uint64_t free = m_sharedSize - m_sharedUsed;
            if (bytes > free)
            {
                return Verdict::kDropPoolFull;
            }
            if (egressQueueBytes + bytes > Threshold(QueueSide::kEgress, egress, priority, now))
            {
                return Verdict::kDropThreshold;
            }
            a.bytes += bytes;
            m_sharedUsed += bytes;
        }
        m_stored += bytes;
        if (m_stored > m_storedPeak)
        {
            m_storedPeak = m_stored;
        }
        if (m_limit)
        {
            m_limit->OnChange(QueueSide::kIngress, port, priority, int64_t{bytes}, now);
            m_limit->OnChange(QueueSide::kEgress, egress, priority, int64_t{bytes}, now);
        }
        return verdict;
    }

    /// A lossy frame takes the place of one that has just been released and was no smaller: it is
    /// stored without a look at thresholds, which may have fallen since that one was.
    void Replace(uint32_t port, uint8_t priority, uint32_t bytes, uint32_t egress, int64_t now)
    {
        AccountOf(port, priority).bytes += bytes;
        m_sharedUsed += bytes;
        m_stored += bytes;
        if (m_limit)
        {
            m_limit->OnChange(QueueSide::kIngress, port, priority, int64_t{bytes}, now);
            m_limit->OnChange(QueueSide::kEgress, egress, priority, int64_t{bytes}, now);
        }
    }

    /// A stored frame leaves. \return whether XON is due for its (port, priority)
    bool Release(uint32_t port,
                 uint8_t priority,
                 uint32_t bytes,
                 uint32_t egress = 0,
                 int64_t now = 0)
    {
        Account& a = AccountOf(port, priority);
        m_stored -= bytes;
        if (m_limit)
        {
            m_limit->OnChange(QueueSide::kIngress, port, priority, -int64_t{bytes}, now);
            m_limit->OnChange(QueueSide::kEgress, egress, priority, -int64_t{bytes}, now);
        }
        if (!(m_config.losslessMask >> priority & 1))
        {
            a.bytes -= bytes;
            m_sharedUsed -= bytes;
            return false;
        }
        // What leaves frees headroom first, so that it is whole again before XON.
        if (a.headroom)
        {
            const uint32_t fromHeadroom =
                bytes < a.headroom ? bytes : static_cast<uint32_t>(a.headroom);
            a.headroom -= fromHeadroom;
            m_headroomUsed[port] -= fromHeadroom;
            if (!m_headroomPoolUsed.empty())
            {
                m_headroomPoolUsed[m_config.headroomPoolOf[port]] -= fromHeadroom;
            }
            bytes -= fromHeadroom;
        }
        const uint64_t before = SharedPart(a, m_config.guaranteedBytes);
        a.bytes -= bytes;
        const uint64_t left = SharedPart(a, m_config.guaranteedBytes);
        m_sharedUsed -= before - left;
        if (a.paused && a.headroom == 0 &&
            (left == 0 ||
             left + m_config.xonOffset <= Threshold(QueueSide::kIngress, port, priority, now)))
        {
            a.paused = false;
            return true;
        }
        return false;
    }

    /// \param fetch is told where the accounts of a priority lie, from and to
    template <class Fetch>
    void Prefetch(uint8_t priority, Fetch fetch) const
    {
        const Account* accounts = m_account.data() + std::size_t{priority} * m_ports;
        fetch(accounts, accounts + m_ports);
    }

    bool IsPaused(uint32_t port, uint8_t priority) const
    {
        return AccountOf(port, priority).paused;
    }

    uint64_t Stored() const
    {
        return m_stored;
    }

    uint64_t StoredOf(uint32_t port, uint8_t priority) const
    {
        const Account& a = AccountOf(port, priority);
        return a.bytes + a.headroom;
    }

    uint64_t StoredPeak() const
    {
        return m_storedPeak;
    }

    uint64_t HeadroomPeak() const
    {
        return m_headroomPeak;
    }

    uint64_t SharedUsed() const
    {
        return m_sharedUsed;
    }

    uint64_t SharedSize() const
    {
        return m_sharedSize;
    }

    const SharedBufferConfig& Config() const
    {
        return m_config;
    }

  private:
    struct Account
    {
        uint64_t bytes = 0; ///< guaranteed minimum and shared pool
        uint64_t headroom = 0;
        uint32_t alphaQ16 = 0; ///< alpha of this port and priority, times 65536
        bool paused = false;   ///< XOFF sent, XON not yet
    };

    /// Those of a priority lie together: most traffic has the same one, and cache lines are few.
    Account& AccountOf(uint32_t port, uint8_t priority)
    {
        return m_account[priority * m_ports + port];
    }

    const Account& AccountOf(uint32_t port, uint8_t priority) const
    {
        return m_account[priority * m_ports + port];
    }

    /// T of a queue.
    uint64_t Threshold(QueueSide side, uint32_t port, uint8_t priority, int64_t now)
    {
        const uint64_t threshold = Threshold(priority, port);
        return !m_limit ? threshold : m_limit->Limit(side, port, priority, threshold, now);
    }

    /// Takes so much of the pool that a port's headroom is part of. \return whether it has so much
    bool PoolTakes(uint32_t port, uint32_t bytes)
    {
        if (m_headroomPoolUsed.empty())
        {
            return true;
        }
        const uint32_t pool = m_config.headroomPoolOf[port];
        const bool fits = m_headroomPoolUsed[pool] + bytes <= m_config.headroomPools[pool];
        m_headroomPoolUsed[pool] += fits ? bytes : 0;
        return fits;
    }

    static uint64_t SharedPart(const Account& a, uint64_t guaranteed)
    {
        return a.bytes > guaranteed ? a.bytes - guaranteed : 0;
    }

    SharedBufferConfig m_config;
    uint64_t m_countUsed = UINT64_MAX; ///< mask: whether thresholds fall as the pool fills
    QueueLimit* m_limit = nullptr;     ///< null: thresholds are alpha's
    uint64_t m_sharedSize = 0;
    uint64_t m_sharedUsed = 0;
    uint64_t m_stored = 0;
    uint64_t m_storedPeak = 0;
    uint64_t m_headroomPeak = 0;
    uint32_t m_ports = 0;
    std::vector<Account> m_account; ///< [priority * m_ports + port]
    std::vector<uint64_t> m_headroomUsed;
    std::vector<uint64_t> m_headroomPoolUsed; ///< empty: headroom is not pooled
};

} // namespace rdma

#endif // RDMA_CORE_SHARED_BUFFER_H
