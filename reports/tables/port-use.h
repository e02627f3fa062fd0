/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_TABLES_PORT_USE_H
#define REPORTS_TABLES_PORT_USE_H

#include "reports/schema/object.h"
#include "reports/tables/queue-lengths.h"
#include "scenarios/job/scenario.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace reports
{

/**
 * Queues, utilization and pauses by kind of port, from samples ("looks") at fixed intervals.
 *
 * In stats.json they cover the measured time: from the end of warm-up to the end of --duration, or
 * of the run.
 *
 * queues.csv has the switch ports with the longest mean queue, over the whole run. A row is an
 * interval: mean and largest of the looks in it. A sequence of empty intervals has only its first
 * and last row. Intervals double when there are too many.
 */
class PortUse
{
  public:
    enum Kind : uint8_t
    {
        HOST_TO_SWITCH,
        SWITCH_TO_HOST,
        SWITCH_TO_SWITCH,
        HOST_TO_HOST,
        KINDS
    };

    struct Port
    {
        std::string_view name; //!< outlives this
        uint64_t rateBps;
        Kind kind;
    };

    /// Counters of all ports up to some time, by port.
    struct Counters
    {
        int64_t time{0};
        std::vector<uint64_t> wireBytes{};
        std::vector<uint64_t> pausedPs{};
    };

    /// \param measuring kept by reference
    /// \param begin counters when the run began
    PortUse(const scenario::Measuring& measuring, std::vector<Port> ports, Counters begin);

    /// \return ports to look at, whose queues are a switch's
    const std::vector<uint32_t>& GetSwitchPorts() const
    {
        return m_switchPorts;
    }

    /// A look at all of them begins. It may be skipped while no flow is in flight: the queues are
    /// empty. \param now a multiple of the interval
    void BeginLook(int64_t now);

    /// \param i in GetSwitchPorts
    void Add(std::size_t i, uint64_t queuedBytes)
    {
        Queue& q = m_queues[i];
        q.sum += queuedBytes;
        q.largest = queuedBytes > q.largest ? queuedBytes : q.largest;
        if (m_measured && queuedBytes)
        {
            q.measured.Add(queuedBytes); // the empty ones are counted in the end
        }
    }

    void EndLook();

    /// The measured time begins; it ends, before the run.
    void SetFrom(Counters counters);
    void SetUntil(Counters counters);
    /// \return mean rate of a port between two times, bit/s
    using MeanRate = std::function<double(uint32_t port, int64_t from, int64_t until)>;

    /// The run is over: sum up. \param end what ports have done by now \param rate of a port, if it
    /// may have changed; else it is the port's
    void Finish(Counters end, const MeanRate& rate = {});

    /// With several ranks, each looks at some of the ports, and knows nothing of the others. Before
    /// Finish, collective: the first rank gets all.
    /// \param end as for Finish; then counters of all ports
    /// \param max maximum of a number over all ranks
    /// \param gather texts of all ranks, by rank, at the first rank; elsewhere nothing
    void MergeRanks(Counters& end,
                    const std::function<int64_t(int64_t)>& max,
                    const std::function<std::vector<std::string>(const std::string&)>& gather);

    /// \return mean of the ports of this kind in the measured time, 0 to 1. After Finish
    double GetUtilization(Kind kind) const
    {
        return m_classes[kind].utilization;
    }

    /// queues.csv. After Finish
    void Write(const std::string& path);
    /// Keys of stats.json. \param measured false: the run
    /// ended in its warm-up
    void AddTo(nlohmann::ordered_json& stats, bool measured) const;
    void Print(std::ostream& os) const;

  private:
    static const Object<PortUse>& Keys();
    static const RegisteredKeys g_keys;
    static constexpr std::size_t MOST_BINS = 4096;
    static constexpr std::size_t PORTS_SHOWN = 4;

    /// Statistics of the ports of one kind.
    struct PortClass
    {
        uint32_t ports{0};
        double utilization{0};
        double utilizationMax{0};
        double pauseShare{0};
        double pauseShareMax{0};
        QueueLengths queue;
    };

    struct Bin
    {
        uint32_t largest{0};
        float mean{0};
    };

    /// The queue of a switch port.
    struct Queue
    {
        uint64_t sum{0}; //!< sum of this bin's looks
        uint64_t largest{0};
        uint64_t total{0};
        QueueLengths measured{};
        std::vector<Bin> bins{};
    };

    static const char* NameOf(std::size_t kind);

    static bool HasQueue(std::size_t kind)
    {
        return kind == SWITCH_TO_HOST || kind == SWITCH_TO_SWITCH;
    }

    void CloseBin();
    /// Adds the looks between the last look and this one, which were skipped: the queues were
    /// empty.
    void Miss(int64_t looks);
    /// \return the knowledge of this rank, as text
    std::string Pack(const Counters& end) const;
    /// Adds what another one knows.
    void Unpack(const std::string& packed, Counters& end);

    const scenario::Measuring& m_measuring;
    std::vector<Port> m_ports;
    std::vector<uint32_t> m_switchPorts;
    std::array<PortClass, KINDS> m_classes{};
    std::vector<Queue> m_queues; //!< queues of m_switchPorts
    std::size_t m_mostBins;
    bool m_measured{false}; //!< this look
    int64_t m_lastLook{0};
    uint64_t m_looksPerBin{1};
    uint64_t m_looksInBin{0};
    uint64_t m_measuredLooks{0}; //!< at each port
    //! Indices into m_queues, PORTS_SHOWN at most, the longest first
    std::vector<uint32_t> m_longest;
    uint64_t m_rows{0};
    Counters m_from;
    Counters m_until;
};

} // namespace reports

#endif // REPORTS_TABLES_PORT_USE_H
