/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The engines that tests compare.
 */
#ifndef NODE_WINDOW_ENGINES_H
#define NODE_WINDOW_ENGINES_H

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/global-value.h"
#include "ns3/rdma-event-order.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <cstdint>

namespace ns3
{
namespace rdmatest
{

/// ns-3's, node windows, and node windows by three threads that run whatever there is; the same two
/// where nodes of two sides take turns.
enum class Kind
{
    NS3,
    WINDOWS,
    THREADS,
    TURNS,
    TURNS_THREADS
};

constexpr Kind WINDOW_KINDS[] = {Kind::WINDOWS, Kind::THREADS, Kind::TURNS, Kind::TURNS_THREADS};

inline const char*
NameOf(Kind kind)
{
    const char* const names[] = {"ns-3's engine",
                                 "node windows",
                                 "three threads",
                                 "two sides in turns",
                                 "two sides in turns, three threads"};
    return names[static_cast<int>(kind)];
}

/// \return the context of what is to be ahead of all of its time
inline uint32_t
BeforeAll(Kind kind)
{
    return kind != Kind::NS3 ? RdmaEventOrder::BEFORE
                             : RdmaEventOrder::ContextOf(RdmaEventOrder::BEFORE);
}

/// ns-3 runs with this engine until it goes.
class Engine
{
  public:
    explicit Engine(Kind kind)
    {
        const bool windows = kind != Kind::NS3;
        const bool threads = kind == Kind::THREADS || kind == Kind::TURNS_THREADS;
        const bool turns = kind == Kind::TURNS || kind == Kind::TURNS_THREADS;
        Config::SetDefault("ns3::NodeWindowSimulatorImpl::Turns", BooleanValue(turns));
        Config::SetDefault("ns3::NodeWindowSimulatorImpl::Threads", UintegerValue(threads ? 3 : 1));
        Config::SetDefault("ns3::NodeWindowSimulatorImpl::ThreadsAlways", BooleanValue(threads));
        GlobalValue::Bind(
            "SimulatorImplementationType",
            StringValue(windows ? "ns3::NodeWindowSimulatorImpl" : "ns3::DefaultSimulatorImpl"));
        GlobalValue::Bind("SchedulerType", StringValue("ns3::QuadHeapScheduler"));
    }

    ~Engine()
    {
        Simulator::Destroy();
        Config::SetDefault("ns3::NodeWindowSimulatorImpl::Turns", BooleanValue(false));
        Config::SetDefault("ns3::NodeWindowSimulatorImpl::Threads", UintegerValue(1));
        Config::SetDefault("ns3::NodeWindowSimulatorImpl::ThreadsAlways", BooleanValue(false));
        GlobalValue::Bind("SimulatorImplementationType", StringValue("ns3::DefaultSimulatorImpl"));
        GlobalValue::Bind("SchedulerType", StringValue("ns3::MapScheduler"));
    }
};

} // namespace rdmatest
} // namespace ns3

#endif /* NODE_WINDOW_ENGINES_H */
