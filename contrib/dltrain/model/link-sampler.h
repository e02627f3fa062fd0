/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LINK_SAMPLER_H
#define LINK_SAMPLER_H

#include "results/line-log.h"

#include "ns3/rdma-event.h"
#include "ns3/rdma-fabric-helper.h"

#include <functional>
#include <string>
#include <vector>

namespace dltrain
{

/**
 * links.csv: what every directed link carried, interval by interval.
 *
 * One event an interval for all links, on a grid of whole intervals, only while frames move:
 * somebody arms it (a post, a retransmission), it re-arms itself if a frame was sent since it last
 * looked, one is on some link or PFC holds a port, and else sleeps. Rows only for links that sent
 * something, were paused or hold a queue. When there are `rowLimit` rows, pairs of intervals are
 * merged (shares averaged, of two queues the longer), the interval doubles and the file is written
 * anew: one interval for the whole run, and a bounded file.
 *
 * time_us is the end of the interval. utilization is the share of it in which the transmitter was
 * busy, pause_share that in which PFC held at least one priority; the first and the last interval
 * may be shorter, then it is their share. queue_bytes is the egress queue at the end of the
 * interval, all priorities; what happens at the very end of an interval belongs to it. ecn_marks:
 * frames that were marked at this egress in the interval.
 *
 * Of several ranks each looks at its own ports, also while messages of its own are under way (for a
 * while: what moves may be elsewhere), and MergeRanks makes one table of all.
 */
class LinkSampler
{
  public:
    /// \param path of links.csv; empty: no file \param portNames by end of RdmaFabric
    LinkSampler(ns3::RdmaFabric& fabric,
                const std::string& path,
                const std::vector<std::string>& portNames,
                int64_t intervalPs = 100000000,
                std::size_t rowLimit = 200000);

    /// Something will move: look again at the end of this interval.
    void Arm()
    {
        if (!m_pending)
        {
            Schedule();
        }
    }

    /// What it saw at a look, over all links.
    struct Sight
    {
        int64_t now{0};
        uint64_t frames{0};     //!< sent so far
        uint64_t dataFrames{0}; //!< of them data
    };

    /// Called at every look.
    void SetObserver(std::function<void(const Sight&)> observer);

    /// Rows are kept from here on.
    void StartMeasuring(int64_t now);
    /// Are messages under way? Asked with several ranks only.
    void SetOutstanding(std::function<bool()> outstanding);
    /// The last, partial interval, and the file complete.
    void Finish(int64_t now);
    /// Collective, instead of Finish: the rows of all ranks into the first one's file. \param end
    /// of the simulation; what a rank looked at later belongs to the interval that ends there
    void MergeRanks(int64_t end);

    int64_t GetInterval() const
    {
        return m_interval;
    }

    std::size_t GetRows() const
    {
        return m_rows.size();
    }

    uint64_t GetLooks() const
    {
        return m_looks;
    }

    static constexpr const char* HEADER =
        "time_us,link,from,to,rate_gbps,utilization,queue_bytes,pause_share,ecn_marks";

  private:
    struct Row
    {
        int64_t time; //!< end of the interval
        int64_t busyPs;
        int64_t pausedPs;
        uint64_t queueBytes;
        uint64_t marks;
        uint32_t end; //!< of RdmaFabric
    };

    /// A port when it was last looked at.
    struct Last
    {
        uint64_t txWireBytes{0};
        int64_t residualPs{0}; //!< of the frame that was being sent
        uint64_t pausedPs{0};
        uint64_t ecnMarks{0};
    };

    void Schedule();
    void OnTimer();
    /// \return whether PFC holds a port
    bool Look(int64_t now);
    /// Length of the interval that ends at `time`, as far as it was measured.
    int64_t Covered(int64_t time) const;
    /// Frames sent by ports of this rank and not received by one, less those for other ranks.
    bool IsInFlight(uint64_t sent, uint64_t received) const;
    void Merge();
    /// Rows of one end and time become one. \pre sorted
    void JoinRows();
    void SortRows();
    void Rewrite();
    void Restart(const std::string& path);
    void Write(const Row& row);

    ns3::RdmaFabric& m_fabric;
    const std::vector<std::string>& m_names;
    std::string m_path;
    std::size_t m_rowLimit;
    int64_t m_interval;
    bool m_pending{false};
    bool m_measuring{false};
    bool m_finished{false};
    int64_t m_lastLook{0};
    int64_t m_measuredFrom{0};
    uint64_t m_lastFrames{0};
    bool m_inFlight{false}; //!< a frame is on some link
    std::function<bool()> m_outstanding;
    uint32_t m_patience{0}; //!< looks to go while nothing moves here but messages are under way
    uint64_t m_looks{0};
    std::vector<Last> m_last;
    std::vector<Row> m_rows;
    results::LineLog m_file;
    std::string m_line;
    std::function<void(const Sight&)> m_observer;
    ns3::RdmaTimer<LinkSampler, &LinkSampler::OnTimer> m_timer;
};

} // namespace dltrain

#endif /* LINK_SAMPLER_H */
