/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LINK_SAMPLER_H
#define LINK_SAMPLER_H

#include "line-log.h"

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
 * looked, and else sleeps. Rows only for links that sent something, were paused or hold a queue.
 * When there are `rowLimit` rows, pairs of intervals are merged (utilization and pause share
 * averaged, queues: the larger), the interval doubles and the file is written anew; so the whole
 * run has one interval, and the file is bounded.
 *
 * time_us is the end of the interval; queue_bytes is the egress queue at that moment, all
 * priorities.
 */
class LinkSampler
{
  public:
    /// \param path of links.csv; empty: no file
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
    /// The last, partial interval, and the file complete.
    void Finish(int64_t now);

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
        "time_us,link,from,to,rate_gbps,utilization,queue_bytes,pause_share";

  private:
    struct Row
    {
        int64_t time;
        uint32_t port;
        float pauseShare;
        double utilization;
        uint64_t queueBytes;
    };

    struct Last
    {
        uint64_t txWireBytes{0};
        uint64_t pausedPs{0};
    };

    void Schedule();
    void OnTimer();
    void Look(int64_t now);
    void Merge();
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
    uint64_t m_lastFrames{0};
    uint64_t m_looks{0};
    std::vector<Last> m_last;
    std::vector<Row> m_rows;
    LineLog m_file;
    std::string m_line;
    std::function<void(const Sight&)> m_observer;
    ns3::RdmaTimer<LinkSampler, &LinkSampler::OnTimer> m_timer;
};

} // namespace dltrain

#endif /* LINK_SAMPLER_H */
