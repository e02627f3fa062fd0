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
 *     waited[a][port][t] = sum over a's messages of that time, in the interval in which each ended
 *     bytes[a][port][t]  = sum over a's messages of their size, where the last packet passed,
 * spread evenly over the time from post to end
 *
 * What a waited for b there is taken to be b's share of the bytes of that interval, as a queue
 * serves whoever is in it: waited[a][port][t] x bytes[b][port][t] / sum over all c of
 * bytes[c][port][t]. These add up to what a waited, its own part included. Jobs that were there at
 * different times have not met. Intervals are 100 us (assumed: those of links.csv), and twice as
 * long each time that there would be more than 128 of them, so memory does not grow with time.
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
    /// known what they carried over each port, and who waited behind them; not when, so their bytes
    /// are spread evenly over all intervals with messages. \param bytes by port, IP headers
    /// included, in the measured time
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
    /// `shares` is where most bytes of others passed, of the ports of its own messages and in the
    /// intervals in which it had some there (share_of_bytes_of_others: the same), whether or not
    /// anybody waited there: congestion control that slows senders down in time leaves no
    /// queues. null: it shares no port.
    /// \param nameless what owner 0 is called \param mostLinks where it waited longest for others
    nlohmann::ordered_json ToJson(uint32_t owner,
                                  const std::string& nameless,
                                  std::size_t mostLinks = 5) const;

  private:
    static constexpr int64_t LEAST_INTERVAL = 100'000'000; // ps
    static constexpr std::size_t MOST_INTERVALS = 128;

    struct Interval
    {
        int64_t waited{0}; //!< ps
        uint64_t bytes{0}; //!< of messages that passed
    };

    struct Port
    {
        std::vector<Interval> intervals; //!< from time 0 on
        std::vector<int64_t> behind;     //!< ps, by owner of the packet in front
    };

    struct Owner
    {
        std::string name;
        int64_t time{0};      //!< ps, of all messages, from post to end
        int64_t throttled{0}; //!< ps of it, by the congestion control
        std::map<uint32_t, Port> ports;
    };

    const std::string& NameOf(uint32_t owner, const std::string& nameless) const;
    /// Two intervals become one.
    void Coarsen();
    /// \return bytes of an interval
    double BytesAt(uint32_t owner, uint32_t port, std::size_t interval) const;
    /// \return owners with bytes at a port, ascending
    std::vector<uint32_t> OwnersAt(uint32_t port) const;

    /// Who else passes a port while an owner has messages there.
    struct Others
    {
        double all{0};    //!< bytes of all owners
        double theirs{0}; //!< bytes of others
        uint32_t most{0}; //!< of the others who has most; the owner itself: there are none
        double waited{0}; //!< ps, of the owner
        std::map<uint32_t, double> waitedFor; //!< ps, of it, by owner
    };

    Others FindOthers(uint32_t owner, uint32_t port) const;
    nlohmann::ordered_json SharedMost(uint32_t owner, const std::string& nameless) const;

    const std::vector<std::string>& m_ports;
    std::vector<Owner> m_owners;
    std::map<uint32_t, std::vector<uint32_t>> m_ownersAt; //!< by port, ascending: with messages
    int64_t m_interval{LEAST_INTERVAL};                   //!< ps
    std::size_t m_first{SIZE_MAX};                        //!< interval with messages
    std::size_t m_last{0};
    uint32_t m_ordinary{0};                //!< owner
    std::vector<uint64_t> m_ordinaryBytes; //!< by port; empty: there are none
};

} // namespace results

#endif // RESULTS_INTERFERENCE_H
