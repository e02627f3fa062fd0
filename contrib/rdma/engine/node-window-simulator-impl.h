/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NODE_WINDOW_SIMULATOR_IMPL_H
#define NODE_WINDOW_SIMULATOR_IMPL_H

#include "node-windows.h"
#include "ns3-compat.h"

#include "ns3/event-id.h"
#include "ns3/simulator-impl.h"

#include <list>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * ns-3's face of the node-window engine (NodeWindows):
 *
 *     GlobalValue::Bind("SimulatorImplementationType",
 *                       StringValue("ns3::NodeWindowSimulatorImpl"));
 *
 * or NS_GLOBAL_VALUE="SimulatorImplementationType=ns3::NodeWindowSimulatorImpl". What differs from
 * ns3::DefaultSimulatorImpl:
 *
 * - Nodes that no link without delay joins are simulated apart for the time of the shortest delay
 *   of a link, the look-ahead, which is found when Run begins: of RdmaChannel, and of any channel
 *   with an attribute "Delay" (PointToPointChannel, CsmaChannel). Nodes on other channels are one.
 * - An event of a node schedules those of other nodes, and those without a node, at least the
 *   look-ahead from now; else the program ends with a message. Simulator::Stop in an event of a
 *   node holds at the end of the window.
 *   With the attribute Turns that is two look-aheads: nodes of a network of two sides (a fat-tree:
 *   odd and even tiers) are simulated for that long, one side after the other.
 * - Of one time, events run in the order of RdmaQuadHeapScheduler as far as each node sees; those
 *   without a node are the last. A scheduler (Simulator::SetScheduler) has no effect.
 */
class NodeWindowSimulatorImpl : public SimulatorImpl
{
  public:
    static TypeId GetTypeId();

    NodeWindowSimulatorImpl();
    ~NodeWindowSimulatorImpl() override;

    void Destroy() override;
    bool IsFinished() const override;
    void Stop() override;
    StopResult Stop(const Time& delay) override;
    EventId Schedule(const Time& delay, EventImpl* event) override;
    void ScheduleWithContext(uint32_t context, const Time& delay, EventImpl* event) override;
    EventId ScheduleNow(EventImpl* event) override;
    EventId ScheduleDestroy(EventImpl* event) override;
    void Remove(const EventId& id) override;
    void Cancel(const EventId& id) override;
    bool IsExpired(const EventId& id) const override;
    void Run() override;
    Time Now() const override;
    Time GetDelayLeft(const EventId& id) const override;
    Time GetMaximumSimulationTime() const override;
    void SetScheduler(ObjectFactory schedulerFactory) override;
    uint32_t GetSystemId() const override;
    uint32_t GetContext() const override;
    uint64_t GetEventCount() const override;

  protected:
    void DoDispose() override;

  private:
    /// \return whether another thread than the simulation's calls
    bool IsElsewhere() const;
    EventId ScheduleAt(int64_t ts, EventImpl* event);
    /// Joins what is to be one unit, and finds the look-ahead.
    void FindLookAhead();
    /// Finds two sides of units, if there are any: the same ones for links in the same order.
    /// \param links units that a link joins
    void FindSides(const std::vector<std::pair<NodeWindows::Unit*, NodeWindows::Unit*>>& links);

    std::unique_ptr<NodeWindows> m_windows;
    std::list<EventId> m_destroyEvents;
    std::thread::id m_thread;
    uint32_t m_threads;
    bool m_threadsAlways;
    bool m_turns;
};

} // namespace ns3

#endif /* NODE_WINDOW_SIMULATOR_IMPL_H */
