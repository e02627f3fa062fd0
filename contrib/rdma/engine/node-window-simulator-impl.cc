/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "node-window-simulator-impl.h"

#include "node-window-ports.h"
#include "node-window-ranks.h"
#include "rdma-event-order.h"
#include "rdma-event.h"

#include "ns3/abort.h"
#include "ns3/boolean.h"
#include "ns3/channel.h"
#include "ns3/event-impl.h"
#include "ns3/log.h"
#include "ns3/make-event.h"
#include "ns3/net-device.h"
#include "ns3/node-list.h"
#include "ns3/node.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("NodeWindowSimulatorImpl");

NS_OBJECT_ENSURE_REGISTERED(NodeWindowSimulatorImpl);

TypeId
NodeWindowSimulatorImpl::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::NodeWindowSimulatorImpl")
            .SetParent<SimulatorImpl>()
            .SetGroupName("Rdma")
            .AddConstructor<NodeWindowSimulatorImpl>()
            .AddAttribute(
                "Threads",
                "Threads that run nodes at once where that is faster, 1 to 64. Objects that events "
                "of several nodes share, ns-3's included, must be thread-safe",
                UintegerValue(1),
                MakeUintegerAccessor(&NodeWindowSimulatorImpl::m_threads),
                MakeUintegerChecker<uint32_t>(1, NodeWindows::MAX_THREADS))
            .AddAttribute("ThreadsAlways",
                          "Whether all threads are used also where that is slower, and nodes "
                          "change threads now and then: for tests",
                          BooleanValue(false),
                          MakeBooleanAccessor(&NodeWindowSimulatorImpl::m_threadsAlways),
                          MakeBooleanChecker())
            .AddAttribute(
                "Turns",
                "Run the two sides of a two-sided network in turns, which is faster. Events "
                "between nodes, or without a node, must then lie two look-aheads ahead",
                BooleanValue(false),
                MakeBooleanAccessor(&NodeWindowSimulatorImpl::m_turns),
                MakeBooleanChecker());
    return tid;
}

NodeWindowSimulatorImpl::NodeWindowSimulatorImpl()
    : m_windows(std::make_unique<NodeWindows>()),
      m_thread(std::this_thread::get_id())
{
}

NodeWindowSimulatorImpl::~NodeWindowSimulatorImpl() = default;

void
NodeWindowSimulatorImpl::DoDispose()
{
    m_windows.reset();
    SimulatorImpl::DoDispose();
}

void
NodeWindowSimulatorImpl::Destroy()
{
    while (!m_destroyEvents.empty())
    {
        const Ptr<EventImpl> event = m_destroyEvents.front().PeekEventImpl();
        m_destroyEvents.pop_front();
        event->Invoke();
    }
}

bool
NodeWindowSimulatorImpl::IsFinished() const
{
    return m_windows->IsEmpty() || m_windows->IsStopped();
}

void
NodeWindowSimulatorImpl::Stop()
{
    m_windows->Stop();
}

StopResult
NodeWindowSimulatorImpl::Stop(const Time& delay)
{
    NS_ABORT_MSG_IF(delay.IsStrictlyNegative(), "an event in the past");
    EventImpl* stop = MakeEvent([this] { m_windows->Stop(); });
    if (IsElsewhere())
    {
        m_windows->ScheduleFromElsewhere(stop);
        return static_cast<StopResult>(EventId());
    }
    const int64_t ts = m_windows->Now() + delay.GetTimeStep();
    const uint32_t uid = m_windows->ScheduleGlobal(ts, stop);
    return static_cast<StopResult>(
        EventId(Ptr<EventImpl>(stop), static_cast<uint64_t>(ts), Simulator::NO_CONTEXT, uid));
}

// Events -----------------------------------------------------------------------------------------

bool
NodeWindowSimulatorImpl::IsElsewhere() const
{
    // Threads of the engine run units, and nothing else.
    return !NodeWindows::InUnit() && m_thread != std::this_thread::get_id();
}

EventId
NodeWindowSimulatorImpl::ScheduleAt(int64_t ts, EventImpl* event)
{
    const uint32_t context = m_windows->GetContext();
    const uint32_t uid = context == Simulator::NO_CONTEXT
                             ? m_windows->ScheduleGlobal(ts, event)
                             : m_windows->ScheduleNode(context, ts, event);
    return EventId(Ptr<EventImpl>(event), static_cast<uint64_t>(ts), context, uid);
}

EventId
NodeWindowSimulatorImpl::Schedule(const Time& delay, EventImpl* event)
{
    NS_ABORT_MSG_IF(delay.IsStrictlyNegative(), "an event in the past");
    NS_ABORT_MSG_IF(IsElsewhere(),
                    "Simulator::Schedule by another thread; Simulator::ScheduleWithContext may be");
    return ScheduleAt(m_windows->Now() + delay.GetTimeStep(), event);
}

