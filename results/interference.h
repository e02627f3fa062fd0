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
 * (queued, or at a port that was paused), and when. The measured time is in SLOTS slots or fewer,
 * of a power of two of ps:
 *
 *     waited[a][port][t] = sum over a's messages of that time, in slot t
 *     bytes[a][port][t]  = sum over a's messages of their bytes in slot t, where the last packet
 *                          passed: as if they went evenly, from when the messages before it on its
 *                          queue pair were sent to when its last byte left the port
 *
 * What a waited for b there is taken to be b's share of the bytes of that time, as a queue serves
 * whoever is in it: waited[a][port][t] x bytes[b][port][t] / sum over all c of bytes[c][port][t].
 * These add up to what a waited, its own part included. Jobs that use a port one after the other,
 * further apart than a slot (1/SLOTS to 2/SLOTS of the measured time), do not wait for each other.
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

    /// A message, measured or not (warm-up), with its time, ps, and bytes.
    struct Passing
    {
        int64_t start;
        int64_t end;
        uint64_t bytes;
    };

    /// It takes its part of the ports that it passes, and nothing is said of itself.
    void AddUnmeasured(const Passing& message, const MessageParts& parts, uint32_t owner);
    /// What was added is forgotten. \param now ps: the measured time begins
    void Clear(int64_t now);
    /// A message of ordinary packets, ps and bytes: when there were some.
    void AddOrdinary(int64_t begin, int64_t end, uint64_t bytes);
    /// Ordinary packets (TCP, UDP) are an owner's. They have no messages that tell where they
    /// passed: of them is known what they carried over each port, and who waited behind them. At
    /// each port they are taken to have come when their messages did (AddOrdinary), evenly without
    /// any. \param bytes by port, IP headers included, in the measured time \param now ps:
    /// its end
    void SetOrdinary(uint32_t owner, const std::vector<uint64_t>& bytes, int64_t now);

    /// Share of the time of an owner's messages that it has to have waited for others, for one of
    /// them to be named in words for people (assumed). Who prints reads it from ToJson.
    static constexpr double NAMED_FROM_SHARE = 0.01;

    /// Of an owner:
    ///     {"messages_us", "waited_us", "waited_for_others_us",
    ///      "slot_us" (length of a slot), "throttled_us", "window_us", "nic_paused_us",
    ///      "waited_for": [{"job", "waited_us"}], "behind": [{"job", "waited_us"}],
    ///      "links": [{"link", "waited_us", "waited_for_others_us", "slowed_by",
    ///                 "share_of_bytes_of_others"}],
    ///      "shares": {"link", "job", "share_of_bytes_of_others"},
    ///      "shares_switch": {"switch", "job"},
    ///      "named_from_share": NAMED_FROM_SHARE}
    /// Shares of bytes are of those of others while it waited there. `shares` is where most bytes
    /// of others passed while its own measured messages did, whether or not anybody waited:
    /// congestion control that slows senders down in time leaves no queues. null: it shares no port
    /// with anybody, as far as last packets tell; then `shares_switch` is where most bytes of
    /// others pass by other ports at such a time: a switch has one buffer, and draws what is by
    /// chance. What held messages back in the sender (TimeShare) is not divided among jobs. \param
    /// nameless what owner 0 is called \param mostLinks where it waited longest for others
    nlohmann::ordered_json ToJson(uint32_t owner,
                                  const std::string& nameless,
                                  std::size_t mostLinks = 5) const;

  private:
    /// Of the measured time, at most; what it takes: 32 B for each port, owner and slot in which
    /// something passed (assumed to be fine enough).
    static constexpr int64_t SLOTS = 128;
    static constexpr uint32_t LEAST_SHIFT = 20; //!< slots are at least 2^20 ps, a microsecond

    struct Slot
    {
        int64_t number;
        uint64_t bytes;    //!< that passed
        uint64_t measured; //!< of them those of measured messages
        int64_t waited;    //!< ps
    };

    struct Port
    {
        bool isNic{false};           //!< of the sender
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
        double passed{0};              //!< bytes of all, in slots in which the owner has some
        double others{0};              //!< of them others'
        uint32_t most{0};              //!< who has most of these; the owner itself: there are none
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
    /// \return `shares_switch` of ToJson
    nlohmann::ordered_json SharedSwitch(uint32_t owner, const std::string& nameless) const;

    const std::vector<std::string>& m_ports;
    std::vector<Owner> m_owners;
    Port m_ordinary;               //!< slots of all messages of ordinary packets
    int64_t m_begin{0};            //!< ps
    uint32_t m_shift{LEAST_SHIFT}; //!< of a slot's length
};

/// \param interference of Interference::ToJson; null: it is not known \param hasBuffer whether all
/// ports of a switch have one together \return what a job's messages waited for longest, and whom
/// they meet, in words: "71% throttled by congestion control; meets b at leaf-0->spine-0 (50% of
/// the bytes there are others')", where the first percentage is of their time
std::string WaitedLongest(const nlohmann::ordered_json& interference,
                          const rdma::LinkWords& link,
                          bool hasBuffer);

} // namespace results

#endif // RESULTS_INTERFERENCE_H
