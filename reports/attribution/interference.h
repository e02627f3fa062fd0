/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_ATTRIBUTION_INTERFERENCE_H
#define REPORTS_ATTRIBUTION_INTERFERENCE_H

#include "reports/attribution/message-parts.h"
#include "reports/schema/object.h"
#include "reports/tables/flow-table.h"

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace reports
{

/**
 * Which job waited for which other, and at which link, among jobs that share a network.
 *
 * The last packet of every measured message records, port by port, how long it waited in a switch
 * (queued, or at a paused port), and when. The measured time is cut into SLOTS slots or fewer,
 * whose length is a power of two of ps:
 *
 *     waited[a][port][t] = sum over a's messages of that time, in slot t
 *     bytes[a][port][t]  = sum over a's messages of their bytes in slot t, where the last packet
 *                          passed: as if they went evenly, from when the messages before it on its
 *                          queue pair were sent to when its last byte left the port
 *
 * The time that a waited for b there is taken as b's share of the bytes of that time, since a queue
 * serves all of its packets: waited[a][port][t] x bytes[b][port][t] / sum over all c of
 * bytes[c][port][t]. These add up to the time that a waited, its own part included. Jobs that use a
 * port one after the other, further apart than a slot (1/SLOTS to 2/SLOTS of the measured time), do
 * not wait for each other.
 *
 * The results also have what the packet saw: the message of the packet in front of it in the queue
 * (MessageParts::Hop::behind). That is a sample of one packet per message. Where pauses cause
 * bursts, the packet in front is mostly of the same message.
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

    /// A message, measured or not (warm-up), with its time, ps, and bytes.
    struct Passing
    {
        int64_t start;
        int64_t end;
        uint64_t bytes;
    };

    /// It takes its part of the ports that it passes, and nothing is said of itself.
    void AddUnmeasured(const Passing& message, const MessageParts& parts, uint32_t owner);
    /// Forgets everything added so far. \param now ps: the measured time begins
    void Clear(int64_t now);
    /// Adds a message of ordinary packets, ps and bytes: when there were some.
    void AddOrdinary(int64_t begin, int64_t end, uint64_t bytes);
    /// Sets the owner of ordinary packets (TCP, UDP). They have no messages that record their
    /// ports. Known are the bytes on each port, and the packets that waited behind them. At each
    /// port they are assumed to have come when their messages did (AddOrdinary), or evenly if there
    /// are none.
    /// \param bytes by port, IP headers included, in the measured time
    /// \param now ps: its end
    void SetOrdinary(uint32_t owner, const std::vector<uint64_t>& bytes, int64_t now);

    /// The least share of an owner's message time that it must have waited for others, before text
    /// for people names one of them (assumed). Printing code reads it from ToJson.
    static constexpr double NAMED_FROM_SHARE = 0.01;

    /// The times of an owner's messages, and the jobs that they met, as JSON (Words).
    ///
    /// A link's `share_of_bytes_of_others` is for the time in which the owner waited there.
    /// `shares` is the port where most bytes of others passed while the owner's measured messages
    /// did, whether or not any message waited: congestion control that slows senders down in time
    /// leaves no queues. `shares` is null if the owner shares no port, as far as last packets tell.
    /// Then `shares_switch` is the switch where most bytes of others pass by other ports at such a
    /// time: messages meet there by the switch's one buffer, and by its random choices. The time
    /// that messages are held back in the sender (TimeShare) is not divided among jobs.
    /// \param nameless name of owner 0
    /// \param mostLinks most links in `links`: those where it waited longest for others
    nlohmann::ordered_json ToJson(uint32_t owner,
                                  const std::string& nameless,
                                  std::size_t mostLinks = 5) const;
    /// Words for the keys of ToJson.
    static const Shape& Words();

  private:
    /// Number of slots in the measured time, at most. Memory: 32 B for each port, owner and slot
    /// with traffic (assumed to be fine enough).
    static constexpr int64_t SLOTS = 128;
    static constexpr uint32_t LEAST_SHIFT = 20; //!< slots are at least 2^20 ps, a microsecond

    struct Slot
    {
        int64_t number;
        uint64_t bytes;    //!< bytes that passed
        uint64_t measured; //!< part of them in measured messages
        int64_t waited;    //!< ps
    };

    struct Port
    {
        bool isNic{false};           //!< port of the sender's NIC
        int64_t waited{0};           //!< ps
        std::vector<int64_t> behind; //!< ps, by owner of the packet in front
        std::vector<Slot> slots;     //!< in order
    };

    struct Owner
    {
        std::string name;
        int64_t time{0};  //!< ps, of all messages, from post to end
        TimeParts held{}; //!< ps of it
        std::map<uint32_t, Port> ports;
    };

    /// ps and bytes at a port, of an owner.
    struct Shares
    {
        std::vector<double> waitedFor; //!< by owner
        double passed{0}; //!< bytes of all owners, in slots in which this owner has some
        double others{0}; //!< part of them of other owners
        uint32_t most{0}; //!< owner with most of these; this owner itself: there are none
    };

    /// A message takes its part of the ports that it passes.
    void AddPassing(const Passing& message,
                    const MessageParts& parts,
                    uint32_t owner,
                    bool measured);
    const std::string& NameOf(uint32_t owner, const std::string& nameless) const;
    /// Slots of an amount that goes evenly from `begin` to `end`.
    template <typename Amount>
    void Spread(Port& port, int64_t begin, int64_t end, Amount amount, Amount Slot::*of);
    /// Slots become wide enough for this time.
    void Widen(int64_t until);
    static Slot& SlotOf(Port& port, int64_t number);
    Shares SharesAt(uint32_t owner, uint32_t port) const;
    /// \return `shares_switch` of ToJson: the switch, and the job
    std::optional<std::pair<std::string, std::string>> SharedSwitch(
        uint32_t owner,
        const std::string& nameless) const;

    const std::vector<std::string>& m_ports;
    std::vector<Owner> m_owners;
    Port m_ordinary;               //!< slots of all messages of ordinary packets
    int64_t m_begin{0};            //!< ps
    uint32_t m_shift{LEAST_SHIFT}; //!< slots have 2^m_shift ps
};

/// \param interference result of Interference::ToJson; null: not known
/// \param hasBuffer whether all ports of a switch share one buffer
/// \return the main reason why a job's messages waited, and the jobs that they met, in words: "71%
/// throttled by congestion control; meets b at leaf-0->spine-0 (50% of the bytes there are
/// others')". The first percentage is of the messages' time
std::string WaitedLongest(const nlohmann::ordered_json& interference,
                          const rdma::LinkWords& link,
                          bool hasBuffer);

} // namespace reports

#endif // REPORTS_ATTRIBUTION_INTERFERENCE_H
