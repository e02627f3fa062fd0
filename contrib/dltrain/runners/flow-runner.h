/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_FLOW_RUNNER_H
#define DLTRAIN_FLOW_RUNNER_H

#include "contrib/dltrain/base/transport.h"
#include "scenarios/job/scenario.h"
#include "scenarios/traffic/flow-pairs.h"

#include "ns3/rdma-event.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace dltrain
{

/// Hears of flows, which have the numbers of their list.
class FlowListener
{
  public:
    virtual ~FlowListener() = default;
    /// In an event of the poster: a flow is posted next.
    virtual void OnFlowBegin(uint32_t flow, ChannelId channel, int64_t now);
    /// In an event of the receiver of the bytes: all have arrived.
    virtual void OnFlowArrived(uint32_t flow, ChannelId channel, int64_t now);
    /// In an event of the poster: the flow is acknowledged, or has failed. The channel is open.
    virtual void OnFlowEnded(uint32_t flow, ChannelId channel, bool failed, int64_t now);
    /// In an event without context: all measured flows have ended.
    virtual void OnFlowsDone();
};

/// Flows to be run, as a job beside others or alone.
struct FlowJob
{
    /// Their sources and destinations are places, of different servers. In the order in which they
    /// start.
    const std::vector<scenario::Flow>& flows;
    const scenario::Measuring& measuring; //!< the rule for measured flows
    scenario::FlowOperation operation = scenario::FlowOperation::kWrite;
    scenario::QueuePairUse queuePairs = scenario::QueuePairUse::kPerFlow;
    uint32_t number = 0;    //!< ChannelName::job: another than those of its neighbours
    uint32_t firstFlow = 0; //!< the number of the first flow in flows.csv
    /// A flow begins again when it is acknowledged, for ever: kPerPair, and no two of one pair.
    bool repeats = false;
    /// While true, flows that begin belong to the warm-up, whatever `measuring` says. Null: no
    /// warm-up. Changed between the nodes' events only.
    const bool* isWarmup = nullptr;
    /// Once true, flows do not begin again. Null: never. Changed as isWarmup.
    const bool* isOver = nullptr;
    /// Flows that a place has posted and that have not ended, at most; the others wait, whatever
    /// their start says. 0: no limit.
    uint32_t outstanding = 0;
};

/// Counts of flows.
struct FlowCounts
{
    uint64_t posted = 0;
    uint64_t postedBytes = 0;
    uint64_t arrived = 0;
    uint64_t arrivedBytes = 0;
    uint64_t ended = 0; //!< acknowledged or failed
    uint64_t failed = 0;
    uint64_t measuredArrived = 0;
    uint64_t measuredEnded = 0;
    int64_t lastArrival = 0; //!< ps
    int64_t lastEnd = 0;     //!< ps

    FlowCounts& operator+=(const FlowCounts& other);
};

/// \return the verb that moves the bytes of flows
ns3::RdmaOperation VerbOf(scenario::FlowOperation operation);

/**
 * Runs flows over a transport: each is one WRITE, SEND or READ. Its source (for a READ, its
 * destination) posts it at its start, in an event of that host.
 *
 * A flow may have a channel of its own (scenario::QueuePairUse), opened as it begins. If its ends
 * are to be used again, it is closed when the flow is acknowledged. Its lane is the flow's number
 * among those of its source, destination and priority, so its path does not depend on other flows.
 * Or all these flows, or those of a Flow::connection, share a channel, opened as the first one
 * begins; then the receiver knows by the order which flow has come.
 *
 * State that changes while flows run is kept by place and touched by that host's events only; the
 * lists are made before. Several FlowRunners, and jobs of ranks, run on one fabric, if their
 * numbers differ.
 */
class FlowRunner : public TransportUser
{
  public:
    /// How a decision about the whole simulation is made: FabricRun::Decide
    using Decider = std::function<void(std::function<void()>)>;

    /// \param job its references, and all other arguments, outlive this
    /// \param tagOf gives the number of a flow's tag
    FlowRunner(const FlowJob& job,
               Transport& transport,
               const Places& places,
               FlowListener& listener,
               const std::function<uint32_t(const std::string&)>& tagOf);

    /// Before Start. Without a decider, no call reports that all flows are done.
    void SetDecider(Decider decider)
    {
        m_decider = std::move(decider);
    }

    /// Flows begin from now on. What other Ranks post to places of this one is told to the
    /// transport.
    void Start();

    /// \return whether measured flows that are posted here have not ended. Once started; then it is
    /// for the decider to say
    bool HasWork() const
    {
        return m_hostsBusy > 0;
    }

    /// \return the sums over all places here
    FlowCounts GetCounts() const;

    // TransportUser
    void OnDelivered(const Delivery& delivery, int64_t now) override;
    void OnSent(ChannelId channel, uint64_t cookie, uint64_t id, bool failed, int64_t now) override;

  private:
    /// The state of one place: the flows it posts, in order, with one pending event.
    class Host
    {
      public:
        Host(FlowRunner& runner, uint32_t place);

        void Add(uint32_t flow, bool measured)
        {
            m_flows.push_back(flow);
            m_measured += measured;
        }

        /// An event for the next flow, if it may begin.
        void ScheduleNext();
        /// A flow that this place posted has ended: the next one may begin.
        void OnEnded(int64_t now);

        FlowCounts counts; //!< counts of flows posted or received here

        /// \return the measured flows that it posts
        uint64_t GetMeasured() const
        {
            return m_measured;
        }

      private:
        void OnTimer();
        void BeginDue(int64_t now);

        /// \return whether one more flow may be under way
        bool HasRoom() const
        {
            const uint32_t most = m_runner.m_job.outstanding;
            return most == 0 || counts.posted - counts.ended < most;
        }

        FlowRunner& m_runner;
        uint32_t m_context;
        std::vector<uint32_t> m_flows;
        std::size_t m_next = 0;
        uint64_t m_measured = 0;
        bool m_pending = false; //!< an event for the next flow
        ns3::RdmaTimer<Host, &Host::OnTimer> m_timer;
    };

    static constexpr ChannelId NO_CHANNEL = UINT64_MAX;

    bool IsPerPair() const
    {
        return m_job.queuePairs == scenario::QueuePairUse::kPerPair;
    }

    /// \return whether flows may have a channel together
    bool AreShared() const
    {
        return !m_channels.empty();
    }

    bool IsHere(uint32_t place) const
    {
        return m_places.ContextOf(place) != ns3::Simulator::NO_CONTEXT;
    }

    /// \return where a flow is posted
    uint32_t PosterOf(const scenario::Flow& flow) const
    {
        return m_read ? flow.dst : flow.src;
    }

    ChannelName NameOf(uint32_t flow) const;
    TransportPost PostOf(uint32_t flow) const;

    /// \return what comes back with the messages of a flow's channel: its pair, or itself
    uint64_t CookieOf(uint32_t flow) const
    {
        return AreShared() ? m_pairs.pairOf[flow] : flow;
    }

    void Begin(uint32_t flow, int64_t now);
    /// By an event without context: a host's measured flows have ended.
    void OnHostDone();

    FlowJob m_job;
    bool m_read;
    Transport& m_transport;
    const Places& m_places;
    FlowListener& m_listener;
    Decider m_decider;
    std::unordered_map<const std::string*, uint32_t> m_tags; //!< numbers
    std::deque<Host> m_hosts;                                //!< by place
    std::vector<uint32_t> m_lanes;                           //!< by flow; with pairs empty
    scenario::FlowPairs m_pairs;                             //!< empty unless they share channels
    std::vector<ChannelId> m_channels; //!< by pair, of the poster; NO_CHANNEL: no flow so far
    std::vector<uint32_t> m_arriving;  //!< by pair, of the receiver: the flow that arrives next
    uint32_t m_hostsBusy = 0;          //!< with measured flows that have not ended
};

} // namespace dltrain

#endif // DLTRAIN_FLOW_RUNNER_H