void
NodeWindowSimulatorImpl::ScheduleWithContext(uint32_t context, const Time& delay, EventImpl* event)
{
    NS_ABORT_MSG_IF(delay.IsStrictlyNegative(), "an event in the past");
    if (IsElsewhere())
    {
        m_windows->ScheduleFromElsewhere(event);
        return;
    }
    const int64_t ts = m_windows->Now() + delay.GetTimeStep();
    const uint32_t node = RdmaEventOrder::NodeOf(context);
    if (node == Simulator::NO_CONTEXT)
    {
        m_windows->ScheduleGlobal(ts, event, context == RdmaEventOrder::BEFORE);
        return;
    }
    m_windows->ScheduleNode(context, ts, event);
}

EventId
NodeWindowSimulatorImpl::ScheduleNow(EventImpl* event)
{
    return Schedule(Time(0), event);
}

EventId
NodeWindowSimulatorImpl::ScheduleDestroy(EventImpl* event)
{
    m_destroyEvents.emplace_back(Ptr<EventImpl>(event, false),
                                 static_cast<uint64_t>(m_windows->Now()),
                                 Simulator::NO_CONTEXT,
                                 EventId::UID::DESTROY);
    return m_destroyEvents.back();
}

void
NodeWindowSimulatorImpl::Remove(const EventId& id)
{
    if (id.GetUid() == EventId::UID::DESTROY)
    {
        m_destroyEvents.remove(id);
        return;
    }
    EventImpl* event = id.PeekEventImpl();
    if (event &&
        m_windows->Remove(static_cast<int64_t>(id.GetTs()), id.GetContext(), id.GetUid(), event))
    {
        event->Cancel();
        event->Unref();
    }
    else if (NodeWindows::InUnit())
    {
        Cancel(id); // it stays where it is, and does nothing
    }
}

void
NodeWindowSimulatorImpl::Cancel(const EventId& id)
{
    if (!IsExpired(id))
    {
        id.PeekEventImpl()->Cancel();
    }
}

bool
NodeWindowSimulatorImpl::IsExpired(const EventId& id) const
{
    EventImpl* event = id.PeekEventImpl();
    if (id.GetUid() == EventId::UID::DESTROY)
    {
        return !event || event->IsCancelled() ||
               std::find(m_destroyEvents.begin(), m_destroyEvents.end(), id) ==
                   m_destroyEvents.end();
    }
    const auto ts = static_cast<int64_t>(id.GetTs());
    if (!event || event->IsCancelled() || ts < m_windows->Now())
    {
        return true;
    }
    return ts == m_windows->Now() && !m_windows->IsPending(ts, id.GetContext(), id.GetUid(), event);
}

// Running ----------------------------------------------------------------------------------------

void
NodeWindowSimulatorImpl::FindLookAhead()
{
    const NodeWindowPorts& all = NodeWindowPorts::Get();
    // Looks at a channel: without delay it joins its nodes to one unit, else it bounds the
    // look-ahead.
    bool any = false; // channels
    bool others = false;
    bool delayed = false;
    const auto look = [&](Channel& channel, int64_t& least) {
        int64_t ticks = 0;
        int64_t delay = 0;
        if (all.GetDelay(channel, delay))
        {
            // Times are exact to the picosecond, events happen at the first tick not before.
            const int64_t tick = std::max<int64_t>(1, RdmaClock::TicksToPs(1));
            const int64_t ps = delay - (tick - 1);
            ticks = ps <= 0 ? 0 : (tick > 1 ? ps / tick : RdmaClock::TickAt(ps));
        }
        else
        {
            TimeValue time;
            ticks = channel.GetAttributeFailSafe("Delay", time) ? time.Get().GetTimeStep() : 0;
            others = true;
        }
        any = true;
        if (ticks > 0)
        {
            delayed = true;
            least = std::min(least, ticks);
            return;
        }
        for (std::size_t i = 1; i < channel.GetNDevices(); ++i)
        {
            m_windows->Join(channel.GetDevice(0)->GetNode()->GetId(),
                            channel.GetDevice(i)->GetNode()->GetId());
        }
    };
    for (auto node = NodeList::Begin(); node != NodeList::End(); ++node)
    {
        m_windows->UnitOf((*node)->GetId()); // in their order
    }
    int64_t least = std::max<int64_t>(1, RdmaClock::TickAt(NodeWindows::LONGEST_PS));
    const auto forEachDevice = [](const auto& what) {
        for (auto node = NodeList::Begin(); node != NodeList::End(); ++node)
        {
            for (uint32_t i = 0; i < (*node)->GetNDevices(); ++i)
            {
                what(*(*node)->GetDevice(i));
            }
        }
    };
    forEachDevice([&](NetDevice& device) {
        const Ptr<Channel> channel = device.GetChannel();
        // Each once.
        if (channel && channel->GetNDevices() && PeekPointer(channel->GetDevice(0)) == &device)
        {
            look(*channel, least);
        }
    });
    // Without any delay all nodes are one, and what concerns all may happen at once.
    least = any && !delayed ? 1 : least;
    m_windows->SetLookAhead(least);
    std::map<NodeWindows::Unit*, std::vector<std::pair<uint32_t, NodeWindowPort*>>>
        ports;                                                            // by context
    std::vector<std::pair<NodeWindows::Unit*, NodeWindows::Unit*>> links; // in the order of nodes
    forEachDevice([&](NetDevice& device) {
        const NodeWindowPorts::Device found = all.Look(device);
        if (found.port)
        {
            NodeWindows::Unit& unit = m_windows->UnitOf(device.GetNode()->GetId());
            ports[&unit].emplace_back(found.context, found.port);
            links.emplace_back(&unit, &m_windows->UnitOf(found.peer));
        }
        others |= found.hasNoOrder; // what is sent to it is an event of its node
    });
    // Where all is one unit nothing is mail, and its many ports are better found in its event set.
    constexpr std::size_t MANY = 64;
    if (ports.size() == 1 && ports.begin()->second.size() > MANY)
    {
        ports.clear();
    }
    for (auto& [unit, ofUnit] : ports)
    {
        std::sort(ofUnit.begin(), ofUnit.end(), [](const auto& a, const auto& b) {
            return a.first < b.first;
        });
        std::vector<NodeWindowPort*> inOrder;
        for (const auto& [context, port] : ofUnit)
        {
            inOrder.push_back(port);
        }
        unit->SetPorts(inOrder);
        for (uint32_t slot = 0; slot < ofUnit.size(); ++slot)
        {
            all.SetSlot(*inOrder[slot], *unit, slot);
        }
    }
    for (const auto& [unit, ofUnit] : ports)
    {
        for (const auto& [context, port] : ofUnit)
        {
            all.UseWindows(*port); // all have their slots
        }
    }
    bool turns = m_turns && delayed && !others;
    if (NodeWindowRanks* ranks = m_windows->GetRanks())
    {
        // A rank with one node alone has no ports but those of gateways.
        turns = ranks->Least(m_turns && !others && m_windows->GetUnits() == NodeList::GetNNodes());
        links.clear();
        for (const auto& [one, other] : ranks->GetLinks())
        {
            links.emplace_back(&m_windows->UnitOf(one), &m_windows->UnitOf(other));
        }
    }
    FindSides(turns ? links : decltype(links)());
    NS_LOG_INFO("look-ahead: " << TimeStep(static_cast<uint64_t>(least)).As(Time::NS));
}

