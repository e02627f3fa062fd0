/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NODE_WINDOW_PORTS_H
#define NODE_WINDOW_PORTS_H

#include "node-window-unit.h"

#include <cstdint>

namespace ns3
{

class Channel;
class NetDevice;
class NodeWindowShard;

/**
 * \ingroup rdma
 * What the engine asks of the ports of a program: none of it once per frame, so these calls are
 * virtual. NodeWindowPortsOf implements them for a class of ports; the loop over events, which it
 * compiles for that class, has no virtual call.
 */
class NodeWindowPorts
{
  public:
    /// A device, as the engine sees it.
    struct Device
    {
        /// Null: what is sent to the device arrives by events of its node.
        NodeWindowPort* port{nullptr};
        uint32_t context{0}; //!< of the port's arrivals
        uint32_t peer{0};    //!< node at the other end of its link
        /// A port of this class, but without a rank among the arrivals of its node.
        bool hasNoOrder{false};
    };

    /// \return the ports of this program
    static const NodeWindowPorts& Get()
    {
        return *g_ports;
    }

    // Set-up of a run:

    virtual Device Look(NetDevice& device) const = 0;
    /// \param [out] ps delay of a link of such ports, exact \return whether it is one
    virtual bool GetDelay(const Channel& channel, int64_t& ps) const = 0;
    virtual void SetSlot(NodeWindowPort& port, NodeWindowUnit& unit, uint32_t slot) const = 0;
    /// Called when all ports have their slots.
    virtual void UseWindows(NodeWindowPort& port) const = 0;
    /// \return null: there is none
    virtual const NodeWindowUser* GetUser(const NodeWindowPort& port) const = 0;

    // Between windows:

    /// \param port its unit runs in this shard from now on: the other end of the link knows
    virtual void SetShard(const NodeWindowPort& port, uint32_t shard) const = 0;
    /// No unit has an event: what is on its way to this port without one, as nobody waits for it,
    /// gets one.
    virtual void Listen(NodeWindowPort& port) const = 0;
    virtual void Free(NodeWindowFrame* frame) const = 0;
    /// A thread of the engine ends.
    virtual void LeaveThread() const = 0;

    /// NodeWindowShard::Run.
    virtual void Run(NodeWindowShard& shard, int64_t bucket, int64_t cut) const = 0;

  protected:
    constexpr NodeWindowPorts() = default;
    ~NodeWindowPorts() = default; // outlives the engine: no destructor runs

    /// From now on: while the library is loaded.
    static void Set(const NodeWindowPorts& ports)
    {
        g_ports = &ports;
    }

  private:
    static inline const NodeWindowPorts* g_ports = nullptr;
};

} // namespace ns3

#endif /* NODE_WINDOW_PORTS_H */
