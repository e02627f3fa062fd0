/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_COLLECTIVE_RUNNER_RELAY_H
#define DLTRAIN_COLLECTIVE_RUNNER_RELAY_H

#include "collective-runner.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace dltrain
{

/**
 * Computes at once, when a ring's message enters a server, how it is passed on inside.
 *
 * Seven of eight messages of a ring through servers of eight GPUs are between GPUs of one server,
 * and nothing delays them as long as the ring alone uses its links. So when a message enters the
 * server, the times are known when each GPU passes it on, and when the last one sends it out.
 *
 *     network --> GPU 0 --> GPU 1 --> ... --> GPU 7 --> network
 *            at now   link 0    link 1     link 6    at a time that is known: the only event
 *
 * A relay serves one collective of one lane in one server (coll::Schedule::PassesOn). It lasts from
 * an incoming message to the first message of another user in the server, or to the last incoming
 * one. It borrows the server's messages and links (ScaleUpTransport::Lend), and keeps the state of
 * its GPUs' messages. At its end it gives all back, in the state of that time, and the GPUs go on
 * message by message. The results are the same to the picosecond (`--in-server=one-by-one` never
 * relays). The order within one picosecond is the same, too, since it does not depend on the time
 * of scheduling (Places::Turn). A post in the server at the picosecond of an arrival inside comes
 * first, so for GiveBack the message has not arrived yet. A send that such an arrival causes comes
 * after all else that the server does then.
 *
 * Links are those of a pair that is alone (ScaleUpModel, "Lent"); all messages have one latency.
 * In events of its server only.
 */
class CollectiveRunner::Relay final : public ScaleUpBorrower
{
  public:
    /// More GPUs of a server do not relay.
    static constexpr uint32_t MOST_LINKS = 15;

    Relay(CollectiveRunner& runner, uint32_t server);
    ~Relay() override;

    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

    /// A message of a collective has come in from the network: begin a relay, if possible.
    /// \param entry the member that got it, not yet counted
    /// \return whether it relays this collective
    bool Begin(Member& entry, const Part& part, int64_t now);

    /// \return whether it relays the messages that this member gets over the network
    bool Relays(const Member& entry, uint32_t sequence) const
    {
        return m_entry == &entry && m_sequence == sequence;
    }

    /// A message has come in. \param cause held, ends here if that returns true
    /// \return false: it relays no more
    bool Pass(reports::PathRecord* cause, int64_t now);

    /// The event of Pass: the last GPU sends it out. \param turn as of the event
    void SendOut(uint32_t turn, int64_t now);

    /// \return bytes that its GPUs have sent and do not know of yet. \param until as that of End
    uint64_t CountSent(int64_t until) const;

    // ScaleUpBorrower
    void GiveBack(int64_t now) override;
    void Prefetch(int64_t until, uint32_t depth) const override;

    /// Gives the state back to the GPUs. Also between the nodes' events. \param until ps: earlier
    /// arrivals have arrived
    void End(int64_t now, int64_t until);

  private:
    /// Messages to let go by after somebody else has posted, at most: whose ring shares its server
    /// with others all the time does not try again and again.
    static constexpr uint32_t MOST_REST = 256;
    /// Messages from which on it was worth to begin.
    static constexpr uint32_t WORTH = 16;

    /// A message on its way through the server. What 8 GPUs need is two lines.
    struct alignas(64) Passing
    {
        uint64_t bytes;
        reports::PathRecord* cause; ///< held: the cause of the first of these GPUs' send
        int64_t posted;             ///< ps, by that GPU
        int64_t arrival;            ///< at the next one
        uint32_t first;             ///< link
        bool cameIn;                ///< while it relays; else it was under way before
        /// By link, from `first` on: the last byte leaves, ps.
        std::array<int64_t, MOST_LINKS> finish;
    };

    /// One of the ring's GPUs here, in its order, with the link after it (the last has none).
    struct Station
    {
        Member* member = nullptr;
        ChannelId channel = 0; ///< to the next one
        // beside what m_passed tells
        uint32_t received = 0;
        uint64_t sent = 0; ///< bytes
    };

    /// Finds the ring's way through the server. \return false: it cannot relay now
    bool FindStations(Member& entry, const Part& part);
    /// Whether all that is under way is this ring's, and is what its GPUs have sent.
    bool OwnsAll() const;
    void TakeOver(std::vector<ScaleUpTransport::Lent>& lent, int64_t now);
    /// Along the links behind `link`, then out. \param at when it is at the GPU behind `link`
    void Run(Passing& passing, uint32_t link, int64_t at, int64_t sending);

    /// Where it is. \param until as that of End
    struct Whereabouts
    {
        uint32_t link;
        int64_t posted;  ///< on that link, ps
        int64_t arrival; ///< ps
        bool isOut;      ///< the last GPU has got it
    };

    Whereabouts Find(const Passing& passing, int64_t until) const;
    /// \return when it is at the GPU behind a link
    int64_t ArrivalOf(const Passing& passing, uint32_t link) const;
    uint32_t LinkOf(const ScaleUpTransport::Lent& message) const;
    topo::ScaleUpModel::Timing TimingOf(uint64_t bytes) const;
    Passing& Add();

    Passing& PassingAt(uint32_t number)
    {
        return m_passing[number & (m_passing.size() - 1)];
    }

    const Passing& PassingAt(uint32_t number) const
    {
        return m_passing[number & (m_passing.size() - 1)];
    }

    /// The paths of a passing message, on which GPU `station` got it.
    reports::PathRecord* PathTo(const Passing& passing, uint32_t station, int64_t at);
    /// GPUs behind the passing's first, up to this one, have got it.
    void Count(const Passing& passing, uint32_t last);
    /// The last GPU has it, and its software is about to send it.
    void LeaveToSoftware(const Passing& passing, int64_t at);
    /// Writes the messages that they have received and sent into the members.
    void TellStations();
    void Rest();

    // the data that a message needs
    Member* m_entry = nullptr; ///< null: it relays nothing
    uint32_t m_sequence = 0;
    uint32_t m_step = 0;    ///< next step of the entry
    uint32_t m_endStep = 0; ///< with that one the message stays in the server
    uint32_t m_links = 0;
    uint32_t m_turn = 0; ///< counts beginnings and ends
    uint32_t m_as = 0;   ///< the entry, in the schedule
    const Plan* m_plan = nullptr;
    int64_t m_latency = 0;    ///< ps, of a link
    int64_t m_sending = 0;    ///< ps, of so many bytes:
    uint64_t m_sizeKnown = 0; ///< the last message's
    Member* m_exit = nullptr;
    uint32_t m_passed = 0; ///< messages sent out that came in
    uint32_t m_begin = 0;  ///< place of the oldest in m_passing
    uint64_t m_passedBytes = 0;
    std::vector<Passing> m_passing; ///< a ring, its size a power of 2
    uint32_t m_end = 0;             ///< behind the newest
    uint32_t m_rest = 0;            ///< messages to let go by before the next try
    alignas(64) std::array<int64_t, MOST_LINKS> m_finish; ///< by link: of the last message, ps
    std::array<int64_t, MOST_LINKS> m_noEarlier; ///< by link: no message arrives sooner, ps
    // seldom needed
    uint32_t m_nextRest = 1;
    uint32_t m_firstStep = 0; ///< m_step at first
    uint64_t m_posted = 0;    ///< bytes over links, beside those of m_passed
    uint64_t m_arrived = 0;
    std::array<Station, MOST_LINKS + 1> m_stations;
    CollectiveRunner& m_runner;
    ScaleUpTransport& m_inside;
    const uint32_t m_server;
};

} // namespace dltrain

#endif // DLTRAIN_COLLECTIVE_RUNNER_RELAY_H
