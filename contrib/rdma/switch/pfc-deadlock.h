/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * PFC deadlock: ports that are paused, each of which waits for the next one, in a circle.
 *
 *     a->b waits for b->c      b has told a to stop (port a->b is paused), and holds frames from a
 *                              that it may not send itself, as c has told it to stop (b->c is
 *                              paused, with these frames in its queue)
 *
 * Such a cycle is what every deadlock has; while buffers still drain one may also come and go. So
 * the detector asks for age: that each pause of the cycle has lasted for some time without a break.
 *
 *     RdmaPfcDeadlockDetector detector(fabric->GetPorts(), MilliSeconds(10),
 *                                  [&](const std::vector<uint32_t>& cycle, int64_t now) {
 *                                      std::cerr << DescribePfcCycle(fabric->GetPorts(), cycle);
 *                                  });
 */
#ifndef PFC_DEADLOCK_H
#define PFC_DEADLOCK_H

#include "ns3/nstime.h"
#include "ns3/rdma-event.h"
#include "ns3/rdma-port.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * \param ports all ports of a network, of an RdmaFabric
 * \return a cycle of paused ports, each of which waits for the next one and the last for the first,
 *         as indices in `ports`; empty if there is none. Linear in ports and in frames that wait at
 *         paused ones
 */
std::vector<uint32_t> FindPfcCycle(const std::vector<Ptr<RdmaPort>>& ports);

/**
 * \ingroup rdma
 * The same, of some pauses only. \param held for each port, bit p: to be looked at as paused for
 * priority p
 */
std::vector<uint32_t> FindPfcCycle(const std::vector<Ptr<RdmaPort>>& ports,
                                   const std::vector<uint8_t>& held);

/**
 * \ingroup rdma
 * At a port that is paused for a priority, frames of that priority wait which came to its switch
 * over some link: the port at the other end of that link, with the priority (InfiniBand: the VL)
 * that they had there, waits for this one. A port with a priority is number * 8 + priority.
 */
struct RdmaPfcWait
{
    uint32_t from;
    uint32_t to;

    static uint32_t Id(uint32_t port, uint32_t priority)
    {
        return port * RdmaPort::PRIORITIES + priority;
    }

    static uint32_t PortOf(uint32_t id)
    {
        return id / RdmaPort::PRIORITIES;
    }
};

/**
 * \ingroup rdma
 * \param port of a switch; of others nothing waits \param held bit p: it is paused for priority p
 * \param[out] waits each once, numbers are ends (RdmaPort::GetEnd); whether those that wait are
 * paused is not looked at
 */
void AddPfcWaits(const RdmaPort& port, uint8_t held, std::vector<RdmaPfcWait>* waits);

/**
 * \ingroup rdma
 * \param waits AddPfcWaits; of ports that need not be in this process. Who waits need not be
 * paused: in a cycle somebody waits for each, and that is for what is paused \return a cycle, by
 * number * 8 + priority; empty if there is none
 */
std::vector<uint32_t> FindPfcCycle(const std::vector<RdmaPfcWait>& waits);

/**
 * \ingroup rdma
 * \return "a->b waits for b->c waits for c->a", nodes by the names of their ports ("a:0" is port 0
 *         of a)
 */
std::string DescribePfcCycle(const std::vector<Ptr<RdmaPort>>& ports,
                             const std::vector<uint32_t>& cycle);

/**
 * \ingroup rdma
 * Tells of a deadlock while the simulation runs: a cycle all of whose pauses are `age` old. Told
 * once for each cycle until another one is found. Sleeps while nothing is paused; costs nothing per
 * frame, and a store per pause. To be destroyed before the ports' simulation goes on without it.
 */
class RdmaPfcDeadlockDetector
{
  public:
    /// (cycle as FindPfcCycle returns it, ps)
    using Callback = std::function<void(const std::vector<uint32_t>&, int64_t)>;

    /// \param age more than any pause lasts in a network that is merely congested
    RdmaPfcDeadlockDetector(std::vector<Ptr<RdmaPort>> ports, Time age, Callback callback);
    ~RdmaPfcDeadlockDetector();

    RdmaPfcDeadlockDetector(const RdmaPfcDeadlockDetector&) = delete;
    RdmaPfcDeadlockDetector& operator=(const RdmaPfcDeadlockDetector&) = delete;

  private:
    void OnPaused(uint32_t index,
                  const RdmaPort* port,
                  uint8_t paused,
                  uint8_t changed,
                  int64_t now);

    /// As NodeWindows::Note tells.
    struct Change
    {
        uint32_t port; //!< index
        uint8_t paused;
        uint8_t changed;
        int64_t time; //!< ps
    };

    void Tell(const Change& change);
    void OnLook();

    std::vector<Ptr<RdmaPort>> m_ports;
    std::vector<int64_t> m_since; //!< [port * 8 + priority], ps; < 0: not paused
    int64_t m_age;
    Callback m_callback;
    std::vector<uint32_t> m_told;
    bool m_pending{false};
    RdmaTimer<RdmaPfcDeadlockDetector, &RdmaPfcDeadlockDetector::OnLook> m_timer;
};

} // namespace ns3

#endif /* PFC_DEADLOCK_H */
