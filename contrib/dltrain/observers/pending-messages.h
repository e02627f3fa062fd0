/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_PENDING_MESSAGES_H
#define DLTRAIN_PENDING_MESSAGES_H

#include "contrib/dltrain/base/slots.h"
#include "contrib/rdma/core/number-table.h"
#include "reports/tables/flow-table.h"

#include "ns3/rdma-verbs.h"

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

namespace dltrain
{

/**
 * Messages under way, by the queue pair that they were posted to. A queue pair's messages arrive in
 * the order they were posted in, so a list for each matches them; entries come from one pool.
 */
class PendingMessages
{
  public:
    struct Message
    {
        int64_t posted{0};
        uint64_t flow{0};
        uint32_t tag{0};
        bool measured{false};
        ns3::RdmaOperation operation{ns3::RdmaOperation::WRITE};
    };

    /// The state of a queue pair that messages were posted to.
    struct Sender
    {
        static constexpr uint32_t NO_SIZE = UINT32_MAX; //!< sizes from here on are not remembered

        uint32_t fromGpu{reports::FlowRecord::NO_GPU};
        uint32_t toGpu{reports::FlowRecord::NO_GPU};
        // The recent kind of messages, and the time of two sizes alone: pieces of a vector have one
        // or the other.
        uint32_t idealTo{UINT32_MAX};
        bool idealImmediate{false};
        ns3::RdmaOperation idealOperation{ns3::RdmaOperation::WRITE};
        bool failed{false};
        bool wayNoted{false}; //!< JourneyCollector::Add
        std::array<uint32_t, 2> idealBytes{NO_SIZE, NO_SIZE};
        std::array<int64_t, 2> ideals{}; //!< ps

      private:
        friend class PendingMessages;
        uint32_t m_head{UINT32_MAX};
        uint32_t m_tail{UINT32_MAX};
    };

    static_assert(sizeof(Sender) == 48); // there is one for each pair of ranks

    explicit PendingMessages(uint32_t endpoints);

    /// \param number of the queue pair. \return it; stays where it is
    Sender& Find(uint32_t endpoint, uint32_t number);
    /// \return null: nothing was posted to it so far
    const Sender* Known(uint32_t endpoint, uint32_t number) const;
    /// Add or Take will soon be called. \param depth 0, 1, 2, 3: what each looks at, those before
    /// have fetched
    void Prefetch(uint32_t endpoint, uint32_t number, uint32_t depth) const;
    /// Its number will not come again. \pre nothing is under way
    void Forget(uint32_t endpoint, uint32_t number);

    void Add(Sender& sender, const Message& message);
    /// Removes the oldest READ, or the oldest other message. The two kinds are reported at
    /// different ends, so each waits for its own kind. \return whether there is one
    bool Take(Sender& sender, bool read, Message& message);

    /// \return the oldest one; null if there is none
    const Message* Oldest(const Sender& sender) const
    {
        return sender.m_head == NONE ? nullptr : &m_pool[sender.m_head].message;
    }

    /// \return how many are under way
    uint32_t Count(const Sender& sender) const;

    /// Messages that were posted before are not measured, and no path is noted. Those that another
    /// rank will post later stay (TraceCollector::ExpectMessage). \param now ps
    void ForgetMeasured(int64_t now);

    /// No way is noted.
    void ForgetWays();

  private:
    static constexpr uint32_t NONE = UINT32_MAX;

    struct Entry
    {
        Message message;
        uint32_t next{NONE};
    };

    /// By endpoint and number: of m_senders.
    std::vector<rdma::NumberTable<uint32_t>> m_queuePairs;
    Slots<Sender, std::deque<Sender>> m_senders;
    std::vector<Entry> m_pool;
    uint32_t m_free{NONE};
};

} // namespace dltrain

#endif // DLTRAIN_PENDING_MESSAGES_H
