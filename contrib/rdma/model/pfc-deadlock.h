/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * PFC deadlock: ports that are paused, each of which waits for the next one, in a circle.
 *
 *     a->b waits for b->c      b has told a to stop (port a->b is paused), and holds frames that it
 *                              may not send itself, as c has told it to stop (b->c is paused, with
 *                              frames of the same priority in its queue)
 *
 * Such a cycle is what every deadlock has; while buffers still drain one may also come and go. So
 * the detector asks for age: that each pause of the cycle has lasted for some time without a break.
 *
 *     PfcDeadlockDetector detector(fabric->GetPorts(), MilliSeconds(10),
 *                                  [&](const std::vector<uint32_t>& cycle, int64_t now) {
 *                                      std::cerr << DescribePfcCycle(fabric->GetPorts(), cycle);
 *                                  });
 */
#ifndef PFC_DEADLOCK_H
#define PFC_DEADLOCK_H

#include "rdma-event.h"
#include "rdma-port.h"

#include "ns3/nstime.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * \param ports all ports of a network
 * \return a cycle of paused ports, each of which waits for the next one and the last for the first,
 *         as indices in `ports`; empty if there is none. Linear in ports and in pairs of paused
 *         ports in a row
 */
std::vector<uint32_t> FindPfcCycle(const std::vector<Ptr<RdmaPort>>& ports);

/**
 * \ingroup rdma
 * The same, of some pauses only. \param held for each port, bit p: to be looked at as paused for
 * priority p
 */
std::vector<uint32_t> FindPfcCycle(const std::vector<Ptr<RdmaPort>>& ports,
                                   const std::vector<uint8_t>& held);

/// \ingroup rdma
/// What the search for a cycle must know of a port.
struct PfcPortState
{
    uint32_t node{0};
    uint32_t nodeBehind{0}; //!< at the other end of the link
    uint8_t held{0};        //!< bit p: priority p is paused
    uint8_t queued{0};      //!< bit p: frames of priority p are queued
};

/**
 * \ingroup rdma
 * The same, of ports that need not be in this process. Node numbers should be small.
 */
std::vector<uint32_t> FindPfcCycle(const std::vector<PfcPortState>& ports);

/**
 * \ingroup rdma
 * \return bit p: frames of priority p are queued
 */
uint8_t QueuedMask(const RdmaPort& port);

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
class PfcDeadlockDetector
{
  public:
    /// (cycle as FindPfcCycle returns it, ps)
    using Callback = std::function<void(const std::vector<uint32_t>&, int64_t)>;

    /// \param age more than any pause lasts in a network that is merely congested
    PfcDeadlockDetector(std::vector<Ptr<RdmaPort>> ports, Time age, Callback callback);
    ~PfcDeadlockDetector();

    PfcDeadlockDetector(const PfcDeadlockDetector&) = delete;
    PfcDeadlockDetector& operator=(const PfcDeadlockDetector&) = delete;

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
    RdmaTimer<PfcDeadlockDetector, &PfcDeadlockDetector::OnLook> m_timer;
};

} // namespace ns3

#endif /* PFC_DEADLOCK_H */
