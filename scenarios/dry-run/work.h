/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The work of a run, counted by kind before it is simulated. Each kind costs its own time and
 * events (assumed-speed.h): a packet of TCP costs fifty times a frame-hop of RDMA, and a message
 * that a ring passes on inside a server next to nothing.
 */
#ifndef SCENARIOS_DRY_RUN_WORK_H
#define SCENARIOS_DRY_RUN_WORK_H

#include <array>
#include <cstddef>
#include <cstdint>

namespace scenario
{

enum class WorkKind : uint8_t
{
    // packets
    kFrameHop, ///< a frame of RDMA on a link: data, ACKs, CNPs
    kFrame,    ///< a frame of RDMA, for its two ends
    kTcpHop,   ///< a TCP packet on a link: segments, ACKs
    kTcpFrame, ///< a TCP packet, for its two ends
    kUdpHop,
    kUdpFrame,
    // messages
    kMessage, ///< of a collective or between ranks, in packets of RDMA
    kFlow,    ///< of traffic and backgrounds, likewise
    kTcpFlow,
    kTcpConnection, ///< a connection is opened
    kUdpFlow,
    kQueuePair, ///< a pair of queue pairs is opened
    kAnalyticMessage,
    kFluidMessage,
    kFluidSharer, ///< a fluid message that begins or ends beside another one of its NIC
    kChannel,     ///< a channel of a network without packets is opened
    kInside,      ///< a message inside a server that has events of its own
    kPassedOn,    ///< one that a ring passes on, worked out when it enters the server
    kAtOnce,      ///< one of a collective inside a server that is worked out as a whole
    kTask,        ///< a computation, collective or message in the graph of a rank
    // outputs
    kRecorded, ///< a message, for flows.csv, attribution, report and timeline
    kCall,     ///< a task of a measured step, likewise
    kLinkRow,  ///< a row of links.csv
    kQueueLook ///< a look at the queue of a port
};

constexpr std::size_t kWorkKinds = static_cast<std::size_t>(WorkKind::kQueueLook) + 1;

/// What a kind belongs to: a forecast has a sum for each.
enum class WorkOf : uint8_t
{
    kPackets,
    kMessages,
    kOutputs
};

constexpr WorkOf
Of(WorkKind kind)
{
    return kind < WorkKind::kMessage    ? WorkOf::kPackets
           : kind < WorkKind::kRecorded ? WorkOf::kMessages
                                        : WorkOf::kOutputs;
}

/// How often each kind occurs.
class Work
{
  public:
    double& operator[](WorkKind kind)
    {
        return m_times[static_cast<std::size_t>(kind)];
    }

    double operator[](WorkKind kind) const
    {
        return m_times[static_cast<std::size_t>(kind)];
    }

    void Add(const Work& other, double times = 1)
    {
        for (std::size_t i = 0; i < kWorkKinds; ++i)
        {
            m_times[i] += other.m_times[i] * times;
        }
    }

    void Scale(double factor)
    {
        for (double& times : m_times)
        {
            times *= factor;
        }
    }

    /// Only a share of the run is simulated in packets: the one place of a forecast that knows.
    void KeepPackets(double share)
    {
        for (std::size_t i = 0; i < kWorkKinds; ++i)
        {
            m_times[i] *= Of(static_cast<WorkKind>(i)) == WorkOf::kPackets ? share : 1;
        }
    }

  private:
    std::array<double, kWorkKinds> m_times{};
};

} // namespace scenario

#endif // SCENARIOS_DRY_RUN_WORK_H
