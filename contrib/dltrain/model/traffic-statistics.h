/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TRAFFIC_STATISTICS_H
#define TRAFFIC_STATISTICS_H

#include "results/line-log.h"
#include "scenarios/spec/scenario.h"

#include "ns3/rdma-event.h"
#include "ns3/rdma-fabric-helper.h"

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace dltrain
{

/**
 * What studies of congestion control ask of a run of flows: slowdown by flow size, queues,
 * utilization and pauses by kind of port, throughput of flows and its fairness. Nothing in it runs
 * per packet: it hears when a flow is posted and when it is complete, and looks at queues and at
 * bytes received at fixed intervals.
 *
 * Slowdown of a flow = its completion time over that on an idle network, headers included
 * (RdmaFabric::GetIdealCompletion), at least 1.
 *
 * slowdown.csv: "group" rows are the measured flows by size, cut into --size-groups of about the
 * same number, each made of whole sizes (scenarios/traffic/size-groups.h), from_bytes and to_bytes
 * its smallest and its largest; "class" rows are --size-bins, above from_bytes up to and with
 * to_bytes. So flows of one size are in one group and in one class, few sizes make few of them,
 * and what comes first among equal ones matters nowhere. Of all flows, tag "all", and of each of
 * the first 16 tags by name. Quantiles are by nearest rank.
 *
 * queues.csv: of the switch ports with the longest mean queue, over the whole run. A row is an
 * interval: mean and largest of the looks in it; of a row of empty ones only the first and the last
 * are there. Intervals double when there are too many.
 *
 * fairness.csv: an interval a row. Jain's index (Jain, Chiu, Hawe, DEC-TR-301, 1984) (sum x)^2 / (n
 * sum x^2) of the throughputs x of the n flows that were under way in all of it (1 if n is 0 or
 * all x are 0); gbps is that of all flows. rates.csv: these throughputs, flow by flow.
 *
 * Queues, utilization and pauses in stats.json are of the measured time: from the end of warm-up to
 * the end of --duration, or of the run.
 */
class TrafficStatistics
{
  public:
    /// \param topology node numbers are the fabric's \param out folder; empty: no files
    TrafficStatistics(ns3::RdmaFabric& fabric,
                      const topo::Topology& topology,
                      const scenario::Measuring& measuring,
                      const std::vector<scenario::Flow>& flows,
                      const std::vector<std::string>& endpointNames,
                      const std::vector<std::string>& portNames,
                      const std::string& out);
    ~TrafficStatistics();

    /// A flow begins. \param counter the queue pair whose received bytes are its: those of READs if
    /// `read` \param offset bytes that it receives for earlier flows
    void OnPosted(uint32_t flow,
                  const ns3::RdmaQueuePair* counter,
                  bool read,
                  uint64_t offset,
                  int64_t now);
    /// All its bytes are there, or it failed: it is no longer under way.
    void OnGone(uint32_t flow, bool failed, int64_t now);
    /// A measured flow is complete. \param ideal its time on an idle network, ps
    void OnComplete(uint32_t flow, int64_t fct, int64_t ideal);

    /// Complete all files. Collective with several Ranks: the first one gets the flows of all.
    void Finish(int64_t now);

    /// The keys of stats.json. After Finish.
    void AddTo(nlohmann::ordered_json& stats) const;
    /// Some lines for people.
    void Print(std::ostream& os) const;

  private:
    /// Flows of at most so many bytes.
    struct Slowdowns
    {
        std::string tag;
        bool isClass{false};
        uint64_t fromBytes{0};
        uint64_t toBytes{0}; //!< of a class without an upper end: its largest flow
        uint64_t flows{0};
        double mean{0};
        double p50{0};
        double p95{0};
        double p99{0};
        double p999{0};
        double max{0};
    };

    /// A measured flow that is complete.
    struct Completed
    {
        uint32_t flow;
        double slowdown;
    };

    /**
     * How long queues were at the looks at them: counted in buckets of 1/64 octave, so that a
     * quantile is off by at most 0.8% (half a bucket). Largest and mean are exact. The time between
     * looks is always the same, so this is a distribution over time.
     */
    class QueueLengths
    {
      public:
        /// A queue that is not empty.
        void Add(uint64_t bytes)
        {
            ++m_buckets[BucketOf(bytes)];
            m_sum += bytes;
            m_max = bytes > m_max ? bytes : m_max;
        }

        void Merge(const QueueLengths& other);
        /// \param looks all of them, at empty queues too
        double Quantile(double p, uint64_t looks) const;
        nlohmann::ordered_json ToJson(uint64_t looks) const;

        uint64_t Max() const
        {
            return m_max;
        }

      private:
        static constexpr int SUB = 6;      //!< of an octave: 2^6 buckets
        static constexpr int OCTAVES = 34; //!< from 64 B, below which each byte is a bucket

        static uint32_t BucketOf(uint64_t bytes);
        static double Middle(uint32_t bucket);

        std::array<uint32_t, (OCTAVES + 1) << SUB> m_buckets{};
        uint64_t m_sum{0};
        uint64_t m_max{0};
    };

    /// Of the ports of one kind.
    struct PortClass
    {
        const char* name{nullptr};
        uint32_t ports{0};
        double utilization{0};
        double utilizationMax{0};
        double pauseShare{0};
        double pauseShareMax{0};
        QueueLengths queue;
    };

    enum Kind : uint8_t
    {
        HOST_TO_SWITCH,
        SWITCH_TO_HOST,
        SWITCH_TO_SWITCH,
        HOST_TO_HOST,
        KINDS
    };

    struct Bin
    {
        uint32_t largest{0};
        float mean{0};
    };

    /// A switch port whose queue is looked at.
    struct Watched
    {
        const ns3::RdmaPort* port;
        uint32_t index; //!< in RdmaFabric::GetPorts
        Kind kind;
        uint64_t sum{0}; //!< of this bin's looks
        uint64_t largest{0};
        uint64_t total{0};
        QueueLengths measured{};
        std::vector<Bin> bins{};
    };

    struct Snapshot
    {
        int64_t time{0};
        std::vector<uint64_t> wireBytes; //!< by port
        std::vector<uint64_t> pausedPs;
    };

    /// A flow under way.
    struct Active
    {
        uint32_t flow;
        bool read;
        bool whole; //!< since the interval began
        const ns3::RdmaQueuePair* counter;
        uint64_t offset;
        uint64_t before; //!< its bytes when the interval began
    };

    /// \return false: the run ended in its warm-up
    bool IsMeasured() const
    {
        return m_measuring.from.ps == 0 || m_ended >= m_measuring.from.ps;
    }

    Snapshot Look() const;
    void OnFrom();
    void OnUntil();
    void OnQueueTimer();
    void OnRateTimer();
    void CloseBin();
    void ArmTimers(int64_t now);
    uint64_t Received(const Active& active) const;

    bool HasQueue(const PortClass& c) const
    {
        return &c == &m_classes[SWITCH_TO_HOST] || &c == &m_classes[SWITCH_TO_SWITCH];
    }

    void SummarizeFlows();
    void Summarize(const std::string& tag, std::vector<std::pair<uint64_t, double>>& flows);
    void AddSlowdowns(const std::string& tag,
                      bool isClass,
                      uint64_t from,
                      uint64_t to,
                      const std::pair<uint64_t, double>* begin,
                      const std::pair<uint64_t, double>* end);
    void SummarizePorts(int64_t now);
    void WriteSlowdowns() const;
    void WriteQueues();

    ns3::RdmaFabric& m_fabric;
    const scenario::Measuring& m_measuring;
    const std::vector<scenario::Flow>& m_flows;
    const std::vector<std::string>& m_endpointNames;
    const std::vector<std::string>& m_portNames;
    std::string m_out;

    int64_t m_ended{0}; //!< when the simulation did
    std::vector<Completed> m_completed;
    std::vector<Slowdowns> m_slowdowns;

    // queues
    static constexpr std::size_t MOST_BINS = 4096;
    static constexpr std::size_t PORTS_SHOWN = 4;
    std::size_t m_mostBins{MOST_BINS};
    std::vector<PortClass> m_classes;
    std::vector<Kind> m_kindOfPort;
    std::vector<Watched> m_watched;
    bool m_queuePending{false};
    int64_t m_lastLook{0};
    uint64_t m_lastFrames{0};
    int64_t m_quietSince{0};
    uint64_t m_looksPerBin{1};
    uint64_t m_looksInBin{0};
    uint64_t m_measuredLooks{0};     //!< at each port
    std::vector<uint32_t> m_longest; //!< of m_watched, PORTS_SHOWN at most, the longest first
    uint64_t m_queueRows{0};
    Snapshot m_from;
    Snapshot m_until;

    // rates
    std::vector<Active> m_active;
    std::vector<uint32_t> m_place; //!< of a flow in m_active
    bool m_ratePending{false};
    int64_t m_intervalBegin{0};
    uint64_t m_goneBytes{0}; //!< in this interval, of flows that ended in it
    uint32_t m_idleIntervals{0};
    uint64_t m_intervals{0};
    uint64_t m_rateRows{0};
    bool m_ratesLeftOut{false};
    uint64_t m_jainCount{0};
    double m_jainSum{0};
    double m_jainLeast{1};
    results::LineLog m_fairness;
    results::LineLog m_rates;

    std::string m_line;
    ns3::RdmaTimer<TrafficStatistics, &TrafficStatistics::OnFrom> m_fromTimer;
    ns3::RdmaTimer<TrafficStatistics, &TrafficStatistics::OnUntil> m_untilTimer;
    ns3::RdmaTimer<TrafficStatistics, &TrafficStatistics::OnQueueTimer> m_queueTimer;
    ns3::RdmaTimer<TrafficStatistics, &TrafficStatistics::OnRateTimer> m_rateTimer;
};

} // namespace dltrain

#endif /* TRAFFIC_STATISTICS_H */