void
NodeWindowSimulatorImpl::FindSides(
    const std::vector<std::pair<NodeWindows::Unit*, NodeWindows::Unit*>>& links)
{
    std::map<NodeWindows::Unit*, std::vector<NodeWindows::Unit*>> neighbours;
    for (const auto& [one, other] : links)
    {
        if (one != other)
        {
            neighbours[one].push_back(other);
            neighbours[other].push_back(one);
        }
    }
    std::map<NodeWindows::Unit*, uint8_t> sideOf; // of those found
    std::vector<NodeWindows::Unit*> found;
    bool any = !neighbours.empty();
    for (const auto& link : links)
    {
        if (sideOf.emplace(link.first, 0).second)
        {
            found.push_back(link.first);
        }
        while (!found.empty())
        {
            NodeWindows::Unit* unit = found.back();
            found.pop_back();
            const uint8_t side = sideOf[unit];
            for (NodeWindows::Unit* other : neighbours[unit])
            {
                const auto [at, isNew] = sideOf.emplace(other, 1 - side);
                any = any && at->second != side;
                if (isNew)
                {
                    found.push_back(other);
                }
            }
        }
    }
    std::vector<uint8_t> sides;
    if (any)
    {
        for (NodeWindows::Unit& unit : m_windows->GetUnitList())
        {
            const auto at = sideOf.find(&unit);
            sides.push_back(at == sideOf.end() ? 0 : at->second);
        }
    }
    m_windows->SetSides(sides);
}

void
NodeWindowSimulatorImpl::Run()
{
    RdmaClock::Update();
    m_windows->SetThreads(m_threads, m_threadsAlways);
    FindLookAhead();
    m_windows->Run();
}

Time
NodeWindowSimulatorImpl::Now() const
{
    return TimeStep(static_cast<uint64_t>(m_windows->Now()));
}

Time
NodeWindowSimulatorImpl::GetDelayLeft(const EventId& id) const
{
    return IsExpired(id) ? TimeStep(0)
                         : TimeStep(id.GetTs() - static_cast<uint64_t>(m_windows->Now()));
}

Time
NodeWindowSimulatorImpl::GetMaximumSimulationTime() const
{
    return TimeStep(std::numeric_limits<int64_t>::max());
}

void
NodeWindowSimulatorImpl::SetScheduler(ObjectFactory)
{
    // It has event sets of its own. ns-3 calls this for every engine.
}

uint32_t
NodeWindowSimulatorImpl::GetSystemId() const
{
    return 0;
}

uint32_t
NodeWindowSimulatorImpl::GetContext() const
{
    return m_windows->GetContext();
}

uint64_t
NodeWindowSimulatorImpl::GetEventCount() const
{
    return m_windows->GetEventCount();
}

} // namespace ns3
