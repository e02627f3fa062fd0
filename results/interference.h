/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RESULTS_INTERFERENCE_H
#define RESULTS_INTERFERENCE_H

#include "results/flow-table.h"
#include "results/message-parts.h"

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace results
{

/**
 * Who waited for whom, and at which link, among jobs that share a network.
 *
 * Of every measured message its last packet tells, port by port, how long it waited in a switch
 * (queued, or at a port that was paused), and where it went:
 *
 *     waited[a][port] = sum over a's messages of that time
 *     bytes[a][port]  = sum over a's messages of their size, where the last packet passed
 *
 * What a waited for b there is taken to be b's share of the bytes, as a queue serves whoever is in
 * it: waited[a][port] x bytes[b][port] / sum over all c of bytes[c][port]. These add up to what a
 * waited, its own part included.
 *
 * Beside that stands what the packet saw: of which message the one in front of it in the queue was
 * (MessageParts::Hop::behind). It is a sample of one packet a message, and where pauses make
 * packets come in bursts mostly one of the same message.
 */
class Interference
{
  public:
    /// \param ports names, by end of the fabric; kept by reference
    explicit Interference(const std::vector<std::string>& ports)
        : m_ports(ports),
          m_owners(1)
    {
    }

    /// Its number is the next one, from 1. Owner 0 is everything else, and has no name.
    void AddOwner(const std::string& name);

    /// \param owner of the message \param ownerOf of a tag \param ordinary whose ordinary packets
    /// are
    void Add(const FlowRecord& record,
             const MessageParts& parts,
             uint32_t owner,
             const std::function<uint32_t(uint32_t tag)>& ownerOf,
             uint32_t ordinary = 0);
    void Clear();
    /// Ordinary packets (TCP, UDP) are an owner's. They have no messages that tell: of them is
    /// known what they carried over each port, and who waited behind them. \param bytes by port, IP
    /// headers included, in the measured time
    void SetOrdinary(uint32_t owner, std::vector<uint64_t> bytes);

    /// Share of the time of an owner's messages that it has to have waited for others, for one of
    /// them to be named in words for people (assumed). Who prints reads it from ToJson.
    static constexpr double NAMED_FROM_SHARE = 0.01;

    /// Of an owner:
    ///     {"messages_us", "waited_us", "waited_for_others_us", "throttled_us",
    ///      "waited_for": [{"job", "waited_us"}], "behind": [{"job", "waited_us"}],
    ///      "links": [{"link", "waited_us", "waited_for_others_us", "slowed_by",
    ///                 "share_of_bytes_of_others"}],
    ///      "shares": {"link", "job", "share_of_bytes_of_others"},
    ///      "named_from_share": NAMED_FROM_SHARE}
    /// `shares` is where most bytes of others passed, of the ports of its own messages, whether or
    /// not anybody waited there: congestion control that slows senders down in time leaves no
    /// queues. null: it shares no port.
    /// \param nameless what owner 0 is called \param mostLinks where it waited longest for others
    nlohmann::ordered_json ToJson(uint32_t owner,
                                  const std::string& nameless,
                                  std::size_t mostLinks = 5) const;

  private:
    struct Port
    {
        int64_t waited{0};           //!< ps
        std::vector<int64_t> behind; //!< ps, by owner of the packet in front
        uint64_t bytes{0};           //!< of messages that passed
    };

    struct Owner
    {
        std::string name;
        int64_t time{0};      //!< ps, of all messages, from post to end
        int64_t throttled{0}; //!< ps of it, by the congestion control
        std::map<uint32_t, Port> ports;
    };

    const std::string& NameOf(uint32_t owner, const std::string& nameless) const;
    uint64_t BytesAt(uint32_t owner, uint32_t port) const;

    /// Who else passes a port.
    struct Others
    {
        double all{0};    //!< bytes of all owners
        double theirs{0}; //!< bytes of others
        uint32_t most{0}; //!< of the others who has most; the owner itself: there are none
    };

    Others FindOthers(uint32_t owner, uint32_t port) const;
    nlohmann::ordered_json SharedMost(uint32_t owner, const std::string& nameless) const;

    const std::vector<std::string>& m_ports;
    std::vector<Owner> m_owners;
    uint32_t m_ordinary{0};                //!< owner
    std::vector<uint64_t> m_ordinaryBytes; //!< by port; empty: there are none
};

} // namespace results

#endif // RESULTS_INTERFERENCE_H
