/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TAIL_ATTRIBUTION_H
#define TAIL_ATTRIBUTION_H

#include "results/flow-table.h"

#include "ns3/rdma-fabric-helper.h"
#include "ns3/rdma-journey.h"

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

namespace dltrain
{

/// Where the time of a message can have gone. The parts of a message add up to its completion time.
enum class TimeShare : uint8_t
{
    BACKLOG,       //!< line time of earlier messages of its queue pair
    NIC_TURNS,     //!< other queue pairs' turns at the sender's NIC
    NIC_PAUSED,    //!< the sender's NIC paused by PFC
    THROTTLED,     //!< paced by the congestion control
    WINDOW,        //!< the window was closed
    REPEATING,     //!< after losses
    SERIALIZATION, //!< line time of its packets at the sender, and of the last one on every link
    PROPAGATION,   //!< cables and switch pipelines
    QUEUED,        //!< behind others in switches
    PAUSED,        //!< in switches whose egress port was paused
    HOST,          //!< limits of NICs: bus, contexts
    COUNT
};

/// \return "backlog", ... as in the files
const char* GetTimeShareName(TimeShare share);

/// \return the same in words that follow a percentage: "waiting for earlier messages on the same
/// connection". Terminal, attribution.csv and the report all use these. A connection is a queue
/// pair.
const char* GetTimeShareWords(TimeShare share, const rdma::LinkWords& link);

/// Where the time of one message went.
struct MessageParts
{
    /// A port that its last packet left: the sender's NIC first, then one for each switch.
    struct Hop
    {
        uint32_t port{0};  //!< end of the fabric
        int64_t time{0};   //!< ps from its coming there, at the NIC from the post, to the next one
        int64_t waited{0}; //!< of it not serialization, nor cable and pipeline
        int64_t paused{0}; //!< of it while PFC had stopped the port
        TimeShare why{TimeShare::SERIALIZATION}; //!< most of what it waited
        ns3::RdmaJourney::Flow behind;           //!< of switches
    };

    std::array<int64_t, static_cast<std::size_t>(TimeShare::COUNT)> parts{}; //!< ps, by TimeShare
    std::vector<Hop> hops;
};

/**
 * Says why messages were late: the slowest ones by the time they lost against an idle network, in
 * attribution.csv and in a line of words, and the sums over all measured messages.
 *
 * Built on RdmaJourney; messages without one (READs; those whose last packet came before an earlier
 * one was repeated) are counted apart.
 */
class TailAttribution
{
  public:
    static constexpr std::size_t SLOWEST = 1000; //!< rows of attribution.csv
    static constexpr std::size_t TOLD = 10;      //!< in stats.json

    /// End of the fabric of each of its ports.
    using PortIndex = std::unordered_map<const ns3::RdmaPort*, uint32_t>;

    /// \param names of endpoints, ports (by RdmaFabric end) and tags, and the index of ports, kept
    /// by reference
    TailAttribution(const ns3::RdmaFabric& fabric,
                    const std::vector<std::string>& endpointNames,
                    const std::vector<std::string>& portNames,
                    const PortIndex& portIndex,
                    const std::vector<std::string>& tags);

    /// \param end when its last byte was at the receiver, ps. \return the parts of its completion
    /// time, valid until the next call
    const MessageParts& Divide(const ns3::RdmaJourney& journey, int64_t end);
    /// \param parts of this message
    void Add(const results::FlowRecord& record, const MessageParts& parts);
    void AddUnknown();
    void Clear();

    /// \return parts of stats.json
    nlohmann::ordered_json ToJson() const;
    /// \return one line a message, the slowest first, one for each pair of hosts and tag
    std::vector<std::string> InWords(std::size_t most) const;
    /// Write attribution.csv: the slowest, by the time lost.
    void Write(const std::string& path) const;

  private:
    using Parts = std::array<int64_t, static_cast<std::size_t>(TimeShare::COUNT)>;

    struct Late
    {
        results::FlowRecord record;
        Parts parts{};
        uint32_t port{0};  //!< where it was queued or paused longest
        int64_t atPort{0}; //!< ps, there
        int64_t pausedThere{0};
        ns3::RdmaJourney::Flow behind;

        int64_t Lost() const
        {
            return record.end - record.start - record.ideal;
        }
    };

    static bool Slower(const Late& a, const Late& b);
    std::vector<Late> Sorted() const;
    std::string Why(const Late& late) const;

    bool m_limits{false}; //!< some NIC has limits
    const rdma::LinkWords& m_link;
    const std::vector<std::string>& m_endpoints;
    const std::vector<std::string>& m_ports;
    const std::vector<std::string>& m_tags;
    const PortIndex& m_portIndex;
    std::vector<Late> m_slowest; //!< min-heap
    Parts m_sums{};
    int64_t m_sum{0};
    uint64_t m_known{0};
    uint64_t m_unknown{0};
    std::vector<std::array<int64_t, 2>> m_atPort; //!< queued, paused
    MessageParts m_divided;
};

} // namespace dltrain

#endif /* TAIL_ATTRIBUTION_H */
